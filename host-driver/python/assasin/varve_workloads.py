# SPDX-License-Identifier: BSD-3-Clause
"""
Figure 8.10 of `assasin bench varve`: bitpacking and RAID5 on the RTL of a tile (docs/varve/bench.md 4.1, 4.2).

firmware/offload/varve/workloads.c has the kernels. Every result is compared with numpy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from assasin import varve_counters
from assasin.varve_data import Window
from assasin.varve_stated import WORKLOADS as STATED
from assasin.varve_stated import Stated
from assasin.varve_tile import (
    ARGS,
    CONFIG,
    FULL_CONFIG,
    FULL_TILE,
    WORKLOADS,
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
    taken,
)

FIGURE = "8.10"

SCALAR = ("scalar", "scalar-clang")
ZVE32X = tuple(f"zve32x-m{m}" for m in (1, 2, 4, 8))
FULL = ("full",)


def _pup(*lanes: int) -> tuple[str, ...]:
    return tuple(f"pup-e{lane}-m{m}" for lane in lanes for m in (1, 2, 4, 8))


@dataclass(frozen=True)
class Workload:
    """Kernels of workloads.c that do the same, and programs of a form, of which it takes the one with fewest cycles."""

    name: str
    kernel: int
    unit: str
    """What a row is."""
    rows: int
    """A multiple of 64."""
    strip: int
    """Rows of the largest vector of any form."""
    forms: dict[str, tuple[str, ...]]
    data: Callable[[int, int], tuple[list[Values], Values]]
    """Inputs and output of so many rows, from a seed."""
    scalar: int | None = None
    """The kernel of the scalar form, where it is another one."""


def packed(values: Values, bits: int) -> Values:
    """Values of so many bits without gaps, bit 0 first."""
    each = values[:, None].astype(np.uint32) >> np.arange(bits, dtype=np.uint32) & 1
    return np.packbits(each.astype(np.uint8).ravel(), bitorder="little")


def _brands(rows: int, seed: int) -> tuple[list[Values], Values]:
    values = Window("part", rows, seed).column("p_brand").astype("u1")
    return [values], packed(values, 5)


def _dates(kind: str) -> Callable[[int, int], tuple[list[Values], Values]]:
    def data(rows: int, seed: int) -> tuple[list[Values], Values]:
        values = Window("orders", rows, seed).column("o_orderdate").astype(kind)
        return [values], packed(values, 15)

    return data


def _lines(rows: int, seed: int) -> list[Values]:
    return [Window("lineitem", rows, seed, w, 4).column("l_linenumber").astype("<u4") for w in range(4)]


def _encode(rows: int, seed: int) -> tuple[list[Values], Values]:
    data = _lines(rows, seed)
    return list(data), reduce(np.bitwise_xor, data)


def _decode(rows: int, seed: int) -> tuple[list[Values], Values]:
    """The first data stream from the others and the parity."""
    lost, *rest = _lines(rows, seed)
    return [*rest, reduce(np.bitwise_xor, [lost, *rest])], lost


# The dissertation's vector code falls back to scalar code for bitpacking, so form zve32x is scalar code too.
def _forms(pup_best: tuple[str, ...], **others: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {"scalar": SCALAR, **others, "pup": ("pup-e32-m1",), "pup-best": pup_best, "full": FULL}


_PACKING = {"zve32x": SCALAR, "zve32x-best": ZVE32X}
_RAID = _forms(_pup(32), **{"zve32x": ZVE32X[:1], "zve32x-best": ZVE32X})
_BRANDS = Workload("bitpack5", 0, "values of 8 bits", 8192, 2048, _forms(_pup(8, 32), **_PACKING), _brands)
_DATES = Workload("bitpack15", 1, "values of 32 bits", 4096, 64, _forms(_pup(32), **_PACKING), _dates("<u4"))
_NARROW = _forms(_pup(16, 32))
ALL = (
    _BRANDS,
    replace(_BRANDS, name="bitpack5/unrolled", scalar=3),
    _DATES,
    replace(_DATES, name="bitpack15/unrolled", scalar=4),
    Workload("bitpack15/of16", 5, "values of 16 bits", 4096, 128, _NARROW, _dates("<u2")),
    Workload("raid5-encode", 2, "words of each stream", 2048, 64, _RAID, _encode),
    Workload("raid5-decode", 2, "words of each stream", 2048, 64, _RAID, _decode),
)
"""unrolled: the scalar form's block of 32 values has constant shifts. of16: from a column of 16 bits."""

QUICK_ROWS = 256
"""At least; half of the rows are no less than the largest vector of any form."""

