# SPDX-License-Identifier: BSD-3-Clause
"""Where power comes from: each source watches while a command runs, and then says what it saw."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assasin import board as virtual
from assasin.boards import Board, Sensor
from assasin.power import meter, models
from assasin.power.activity import Recorder
from assasin.power.agent import AgentReader
from assasin.power.errors import PowerError
from assasin.power.hwmon import HwmonReader
from assasin.power.i2c import I2cBus, I2cDev, Pca9548
from assasin.power.marks import Operation
from assasin.power.models import ModelOptions
from assasin.power.phases import Span, of_activity, of_operations
from assasin.power.pmbus import PmbusReader
from assasin.power.sampler import Reader, Sampler
from assasin.power.trace import Trace

SYS = "/sys"
METER_SECONDS = 10.0
"""How long a meter may take to write down the command's end."""


@dataclass(frozen=True)
class Options:
    """How to watch; see `assasin power --help`."""

    name: str = "virtual"
    every: int = 20_000
    period: float = 0.01
    idle: float = 1.0
    meter_offset: float | None = 0.0
    max_gap: float | None = None
    model: ModelOptions = field(default_factory=ModelOptions)


@dataclass(frozen=True)
class Watched:
    """What a source saw. Times are seconds in the trace's time."""

    source: str
    kind: str
    """modelled, measured or logged."""
    time: str
    """simulated or real."""
    method: str
    on_hardware: bool
    trace: Trace
    begin: float
    end: float
    spans: list[Span]
    phases_by: str
    """marks or activity."""
    idle_w: float | None
    context: dict[str, object]


class Source(ABC):
    """One source of power figures. start(), then the command, then finish()."""

    @abstractmethod
    def start(self) -> None:
        """Begins to watch, some time before the command. Raises PowerError."""

    @abstractmethod
    def finish(self, begin_s: float, end_s: float, operations: Sequence[Operation]) -> list[Watched]:
        """Ends. The command ran from `begin_s` to `end_s`, seconds of CLOCK_REALTIME, and left these marks. Raises PowerError."""


class CounterSource(Source):
    """Models over a virtual board's counters."""

    def __init__(self, names: Sequence[str], options: Options) -> None:
        self._names = names
        self._options = options

    def start(self) -> None:
        """See Source."""
        self._board = virtual.Board(self._options.name).require()
        self._recorder = Recorder(self._board, self._options.every)

    def finish(self, begin_s: float, end_s: float, operations: Sequence[Operation]) -> list[Watched]:
        """See Source."""
        log = self._recorder.stop()
        begin, end = float(log.edges[0]), float(log.edges[-1])
        if end <= begin:
            raise PowerError(
                f"no time passed on virtual board '{self._options.name}' while the command ran: let it use this board "
                "(--name, or "
                "ASSASIN_BOARD in its environment)"
            )
        spans = of_operations(operations, log.scale.ns_per_cycle)
        by = "marks" if spans else "activity"
        status = self._board.status()
        context = {"board_name": self._options.name, "config": log.scale.config, "profile": status.get("profile")}
        context |= {"ns_per_cycle": log.scale.ns_per_cycle, "cycles": int(log.cycles.sum())}
        option = self._options.model
        return [
            Watched(
                source=name,
                kind="modelled",
                time="simulated",
                method=models.method(name, log, option),
                on_hardware=False,
                trace=models.MODELS[name](log, option),
                begin=begin,
                end=end,
                spans=spans or of_activity(log),
                phases_by=by,
                idle_w=models.idle_watts(name, log, option),
                context=context,
            )
            for name in self._names
        ]


def _real(
    source: str, kind: str, method: str, on_hardware: bool, trace: Trace, begin: float, end: float, o: Sequence[Operation]
) -> Watched:
    return Watched(
        source=source,
        kind=kind,
        time="real",
        method=method,
        on_hardware=on_hardware,
        trace=trace,
        begin=begin,
        end=end,
        spans=of_operations(o, None),
        phases_by="marks",
        idle_w=trace.mean_watts(trace.begin, begin),
        context={},
    )


class SensorSource(Source):
    """Sensors that are read while the command runs."""

    def __init__(self, name: str, reader: Reader, options: Options, on_hardware: bool = True) -> None:
        self._name = name
        self.reader = reader
        self._options = options
        self._on_hardware = on_hardware

    def start(self) -> None:
        """See Source."""
        self._sampler = Sampler(self.reader, self._options.period)
        time.sleep(self._options.idle)

    def finish(self, begin_s: float, end_s: float, operations: Sequence[Operation]) -> list[Watched]:
        """See Source."""
        trace = self._sampler.stop()
        method = f"{self.reader.title}, every {self._options.period * 1e3:g} ms"
        return [_real(self._name, "measured", method, self._on_hardware, trace, begin_s, end_s, operations)]


