# SPDX-License-Identifier: BSD-3-Clause
"""
Gate-level area and power of a unit's logic: yosys maps it to the standard cells of OSU's 0.18 um library, OpenSTA adds up the
cells' power at a switching activity. The library is old and small: only ratios between units mean something. Memories from
SRAM_BITS on are not gates: they are counted in bits.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assasin.synth import SynthError, cache, polite, yosys
from assasin.synth.rtl import Rtl
from assasin.synth.units import is_unit
from assasin.tree import BUILD

LIBERTY = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
SRAM_BITS = 4096
"""Arrays of at least this many bits become SRAM macros, smaller ones flip-flops."""
CLOCK_NS = 10.0
"""Period of the clock at which power is reported."""


@dataclass(frozen=True)
class Gates:
    """One unit's logic without units below it. `area`: square micrometres; `sram_bits`: bits of its SRAM macros; `netlist`: key of
    the mapped netlist in the cache."""

    cells: int
    flops: int
    area: float
    sram_bits: int
    netlist: str


@dataclass(frozen=True)
class Power:
    """Watts at a clock of CLOCK_NS: `internal` in cells (clock pins included), `switching` of nets, `leakage`."""

    internal: float
    switching: float
    leakage: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.internal + self.switching + self.leakage


def _liberty() -> Path:
    if not LIBERTY.exists():
        raise SynthError(f"{LIBERTY} is missing: run scripts/setup, which installs the Debian package qflow-tech-osu018")
    return LIBERTY


def _script(rtl: Rtl, unit: str, netlist: Path, stat: Path) -> str:
    inside = sorted(rtl.closure(unit, lambda m: is_unit(m) or rtl.memory_bits(m) >= SRAM_BITS))
    below = sorted({child for module in inside for child in rtl.instances[module] if child not in inside})
    lines = [f"read_verilog -sv -lib {rtl.folder / (module + '.sv')}" for module in below]
    lines += [f"read_verilog -sv {rtl.folder / (module + '.sv')}" for module in inside]
    library = _liberty()
    lines += [
        f"hierarchy -check -top {unit}",
        f"synth -flatten -top {unit}",
        f"dfflibmap -liberty {library}",
        f"abc -liberty {library}",
        "opt_clean -purge",
        "setundef -zero",
        "opt_clean -purge",
        f"write_verilog -noattr -noexpr -nohex -nodec -simple-lhs {netlist}",
        f"tee -o {stat} stat -json -liberty {library}",
    ]
    return "\n".join(lines) + "\n"


def _key(rtl: Rtl, unit: str) -> str:
    stop: Callable[[str], bool] = is_unit
    return cache.digest(rtl.hash(unit, stop), "gates 1", str(SRAM_BITS), _liberty().read_text(), yosys.version())


def gates(rtl: Rtl, unit: str, say: Callable[[str], None] = lambda _: None) -> Gates:
    """The unit mapped to standard cells; from the cache when its content has been mapped before. Raises SynthError."""
    key = _key(rtl, unit)
    kept = cache.load("gates", key)
    target = cache.folder() / "gates" / f"{key}.v"
    if kept is None or not target.exists():
        say(f"mapping {unit} to gates")
        work = BUILD / "synth" / "logs" / f"{unit}-gates-{key}"
        work.parent.mkdir(parents=True, exist_ok=True)
        netlist, stat = work.with_suffix(".v"), work.with_suffix(".json")
        yosys.run(_script(rtl, unit, netlist, stat), work.with_suffix(".log"))
        kept = asdict(_result(rtl, unit, stat, key))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(netlist, target.with_suffix(".part"))
        target.with_suffix(".part").replace(target)
        cache.store("gates", key, kept)
    return Gates(**kept)


def _result(rtl: Rtl, unit: str, stat: Path, key: str) -> Gates:
    text = stat.read_text()
    module: dict[str, Any] = json.loads(text[text.index("{") :])["modules"]["\\" + unit]
    cells = module["num_cells_by_type"]
    bits = sum(rtl.memory_bits(cell) * n for cell, n in cells.items() if cell in rtl.texts)
    flops = sum(n for cell, n in cells.items() if cell.startswith(("DFF", "LATCH")))
    mapped = sum(n for cell, n in cells.items() if cell not in rtl.texts and not cell.startswith("$"))
    return Gates(mapped, flops, float(module["area"]) if mapped else 0.0, bits, key)


_TCL = """
read_liberty {library}
read_verilog {netlist}
link_design {top}
create_clock -name clock -period {period} [get_ports clock]
set_power_activity -global -activity {activity} -duty 0.5
report_power -digits 6
exit
"""


def power(found: Gates, unit: str, activity: float) -> Power:
    """
    Power of the unit's gates when every net toggles `activity` times a cycle, all flip-flops clocked in every cycle (the chip has
    no clock gates). Raises SynthError.
    """
    if not found.cells:
        return Power(0, 0, 0)
    if shutil.which("sta") is None:
        raise SynthError("OpenSTA (sta) is missing: run scripts/setup, which installs the Debian package opensta")
    script = BUILD / "synth" / "logs" / f"{unit}-power-{found.netlist}.tcl"
    script.parent.mkdir(parents=True, exist_ok=True)
    netlist = cache.folder() / "gates" / f"{found.netlist}.v"
    script.write_text(_TCL.format(library=_liberty(), netlist=netlist, top=unit, period=CLOCK_NS, activity=activity))
    done = polite.run(["sta", "-no_splash", "-exit", script])
    match = re.search(r"^Total\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)", done.stdout, re.MULTILINE)
    if not match:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise SynthError(
            f"OpenSTA reports no power for {unit}: {lines[-1] if lines else 'it printed nothing'}; its script is {script}"
        )
    return Power(float(match[1]), float(match[2]), float(match[3]))


def power_model(found: Gates, unit: str) -> tuple[float, float]:
    """(watts without toggles, watts per toggle a net and cycle): the library's power is linear in the activity. From the cache."""
    key = cache.digest(found.netlist, str(CLOCK_NS), "power 1")
    kept = cache.load("power", key)
    if kept is None:
        none, some = power(found, unit, 0.0).total, power(found, unit, 0.1).total
        kept = {"idle": none, "per_activity": (some - none) / 0.1}
        cache.store("power", key, kept)
    return kept["idle"], kept["per_activity"]
