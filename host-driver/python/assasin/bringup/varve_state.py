# SPDX-License-Identifier: BSD-3-Clause
"""Vectors of VarVE-full and streams of VarVE as a halted hart has them, for a debugger (docs/varve/isa.md, 2.1 and 2.2)."""

from __future__ import annotations

from dataclasses import dataclass

from assasin.bringup import rv32
from assasin.bringup.hart import Hart
from assasin.tree import contract

INPUTS, OUTPUTS = 12, 8
"""Most ids of streams; those that a hart does not have read as closed."""

_STREAM, _DATA, _WIDTH, _REGISTER = 0, 1, 2, 3
_OUTPUT = 16
_ALL = 0xFFFFFFFF
_KINDS = ("fixed width", "VarWidth", "Huffman", "kind 3")


def select(kind: int, thing: int, index: int = 0) -> int:
    """VSSEL for a word: class, object and index."""
    return kind << 28 | index << 8 | thing


@dataclass(frozen=True)
class Vector:
    """A vector register. Of one that holds elements of any width `data` is compact; else `count` is a mask's length alone."""

    number: int
    data: bytes
    variable: bool
    unsigned: bool
    mb: int
    count: int
    widths: tuple[int, ...]

    def elements(self, align: int) -> list[int]:
        """The values, in slots of `align` bits; none of a register of fixed width."""
        bits, at, values = int.from_bytes(self.data, "little"), 0, []
        for width in self.widths if self.variable else ():
            size = -(-width // align) * align
            value = bits >> at & ((1 << size) - 1)
            if not self.unsigned and size and value >> (size - 1):
                value -= 1 << size
            values.append(value)
            at += size
        return values

    def text(self, align: int) -> str:
        """A line or two."""
        if not self.variable:
            return f"v{self.number}: fixed width, mask length {self.count}: {self.data[::-1].hex()}\n"
        sign = "unsigned" if self.unsigned else "signed"
        pairs = zip(self.elements(align), self.widths, strict=True)
        listed = ", ".join(f"{value} ({width} bits)" for value, width in pairs)
        return f"v{self.number}: {self.count} elements, {sign}, up to {self.mb} bits\n  {listed}\n"


@dataclass(frozen=True)
class Stream:
    """A stream's descriptor. Positions are bytes: addresses, or places in a stream buffer's stream; `left` None: to the end."""

    output: bool
    number: int
    kind: int
    format: int
    table: int
    pending: int
    byte: int
    bit: int
    widths_at: int
    left: int | None
    done: int

    def text(self) -> str:
        """A line."""
        sign = "unsigned" if self.format >> 7 & 1 else "signed"
        mb = 8 << (self.format >> 8 & 3)
        name = "output" if self.output else "input"
        where = "stream buffer" if self.format >> 10 & 1 else "memory"
        kind = f"fixed width {self.format & 127} bits" if self.kind == 0 else _KINDS[self.kind]
        line = f"{name} s{self.number}: {kind}, {sign}, up to {mb} bits, {where}, at byte {self.byte:#x} bit {self.bit}"
        if self.kind == 1:
            line += f", next width at {self.widths_at:#x}"
        if self.kind == 2:
            line += f", table {self.table}"
        line += f", {self.done} elements done"
        if not self.output:
            line += ", to the stream's end" if self.left is None else f", {self.left} left"
        return line + (f", pending error {self.pending}\n" if self.pending else "\n")


def align_of(hart: Hart) -> int:
    """G: bits of a slot."""
    return int(1 << (hart.csr(contract.CSR_VVCFG) & 7))


def has_full(hart: Hart) -> bool:
    """The unit has VarVE-full."""
    return "nume" in hart.csrs


def vector(hart: Hart, number: int) -> Vector:
    """A vector register of a halted hart with VarVE-full. Raises BringupError."""
    (word,) = hart.window([select(_REGISTER, number)])
    variable, count = bool(word & 1), word >> 16 & 1023
    widths = hart.window([select(_WIDTH, number, i) for i in range(count)]) if variable else []
    return Vector(number, hart.vector(number), variable, bool(word >> 1 & 1), 8 << (word >> 2 & 3), count, tuple(widths))


def streams(hart: Hart) -> list[Stream]:
    """The open streams, inputs first. Raises BringupError."""
    names = [(False, i) for i in range(INPUTS)] + [(True, i) for i in range(OUTPUTS)]
    heads = hart.window([select(_STREAM, output * _OUTPUT + i) for output, i in names])
    found = []
    for (output, number), head in zip(names, heads, strict=True):
        if not head & 1:
            continue
        thing = output * _OUTPUT + number
        byte, rest, widths_at, left, done = hart.window([select(_STREAM, thing, i) for i in (1, 3, 4, 6, 8)])
        found.append(
            Stream(
                output,
                number,
                head >> 1 & 7,
                head >> 4 & 0x3FFF,
                head >> 20 & 1,
                head >> 24 & 7,
                byte,
                rest & 7,
                widths_at,
                None if left == _ALL else left,
                done,
            )
        )
    return found


def vectors_text(hart: Hart, numbers: list[int] | None = None) -> str:
    """Those registers, or all that hold elements of any width; and NumE."""
    if not has_full(hart):
        return f"{hart.name} has no VarVE-full: print $v0 shows its vector registers\n"
    nume, align = hart.csr(contract.CSR_NUME), align_of(hart)
    packed = ", PACKED" if nume >> 31 else ""
    lines = [f"NumE {nume & 0xFFFF}{packed}\n"]
    if numbers is None:
        heads = hart.window([select(_REGISTER, n) for n in range(rv32.VECTOR_REGISTERS)])
        numbers = [n for n, word in enumerate(heads) if word & 1]
    return "".join(lines + [vector(hart, n).text(align) for n in numbers])


def streams_text(hart: Hart) -> str:
    """The open streams, a line each."""
    if "mvarve" not in hart.csrs:
        return f"{hart.name} has no VarVE\n"
    return "".join(s.text() for s in streams(hart)) or "no stream is open\n"
