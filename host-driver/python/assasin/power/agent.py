# SPDX-License-Identifier: BSD-3-Clause
"""
A board's sensors through the agent on its Linux (board/agent).

The board's clock is brought to this machine's by the middle between request and answer, with the quickest exchange so far.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from assasin import agent
from assasin.power.errors import PowerError
from assasin.power.sampler import Reader, Reading, Value

DRIFT = 1e-4
"""How far the board's clock may run from this machine's, a second a second: an old exchange loses its weight."""


class AgentReader(Reader):
    """
    The sensors that the agent at HOST or HOST:PORT serves. `essential`: names of those that must be there; of the others, what the
    agent cannot read is left out.
    """

    def __init__(self, address: str, essential: Collection[str] = ()) -> None:
        """Connects. Raises PowerError."""
        self._essential = essential
        self._best: tuple[int, int, int] | None = None
        try:
            self._agent = agent.Agent(*agent.parse_address(address))
        except agent.AgentError as e:
            raise PowerError(str(e)) from e
        self.title = f"board agent at {self._agent.name}"

    def read(self) -> Reading:
        """See Reader."""
        sent = time.time_ns()
        try:
            there, readings = self._agent.sensors()
        except agent.AgentError as e:
            raise PowerError(str(e)) from e
        received = time.time_ns()
        missing = {r.name: r.error for r in readings if r.error and r.name in self._essential}
        values = {r.name: _value(r) for r in readings if not r.error}
        return Reading(there + self._offset(sent, received, there), values, missing)

    def _offset(self, sent: int, received: int, there: int) -> int:
        """Nanoseconds from the board's clock to this machine's."""
        offset = (sent + received) // 2 - there
        doubt = received - sent
        if self._best is None or doubt <= self._best[0] + (received - self._best[1]) * DRIFT:
            self._best = (doubt, received, offset)
        return self._best[2]

    def close(self) -> None:
        """See Reader."""
        self._agent.close()


def _value(r: agent.Reading) -> Value:
    volts = None if r.mv is None else r.mv / 1e3
    amperes = None if r.ma is None else r.ma / 1e3
    watts = None if r.uw is None else r.uw / 1e6
    if watts is None and volts is not None and amperes is not None:
        watts = volts * amperes
    return Value(r.rail, watts, volts, amperes)
