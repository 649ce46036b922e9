# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts of several boards into one guest: QEMU has one qtest connection, and every board speaks over one of its own."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from assasin.board import shortest


class Interrupts:
    """
    Listens at `path` for QEMU and passes the boards' qtest commands on, each answer to the board that gave the command.

    `boards`: where the boards listen. Raises OSError when one does not answer.
    """

    def __init__(self, path: Path, boards: Sequence[Path]) -> None:
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(shortest(path))
        self._listener.listen(1)
        self._boards: list[socket.socket] = []
        try:
            for board in boards:
                s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._boards.append(s)
                s.connect(shortest(board))
        except OSError:
            self._close()
            raise
        self._wake, self._woken = os.pipe()
        self._thread = threading.Thread(target=self._run, name="interrupts", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it."""
        os.close(self._woken)
        self._thread.join()
        os.close(self._wake)

    def _close(self) -> None:
        for s in (self._listener, *self._boards):
            s.close()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            self._pass_on()
        self._close()

    def _pass_on(self) -> None:
        asked: deque[socket.socket] = deque()  # who waits for QEMU's next answers
        parts: dict[socket.socket, bytes] = {}
        with selectors.DefaultSelector() as ready:
            ready.register(self._wake, selectors.EVENT_READ)
            ready.register(self._listener, selectors.EVENT_READ)
            if not any(key.fileobj is self._listener for key, _ in ready.select()):
                return
            qemu, _ = self._listener.accept()
            ready.unregister(self._listener)
            with qemu:
                for s in (qemu, *self._boards):
                    ready.register(s, selectors.EVENT_READ)
                while True:
                    for key, _ in ready.select():
                        if key.fd == self._wake:
                            return
                        source = key.fileobj
                        assert isinstance(source, socket.socket)
                        data = source.recv(4096)
                        if not data:
                            if source is qemu:
                                return
                            ready.unregister(source)  # that board has ended; the others go on
                            continue
                        *lines, parts[source] = (parts.get(source, b"") + data).split(b"\n")
                        for line in lines:
                            if source is not qemu:
                                asked.append(source)
                                qemu.sendall(line + b"\n")
                            elif not line.startswith(b"IRQ"):  # notices that nobody asked for
                                with contextlib.suppress(OSError):
                                    asked.popleft().sendall(line + b"\n")
