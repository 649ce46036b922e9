#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
The generated TPC-H filters (varve/tpch.toml) in every form: on the host, on the model, and as machine code of a core.

As a program: prints for each filter and form a JSON line with the instructions a row, from runs of two lengths over rows of which
the filter's usual share is selected, then the geometric means over the filters of growing tables.
Usage: varve_filters.py [--vlen 256] [--align 8] [--filters q03c,q06l]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import random
import struct
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

import assasin_contract as contract
from iss import Core, segments

BUILD = Path(__file__).resolve().parents[3] / "build" / "offload" / "varve"
CORE_FORMS = (
    "scalar",
    "scalar-clang",
    "zve32x-m1",
    "zve32x-m1-narrow",
    "zve32x-m2",
    "zve32x-m4",
    "zve32x-m8",
    "pup",
    "pup-m2",
    "pup-m4",
    "pup-m8",
    "full",
    "published",
)
"""Forms that are machine code of a core."""
STREAM_FORMS = ("pup", "pup-m2", "pup-m4", "pup-m8", "full", "published")
"""Those that read and write values of any width."""

_DATA = contract.CORE_SPAD_BASE + contract.SCOMP_SPAD_DATA + 0x1000
_GUARD = b"\xc3" * 8
_STREAMS = 17


SETS = ("filters", "shapes")
"""Directories of build/offload/varve: filters of TPC-H, and those of the tests with every kind of clause."""


@cache
def _file(of: str) -> dict:
    return json.loads((BUILD / of / "filters.json").read_text(encoding="utf-8"))


@cache
def columns() -> dict[str, dict]:
    """Columns by name, as filters.json has them; of both sets."""
    return {name: column for of in SETS for name, column in _file(of)["columns"].items()}


@cache
def filters(of: str = "filters") -> dict[str, dict]:
    """Filters of a set by name, as filters.json has them, with the set's name as `of`."""
    return {f["name"]: f | {"of": of} for f in _file(of)["filters"]}


def holds(clause: dict, row: dict[str, int]) -> bool:
    """Whether a clause of filters.json holds for a row."""
    if "any" in clause:
        return any(all(holds(test, row) for test in alternative) for alternative in clause["any"])
    value = row[clause["column"]]
    if "equal" in clause:
        return (value in clause["equal"]) != clause["not"]
    low, high = clause["range"]
    return ((low is None or low <= value) and (high is None or value <= high)) != clause["not"]


def selected(f: dict, row: dict[str, int]) -> bool:
    """Whether a filter selects a row."""
    return all(holds(clause, row) for clause in f["where"])


def constants(f: dict, column: str) -> list[int]:
    """The numbers with which a filter compares a column."""

    def of(clause: dict) -> list[int]:
        if "any" in clause:
            return [v for alternative in clause["any"] for test in alternative for v in of(test)]
        return [v for v in clause.get("equal", clause.get("range")) if v is not None] if clause["column"] == column else []

    return [v for clause in f["where"] for v in of(clause)]


@cache
def _near(of: str, name: str, column: str) -> list[int]:
    """Values of a column at the edges of a filter."""
    c = columns()[column]
    near = [c["min"], c["max"], *(v + d for v in constants(filters(of)[name], column) for d in (-1, 0, 0, 1))]
    return [v for v in near if c["min"] <= v <= c["max"]]


def random_row(f: dict, rng: random.Random, edges: bool = True) -> dict[str, int]:
    """
    Values of a filter's columns in their ranges.

    edges: every second value is a limit of the range, a constant of the filter, or a neighbour of one.
    """
    row = {}
    for name in f["inputs"]:
        c = columns()[name]
        row[name] = rng.choice(_near(f["of"], f["name"], name)) if edges and rng.random() < 0.5 else rng.randint(c["min"], c["max"])
    return row


def rows_of(f: dict, n: int, kind: str, rng: random.Random) -> list[dict[str, int]]:
    """n rows of which a filter selects: kind some, all or none of them; usual: of the column ranges without edges."""
    if kind in ("some", "usual"):
        return [random_row(f, rng, kind == "some") for _ in range(n)]
    out = []
    for _ in range(100_000):
        if len(out) == n:
            return out
        row = random_row(f, rng)
        if selected(f, row) == (kind == "all"):
            out.append(row)
    raise AssertionError(f"{f['name']}: found {len(out)} of {n} rows")


def width(column: str) -> int:
    """Bits of a column without padding."""
    c = columns()[column]
    if c["unsigned"]:
        return max(c["max"].bit_length(), 1)
    return max(c["max"].bit_length(), (~c["min"]).bit_length()) + 1


