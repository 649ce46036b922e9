# SPDX-License-Identifier: BSD-3-Clause
"""
Figures 8.4 and 8.8 of `assasin bench varve`: listings of loops, whose instructions are counted in the programs.

8.8 is filter q03c in Zve32x and in VarVE-full; 8.4 is unpacking, of which VarVE-pup's loop of bitpacking is looked at.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assasin.varve_stated import LISTINGS
from assasin.varve_tile import CONFIG, FILTERS, FULL_CONFIG, WORKLOADS, Row, VarveBenchError, there

UNPACK, FILTER = "8.4", "8.8"
LANES = 8
"""Of 32 bits, in a vector of 256."""

_VECTOR_LENGTH = (0x8000707F, 0x00007057)
"""vsetvli."""
_VRCNUM = (0x0000707F, 0x0000105B)
_PUP_UNPACK = (0xC000707F, 0x4000205B)
"""Mask and match of instructions that are looked for."""


@dataclass(frozen=True)
class Loop:
    """Words of a function's only loop."""

    words: list[int]

    def count(self, of: tuple[int, int]) -> int:
        """How many of an instruction there are; of: mask and match."""
        return sum(word & of[0] == of[1] for word in self.words)


def loop(elf: Path, function: str) -> Loop:
    """The loop of a function: from where its last backward branch goes. Raises VarveBenchError where there is none."""
    there(elf)
    listing = subprocess.run(
        ["riscv64-unknown-elf-objdump", "-d", f"--disassemble={function}", elf], check=True, capture_output=True, text=True
    ).stdout
    lines = re.findall(r"^\s+([0-9a-f]+):\s+([0-9a-f]{8})\s+(\S+)(?:\s+(.*))?$", listing, re.MULTILINE)
    words = {int(at, 16): int(word, 16) for at, word, *_ in lines}
    branches = [(int(at, 16), re.search(r"([0-9a-f]+) <", rest)) for at, _, name, rest in lines if name.startswith("b")]
    backward = [(at, int(to[1], 16)) for at, to in branches if to and int(to[1], 16) < at]
    if not backward:
        raise VarveBenchError(f"{elf.name}: {function} has no loop")
    end, start = backward[-1]
    return Loop([word for at, word in words.items() if start <= at <= end])


def run(measured: dict[tuple[str, str, str], float]) -> Iterator[Row]:
    """Rows; measured: by workload, form and metric, what the same run found on the tile. Raises VarveBenchError."""

    def row(figure: str, name: str, form: str, metric: str, ours: float | None, unit: str, why: str | None = None) -> Row:
        config = FULL_CONFIG if form == "full" else CONFIG
        return Row(figure, name, form, metric, ours, LISTINGS.get((name, form, metric)), unit, config, why=why)

    pup = loop(WORKLOADS / "pup-e32-m1.elf", "bitpack15").count(_PUP_UNPACK)
    yield row(UNPACK, "unpack", "pup", "instructions_per_vector", pup, "instructions, listing of bitpack15")
    why = "there is no kernel of Zve32x that unpacks"
    yield row(UNPACK, "unpack", "zve32x", "instructions_per_vector", None, "instructions", why)
    for form, program, per_strip in (("zve32x", "zve32x-m1", None), ("full", "full", _VRCNUM)):
        found = loop(FILTERS / f"{program}.elf", "q03c")
        # The compiler unrolls VarVE-full's loop.
        strips = 1 if per_strip is None else found.count(per_strip)
        instructions = len(found.words) / strips
        yield row(FILTER, "q03c", form, "instructions_per_iteration", instructions, "instructions, listing")
        taken, rows = (measured.get(("q03c", form, metric)) for metric in ("instructions", "rows"))
        if per_strip is None:
            yield row(FILTER, "q03c", form, "rows_per_iteration", LANES, "rows of a vector")
        elif taken and rows:
            yield row(FILTER, "q03c", form, "rows_per_iteration", rows * instructions / taken, "rows, by the instructions taken")
        else:
            yield row(FILTER, "q03c", form, "rows_per_iteration", None, "rows", "q03c was not measured in this run")