GOALS = {"bitpack5": 78, "bitpack15": 38}
"""speedup_over_scalar that the fastest form with packed streams is to have."""


@dataclass(frozen=True)
class Call:
    """A call of a kernel: what it reads, and what it must store."""

    kernel: int
    rows: int
    inputs: list[Values]
    output: Values


def _script(c: Call) -> Script:
    script = Script()
    script.read(ARGS + 8, 4)
    places = [script.input(values) for values in c.inputs]
    out = script.output(c.output, c.output.nbytes)
    script.arguments([c.kernel, c.rows, 0, *places, *[0] * (5 - len(places)), out])
    return script


def _check(c: Call, what: str, given: list[dict[str, Any]]) -> Taken:
    """What a call takes whose result is right."""
    run, count, output = given
    ended(run, what)
    stored, wanted = bytes.fromhex(output["bytes"]), padded(c.output)
    if stored != wanted:
        at = next(i for i, (a, b) in enumerate(zip(stored, wanted, strict=True)) if a != b)
        raise VarveBenchError(f"{what}: byte {at} is {stored[at]:#04x}, not {wanted[at]:#04x}: the result is wrong")
    rows = int.from_bytes(bytes.fromhex(count["bytes"]), "little")
    if rows != c.rows:
        raise VarveBenchError(f"{what} says that it stored {rows}: the result is wrong")
    return taken(run, what)


def rows_measured(w: Workload, quick: bool) -> int:
    """Rows of a workload's call."""
    return max(QUICK_ROWS, 2 * w.strip) if quick else w.rows


def measure(w: Workload, program: str, rows: int, seed: int, kernel: int | None = None, tile: Path | None = None) -> Measured:
    """
    Runs a kernel of a program over half of the rows, and over all of them. Raises VarveBenchError, also for a wrong result.

    tile: default the one of VarVE-pup, for VarVE-full the other.
    """
    calls = [Call(w.kernel if kernel is None else kernel, n, *w.data(n, seed)) for n in (rows // 2, rows)]
    tile = tile or (FULL_TILE if program in FULL else None)
    given = answers(WORKLOADS / f"{program}.elf", f"{w.name} as {program}", [_script(c) for c in calls], tile)
    few, many = (_check(c, f"{w.name} as {program}, {c.rows} rows", a) for c, a in zip(calls, given, strict=True))
    return beyond(program, few, many)


RATIOS = (
    ("speedup_over_scalar", "cycles", "scalar"),
    ("speedup_over_zve32x", "cycles", "zve32x"),
    ("speedup_over_zve32x_best", "cycles", "zve32x-best"),
    ("fewer_instructions_than_scalar", "instructions", "scalar"),
)
"""Metric, what it divides, and the form it is over."""


def rows_of(w: Workload, rows: int, found: dict[str, Measured]) -> Iterator[Row]:
    """Rows of the result."""

    def row(form: str, metric: str, ours: float, unit: str) -> Row:
        config = FULL_CONFIG if form == "full" else CONFIG
        return Row(FIGURE, w.name, form, metric, ours, STATED.get((w.name, form, metric), Stated()).value, unit, config)

    for form, m in found.items():
        yield row(form, "cycles", m.cycles, f"cycles, {m.program}")
        yield row(form, "instructions", m.instructions, f"instructions, {m.program}")
        yield row(form, "rows", rows, w.unit)
        yield row(form, "cycles_per_row", m.cycles / rows, "cycles")
        yield row(form, "overhead_cycles", m.overhead, "cycles")
        yield from varve_counters.rows(FIGURE, w.name, form, m.counts, m.program, FULL_CONFIG if form == "full" else CONFIG)
    forms = list(found)
    for metric, what, over in RATIOS:
        if over in found:
            for form in forms[forms.index(over) + 1 :]:
                yield row(form, metric, getattr(found[over], what) / getattr(found[form], what), "1")


def run(quick: bool, seed: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """Measures all workloads. Raises VarveBenchError."""
    done: dict[tuple[str, str, int], Measured] = {}
    for w in ALL:
        rows = rows_measured(w, quick)
        found = {}
        for form, programs in w.forms.items():
            of = []
            for program in programs:
                kernel = w.scalar if w.scalar is not None and program in SCALAR and form == "scalar" else w.kernel
                key = (w.name.split("/unrolled")[0], program, kernel)
                if key not in done:
                    tell(f"{w.name} as {program}, {rows} rows")
                    done[key] = measure(w, program, rows, seed, kernel)
                of.append(done[key])
            found[form] = min(of, key=lambda m: m.cycles)
        yield from rows_of(w, rows, found)
