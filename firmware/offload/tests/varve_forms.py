#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of varve.h (tests/varve/kernels.c) in every form: on the host, on the model, and as machine code of a core.

As a program: prints for each kernel and form a JSON line with the instructions a value and a strip, from runs of two lengths.
Usage: varve_forms.py [--vlen 256] [--align 8] [--seed 1]
"""

from __future__ import annotations

import argparse
import ctypes
import heapq
import json
import random
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import assasin_contract as contract
from iss import Core, segments

BUILD = Path(__file__).resolve().parents[3] / "build" / "offload" / "varve"
CORE_FORMS = ("scalar", "pup", "full", "published")
"""Forms that are machine code of a core."""

KERNELS = ("q03c", "filter3", "raid5", "bitpack", "narrow", "widen", "dense5")
NUMBERS = {kernel: i for i, kernel in enumerate((*KERNELS[:6], "dense5", "operate"))}
"""As main.c has them; operate is operations.c's."""
_DATA = contract.CORE_SPAD_BASE + contract.SCOMP_SPAD_DATA + 0x2000
"""Behind the programs' own data (jump tables); checked when one is loaded."""
JOB = struct.Struct("<9I")


@dataclass
class Case:
    """A call of a kernel: arguments are numbers, inputs (bytes), or outputs (their size as an Out)."""

    kernel: str
    n: int
    arguments: list[int | bytes | Out]


@dataclass
class Out:
    """An output buffer of so many bytes."""

    size: int


@dataclass
class Result:
    """What a call gave: the kernel's value, the outputs, and what it took."""

    value: int
    outputs: list[bytes]
    instructions: int = 0
    strips: int = 0
    arguments: list[int] = field(default_factory=list)


def _words(values: list[int]) -> bytes:
    return b"".join((v & 0xFFFFFFFF).to_bytes(4, "little") for v in values)


