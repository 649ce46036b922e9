# SPDX-License-Identifier: BSD-3-Clause
"""
Figure 8.17 of `assasin bench varve` on the RTL: RAID5 and filters with slots of 8, 4, 2 and 1 bits (docs/varve/bench.md 5.3).

A tile with VarVE-full for each size. Zve32x runs on the same tile; it does not know of slots. varve_analytic.py has the analytical
model beside these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from assasin import varve_counters, varve_filters, varve_workloads
from assasin.varve_analytic import ALIGNMENTS, RAID
from assasin.varve_data import Window
from assasin.varve_tile import FULL_TILE, TILES, Measured, Row, missing

FIGURE = RAID
SIZES = {align: FULL_TILE if align == 8 else TILES / f"AssasinVf-a{align}" / "kernel_tile" for align in ALIGNMENTS}
"""Tiles by bits of a slot."""
FORMS = {"zve32x": "zve32x-m1", "full": "full"}
FINE = "full-fine"
"""The program of form full where a slot has fewer than 8 bits: a mask may have more bits than a register bytes."""
WORKLOAD = "raid5-encode"
FILTERS = ("q03c", "q06l")
"""Measured where none are named."""

Measure = Callable[[str, Path], Measured]


def _built_for(program: str, tile: Path) -> str:
    return FINE if program == FORMS["full"] and tile != FULL_TILE else program


def _raid5(quick: bool, seed: int) -> tuple[int, Measure]:
    workload = next(w for w in varve_workloads.ALL if w.name == WORKLOAD)
    n = varve_workloads.rows_measured(workload, quick)
    return n, lambda program, tile: varve_workloads.measure(workload, _built_for(program, tile), n, seed, tile=tile)


def _filter(name: str, quick: bool, seed: int) -> tuple[int, Measure]:
    described = varve_filters.description()
    f = next(f for f in described["filters"] if f["name"] == name)
    n = varve_filters.rows_of(f, described["columns"], quick)
    window = Window(f["table"], n, seed)
    half, whole = (varve_filters.call(f, described["columns"], window, k) for k in (n // 2, n))

    return n, lambda program, tile: varve_filters.measure(_built_for(program, tile), half, whole, tile)


def _config(align: int) -> str:
    return f"tile of AssasinVf, slots of {align} bits"


def _row(workload: str, align: int, form: str, metric: str, ours: float | None, unit: str, why: str | None = None) -> Row:
    return Row(FIGURE, workload, form, metric, ours, None, unit, _config(align), why=why)


def run(filters: Sequence[str] | None, quick: bool, seed: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """Measures RAID5 and the filters named, default FILTERS, on the tiles that are built. Raises VarveBenchError."""
    names = varve_filters.chosen(varve_filters.description(), FILTERS if filters is None else filters, quick)
    of = {"raid5": _raid5(quick, seed)} | {name: _filter(name, quick, seed) for name in names}
    for align, tile in SIZES.items():
        why = missing(tile)
        for name, (n, measure) in of.items():
            workload, found = f"{name}/a{align}", dict[str, Measured]()
            for form, program in () if why else FORMS.items():
                tell(f"{name} as {form}, {n} rows, slots of {align} bits")
                found[form] = m = measure(program, tile)
                yield _row(workload, align, form, "cycles", m.cycles, f"cycles, {m.program}, {n} rows")
                yield _row(workload, align, form, "instructions", m.instructions, f"instructions, {m.program}")
                yield from varve_counters.rows(FIGURE, workload, form, m.counts, m.program, _config(align))
            ratio = found["zve32x"].cycles / found["full"].cycles if found else None
            yield _row(workload, align, "full", "speedup_over_zve32x", ratio, "cycles over cycles", why)
