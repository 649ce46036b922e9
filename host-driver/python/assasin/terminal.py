# SPDX-License-Identifier: BSD-3-Clause
"""How the `assasin` command talks: progress on stderr, results as a table or as JSON on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table

from assasin import drive
from assasin.progress import Line, human_bytes

__all__ = ["bytes_bar", "dump", "err", "human_bytes", "lines", "out", "pairs", "percent", "spinner", "table"]

out = Console()
err = Console(stderr=True)

lines = True
"""Whether waits print lines on stderr where that is no terminal."""


@contextmanager
def bytes_bar(text: str, total: int) -> Iterator[drive.Progress]:
    """A progress bar over bytes; yields the function that moves it."""
    with Line(err, text, total, lines) as line:
        yield line.advance


@contextmanager
def spinner(text: str) -> Iterator[Any]:
    """A spinner with a clock for something of unknown length; yields a function that changes its text."""
    with Line(err, text, lines=lines) as line:
        yield line.say


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


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{100 * share:.1f} %"
