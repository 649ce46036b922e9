# SPDX-License-Identifier: BSD-3-Clause
"""Every kernel of varve.h gives the same bytes in every form, for all lengths."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
from pathlib import Path

import pytest
import test_varve_model
import varve_forms
from iss import Core, Trap
from varve_forms import KERNELS, Case, Out

SEED = int(os.environ.get("SEED", "1"))
ROOT = Path(__file__).resolve().parents[3]
SHORT = [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65]


@pytest.fixture(scope="module")
def scalar() -> ctypes.CDLL:
    return varve_forms.load("scalar")


@pytest.fixture(scope="module")
def model() -> ctypes.CDLL:
    return varve_forms.load("model")


def case(kernel: str, n: int) -> Case:
    return varve_forms.make(kernel, n, random.Random(f"{SEED} {kernel} {n}"))


def same(got: varve_forms.Result, want: varve_forms.Result, what: str) -> None:
    assert got.value == want.value, f"{what}, SEED={SEED}: value"
    assert got.outputs == want.outputs, f"{what}, SEED={SEED}: outputs"


def words(data: bytes, signed: bool = True) -> list[int]:
    return [int.from_bytes(data[i : i + 4], "little", signed=signed) for i in range(0, len(data), 4)]


def filled(data: bytes, size: int) -> bytes:
    return data + b"\xa5" * (size - len(data))


def expected(c: Case) -> tuple[int, list[bytes]]:
    """The kernel in Python, from its definition."""
    a, n = c.arguments, c.n
    if c.kernel == "q03c":
        rows = [a[0][4 * i : 4 * i + 4] for i in range(n) if a[1][i] == 1]
        return len(rows), [filled(b"".join(rows), 4 * n)]
    if c.kernel == "filter3":
        quantity = words(a[0])
        rows = [i for i in range(n) if 5 <= a[1][i] <= 70 and quantity[i] < 2400]
        prices = b"".join(a[2][4 * i : 4 * i + 4] for i in rows)
        return len(rows), [filled(bytes(a[1][i] for i in rows), n), filled(prices, 4 * n)]
    if c.kernel == "raid5":
        return n, [bytes(p ^ q ^ r ^ s for p, q, r, s in zip(*a[:4], strict=True))]
    if c.kernel == "bitpack":
        size = a[1] // 8
        values = [int.from_bytes(a[0][size * i : size * i + size], "little") for i in range(n)]
        return n, [sum(v << a[3] * i for i, v in enumerate(values)).to_bytes((n * a[3] + 7) // 8, "little")]
    if c.kernel == "narrow":
        values = words(a[0])
        widths = [varve_forms.signed_width(v) for v in values]
        bits = "".join(format(v % (1 << w), f"0{w}b")[::-1] if w else "" for v, w in zip(values, widths, strict=True))
        packed = int(bits[::-1] or "0", 2).to_bytes((len(bits) + 7) // 8, "little")
        return n, [filled(packed, 4 * n), bytes(widths)]
    if c.kernel == "widen":
        stream, out = int.from_bytes(a[0], "little"), []
        for w in a[1]:
            v = stream % (1 << w)
            stream >>= w
            out.append((v - (1 << w) if w and v >> (w - 1) else v) * 3 - 7)
        return n, [b"".join((v & 0xFFFFFFFF).to_bytes(4, "little") for v in out)]
    features, weights = words(a[0]), words(a[1])
    sums = [sum(f * w for f, w in zip(features, weights[k * n : k * n + n], strict=True)) for k in range(5)]
    return 0, [b"".join((s & 0xFFFFFFFF).to_bytes(4, "little") for s in sums)]


@pytest.mark.parametrize("kernel", KERNELS)
def test_scalar_is_right(kernel, scalar):
    for n in SHORT + [1000]:
        c = case(kernel, n)
        value, outputs = expected(c)
        same(varve_forms.on_host(scalar, c), varve_forms.Result(value, outputs), f"{kernel}, {n} values")


@pytest.mark.parametrize("kernel", KERNELS)
def test_model_of_all_lengths(kernel, scalar, model):
    model.vv_model_configure(256, 8, 64)
    rng = random.Random(SEED)
    for n in SHORT + sorted(rng.sample(range(66, 1000), 60)) + [1000]:
        c = case(kernel, n)
        same(varve_forms.on_host(model, c), varve_forms.on_host(scalar, c), f"{kernel}, {n} values")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("vlen", "g"), [(64, 8), (128, 8), (512, 8), (256, 4), (256, 2), (256, 1), (64, 1), (512, 2)])
def test_model_of_all_sizes(kernel, vlen, g, scalar, model):
    model.vv_model_configure(vlen, g, 64)
    rng = random.Random(SEED)
    for n in (0, 1, rng.randrange(2, 40), rng.randrange(40, 300)):
        c = case(kernel, n)
        same(varve_forms.on_host(model, c), varve_forms.on_host(scalar, c), f"{kernel}, {n} values, VLEN {vlen}, G {g}")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", varve_forms.CORE_FORMS)
def test_machine_code(kernel, form, scalar):
    rng = random.Random(f"{SEED} {form}")
    for n in SHORT + rng.sample(range(66, 1000), 6) + [1000]:
        c = case(kernel, n)
        same(varve_forms.on_core(form, c), varve_forms.on_host(scalar, c), f"{kernel}, {form}, {n} values")


@pytest.mark.parametrize("form", ["pup", "full", "published"])
@pytest.mark.parametrize("vlen", [128, 512])
def test_machine_code_of_other_lengths_of_registers(form, vlen, scalar):
    for kernel in KERNELS:
        c = case(kernel, 333)
        same(varve_forms.on_core(form, c, vlen), varve_forms.on_host(scalar, c), f"{kernel}, {form}, VLEN {vlen}")


ARITHMETIC = ("add", "sub", "min", "max", "bic", "and", "or", "xor", "mul", "asl", "asr", "rsub", "div")
COMPARES = ("eq", "ne", "lt", "le", "gt", "ge")
MASKS = {
    300: lambda p, q: p > 0 and q > 0,
    301: lambda p, q: p > 0 or q > 0,
    302: lambda p, q: p > 0 and not q > 0,
    303: lambda p, q: not p > 0,
}


def operations() -> list[int]:
    """Every case of operations.c."""
    arithmetic = [10 * i + k for i, name in enumerate(ARITHMETIC) for k in range(6) if name != "rsub" or k not in (0, 3)]
    return arithmetic + [200 + 10 * i + k for i in range(len(COMPARES)) for k in range(6)] + list(range(300, 308))


def operated(op: int, p: list[int], q: list[int], x: int) -> tuple[int, list[int]]:
    """A case of operations.c in Python: its value, and the words it writes."""
    if op >= 304:
        if op < 306:
            return len(p), [v + (x if op == 304 else 13) for v in p]
        total = sum(v + w for v, w in zip(p, q, strict=True)) if op == 306 else sum(v for v, w in zip(p, q, strict=True) if w > 0)
        return total % (1 << 32), []
    if op >= 300:
        out = [v for v, w in zip(p, q, strict=True) if MASKS[op](v, w)]
        return len(out), out
    kind = op % 10
    second = [(w, 13, x)[kind % 3] for w in q]
    on = [kind < 3 or w > 0 for w in q]
    if op >= 200:
        holds = test_varve_model.OPERATIONS["cmp" + COMPARES[(op - 200) // 10]]
        out = [v for v, w, o in zip(p, second, on, strict=True) if o and holds(v, w, 32)]
        return len(out), out
    compute = test_varve_model.OPERATIONS[ARITHMETIC[op // 10]]
    return len(p), [compute(v, w, 32) if o else 0 for v, w, o in zip(p, second, on, strict=True)]


@pytest.mark.parametrize("form", ["host scalar", "host model", *varve_forms.CORE_FORMS])
def test_every_operation(form, scalar, model):
    model.vv_model_configure(256, 8, 64)
    rng = random.Random(f"{SEED} {form}")
    for op in operations():
        if form == "pup" and op // 10 == ARITHMETIC.index("div"):
            continue
        n = rng.choice((1, 8, 33, 70))
        p, q = ([rng.randint(-(1 << w), 1 << w) for w in rng.choices(range(31), k=n)] for _ in range(2))
        q = [rng.choice((v, w, 0)) for v, w in zip(p, q, strict=True)]
        x = rng.choice((rng.randint(-40, 40), rng.randint(-(1 << 31), (1 << 31) - 1), rng.choice(p)))
        a, b = (b"".join((v & 0xFFFFFFFF).to_bytes(4, "little") for v in values) for values in (p, q))
        c = Case("operate", n, [a, b, Out(4 * n), op, x & 0xFFFFFFFF])
        value, out = operated(op, p, q, x)
        want = filled(b"".join((v & 0xFFFFFFFF).to_bytes(4, "little") for v in out), 4 * n)
        if form.startswith("host"):
            got = varve_forms.on_host({"host scalar": scalar, "host model": model}[form], c)
        else:
            got = varve_forms.on_core(form, c)
        same(got, varve_forms.Result(value, [want]), f"operation {op}, {form}, n {n}, x {x}")


@pytest.mark.parametrize("form", ["pup", "full", "published"])
def test_stream_buffers(form):
    """Pages come and go at random times; every second stream ends with bits that are no value."""
    rng = random.Random(f"{SEED} {form}")
    for seed in (0, 1, 2, 3):
        n, m = rng.choice(((0, 0), (1, 1), (1500, 5000), (9000, 30000)))
        values = [rng.choice((-1, 1)) * rng.getrandbits(rng.randint(0, 12)) for _ in range(n)]
        narrow = [rng.getrandbits(11) for _ in range(m)]
        data = b"".join((v & 0xFFFFFFFF).to_bytes(4, "little") for v in values)
        packed = sum(v << 11 * i for i, v in enumerate(narrow)).to_bytes((11 * m + 7) // 8, "little")
        core = Core(varve_forms.BUILD / f"clip-{form}.elf", [data, packed], outputs=2, vlen=256, seed=seed)
        assert core.run() == 0, f"SEED={SEED}"
        want = sum((v >> 6) << 5 * i for i, v in enumerate(narrow)).to_bytes((5 * m + 7) // 8, "little")
        assert core.out == [bytes(min(max(v, 0), 255) for v in values), want], f"SEED={SEED}, page seed {seed}, {n} and {m} values"


@pytest.mark.parametrize("vlen", [128, 256, 512])
def test_huffman_streams(vlen):
    """Machine code of VarVE-pup against an encoder in Python."""
    for n in (*SHORT, 1000):
        for c in varve_forms.huffman(n, random.Random(f"{SEED} {n}")):
            what = f"{('decode', 'encode')[c.kernel]} of {n} values, VLEN {vlen}, SEED={SEED}"
            assert varve_forms.huffman_on_core(c, vlen) == (n, c.want), what


def test_a_core_without_the_unit_traps(tmp_path):
    core = Core(varve_forms.BUILD / "clip-full.elf", [b"abcd", b""], outputs=2)
    with pytest.raises(Trap, match="cause 2"):
        core.run()


def test_widths_by_exhaustion():
    """hw/cosim/varve_tests.cpp."""
    run = subprocess.run([varve_forms.BUILD / "tests"], capture_output=True, text=True)
    assert run.stdout.endswith("26 passed, 0 failed\n"), run.stdout


def test_bits_behind_an_output_and_wrong_bytes_are_seen(scalar, model):
    """The comparison itself: a kernel that writes one byte more, and a result that is one bit off."""
    c = case("raid5", 40)
    c.arguments[4] = Out(4 * 40 - 1)
    with pytest.raises(AssertionError, match="behind an output"):
        varve_forms.on_host(model, c)
    good = varve_forms.on_host(scalar, case("raid5", 40))
    wrong = varve_forms.Result(good.value, [bytes([good.outputs[0][0] ^ 1]) + good.outputs[0][1:]])
    with pytest.raises(AssertionError, match="outputs"):
        same(wrong, good, "raid5")


def test_instructions_of_a_strip():
    """isa.md 1.17: six instructions a strip where it counts seven with a mv, and the published form two more."""
    build = lambda n: varve_forms.make("q03c", n, random.Random(SEED))  # noqa: E731
    full = varve_forms.counts("q03c", "full", build, 256, 8)
    published = varve_forms.counts("q03c", "published", build, 256, 8)
    pup = varve_forms.counts("q03c", "pup", build, 256, 8)
    assert full["instructions_per_strip"] == 6
    assert published["instructions_per_strip"] == 8
    assert pup["instructions_per_value"] <= 9 / 8


SPILL = """
#include <varve.h>
uintptr_t spill(const void *in, void *out, uintptr_t n);
uintptr_t spill(const void *in, void *out, uintptr_t n) {
    VV_IN_FR(0, in, 32, n, VV_UNSIGNED);
    VV_OUT_FW(0, out, 32, VV_UNSIGNED);
    vv_t v = vv_unpack(0);
    __asm__ volatile("" ::: %s);
    vv_pack(v, 0);
    return VV_END_OUT(0);
}
"""


@pytest.mark.parametrize("spilt", [True, False])
def test_check_vector_refuses_a_spill(tmp_path, spilt):
    clobbers = ", ".join(f'"v{i}"' for i in range(0 if spilt else 1, 32))
    (tmp_path / "spill.c").write_text(SPILL % clobbers)
    flags = "--target=riscv32-unknown-elf -march=rv32im_zicsr_zve32x_zvl128b -mabi=ilp32 -O2 -ffreestanding -DVARVE_FULL"
    includes = ["-I", ROOT / "firmware/offload/include", "-isystem", "/usr/lib/picolibc/riscv64-unknown-elf/include"]
    source, made = tmp_path / "spill.c", tmp_path / "spill.o"
    subprocess.run(["clang-19", *flags.split(), *includes, "-c", source, "-o", made], check=True)
    run = subprocess.run([ROOT / "firmware/offload/check-vector", made], capture_output=True, text=True)
    assert run.returncode == (1 if spilt else 0), run.stderr
    assert ("keeps a vector register in memory" in run.stderr and "spill at" in run.stderr) == spilt
