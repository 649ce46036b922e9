# SPDX-License-Identifier: BSD-3-Clause
"""
Computational Programs from the guest, by nvme-cli alone: blocks copied to the local memory, a program loaded and executed there.

The stock driver passes commands of namespaces it does not know through their generic character devices. It clears command dwords 4
and 5, which Execute Program does not depend on here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

MEMORY = "/dev/ng0n2"
PROGRAMS = "/dev/ng0n3"
LOAD, ACTIVATE, RANGE_SETS = 0x85, 0x88, 0x89
COPY, READ, FILL, WRITE = 0x01, 0x02, 0x04, 0x05
EXECUTE = 0x01
ELF_TYPE = 0xC0
BLOCK = 4096
PART = 65536
"""Bytes of a transfer: the kernel's limit for passthrough may be lower than the drive's."""

Shell = Callable[[str], str]


class Passthrough:
    """nvme-cli in the guest. `sh` runs a command there that must succeed; `share` is a folder that it sees as /share."""

    def __init__(self, sh: Shell, share: Path) -> None:
        self._sh = sh
        self._share = share
        self._commands = 0

    def admin(self, opcode: int, data: bytes = b"", **dwords: int) -> str:
        """An admin command of the program namespace. Returns what nvme-cli says."""
        return self._pass("admin-passthru", "/dev/nvme0", opcode, data, dwords | {"namespace-id": 3})

    def io(self, device: str, opcode: int, data: bytes = b"", **dwords: int) -> str:
        """A command on a namespace's device. Returns what nvme-cli says."""
        return self._pass("io-passthru", device, opcode, data, dwords | {"namespace-id": int(device[-1])})

    def read_memory(self, at: int, length: int) -> bytes:
        """Bytes of the local memory."""
        command = f"nvme io-passthru {MEMORY} --opcode={READ} --namespace-id=2 --cdw10={at} --cdw12={length} --data-len={length}"
        return bytes.fromhex(self._sh(f"{command} --read --raw-binary 2>/dev/null | hexdump -v -e '/1 \"%02x\"'"))

    def _pass(self, verb: str, device: str, opcode: int, data: bytes, options: dict[str, int]) -> str:
        words = [f"nvme {verb} {device} --opcode={opcode}", *(f"--{name}={value}" for name, value in options.items())]
        if data:
            # A name of its own: the guest may still have what another file of this name held.
            self._commands += 1
            name = f"command-{self._commands}"
            (self._share / name).write_bytes(data)
            words += [f"--data-len={len(data)}", "--write", f"--input-file=/share/{name}"]
        return self._sh(" ".join(words) + " 2>&1")


def result(said: str) -> int:
    """Completion dword 0 of a command that succeeded, as nvme-cli prints it."""
    return int(said.rstrip().rpartition("result:")[2].strip().rstrip("."), 16)


def load(p: Passthrough, index: int, elf: bytes, identifier: int) -> None:
    """Loads an ELF as program `index` and activates it."""
    for at in range(0, len(elf), PART):
        part = elf[at : at + PART]
        p.admin(
            LOAD,
            part,
            cdw10=index | ELF_TYPE << 16,
            cdw11=len(elf),
            cdw12=identifier & 0xFFFFFFFF,
            cdw13=identifier >> 32,
            cdw14=len(part),
            cdw15=at,
        )
    p.admin(ACTIVATE, cdw10=index | 1 << 16)


def copy_blocks(p: Passthrough, lba: int, count: int, to: int) -> None:
    """Copies blocks of namespace 1 to byte `to` of the local memory."""
    source = struct.pack("<IIQIIQ", 1, 0, lba, count - 1, 0, 0)
    length = count * BLOCK
    p.io(MEMORY, COPY, source, cdw2=length & 0xFFFFFFFF, cdw3=length >> 32, cdw10=to, cdw12=2 << 8)


def make_ranges(p: Passthrough, ranges: list[tuple[int, int]]) -> int:
    """Makes a memory range set of (start, bytes) each; returns its identifier."""
    data = b"".join(struct.pack("<IIQ16x", 2, length, at) for at, length in ranges)
    return result(p.admin(RANGE_SETS, data, cdw11=len(ranges)))


def execute(p: Passthrough, index: int, ranges: int) -> int:
    """Runs a program on a range set: its first range is the input. Returns the bytes of output."""
    return result(p.io(PROGRAMS, EXECUTE, cdw2=index | ranges << 16))


def remove(p: Passthrough, index: int, ranges: int) -> None:
    """Takes program and range set away."""
    p.admin(RANGE_SETS, cdw10=1 | ranges << 16)
    p.admin(ACTIVATE, cdw10=index)
    p.admin(LOAD, cdw10=index | 1 << 24)