def pack(values: list[int], bits: int) -> bytes:
    """Values of `bits` bits without gaps, bit 0 first."""
    stream = 0
    for i, v in enumerate(values):
        stream |= (v & (1 << bits) - 1) << i * bits
    return stream.to_bytes((len(values) * bits + 7) // 8, "little")


LAYOUTS = ("padded", "packed", "varwidth")
"""How a column's values lie: in the stored type, in the fewest bits of any value of the column, or each in its own fewest bits."""
_VARWIDTH, _BUFFER = 1, 0x400
"""VARVE_FILTER_ of varve_filter.h."""


@dataclass
class Data:
    """Values of a column in a layout."""

    values: bytes
    widths: bytes = b""
    """VarWidth: bits of each value."""


def lay(values: list[int], column: str, layout: str) -> Data:
    """Values of a column as bytes."""
    if layout != "varwidth":
        return Data(pack(values, width(column) if layout == "packed" else columns()[column]["pad"]))
    unsigned, stream, at, widths = columns()[column]["unsigned"], 0, 0, []
    for v in values:
        bits = v.bit_length() if unsigned else 0 if v == 0 else (v if v >= 0 else ~v).bit_length() + 1
        stream |= (v & (1 << bits) - 1) << at
        at += bits
        widths.append(bits)
    return Data(stream.to_bytes((at + 7) // 8, "little"), bytes(widths))


@dataclass
class Call:
    """A call of a filter: its inputs' bytes, and what it must store."""

    filter: dict
    n: int
    layout: str
    bits: list[int]
    """Width of a value of every stream, inputs and then outputs."""
    inputs: list[Data]
    found: int
    outputs: list[Data]
    room: list[int]
    """Bytes of each output when every row is selected and has all its bits."""


def call(f: dict, rows: list[dict[str, int]], layout: str = "padded") -> Call:
    """A call over rows."""
    kept = [row for row in rows if selected(f, row)]
    names = [*f["inputs"], *f["outputs"]]
    bits = [width(name) if layout == "packed" else columns()[name]["pad"] for name in names]
    inputs = [lay([row[name] for row in rows], name, layout) for name in f["inputs"]]
    outputs = [lay([row[name] for row in kept], name, layout) for name in f["outputs"]]
    room = [(len(rows) * b + 7) // 8 for b in bits[len(f["inputs"]) :]]
    return Call(f, len(rows), layout, bits, inputs, len(kept), outputs, room)


@dataclass
class Result:
    """What a call gave and took."""

    found: int
    outputs: list[Data]
    """All room of each output; 0xa5 where nothing was stored."""
    instructions: int = 0
    strips: int = 0


def expected(c: Call) -> Result:
    """What a call must give."""
    widths_room = c.n if c.layout == "varwidth" else 0
    filled = [
        Data(data.values.ljust(room, b"\xa5"), data.widths.ljust(widths_room, b"\xa5"))
        for data, room in zip(c.outputs, c.room, strict=True)
    ]
    return Result(c.found, filled)


def _areas(c: Call) -> list[bytes]:
    """What lies in memory before a call: for every stream its values and its widths; outputs with a guard behind each."""
    areas = [part for data in c.inputs for part in (data.values, data.widths)]
    for room in c.room:
        areas += [b"\xa5" * room + _GUARD, b"\xa5" * (c.n if c.layout == "varwidth" else 0) + _GUARD]
    return areas


def _stored(c: Call, areas: list[bytes], what: str) -> list[Data]:
    """The outputs among the areas behind a call."""
    outputs = []
    for k in range(2 * len(c.inputs), len(areas), 2):
        assert all(area.endswith(_GUARD) for area in areas[k : k + 2]), f"{what} writes behind an output"
        outputs.append(Data(*(area[: -len(_GUARD)] for area in areas[k : k + 2])))
    return outputs


def _flags(c: Call) -> int:
    return _VARWIDTH if c.layout == "varwidth" else 0


class _Stream(ctypes.Structure):
    _fields_: ClassVar = [
        ("base", ctypes.c_void_p),
        ("widths", ctypes.c_void_p),
        ("bits", ctypes.c_size_t),
        ("flags", ctypes.c_size_t),
    ]


class _Args(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_size_t) for name in ("filter", "rows", "found", "zero")),
        ("stream", _Stream * _STREAMS),
    ]


@cache
def library(form: str, of: str = "filters") -> ctypes.CDLL:
    """A form for the host: scalar or model."""
    return ctypes.CDLL(str(BUILD / of / f"{form}.so"))


def on_host(form: str, c: Call) -> Result:
    """Runs a filter of a shared library."""
    function = getattr(library(form, c.filter["of"]), c.filter["name"])
    function.restype = ctypes.c_size_t
    args = _Args(filter=c.filter["number"], rows=c.n)
    areas, places = _areas(c), []
    for data in areas:
        holder = ctypes.create_string_buffer(len(data) + 16)
        at = -ctypes.addressof(holder) % 8
        ctypes.memmove(ctypes.addressof(holder) + at, data, len(data))
        places.append((holder, at))
    addresses = [ctypes.addressof(holder) + at for holder, at in places]
    for k, bits in enumerate(c.bits):
        args.stream[k] = _Stream(addresses[2 * k], addresses[2 * k + 1], bits, _flags(c))
    found = function(ctypes.byref(args))
    after = [holder.raw[at : at + len(data)] for (holder, at), data in zip(places, areas, strict=True)]
    return Result(found, _stored(c, after, c.filter["name"]))


def _arguments(c: Call, streams: list[tuple[int, int, int, int]]) -> bytes:
    """struct varve_filter_args on a core."""
    words = [word for stream in streams for word in stream]
    return struct.pack(f"<{4 + len(words)}I", c.filter["number"], c.n, 0, 0, *words)


def _run(form: str, core: Core, c: Call) -> int:
    """Runs a core with a call; returns the rows found."""
    own = [address + size for address, _, size in segments(core.path.read_bytes()) if address >= contract.CORE_SPAD_BASE]
    assert max(own, default=0) <= _DATA, f"{form}.elf has more data than the cases leave room for"
    code = core.run()
    assert code == 0, f"{form}: {c.filter['name']} ends with {code}"
    return int.from_bytes(core.spad[contract.SCOMP_SPAD_ARGS + 8 :][:4], "little")


def on_core(form: str, c: Call, vlen: int = 256, g: int = 8) -> Result:
    """Runs a filter's machine code on the simulator of a core, with all columns in its scratchpad; vlen and g in bits."""
    areas, addresses, at = _areas(c), [], _DATA
    for data in areas:
        addresses.append(at)
        at += (len(data) + 15) // 8 * 8
    end = contract.CORE_SPAD_BASE + contract.CORE_SPAD_SIZE - 0x1000
    assert at <= end, f"{c.filter['name']} with {c.n} rows needs {at - end} bytes more than the scratchpad has beside the stack"
    args = _arguments(c, [(addresses[2 * k], addresses[2 * k + 1], bits, _flags(c)) for k, bits in enumerate(c.bits)])
    memory = dict(zip(addresses, areas, strict=True))
    vector = 0 if form.startswith("scalar") else vlen
    core = Core(BUILD / c.filter["of"] / f"{form}.elf", [], args=args, outputs=0, memory=memory, vlen=vector, g=g)
    found = _run(form, core, c)
    after = [core.spad[a - contract.CORE_SPAD_BASE :][: len(data)] for a, data in zip(addresses, areas, strict=True)]
    return Result(found, _stored(c, after, f"{form}: {c.filter['name']}"), core.instructions, core.strips)


def from_buffers(form: str, c: Call, seed: int = 0) -> Result:
    """Runs a filter's machine code with every column in a stream buffer; the widths of a VarWidth one in a further buffer."""
    inputs, outputs = len(c.inputs), len(c.room)
    streams = [(0, inputs + k, c.bits[k], _flags(c) | _BUFFER) for k in range(inputs)]
    streams += [(0, outputs + k, c.bits[inputs + k], _flags(c) | _BUFFER) for k in range(outputs)]
    var = c.layout == "varwidth"
    data = [d.values for d in c.inputs] + ([d.widths for d in c.inputs] if var else [])
    path = BUILD / c.filter["of"] / f"{form}.elf"
    core = Core(path, data, args=_arguments(c, streams), outputs=outputs * (2 if var else 1), vlen=256, seed=seed)
    found = _run(form, core, c)
    stored = [Data(core.out[k], core.out[outputs + k] if var else b"") for k in range(outputs)]
    return Result(found, stored, core.instructions, core.strips)


def counts(f: dict, form: str, vlen: int = 256, g: int = 8, seed: int = 1) -> dict[str, object]:
    """Instructions a row between runs of 256 and of 768 rows."""
    rows = rows_of(f, 768, "usual", random.Random(f"{seed} {f['name']}"))
    few, many = (on_core(form, call(f, rows[:n]), vlen, g) for n in (256, 768))
    instructions, strips = many.instructions - few.instructions, many.strips - few.strips
    row: dict[str, object] = {"filter": f["name"], "form": form, "vlen": vlen, "align": g, "rows": 512}
    row |= {"selected": round((many.found - few.found) / 512, 4), "instructions_per_row": round(instructions / 512, 4)}
    if strips:
        row |= {"rows_per_strip": round(512 / strips, 2), "instructions_per_strip": round(instructions / strips, 2)}
    return row


def main() -> int:
    """Prints the rows and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vlen", type=int, default=256, help="bits of a vector register")
    parser.add_argument("--align", type=int, default=8, help="alignment, bits")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--filters", default="", help="names, separated by commas; default: all")
    options = parser.parse_args()
    wanted = options.filters.split(",") if options.filters else list(filters())
    unknown = [name for name in wanted if name not in filters()]
    if unknown:
        parser.error(f"there is no filter {', '.join(unknown)}; there are {', '.join(filters())}")
    logs: dict[str, list[float]] = {form: [] for form in CORE_FORMS}
    for name in wanted:
        for form in CORE_FORMS:
            row = counts(filters()[name], form, options.vlen, options.align, options.seed)
            print(json.dumps(row), flush=True)
            if filters()[name]["grows"]:
                logs[form].append(math.log(row["instructions_per_row"]))
    for form, values in logs.items():
        if values:
            mean = math.exp(sum(values) / len(values))
            print(json.dumps({"filter": "geomean", "form": form, "filters": len(values), "instructions_per_row": round(mean, 4)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
