# SPDX-License-Identifier: BSD-3-Clause
"""
Figure 9.2 of `assasin bench varve` on a virtual board: VarVE-full on all of its cores, with the inputs in its flash.

Columns are in the flash before the board starts, a filter reads them as streams of the stream buffers, and its outputs come back to
the host, where they are compared with numpy's. A rate is the inputs' bytes a cycle from the first page that a core gets to the last
core's stop; a steady rate is that while all cores are fed (perf.steady).
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from assasin import offloads, perf, terminal
from assasin.board import Board, NativeBoard
from assasin.drive import Drive
from assasin.errors import AssasinError
from assasin.job import Input, Job, enough_kcycles
from assasin.paper import Machine, Pages, build
from assasin.varve_task import Task, check, task
from assasin.varve_tile import Row, Values, VarveBenchError, there

FIGURE, NAME = "9.2", "board"
"""Of its rows; what asks for it."""
PROFILE = "paper"
ARCHITECTURE, WRITER = "AssasinVf", "AssasinSb"
"""Of the boards that are measured; of the native board that writes their flash."""
CONFIG = f"{ARCHITECTURE}2x2"
LOOK_CYCLES = 20_000
"""At least, between two looks at the counters while a job runs: the firmware has to answer each."""
PAGES, QUICK_PAGES = 4, 1
"""Pages of a core's part of a column of bytes, unless the caller says how many."""

ColumnKey = tuple[str, int, int]
Columns = dict[ColumnKey, Pages]


@dataclass(frozen=True)
class Found:
    """What a task took."""

    name: str
    rate: float
    """Bytes of the inputs a cycle."""
    steady: perf.Steady | None
    """The same while all cores are fed; None where that is too short for a figure."""
    input_bytes: int
    """Of all columns together."""
    limit: float
    """Bytes a cycle that the channels can give at most."""
    firmware_page: float
    """Cycles of the firmware for a page's completion, without what it looks at by its timer."""
    cores: int
    cycles: perf.Cycles
    khz: float
    """Cycles that the board simulates in a millisecond of processor time, from loading the job to its results."""


