# SPDX-License-Identifier: BSD-3-Clause
"""
Delays of Xilinx 7-series primitives, read out of the `specify` blocks of yosys's cells_sim.v (measured by its authors from the
vendor's database for Artix-7). Picoseconds. Only delays inside the primitives; no wires.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache as memoise

from assasin.synth import yosys


@dataclass
class CellTiming:
    """One primitive, by port name or `port[bit]`: `arcs` through it, `setup` before and `launch` after its clock edge."""

    arcs: list[tuple[str, str, int]] = field(default_factory=list)
    setup: list[tuple[str, int]] = field(default_factory=list)
    launch: list[tuple[str, int]] = field(default_factory=list)


_PORT = r"(\w+(?:\[\d+\])?)"
_ARC = re.compile(rf"^\s*\(\s*{_PORT}\s*[*=]>\s*{_PORT}\s*\)\s*=\s*(\d+)")
_SETUP = re.compile(rf"\$setup\(\s*{_PORT}\s*,\s*posedge\b[^,]*,\s*(?:/\*.*?\*/)?\s*(\d+)\s*\)")
_LAUNCH = re.compile(rf"posedge\s+\w+\s*=>\s*\(\s*{_PORT}\s*:.*\)\s*=\s*(\d+)")


def parse(text: str) -> dict[str, CellTiming]:
    """The primitives of a Verilog library that have a specify block of plain numbers."""
    cells: dict[str, CellTiming] = {}
    for match in re.finditer(r"^module\s+(\w+)\b(.*?)^endmodule", text, re.MULTILINE | re.DOTALL):
        timing = CellTiming()
        for block in re.findall(r"\bspecify\b(.*?)\bendspecify\b", match[2], re.DOTALL):
            for statement in re.sub(r"//.*", "", block).split(";"):
                if arc := _ARC.search(statement.strip()):
                    timing.arcs.append((arc[1], arc[2], int(arc[3])))
                elif setup := _SETUP.search(statement):
                    timing.setup.append((setup[1], int(setup[2])))
                # Block RAMs without output register: the first of two values, which a condition tells apart.
                elif (launch := _LAUNCH.search(statement)) and launch[1] not in (port for port, _ in timing.launch):
                    timing.launch.append((launch[1], int(launch[2])))
        if timing.arcs or timing.setup or timing.launch:
            cells[match[1]] = timing
    return cells


@memoise
def library() -> dict[str, CellTiming]:
    """All primitives of the family."""
    return parse((yosys.share() / "xilinx" / "cells_sim.v").read_text())


def of_cell(kind: str, parameters: Mapping[str, str]) -> CellTiming:
    """Timing of a primitive with these parameters. Raises KeyError for one that the library has no timing of."""
    if kind == "DSP48E1":
        return _dsp(parameters)
    return library()[kind]


def _dsp(parameters: Mapping[str, str]) -> CellTiming:
    """A multiplier without pre-adder: cells_sim.v has its delays in functions of these parameters."""

    def register(name: str) -> bool:
        return int(str(parameters.get(name, "0")), 2) != 0

    p, m = register("PREG"), register("MREG")
    timing = CellTiming()
    for port, through, registered, before_m, before_p in (("A", 2823, 254, 1416, 2739), ("B", 2690, 324, 1285, 2608)):
        if register(f"{port}REG"):
            timing.setup.append((port, registered))
        elif m or p:
            timing.setup.append((port, before_m if m else before_p))
        else:
            timing.arcs += [(port, "P", through), (port, "PCOUT", through + 148)]
    if register("CREG") or p:
        timing.setup.append(("C", 168 if register("CREG") else 1244))
    else:
        timing.arcs += [("C", "P", 1325), ("C", "PCOUT", 1474)]
    if p:
        timing.setup.append(("PCIN", 1025))
    else:
        timing.arcs += [("PCIN", "P", 1107), ("PCIN", "PCOUT", 1255)]
    if p or m or register("AREG") or register("BREG"):
        arrival = 329 if p else 1671 if m else 2952
        timing.launch += [("P", arrival), ("PCOUT", arrival + 148 - 42 * p)]
    return timing
