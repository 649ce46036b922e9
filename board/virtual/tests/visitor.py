# SPDX-License-Identifier: BSD-3-Clause
"""A visitor of the virtual board in plain Python: remote-PCI messages, shared memory, a minimal NVMe host."""

from __future__ import annotations

import mmap
import os
import socket
import struct
import time
from pathlib import Path

MEMORY_BUS = 0x1_0000_0000
BAR0, BAR2 = 0xFE000000, 0xFE400000
SYNC_SYSMEM, RET, CFG_WRITE, CFG_READ, BAR_WRITE, BAR_READ, SET_IRQFD, DEVICE_RESET = range(8)
CAP, CC, CSTS, AQA, ASQ, ACQ = 0x00, 0x14, 0x1C, 0x24, 0x28, 0x30
CMBLOC, CMBSZ, CMBMSC = 0x38, 0x3C, 0x50
CMB = 0x200000
CFG_COMMAND, CFG_MSIX, CFG_PCIE = 0x04, 0x48, 0x54
MSIX_TABLE = 0x8000


class Visitor:
    """Connects, shares `size` bytes of memory at bus address MEMORY_BUS and places the BARs."""

    def __init__(self, door: Path, size: int = 4 << 20, seconds: float = 60) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds)
        self.socket.connect(str(door))
        self.file = os.memfd_create("visitor")
        os.ftruncate(self.file, size)
        self.memory = mmap.mmap(self.file, size)
        self.share([(MEMORY_BUS, size, self.file)])
        self.place()

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()
        self.memory.close()
        os.close(self.file)

    def share(self, regions: list[tuple[int, int, int]]) -> None:
        """Replaces the board's map by (bus address, bytes, file) each."""
        filled = regions + [(0, 0, 0)] * (8 - len(regions))
        payload = struct.pack("<8Q8Q8q", *(r[0] for r in filled), *(r[1] for r in filled), *[0] * 8)
        header = struct.pack("<iIQ", SYNC_SYSMEM, 0, len(payload))
        socket.send_fds(self.socket, [header], [r[2] for r in regions])
        self.socket.sendall(payload)

    def call(self, command: int, payload: bytes = b"") -> int:
        self.socket.sendall(struct.pack("<iIQ", command, 0, len(payload)) + payload)
        answer = b""
        while len(answer) < 24:
            part = self.socket.recv(24 - len(answer))
            if not part:
                raise ConnectionError("the board has hung up")
            answer += part
        return int(struct.unpack("<iIQQ", answer)[3])

    def config_read(self, offset: int, size: int = 4) -> int:
        return self.call(CFG_READ, struct.pack("<IIi", offset, 0, size))

    def config_write(self, offset: int, value: int, size: int = 4) -> None:
        self.call(CFG_WRITE, struct.pack("<IIi", offset, value, size))

    def place(self) -> None:
        self.config_write(0x10, BAR0)
        self.config_write(0x18, BAR2)
        self.config_write(CFG_COMMAND, 6, 2)

    def read(self, address: int, size: int = 4) -> int:
        return self.call(BAR_READ, struct.pack("<QQIB3x", address, 0, size, 1))

    def write(self, address: int, value: int, size: int = 4) -> None:
        self.call(BAR_WRITE, struct.pack("<QQIB3x", address, value, size, 1))

    def wait(self, address: int, mask: int, value: int, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while (now := self.read(address)) & mask != value:
            assert time.monotonic() < deadline, f"register {address:#x} is {now:#x}"


class Nvme:
    """An enabled controller with an admin queue pair of 16 entries; queues lie in the visitor's first pages."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        visitor.memory[:0x8000] = bytes(0x8000)
        visitor.write(BAR0 + CC, 0)
        visitor.wait(BAR0 + CSTS, 1, 0)
        visitor.write(BAR0 + AQA, 15 << 16 | 15)
        for register, address in ((ASQ, MEMORY_BUS), (ACQ, MEMORY_BUS + 0x1000)):  # by halves, as Linux does
            visitor.write(BAR0 + register, address & 0xFFFFFFFF)
            visitor.write(BAR0 + register + 4, address >> 32)
        visitor.write(BAR0 + CC, 0x00460001)
        visitor.wait(BAR0 + CSTS, 1, 1)
        self.tails = {0: 0}
        self.heads = {0: (0, 1)}
        self.entries = {0: 16}
        self.next_id = 0

    def entry(self, opcode: int, nsid: int = 0, prp1: int = 0, dwords: tuple[int, ...] = ()) -> bytes:
        """A submission entry; `dwords` are 10 and up."""
        self.next_id = (self.next_id + 1) % 0x10000
        tail = dwords + (0,) * (6 - len(dwords))
        return struct.pack("<BBHI4IQQ6I", opcode, 0, self.next_id, nsid, 0, 0, 0, 0, prp1, 0, *tail)

    def ring(self, queue: int) -> None:
        self.tails[queue] = (self.tails[queue] + 1) % self.entries[queue]
        self.visitor.write(BAR0 + 0x1000 + 8 * queue, self.tails[queue])

    def finish(self, queue: int, seconds: float = 60) -> tuple[int, int]:
        """Waits for the next completion of queue pair `queue`: dword 0 and status."""
        head, phase = self.heads[queue]
        at = 0x1000 + 0x2000 * queue + 16 * head
        deadline = time.monotonic() + seconds
        while True:
            dw0, _, _, _, status = struct.unpack("<IIIHH", self.visitor.memory[at : at + 16])
            if status & 1 == phase:
                break
            assert time.monotonic() < deadline, "no completion"
            time.sleep(0.0005)
        head = (head + 1) % self.entries[queue]
        self.heads[queue] = (head, phase ^ (head == 0))
        self.visitor.write(BAR0 + 0x1004 + 8 * queue, head)
        return dw0, status >> 1

    def admin(self, *entry: object) -> tuple[int, int]:
        at = 64 * self.tails[0]
        self.visitor.memory[at : at + 64] = self.entry(*entry)  # type: ignore[arg-type]
        self.ring(0)
        return self.finish(0)
