# SPDX-License-Identifier: BSD-3-Clause
"""
`assasin top`: what a running virtual board is doing, from its counters (board/virtual/sim/ActivityServer.h).

Looking takes no simulated time, and does not disturb who uses the drive.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from assasin.board import Board
from assasin.power.activity import Counters
from assasin.progress import human_bytes

BAR = 24
"""Characters of a full bar."""


@dataclass(frozen=True)
class Channel:
    """A flash channel in an interval."""

    busy: float
    """Share of the cycles in which its bus was busy."""
    bytes_per_cycle: float
    """Page data over its bus."""


@dataclass(frozen=True)
class Core:
    """A core, or the tile of a slot, in an interval: shares of the cycles. The rest of 1 it was stopped."""

    computing: float
    input: float
    """Waiting for an input stream."""
    output: float
    """Waiting for room in an output stream."""
    memory: float
    """Waiting for its data cache."""


@dataclass(frozen=True)
class Frame:
    """What a board did between two looks."""

    board: str
    config: str
    visitor: str | None
    """Who is connected to the drive."""
    seconds: float
    """Wall time of the interval."""
    cycles: int
    """Of the drive's timebase, those included that the chip slept through."""
    khz: float
    """Cycles in which the chip had its clock, thousands a second of wall time."""
    firmware: float
    """Share of the cycles in which the firmware was awake."""
    to_host: float
    """Bytes a cycle over PCIe to the host."""
    from_host: float
    """Bytes a cycle over PCIe from the host."""
    dram: float
    """Bytes a cycle of the DRAM, both directions."""
    array_reads: int
    array_programs: int
    array_erases: int
    channels: tuple[Channel, ...]
    cores: tuple[Core, ...]
    slots: tuple[Core, ...]

    def json(self) -> dict[str, Any]:
        """For --json."""
        return asdict(self)


def frame(board: Board, heading: dict[str, Any], before: dict[str, Any], after: dict[str, Any], seconds: float) -> Frame:
    """What happened between two samples of the board's counters."""
    cycles = after["timebase"] - before["timebase"]

    def grown(name: str) -> int:
        return int(after[name] - before[name])

    def a_cycle(n: float) -> float:
        return n / cycles if cycles else 0.0

    def tiles(kind: str) -> tuple[Core, ...]:
        found = []
        for old, new in zip(before[kind], after[kind], strict=True):
            by = {name: new[i] - old[i] for i, name in enumerate(heading["core_counters"])}
            waits = by["wait_in"] + by["wait_out"] + by["wait_mem"]
            found.append(
                Core(
                    a_cycle(max(0, by["cycles"] - waits)), a_cycle(by["wait_in"]), a_cycle(by["wait_out"]), a_cycle(by["wait_mem"])
                )
            )
        return tuple(found)

    channels = []
    for old, new in zip(before["channels"], after["channels"], strict=True):
        by = {name: new[i] - old[i] for i, name in enumerate(heading["channel_counters"])}
        channels.append(Channel(a_cycle(by["bus_busy"]), a_cycle(by["data_bytes"])))
    return Frame(
        board=board.name,
        config=str(heading["config"]),
        visitor=board.visitor(),
        seconds=seconds,
        cycles=cycles,
        khz=grown("clocked") / seconds / 1e3 if seconds > 0 else 0.0,
        firmware=1 - a_cycle(grown("firmware_sleep")) if cycles else 0.0,
        to_host=a_cycle(grown("c2h_bytes")),
        from_host=a_cycle(grown("h2c_bytes")),
        dram=a_cycle(grown("dram_read_bytes") + grown("dram_write_bytes")),
        array_reads=grown("array_reads"),
        array_programs=grown("array_programs"),
        array_erases=grown("array_erases"),
        channels=tuple(channels),
        cores=tiles("cores"),
        slots=tiles("slots"),
    )


