# SPDX-License-Identifier: BSD-3-Clause
"""
The clock study (Figures 20 and 21): what a tile's memory stage costs in time with stream buffers, scratchpad or cache, and what
clock the whole tile would have. Delays of 7-series logic and memories without wires: only ratios mean something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from assasin.synth import SynthError, cache, sta, yosys
from assasin.synth.rtl import Rtl
from assasin.synth.units import base_name
from assasin.tree import BUILD

TILE = "StreamCore"
_COMMAND = "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf -abc9"

STRUCTURES = {
    "InputStreamBuffer": "stream buffer",
    "OutputStreamBuffer": "stream buffer",
    "Scratchpad": "scratchpad",
    "L1Cache": "L1 cache",
    "L2Cache": "L2 cache",
}
"""Modules whose memories the memory stage reads and writes. A DualBankRam that a tile's memory holds directly is a window of
AssasinSp: a scratchpad too."""


@dataclass(frozen=True)
class Delay:
    """Slowest paths of one structure, ps: `into` its memories (address, data, enables), and `out_of` them into any register or
    memory."""

    into: int
    out_of: int

    @property
    def slowest(self) -> int:
        """The one that limits the clock."""
        return max(self.into, self.out_of)


@dataclass(frozen=True)
class TileTiming:
    """One architecture's tile, ps. `period`: its slowest path; `fetch`: the slowest through the instruction memory; `rest`: the
    slowest that touches no data memory."""

    period: int
    period_from: str
    period_to: str
    fetch: int
    rest: int
    structures: dict[str, Delay]


@dataclass(frozen=True)
class UnitTiming:
    """A module by itself, a flip-flop at each port: its period, ps, and its slowest paths, one for each register they lead into."""

    period: int
    worst: list[sta.SlowPath]


WORST = 10
"""Paths that `unit_timing` names."""


def unit_timing(rtl: Rtl, module: str, say: Callable[[str], None] = lambda _: None) -> UnitTiming:
    """Timing of one module with all below it; from the cache when its content has been analysed before. Raises SynthError."""
    key = cache.digest(rtl.hash(module), _COMMAND, f"unit paths {WORST}", yosys.version())
    kept = cache.load("timing", key)
    if kept is None:
        say(f"timing of {module}")
        worst = _graph(rtl, module, ports=True).worst(WORST)
        if not worst:
            raise SynthError(f"{module} has no path")
        kept = {"worst": [asdict(path) for path in worst]}
        cache.store("timing", key, kept)
    paths = [sta.SlowPath(**path) for path in kept["worst"]]
    return UnitTiming(paths[0].ps, paths)


VARIABLE_UNITS = ("SlotAdder", "ElementSizes", "AlignUnit", "WidthUnit")
"""Parts of VarVE-full that section 8.4.2 of the dissertation speaks of: the adder; the alignment of elements, the sizes before it,
and the widths behind it."""
FIXED_WIDTH_UNIT = "IntegerUnit"
"""What adds in the unit without VarVE-full."""


def period_over_fixed_width_unit(
    rtl: Rtl,
    modules: Sequence[str] = VARIABLE_UNITS,
    over: str = FIXED_WIDTH_UNIT,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, float]:
    """
    The period of each of these modules over that of the module `over`, all by themselves (`unit_timing`). Raises SynthError.
    """
    for module in (over, *modules):
        if module not in rtl.texts:
            raise SynthError(f"{rtl.folder.name} has no module {module}: periods are compared on a chip with VarVE-full")
    period = unit_timing(rtl, over, say).period
    return {module: unit_timing(rtl, module, say).period / period for module in modules}


def timing(rtl: Rtl, say: Callable[[str], None] = lambda _: None) -> TileTiming:
    """Timing of the chip's tile; from the cache when its content has been analysed before. Raises SynthError."""
    key = cache.digest(rtl.hash(TILE), _COMMAND, "paths 1", yosys.version())
    kept = cache.load("timing", key)
    if kept is None:
        say(f"timing of {rtl.folder.name}")
        kept = asdict(_analyse(rtl))
        cache.store("timing", key, kept)
    return TileTiming(**(kept | {"structures": {name: Delay(**d) for name, d in kept["structures"].items()}}))


def groups(rtl: Rtl) -> dict[str, str]:
    """Instance paths of the tile's data memories to the structure they are part of."""
    found = {}
    for path, module in rtl.paths(TILE):
        name = base_name(module)
        if name in STRUCTURES:
            found[path] = STRUCTURES[name]
        elif name == "DualBankRam" and path.startswith("memory.") and path.count(".") == 1:
            found[path] = "scratchpad"
    return found


def _analyse(rtl: Rtl) -> TileTiming:
    return paths(_graph(rtl, TILE), groups(rtl))


def _graph(rtl: Rtl, top: str, ports: bool = False) -> sta.Timing:
    """Maps a module, flat."""
    work = BUILD / "synth" / "logs" / f"timing-{top}-{rtl.hash(top)}"
    work.parent.mkdir(parents=True, exist_ok=True)
    netlist = work.with_suffix(".json")
    lines = [f"read_verilog -sv {rtl.folder / (module + '.sv')}" for module in sorted(rtl.closure(top))]
    lines += [f"hierarchy -check -top {top}", f"{_COMMAND} -top {top}", f"write_json {netlist}"]
    yosys.run("\n".join(lines) + "\n", work.with_suffix(".log"))
    graph = sta.Timing.of_file(netlist, top, ports)
    netlist.unlink()
    return graph


def _slowest(graph: sta.Timing, start: sta.Select = sta.anything, end: sta.Select = sta.anything) -> sta.SlowPath:
    path = graph.slowest(start, end)
    if path is None:
        raise SynthError("the netlist has no path between the cells asked for")
    return path


def paths(graph: sta.Timing, memories: dict[str, str]) -> TileTiming:
    """The study's paths in a tile's graph. `memories`: as `groups` gives them."""

    def within(prefixes: Sequence[str]) -> sta.Select:
        return lambda name, kind: kind.startswith("RAM") and any(name.startswith(f"{p}.") for p in prefixes)

    def outside(name: str, kind: str) -> bool:
        return not within(list(memories))(name, kind)

    structures = {}
    for structure in dict.fromkeys(memories.values()):
        inside = within([path for path, s in memories.items() if s == structure])
        structures[structure] = Delay(_slowest(graph, end=inside).ps, _slowest(graph, start=inside).ps)
    worst = _slowest(graph)
    fetch = within(["imem"])
    return TileTiming(
        worst.ps,
        worst.start,
        worst.end,
        max(_slowest(graph, start=fetch).ps, _slowest(graph, end=fetch).ps),
        _slowest(graph, outside, outside).ps,
        structures,
    )
