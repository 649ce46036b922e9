# SPDX-License-Identifier: BSD-3-Clause
"""
Speed-up per power and per area of every architecture over Baseline (Table V, Figure 22), from gates, simulated switching activity
and the rates that `assasin bench paper` measured; see hw/synth/README.md for the method.

Logic is scaled so that the plain pipeline, at the activity it has in Baseline, is the paper's Ibex core; SRAM so that 64 KiB are
the paper's. Instruction memories do not count, as in the paper.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assasin import paper_workloads as workloads
from assasin.paper import Row, architecture
from assasin.synth import SynthError, activity, cache, clock, gates, resources, table5, units
from assasin.synth.activity import Activity
from assasin.synth.rtl import Chip, Rtl, load
from assasin.tree import BUILD

FILE = BUILD / "bench" / "efficiency.json"
CORES = 8
SIZE = "8x8"
"""The paper's machine."""
WAYS = 8
"""No channel counts here; boards have eight ways, whose Verilog is at hand after `assasin synth`."""
TILE = "StreamCore"

PARTS = {"Core": "pipeline", "StreamCore": "control", "StreamCoreRegs": "control", "OutputDrain": "control"}
"""What a unit's logic is part of; all others are memory."""


@dataclass(frozen=True)
class UnitUse:
    """A unit of a tile: its gates, power without toggles and per toggle a net and cycle (watts of the library), and the instances
    whose signals are its own."""

    unit: str
    found: gates.Gates
    idle: float
    per_activity: float
    instances: tuple[str, ...]

    def power(self, toggles: float) -> float:
        """Watts of the library when every net toggles that often a cycle."""
        return self.idle + self.per_activity * toggles


@dataclass(frozen=True)
class Engine:
    """An architecture's compute engine in the paper's units: `area` mm2 and `power` mW (by workload) of each part of one tile, and
    of the crossbar."""

    area: dict[str, float]
    power: dict[str, dict[str, float]]
    crossbar_area: float
    crossbar_power: dict[str, float]

    def total_area(self) -> float:
        """Eight tiles and the crossbar."""
        return CORES * sum(self.area.values()) + self.crossbar_area

    def total_power(self, workload: str) -> float:
        """Eight tiles and the crossbar."""
        return CORES * sum(self.power[workload].values()) + self.crossbar_power[workload]


def read_rates(path: Path) -> tuple[dict[tuple[str, str], float], dict[str, Any]]:
    """
    Bytes a cycle by (architecture, workload) out of a result of `assasin bench paper`, and where it is from. `psf` is the geometric
    mean over the queries that all architectures ran. Raises SynthError.
    """
    try:
        result = json.loads(path.read_text())
        rows = [Row(**r) for r in result["rows"]]
    except FileNotFoundError:
        raise SynthError(f"{path} is not there: run `assasin bench paper`, or name its result with --paper FILE") from None
    except (json.JSONDecodeError, KeyError, TypeError) as e:
        raise SynthError(f"{path} is no result of `assasin bench paper`: {e}") from e
    rates = {
        (architecture(r.config), r.workload): r.ours
        for r in rows
        if r.metric == "bytes_per_cycle" and r.figure == "fig13" and r.ours and r.config.endswith(SIZE)
    }
    queries: dict[str, dict[str, float]] = defaultdict(dict)
    for r in rows:
        if (
            r.figure == "fig14"
            and r.metric == "bytes_per_cycle"
            and r.ours
            and r.workload.startswith("Q")
            and r.config.endswith(SIZE)
        ):
            queries[r.workload][architecture(r.config)] = r.ours
    archs = {a for a, _ in rates}
    common = [by_arch for by_arch in queries.values() if archs <= set(by_arch)]
    for arch in archs if common else ():
        rates[arch, "psf"] = _geomean([by_arch[arch] for by_arch in common])
    if not any(a == "Baseline" for a, _ in rates) or len(archs) < 2:
        raise SynthError(f"{path} has no rates of Baseline{SIZE} and another architecture: run `assasin bench paper` in full")
    source = {key: result.get(key) for key in ("board", "profile", "quick", "commit")}
    return rates, source


def _geomean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))


def unit_uses(rtl: Rtl, root: str, say: Callable[[str], None]) -> list[UnitUse]:
    """The units below `root`, itself included, with the instances whose signals belong to each."""
    instances: dict[tuple[str, str], list[str]] = defaultdict(list)  # by unit and where it is
    for path, module in rtl.paths(root):
        if units.is_unit(module):
            instances[module, path].append(path)
            continue
        owner = max((key for key in instances if path.startswith(f"{key[1]}." if key[1] else "")), key=lambda k: len(k[1]))
        if rtl.memory_bits(module) < gates.SRAM_BITS:
            instances[owner].append(path)
    return [use(rtl, unit, tuple(paths), say) for (unit, _), paths in instances.items()]


def use(rtl: Rtl, unit: str, instances: tuple[str, ...], say: Callable[[str], None]) -> UnitUse:
    """A unit whose signals are those of these instances."""
    found = gates.gates(rtl, unit, say)
    idle, per_activity = gates.power_model(found, unit)
    return UnitUse(unit, found, idle, per_activity, instances)


