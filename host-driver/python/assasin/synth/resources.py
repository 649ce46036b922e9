# SPDX-License-Identifier: BSD-3-Clause
"""FPGA resources of a netlist of Xilinx primitives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# LUTs of a slice that one cell of distributed memory or shift register takes (UG474, UG574, "Distributed RAM").
MEMORY_LUTS = {
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM64X8SW": 8,
    "SRL16E": 1,
    "SRLC16E": 1,
    "SRLC32E": 1,
}
_LOGIC_LUTS = {"LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "INV"}
_BLOCKS36 = {"RAMB36E1": 1.0, "RAMB36E2": 1.0, "RAMB18E1": 0.5, "RAMB18E2": 0.5, "FIFO36E1": 1.0, "FIFO18E1": 0.5}
_DSPS = {"DSP48E1", "DSP48E2"}
_FREE = ("CARRY", "MUXF", "BUF", "IBUF", "OBUF", "GND", "VCC", "$scopeinfo")


@dataclass(frozen=True)
class Resources:
    """What a design takes of a part.

    LUTs are slice LUTs: `lut_memory` of them hold distributed memory or shift registers. `bram36` counts blocks of 36 Kibit, a
    half block as 0.5.
    """

    lut: int = 0
    lut_memory: int = 0
    ff: int = 0
    bram36: float = 0
    uram: int = 0
    dsp: int = 0

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.lut + other.lut,
            self.lut_memory + other.lut_memory,
            self.ff + other.ff,
            self.bram36 + other.bram36,
            self.uram + other.uram,
            self.dsp + other.dsp,
        )

    def times(self, n: int) -> Resources:
        """`n` of them."""
        return Resources(self.lut * n, self.lut_memory * n, self.ff * n, self.bram36 * n, self.uram * n, self.dsp * n)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def of_cells(cells: Mapping[str, int]) -> Resources:
    """Resources of these primitives. Raises ValueError for a cell that is none, such as a module without contents."""
    count: Counter[str] = Counter(cells)
    memory = sum(n * MEMORY_LUTS[cell] for cell, n in count.items() if cell in MEMORY_LUTS)
    logic = sum(n for cell, n in count.items() if cell in _LOGIC_LUTS)
    flops = sum(n for cell, n in count.items() if cell.startswith(("FD", "LD")))
    blocks = sum(n * _BLOCKS36[cell] for cell, n in count.items() if cell in _BLOCKS36)
    dsps = sum(n for cell, n in count.items() if cell in _DSPS)
    for cell in count:
        known = cell in MEMORY_LUTS or cell in _LOGIC_LUTS or cell in _BLOCKS36 or cell in _DSPS or cell == "URAM288"
        if not known and not cell.startswith(("FD", "LD", *_FREE)):
            raise ValueError(f"cell '{cell}' is no primitive whose resources are known")
    return Resources(logic + memory, memory, flops, blocks, count["URAM288"], dsps)
