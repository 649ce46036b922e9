# SPDX-License-Identifier: BSD-3-Clause
"""Ways to a board's BAR0 registers that leave its NVMe driver alone: the virtual board's side entrance, a PCI function's resource
file, the XDMA driver's character devices."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import re
import socket
import struct
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assasin.agent.client import Agent, parse_address
from assasin.board import Board, BoardError, shortest

BAR0_BYTES = 0x10000
ANSWER_SECONDS = 60.0
ALL_ONES = 0xFFFFFFFF

Operation = tuple[int, int | None]
"""A register access: offset in BAR0, and the word to write, or None to read."""


class BringupError(BoardError):
    """A board, a hart or a tool's input is not as it must be; the message says what to do."""


class Link(ABC):
    """BAR0 of one board. Words of 32 bits."""

    def __init__(self, name: str, lock: Path) -> None:
        self.name = name
        self._lock = lock
        self._depth = 0

    @abstractmethod
    def access(self, operations: Sequence[Operation]) -> list[int]:
        """Does the accesses in order. Returns what the reads read, in order. Raises BringupError."""

    @abstractmethod
    def close(self) -> None:
        """Lets go."""

    def read(self, offset: int) -> int:
        """One register."""
        return self.access([(offset, None)])[0]

    def write(self, offset: int, value: int) -> None:
        """One register; the write has reached the board on return."""
        self.access([(offset, value & ALL_ONES)])

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other bring-up tools on this machine away from what several accesses belong to. Nests."""
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        fd = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            self._depth = 1
            yield
        finally:
            self._depth = 0
            os.close(fd)

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class VirtualLink(Link):
    """The virtual board's side entrance (board/virtual/pciproxy/BarServer.h)."""

    _READ, _WRITE, _RET = 5, 4, 1
    _AHEAD = 96  # requests under way: their answers fit a socket's buffer

    def __init__(self, board: Board) -> None:
        super().__init__(f"virtual board '{board.name}'", board.paths.folder / "debug.lock")
        self.board = board.require()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_SECONDS)
        try:
            self._socket.connect(shortest(board.paths.bars))
        except OSError as e:
            self._socket.close()
            raise BringupError(
                f"the side entrance {board.paths.bars} does not answer ({e.strerror}): build and start the board again"
            ) from e

    def access(self, operations: Sequence[Operation]) -> list[int]:
        """See Link."""
        results = []
        for start in range(0, len(operations), self._AHEAD):
            part = operations[start : start + self._AHEAD]
            self._send(b"".join(self._request(*operation) for operation in part))
            answers = self._receive(24 * len(part))
            for (_, value), at in zip(part, range(0, len(answers), 24), strict=True):
                command, _, size, answer = struct.unpack_from("<iIQQ", answers, at)
                if command != self._RET or size != 8:
                    raise BringupError(f"what answers at {self.board.paths.bars} does not speak the remote-PCI protocol")
                if value is None:
                    results.append(answer & ALL_ONES)
        return results

    def _request(self, offset: int, value: int | None) -> bytes:
        command = self._READ if value is None else self._WRITE
        return struct.pack("<iIQQQIB3x", command, 0, 24, offset, value or 0, 4, 1)

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as e:
            raise BringupError(f"{self.name} is gone: {e}") from e

    def _receive(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                part = self._socket.recv(count - len(data))
            except TimeoutError as e:
                raise BringupError(f"{self.name} did not answer within {ANSWER_SECONDS:.0f} s") from e
            except OSError as e:
                raise BringupError(f"{self.name} is gone: {e}") from e
            if not part:
                raise BringupError(f"{self.name} closed the connection: its process has ended (see {self.board.paths.log})")
            data += part
        return bytes(data)

    def close(self) -> None:
        """See Link."""
        self._socket.close()


class ResourceLink(Link):
    """BAR0 of a PCI function, by its resource file; needs root, and memory space enabled (a bound driver has done that)."""

    def __init__(self, address: str) -> None:
        path = Path("/sys/bus/pci/devices") / address / "resource0"
        super().__init__(f"PCI function {address}", path)
        try:
            fd = os.open(path, os.O_RDWR | os.O_SYNC | os.O_CLOEXEC)
        except OSError as e:
            raise BringupError(f"{path}: {e.strerror}; give the function's address as lspci -D shows it, and run as root") from e
        try:
            self._map = mmap.mmap(fd, BAR0_BYTES)
        except (OSError, ValueError) as e:
            raise BringupError(f"{path} cannot be mapped: {e}") from e
        finally:
            os.close(fd)
        # An access of this type is one of 32 bits.
        self._words = (ctypes.c_uint32 * (BAR0_BYTES // 4)).from_buffer(self._map)

    def access(self, operations: Sequence[Operation]) -> list[int]:
        """See Link."""
        results = []
        for offset, value in operations:
            if value is None:
                results.append(self._words[offset // 4])
            else:
                self._words[offset // 4] = value
        return results

    def close(self) -> None:
        """See Link."""
        del self._words
        self._map.close()


class XdmaLink(Link):
    """The character devices of the XDMA driver: PREFIX_user is BAR0, PREFIX_h2c_0 and PREFIX_c2h_0 move device memory."""

    def __init__(self, prefix: str) -> None:
        super().__init__(f"XDMA device {prefix}", Path(f"{prefix}_user"))
        self.prefix = prefix
        self._fd = self.open("user")

    def open(self, part: str) -> int:
        """A file descriptor of one of the devices. Raises BringupError."""
        path = f"{self.prefix}_{part}"
        try:
            return os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as e:
            raise BringupError(
                f"{path}: {e.strerror}; give the devices' common part, for example xdma:/dev/xdma0, with the driver loaded"
            ) from e

    def access(self, operations: Sequence[Operation]) -> list[int]:
        """See Link."""
        results = []
        try:
            for offset, value in operations:
                if value is None:
                    results.append(int.from_bytes(os.pread(self._fd, 4, offset), "little"))
                else:
                    os.pwrite(self._fd, value.to_bytes(4, "little"), offset)
        except OSError as e:
            raise BringupError(f"{self.prefix}_user: {e.strerror}") from e
        return results

    def close(self) -> None:
        """See Link."""
        os.close(self._fd)


class AgentLink(Link):
    """BAR0 as the processing system of a Zynq board sees it, through the agent there."""

    def __init__(self, host: str, port: int) -> None:
        self._agent = Agent(host, port)
        super().__init__(f"agent at {self._agent.name}", Path(tempfile.gettempdir()) / f"assasin-agent-{host}-{port}.lock")

    def access(self, operations: Sequence[Operation]) -> list[int]:
        """See Link. Raises AgentError."""
        return self._agent.access(operations)

    def close(self) -> None:
        """See Link."""
        self._agent.close()


def open_link(address: str) -> Link:
    """
    The board at `address`. Raises BringupError.

    virtual:NAME: a running virtual board; pci:0000:01:00.0: a PCI function; xdma:/dev/xdma0: the XDMA driver's devices;
    agent:HOST:PORT: the agent on a board's Linux.
    """
    kind, _, rest = address.partition(":")
    if kind == "virtual" and rest:
        return VirtualLink(Board(rest))
    if kind == "pci" and re.fullmatch(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]", rest):
        return ResourceLink(rest)
    if kind == "xdma" and rest:
        return XdmaLink(rest)
    if kind == "agent" and rest:
        return AgentLink(*parse_address(rest))
    raise BringupError(f"address '{address}': give virtual:NAME, pci:0000:01:00.0, xdma:/dev/xdma0 or agent:HOST[:PORT]")
