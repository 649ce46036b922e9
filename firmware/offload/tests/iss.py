# SPDX-License-Identifier: BSD-3-Clause
"""
A small instruction-set simulator of an ASSASIN core, for the machine code of offloads: RV32IM as the unprivileged specification has
it, the stream instructions as docs/architecture.md has them. Inputs count as delivered in full; output streams never fill.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

import assasin_contract as contract

MASK = 0xFFFFFFFF


class Trap(Exception):
    """An exception of the core."""

    def __init__(self, cause: int, pc: int) -> None:
        super().__init__(f"trap, cause {cause} at {pc:#x}")
        self.cause, self.pc = cause, pc


def signed(v: int) -> int:
    return v - (1 << 32) if v >> 31 else v


def sext(v: int, bits: int) -> int:
    return (v & ((1 << bits) - 1)) - ((v >> (bits - 1) & 1) << bits)


def segments(elf: bytes) -> list[tuple[int, bytes, int]]:
    """Loadable segments: address, bytes in the file, size in memory."""
    assert elf[:6] == b"\x7fELF\x01\x01"
    offset, size, count = struct.unpack_from("<I", elf, 28)[0], *struct.unpack_from("<HH", elf, 42)
    out = []
    for i in range(count):
        kind, at, address, _, in_file, in_memory, _, _ = struct.unpack_from("<8I", elf, offset + i * size)
        if kind == 1 and in_memory:
            out.append((address, elf[at : at + in_file], in_memory))
    return out


@dataclass
class Core:
    """One core with a program loaded. `run` executes until ECALL, or a hang (returns None)."""

    path: Path
    inputs: list[bytes]
    args: bytes = b""
    outputs: int = 1
    imem: bytearray = field(default_factory=lambda: bytearray(contract.CORE_IMEM_SIZE))
    spad: bytearray = field(default_factory=lambda: bytearray(b"\xa5" * contract.CORE_SPAD_SIZE))
    instructions: int = 0

    def __post_init__(self) -> None:
        elf = self.path.read_bytes()
        for address, data, size in segments(elf):
            if address < contract.CORE_SPAD_BASE:
                self.imem[address : address + size] = data.ljust(size, b"\0")
            else:
                at = address - contract.CORE_SPAD_BASE
                self.spad[at : at + len(data)] = data
        self.pc = struct.unpack_from("<I", elf, 24)[0]
        task = contract.ScompTask(0, 1, len(self.args), len(self.inputs), self.outputs)
        for i, data in enumerate(self.inputs):
            task.bytes[i] = len(data)
        self.spad[: len(bytes(task))] = bytes(task)
        self.spad[contract.SCOMP_SPAD_ARGS : contract.SCOMP_SPAD_ARGS + len(self.args)] = self.args
        self.x = [0] * 32
        self.heads = [0] * len(self.inputs)
        self.out = [bytearray() for _ in range(self.outputs)]
        self.sepilogue = 0

    def run(self, limit: int = 10_000_000) -> int | None:
        while self.instructions < limit:
            if self.pc & 3 or self.pc >= len(self.imem):
                raise Trap(1, self.pc)
            word = struct.unpack_from("<I", self.imem, self.pc)[0]
            if word == 0x00000073:
                return self.x[10]
            if not self._step(word):
                return None
            self.x[0] = 0
            self.instructions += 1
        raise TimeoutError(f"still running after {limit} instructions, at {self.pc:#x}")

    def _memory(self, address: int, width: int, cause: int) -> int:
        at = (address & MASK) - contract.CORE_SPAD_BASE
        if address % width:
            raise Trap(cause - 1, self.pc)
        if not 0 <= at <= len(self.spad) - width:
            raise Trap(cause, self.pc)
        return at

    def _step(self, w: int) -> bool:
        op, rd, f3, rs1, rs2, f7 = w & 0x7F, w >> 7 & 31, w >> 12 & 7, w >> 15 & 31, w >> 20 & 31, w >> 25
        a, b, next_pc = self.x[rs1], self.x[rs2], self.pc + 4
        imm = sext(w >> 20, 12)
        if op == 0x37:
            value = w & 0xFFFFF000
        elif op == 0x17:
            value = self.pc + (w & 0xFFFFF000)
        elif op == 0x6F:
            value = next_pc
            offset = (w >> 31) << 20 | (w >> 12 & 0xFF) << 12 | (w >> 20 & 1) << 11 | (w >> 21 & 0x3FF) << 1
            next_pc = self.pc + sext(offset, 21)
        elif op == 0x67:
            value, next_pc = next_pc, (a + imm) & ~1
        elif op == 0x63:
            offset = (w >> 31) << 12 | (w >> 7 & 1) << 11 | (w >> 25 & 0x3F) << 5 | (w >> 8 & 15) << 1
            if f3 in (2, 3):
                raise Trap(2, self.pc)
            taken = (a == b, signed(a) < signed(b), a < b)[(f3 >> 1) - (f3 >= 4)] ^ (f3 & 1)
            if taken:
                next_pc = self.pc + sext(offset, 13)
            value, rd = 0, 0
        elif op == 0x03:
            width = 1 << (f3 & 3)
            at = self._memory(a + imm, width, 5)
            value = self._extend(f3, self.spad[at : at + width])
        elif op == 0x23:
            width = 1 << f3
            at = self._memory(a + sext(f7 << 5 | rd, 12), width, 7)
            self.spad[at : at + width] = (b & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            value, rd = 0, 0
        elif op == 0x13:
            value = self._alu(f3, f7 if f3 in (1, 5) else 0, a, imm & MASK)
        elif op == 0x33:
            value = self._muldiv(f3, a, b) if f7 == 1 else self._alu(f3, f7, a, b)
        elif op == 0x73:
            value = self._csr(w >> 20, f3, a)
        elif op == 0x0B:
            stream = rs1
            if f7 > 3 or stream >= (len(self.inputs) if f7 in (0, 2) else self.outputs):
                raise Trap(2, self.pc)
            return self._stream(f3, f7, rd, stream, b)
        else:
            raise Trap(2, self.pc)
        self.x[rd] = value & MASK
        self.pc = next_pc & MASK
        return True

    @staticmethod
    def _extend(f3: int, data: bytes | bytearray) -> int:
        return int.from_bytes(data, "little", signed=not f3 >> 2) & MASK

    def _stream(self, f3: int, f7: int, rd: int, stream: int, b: int) -> bool:
        width = 1 << (f3 & 3)
        if f7 == 0:
            data, head = self.inputs[stream], self.heads[stream]
            if len(data) - head < width:
                self.pc = self.sepilogue
                return self.sepilogue != 0
            self.x[rd] = self._extend(f3, data[head : head + width])
            self.heads[stream] += width
        elif f7 == 1:
            self.out[stream] += (b & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        else:
            data = self.inputs[stream] if f7 == 2 else self.out[stream]
            if not width <= b <= len(data):
                raise Trap(contract.CAUSE_STREAM_RANGE, self.pc)
            at = len(data) - b
            self.x[rd] = self._extend(f3, data[at : at + width])
        self.pc += 4
        return True

    def _csr(self, number: int, f3: int, a: int) -> int:
        base, stream = number & ~7, number & 7
        if number == contract.CSR_SEPILOGUE:
            old = self.sepilogue
            if f3 == 1:
                self.sepilogue = a
            return old
        if base == contract.CSR_IHEAD:
            return self.heads[stream]
        if base in (contract.CSR_ITAIL, contract.CSR_IEND):
            return len(self.inputs[stream])
        if base == contract.CSR_OHEAD:
            return len(self.out[stream])
        raise Trap(2, self.pc)

    @staticmethod
    def _alu(f3: int, f7: int, a: int, b: int) -> int:
        shift = b & 31
        if f3 == 0:
            return a - b if f7 == 0x20 else a + b
        if f3 == 5:
            return signed(a) >> shift if f7 == 0x20 else a >> shift
        return {1: a << shift, 2: int(signed(a) < signed(b)), 3: int(a < b), 4: a ^ b, 6: a | b, 7: a & b}[f3]

    @staticmethod
    def _muldiv(f3: int, a: int, b: int) -> int:
        sa, sb = signed(a), signed(b)
        if f3 < 4:
            return (a * b, sa * sb >> 32, sa * b >> 32, a * b >> 32)[f3]
        if b == 0:
            return MASK if f3 < 6 else a
        if f3 & 1:
            return a // b if f3 == 5 else a % b
        quotient = abs(sa) // abs(sb) * (1 if (sa < 0) == (sb < 0) else -1)
        return quotient if f3 == 4 else sa - quotient * sb