class Flash:
    """A board's flash with the columns of tasks in it."""

    def __init__(self, machine: Machine, board: Board, tasks: Sequence[Task], rows: int, columns: Columns) -> None:
        self.machine = machine
        self.board = board
        self.tasks = tasks
        self.rows = rows
        self._columns = columns

    def run(self, of: Task) -> Found:
        """Runs a task with as many pieces as there are cores. Raises VarveBenchError, also for a wrong result."""
        m, cores, rows = self.machine, self.machine.drive.info.cores, self.rows
        there(of.program)
        pages = [self._columns[column_key(name, values)] for name, values in of.columns.items()]
        bounds = [(rows * i // cores, rows * (i + 1) // cores) for i in range(cores)]

        def part(column: Pages, first: int, end: int) -> Input:
            return column.input(range(len(column) * first // rows, len(column) * end // rows))

        inputs = [[part(column, first, end) for column in pages] for first, end in bounds]
        m.say(f"{of.name} on {m.config}")
        looks: list[ctypes.Structure] = []
        looked = 0

        def look() -> None:
            nonlocal looked
            cycle, _ = self.board.simulated()
            if cycle - looked >= LOOK_CYCLES:
                looked = cycle
                looks.append(m.drive.perf())

        with m.drive.function(of.program.read_bytes()) as loaded:
            job = Job(
                loaded,
                inputs,
                streams_out=of.streams_out,
                args=of.args,
                max_cores=cores,
                watchdog_kcycles=enough_kcycles(inputs),
                tick=look,
            )
            m.load_cores(job)
            looks.clear()
            before, (first_cycle, began) = m.drive.perf(), self.board.simulated()
            pieces = offloads.check(of.name, m.drive.run_job(job))
            (last_cycle, ended), after = self.board.simulated(), m.drive.perf()
        for (first, end), piece in zip(bounds, pieces, strict=True):
            check(of, first, end, [bytes(output) for output in piece.outputs], f"on {m.config}")
        window = perf.window(before, after)
        return Found(
            of.name,
            perf.stream_rate(pieces),
            perf.steady(pieces, looks),
            sum(len(column.data) for column in pages),
            window.bus_limit,
            window.firmware_cycles_per_page,
            len({p.report.core for p in pieces}),
            perf.decompose(pieces),
            (last_cycle - first_cycle) / max(ended - began, 0.01) / 1000,  # the system counts in 10 ms
        )


def column_key(name: str, values: Values) -> ColumnKey:
    """What tells a column from one of the same name over other rows."""
    data = values.tobytes()
    return name, len(data), zlib.crc32(data)


def write(drive: Drive, config: str, tasks: Sequence[Task], say: Callable[[str], None]) -> Columns:
    """
    Writes the tasks' columns, each once. Between two columns pages are left out, so that four columns that a function reads side by
    side begin on channels a quarter of all apart: if they began on the same one, the cores' streams would wait for it in turn.
    """
    machine = Machine(drive, config, False, say)
    gap = bytes(max(1, drive.info.channels // 4) * machine.page)
    columns: Columns = {}
    for of in tasks:
        for name, values in of.columns.items():
            if (key := column_key(name, values)) not in columns:
                say(f"writing {name}")
                written = machine.write(values.tobytes() + gap)
                columns[key] = Pages(written.lba, values.tobytes(), machine.page)
    return columns


@contextmanager
def _flash(config: str, names: Sequence[str], core_pages: int, seed: int, say: Callable[[str], None]) -> Iterator[Flash]:
    """
    A board with the columns of the tasks `names` in its flash; a core's part of a column of bytes is `core_pages` pages. The native
    board writes them, on the image that the virtual one then runs on: it writes hundreds of times faster.
    """
    board, native = Board(f"varve-{config}"), NativeBoard(f"varve-{config}-native")
    image = board.paths.folder / "image"
    try:
        # The drive of the dissertation has no parity: pages follow each other over the channels.
        native.start(config.replace(ARCHITECTURE, WRITER), PROFILE, image, format=True, parity=False)
        with Drive(native.address) as drive:
            rows = core_pages * drive.info.block_bytes * drive.info.cores
            tasks = [task(name, rows, seed) for name in names]
            columns = write(drive, config, tasks, say)
        native.stop()
        say(f"{config}: starting the board")
        board.start(config, PROFILE, image)
        with Drive(board.address) as drive:
            yield Flash(Machine(drive, config, False, say), board, tasks, rows, columns)
    finally:
        for one in (native, board):
            one.stop()
            one.erase()


def rows_of(found: Found, config: str) -> Iterator[Row]:
    """Rows of the result."""

    def row(metric: str, ours: float, unit: str) -> Row:
        return Row(FIGURE, f"{found.name}/{config}", "full", metric, ours, None, unit, f"virtual board {config}, profile {PROFILE}")

    yield row("bytes_per_cycle", found.rate, f"B/cycle of the inputs, from the flash, {found.cores} cores")
    steady = found.steady
    if steady is not None:
        window = f"while all cores are fed, {steady.cycles} cycles"
        yield row("steady_bytes_per_cycle", steady.bytes_per_cycle, f"B/cycle of the inputs, {window}")
        yield row("steady_over_channels_limit", steady.bytes_per_cycle / found.limit, "1")
    yield row("channels_bytes_per_cycle", found.limit, "B/cycle that the channels give at most")
    yield row("over_channels_limit", found.rate / found.limit, "1")
    yield row("input_bytes", found.input_bytes, "B")
    yield row("firmware_cycles_per_page", found.firmware_page, "cycles of the firmware for a page's completion")
    yield row("share_waiting_for_input", found.cycles.input, "1, of the cores' cycles")
    yield row("simulator_khz", found.khz, "kHz, of processor time")


def run(
    config: str,
    names: Sequence[str],
    quick: bool,
    seed: int,
    say: Callable[[str], None],
    builds: bool,
    core_pages: int | None = None,
) -> Iterator[Found]:
    """
    Measures filters and workloads by name on a board of `config`, which is built first with `builds`. `core_pages`: pages of a
    core's part of a column of bytes; wider columns have as many times more. Raises VarveBenchError.
    """
    if not config.startswith(ARCHITECTURE):
        raise VarveBenchError(f"{config} has no VarVE-full: name a board of AssasinVf, for example {CONFIG}")
    try:
        if builds:
            say(f"building {config}")
            build(config)
            build(NativeBoard.KIND)
        with _flash(config, names, core_pages or (QUICK_PAGES if quick else PAGES), seed, say) as flash:
            for of in flash.tasks:
                yield flash.run(of)
    except AssasinError as error:
        if isinstance(error, VarveBenchError):
            raise
        raise VarveBenchError(f"{config}: {error}") from error


def print_table(result: dict[str, Any]) -> None:
    """Prints a line a workload."""
    found: dict[str, dict[str, float]] = {}
    for r in result["rows"]:
        if r["figure"] == FIGURE and r["config"].startswith("virtual board"):
            found.setdefault(r["workload"], {})[r["metric"]] = r["ours"]
    names = (
        "input_bytes",
        "bytes_per_cycle",
        "over_channels_limit",
        "steady_bytes_per_cycle",
        "steady_over_channels_limit",
        "channels_bytes_per_cycle",
        "share_waiting_for_input",
        "simulator_khz",
    )

    def shown(of: dict[str, float], name: str) -> str:
        if name not in of:
            return "too short"
        return f"{of[name]:,.0f}" if name == "input_bytes" else f"{of[name]:.3f}"

    if found:
        terminal.table(
            f"Figure 9.2: VarVE-full with its inputs in the flash of a virtual board, profile {PROFILE}",
            ["workload", "bytes", "B/cycle", "over limit", "steady B/cycle", "over limit", "channels' limit"]
            + ["cores wait for input", "kHz"],
            [[name, *(shown(of, n) for n in names)] for name, of in found.items()],
            "steady: while all cores are fed, without the job's start and end",
        )
