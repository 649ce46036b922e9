# SPDX-License-Identifier: BSD-3-Clause
"""Functions of VarVE-full on the RTL of a tile: tests/varve/functions.c of the offloads against docs/varve/isa.md 4.2 in Python."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass, replace

import numpy as np
import pytest
from assasin.tree import BUILD, ROOT
from assasin.varve_tile import ARGS, FULL_TILE, Script, VarveBenchError, answers, ended, padded

SEED = int(os.environ.get("SEED", "1"))
ELF = BUILD / "offload" / "varve" / "functions.elf"
OPERATIONS = {0: "mul", 10: "div", 20: "asl", 30: "asr", 40: "add"}
STEPS = {60: 1, 61: -1, 62: 15, 63: -16, 64: 0}
LANES = {70: (8, False), 71: (16, False), 72: (32, False), 73: (8, True), 74: (16, True), 75: (32, True)}
SUMS = (80, 81, 82, 83, 84, 85, 86, 87, 88)
FUNCTIONS = [*(o + k for o in OPERATIONS for k in range(5)), 50, *STEPS, *LANES, *SUMS]
LOW_HALF = (81, 82, 85)
"""Sums of which the program adds up 32 bits a strip."""


@dataclass(frozen=True)
class Format:
    """A stream's, as VSFMT has it."""

    width: int
    unsigned: bool
    mb: int

    def word(self) -> int:
        return self.width | self.unsigned << 7 | (self.mb.bit_length() - 4) << 8


@dataclass(frozen=True)
class Value:
    """An element."""

    v: int
    unsigned: bool
    mb: int


def wrap(v: int, bits: int, unsigned: bool) -> int:
    v %= 1 << bits
    return v - (1 << bits) if not unsigned and v >> (bits - 1) else v


def computed(name: str, a: Value, b: Value) -> Value:
    """A pair's result."""
    unsigned, mb = a.unsigned and b.unsigned and name != "sub", max(a.mb, b.mb)
    if name in ("asl", "asr"):
        unsigned, mb = a.unsigned, a.mb
    if name == "div":
        v = 0 if b.v == 0 else abs(a.v) // abs(b.v) * (-1 if (a.v < 0) != (b.v < 0) else 1)
    else:
        v = {
            "mul": lambda: a.v * b.v,
            "asl": lambda: a.v << b.v % mb,
            "asr": lambda: a.v >> b.v % mb,
            "add": lambda: a.v + b.v,
            "sub": lambda: a.v - b.v,
        }[name]()
    return Value(wrap(v, mb, unsigned), unsigned, mb)


@dataclass(frozen=True)
class Call:
    """A call of compute: numbers of both inputs, and their formats."""

    function: int
    x: int
    formats: tuple[Format, Format, Format]
    a: list[int]
    b: list[int]

    def values(self, which: int) -> list[Value]:
        f = self.formats[which]
        return [Value(v, f.unsigned, f.mb) for v in (self.a, self.b)[which]]


