# SPDX-License-Identifier: BSD-3-Clause
"""
Filters of TPC-H on the RTL of a tile, figures 8.12 and 8.13 of `assasin bench varve` (docs/varve/bench.md 2).

Columns lie in the scratchpad. Results are compared with numpy's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assasin import varve_counters
from assasin.varve_data import SMALL, Window
from assasin.varve_stated import EACH, GEOMEAN, Stated
from assasin.varve_tile import (
    ARGS,
    CONFIG,
    DATA,
    END,
    FILTERS,
    FULL_CONFIG,
    FULL_TILE,
    Measured,
    Row,
    Script,
    Taken,
    Values,
    VarveBenchError,
    answers,
    beyond,
    ended,
    padded,
    room,
    taken,
    there,
)

FORMS = {
    "scalar": ("scalar", "scalar-clang"),
    "zve32x": ("zve32x-m1",),
    "zve32x-best": ("zve32x-m1", "zve32x-m2", "zve32x-m4", "zve32x-m8"),
    "pup": ("pup",),
    "pup-best": ("pup", "pup-m2", "pup-m4", "pup-m8"),
    "full": ("full",),
}
"""Programs of a form, of which a filter takes the one with fewest cycles. A form is compared with those before it."""


def compared(over: str) -> list[str]:
    """Forms that are measured and compared with `over`."""
    forms = list(FORMS)
    return forms[forms.index(over) + 1 :]


ROWS, QUICK_ROWS, REPEATS = 1024, 128, 64
"""Most rows of a call; how often the rows of nation and region stand in a column."""

QUICK_FILTERS = ("q03c", "q06l", "q10l")
GROWING = 25
"""Filters of tables that grow, over which the geometric mean is."""


@dataclass(frozen=True)
class Call:
    """A filter over rows: what it reads, and what it must store."""

    filter: dict[str, Any]
    rows: int
    inputs: list[Values]
    outputs: list[Values]

    @property
    def found(self) -> int:
        """Rows selected."""
        return len(self.outputs[0])


def description() -> dict[str, Any]:
    """filters.json: columns and filters. Raises VarveBenchError."""
    there(FILTERS / "filters.json")
    found: dict[str, Any] = json.loads((FILTERS / "filters.json").read_text(encoding="utf-8"))
    return found


# -- what a filter must find


def _holds(clause: dict[str, Any], window: Window) -> NDArray[np.bool_]:
    """For which rows a clause of filters.json holds."""
    if "any" in clause:
        lists = [reduce(np.logical_and, (_holds(test, window) for test in tests)) for tests in clause["any"]]
        return reduce(np.logical_or, lists)
    column = window.column(clause["column"])
    if "equal" in clause:
        holds = np.isin(column, clause["equal"])
    else:
        low, high = clause["range"]
        holds = (column >= (-math.inf if low is None else low)) & (column <= (math.inf if high is None else high))
    return ~holds if clause["not"] else holds


def _type(column: dict[str, Any]) -> str:
    return {8: "u1", 32: "<u4" if column["unsigned"] else "<i4"}[column["pad"]]


def rows_of(f: dict[str, Any], columns: dict[str, dict[str, Any]], quick: bool) -> int:
    """Rows of a filter's call: as many as fit into the scratchpad with all of them selected, at most ROWS."""
    if f["table"] in SMALL:
        return SMALL[f["table"]] * (REPEATS // 8 if quick else REPEATS)
    most = QUICK_ROWS if quick else ROWS
    names = [*f["inputs"], *f["outputs"]]
    while sum(room(most * columns[name]["pad"] // 8) for name in names) > END - DATA:
        most -= 64
    return most


def selected(f: dict[str, Any], window: Window) -> NDArray[np.bool_]:
    """Which rows of a window a filter selects."""
    return reduce(np.logical_and, (_holds(clause, window) for clause in f["where"]))


def stored(name: str, columns: dict[str, dict[str, Any]], window: Window) -> Values:
    """A column as it is stored, padded."""
    return window.column(name).astype(_type(columns[name]))


def call(f: dict[str, Any], columns: dict[str, dict[str, Any]], window: Window, rows: int) -> Call:
    """A call over the window's first rows."""
    chosen = selected(f, window)[:rows]
    inputs = [stored(name, columns, window)[:rows] for name in f["inputs"]]
    outputs = [stored(name, columns, window)[:rows][chosen] for name in f["outputs"]]
    return Call(f, rows, inputs, outputs)


# -- on the tile


def _script(c: Call) -> Script:
    """Makes the call and reads its results: the rows found, and each output."""
    script, words = Script(), [c.filter["number"], c.rows, 0, 0]
    script.read(ARGS + 8, 4)
    for values in c.inputs:
        words += [script.input(values), 0, 8 * values.itemsize, 0]
    for values in c.outputs:
        words += [script.output(values, c.rows * values.itemsize), 0, 8 * values.itemsize, 0]
    script.arguments(words)
    return script


def _check(c: Call, what: str, answers: Sequence[dict[str, Any]]) -> Taken:
    """What a call takes whose results are right."""
    run, found, *outputs = answers
    ended(run, what)
    rows = int.from_bytes(bytes.fromhex(found["bytes"]), "little")
    if rows != c.found:
        raise VarveBenchError(f"{what} finds {rows} rows, numpy {c.found}: the result is wrong")
    for name, values, answer in zip(c.filter["outputs"], c.outputs, outputs, strict=True):
        stored, wanted = bytes.fromhex(answer["bytes"]), padded(values)
        if stored == wanted:
            continue
        at = next(i for i, (a, b) in enumerate(zip(stored, wanted, strict=True)) if a != b) // values.itemsize
        if at >= c.found:
            raise VarveBenchError(f"{what} writes behind the end of {name}: the result is wrong")
        ours = np.frombuffer(stored, values.dtype, c.found)[at]
        raise VarveBenchError(f"{what}: row {at} of {name} is {ours}, numpy says {values[at]}: the result is wrong")
    return taken(run, what)


def measure(program: str, half: Call, whole: Call, tile: Path | None = None) -> Measured:
    """
    Runs a filter of a program over its first rows, and over all of them. Raises VarveBenchError, also for a wrong result.

    tile: default the one of VarVE-pup, for VarVE-full the other.
    """
    if 2 * half.rows != whole.rows:
        raise ValueError("the first call takes half of the rows")
    name = f"{half.filter['name']} as {program}"
    given = answers(
        FILTERS / f"{program}.elf", name, [_script(half), _script(whole)], tile or (FULL_TILE if program in FORMS["full"] else None)
    )
    few, many = (_check(c, f"{name} over {c.rows} rows", a) for c, a in zip((half, whole), given, strict=True))
    return beyond(program, few, many)


# -- rows


def _row(figure: str, workload: str, form: str, metric: str, ours: float | None, unit: str, why: str | None = None) -> Row:
    stated = (GEOMEAN if workload == "geomean" else EACH).get((figure, form, metric), Stated())
    config = FULL_CONFIG if form == "full" else CONFIG
    if not workload.startswith("q") or stated != Stated():
        return Row(figure, workload, form, metric, ours, stated.value, unit, config, stated.low, stated.high, stated.plotted, why)
    return Row(figure, workload, form, metric, ours, None, unit, config, why=why)


RATIOS = {
    "8.12": (
        ("speedup_over_scalar", "cycles", "scalar"),
        ("speedup_over_zve32x", "cycles", "zve32x"),
        ("speedup_over_zve32x_best", "cycles", "zve32x-best"),
    ),
    "8.13": (
        ("fewer_instructions_than_scalar", "instructions", "scalar"),
        ("fewer_instructions_than_zve32x", "instructions", "zve32x"),
    ),
}
"""Of a figure: metric, what it divides, and the form it is over."""


def _ratio(found: dict[str, Measured], form: str, what: str, over: str) -> float:
    return float(getattr(found[over], what) / getattr(found[form], what))


def _rows_of_filter(name: str, rows: int, selected: int, found: dict[str, Measured]) -> Iterator[Row]:
    for form, m in found.items():
        yield _row("8.12", name, form, "cycles", m.cycles, f"cycles, {m.program}")
        yield _row("8.12", name, form, "rows", rows, "rows, with all columns in the scratchpad")
        yield _row("8.12", name, form, "selected", selected, "rows")
        yield _row("8.12", name, form, "cycles_per_row", m.cycles / rows, "cycles")
        yield _row("8.12", name, form, "overhead_cycles", m.overhead, "cycles")
        yield _row("8.13", name, form, "instructions", m.instructions, f"instructions, {m.program}")
        yield from varve_counters.rows("8.12", name, form, m.counts, m.program, FULL_CONFIG if form == "full" else CONFIG)
    for figure, ratios in RATIOS.items():
        for metric, what, over in ratios:
            for form in compared(over):
                yield _row(figure, name, form, metric, _ratio(found, form, what, over), "1")


def mean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(math.log(v) for v in values) / len(values))


def _geomeans(found: dict[str, dict[str, Measured]]) -> Iterator[Row]:
    """`found`: of the filters whose tables grow."""
    missing = None if len(found) == GROWING else f"{len(found)} of the {GROWING} filters were measured"
    for figure, ratios in RATIOS.items():
        for metric, what, over in ratios:
            for form in compared(over):
                ours = None if missing else mean([_ratio(f, form, what, over) for f in found.values()])
                yield _row(figure, "geomean", form, metric, ours, "1", missing)


def chosen(described: dict[str, Any], filters: Sequence[str] | None, quick: bool) -> list[str]:
    """Names of the filters that are measured. Raises VarveBenchError."""
    known = [f["name"] for f in described["filters"]]
    names = (QUICK_FILTERS if quick else known) if filters is None else filters
    unknown = [name for name in names if name not in known]
    if unknown:
        raise VarveBenchError(f"there is no filter {', '.join(unknown)}; there are {', '.join(known)}")
    return list(dict.fromkeys(names))


def run(filters: Sequence[str] | None, quick: bool, seed: int, tell: Callable[[str], None]) -> list[Row]:
    """Measures the filters named, default all, and their geometric means. Raises VarveBenchError."""
    described = description()
    columns, known = described["columns"], {f["name"]: f for f in described["filters"]}
    rows: list[Row] = []
    growing: dict[str, dict[str, Measured]] = {}
    for name in chosen(described, filters, quick):
        f = known[name]
        n = rows_of(f, columns, quick)
        window = Window(f["table"], n, seed)
        half, whole = call(f, columns, window, n // 2), call(f, columns, window, n)
        of: dict[str, Measured] = {}
        for program in dict.fromkeys(p for programs_ in FORMS.values() for p in programs_):
            tell(f"{name} as {program}, {n} rows")
            of[program] = measure(program, half, whole)
        found = {form: min((of[p] for p in ps), key=lambda m: m.cycles) for form, ps in FORMS.items()}
        rows += _rows_of_filter(name, n, whole.found, found)
        if f["grows"]:
            growing[name] = found
    rows += _geomeans(growing)
    return rows
