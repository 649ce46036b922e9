# SPDX-License-Identifier: BSD-3-Clause
"""Prints the outputs of a function by name."""

from __future__ import annotations

from assasin import terminal
from assasin.descriptions import Results, Value

MOST_ROWS = 20
"""Rows that a terminal gets; JSON and files get all."""


def _text(value: Value) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def show(function: str, results: Results) -> None:
    """One record as names and values, several as a table."""
    if results.single:
        values = [(name, _text(value)) for row in results.rows for name, value in zip(results.columns, row, strict=True)]
        terminal.pairs(f"result of {function}", values)
        return
    left = len(results.rows) - MOST_ROWS
    terminal.table(
        f"result of {function}: {len(results.rows):,} records",
        results.columns,
        [[_text(value) for value in row] for row in results.rows[:MOST_ROWS]],
        f"and {left:,} more: --json or --out FILE has all of them" if left > 0 else None,
    )
