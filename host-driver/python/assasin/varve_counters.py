# SPDX-License-Identifier: BSD-3-Clause
"""
The vector unit's counters (docs/varve/unit.md 8.3) in `assasin bench varve`: what the cycles of a workload went into.

kernel_tile reads them from the tile's registers. Every cycle of the tile is in one of varve_tile.STAGES; the others count what else
happens meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assasin import terminal
from assasin.varve_tile import STAGES, Row

BEATS = ("load_beats", "unpack_beats", "execute_beats", "store_beats", "pack_beats")
"""Element groups that a path has moved on."""

WAITS = ("unpack_waits", "execute_waits")
"""Cycles in which an unpack waits until the strip before has its number, an operation until its registers are written."""

_SHARES = {
    **{name.removeprefix("wait_"): (name,) for name in STAGES},
    "U": ("unpack_waits",),
    "E": ("execute_waits",),
    "in": ("load_beats", "unpack_beats"),
    "ops": ("execute_beats",),
    "out": ("store_beats", "pack_beats"),
}
"""Columns of the table."""

NAMES = (*STAGES, *WAITS, "strips", "elements", *BEATS)


def rows(figure: str, workload: str, form: str, counts: Mapping[str, int], program: str, config: str) -> Iterator[Row]:
    """A row each, and elements of a strip; none for a program that does not use the unit."""
    for name in NAMES if counts else ():
        unit = "cycles" if name in (*STAGES, *WAITS) else name.split("_")[-1]
        yield Row(figure, workload, form, name, counts[name], None, f"{unit}, {program}", config)
    if counts and counts["strips"]:
        yield Row(figure, workload, form, "elements_per_strip", counts["elements"] / counts["strips"], None, "elements", config)


def print_table(result: dict[str, Any], forms: Sequence[str] = ("zve32x", "pup", "full")) -> None:
    """Prints where the cycles of each workload went, as shares of them."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for r in result["rows"]:
        if r["metric"] in NAMES or r["metric"] == "elements_per_strip":
            found.setdefault((r["figure"], r["workload"], r["form"]), {})[r["metric"]] = r["ours"]
    lines = []
    for (_, workload, form), counts in found.items():
        total = sum(counts[name] for name in STAGES)
        if form in forms and total and not workload.endswith("/unrolled"):
            shares = [sum(counts[name] for name in names) / total for names in _SHARES.values()]
            each = counts.get("elements_per_strip")
            lines.append(
                [f"{workload} {form}", f"{total:,.0f}", *(f"{s:.0%}" for s in shares), "" if each is None else f"{each:.0f}"]
            )
    if lines:
        terminal.table(
            "Where the cycles went: shares of them",
            ["workload", "cycles", *_SHARES, "a strip"],
            lines,
            "issued to unit: of each cycle one. U: an unpack stands for NumE, E: an operation for its registers; in, ops, out:\n"
            "beats of loads and unpacks, of operations, of stores and packs (docs/varve/unit.md 8.3). a strip: elements.",
        )
