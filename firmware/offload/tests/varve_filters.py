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
    "full",
    "published",
)
"""Forms that are machine code of a core."""
STREAM_FORMS = ("pup", "full", "published")
"""Those that read and write values of any width."""

_DATA = contract.CORE_SPAD_BASE + contract.SCOMP_SPAD_DATA + 0x1000
_GUARD = b"\xc3" * 8
_STREAMS = 17


@cache
def _file() -> dict:
    return json.loads((BUILD / "filters.json").read_text(encoding="utf-8"))


def columns() -> dict[str, dict]:
    """Columns by name, as filters.json has them."""
    return _file()["columns"]


@cache
def filters() -> dict[str, dict]:
    """Filters by name, as filters.json has them."""
    return {f["name"]: f for f in _file()["filters"]}


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
def _near(name: str, column: str) -> list[int]:
    """Values of a column at the edges of a filter."""
    c = columns()[column]
    near = [c["min"], c["max"], *(v + d for v in constants(filters()[name], column) for d in (-1, 0, 0, 1))]
    return [v for v in near if c["min"] <= v <= c["max"]]


def random_row(f: dict, rng: random.Random, edges: bool = True) -> dict[str, int]:
    """
    Values of a filter's columns in their ranges.

    edges: every second value is a limit of the range, a constant of the filter, or a neighbour of one.
    """
    row = {}
    for name in f["inputs"]:
        c = columns()[name]
        row[name] = rng.choice(_near(f["name"], name)) if edges and rng.random() < 0.5 else rng.randint(c["min"], c["max"])
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


@dataclass
class Call:
    """A call of a filter: its inputs' bytes, and what it must store."""

    filter: dict
    n: int
    bits: list[int]
    """Width of a value of every stream, inputs and then outputs."""
    inputs: list[bytes]
    found: int
    outputs: list[bytes]
    room: list[int]
    """Bytes of each output when every row is selected."""


def call(f: dict, rows: list[dict[str, int]], packed: bool = False) -> Call:
    """A call over rows; packed: in the columns' fixed widths instead of padded."""
    kept = [row for row in rows if selected(f, row)]
    names = [*f["inputs"], *f["outputs"]]
    bits = [width(name) if packed else columns()[name]["pad"] for name in names]
    of_inputs, of_outputs = bits[: len(f["inputs"])], bits[len(f["inputs"]) :]
    inputs = [pack([row[name] for row in rows], b) for name, b in zip(f["inputs"], of_inputs, strict=True)]
    outputs = [pack([row[name] for row in kept], b) for name, b in zip(f["outputs"], of_outputs, strict=True)]
    return Call(f, len(rows), bits, inputs, len(kept), outputs, [(len(rows) * b + 7) // 8 for b in of_outputs])


@dataclass
class Result:
    """What a call gave and took."""

    found: int
    outputs: list[bytes]
    """All room of each output; 0xa5 where nothing was stored."""
    instructions: int = 0
    strips: int = 0


def expected(c: Call) -> Result:
    """What a call must give."""
    return Result(c.found, [data.ljust(room, b"\xa5") for data, room in zip(c.outputs, c.room, strict=True)])


class _Stream(ctypes.Structure):
    _fields_: ClassVar = [("base", ctypes.c_void_p), ("bits", ctypes.c_size_t)]


class _Args(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_size_t) for name in ("filter", "rows", "found", "zero")),
        ("stream", _Stream * _STREAMS),
    ]


@cache
def library(form: str) -> ctypes.CDLL:
    """A form for the host: scalar or model."""
    return ctypes.CDLL(str(BUILD / "filters" / f"{form}.so"))


def on_host(form: str, c: Call) -> Result:
    """Runs a filter of a shared library."""
    function = getattr(library(form), c.filter["name"])
    function.restype = ctypes.c_size_t
    args = _Args(filter=c.filter["number"], rows=c.n)
    places = []
    for k, data in enumerate([*c.inputs, *(b"\xa5" * room + _GUARD for room in c.room)]):
        holder = ctypes.create_string_buffer(len(data) + 16)
        at = -ctypes.addressof(holder) % 8
        ctypes.memmove(ctypes.addressof(holder) + at, data, len(data))
        args.stream[k] = _Stream(ctypes.addressof(holder) + at, c.bits[k])
        places.append((holder, at))
    found = function(ctypes.byref(args))
    outputs = []
    for (holder, at), room in zip(places[len(c.inputs) :], c.room, strict=True):
        assert holder.raw[at + room :][: len(_GUARD)] == _GUARD, f"{c.filter['name']} writes behind an output"
        outputs.append(holder.raw[at : at + room])
    return Result(found, outputs)


def on_core(form: str, c: Call, vlen: int = 256, g: int = 8) -> Result:
    """Runs a filter's machine code on the simulator of a core; vlen and g in bits."""
    name, at, memory, streams, places = c.filter["name"], _DATA, {}, [], []
    for k, data in enumerate([*c.inputs, *(b"\xa5" * room + _GUARD for room in c.room)]):
        if k >= len(c.inputs):
            places.append((at, c.room[k - len(c.inputs)]))
        memory[at] = data
        streams += [at, c.bits[k]]
        at += (len(data) + 15) // 8 * 8
    end = contract.CORE_SPAD_BASE + contract.CORE_SPAD_SIZE - 0x1000
    assert at <= end, f"{name} with {c.n} rows needs {at - end} bytes more than the scratchpad has beside the stack"
    args = struct.pack(f"<{4 + 2 * _STREAMS}I", c.filter["number"], c.n, 0, 0, *streams, *[0] * (2 * _STREAMS - len(streams)))
    path, vector = BUILD / "filters" / f"{form}.elf", 0 if form.startswith("scalar") else vlen
    core = Core(path, [], args=args, outputs=0, memory=memory, vlen=vector, g=g)
    own = [address + size for address, _, size in segments(path.read_bytes()) if address >= contract.CORE_SPAD_BASE]
    assert max(own, default=0) <= _DATA, f"{form}.elf has more data than the cases leave room for"
    code = core.run()
    assert code == 0, f"{form}: {name} ends with {code}"

    def read(address: int, size: int) -> bytes:
        return core.spad[address - contract.CORE_SPAD_BASE :][:size]

    for address, size in places:
        assert read(address + size, len(_GUARD)) == _GUARD, f"{form}: {name} writes behind an output"
    found = int.from_bytes(read(contract.CORE_SPAD_BASE + contract.SCOMP_SPAD_ARGS + 8, 4), "little")
    return Result(found, [read(a, s) for a, s in places], core.instructions, core.strips)


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
