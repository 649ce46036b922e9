# SPDX-License-Identifier: BSD-3-Clause
"""
Runs the machine code of an offload on the instruction-set simulator of an ASSASIN core (firmware/offload/simulator, built as
build/offload/iss.so). Its cycles are those of the pipeline, without waiting for pages and without cache misses.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from assasin.errors import AssasinError
from assasin.tree import BUILD, contract

STREAMS = contract.SCOMP_MAX_STREAMS
EXITED, TRAPPED, HUNG, TIMEOUT, OUTPUT_FULL = range(5)
LIBRARY = BUILD / "offload" / "iss.so"
WORDS = contract.CORE_IMEM_SIZE // 4
"""Instructions that the memory of a core holds."""


class Trap(AssasinError):
    """An exception of the core: `cause` as in mcause, at address `pc`."""

    def __init__(self, cause: int, pc: int) -> None:
        super().__init__(f"trap, cause {cause} at {pc:#x}")
        self.cause, self.pc = cause, pc


class OutputFullError(AssasinError):
    """An output stream is longer than the room that it was given."""


class _Job(ctypes.Structure):
    _fields_: ClassVar = [
        ("imem", ctypes.c_void_p),
        ("spad", ctypes.c_void_p),
        ("inp", ctypes.c_void_p * STREAMS),
        ("out", ctypes.c_void_p * STREAMS),
        ("in_bytes", ctypes.c_uint32 * STREAMS),
        ("out_bytes", ctypes.c_uint32 * STREAMS),
        *((n, ctypes.c_uint32) for n in ("s_log2", "page", "entry", "seed", "software")),
        ("limit", ctypes.c_uint64),
        *((n, ctypes.c_uint32) for n in ("vlen", "g")),
        *((n, ctypes.c_uint32) for n in ("status", "exit_code", "cause", "pc", "tval", "sepilogue")),
        ("in_head", ctypes.c_uint32 * STREAMS),
        ("instructions", ctypes.c_uint64),
        ("cycles", ctypes.c_uint64),
        ("strips", ctypes.c_uint64),
        ("elements", ctypes.c_uint64),
        ("spent", ctypes.c_void_p),
        ("runs", ctypes.c_void_p),
    ]


def segments(elf: bytes) -> list[tuple[int, bytes, int]]:
    """Loadable segments: address, bytes in the file, size in memory. Raises AssasinError for anything but a 32-bit ELF file."""
    if elf[:6] != b"\x7fELF\x01\x01" or len(elf) < 52:
        raise AssasinError("this is no ELF file of a core: give one that make -C firmware/offload has built")
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
    software: bool = False
    """The ELF file is one for software stream pointers (sp, mem)."""
    seed: int = 0
    """0: pages come and go as early as they can; else when the core waits and at random times."""
    page: int = 4096
    room: int = 1 << 22
    """Bytes that an output stream may have."""
    piece: int = 0
    pieces: int = 1
    vlen: int = 0
    """Bits of a vector register of VarVE; 0: the core has none."""
    g: int = 8
    """Alignment of VarVE, bits."""
    memory: dict[int, bytes] = field(default_factory=dict)
    """More of the scratchpad: what lies at which address."""
    counted: bool = False
    """Count what each instruction costs, for `spent` and `runs`."""
    spad: bytes = b""
    """The scratchpad after the run."""
    out: list[bytes] = field(default_factory=list)
    instructions: int = 0
    cycles: int = 0
    strips: int = 0
    sepilogue: int = 0
    pc: int = 0
    """Where the core is after the run."""
    spent: list[int] = field(default_factory=list, repr=False)
    """Cycles of the instruction at address 4 i."""
    runs: list[int] = field(default_factory=list, repr=False)
    """How often the instruction at address 4 i has run."""

    def run(self, limit: int = 200_000_000) -> int | None:
        """
        Returns the exit code; None: the core waits for something that does not come. Raises Trap, TimeoutError after `limit`
        instructions, OutputFullError, and AssasinError when the program or its arguments do not fit.
        """
        lib = ctypes.CDLL(str(LIBRARY))
        elf = self.path.read_bytes()
        imem = ctypes.create_string_buffer(contract.CORE_IMEM_SIZE)
        spad = ctypes.create_string_buffer(b"\xa5" * contract.CORE_SPAD_SIZE, contract.CORE_SPAD_SIZE)

        def put(target: ctypes.Array[ctypes.c_char], at: int, data: bytes) -> None:
            if at + len(data) > len(target):
                raise AssasinError(f"{len(data):,} bytes at {at:#x} are more than the {len(target):,} bytes of that memory")
            ctypes.memmove(ctypes.byref(target, at), data, len(data))

        for address, data, size in segments(elf):
            if address < contract.CORE_SPAD_BASE:
                put(imem, address, data.ljust(size, b"\0"))
            else:
                put(spad, address - contract.CORE_SPAD_BASE, data)
        task = contract.ScompTask(self.piece, self.pieces, len(self.args), len(self.inputs), self.outputs)
        for i, data in enumerate(self.inputs):
            task.bytes[i] = len(data)
        put(spad, 0, bytes(task))
        put(spad, contract.SCOMP_SPAD_ARGS, self.args)
        for address, data in self.memory.items():
            put(spad, address - contract.CORE_SPAD_BASE, data)

        streams = max(len(self.inputs), self.outputs, 1)
        job = _Job(s_log2=(streams - 1).bit_length(), page=self.page, seed=self.seed, software=self.software, limit=limit)
        job.vlen, job.g = self.vlen, self.g
        job.entry = struct.unpack_from("<I", elf, 24)[0]
        job.imem, job.spad = ctypes.addressof(imem), ctypes.addressof(spad)
        keep = [ctypes.create_string_buffer(data, len(data) or 1) for data in self.inputs]
        # Pages of a mapping take memory only once they are written.
        drained = [(ctypes.c_char * self.room).from_buffer(mmap.mmap(-1, max(1, self.room))) for _ in range(self.outputs)]
        for i, buffer in enumerate(keep):
            job.inp[i], job.in_bytes[i] = ctypes.addressof(buffer), len(self.inputs[i])
        for i, buffer in enumerate(drained):
            job.out[i], job.out_bytes[i] = ctypes.addressof(buffer), self.room
        spent, runs = (ctypes.c_uint64 * WORDS)(), (ctypes.c_uint64 * WORDS)()
        if self.counted:
            job.spent, job.runs = ctypes.addressof(spent), ctypes.addressof(runs)
        lib.iss_run(ctypes.byref(job))
        self.out = [ctypes.string_at(drained[i], job.out_bytes[i]) for i in range(self.outputs)]
        self.instructions, self.cycles, self.sepilogue, self.pc = job.instructions, job.cycles, job.sepilogue, job.pc
        self.strips, self.spad = job.strips, spad.raw
        self.spent, self.runs = (list(spent), list(runs)) if self.counted else ([], [])
        if job.status == TRAPPED:
            raise Trap(job.cause, job.pc)
        if job.status == TIMEOUT:
            raise TimeoutError(f"still running after {limit} instructions, at {job.pc:#x}")
        if job.status == OUTPUT_FULL:
            raise OutputFullError(f"an output stream is longer than the {self.room:,} bytes that it may have here")
        return int(job.exit_code) if job.status == EXITED else None