def packed(values: list[int], width: int) -> np.ndarray:
    bits = sum((v % (1 << width)) << width * i for i, v in enumerate(values))
    return np.frombuffer(bits.to_bytes((len(values) * width + 7) // 8, "little"), "u1")


def expected(c: Call) -> tuple[list[int] | None, int | None]:
    """What must be written, and the sum modulo 2^64. None: depends on the strips."""
    p, q, f = c.values(0), c.values(1), c.function
    if f < 50:
        name, form = OPERATIONS[f // 10 * 10], f % 10
        second = [replace(r, v=13, unsigned=True) if form == 1 else r for r in p]
        second = q if form in (0, 3) else [replace(r, v=13 if form == 1 else c.x, unsigned=form == 1 or c.x >= 0) for r in p]
        on = [form < 3 or r.v > 0 for r in q]
        return [computed(name, a, b).v if o else 0 for a, b, o in zip(p, second, on, strict=True)], None
    if f == 50:

        def chain(a: Value, b: Value) -> int:
            shifted = computed("asr", a, b)
            shifted = computed("asl", shifted, replace(shifted, v=3, unsigned=True))
            return computed("sub", computed("add", computed("mul", a, b), computed("div", a, b)), shifted).v

        return [chain(a, b) for a, b in zip(p, q, strict=True)], None
    if f in STEPS:
        return [r.v + c.x + i * STEPS[f] for i, r in enumerate(p)], None
    if f in LANES:
        bits, unsigned = LANES[f]
        return [computed("add", r, Value(v, unsigned, bits)).v for r, v in zip(p, c.b, strict=True)], None
    total = {80: p, 81: p, 84: q, 87: p}.get(f)
    sums = {
        82: sum(r.v for r, s in zip(p, q, strict=True) if s.v > 0),
        83: sum(computed("mul", r, s).v for r, s in zip(p, q, strict=True)),
        85: sum(r.v + s.v for r, s in zip(p, q, strict=True)),
    }
    out = {84: c.a, 85: c.b, 86: c.a, 88: c.a, 87: None}.get(f, [])
    return out, sum(r.v for r in total) if total is not None else sums.get(f)


def draw(function: int, rng: random.Random) -> Call:
    mbs = (8, 16, 32) if function in STEPS else (8, 16, 32, 64)

    def stream(most: int = 64) -> Format:
        mb = rng.choice(mbs)
        return Format(rng.randint(1, min(mb, most)), rng.random() < 0.5, mb)

    def numbers(f: Format, n: int) -> list[int]:
        # Of all widths, and close to the ends of the range.
        def one() -> int:
            w = rng.randint(0, f.width)
            v = rng.choice((rng.getrandbits(w) if w else 0, (1 << w) - 1, -1, 1 << w >> 1))
            return wrap(v if f.unsigned else rng.choice((v, -v)), f.width, f.unsigned)

        return [one() for _ in range(n)]

    n = rng.choice((0, 1, 2, 8, 31, 32, 33, 70, 150))
    a, b = stream(), stream()
    out = Format(rng.randint(1, 32 if function in STEPS else 64), True, 64)
    if function in LANES:
        bits, unsigned = LANES[function]
        b = Format(bits, unsigned, bits)
    x = rng.choice((rng.randint(-40, 40), rng.randint(-(1 << 31), (1 << 31) - 1)))
    p, q = numbers(a, n), numbers(b, n)
    if rng.random() < 0.3:
        q = [wrap(rng.choice((v, w, 0)), b.width, b.unsigned) for v, w in zip(p, q, strict=True)]
    return Call(function, x, (a, b, out), p, q)


def script(c: Call) -> Script:
    s = Script()
    s.at += 0x2000  # behind the program's tables
    s.read(ARGS + 8, 8)
    out, _ = expected(c)
    places = [s.input(packed(v or [0], f.width)) for v, f in zip((c.a, c.b), c.formats, strict=False)]
    width = c.formats[2].width
    at = s.output(packed(out or [], width), (len(c.a) * width + 7) // 8)
    s.arguments([c.function, len(c.a), 0, 0, c.x % (1 << 32), *places, at, *(f.word() for f in c.formats)])
    return s


def check(calls: list[Call]) -> int:
    """Cycles of all calls. Raises if one of them gives something wrong."""
    cycles = 0
    done = answers(ELF, "functions", [script(c) for c in calls], FULL_TILE)
    for c, (run, words, output) in zip(calls, done, strict=True):
        what = f"SEED={SEED}, function {c.function} of {len(c.a)} values, {c.formats}, x {c.x}"
        ended(run, what)
        cycles += run["cycles"]
        out, total = expected(c)
        result = int.from_bytes(bytes.fromhex(words["bytes"]), "little")
        if c.function < SUMS[0]:
            assert result % (1 << 32) == len(c.a), f"{what}: values written"
        elif total is not None:
            bits = 32 if c.function in LOW_HALF else 64
            assert result % (1 << bits) == total % (1 << bits), f"{what}: sum"
        if out is not None:
            assert bytes.fromhex(output["bytes"]) == padded(packed(out, c.formats[2].width)), f"{what}: output"
    return cycles


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    subprocess.run(["make", "-s", "-C", ROOT / "firmware" / "offload", ELF], check=True)
    subprocess.run([ROOT / "hw" / "cosim" / "kernel-tile"], check=True)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function(function: int) -> None:
    rng = random.Random(f"{SEED} {function}")
    check([draw(function, rng) for _ in range(12)])


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(SEED)
    mul, total = (next(c for c in iter(lambda f=f: draw(f, rng), None) if len(c.a) == 70) for f in (0, 80))
    wide = replace(mul.formats[2], width=64)
    for c in (replace(mul, formats=(*mul.formats[:2], wide)), total):
        right = expected(c)
        check([c])
        wrong = [v + (i == 69) for i, v in enumerate(right[0])] if right[0] else right[0]
        with monkeypatch.context() as m:
            m.setitem(globals(), "expected", lambda _, w=wrong, t=right[1]: (w, t if t is None else t + 1))
            with pytest.raises(AssertionError, match=r"output|sum"):
                check([c])


def test_an_unknown_function_ends_the_call() -> None:
    with pytest.raises(VarveBenchError, match="does not end well"):
        check([replace(draw(84, random.Random(SEED)), function=99)])
