# SPDX-License-Identifier: BSD-3-Clause
"""
Figure 8.15 of `assasin bench varve`: bytes that streams move with padded and with VarWidth input (docs/varve/bench.md 4.5).

The programs pup-traffic and full-traffic run on the RTL of a tile and tell where each stream has come to; data and width bytes of
inputs and what outputs store are counted by that. Outputs are padded in both.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assasin import varve_filters, varve_workloads
from assasin.varve_data import VarWidth, Window, varwidth
from assasin.varve_stated import TRAFFIC as STATED
from assasin.varve_tile import (
    ARGS,
    CONFIG,
    FILTERS,
    FULL_CONFIG,
    FULL_TILE,
    TILE,
    WORKLOADS,
    Row,
    Script,
    Values,
    VarveBenchError,
    answers,
    ended,
    padded,
)

FIGURE = "8.15"
FORMS = {"pup": (TILE, CONFIG), "full": (FULL_TILE, FULL_CONFIG)}
"""Tile of a form, and what rows call it; the program is FORM-traffic."""

ROWS, QUICK_ROWS = 256, 64
"""Of a call. The widths take a byte a value besides, and the share of a byte by which a stream ends early is small."""

_POSITIONS, _OUTPUT = ARGS + 0x400, 16
"""Where positions.h puts addresses that streams have come to, of an output from this number on."""

_FLAG = 1
"""VARVE_FILTER_VARWIDTH."""


@dataclass(frozen=True)
class Column:
    """An input in both forms."""

    values: Values
    unsigned: bool

    def encoded(self) -> VarWidth:
        """With widths of their own."""
        return varwidth(self.values.astype(np.int64), self.unsigned)

    @property
    def pays(self) -> bool:
        """Whether the padding is wider than the mean width and the byte that says it."""
        return bool(8 * self.values.itemsize > self.encoded().widths.mean() + 8)


@dataclass(frozen=True)
class Call:
    """A program's call whose traffic is counted."""

    program: str
    rows: int
    columns: list[Column]
    outputs: list[Values]
    arguments: Callable[[list[tuple[int, int, int]], list[int]], list[int]]
    """Words, from address, address of the widths or 0, and bits a value of the inputs, and from the addresses of the outputs."""


@dataclass(frozen=True)
class Traffic:
    """Bytes that a call moves."""

    read: int
    stored: int


def count(what: str, c: Call, varwidth_columns: Sequence[bool], form: str = "pup") -> Traffic:
    """
    Runs a call in a form of FORMS, with so many of its inputs as VarWidth streams. Raises VarveBenchError, also for a wrong result,
    and where the tile's bytes are not those of the streams as numpy has them.
    """
    script, places, wanted = Script(), [], []
    for column, own in zip(c.columns, varwidth_columns, strict=True):
        bits = 8 * column.values.itemsize
        if own:
            coded = column.encoded()
            places.append((script.input(coded.data), script.input(coded.widths), bits))
            wanted.append(coded.data.nbytes + coded.widths.nbytes)
        else:
            places.append((script.input(column.values), 0, bits))
            wanted.append(column.values.nbytes)
    outs = [script.output(values, c.rows * values.itemsize) for values in c.outputs]
    script.arguments(c.arguments(places, outs))
    script.read(_POSITIONS, 8 * (_OUTPUT + len(outs)))
    elf = (FILTERS if c.program == "filters" else WORKLOADS) / f"{form}-traffic.elf"
    ((run, *outputs, positions),) = answers(elf, what, [script], FORMS[form][0])
    ended(run, what)
    for values, output in zip(c.outputs, outputs, strict=True):
        if bytes.fromhex(output["bytes"]) != padded(values):
            raise VarveBenchError(f"{what}: the result is wrong")
    at = list(struct.iter_unpack("<2I", bytes.fromhex(positions["bytes"])))
    read = [at[k][0] - data + (at[k][1] - widths if widths else 0) for k, (data, widths, _) in enumerate(places)]
    stored = [at[_OUTPUT + k][0] - address for k, address in enumerate(outs)]
    if read != wanted or stored != [values.nbytes for values in c.outputs]:
        raise VarveBenchError(
            f"{what}: the streams moved {read} and {stored} bytes, not {wanted} and {[v.nbytes for v in c.outputs]}"
        )
    return Traffic(sum(read), sum(stored))


def _filter_call(f: dict[str, Any], columns: dict[str, dict[str, Any]], rows: int, seed: int) -> Call:
    # From the middle of the table, because the first keys are narrow.
    made = varve_filters.call(f, columns, Window(f["table"], rows, seed, 1, 2), rows)

    def arguments(places: list[tuple[int, int, int]], outs: list[int]) -> list[int]:
        words = [f["number"], rows, 0, 0]
        for address, widths, bits in places:
            words += [address, widths, bits, _FLAG if widths else 0]
        for address, values in zip(outs, made.outputs, strict=True):
            words += [address, 0, 8 * values.itemsize, 0]
        return words

    inputs = [Column(values, columns[name]["unsigned"]) for name, values in zip(f["inputs"], made.inputs, strict=True)]
    return Call("filters", rows, inputs, made.outputs, arguments)


def _workload_call(w: varve_workloads.Workload, rows: int, seed: int) -> Call:
    inputs, output = w.data(rows, seed)

    def arguments(places: list[tuple[int, int, int]], outs: list[int]) -> list[int]:
        spare, widths = [0] * (5 - len(places)), [widths for _, widths, _ in places]
        return [w.kernel, rows, 0, *(p[0] for p in places), *spare, outs[0], *widths]

    return Call("workloads", rows, [Column(v, True) for v in inputs], [output], arguments)


def _rows(name: str, c: Call) -> Iterator[Row]:
    """Rows of a call in each form: padded, all inputs VarWidth, and those for which it pays."""

    def row(workload: str, form: str, metric: str, ours: float, unit: str) -> Row:
        stated = STATED if metric == "memory_traffic_reduction" else None
        low, high = (stated.low, stated.high) if stated else (None, None)
        return Row(FIGURE, workload, form, metric, ours, None, unit, FORMS[form][1], low, high, stated is not None)

    for form in FORMS:
        none = count(f"{name} ({form}) with padded input", c, [False] * len(c.columns), form)
        yield row(name, form, "bytes", none.read + none.stored, f"bytes, {c.rows} rows")
        for variant, chosen in (("varwidth", [True] * len(c.columns)), ("mixed", [column.pays for column in c.columns])):
            workload = f"{name}/{variant}"
            some = count(f"{name} ({form}) with {variant} input", c, chosen, form)
            yield row(workload, form, "bytes", some.read + some.stored, f"bytes, {c.rows} rows")
            yield row(workload, form, "input_traffic_reduction", none.read / some.read, "1")
            reduction = (none.read + none.stored) / (some.read + some.stored)
            yield row(workload, form, "memory_traffic_reduction", reduction, "1")


def run(filters: Sequence[str] | None, quick: bool, seed: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """Counts the traffic of the filters named, default of all and of the other workloads. Raises VarveBenchError."""
    described = varve_filters.description()
    names = varve_filters.chosen(described, filters, quick)
    rows = QUICK_ROWS if quick else ROWS
    for f in (f for f in described["filters"] if f["name"] in names):
        tell(f"{f['name']}, bytes of its streams")
        yield from _rows(f["name"], _filter_call(f, described["columns"], rows, seed))
    for w in varve_workloads.ALL if filters is None else ():
        if "/" not in w.name:
            tell(f"{w.name}, bytes of its streams")
            yield from _rows(w.name, _workload_call(w, rows, seed))
