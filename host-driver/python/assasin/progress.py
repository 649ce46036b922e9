# SPDX-License-Identifier: BSD-3-Clause
"""
What a command shows while it waits: a live line on a terminal, else a line on stderr every ten seconds.

Cycles, speed and traffic come from the status file of the board that the command uses: looking at them costs the drive nothing, so
that no figure changes by being watched.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from assasin.board import Board

LOOK_SECONDS = 0.5
LINE_SECONDS = 10.0
QUIET_SECONDS = 2.0
"""What ends sooner shows no figures of the drive."""


def human_bytes(n: float) -> str:
    """Bytes with a binary unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n) < 1024 or unit == "GiB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    raise AssertionError


class Meter:
    """What a board has done since the meter was made."""

    def __init__(self) -> None:
        self._began: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        self._khz: float | None = None

    def text(self) -> str:
        """In words; empty when no board is in use or nothing has been said yet."""
        board = Board.in_use
        now = board.status() if board else {}
        if not {"pid", "timebase", "cycles", "host_seconds"} <= now.keys():
            return ""
        if self._began.get("pid") != now["pid"]:
            self._began, self._last, self._khz = now, now, None
        if now["host_seconds"] > self._last["host_seconds"]:
            self._khz = (now["cycles"] - self._last["cycles"]) / (now["host_seconds"] - self._last["host_seconds"]) / 1e3
            self._last = now

        def passed(key: str) -> int:
            return int(now.get(key, 0)) - int(self._began.get(key, 0))

        moved = [
            ("flash", passed("flash_read_bytes") + passed("flash_program_bytes")),
            ("PCIe", passed("h2c_bytes") + passed("c2h_bytes")),
        ]
        parts = [f"{what} {human_bytes(n)}" for what, n in moved if n > 0]
        parts.append(f"{passed('timebase'):,} cycles")
        if self._khz is not None:
            parts.append(f"{self._khz:.0f} kHz")
        return ", ".join(parts)


class Line:
    """
    The display of one wait. In a `with` block; `total`: bytes, when they are known. `lines`: print lines where `console` is no
    terminal.
    """

    def __init__(self, console: Console, text: str, total: int | None = None, lines: bool = True) -> None:
        self._console = console
        self._text = text
        self._total = total
        self._done = 0
        self._lines = lines
        self._meter = Meter()
        self._began = time.monotonic()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._live: Progress | None = None
        self._task: TaskID | None = None

    def say(self, text: str) -> None:
        """Replaces the text."""
        self._text = text
        if self._live is not None and self._task is not None:
            self._live.update(self._task, description=text)

    def advance(self, done: int, _padded: int = 0) -> None:
        """So many bytes are done."""
        self._done = min(done, self._total or done)
        if self._live is not None and self._task is not None:
            self._live.update(self._task, completed=self._done)

    def __enter__(self) -> Line:
        self._meter.text()
        if self._console.is_terminal:
            known = (BarColumn(), DownloadColumn(binary_units=True)) if self._total else ()
            first = () if self._total else (SpinnerColumn(),)
            drive = TextColumn("{task.fields[drive]}", style="dim")
            self._live = Progress(
                *first, TextColumn("{task.description}"), *known, TimeElapsedColumn(), drive, console=self._console
            )
            self._task = self._live.add_task(self._text, total=self._total, drive="")
            self._live.start()
        if self._live is not None or self._lines:
            self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        if self._live is not None:
            self._live.stop()

    def _watch(self) -> None:
        said = self._began
        while not self._end.wait(LOOK_SECONDS):
            figures, now = self._meter.text(), time.monotonic()
            if self._live is not None and self._task is not None:
                if now - self._began > QUIET_SECONDS:
                    self._live.update(self._task, drive=figures)
            elif now - said >= LINE_SECONDS:
                said = now
                self._console.print(self._line(figures, now - self._began), markup=False, highlight=False, soft_wrap=True)

    def _line(self, figures: str, seconds: float) -> str:
        done = f"{human_bytes(self._done)} of {human_bytes(self._total)}" if self._total else ""
        return ", ".join(filter(None, (self._text, done, figures, f"{seconds:.0f} s")))
