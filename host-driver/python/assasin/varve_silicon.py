# SPDX-License-Identifier: BSD-3-Clause
"""
Table 9.1 and figure 9.3 of `assasin bench varve`: area and power of a core of AssasinVf and of its unit, and VarVE-full's speed-up
over Baseline by area and power (hw/synth/README.md, "Power, area, efficiency").

Gates are mapped unit by unit and scaled so that the plain pipeline, at the activity it has in Baseline, is the ASSASIN paper's
core. A tile's activity is that of VarVE-full's programs fed through its port, on Baseline that of the paper's functions. The
dissertation's core and unit are from Ariane and Ara.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assasin import paper_workloads
from assasin.synth import SynthError, activity, table5, units
from assasin.synth.activity import Activity
from assasin.synth.efficiency import CORES, SIZE, TILE, WAYS, Scale, UnitUse, plain_pipeline, sram, unit_uses, use
from assasin.synth.rtl import Chip, Rtl, load
from assasin.varve_stated import SILICON
from assasin.varve_task import task
from assasin.varve_tile import Row, VarveBenchError

TABLE, FIGURE = "table9.1", "9.3"
ARCHITECTURES = ("Baseline", "AssasinVf")
UNIT = "VectorUnit"
TASKS, ROWS = ("raid5-encode", "q06l", "bitpack5"), 2048
"""What a tile's activity is of."""
CONFIG = "OSU 0.18 um cells, scaled to the paper's 14 nm core"


@dataclass(frozen=True)
class Cost:
    """Square millimetres and milliwatts of the paper's."""

    area: float
    power: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.area + other.area, self.power + other.power)


def cost(uses: Sequence[UnitUse], scale: Scale, measured: Sequence[Activity]) -> Cost:
    """Of these units of a tile at the mean of their activities; its instruction memory does not count, as in the paper."""
    total = Cost(0, 0)
    for one in uses:
        toggles = sum(run.of(one.instances) for run in measured) / len(measured)
        memory = sram(0 if one.unit == TILE else one.found.sram_bits)
        total += Cost(one.found.area * scale.area + memory.area, one.power(toggles) * scale.power + memory.power)
    return total


def split(rtl: Rtl, uses: Sequence[UnitUse]) -> tuple[list[UnitUse], list[UnitUse]]:
    """Those of the core, with its memories, and those of its vector unit."""
    inside: set[str] = set()
    for module in rtl.closure(TILE):
        if units.base_name(module) == UNIT:
            inside |= rtl.closure(module)
    return [one for one in uses if one.unit not in inside], [one for one in uses if one.unit in inside]


def _eight(tile: Cost, crossbar: UnitUse, scale: Scale, measured: Sequence[Activity]) -> Cost:
    toggles = sum(run.of([""]) for run in measured) / len(measured)
    return Cost(CORES * tile.area + crossbar.found.area * scale.area, CORES * tile.power + crossbar.power(toggles) * scale.power)


def row(figure: str, workload: str, metric: str, ours: float | None, unit: str, why: str | None = None) -> Row:
    """With what the text states."""
    return Row(figure, workload, "full", metric, ours, SILICON.get((figure, workload, metric)), unit, CONFIG, why=why)


def unmeasured() -> Iterator[Row]:
    """Rows of a run that does not name the figures."""
    why = f"yosys takes an hour for it: name it, --figure {TABLE},{FIGURE}"
    for figure, workload, metric in SILICON:
        yield row(figure, workload, metric, None, "1", why)


def run(speedup: float | None, seed: int, say: Callable[[str], None]) -> Iterator[Row]:
    """
    Synthesises what has not been before. speedup: VarVE-full over Baseline, geometric mean of figure 9.2, where the same run has
    measured it. Raises VarveBenchError.
    """
    try:
        yield from _run(speedup, seed, say)
    except SynthError as error:
        raise VarveBenchError(f"{TABLE}: {error}") from error


def _run(speedup: float | None, seed: int, say: Callable[[str], None]) -> Iterator[Row]:
    chips = [Chip(f"{arch}{SIZE}", WAYS) for arch in ARCHITECTURES]
    baseline, full = load(chips, say).values()
    base_runs = [activity.measure("Baseline", w, say) for w in paper_workloads.FUNCTIONS]
    full_runs = [_activity(name, seed, say) for name in TASKS]
    base_uses, full_uses = (unit_uses(rtl, TILE, say) for rtl in (baseline, full))
    core = next(one for one in base_uses if units.base_name(one.unit) == "Core")
    plain = use(baseline, plain_pipeline(baseline), (), say)
    scale = Scale.of(plain, sum(one.of(core.instances) for one in base_runs) / len(base_runs))
    own, unit = (cost(part, scale, full_runs) for part in split(full, full_uses))
    crossbar = use(full, "Crossbar", (), say)
    eight = _eight(own + unit, crossbar, scale, full_runs)
    base = _eight(cost(base_uses, scale, base_runs), use(baseline, "Crossbar", (), say), scale, base_runs)
    yield from _table({"core": own, "unit": unit, "eight": eight, "eight-baseline": base})
    yield from efficiencies(speedup, eight, base)


def _activity(name: str, seed: int, say: Callable[[str], None]) -> Activity:
    of = task(name, ROWS, seed)
    inputs = [values.tobytes() for values in of.columns.values()]
    return activity.of_program("AssasinVf", of.name, of.program, of.args, of.streams_out, inputs, say)


def _table(costs: Mapping[str, Cost]) -> Iterator[Row]:
    for name, one in costs.items():
        yield row(TABLE, name, "area_mm2", one.area, f"mm2; the paper's core is {table5.CORE.area}, the dissertation's 0.203")
        yield row(TABLE, name, "power_mw", one.power, "mW at the activity of the tile alone")
    for metric in ("area", "power"):
        ours = getattr(costs["unit"], metric) / getattr(costs["core"], metric)
        yield row(TABLE, "unit", f"{metric}_over_core", ours, "1")


def efficiencies(speedup: float | None, full: Cost, baseline: Cost) -> Iterator[Row]:
    """Rows of figure 9.3 from eight tiles of each."""
    why = None if speedup else "no speed-up over Baseline was measured in this run: name 9.2 too"
    yield row(FIGURE, "geomean", "speedup", speedup, "1, as of 9.2", why)
    for metric in ("power", "area"):
        ratio = getattr(full, metric) / getattr(baseline, metric)
        yield row(FIGURE, "eight", f"{metric}_over_baseline", ratio, "1")
        yield row(FIGURE, "geomean", f"{metric}_efficiency", speedup / ratio if speedup else None, "1", why)
