# SPDX-License-Identifier: BSD-3-Clause
"""
Synthesis unit by unit. A unit is a module that stays a module in synthesis; what is below it is flattened into it, but for units
of its own, whose ports are all that is seen of them. Nothing is optimised across units, so that sums are never below what the
whole chip would take but for constants that cross a boundary. A unit is synthesised once for each content.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache as memoise
from pathlib import Path

from assasin.synth import cache, yosys
from assasin.synth.rtl import TOP, Rtl
from assasin.tree import BUILD

FAMILIES = ("xc7", "xcup")
"""Families of parts: 7-series (and Zynq-7000), UltraScale+."""

UNITS = (
    TOP,
    "Uncore",
    "Crossbar",
    "NvmeFrontEnd",
    "HostDma",
    "DramArbiter",
    "DebugModule",
    "Tcm",
    "FlashChannel",
    "StreamCore",
    "StreamCoreRegs",
    "OutputDrain",
    "Core",
    "StreamMemory",
    "WindowMemory",
    "CachedMemory",
    "Scratchpad",
    "InputStreamBuffer",
    "OutputStreamBuffer",
    "SoftPointers",
    "L1Cache",
    "L2Cache",
    "Dcpt",
    "Stager",
    "SlotTile",
    "WideScratchpad",
    "WideInputStreamBuffer",
    "WideOutputStreamBuffer",
    "VectorSettings",
    "VectorUnit",
    "VectorPipeline",
    "CommitGate",
    "IssueQueue",
    "HazardMatrix",
    "RegisterFile",
    "ExecutePath",
    "OperandUnit",
    "IntegerUnit",
    "ShiftUnit",
    "MultiplyUnit",
    "DivideUnit",
    "FixedPointUnit",
    "MaskUnit",
    "PermuteUnit",
    "LoadPath",
    "StorePath",
    "StreamTable",
    "StreamGate",
    "StreamScan",
    "UnpackPath",
    "ByteExtract",
    "PackPath",
    "MetadataFile",
    "StripState",
    "VariableUnit",
    "ElementSizes",
    "AlignUnit",
    "WidthUnit",
    "VariableSum",
    "LaneOperand",
    "ElementLanes",
    "UnpackAppend",
    "Squeeze",
    "SlotAdder",
    "SlotShifter",
    "SlotMultiplier",
    "SlotDivider",
)
"""Modules that are units, by the name in the sources; firtool numbers variants of one."""


def base_name(module: str) -> str:
    """The name of a module in the sources."""
    return re.sub(r"_\d+$", "", module)


def is_unit(module: str) -> bool:
    """Whether a module is a unit of its own."""
    return base_name(module) in UNITS


@dataclass(frozen=True)
class Netlist:
    """What synthesis makes of one unit: cells by type without those of units below; `memories`: what each of its arrays became."""

    cells: dict[str, int]
    memories: dict[str, str]


@memoise
def _script_template(family: str) -> str:
    # Without pads and clock buffers: a unit's ports are not the chip's. `memory_libmap` says what each array becomes.
    return f"synth_xilinx -family {family} -flatten -noiopad -noclkbuf"


def _never(_: str) -> bool:
    return False


def _script(rtl: Rtl, unit: str, family: str, stat: Path, stop: Callable[[str], bool]) -> str:
    inside = sorted(rtl.closure(unit, stop))
    below = sorted({child for module in inside for child in rtl.instances[module] if child not in inside})
    lines = [f"read_verilog -sv -lib {rtl.folder / (module + '.sv')}" for module in below]
    lines += [f"read_verilog -sv {rtl.folder / (module + '.sv')}" for module in inside]
    lines += [f"hierarchy -check -top {unit}", f"{_script_template(family)} -top {unit}", f"tee -o {stat} stat -json"]
    return "\n".join(lines) + "\n"


def _read_stat(path: Path, unit: str) -> dict[str, int]:
    text = path.read_text()
    modules = json.loads(text[text.index("{") :])["modules"]
    return dict(modules["\\" + unit]["num_cells_by_type"])


def netlist(rtl: Rtl, unit: str, family: str, say: Callable[[str], None] = lambda _: None, flat: bool = False) -> Netlist:
    """
    The netlist of one unit, from the cache when its content has been synthesised before; `flat`: with the units below it. Raises
    SynthError.
    """
    stop = _never if flat else is_unit
    key = cache.digest(rtl.hash(unit, stop), _script_template(family), "memories 2", yosys.version())
    kept = cache.load("netlist", key)
    if kept is None:
        say(f"synthesising {unit} for {family}")
        work = BUILD / "synth" / "logs"
        stat, log = work / f"{unit}-{family}-{key}.json", work / f"{unit}-{family}-{key}.log"
        stat.parent.mkdir(parents=True, exist_ok=True)
        yosys.run(_script(rtl, unit, family, stat, stop), log)
        cells = _read_stat(stat, unit)
        below = {child: n for child, n in cells.items() if child in rtl.texts}
        kept = {"cells": {c: n for c, n in cells.items() if c not in below}, "memories": _memories(log)}
        cache.store("netlist", key, kept)
    return Netlist(kept["cells"], kept["memories"])


_KINDS = {"BLOCKRAM": "block RAM", "LUTRAM": "LUT RAM", "URAM": "UltraRAM", "": "flip-flops"}


def _memories(log: Path) -> dict[str, str]:
    """What each memory, by the path of its instance, became, as yosys tells in its log."""
    said = re.findall(
        r"^(?:mapping memory|using FF mapping for memory) [^\s.]+\.(\S+)\.Memory\b(?: via \$__XILINX_([A-Z]+)_\S*)?",
        log.read_text(errors="replace"),
        re.MULTILINE,
    )
    return {path: _KINDS.get(how, how) for path, how in said}


def netlists(rtl: Rtl, family: str, say: Callable[[str], None] = lambda _: None) -> dict[str, tuple[int, Netlist]]:
    """How often each unit is in the chip, and its netlist."""
    counts: Counter[str] = rtl.counts()
    found = sorted(unit for unit in counts if is_unit(unit))
    with ThreadPoolExecutor(yosys.jobs()) as pool:
        made = pool.map(lambda unit: netlist(rtl, unit, family, say), found)
        return {unit: (counts[unit], one) for unit, one in zip(found, made, strict=True)}