class MeterSource(Source):
    """The log of a meter that something else writes."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = path
        self._options = options

    def start(self) -> None:
        """See Source."""
        if not self._path.exists():
            raise PowerError(f"meter log {self._path} is not there: start the meter's log before the command")
        time.sleep(self._options.idle)

    def finish(self, begin_s: float, end_s: float, operations: Sequence[Operation]) -> list[Watched]:
        """See Source."""
        deadline = time.monotonic() + METER_SECONDS
        # With an offset to be found, power after the command is needed as well.
        offset = self._options.meter_offset
        until = end_s - offset if offset is not None else None
        if until is None:
            time.sleep(self._options.idle)
        while until is not None and time.monotonic() < deadline and meter.load(self._path)[0][-1] < until:
            time.sleep(0.1)
        trace, used = meter.trace(self._path, begin_s, end_s, offset, self._options.max_gap)
        method = f"log {self._path.name}, meter's clock {used:+.3f} s" + (
            "" if offset is not None else " (found by the step of power)"
        )
        return [_real("meter", "logged", method, True, trace, begin_s, end_s, operations)]


# ---- By name ----


def default(board: Board) -> str:
    """The source that a board's own sensors make. Raises PowerError when it has none."""
    drivers = {s.driver for s in board.sensors}
    for driver, source in (("model", "activity"), ("ina226", "hwmon"), ("pmbus", "pmbus")):
        if driver in drivers:
            return source
    raise PowerError(f"{board.title} has no sensor that measures power: log an external meter and use --source meter:FILE")


def pmbus_reader(sensor: Sensor, bus: I2cBus | None = None) -> PmbusReader:
    """Reader of a PMBus sensor of a board file, by default over /dev/i2c-N of its bus."""
    over: I2cBus = bus or I2cDev(f"/dev/i2c-{sensor.bus}")
    if sensor.mux is not None and sensor.mux_port is not None:
        over = Pca9548(over, sensor.mux, sensor.mux_port)
    return PmbusReader(over, sensor.address or 0, sensor.name, sensor.pages or 1)


def _sensors(board: Board, driver: str) -> list[Sensor]:
    found = [s for s in board.sensors if s.driver == driver]
    if not found:
        raise PowerError(f"{board.title} has no sensor of driver {driver} in its board file: choose another --source")
    return found


def make(board: Board, texts: Sequence[str], options: Options) -> list[Source]:
    """The sources named by `texts`, those over counters sharing one record. Raises PowerError."""
    counters = list(dict.fromkeys(t for t in texts if t in models.MODELS))
    if counters and not board.is_virtual:
        raise PowerError(
            f"--source {counters[0]} needs the virtual board's counters; {board.name} has sensors: --source {default(board)}"
        )
    sources: list[Source] = [CounterSource(counters, options)] if counters else []
    for text in dict.fromkeys(t for t in texts if t not in models.MODELS):
        kind, _, rest = text.partition(":")
        if kind not in ("hwmon", "pmbus", "meter", "agent"):
            raise PowerError(
                f"--source {text}: give activity or xssd (virtual board), hwmon, pmbus[:/dev/i2c-N], agent:HOST[:PORT] or "
                "meter:FILE"
            )
        if board.is_virtual:
            raise PowerError(
                f"--source {text}: the virtual board has nothing to measure; use activity or xssd, or --board with a real one"
            )
        sources.append(_sensor_source(board, kind, rest, options))
    return sources


def _sensor_source(board: Board, kind: str, rest: str, options: Options) -> Source:
    if kind == "meter":
        if not rest:
            raise PowerError("--source meter: name the log, for example meter:log.csv")
        return MeterSource(Path(rest), options)
    reader: Reader
    if kind == "hwmon":
        reader = HwmonReader(_sensors(board, "ina226"), Path(rest or SYS))
        return SensorSource(kind, reader, options, on_hardware=rest in ("", SYS))
    if kind == "pmbus":
        sensor = _sensors(board, "pmbus")[0]
        return SensorSource(kind, pmbus_reader(sensor, I2cDev(rest) if rest else None), options)
    essential = {s.name for s in board.sensors if s.driver == "ina226"}
    return SensorSource(kind, AgentReader(rest, essential), options)
