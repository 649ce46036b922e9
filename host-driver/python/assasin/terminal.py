# SPDX-License-Identifier: BSD-3-Clause
"""How the `assasin` command talks: progress on stderr, results as a table or as JSON on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TransferSpeedColumn
from rich.table import Table

from assasin import drive

out = Console()
err = Console(stderr=True)


@contextmanager
def bytes_bar(text: str, total: int) -> Iterator[drive.Progress]:
    """A progress bar over bytes; yields the function that moves it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err) as bar:
        task = bar.add_task(text, total=total)
        yield lambda done, _padded: bar.update(task, completed=min(done, total))


@contextmanager
def spinner(text: str) -> Iterator[Any]:
    """A spinner with a clock for something of unknown length; yields a function that changes its text."""
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=err) as bar:
        task = bar.add_task(text, total=None)
        yield lambda new: bar.update(task, description=new)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str | None = None) -> None:
    """Prints a table; the first column is text, the others are numbers."""
    t = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    for i, name in enumerate(columns):
        t.add_column(name, justify="left" if i == 0 else "right", overflow="fold")
    for row in rows:
        t.add_row(*row)
    # Never narrower than the table when the output is a file or a pipe.
    wide = Console(width=max(160, out.width)) if not sys.stdout.isatty() else out
    wide.print(t)


def pairs(title: str, values: Sequence[tuple[str, str]]) -> None:
    """Prints names and values."""
    t = Table(title=title, show_header=False, title_justify="left")
    t.add_column(style="bold")
    t.add_column(overflow="fold")
    for name, value in values:
        t.add_row(name, value)
    out.print(t)


def dump(value: object) -> None:
    """Prints JSON."""
    json.dump(value, sys.stdout, indent=2)
    sys.stdout.write("\n")


def human_bytes(n: float) -> str:
    """Bytes with a binary unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n) < 1024 or unit == "GiB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    raise AssertionError


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{100 * share:.1f} %"
