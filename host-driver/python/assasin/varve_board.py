# SPDX-License-Identifier: BSD-3-Clause
"""
Figure 9.2 of `assasin bench varve` on a virtual board: VarVE-full on all of its cores, with the inputs in its flash.

Columns are written through NVMe, a filter reads them as streams of the stream buffers, and its outputs come back to the host, where
they are compared with numpy's. A rate is the inputs' bytes a cycle from the first page that a core gets to the last core's stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from assasin import offloads, perf, terminal
from assasin.board import Board
from assasin.drive import Drive
from assasin.errors import AssasinError
from assasin.job import Input, Job, enough_kcycles
from assasin.paper import Machine, Pages, build
from assasin.varve_task import Task, check, task
from assasin.varve_tile import Row, Values, VarveBenchError, there

FIGURE, NAME = "9.2", "board"
"""Of its rows; what asks for it."""
PROFILE = "paper"
CONFIG = "AssasinVf2x2"
PAGES, QUICK_PAGES = 4, 1
"""Pages of a core's part of a column of bytes."""


@dataclass(frozen=True)
class Found:
    """What a task took."""

    name: str
    rate: float
    """Bytes of the inputs a cycle."""
    limit: float
    """Bytes a cycle that the channels can give at most."""
    cores: int
    cycles: perf.Cycles
    khz: float
    """Cycles that the board simulates in a millisecond of processor time, from loading the job to its results."""


class Flash:
    """A board's flash with columns in it."""

    def __init__(self, machine: Machine, board: Board) -> None:
        self.machine = machine
        self.board = board
        self._columns: dict[tuple[str, int, int], Pages] = {}

    def column(self, name: str, values: Values) -> Pages:
        """A column, written if it is not there. The next one begins at another channel, as a page is left out between them."""
        data = values.tobytes()
        key = (name, len(data), int(np.frombuffer(data, "u1").sum()))
        if key not in self._columns:
            self.machine.say(f"writing {name}")
            written = self.machine.write(data + bytes(self.machine.page))
            self._columns[key] = Pages(written.lba, data, self.machine.page)
        return self._columns[key]

    def run(self, of: Task, rows: int) -> Found:
        """Runs a task with as many pieces as there are cores. Raises VarveBenchError, also for a wrong result."""
        m, cores = self.machine, self.machine.drive.info.cores
        there(of.program)
        pages = [self.column(name, values) for name, values in of.columns.items()]
        bounds = [(rows * i // cores, rows * (i + 1) // cores) for i in range(cores)]

        def part(column: Pages, first: int, end: int) -> Input:
            return column.input(range(len(column) * first // rows, len(column) * end // rows))

        inputs = [[part(column, first, end) for column in pages] for first, end in bounds]
        m.say(f"{of.name} on {m.config}")
        with m.drive.function(of.program.read_bytes()) as loaded:
            job = Job(
                loaded,
                inputs,
                streams_out=of.streams_out,
                args=of.args,
                max_cores=cores,
                watchdog_kcycles=enough_kcycles(inputs),
            )
            m.load_cores(job)
            before, (first_cycle, began) = m.drive.perf(), self.board.simulated()
            pieces = offloads.check(of.name, m.drive.run_job(job))
            (last_cycle, ended), after = self.board.simulated(), m.drive.perf()
        for (first, end), piece in zip(bounds, pieces, strict=True):
            check(of, first, end, [bytes(output) for output in piece.outputs], f"on {m.config}")
        window = perf.window(before, after)
        return Found(
            of.name,
            perf.stream_rate(pieces),
            window.bus_limit,
            len({p.report.core for p in pieces}),
            perf.decompose(pieces),
            (last_cycle - first_cycle) / max(ended - began, 0.01) / 1000,  # the system counts in 10 ms
        )


@contextmanager
def _flash(config: str, say: Callable[[str], None]) -> Iterator[Flash]:
    board = Board(f"varve-{config}")
    say(f"{config}: starting the board")
    # The drive of the dissertation has no parity: pages follow each other over the channels.
    board.start(config, PROFILE, format=True, parity=False)
    try:
        with Drive(board.address) as drive:
            yield Flash(Machine(drive, config, False, say), board)
    finally:
        board.stop()
        board.erase()


def rows_of(found: Found, config: str) -> Iterator[Row]:
    """Rows of the result."""

    def row(metric: str, ours: float, unit: str) -> Row:
        return Row(FIGURE, f"{found.name}/{config}", "full", metric, ours, None, unit, f"virtual board {config}, profile {PROFILE}")

    yield row("bytes_per_cycle", found.rate, f"B/cycle of the inputs, from the flash, {found.cores} cores")
    yield row("channels_bytes_per_cycle", found.limit, "B/cycle that the channels give at most")
    yield row("over_channels_limit", found.rate / found.limit, "1")
    yield row("share_waiting_for_input", found.cycles.input, "1, of the cores' cycles")
    yield row("simulator_khz", found.khz, "kHz, of processor time")


def run(config: str, names: Sequence[str], quick: bool, seed: int, say: Callable[[str], None], builds: bool) -> Iterator[Found]:
    """
    Measures filters and workloads by name on a board of `config`, which is built first with `builds`. Raises VarveBenchError.
    """
    if not config.startswith("AssasinVf"):
        raise VarveBenchError(f"{config} has no VarVE-full: name a board of AssasinVf, for example {CONFIG}")
    try:
        if builds:
            say(f"building {config}")
            build(config)
        with _flash(config, say) as flash:
            rows = (QUICK_PAGES if quick else PAGES) * flash.machine.page * flash.machine.drive.info.cores
            for name in names:
                yield flash.run(task(name, rows, seed), rows)
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
    names = ("bytes_per_cycle", "channels_bytes_per_cycle", "over_channels_limit", "share_waiting_for_input", "simulator_khz")
    if found:
        terminal.table(
            f"Figure 9.2: VarVE-full with its inputs in the flash of a virtual board, profile {PROFILE}",
            ["workload", "B/cycle", "the channels' limit", "over it", "cores wait for input", "kHz"],
            [[name, *(f"{of[n]:.3f}" for n in names)] for name, of in found.items()],
        )
