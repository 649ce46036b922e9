# SPDX-License-Identifier: BSD-3-Clause
"""
Summaries of `assasin bench varve` over all workloads: 8.5 and 10.1 of the dissertation (docs/varve/bench.md 1.2).

The set is bitpack5, bitpack15, raid5-encode, the filters' geometric mean as one member, mnist and mnist-pruned, as the dissertation
names none; `geomean-all` counts every filter.
"""

from __future__ import annotations

from collections.abc import Iterator

from assasin.varve_filters import GROWING, mean
from assasin.varve_stated import SUMMARY, Stated
from assasin.varve_tile import FULL_CONFIG, Row

SCALAR, TOGETHER = "8.5", "10.1"
MEMBERS = ("bitpack5", "bitpack15", "raid5-encode", "geomean", "mnist", "mnist-pruned")


def run(measured: dict[tuple[str, str, str], float], filters: list[str]) -> Iterator[Row]:
    """Rows; measured: by workload, form and metric, what the same run found on the tile; filters: that grow."""

    def over_scalar(name: str) -> float | None:
        return measured.get((name, "full", "speedup_over_scalar"))

    def row(figure: str, name: str, metric: str, ours: float | None, unit: str, why: str | None) -> Row:
        stated = SUMMARY.get((figure, name, metric), Stated())
        return Row(figure, name, "full", metric, ours, stated.value, unit, FULL_CONFIG, stated.low, stated.high, why=why)

    sets = {"geomean": MEMBERS, "geomean-all": (*(m for m in MEMBERS if m != "geomean"), *filters)}
    for name, members in sets.items():
        found = {m: over_scalar(m) for m in members}
        missing = [m for m, ratio in found.items() if ratio is None]
        if name == "geomean-all" and len(filters) != GROWING:
            missing.append(f"{GROWING - len(filters)} filters")
        why = f"not measured in this run: {', '.join(missing)}" if missing else None
        ours = None if missing else mean([ratio for ratio in found.values() if ratio is not None])
        unit = f"geometric mean over {len(members)} workloads; scalar code of 32 bits, the dissertation's 64"
        workload = name.replace("geomean", "summary")
        yield row(SCALAR, workload, "speedup_over_scalar", ours, unit, why)
        yield row(TOGETHER, name, "speedup_over_scalar_on_the_same_core", ours, unit, why)