@dataclass(frozen=True)
class Scale:
    """What one unit of the library is in the paper's numbers."""

    area: float
    """mm2 of the paper's a square micrometre of the library."""
    power: float
    """mW of the paper's a watt of the library."""

    @staticmethod
    def of(pipeline: UnitUse, toggles: float) -> Scale:
        """Such that the pipeline is Table V's core when its nets toggle that often a cycle."""
        return Scale(table5.CORE.area / pipeline.found.area, table5.CORE.power / pipeline.power(toggles))


def sram(bits: int) -> table5.Cost:
    """What so many bits of SRAM cost in proportion to the paper's."""
    share = bits / 8 / 1024 / table5.SRAM_KIB
    return table5.Cost(table5.SRAM.power * share, table5.SRAM.area * share)


def engine(
    uses: Sequence[UnitUse], crossbar: UnitUse, scale: Scale, measured: Mapping[str, Activity], rates: Mapping[str, float]
) -> Engine:
    """
    The engine made of a tile's units and the crossbar. `measured`: activity of the tile alone by workload; `rates`: bytes a cycle
    of eight tiles in the drive. A tile that gets its input more slowly than alone toggles that much less.
    """
    area: dict[str, float] = defaultdict(float)
    power: dict[str, dict[str, float]] = {w: defaultdict(float) for w in measured}
    crossbar_power = {}
    for one in uses:
        # The instruction memory is the only SRAM that the tile itself holds.
        memory = sram(0 if one.unit == TILE else one.found.sram_bits)
        part = PARTS.get(units.base_name(one.unit), "memory logic")
        area[part] += one.found.area * scale.area
        area["SRAM"] += memory.area
        for workload, run in measured.items():
            busy = rates[workload] / CORES / run.rate
            power[workload][part] += one.power(run.of(one.instances) * busy) * scale.power
            power[workload]["SRAM"] += memory.power
    for workload, run in measured.items():
        busy = rates[workload] / CORES / run.rate
        crossbar_power[workload] = crossbar.power(run.of([""]) * busy) * scale.power
    return Engine(dict(area), {w: dict(p) for w, p in power.items()}, crossbar.found.area * scale.area, crossbar_power)


def engines(
    chips: Mapping[str, Rtl], rates: Mapping[tuple[str, str], float], say: Callable[[str], None] = lambda _: None
) -> dict[str, Engine]:
    """The engine of each architecture in `chips`, which must have Baseline."""
    measured = {arch: {w.name: activity.measure(arch, w, say) for w in workloads.FUNCTIONS} for arch in chips}
    uses = {arch: unit_uses(rtl, TILE, say) for arch, rtl in chips.items()}
    core = next(u for u in uses["Baseline"] if units.base_name(u.unit) == "Core")
    own = {w: r for (a, w), r in rates.items() if a == "Baseline"}
    busy = [run.of(core.instances) * own[w] / CORES / run.rate for w, run in measured["Baseline"].items()]
    plain = use(chips["Baseline"], plain_pipeline(chips["Baseline"]), (), say)
    scale = Scale.of(plain, sum(busy) / len(busy))
    made = {}
    for arch, rtl in chips.items():
        crossbar = use(rtl, "Crossbar", (), say)
        made[arch] = engine(uses[arch], crossbar, scale, measured[arch], {w: r for (a, w), r in rates.items() if a == arch})
    return made


def plain_pipeline(rtl: Rtl) -> str:
    """The firmware processor: the pipeline without streams or software pointers."""
    tile = rtl.closure(TILE)
    return next(m for m in rtl.texts if units.base_name(m) == "Core" and m not in tile)


# ---- rows ----


def rows(paper: Path, configs: Sequence[str] = (), say: Callable[[str], None] = lambda _: None) -> tuple[list[Row], dict[str, Any]]:
    """Rows of Table V and Figures 20 to 22 for these architectures (default: all that `paper` has rates of), and their source."""
    rates, source = read_rates(paper)
    archs = list(dict.fromkeys(["Baseline", *(configs or (a for a, _ in rates))]))
    for arch in archs:
        if not any(a == arch for a, _ in rates):
            raise SynthError(f"{paper} has no rates of {arch}{SIZE}; it has: {', '.join(dict.fromkeys(a for a, _ in rates))}")
    loaded = load([Chip(f"{arch}{SIZE}", WAYS) for arch in archs], say)
    chips = {arch: loaded[Chip(f"{arch}{SIZE}", WAYS)] for arch in archs}
    made = engines(chips, rates, say)
    timings = {arch: clock.timing(rtl, say) for arch, rtl in chips.items()}
    found = [*_table5(made), *_figure22(made, rates), *_fpga(chips, rates, say), *_figure20(timings), *_figure21(timings, rates)]
    return found, source


def _row(figure: str, arch: str, workload: str, metric: str, ours: float, unit: str, stated: float | None = None) -> Row:
    return Row(figure, f"{arch}{SIZE}", workload, metric, ours, stated, unit)


