# SPDX-License-Identifier: BSD-3-Clause
"""
A board's sensors through the agent on its Linux (board/agent): TCP, one line a request, one JSON object a line back.

Request `sensors`: {"t_ns": the board's clock, "sensors": [{"name", "rail", "mv", "ma", "uw", "error"}]}, null for what is not
measured. The board's clock is brought to this machine's by the middle between request and answer, with the quickest exchange so
far.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from assasin.power.errors import PowerError
from assasin.power.sampler import Reader, Reading, Value

DEFAULT_PORT = 7090
PATIENCE_SECONDS = 5.0
DRIFT = 1e-4
"""How far the board's clock may run from this machine's, a second a second: an old exchange loses its weight."""


class AgentReader(Reader):
    """The sensors that the agent at `host` serves."""

    def __init__(self, host: str, port: int = DEFAULT_PORT) -> None:
        """Connects. Raises PowerError."""
        self.title = f"board agent at {host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), PATIENCE_SECONDS)
        except OSError as e:
            raise PowerError(
                f"{self.title} does not answer ({e.strerror or e}): is assasin-agent running on the board, and its address right?"
            ) from e
        self._file = self._socket.makefile("rb")
        self._best: tuple[int, int, int] | None = None

    def read(self) -> Reading:
        """See Reader."""
        sent = time.time_ns()
        answer = self._ask()
        received = time.time_ns()
        if "error" in answer:
            raise PowerError(f"{self.title}: {answer['error']}")
        try:
            there = int(answer["t_ns"])
            values: dict[str, Value] = {}
            missing: dict[str, str] = {}
            for s in answer["sensors"]:
                name = str(s["name"])
                if s.get("error"):
                    missing[name] = str(s["error"])
                else:
                    values[name] = _value(s)
        except (KeyError, TypeError, ValueError) as e:
            raise PowerError(
                f"{self.title} sent '{str(answer)[:100]}' instead of readings: do agent and assasin have the same version?"
            ) from e
        return Reading(there + self._offset(sent, received, there), values, missing)

    def _ask(self) -> dict[str, Any]:
        try:
            self._socket.sendall(b"sensors\n")
            line = self._file.readline(1 << 20)
        except OSError as e:
            raise PowerError(f"{self.title} does not answer any more: {e.strerror or e}") from e
        if not line.endswith(b"\n"):
            raise PowerError(f"{self.title} has closed the connection: it or the board has stopped")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise PowerError(f"{self.title} sent {line[:80]!r} instead of readings: does another service listen there?")
        return answer

    def _offset(self, sent: int, received: int, there: int) -> int:
        """Nanoseconds from the board's clock to this machine's."""
        offset = (sent + received) // 2 - there
        doubt = received - sent
        if self._best is None or doubt <= self._best[0] + (received - self._best[1]) * DRIFT:
            self._best = (doubt, received, offset)
        return self._best[2]

    def close(self) -> None:
        """See Reader."""
        self._file.close()
        self._socket.close()


def _value(s: dict[str, Any]) -> Value:
    volts = None if s["mv"] is None else int(s["mv"]) / 1e3
    amperes = None if s["ma"] is None else int(s["ma"]) / 1e3
    watts = None if s["uw"] is None else int(s["uw"]) / 1e6
    if watts is None and volts is not None and amperes is not None:
        watts = volts * amperes
    return Value(str(s["rail"]), watts, volts, amperes)
