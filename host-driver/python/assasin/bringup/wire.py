# SPDX-License-Identifier: BSD-3-Clause
"""
Packets of GDB's remote serial protocol over a pair of file descriptors, and how GDB is kept waiting.

GDB gives every answer two seconds (`set remotetimeout`) and then repeats its packet, which would be answered twice, or gives up. A
board or a loaded machine may take longer. GDB ignores notifications that it does not know, but waits anew after each: as long as
something is being done one is sent twice a second.

Nothing is imported here that takes long: see wait_on_stdio().
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_REMIND_SECONDS = 0.5
_NOTIFICATION = b"Working"
_DAMAGED = b"-"


class Disconnected(Exception):
    """GDB has gone."""


class Wire:
    """One connection with GDB."""

    def __init__(self, source: int, sink: int) -> None:
        self.acknowledge = True
        self._source = source
        self._sink = sink
        self._buffer = bytearray()
        self._writing = threading.Lock()
        self._answered = False  # a packet of ours has not been acknowledged yet
        self._reminder: threading.Thread | None = None
        self._over = threading.Event()

    def waiting(self, seconds: float) -> bool:
        """Something has arrived, or does within `seconds`."""
        return bool(self._buffer) or bool(select.select([self._source], [], [], seconds)[0])

    def _byte(self) -> int:
        if not self._buffer:
            try:
                data = os.read(self._source, 4096)
            except OSError as e:
                raise Disconnected from e
            if not data:
                raise Disconnected
            self._buffer += data
        return self._buffer.pop(0)

    def receive(self) -> bytes:
        """The next packet's contents; b"\\x03" is GDB's interrupt. A packet that GDB has repeated comes once."""
        while True:
            c = self._byte()
            if c == 3:
                return b"\x03"
            if c == ord("+"):
                self._answered = False
            if c != ord("$"):
                continue
            body = bytearray()
            while (c := self._byte()) != ord("#"):
                body.append(c)
            checksum = bytes([self._byte(), self._byte()])
            good = checksum == f"{sum(body) & 0xFF:02x}".encode()
            if self.acknowledge:
                if good and self._answered:
                    continue  # GDB acknowledges an answer before it goes on: it had sent this before the answer arrived
                self._write(b"+" if good else _DAMAGED)
            if good:
                return _unescape(body)

    def interrupted(self) -> bool:
        """GDB asks for a stop; anything else it must not send while the hart runs."""
        return self.waiting(0) and self._byte() == 3

    def send(self, body: str | bytes) -> None:
        """A packet."""
        data = body.encode() if isinstance(body, str) else body
        self._answered = True
        self._write(_framed(b"$", data))

    def _write(self, data: bytes) -> None:
        try:
            with self._writing:
                while data:
                    data = data[os.write(self._sink, data) :]
        except OSError as e:
            raise Disconnected from e

    @contextmanager
    def working(self) -> Iterator[None]:
        """GDB waits as long as the block takes."""
        self.remind()
        try:
            yield
        finally:
            self._over.set()
            if self._reminder:
                self._reminder.join()
            self._reminder = None

    def remind(self) -> None:
        """GDB waits until a `working` block ends."""
        if self._reminder:
            return
        self._over.clear()
        self._reminder = threading.Thread(target=self._remind, daemon=True)
        self._reminder.start()

    def _remind(self) -> None:
        while not self._over.wait(_REMIND_SECONDS):
            try:
                self._write(_framed(b"%", _NOTIFICATION))
            except Disconnected:
                return  # whoever reads finds out


def _framed(start: bytes, data: bytes) -> bytes:
    return start + data + b"#" + f"{sum(data) & 0xFF:02x}".encode()


def _unescape(body: bytearray) -> bytes:
    out = bytearray()
    escaped = False
    for c in body:
        if escaped:
            out.append(c ^ 0x20)
        elif c == ord("}"):
            escaped = True
            continue
        else:
            out.append(c)
        escaped = False
    return bytes(out)


_early: list[Wire] = []


def wait_on_stdio(arguments: Sequence[str]) -> None:
    """When the command line says that GDB is at standard input and output: GDB waits from here on, through the imports."""
    if list(arguments[:1]) == ["gdb"] and "--stdio" in arguments and not os.isatty(0):
        _early.append(stdio())
        _early[0].remind()


def stdio() -> Wire:
    """GDB at standard input and output."""
    return _early.pop() if _early else Wire(0, 1)