def _table5(made: Mapping[str, Engine]) -> list[Row]:
    found = []
    for arch, e in made.items():
        stated = table5.TOTALS.get(arch)
        power = sum(e.total_power(w) for w in e.power) / len(e.power)
        for part, value in e.area.items():
            found.append(_row("table5", arch, part, "area", value, "mm2, one tile"))
        for part in e.area:
            mean = sum(p[part] for p in e.power.values()) / len(e.power)
            found.append(_row("table5", arch, part, "power", mean, "mW, one tile"))
        found.append(_row("table5", arch, "all", "area", e.total_area(), "mm2", stated.area if stated else None))
        found.append(_row("table5", arch, "all", "power", power, "mW", stated.power if stated else None))
    return found


def speedups(rates: Mapping[tuple[str, str], float], arch: str) -> dict[str, float]:
    """Rate over Baseline's of each workload that both ran."""
    return {w: r / rates["Baseline", w] for (a, w), r in rates.items() if a == arch and ("Baseline", w) in rates}


def _figure22(made: Mapping[str, Engine], rates: Mapping[tuple[str, str], float]) -> list[Row]:
    found = []
    base = made["Baseline"]
    for arch, e in made.items():
        stated = table5.EFFICIENCY.get(arch)
        gain = speedups(rates, arch)
        # Scans of text have no activity of their own: the functions' mean stands for it.
        ratio = {w: e.total_power(w) / base.total_power(w) for w in e.power}
        mean_ratio = _geomean(list(ratio.values()))
        area = e.total_area() / base.total_area()
        for w, g in gain.items():
            found.append(_row("fig22", arch, w, "speedup", g, "1"))
            found.append(_row("fig22", arch, w, "power_efficiency", g / ratio.get(w, mean_ratio), "1"))
            found.append(_row("fig22", arch, w, "area_efficiency", g / area, "1"))
        mean = _geomean(list(gain.values()))
        power = _geomean([g / ratio.get(w, mean_ratio) for w, g in gain.items()])
        found.append(_row("fig22", arch, "geomean", "speedup", mean, "1"))
        found.append(_row("fig22", arch, "geomean", "power_efficiency", power, "1", stated.power if stated else None))
        found.append(_row("fig22", arch, "geomean", "area_efficiency", mean / area, "1", stated.area if stated else None))
    return found


def _fpga(chips: Mapping[str, Rtl], rates: Mapping[tuple[str, str], float], say: Callable[[str], None]) -> list[Row]:
    """Speed-up per LUT and per block RAM of a tile, 7-series."""
    cost = {}
    for arch, rtl in chips.items():
        total = resources.Resources()
        for unit, n in rtl.counts(TILE).items():
            if units.is_unit(unit):
                total += resources.of_cells(units.netlist(rtl, unit, "xc7", say).cells).times(n)
        cost[arch] = total
    found = []
    for arch, c in cost.items():
        mean = _geomean(list(speedups(rates, arch).values()))
        base = cost["Baseline"]
        found.append(_row("fpga", arch, "tile", "lut", c.lut, "LUTs, one tile"))
        found.append(_row("fpga", arch, "tile", "bram36", c.bram36, "BRAM36, one tile"))
        found.append(_row("fpga", arch, "geomean", "lut_efficiency", mean * base.lut / c.lut, "1"))
        found.append(_row("fpga", arch, "geomean", "bram_efficiency", mean * base.bram36 / c.bram36, "1"))
    return found


def _figure20(timings: Mapping[str, clock.TileTiming]) -> list[Row]:
    found = []
    for arch, t in timings.items():
        for structure, delay in t.structures.items():
            found.append(_row("fig20", arch, structure, "into", delay.into / 1000, "ns without wires"))
            found.append(_row("fig20", arch, structure, "out_of", delay.out_of / 1000, "ns without wires"))
        found.append(_row("fig20", arch, "instruction fetch", "slowest", t.fetch / 1000, "ns without wires"))
        found.append(_row("fig20", arch, "no data memory", "slowest", t.rest / 1000, "ns without wires"))
        found.append(_row("fig20", arch, "tile", "period", t.period / 1000, "ns without wires"))
        ratio = timings["Baseline"].period / t.period
        found.append(_row("fig20", arch, "tile", "relative_clock", ratio, "1", table5.CLOCK.get(arch)))
    return found


def _figure21(timings: Mapping[str, clock.TileTiming], rates: Mapping[tuple[str, str], float]) -> list[Row]:
    found = []
    for arch, t in timings.items():
        ratio = timings["Baseline"].period / t.period
        gains = speedups(rates, arch)
        for w, gain in gains.items():
            found.append(_row("fig21", arch, w, "adjusted_speedup", gain * ratio, "1"))
        found.append(_row("fig21", arch, "geomean", "adjusted_speedup", _geomean(list(gains.values())) * ratio, "1"))
    return found


def write(found: Sequence[Row], source: Mapping[str, Any], file: Path = FILE) -> dict[str, Any]:
    """Writes the result and returns it."""
    result = {
        "method": "estimates of synthesis and simulation, see hw/synth/README.md; nothing is measured on hardware",
        "rates": dict(source),
        "rows": [r.__dict__ for r in found],
    }
    cache.write_json(file, result)
    return result
