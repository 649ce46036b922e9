# SPDX-License-Identifier: BSD-3-Clause
"""Reads sensors at a steady rate while something else runs, and tells a sensor that hesitates from one that has gone."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assasin import later
from assasin.power.errors import PowerError
from assasin.power.trace import Trace, of_readings

if TYPE_CHECKING:
    import numpy as np
else:
    np = later.module("numpy")

VANISHED_SECONDS = 1.0
"""A sensor without a good reading for so long, and for LEAST_MISSES readings, has vanished."""
LEAST_MISSES = 5
MOST_WATTS = 500.0
"""No rail of these boards carries more: the figure is not a power."""
MOST_VOLTS = 60.0
GAP_PERIODS = 10
"""A time without readings that is longer than so many periods is a gap."""


@dataclass(frozen=True)
class Value:
    """One sensor's reading. Without watts: it measures no current."""

    rail: str
    watts: float | None
    volts: float | None = None
    amperes: float | None = None


@dataclass(frozen=True)
class Reading:
    """What the sensors said at one moment. `missing`: sensors that did not answer, and why."""

    t_ns: int
    """Of this machine's CLOCK_REALTIME."""
    values: Mapping[str, Value]
    missing: Mapping[str, str] = field(default_factory=dict)


class Reader(ABC):
    """Sensors that can be read at any time."""

    title: str
    """What they are, for reports."""

    @abstractmethod
    def read(self) -> Reading:
        """Reads all of them. Raises PowerError when none can be read at all, or one says what cannot be."""

    def close(self) -> None:  # noqa: B027 - most readers hold nothing
        """Lets go of them."""


def plausible(sensor: str, value: Value) -> Value:
    """The value, when it can be one. Raises PowerError."""
    for what, number, most in (("W", value.watts, MOST_WATTS), ("V", value.volts, MOST_VOLTS)):
        if number is not None and not -most <= number <= most:
            raise PowerError(
                f"sensor {sensor} says {number:g} {what}, but no rail has more than {most:g} {what}: check its shunt and "
                "scale in the "
                "board file and in its driver"
            )
    return value


class Sampler:
    """Reads a reader's sensors every `period` seconds in a thread of its own."""

    def __init__(self, reader: Reader, period: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Takes the first reading now. Raises PowerError when sensors are missing from the start, or none measures power."""
        self._reader = reader
        self._period = period
        self._clock = clock
        first = reader.read()
        if first.missing:
            sensor, why = next(iter(first.missing.items()))
            raise PowerError(f"sensor {sensor} of {reader.title}: {why}")
        self._names = [n for n, v in first.values.items() if v.watts is not None]
        if not self._names:
            raise PowerError(
                f"{reader.title} measures voltages only: wire a current sensor (see the board's page), or log an external "
                "meter and use "
                "--source meter:FILE"
            )
        for name in self._names:
            plausible(name, first.values[name])
        self._rails = {n: first.values[n].rail for n in self._names}
        self._times: dict[str, list[int]] = {n: [first.t_ns] for n in self._names}
        self._watts: dict[str, list[float]] = {n: [first.values[n].watts or 0.0] for n in self._names}
        self._missed = dict.fromkeys(self._names, 0)
        self._failure: PowerError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        due = self._clock()
        while not self._stop.is_set():
            due = max(due + self._period, self._clock())
            self._stop.wait(max(0.0, due - self._clock()))
            try:
                self._take(self._reader.read())
            except PowerError as e:
                self._failure = e
                return
            except OSError as e:
                self._failure = PowerError(f"{self._reader.title} cannot be read any more: {e}")
                return

    def _take(self, reading: Reading) -> None:
        for name in self._names:
            value = reading.values.get(name)
            if value is None or value.watts is None:
                self._miss(name, reading)
                continue
            plausible(name, value)
            if reading.t_ns <= self._times[name][-1]:
                continue
            self._missed[name] = 0
            self._times[name].append(reading.t_ns)
            self._watts[name].append(value.watts)

    def _miss(self, name: str, reading: Reading) -> None:
        self._missed[name] += 1
        silent = (reading.t_ns - self._times[name][-1]) / 1e9
        if self._missed[name] >= LEAST_MISSES and silent > VANISHED_SECONDS:
            why = reading.missing.get(name, "it is not among the sensors any more")
            raise PowerError(
                f"sensor {name} ({self._rails[name]}) of {self._reader.title} has vanished, no reading for {silent:.1f} s: "
                f"{why}; check its "
                "driver and the I2C bus, then measure again"
            )

    def stop(self) -> Trace:
        """Ends. Returns power over time in seconds of CLOCK_REALTIME. Raises PowerError when a sensor failed meanwhile."""
        self._stop.set()
        self._thread.join()
        self._reader.close()
        if self._failure:
            raise self._failure
        times = np.unique(np.concatenate([np.array(t, np.int64) for t in self._times.values()]))
        seconds = times / 1e9
        watts = {}
        gaps: set[tuple[float, float]] = set()
        for name in self._names:
            own = np.array(self._times[name], np.int64) / 1e9
            watts[self._label(name)] = np.interp(seconds, own, np.array(self._watts[name]))
            for i in np.flatnonzero(np.diff(own) > GAP_PERIODS * self._period):
                gaps.add((float(own[i]), float(own[i + 1])))
        trace = of_readings(seconds, watts, float("inf"))
        return Trace(trace.edges, trace.watts, gaps=_merge(sorted(gaps)))

    def _label(self, name: str) -> str:
        rails = list(self._rails.values())
        return self._rails[name] if rails.count(self._rails[name]) == 1 else name


def _merge(gaps: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    merged: list[tuple[float, float]] = []
    for begin, end in gaps:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)