def watch(board: Board, every: float) -> Iterator[Frame]:
    """A frame every so many seconds of wall time, for as long as the board runs. Raises PowerError, BoardError."""
    counters = Counters(board)
    try:
        before, began = counters.now(), time.monotonic()
        while True:
            time.sleep(every)
            after, now = counters.now(), time.monotonic()
            yield frame(board, counters.heading, before, after, now - began)
            before, began = after, now
    finally:
        counters.close()


def bar(*parts: tuple[float, str]) -> Text:
    """Shares of 1, each in its colour, as a bar of BAR characters."""
    text, at, total = Text(), 0, 0.0
    for share, style in parts:
        total += share
        end = min(BAR, round(BAR * total))
        text.append("█" * max(0, end - at), style)
        at = max(at, end)
    return text.append("·" * (BAR - at), "dim")


def _of_channels(f: Frame) -> Table:
    t = Table(title="flash channels", title_justify="left", box=None, pad_edge=False)
    for name in ("", "bus", "busy", "B/cycle"):
        t.add_column(name, justify="left" if name in ("", "bus") else "right")
    for i, c in enumerate(f.channels):
        t.add_row(str(i), bar((c.busy, "cyan")), f"{100 * c.busy:3.0f} %", f"{c.bytes_per_cycle:.2f}")
    total = sum(c.bytes_per_cycle for c in f.channels)
    busy = sum(c.busy for c in f.channels) / len(f.channels)
    t.add_row("all", "", f"{100 * busy:3.0f} %", f"{total:.2f}")
    return t


def _of_tiles(title: str, tiles: tuple[Core, ...]) -> Table:
    t = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("", "time", "computing", "input", "output", "memory", "stopped"):
        t.add_column(name, justify="left" if name in ("", "time") else "right")
    for i, c in enumerate(tiles):
        shares = (c.computing, c.input, c.output, c.memory)
        t.add_row(
            str(i),
            bar((c.computing, "green"), (c.input, "yellow"), (c.output, "magenta"), (c.memory, "red")),
            *(f"{100 * share:3.0f} %" for share in (*shares, max(0.0, 1 - sum(shares)))),
        )
    return t


def shown(f: Frame) -> Group:
    """A frame as a terminal shows it."""
    user = f"used by {f.visitor}" if f.visitor else "nobody is connected"
    speed = f"{f.khz:,.0f} kHz simulated" if f.cycles else "the board's time stands still"
    head = [
        f"{f.board}: {f.config}, {user}",
        f"{f.cycles:,} cycles in {f.seconds:.1f} s, {speed}; firmware awake {100 * f.firmware:.0f} %",
        f"PCIe {f.to_host:.2f} B/cycle to the host, {f.from_host:.2f} from it; DRAM {f.dram:.2f} B/cycle; "
        f"flash arrays: {f.array_reads:,} reads, {f.array_programs:,} programs, {f.array_erases:,} erases",
    ]
    tables = [_of_channels(f), _of_tiles("cores", f.cores)]
    if f.slots:
        tables.append(_of_tiles("slots", f.slots))
    return Group(*(Text(line) for line in head), *tables)


def line(f: Frame) -> str:
    """A frame as a line, where the output is no terminal."""
    rate = sum(c.bytes_per_cycle for c in f.channels)
    running = [c for c in f.cores if c.computing + c.input + c.output + c.memory > 0]
    computing = sum(c.computing for c in running) / len(running) if running else 0.0
    return ", ".join(
        (
            f"{f.cycles} cycles",
            f"{f.khz:.0f} kHz",
            f"flash {rate:.2f} B/cycle ({human_bytes(rate * f.cycles)})",
            f"{len(running)} of {len(f.cores)} cores run",
            f"computing {100 * computing:.0f} %",
            f"firmware awake {100 * f.firmware:.0f} %",
            f"PCIe {f.to_host:.2f} B/cycle to the host and {f.from_host:.2f} from it",
        )
    )
