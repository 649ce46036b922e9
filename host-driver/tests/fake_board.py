# SPDX-License-Identifier: BSD-3-Clause
"""
A remote-PCI server with a bare NVMe controller behind it, made to misbehave on command.

It exists for libassasin's own error paths: what a healthy board cannot be made to do. It proves nothing about the drive.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path

from assasin.tree import contract

SYNC_SYSMEM, RET, CFG_WRITE, CFG_READ, BAR_WRITE, BAR_READ = 0, 1, 2, 3, 4, 5
CTRL = 0x8000
Reply = tuple[int, int]
"""Status (SCT << 8 | SC) and DW0 of a completion."""


class FakeBoard:
    """Serves one visitor at a time at `path` from a thread. Set the attributes before or while the visitor is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock_runs = True
        self.fw_state = 1
        self.fatal = False
        self.never_ready = False
        self.device_id = 0x702810EE
        self.garbage = False
        self.mute = False
        self.hang_up_at_once = False
        self.dribble = False
        self.on_command: Callable[[int, tuple[int, ...]], Reply | None] = lambda qid, dw: (0, 0)
        """Answers I/O commands and vendor admin commands: queue and dwords in; None = never completes."""
        self.on_session: Callable[[int, tuple[int, ...]], Reply | None] = lambda qid, dw: (0, 9)
        """Likewise, the commands that open and close a session."""
        self.commands: list[tuple[int, tuple[int, ...]]] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._visitor: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.die()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def die(self) -> None:
        """Hangs up on the visitor, as a board whose process ended."""
        if self._visitor:
            with contextlib.suppress(OSError):
                self._visitor.shutdown(socket.SHUT_RDWR)

    def memory(self, address: int, length: int) -> bytes:
        return self._ram[address - self._gpa : address - self._gpa + length]

    def store(self, address: int, data: bytes) -> None:
        self._ram[address - self._gpa : address - self._gpa + len(data)] = data

    def _prp_parts(self, dw: tuple[int, ...], length: int) -> list[tuple[int, int]]:
        """Addresses and lengths of a command's data."""
        first, second = dw[6] | dw[7] << 32, dw[8] | dw[9] << 32
        room = min(length, 4096 - first % 4096)
        count = -(-(length - room) // 4096)
        pages = [second] if count == 1 else struct.unpack(f"<{count}Q", self.memory(second, 8 * count)) if count else []
        return [(first, room), *((page, min(4096, length - room - 4096 * i)) for i, page in enumerate(pages))]

    def prp_store(self, dw: tuple[int, ...], data: bytes) -> None:
        """Writes the data of a command through its PRPs."""
        at = 0
        for address, length in self._prp_parts(dw, len(data)):
            self.store(address, data[at : at + length])
            at += length

    def prp_load(self, dw: tuple[int, ...], length: int) -> bytes:
        """Reads the data of a command through its PRPs."""
        return b"".join(self.memory(address, n) for address, n in self._prp_parts(dw, length))

    def complete(self, qid: int, cid: int, status: int, dw0: int = 0) -> None:
        """Posts a completion."""
        base, entries, tail, phase = self._cq[qid]
        self.store(base + 16 * tail, struct.pack("<IIHHHH", dw0, 0, 0, qid, cid, status << 1 | phase))
        tail += 1
        self._cq[qid] = [base, entries, tail % entries, phase ^ (tail == entries)]

    def _serve(self) -> None:
        while True:
            try:
                self._visitor, _ = self._listener.accept()
            except OSError:
                return
            with self._visitor, contextlib.suppress(OSError, ConnectionError):
                if not self.hang_up_at_once:
                    self._visit(self._visitor)

    def _visit(self, s: socket.socket) -> None:
        self._cq: dict[int, list[int]] = {}
        self._sq: dict[int, list[int]] = {}
        self._regs: dict[int, int] = {}
        self._cycles = 0
        while True:
            header, fds, _, _ = socket.recv_fds(s, 16, 4)
            if len(header) < 16:
                return
            cmd, _, size = struct.unpack("<iIQ", header)
            payload = s.recv(size, socket.MSG_WAITALL) if size else b""
            if cmd == SYNC_SYSMEM:
                words = struct.unpack("<24Q", payload)
                self._gpa = words[0]
                self._ram = mmap.mmap(fds[0], words[8])
                os.close(fds[0])
                continue
            value = self._access(cmd, payload)
            if self.mute:
                continue
            if self.garbage:
                s.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            elif self.dribble:
                for byte in struct.pack("<iIQQ", RET, 0, 8, value):
                    s.sendall(bytes([byte]))
            else:
                s.sendall(struct.pack("<iIQQ", RET, 0, 8, value))

    def _access(self, cmd: int, payload: bytes) -> int:
        if cmd == CFG_READ:
            return {0: self.device_id, 8: 0x01080200}.get(struct.unpack("<IIi", payload)[0], 0)
        if cmd == BAR_READ:
            return self._read(struct.unpack("<QQIB3x", payload)[0] & 0xFFFF)
        if cmd == BAR_WRITE:
            address, value, _, _ = struct.unpack("<QQIB3x", payload)
            self._write(address & 0xFFFF, value)
        return 0

    def _read(self, offset: int) -> int:
        if offset == CTRL + 0x20:
            self._cycles += 1_000_000 if self.clock_runs else 20
        cc = self._regs.get(0x14, 0)
        ready = cc & 1 and not self.never_ready
        shutdown = 2 if cc >> 14 & 3 else 0
        values = {
            0x00: 0x14FF00FF,
            0x04: 0,
            0x1C: int(ready) | (2 if self.fatal else 0) | shutdown << 2,
            CTRL + 0x14: self.fw_state,
            CTRL + 0x18: 0x1234,
            CTRL + 0x1C: 0x02040202,
            CTRL + 0x20: self._cycles & 0xFFFFFFFF,
            CTRL + 0x24: self._cycles >> 32,
        }
        return values.get(offset, self._regs.get(offset, 0))

    def _write(self, offset: int, value: int) -> None:
        self._regs[offset] = value
        if offset == 0x14 and value & 1:
            r, sizes = self._regs, self._regs[0x24]
            self._sq = {0: [r[0x28] | r[0x2C] << 32, (sizes & 0xFFF) + 1, 0, 0]}
            self._cq = {0: [r[0x30] | r[0x34] << 32, (sizes >> 16 & 0xFFF) + 1, 0, 1]}
        if 0x1000 <= offset < 0x2000 and offset % 8 == 0:
            self._doorbell((offset - 0x1000) // 8, value)

    def _doorbell(self, qid: int, tail: int) -> None:
        if qid not in self._sq:
            return
        base, entries, head, cqid = self._sq[qid]
        while head != tail:
            dw = struct.unpack("<16I", self.memory(base + 64 * head, 64))
            head = (head + 1) % entries
            self._sq[qid][2] = head
            self.commands.append((qid, dw))
            reply = self._command(qid, dw)
            if reply is not None:
                self.complete(cqid, dw[0] >> 16, *reply)

    def _command(self, qid: int, dw: tuple[int, ...]) -> Reply | None:
        opcode = dw[0] & 0xFF
        if qid and opcode in (contract.SCOMP_OPCODE_IO_SESSION_OPEN, contract.SCOMP_OPCODE_IO_SESSION_CLOSE):
            return self.on_session(qid, dw)
        if qid or opcode >= 0xC0:
            return self.on_command(qid, dw)
        address = dw[6] | dw[7] << 32
        if opcode == 6:
            data = bytearray(4096)
            if dw[10] & 0xFF == 1:
                data[4:72] = b"S".ljust(20) + b"fake drive".ljust(40) + b"0".ljust(8)
                data[77] = 5
            else:
                struct.pack_into("<Q", data, 0, 4096)
                data[130] = 12
            self.store(address, bytes(data))
        elif opcode == 5:
            self._cq[dw[10] & 0xFFFF] = [address, (dw[10] >> 16) + 1, 0, 1]
        elif opcode == 1:
            self._sq[dw[10] & 0xFFFF] = [address, (dw[10] >> 16) + 1, 0, dw[11] >> 16]
        return 0, 0