def make(kernel: str, n: int, rng: random.Random) -> Case:
    """Random data as bench.md has them: widths of TPC-H's columns, features and weights that are often zero."""

    def wide(bits: int) -> int:
        """A signed number of a random width."""
        w = rng.randint(0, bits)
        return rng.getrandbits(w) - (1 << w >> 1) if w else 0

    words = Out(4 * n)
    if kernel == "q03c":
        keys = [rng.randint(1, 150_000) for _ in range(n)]
        return Case(kernel, n, [_words(keys), bytes(rng.randrange(5) for _ in range(n)), words])
    if kernel == "filter3":
        quantity = [rng.randint(-100, 5000) for _ in range(n)]
        price = [rng.randint(-999, 10_494_950) for _ in range(n)]
        return Case(kernel, n, [_words(quantity), bytes(rng.randrange(101) for _ in range(n)), _words(price), Out(n), words])
    if kernel == "raid5":
        numbers = [[rng.randint(1, 7) for _ in range(n)] for _ in range(4)]
        return Case(kernel, n, [*(_words(column) for column in numbers), words])
    if kernel == "bitpack":
        padded, bits = rng.choice(((8, 5), (32, 15)))
        return bitpack(n, padded, bits, rng)
    if kernel == "narrow":
        return Case(kernel, n, [_words([wide(31) for _ in range(n)]), words, Out(n)])
    if kernel == "widen":
        values = [wide(28) for _ in range(n)]
        widths = [rng.randint(signed_width(v), 32) for v in values]
        stream = sum((v % (1 << w)) << sum(widths[:i]) for i, (v, w) in enumerate(zip(values, widths, strict=True)))
        return Case(kernel, n, [stream.to_bytes(sum(widths) // 8 + 1, "little"), bytes(widths), words])
    features = [rng.choice((0, 0, rng.randrange(1 << 12))) for _ in range(n)]
    weights = [rng.randint(-128, 127) if rng.random() < 0.2 else 0 for _ in range(5 * n)]
    return Case(kernel, n, [_words(features), _words(weights), Out(20)])


def bitpack(n: int, padded: int, bits: int, rng: random.Random) -> Case:
    """Values of `bits` bits in `padded` ones."""
    data = b"".join(rng.getrandbits(bits).to_bytes(padded // 8, "little") for _ in range(n))
    return Case("bitpack", n, [data, padded, Out((n * bits + 7) // 8), bits])


def huffman_table(data: bytes) -> tuple[bytes, dict[int, str]]:
    """A Huffman table (docs/varve/isa.md 5.3) for these bytes, and each one's code, its first bit first."""
    heap = [(data.count(symbol) + 1, i, [symbol]) for i, symbol in enumerate(sorted(set(data) | {0, 255}))]
    lengths = dict.fromkeys((symbol for _, _, symbols in heap for symbol in symbols), 0)
    heapq.heapify(heap)
    while len(heap) > 1:
        (a, i, left), (b, _, right) = heapq.heappop(heap), heapq.heappop(heap)
        for symbol in left + right:
            lengths[symbol] += 1
        heapq.heappush(heap, (a + b, i, left + right))
    order = sorted(lengths, key=lambda symbol: (lengths[symbol], symbol))
    assert lengths[order[-1]] <= 15
    codes, value, before = {}, 0, lengths[order[0]]
    for symbol in order:
        value <<= lengths[symbol] - before
        before = lengths[symbol]
        codes[symbol] = format(value, f"0{before}b")
        value += 1
    counts = [sum(length == k for length in lengths.values()) for k in range(16)]
    header = struct.pack("<HHBBH16H", 0x4856, len(order), lengths[order[-1]], 8, 0, *counts)
    return header + struct.pack("<256H", *order, *[0xFFFF] * (256 - len(order))), codes


@dataclass
class HuffmanCase:
    """A call of huffman.c: bytes from `source` to `want`, one of which are codes of `bits` bits in all."""

    kernel: int
    n: int
    source: bytes
    table: bytes
    want: bytes
    bits: int


def huffman(n: int, rng: random.Random) -> list[HuffmanCase]:
    """n bytes decoded, and encoded; small ones are frequent."""
    data = bytes(min(int(rng.expovariate(0.12)), 255) for _ in range(n))
    table, codes = huffman_table(data)
    bits = "".join(codes[symbol] for symbol in data)
    packed = int(bits[::-1] or "0", 2).to_bytes((len(bits) + 7) // 8, "little")
    return [HuffmanCase(0, n, packed, table, data, len(bits)), HuffmanCase(1, n, data, table, packed, len(bits))]


def huffman_on_core(c: HuffmanCase, vlen: int) -> tuple[int, bytes]:
    """Runs its machine code on the simulator of a core: the kernel's value, and the output with a guard behind it."""
    source, table, out = (_DATA + at for at in (0, 0x3000, 0x3400))
    memory = {source: c.source or b"\0", table: c.table, out: b"\xa5" * len(c.want) + _GUARD}
    job = JOB.pack(c.kernel, c.n, source, table, out, 0, 0, 0, 0)
    core = Core(BUILD / "huffman.elf", [], args=job, outputs=0, memory=memory, vlen=vlen, g=8, seed=0)
    code = core.run()
    assert code == 0, f"huffman.c ends with {code}"
    output = core.spad[out - contract.CORE_SPAD_BASE :][: len(c.want) + len(_GUARD)]
    assert output[len(c.want) :] == _GUARD, "huffman.c writes behind an output"
    return JOB.unpack(core.spad[contract.SCOMP_SPAD_ARGS :][: JOB.size])[8], bytes(output[: len(c.want)])


def signed_width(v: int) -> int:
    """Bits of the smallest two's complement; 0 for 0."""
    return 0 if v == 0 else (v if v >= 0 else ~v).bit_length() + 1


_GUARD = b"\xc3" * 8
"""Behind every output, to see that nothing is written there."""


def on_host(library: ctypes.CDLL, case: Case) -> Result:
    """Runs the kernel of a shared library (scalar.so, model.so)."""
    function = getattr(library, case.kernel)
    function.restype = None if case.kernel == "dense5" else ctypes.c_size_t
    passed: list[ctypes.c_size_t | ctypes.c_uint | ctypes.Array[ctypes.c_char]] = [ctypes.c_size_t(case.n)]
    buffers = []
    for argument in case.arguments:
        if isinstance(argument, int):
            passed.append(ctypes.c_uint(argument))
            continue
        size = argument.size if isinstance(argument, Out) else len(argument)
        # 16 bytes more, so that the start can be aligned to 8
        holder = ctypes.create_string_buffer(size + len(_GUARD) + 8)
        at = -ctypes.addressof(holder) % 8
        if isinstance(argument, Out):
            ctypes.memset(ctypes.addressof(holder) + at, 0xA5, size)
            ctypes.memmove(ctypes.addressof(holder) + at + size, _GUARD, len(_GUARD) - at)
            buffers.append((holder, at, size))
        else:
            ctypes.memmove(ctypes.addressof(holder) + at, argument, size)
        passed.append(ctypes.c_void_p(ctypes.addressof(holder) + at))
        passed[-1].holder = holder
    value = function(*passed)
    for holder, at, size in buffers:
        assert holder.raw[at + size : at + size + len(_GUARD) - at] == _GUARD[at:], f"{case.kernel} writes behind an output"
    return Result(value or 0, [holder.raw[at : at + size] for holder, at, size in buffers])


def on_core(form: str, case: Case, vlen: int = 256, g: int = 8, seed: int = 0) -> Result:
    """Runs the kernel's machine code on the simulator of a core."""
    at, memory, arguments, buffers = _DATA, {}, [], []
    for argument in case.arguments:
        if isinstance(argument, int):
            arguments.append(argument)
            continue
        arguments.append(at)
        data = b"\xa5" * argument.size + _GUARD if isinstance(argument, Out) else argument
        if isinstance(argument, Out):
            buffers.append((at, argument.size))
        memory[at] = data
        at += (len(data) + 15) // 8 * 8
    end = contract.CORE_SPAD_BASE + contract.CORE_SPAD_SIZE - 0x800
    assert at <= end, f"{case.kernel} with {case.n} values needs {at - end} bytes more than the scratchpad has beside the stack"
    job = JOB.pack(NUMBERS[case.kernel], case.n, *(arguments + [0] * 6)[:6], 0)
    core = Core(BUILD / f"{form}.elf", [], args=job, outputs=0, memory=memory, vlen=0 if form == "scalar" else vlen, g=g, seed=seed)
    own = [address + size for address, _, size in segments(core.path.read_bytes()) if address >= contract.CORE_SPAD_BASE]
    assert max(own, default=0) <= _DATA, f"{form}.elf has more data than the cases leave room for"
    code = core.run()
    assert code == 0, f"{form}: {case.kernel} ends with {code}"

    def read(address: int, size: int) -> bytes:
        return core.spad[address - contract.CORE_SPAD_BASE :][:size]

    for address, size in buffers:
        assert read(address + size, len(_GUARD)) == _GUARD, f"{form}: {case.kernel} writes behind an output"
    value = JOB.unpack(core.spad[contract.SCOMP_SPAD_ARGS :][: JOB.size])[8]
    return Result(value, [read(a, s) for a, s in buffers], core.instructions, core.strips)


def load(name: str) -> ctypes.CDLL:
    """A form for the host: scalar or model."""
    return ctypes.CDLL(str(BUILD / f"{name}.so"))


def counts(kernel: str, form: str, build: Callable[[int], Case], vlen: int, g: int) -> dict[str, object]:
    """Instructions a value and a strip between runs of 256 and of 768 values."""
    few, many = (on_core(form, build(n), vlen, g) for n in (256, 768))
    instructions, strips = many.instructions - few.instructions, many.strips - few.strips
    row: dict[str, object] = {"kernel": kernel, "form": form, "vlen": vlen, "align": g, "values": 512}
    row |= {"instructions": instructions, "instructions_per_value": round(instructions / 512, 4)}
    if strips:
        row |= {
            "strips": strips,
            "values_per_strip": round(512 / strips, 2),
            "instructions_per_strip": round(instructions / strips, 2),
        }
    return row


def main() -> int:
    """Prints the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vlen", type=int, default=256, help="bits of a vector register")
    parser.add_argument("--align", type=int, default=8, help="alignment, bits")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    def random_case(kernel: str) -> Callable[[int], Case]:
        return lambda n: make(kernel, n, random.Random(f"{options.seed} {kernel}"))

    def packing(padded: int, bits: int) -> Callable[[int], Case]:
        return lambda n: bitpack(n, padded, bits, random.Random(options.seed))

    cases = {kernel: random_case(kernel) for kernel in KERNELS if kernel != "bitpack"}
    cases |= {"bitpack5": packing(8, 5), "bitpack15": packing(32, 15)}
    for kernel, build in cases.items():
        for form in CORE_FORMS:
            print(json.dumps(counts(kernel, form, build, options.vlen, options.align)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
