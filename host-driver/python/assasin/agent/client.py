# SPDX-License-Identifier: BSD-3-Clause
"""A connection to the board agent: its line protocol (board/agent/README.md) as methods."""

from __future__ import annotations

import hashlib
import json
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assasin.board import BoardError

PORT = 7090
"""Where the agent listens unless told otherwise."""

_ANSWER_SECONDS = 30.0
_PROGRAM_SECONDS = 120.0  # fpga_manager takes tens of milliseconds a megabyte; PCIe and storage of the board may be slow
_CHUNK = 1 << 16
_LINE_BYTES = 1 << 20
_ACCESSES = 512  # a line of that many fits the agent's buffer of 16 KiB
PROTOCOL = 1


class AgentError(BoardError):
    """The agent cannot be reached, or has refused; the message says what to do."""


@dataclass(frozen=True)
class Status:
    """What the agent is and how its board stands."""

    board: str
    fpga: str
    """State of the FPGA as the kernel has it: operating, or what is wrong."""
    window: str
    """How the agent reaches the chip's registers; none."""
    uptime_s: float
    """Of its Linux."""


@dataclass(frozen=True)
class Reading:
    """One sensor at one time. Millivolts, milliamperes, microwatts; None: it does not measure that, or `error` says why not."""

    name: str
    rail: str
    mv: int | None
    ma: int | None
    uw: int | None
    error: str | None = None


def parse_address(text: str) -> tuple[str, int]:
    """HOST or HOST:PORT, IPv6 in brackets. Raises AgentError."""
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]\s]+)(?::(\d{1,5}))?", text)
    if not match or (match[2] and not 0 < int(match[2]) < 65536):
        raise AgentError(f"'{text}' is not HOST or HOST:PORT, for example 192.168.1.20:{PORT}")
    return match[1].strip("[]"), int(match[2] or PORT)


class Agent:
    """One connection."""

    def __init__(self, host: str, port: int = PORT) -> None:
        self.name = f"{host}:{port}"
        self._buffer = bytearray()
        try:
            self._socket = socket.create_connection((host, port), timeout=_ANSWER_SECONDS)
        except OSError as e:
            raise AgentError(
                f"no agent answers at {self.name} ({e.strerror or e}): is the board's Linux up, is assasin-agent running, "
                f"and is its port reachable (ssh -L {port}:localhost:{port} BOARD)?"
            ) from e
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        hello = self._answer()
        if hello.get("agent") != "assasin" or hello.get("protocol") != PROTOCOL:
            self.close()
            raise AgentError(
                f"what answers at {self.name} is not an agent of protocol {PROTOCOL}: update the board's assasin-agent"
            )

    def status(self) -> Status:
        """How the board stands. Raises AgentError, as all of these do."""
        return Status(**self._request("status"))

    def sensors(self) -> tuple[int, list[Reading]]:
        """The agent's monotonic clock in ns, read before the first sensor, and all its sensors."""
        answer = self._request("sensors")
        try:
            return int(answer["t_ns"]), [Reading(**s) for s in answer["sensors"]]
        except (KeyError, TypeError, ValueError) as e:
            raise AgentError(f"{self.name} answers 'sensors' with something else ({e}): update the board's assasin-agent") from e

    def program(self, data: bytes) -> float:
        """Configures the FPGA with what BitFile.for_fpga_manager gives. Returns the seconds the kernel took."""
        self._send(f"program {len(data)} {hashlib.sha256(data).hexdigest()}\n".encode())
        self._answer()
        for at in range(0, len(data), _CHUNK):
            self._send(data[at : at + _CHUNK])
        self._socket.settimeout(_PROGRAM_SECONDS)
        try:
            return float(self._answer()["seconds"])
        finally:
            self._socket.settimeout(_ANSWER_SECONDS)

    def reset(self, hold: bool = False) -> None:
        """Resets firmware processor, cores and channels through CTRL.RESET; `hold` leaves them there."""
        self._request("reset hold" if hold else "reset")

    def access(self, operations: Sequence[tuple[int, int | None]]) -> list[int]:
        """Register accesses in order, (offset in BAR0, word or None to read). Returns what was read."""
        values: list[int] = []
        for at in range(0, len(operations), _ACCESSES):
            words = [
                f"r{offset:x}" if value is None else f"w{offset:x}={value:x}" for offset, value in operations[at : at + _ACCESSES]
            ]
            values += self._request(f"access {' '.join(words)}")["values"]
        return values

    def console(self) -> socket.socket:
        """Turns the connection into the firmware's console, bytes in both directions; closing it ends that."""
        self._request("console")
        self._socket.settimeout(None)
        return self._socket

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request(self, line: str) -> dict[str, Any]:
        self._send(line.encode() + b"\n")
        return self._answer()

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as e:
            raise AgentError(f"the agent at {self.name} is gone: {e}") from e

    def _answer(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            try:
                part = self._socket.recv(_CHUNK)
            except TimeoutError as e:
                raise AgentError(f"the agent at {self.name} did not answer within {self._socket.gettimeout():.0f} s") from e
            except OSError as e:
                raise AgentError(f"the agent at {self.name} is gone: {e}") from e
            if not part or len(self._buffer) > _LINE_BYTES:
                raise AgentError(f"the agent at {self.name} closed the connection" if not part else f"{self.name} sends no lines")
            self._buffer += part
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        try:
            answer = json.loads(line)
        except ValueError as e:
            raise AgentError(f"{self.name} answers with {line[:60]!r}, which is no JSON: is this an assasin-agent?") from e
        if not isinstance(answer, dict):
            raise AgentError(f"{self.name} answers with {line[:60]!r}: is this an assasin-agent?")
        if "error" in answer:
            raise AgentError(f"{self.name}: {answer['error']}")
        return answer
