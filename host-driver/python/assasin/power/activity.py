# SPDX-License-Identifier: BSD-3-Clause
"""What a virtual board has done, interval by interval of its own time: a client of board/virtual/sim/ActivityServer.h."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assasin import later
from assasin.board import Board, shortest
from assasin.power.errors import PowerError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
else:
    np = later.module("numpy")
    Ints = Any

ANSWER_SECONDS = 60.0
DEFAULT_EVERY = 20_000
"""Cycles an interval."""
NEVER = 1 << 62
"""Cycles an interval where a sample comes only when it is asked for."""

_SUMS = (
    "timebase",
    "clocked",
    "h2c_bytes",
    "c2h_bytes",
    "dram_read_bytes",
    "dram_write_bytes",
    "array_reads",
    "array_programs",
    "array_erases",
    "firmware_sleep",
)


@dataclass(frozen=True)
class Scale:
    """What a board's counters are relative to."""

    config: str
    ns_per_cycle: float
    pcie_bytes_per_cycle: float
    """Each direction."""
    dram_bytes_per_cycle: float
    dram_bytes: int
    channels: int
    cores: int
    slots: int
    dies: int
    phy_bytes: int
    """Bytes of a data beat of a channel."""
    raw_page_bytes: int
    """Main and spare area."""


class ActivityLog:
    """Counters at n + 1 moments, as sums since power-on; what happened in the n intervals between is their difference."""

    def __init__(self, heading: dict[str, Any], samples: Sequence[dict[str, Any]], kernels: Sequence[str] = ()) -> None:
        """
        Of the lines that the board sent, and the kernels in its slots, "name/version" or empty. Raises PowerError when the lines
        are not what they should be.
        """
        self._heading = heading
        self.kernels = tuple(kernels)
        self._last = samples[-1]
        try:
            self.scale = Scale(**{name: heading[name] for name in Scale.__dataclass_fields__})
            self._sums: dict[str, Ints] = {name: np.array([s[name] for s in samples], np.int64) for name in _SUMS}
            shape = (len(samples), self.scale.cores, len(heading["core_counters"]))
            cores = np.array([s["cores"] for s in samples], np.int64).reshape(shape)
            shape = (len(samples), self.scale.slots, len(heading["core_counters"]))
            slots = np.array([s["slots"] for s in samples], np.int64).reshape(shape)
            shape = (len(samples), self.scale.channels, len(heading["channel_counters"]))
            channels = np.array([s["channels"] for s in samples], np.int64).reshape(shape)
        except (KeyError, TypeError, ValueError) as e:
            raise PowerError(f"the board's counters are not as this version of assasin knows them ({e}): build both anew") from e
        self._cores = {str(name): cores[:, :, i] for i, name in enumerate(heading["core_counters"])}
        self._slots = {str(name): slots[:, :, i] for i, name in enumerate(heading["core_counters"])}
        self._channels = {str(name): channels[:, :, i] for i, name in enumerate(heading["channel_counters"])}

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """Times of the samples in seconds of the board's own time since its power-on."""
        return np.asarray(self._sums["timebase"] * self.scale.ns_per_cycle * 1e-9, np.float64)

    def asleep(self, cycles: int = 1_000_000) -> ActivityLog:
        """One interval from the end of this log on, in which the board does nothing."""
        later = {name: self._last[name] + cycles for name in ("timebase", "firmware_sleep")}
        return ActivityLog(self._heading, [self._last, self._last | later], self.kernels)

    @property
    def cycles(self) -> Ints:
        """Length of each interval, cycles of the timebase."""
        return np.diff(self._sums["timebase"])

    def grown(self, name: str) -> Ints:
        """What a sum grew by in each interval."""
        return np.diff(self._sums[name])

    def cores(self, name: str) -> Ints:
        """Intervals x cores: what a core counter grew by."""
        return np.diff(self._cores[name], axis=0)

    def slots(self, name: str) -> Ints:
        """Intervals x slots: what a counter of a slot's tile grew by; the same counters as a core's."""
        return np.diff(self._slots[name], axis=0)

    def channels(self, name: str) -> Ints:
        """Intervals x channels: what a channel counter grew by."""
        return np.diff(self._channels[name], axis=0)


class Counters:
    """A connection to a running board's counters. The drive's user does not notice."""

    def __init__(self, board: Board, every: int = NEVER) -> None:
        """Connects, and asks for a sample every so many cycles of the timebase. Raises PowerError."""
        board.require()
        self._name = board.name
        self._log_file = board.paths.log
        path = board.paths.folder / "door.activity"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_SECONDS)
        try:
            self._socket.connect(shortest(path))
        except OSError as e:
            self._socket.close()
            raise PowerError(
                f"{path} does not answer ({e.strerror}): build and start the board again (scripts/build, assasin flash virtual)"
            ) from e
        try:
            self._send(f"every {every}\n")
            self._lines = self._receive()
            self.heading = next(self._lines)
            """The board's scale, and names of the counters."""
            self.first = next(self._lines)
            """The sample at the time of the connection."""
        except BaseException:
            self._socket.close()
            raise

    def _send(self, text: str) -> None:
        try:
            self._socket.sendall(text.encode())
        except OSError as e:
            raise self._gone() from e

    def _gone(self) -> PowerError:
        return PowerError(f"virtual board '{self._name}' has ended while its counters were read: see {self._log_file}")

    def _receive(self) -> Iterator[dict[str, Any]]:
        rest = b""
        while True:
            try:
                part = self._socket.recv(1 << 16)
            except OSError as e:
                raise self._gone() from e
            if not part:
                raise self._gone()
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError as e:
                    raise PowerError(f"virtual board '{self._name}' sent '{line[:80]!r}' instead of counters") from e

    def ask(self) -> None:
        """Asks for one more sample, whose `asked` is 1. Raises PowerError."""
        self._send("now\n")

    def now(self) -> dict[str, Any]:
        """A sample of now; those that come before it are passed over. Raises PowerError."""
        self.ask()
        return next(sample for sample in self._lines if sample.get("asked"))

    def samples(self) -> Iterator[dict[str, Any]]:
        """Samples as they come, for as long as that takes: a board may be asleep. Raises PowerError."""
        self._socket.settimeout(None)
        return self._lines

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()


class Recorder:
    """Collects samples of a running board until it is told to stop."""

    def __init__(self, board: Board, every: int = DEFAULT_EVERY) -> None:
        """Connects; the first sample is taken now. Raises PowerError."""
        self._kernels = board.require().status().get("slots", ())
        self._board = board
        self._counters = Counters(board, every)
        self._samples: list[dict[str, Any]] = [self._counters.first]
        self._failure: PowerError | None = None
        self._answered = threading.Event()
        self._thread = threading.Thread(target=self._collect, args=(self._counters.samples(),), daemon=True)
        self._thread.start()

    def _collect(self, samples: Iterator[dict[str, Any]]) -> None:
        try:
            for sample in samples:
                self._samples.append(sample)
                if sample.get("asked"):
                    break
        except PowerError as e:
            self._failure = e
        self._answered.set()

    def stop(self) -> ActivityLog:
        """Takes one more sample and ends. Raises PowerError when the board has ended meanwhile."""
        try:
            if not self._failure:
                self._counters.ask()
                if not self._answered.wait(ANSWER_SECONDS):
                    name, log = self._board.name, self._board.paths.log
                    raise PowerError(f"virtual board '{name}' has not answered for {ANSWER_SECONDS:.0f} s: see {log}")
        finally:
            self._counters.close()
        if self._failure:
            raise self._failure
        return ActivityLog(self._counters.heading, self._samples, self._kernels)
