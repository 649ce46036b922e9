# SPDX-License-Identifier: BSD-3-Clause
"""The functional model of VarVE against docs/varve/isa.md, recomputed here with Python's numbers. SEED=n chooses other data."""

from __future__ import annotations

import heapq
import os
import random
import struct
from collections import Counter

import assasin_contract as contract
import pytest
from varve_machine import (
    BASE,
    BUFFER,
    DONE,
    ILLEGAL,
    LOAD_FAULT,
    MB,
    NOT_MINE,
    SIZE,
    STORE_FAULT,
    TRAP,
    UNSIGNED,
    Machine,
    Trap,
    Waits,
    word,
)

SEED = int(os.environ.get("SEED", "1"))
DATA, AUX, OUT, TABLE = BASE + 0x100, BASE + 0x6000, BASE + 0x9000, BASE + 0xE000
TO_END = 0xFFFFFFFF
STREAM_RANGE, STREAM_DATA = contract.CAUSE_STREAM_RANGE, contract.CAUSE_STREAM_DATA


@pytest.fixture
def rng(request) -> random.Random:
    print(f"SEED={SEED}")
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture
def machine():
    made = []

    def make(**params: int) -> Machine:
        made.append(Machine(**params))
        return made[-1]

    yield make
    for m in made:
        m.close()


def width(v: int, unsigned: bool) -> int:
    if unsigned:
        return v.bit_length()
    return 0 if v == 0 else (v if v >= 0 else ~v).bit_length() + 1


def wrap(v: int, bits: int, unsigned: bool) -> int:
    v %= 1 << bits
    return v - (1 << bits) if not unsigned and v >> (bits - 1) else v


def pack_bits(values: list[int], widths: list[int], offset: int = 0) -> bytes:
    """Values one behind the other, least significant bit first."""
    stream, at = 0, offset
    for v, w in zip(values, widths, strict=True):
        stream |= v % (1 << w) << at
        at += w
    return stream.to_bytes((at + 7) // 8, "little")


def drawn(rng: random.Random, bits: int, unsigned: bool) -> int:
    """A number of a random width up to `bits`, zero in a quarter."""
    w = rng.choice((0, rng.randint(0, bits), rng.randint(0, bits), bits))
    return wrap(rng.getrandbits(w) if w else 0, w, unsigned) if w else 0


def numbers(m: Machine, register: int, unsigned: bool) -> list[int]:
    values, widths = m.elements(register)
    out = [wrap(v, 64, unsigned) for v in values]
    assert widths == [width(v, unsigned) for v in out]
    return out


def fits(widths: list[int], vlen: int, grain: int) -> int:
    used = 0
    for n, w in enumerate(widths):
        used += -(-w // grain) * grain
        if used > vlen:
            return n
    return len(widths)


def traps(cause: int, tval: int | None, call, *args, **kwargs) -> None:
    with pytest.raises(Trap) as info:
        call(*args, **kwargs)
    assert info.value.cause == cause, f"SEED={SEED}"
    if tval is not None:
        assert info.value.tval == tval, f"SEED={SEED}"


def reason(stream: int, why: int, output: bool = False) -> int:
    return stream | output << 4 | why << 8


# ---- Arithmetic ----

OPERATIONS = {
    "add": lambda a, b, mb: a + b,
    "sub": lambda a, b, mb: a - b,
    "rsub": lambda a, b, mb: b - a,
    "min": lambda a, b, mb: min(a, b),
    "max": lambda a, b, mb: max(a, b),
    "bic": lambda a, b, mb: a & ~b,
    "and": lambda a, b, mb: a & b,
    "or": lambda a, b, mb: a | b,
    "xor": lambda a, b, mb: a ^ b,
    "div": lambda a, b, mb: 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "mul": lambda a, b, mb: a * b,
    "asl": lambda a, b, mb: a << b % mb,
    "asr": lambda a, b, mb: a >> b % mb,
    "cmpeq": lambda a, b, mb: a == b,
    "cmpne": lambda a, b, mb: a != b,
    "cmplt": lambda a, b, mb: a < b,
    "cmple": lambda a, b, mb: a <= b,
    "cmpge": lambda a, b, mb: a >= b,
    "cmpgt": lambda a, b, mb: a > b,
}
FORMS = {"vv": set(OPERATIONS) - {"rsub", "cmpge", "cmpgt"}, "vi": set(OPERATIONS), "vx": set(OPERATIONS)}


def aligned(op: str, a: int, b: int, ua: bool, ub: bool, mb: int, scalar: bool, mbmax: int) -> int:
    """Alignment width, 4.2."""
    ur = ua if op in ("asl", "asr") else ua and ub and op not in ("sub", "rsub")
    wa, wb = width(a, ua), width(b, ub)
    p, q = wa + (not ur and ua and a != 0), wb + (not ur and ub and b != 0)
    if op == "add":
        aw = max(p, q) if p == 0 or q == 0 else min(max(p, q) + 1, mb)
    elif op in ("sub", "rsub"):
        taken = b if op == "sub" else a
        if ua and ub:
            aw = min(max(wa, wb) + 1, mb) if a or b else 0
        elif p == 0 or q == 0:
            aw = min(max(p, q) + (taken != 0), mb)
        else:
            aw = min(max(p, q) + 1, mb)
    elif op == "mul":
        aw = min(wa + wb, mb) if a and b else 0
    elif op == "div":
        aw = p if q == 0 else max(min(p + (not ur), mb), q)
    elif op == "asr":
        aw = wa if scalar else max(wa, wb)
    elif op == "asl":
        if a == 0:
            aw = 0 if scalar else wb
        elif scalar:
            aw = min(wa + b % mb, mb)
        else:
            aw = max(wb, min(wa + 2 ** min(wb, 6) - 1, mb)) if ub else max(wb, mb)
    else:
        aw = max(p, q)
    return min(aw, 64, mbmax)


def fill(m: Machine, rng: random.Random, register: int, stream: int) -> tuple[list[int], bool, int]:
    """A VAR register of random values, by a VarWidth stream: values, unsigned, mb."""
    mb, unsigned = rng.choice([b for b in MB if b <= m.params["mbmax"]]), rng.random() < 0.5
    bits = rng.randint(0, mb)
    values = [drawn(rng, bits, unsigned) for _ in range(m.emax)]
    widths = [width(v, unsigned) for v in values]
    data = m.put(DATA + 0x1000 * stream, pack_bits(values, widths))
    aux = m.put(AUX + 0x400 * stream, bytes(widths))
    m.declare("vs.vr", stream, data, len(values), MB[mb] | unsigned * UNSIGNED, aux)
    m.step("vs.vunpack", vd=register, id=stream)
    m.step("vs.er", id=stream)
    n = fits(widths, m.params["vlen"], m.params["g"])
    got = numbers(m, register, unsigned)
    assert got == values[:n], f"SEED={SEED}"
    return got, unsigned, mb


@pytest.mark.parametrize(
    "params",
    [{}, {"g": 1}, {"g": 4, "vlen": 128}, {"vlen": 512, "xlen": 64}, {"vlen": 64, "mbmax": 32}, {"z": 2}, {"g": 2, "mbmax": 32}],
    ids=str,
)
def test_arithmetic(params, machine, rng):
    m = machine(**params)
    xlen, vlen, mbmax = m.params["xlen"], m.params["vlen"], m.params["mbmax"]
    for _ in range(250):
        m.step("vs.rcnum")
        form = rng.choice(("vv", "vi", "vx"))
        op = rng.choice(sorted(FORMS[form]))
        a, ua, mba = fill(m, rng, 2, 0)
        operands = {"vd": 4, "vs2": 2}
        x = rng.choice((rng.randint(-20, 20), drawn(rng, xlen, False)))
        if form == "vv":
            b, ub, mbb = fill(m, rng, 3, 1)
            operands["vs1"] = 3
        else:
            if form == "vi":
                x = rng.randint(0, 31) if op in ("asl", "asr") else rng.randint(-16, 15)
                operands["simm5"] = x
            b, mbb = [wrap(x, mbmax, False) if form == "vx" else x] * m.emax, mba
            ub = b[0] >= 0
        mb = mba if op in ("asl", "asr") else max(mba, mbb)
        masked = rng.random() < 0.4
        mask = rng.getrandbits(vlen) if masked else -1
        if masked:
            m.write(0, (mask % (1 << vlen)).to_bytes(vlen // 8, "little"))
            operands["vm"] = 0
        m.step(f"vv.{op}.{form}", x, **operands)
        pairs = list(zip(a, b, strict=False))
        on = [mask >> i & 1 for i in range(len(pairs))]
        widths = [aligned(op, p, q, ua, ub, mb, form != "vv", mbmax) if on[i] else 0 for i, (p, q) in enumerate(pairs)]
        n = fits(widths, vlen, max(m.params["g"], 8) if op in ("mul", "div") else m.params["g"])
        # nothing of what was read may have lowered NumE below n but the operands' own unpacking
        assert m.csr(contract.CSR_NUME) == min(m.emax, n, len(a), len(b)), f"SEED={SEED}"
        results = [OPERATIONS[op](p, q, mb) for p, q in pairs[:n]]
        if op.startswith("cmp"):
            want = sum(1 << i for i in range(n) if on[i] and results[i])
            assert m.elements(4) is None and m.mask(4) == want, f"SEED={SEED}, {op}.{form}"
            continue
        ur = ua if op in ("asl", "asr") else ua and ub and op not in ("sub", "rsub")
        want = [wrap(v, mb, ur) if on[i] else 0 for i, v in enumerate(results)]
        assert numbers(m, 4, ur) == want, f"SEED={SEED}, {op}.{form}"


def test_constants_sums_and_counts(machine, rng):
    for xlen in (32, 64):
        m = machine(xlen=xlen)
        for _ in range(60):
            m.step("vs.rcnum")
            x = drawn(rng, xlen, False)
            m.step("vv.cpy", x, vd=4)
            n = fits([width(x, x >= 0)] * 32, 256, 8)
            assert numbers(m, 4, x >= 0) == [x] * n
            assert m.step("vv.num", vs2=4) == n
            step = rng.randint(-16, 15)
            m.step("vv.index", x, vd=5, step=step)
            unsigned = x >= 0 and step >= 0
            want = [wrap(x + i * step, 32, unsigned) for i in range(32)]
            k = fits([width(v, unsigned) for v in want], 256, 8)
            assert numbers(m, 5, unsigned) == want[:k]
            least = min(n, k)
            mask = rng.getrandbits(256)
            m.write(0, mask.to_bytes(32, "little"))
            total = sum(v for i, v in enumerate(want[:least]) if mask >> i & 1)
            assert m.step("vv.redsum", vs2=5, vm=0) == total % (1 << xlen)
            if xlen == 32:
                assert m.step("vv.redsumh", vs2=5, vm=0) == total % (1 << 64) >> 32
            else:
                traps(ILLEGAL, None, m.step, "vv.redsumh", vs2=5)
            assert m.csr(contract.CSR_NUME) == least | 1 << 31
            traps(ILLEGAL, None, m.step, "vv.dup", vd=6)


def test_fixed_vectors_come_in_by_tvs(machine, rng):
    m = machine()
    for sew in (8, 16, 32):
        vl = m.setvl(rng.randint(0, 256 // sew), sew)
        data = rng.randbytes(32)
        values = [int.from_bytes(data[i : i + sew // 8], "little") for i in range(0, 32, sew // 8)][:vl]
        for kind in "su":
            m.step("vs.rcnum")
            m.write(7, data)
            m.step(f"vv.tvs.{kind}", vd=8, vs2=7)
            assert numbers(m, 8, kind == "u") == [wrap(v, sew, kind == "u") for v in values]
            traps(ILLEGAL, None, m.step, f"vv.tvs.{kind}", vd=8, vs2=8)
    m.setvl(99, 8, 1)
    traps(ILLEGAL, None, m.step, "vv.tvs.s", vd=8, vs2=7)  # LMUL 2
    traps(ILLEGAL, None, m.step, "vv.dup", vd=8)


# ---- Streams ----


def stream_of(rng: random.Random, kind: str, count: int) -> tuple[list[int], list[int], int, bool, int]:
    """Random values of a stream: values, widths, format, unsigned, mb."""
    mb, unsigned = rng.choice(list(MB)), rng.random() < 0.5
    if kind == "FR":
        w = rng.randint(1, mb)
        values = [drawn(rng, w, unsigned) for _ in range(count)]
        return values, [w] * count, w | MB[mb] | unsigned * UNSIGNED, unsigned, mb
    values = [drawn(rng, mb, unsigned) for _ in range(count)]
    widths = [rng.randint(width(v, unsigned), mb) for v in values]
    return values, widths, MB[mb] | unsigned * UNSIGNED, unsigned, mb


@pytest.mark.parametrize("kind", ["FR", "VR"])
@pytest.mark.parametrize("buffered", [False, True])
@pytest.mark.parametrize("g", [8, 1])
def test_input_streams(kind, buffered, g, machine, rng):
    for count in (0, 1, 33, rng.randint(2, 400)):
        m = machine(g=g)
        values, widths, fmt, unsigned, _ = stream_of(rng, kind, count)
        offset = rng.randrange(8) if buffered else 0
        data = pack_bits(values, widths, offset)
        name = f"vs.{kind.lower()}"
        if buffered:
            m.inputs[3], m.inputs[5] = bytearray(b"xyz" + data), bytearray(b"w" + bytes(widths))
            m.heads[3], m.heads[5] = 3, 1
            m.ends[3], m.ends[5] = 3 + len(data), 1 + count
            to_end = kind == "VR" and rng.random() < 0.5
            m.declare(name, 3, offset, TO_END if to_end else count, fmt | BUFFER | (5 << 11 if kind == "VR" else 0))
        else:
            m.put(DATA, data)
            m.put(AUX, bytes(widths))
            m.declare(name, 3, DATA, count, fmt, AUX)
        done = 0
        while True:
            m.step("vs.vunpack", vd=9, id=3)
            got = numbers(m, 9, unsigned)
            want = values[done : done + m.emax]
            assert got == want[: fits([width(v, unsigned) for v in want], 256, g)], f"SEED={SEED}"
            n = rng.randint(0, len(got))
            if rng.random() < 0.3:
                m.step("vs.cr", n, id=3)
                assert m.step("vs.rcnum") == len(got)
            else:
                assert m.step("vs.rcnum", smask=1 << 3) == len(got)
                n = len(got)
            done += n
            bits = offset + sum(widths[:done])
            if buffered:
                assert m.heads[3] == 3 + bits // 8
                assert kind == "FR" or m.heads[5] == 1 + done
            if not got:
                break
        assert done == count
        assert m.step("vs.er", id=3) == count
        if buffered:
            assert m.heads[3] == 3 + (offset + sum(widths) + 7) // 8
        traps(ILLEGAL, None, m.step, "vs.er", id=3)


def test_fr_until_the_end_of_the_stream_buffer(machine, rng):
    for w in (3, 7, 8, 11, 32):
        m = machine()
        data = rng.randbytes(rng.randint(1, 40))
        m.inputs[0], m.ends[0] = bytearray(data), len(data)
        m.declare("vs.fr", 0, 0, TO_END, w | MB[32] | UNSIGNED | BUFFER)
        whole, rest = divmod(8 * len(data), w)
        stream, got = int.from_bytes(data, "little"), []
        while True:
            if rest >= 8 and len(got) == whole:
                traps(STREAM_DATA, reason(0, 1), m.step, "vs.vunpack", vd=1, id=0)
                break
            m.step("vs.vunpack", vd=1, id=0)
            n = m.step("vs.rcnum", smask=1)
            got += numbers(m, 1, True)
            if n == 0:
                break
        assert got == [stream >> (w * i) & ((1 << w) - 1) for i in range(whole)], f"SEED={SEED}"


def test_vunpack_waits_for_delivery_and_knows_the_end(machine):
    m = machine()
    m.declare("vs.fr", 2, 0, TO_END, 16 | MB[32] | UNSIGNED | BUFFER)
    m.inputs[2] += bytes(range(1, 64))
    with pytest.raises(Waits, match="input 2"):
        m.step("vs.vunpack", vd=1, id=2)
    with pytest.raises(Waits, match="input 2"):
        m.step("vs.cr", 32, id=2)
    m.step("vs.cr", 4, id=2)
    assert m.heads[2] == 8
    m.inputs[2] += bytes([64] * 9)
    m.step("vs.vunpack", vd=1, id=2)
    assert len(m.elements(1)[0]) == 16  # two bytes each, but 32 were looked at
    m.step("vs.cr", 16, id=2)
    m.step("vs.rcnum")
    with pytest.raises(Waits):
        m.step("vs.vunpack", vd=1, id=2)
    m.ends[2] = 72
    m.step("vs.vunpack", vd=1, id=2)
    assert numbers(m, 1, True) == [v | (v + 1) << 8 for v in range(41, 63, 2)] + [63 | 64 << 8] + [64 | 64 << 8] * 4
    traps(STREAM_RANGE, 17, m.step, "vs.cr", 17, id=2)
    traps(STREAM_RANGE, 33, m.step, "vs.cr", 33, id=2)
    m.step("vs.cr", 16, id=2)
    assert m.step("vs.er", id=2) == 36


def test_streams_that_end_within_a_value(machine):
    m = machine()
    m.inputs[0], m.ends[0] = bytearray(b"abcdefg"), 7
    m.declare("vs.fr", 0, 0, 2, 32 | MB[32] | BUFFER)
    m.step("vs.vunpack", vd=1, id=0)
    assert numbers(m, 1, False) == [int.from_bytes(b"abcd", "little")]
    traps(STREAM_DATA, reason(0, 1), m.step, "vs.cr", 2, id=0)
    m.step("vs.rcnum", smask=1)
    traps(STREAM_DATA, reason(0, 1), m.step, "vs.vunpack", vd=1, id=0)
    m.setvl(8)
    traps(STREAM_DATA, reason(0, 1), m.step, "vs.unpack", vd=1, id=0)
    assert m.heads[0] == 4
    # VarWidth: the widths go on behind the data
    m = machine()
    m.inputs[0], m.ends[0], m.inputs[1], m.ends[1] = bytearray(b"\xff"), 1, bytearray([4, 0, 5, 3]), 4
    m.declare("vs.vr", 0, 0, TO_END, MB[32] | UNSIGNED | BUFFER | 1 << 11)
    m.step("vs.vunpack", vd=1, id=0)
    assert numbers(m, 1, True) == [15, 0]
    m.step("vs.rcnum", smask=1)
    traps(STREAM_DATA, reason(0, 1), m.step, "vs.vunpack", vd=1, id=0)
    assert m.owns(0, False) and m.owns(1, False) and not m.owns(2, False) and not m.owns(0, True)


@pytest.mark.parametrize(("bad", "mb"), [(65, 64), (255, 64), (33, 32), (9, 8)])
def test_widths_that_are_too_great(bad, mb, machine):
    m = machine()
    m.put(AUX, bytes([3, 4, bad, 1]))
    m.declare("vs.vr", 0, DATA, 4, MB[mb], AUX)
    m.step("vs.vunpack", vd=1, id=0)
    assert len(m.elements(1)[0]) == 2
    m.step("vs.rcnum", smask=1)
    traps(STREAM_DATA, reason(0, 2), m.step, "vs.vunpack", vd=1, id=0)
    traps(STREAM_DATA, reason(0, 2), m.step, "vs.cr", 1, id=0)
    # values wider than a lane of pup
    if mb > 8:
        m = machine()
        m.put(DATA, b"\x01\xff\x01")
        m.put(AUX, bytes([8, 10]))
        m.declare("vs.vr", 0, DATA, 2, MB[mb] | UNSIGNED, AUX)
        m.setvl(8, 8)
        m.step("vs.unpack", vd=1, id=0)
        assert m.csr(0xC20) == 1
        m.setvl(8, 8)
        traps(STREAM_DATA, reason(0, 2), m.step, "vs.unpack", vd=1, id=0)


def test_memory_streams_fault_at_the_value_that_is_not_there(machine):
    m = machine()
    end = BASE + SIZE
    m.declare("vs.fr", 0, end - 6, 4, 32 | MB[32])
    m.step("vs.vunpack", vd=1, id=0)
    assert len(m.elements(1)[0]) == 1
    m.step("vs.rcnum", smask=1)
    traps(LOAD_FAULT, end, m.step, "vs.vunpack", vd=1, id=0)
    m.step("vv.dup", vd=2, simm5=5)
    m.declare("vs.fw", 0, end - 31, 0, 8 | MB[32])
    traps(STORE_FAULT, end, m.step, "vs.vpack", vs=2, id=0)
    assert m.get(end - 31, 31) == bytes(31) and m.csr(contract.CSR_NUME) == 32
    m.step("vs.ew", id=0)
    m.declare("vs.fw", 0, end - 32, 0, 8 | MB[32])
    assert m.step("vs.vpack", vs=2, id=0) == 32
    assert m.get(end - 32, 32) == bytes([5] * 32)


def test_consuming_more_than_there_is_is_told_later(machine):
    m = machine()
    m.declare("vs.fr", 0, DATA, 40, 8 | MB[32])
    m.declare("vs.fr", 1, DATA, 3, 8 | MB[32])
    m.step("vs.vunpack", vd=1, id=0)
    assert m.step("vs.rcnum", smask=3) == 32  # NumE is 32: stream 1 was not unpacked
    m.step("vs.vunpack", vd=1, id=0)
    for name, operands in (("vs.vunpack", {"vd": 2}), ("vs.cr", {})):
        traps(STREAM_DATA, reason(1, 7), m.step, name, 0, id=1, **operands)
    traps(STREAM_DATA, reason(1, 7), m.step, "vs.er", id=1)
    assert m.step("vs.er", id=1) == 3
    assert m.step("vs.er", id=0) == 32


@pytest.mark.parametrize("kind", ["FW", "VW"])
@pytest.mark.parametrize("buffered", [False, True])
def test_output_streams(kind, buffered, machine, rng):
    for count in (0, 1, rng.randint(2, 300)):
        m = machine()
        values, widths, fmt, _, _ = stream_of(rng, "VR", count)
        m.put(DATA, pack_bits(values, widths))
        m.put(AUX, bytes(widths))
        m.declare("vs.vr", 0, DATA, count, fmt, AUX)
        to_unsigned, to_mb = rng.random() < 0.5, rng.choice(list(MB))
        w = rng.randint(1, 64) if kind == "FW" else 0
        to = w | MB[to_mb] | to_unsigned * UNSIGNED
        offset = rng.randrange(8) if buffered else 0
        if buffered:
            m.outputs[2] += b"old"
            m.declare(f"vs.{kind.lower()}", 2, offset, 0, to | BUFFER | (4 << 11 if kind == "VW" else 0))
        else:
            m.declare(f"vs.{kind.lower()}", 2, OUT, 0, to, OUT + 0x2000)
        packed, done = [], 0
        while True:
            m.step("vs.vunpack", vd=1, id=0)
            n = len(m.elements(1)[0])
            if rng.random() < 0.5:
                mask = rng.getrandbits(32)
                m.write(5, mask.to_bytes(4, "little"))
                some = [v for i, v in enumerate(values[done : done + n]) if mask >> i & 1]
                assert m.step("vs.vpack.m", vs=1, id=2, mask=5) == len(some)
            else:
                some = values[done : done + n]
                assert m.step("vs.vpack", vs=1, id=2) == n
            packed += some
            traps(ILLEGAL, None, m.step, "vs.vunpack", vd=1, id=0)  # PACKED
            done += n
            assert m.step("vs.rcnum", smask=1) == n
            if n == 0:
                break
        assert m.step("vs.ew", id=2) == len(packed)
        if kind == "FW":
            want = pack_bits(packed, [w] * len(packed), offset)
        else:
            packed = [wrap(v, to_mb, to_unsigned) for v in packed]
            want_widths = [width(v, to_unsigned) for v in packed]
            want = pack_bits(packed, want_widths, offset)
            got_widths = m.outputs[4] if buffered else m.get(OUT + 0x2000, len(packed))
            assert bytes(got_widths) == bytes(want_widths), f"SEED={SEED}"
        got = m.outputs[2][3:] if buffered else m.get(OUT, len(want))
        assert bytes(got) == want, f"SEED={SEED}"


def test_vpack_waits_for_room(machine):
    m = machine()
    m.declare("vs.fw", 1, 0, 0, 12 | MB[32] | BUFFER)
    m.step("vv.dup", vd=1, simm5=7)
    m.rooms[1] = 47
    with pytest.raises(Waits, match="output 1"):
        m.step("vs.vpack", vs=1, id=1)
    assert m.csr(contract.CSR_NUME) == 32 and not m.outputs[1]
    m.rooms[1] = 48
    assert m.step("vs.vpack", vs=1, id=1) == 32
    assert bytes(m.outputs[1]) == pack_bits([7] * 32, [12] * 32)
    assert m.owns(1, True)


def test_pup_in_groups_of_lanes(machine, rng):
    for sew, lmul in ((8, 0), (16, 1), (32, 3), (16, -1)):
        m = machine()
        count = rng.randint(1, 200)
        w = rng.randint(1, sew)
        values = [drawn(rng, w, False) for _ in range(count)]
        m.put(DATA, pack_bits(values, [w] * count))
        m.declare("vs.fr", 0, DATA, count, w | MB[32])
        m.declare("vs.fw", 0, OUT, 0, w | MB[32])
        left, packed = count, []
        while left:
            vl = m.setvl(1000, sew, lmul)
            m.step("vs.unpack", vd=8, id=0)
            n = min(vl, left)
            assert m.csr(0xC20) == n
            group = b"".join(m.bytes_of(8 + r) for r in range(8))
            got = [int.from_bytes(group[i * sew // 8 : (i + 1) * sew // 8], "little") for i in range(n)]
            want = values[count - left :][:n]
            assert got == [v % (1 << sew) for v in want], f"SEED={SEED}"
            mask = rng.getrandbits(256)
            m.write(7, mask.to_bytes(32, "little"))
            chosen = [v for i, v in enumerate(want) if mask >> i & 1]
            assert m.step("vs.pack.m", vs=8, id=0, mask=7) == len(chosen)
            packed += chosen
            left -= n
        assert m.step("vs.er", id=0) == count
        assert m.step("vs.ew", id=0) == len(packed)
        assert m.get(OUT, (w * len(packed) + 7) // 8) == pack_bits(packed, [w] * len(packed))
        if lmul == 3:
            m.declare("vs.fr", 0, DATA, count, w | MB[32])
            traps(ILLEGAL, None, m.step, "vs.unpack", vd=12, id=0)
        m.csr(contract.CSR_VSFMT, 0)


def test_masked_vunpack_is_as_long_as_its_compare(machine, rng):
    m = machine()
    narrow, wide = [rng.randrange(3) for _ in range(40)], [rng.getrandbits(31) for _ in range(40)]
    m.put(DATA, bytes(narrow))
    m.put(OUT, pack_bits(wide, [32] * 40))
    m.declare("vs.fr", 0, DATA, 20, 8 | MB[32] | UNSIGNED)
    m.declare("vs.fr", 1, OUT, 40, 32 | MB[32] | UNSIGNED)
    m.step("vs.vunpack", vd=1, id=0)
    m.step("vv.cmpeq.vi", vd=3, vs2=1, simm5=1)
    m.step("vs.vunpack.m", vd=2, id=1, mask=3)
    on = [v == 1 for v in narrow]
    want = [v if on[i] else 0 for i, v in enumerate(wide[:20])]
    n = fits([width(v, True) for v in want], 256, 8)
    assert numbers(m, 2, True) == want[:n]
    # mask logic passes on the shorter length: v4 = v3 or a mask without bits of length EMAX
    m.write(5, b"")
    m.setvl(32, 8)
    m.raw(0x1A << 26 | 1 << 25 | 3 << 20 | 5 << 15 | 2 << 12 | 4 << 7 | 0x57)
    m.step("vs.vunpack.m", vd=2, id=1, mask=4)
    assert numbers(m, 2, True) == want[:n]
    m.step("vs.vunpack.m", vd=2, id=1, mask=5)
    assert numbers(m, 2, True) == [0] * 32
    traps(ILLEGAL, None, m.step, "vs.vunpack.m", vd=2, id=1, mask=1)  # v1 is no mask


# ---- Huffman ----


def lengths_of(weights: dict[int, int]) -> dict[int, int]:
    """Code lengths of a Huffman tree, at most 15."""
    while True:
        heap = [(w, s, (s,)) for s, w in weights.items()]
        heapq.heapify(heap)
        lengths: Counter[int] = Counter()
        while len(heap) > 1:
            (w1, i, a), (w2, _, b) = heapq.heappop(heap), heapq.heappop(heap)
            lengths.update(a + b)
            heapq.heappush(heap, (w1 + w2, i, a + b))
        if len(weights) == 1:
            return dict.fromkeys(weights, 1)
        if max(lengths.values()) <= 15:
            return dict(lengths)
        weights = {s: w // 2 + 1 for s, w in weights.items()}


def canonical(lengths: dict[int, int]) -> tuple[bytes, dict[int, str]]:
    """Counts and symbols of the table, and the codes as text, the first bit first (RFC 1951, 3.2.2)."""
    ordered = sorted(lengths, key=lambda s: (lengths[s], s))
    codes, code, last = {}, 0, 0
    for s in ordered:
        code <<= lengths[s] - last
        last = lengths[s]
        codes[s] = format(code, f"0{last}b")
        code += 1
    counts = Counter(lengths.values())
    return struct.pack("<16H", *(counts[i] for i in range(16))) + struct.pack(f"<{len(ordered)}H", *ordered).ljust(
        512, b"\0"
    ), codes


def table(lengths: dict[int, int], symbol_bits: int, **wrong: int) -> bytes:
    body, _ = canonical(lengths)
    head = {"magic": 0x4856, "n": len(lengths), "longest": max(lengths.values()), "bits": symbol_bits, "zero": 0} | wrong
    return struct.pack("<HHBBH", *head.values()) + body


def coded(symbols: list[int], codes: dict[int, str]) -> bytes:
    text = "".join(codes[s] for s in symbols)
    return int(text[::-1] or "0", 2).to_bytes((len(text) + 7) // 8, "little")


@pytest.mark.parametrize("kinds", [1, 2, 5, 64, 256])
def test_huffman_streams(kinds, machine, rng):
    symbols = rng.sample(range(256), kinds)
    weights = {s: int(rng.paretovariate(0.4)) for s in symbols}
    lengths = lengths_of(weights)
    _, codes = canonical(lengths)
    text = rng.choices(symbols, [weights[s] for s in symbols], k=rng.randint(1, 300))
    m = machine()
    m.put(DATA, coded(text, codes) + b"\0\0")
    m.put(TABLE, table(lengths, 8))
    m.declare("vs.hr", 0, DATA, len(text), 8 | MB[32] | UNSIGNED, TABLE)
    m.declare("vs.hw", 0, OUT, 0, 8 | MB[32] | UNSIGNED, TABLE)
    traps(ILLEGAL, None, m.declare, "vs.hr", 1, DATA, 5, 8 | MB[32], TABLE)  # both tables are taken
    got = []
    while True:
        m.step("vs.vunpack", vd=1, id=0)
        got += numbers(m, 1, True)
        m.step("vs.vpack", vs=1, id=0)
        if m.step("vs.rcnum", smask=1) == 0:
            break
    assert got == text, f"SEED={SEED}"
    assert m.step("vs.ew", id=0) == len(text)
    assert m.get(OUT, len(coded(text, codes))) == coded(text, codes), f"SEED={SEED}"
    m.step("vs.er", id=0)
    m.declare("vs.hr", 1, DATA, 5, 8 | MB[32], TABLE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"magic": 0x4857},
        {"n": 0},
        {"n": 257},
        {"n": 2},
        {"longest": 0},
        {"longest": 16},
        {"longest": 1},
        {"bits": 0},
        {"bits": 7},
        {"zero": 1},
    ],
    ids=str,
)
def test_bad_tables_by_field(wrong, machine):
    m = machine()
    good = {3: 1, 5: 2, 9: 2}
    m.put(TABLE, table(good, 8, **wrong))
    traps(STREAM_DATA, reason(4, 4), m.declare, "vs.hr", 4, DATA, 3, 8 | MB[32], TABLE)
    m.put(TABLE, table(good, 8))
    m.declare("vs.hr", 4, DATA, 3, 8 | MB[32], TABLE)


def test_bad_tables_by_content(machine):
    m = machine()
    m.put(TABLE, table({1: 1, 2: 1, 3: 1}, 8))  # Kraft sum 1.5
    traps(STREAM_DATA, reason(0, 4), m.declare, "vs.hr", 0, DATA, 3, 8 | MB[32], TABLE)
    m.put(TABLE, table({300: 1, 2: 2}, 8))  # a symbol of nine bits
    traps(STREAM_DATA, reason(0, 4), m.declare, "vs.hr", 0, DATA, 3, 8 | MB[32], TABLE)
    m.put(TABLE, table({300: 1, 2: 2}, 9))
    m.declare("vs.hr", 0, DATA, 3, 9 | MB[32], TABLE)
    traps(STREAM_DATA, reason(0, 4, True), m.declare, "vs.hw", 0, OUT, 0, 9 | MB[32], TABLE)  # writers: up to 255
    twice = bytearray(table({1: 1, 2: 2, 3: 2}, 8))
    twice[44] = 2
    m.put(TABLE, twice)
    traps(STREAM_DATA, reason(1, 4, True), m.declare, "vs.hw", 1, OUT, 0, 8 | MB[32], TABLE)
    traps(ILLEGAL, None, m.declare, "vs.hr", 1, DATA, 3, 8 | MB[32], TABLE + 4)
    traps(LOAD_FAULT, BASE + SIZE, m.declare, "vs.hr", 1, DATA, 3, 8 | MB[32], BASE + SIZE - 8 * 60)


def test_codes_that_are_none(machine):
    m = machine()
    m.put(TABLE, table({7: 2, 8: 2, 9: 2}, 8))  # 11 is no code
    m.put(DATA, bytes([0b00110100]))  # codes 00, 10 (its 1 first), 11, 00
    m.declare("vs.hr", 0, DATA, 4, 8 | MB[32] | UNSIGNED, TABLE)
    m.step("vs.vunpack", vd=1, id=0)
    assert numbers(m, 1, True) == [7, 9]
    m.step("vs.rcnum", smask=1)
    traps(STREAM_DATA, reason(0, 3), m.step, "vs.vunpack", vd=1, id=0)
    m.declare("vs.hw", 0, OUT, 0, 8 | MB[32] | UNSIGNED, TABLE)
    m.step("vv.index", 7, vd=2, step=1)
    m.step("vs.vpack", vs=2, id=0)
    traps(STREAM_DATA, reason(0, 6, True), m.step, "vs.ew", id=0)
    assert m.step("vs.ew", id=0) == 3


# ---- Legality ----


def test_words_that_no_table_lists_are_illegal(machine, rng):
    """And those of the table are not, in a state where nothing else forbids them."""
    rows = [i for i in contract.INSTRUCTIONS if i.match & 0x7F in (0x2B, 0x5B)]
    assert len(rows) == 79

    def build() -> Machine:
        m = machine()
        for r in range(1, 32):
            m.step("vv.dup", vd=r, simm5=1)
        m.setvl(8, 32)
        m.step("vs.rcnum")
        for s in range(9):
            m.declare("vs.fr", s, DATA, 1000, 8 | MB[32])
        for s in range(8):
            m.declare("vs.fw", s, OUT + 0x200 * s, 0, 8 | MB[32])
        return m

    m = build()
    listed = 0
    for i in range(6000):
        if i % 3 == 0:  # a neighbour of a row
            row = rng.choice(rows)
            bits = (row.match | rng.getrandbits(32) & ~row.mask) ^ 1 << rng.randrange(7, 32)
        elif i % 3 == 1:
            row = rng.choice(rows)
            bits = row.match | rng.getrandbits(32) & ~row.mask
        else:
            bits = rng.getrandbits(25) << 7 | rng.choice((0x2B, 0x5B))
        row = next((r for r in rows if bits & r.mask == r.match), None)
        out = m.raw(bits, rng.getrandbits(5), rng.getrandbits(5))
        if row is None:
            assert (out.what, out.cause, out.tval) == (TRAP, ILLEGAL, bits), f"SEED={SEED}, {bits:#010x}"
            continue
        values = {o.name: bits >> o.lsb & ((1 << o.width) - 1) for o in row.operands}
        if row.name.startswith("vv."):
            forbidden = values.get("vm") == 0 and values.get("vd") == 0 and not row.name.startswith("vv.cmp")
            if row.name.startswith("vv.tvs"):
                forbidden |= values["vs2"] != 0  # v0 is FIXED, all others VAR
            else:
                forbidden |= 0 in (values.get("vs2"), values.get("vs1"))
        elif row.name == "vs.rcnum":
            forbidden = values["smask"] >> 9 != 0
        elif row.name in ("vs.fr", "vs.vr", "vs.hr", "vs.fw", "vs.vw", "vs.hw"):
            forbidden = True  # all are open
        else:
            forbidden = values["id"] >= 9 or values.get("vm=mask", 0) != 0 or (values.get("vs") == 0 and "vpack" in row.name)
        refused = out.what == TRAP and out.cause == ILLEGAL
        assert refused == forbidden, f"SEED={SEED}, {row.name} {bits:#010x}"
        listed += not forbidden
        if out.what == DONE:  # the state may have changed: FIXED registers, closed streams, PACKED
            m = build()
    assert listed > 500
    assert m.raw(0x13).what == NOT_MINE


def test_what_a_state_forbids(machine):
    m = machine()
    add = {"vd": 2, "vs2": 1, "simm5": 1}
    traps(ILLEGAL, word("vv.add.vi", **add), m.step, "vv.add.vi", **add)  # v1 is FIXED
    m.step("vv.dup", vd=1, simm5=3)
    m.step("vv.add.vi", **add)
    m.vs(0)
    traps(ILLEGAL, None, m.step, "vv.add.vi", **add)
    m.vs(1)
    m.step("vv.add.vi", **add)
    assert m.vs() == 3 and m.csr(contract.CSR_MVARVE) == 3
    m.csr(contract.CSR_MVARVE, 0)
    traps(ILLEGAL, None, m.step, "vv.add.vi", **add)
    for number in range(contract.CSR_VSFMT, contract.CSR_VVCFG + 1):
        traps(ILLEGAL, None, m.csr, number)
    m.csr(contract.CSR_MVARVE, 1)
    assert m.csr(contract.CSR_VVCFG) == 3 | 3 << 4 | 64 << 8 | 32 << 16
    m.step("vv.dup", vd=0, simm5=3)
    traps(ILLEGAL, None, m.step, "vv.add.vi", vm=0, **add)  # v0 is VAR
    pup = machine(full=0)
    traps(ILLEGAL, None, pup.step, "vv.dup", vd=1)
    traps(ILLEGAL, None, pup.step, "vs.rcnum")
    traps(ILLEGAL, None, pup.csr, contract.CSR_NUME)
    pup.declare("vs.fr", 0, DATA, 300, 8 | MB[32])
    pup.step("vs.cr", 256, id=0)
    traps(STREAM_RANGE, 257, pup.step, "vs.cr", 257, id=0)
    full = machine(pup=0)
    full.declare("vs.fr", 0, DATA, 300, 8 | MB[32])
    full.setvl(4)
    traps(ILLEGAL, None, full.step, "vs.unpack", vd=1, id=0)


@pytest.mark.parametrize(
    ("name", "stream", "fmt", "base", "count"),
    [
        ("vs.fr", 0, MB[32], DATA, 1),
        ("vs.fr", 0, 65 | MB[64], DATA, 1),
        ("vs.fr", 0, 17 | MB[16], DATA, 1),
        ("vs.hr", 0, 17 | MB[64], DATA, 1),
        ("vs.vr", 0, 5 | MB[32], DATA, 1),
        ("vs.fr", 9, 8 | MB[32], DATA, 1),
        ("vs.fr", 0, 8 | MB[32] | 1 << 14, DATA, 1),
        ("vs.fr", 0, 8 | MB[32], DATA, TO_END),
        ("vs.fr", 0, 8 | MB[32], 0xFFFFFF00, 257),
        ("vs.fr", 8, 8 | MB[32] | BUFFER, 0, 1),
        ("vs.fr", 0, 8 | MB[32] | BUFFER, 8, 1),
        ("vs.vr", 1, MB[32] | BUFFER | 1 << 11, 0, 1),
        ("vs.vr", 1, MB[32] | BUFFER | 6 << 11, 0, 1),
        ("vs.vr", 1, MB[32] | BUFFER | 5 << 11, 0, 1),
        ("vs.fr", 5, 8 | MB[32], DATA, 1),
        ("vs.fr", 6, 8 | MB[32], DATA, 1),
    ],
)
def test_declarations_that_are_refused(name, stream, fmt, base, count, machine):
    m = machine()
    m.declare("vs.vr", 6, 0, 1, MB[32] | BUFFER | 5 << 11)
    traps(ILLEGAL, None, m.declare, name, stream, base, count, fmt)
    traps(ILLEGAL, None, m.step, "vs.vunpack", vd=1, id=5)  # another's widths
    m.declare("vs.fr", 0, 0xFFFFFF00, 256, 8 | MB[32])
    m.declare("vs.fw", 0, OUT, 0, 64 | MB[8])
    small = machine(mbmax=32)
    traps(ILLEGAL, None, small.declare, "vs.fr", 0, DATA, 1, 8 | MB[64])


# ---- Save and restore ----


def words_of(m: Machine) -> list[tuple[int, int, int]]:
    """(class, object, index) of every word of the window, in the order of 2.4."""
    streams = [*range(m.params["nin"]), *range(16, 24)]
    out = [(4, t, k) for t in range(2) for k in range(138)]
    out += [(1, r, k) for r in range(32) for k in range(m.params["vlen"] // 32)]
    out += [(2, r, k) for r in range(32) for k in range(m.emax)]
    out += [(0, s, k) for s in streams for k in range(1, 10)]
    out += [(3, r, 0) for r in range(32)]
    return out + [(0, s, 0) for s in streams]


@pytest.mark.parametrize("params", [{}, {"g": 2, "vlen": 128}, {"xlen": 64}], ids=str)
def test_save_and_restore(params, machine, rng):
    m, other = machine(**params), machine(**params)
    other.memory = m.memory
    m.put(TABLE, table({7: 2, 8: 2, 9: 2, 10: 2}, 8))
    m.put(DATA + 0x4000, rng.randbytes(200))
    for _ in range(4):
        fill(m, rng, rng.randrange(1, 32), 0)
    m.declare("vs.hr", 4, DATA + 0x4000, 700, 8 | MB[32], TABLE)
    m.declare("vs.fr", 2, DATA + 0x4000, 90, 11 | MB[16])
    m.declare("vs.fw", 1, OUT, 0, 5 | MB[16])
    m.step("vs.vunpack", vd=20, id=4)
    m.step("vv.cmplt.vi", vd=0, vs2=20, simm5=9)
    m.step("vs.vunpack.m", vd=21, id=2, mask=0)
    m.step("vs.rcnum", smask=1 << 4)
    m.step("vs.vunpack", vd=22, id=2)
    m.step("vs.vpack", vs=22, id=1)
    assert m.difference(other)
    for kind, thing, index in words_of(m):
        select = kind << 28 | index << 8 | thing
        m.csr(contract.CSR_VSSEL, select)
        other.csr(contract.CSR_VSSEL, select)
        other.csr(contract.CSR_VSDAT, m.csr(contract.CSR_VSDAT))
    for number in (contract.CSR_NUME, contract.CSR_VSFMT, contract.CSR_VSAUX, contract.CSR_VSSEL):
        other.csr(number, m.csr(number))
    assert m.difference(other) == "", f"SEED={SEED}"
    # and both go on alike
    for x in (m, other):
        x.step("vs.rcnum", smask=1 << 2)
        x.step("vs.vunpack", vd=3, id=4)
        x.step("vv.add.vv", vd=4, vs2=3, vs1=22)
    assert m.difference(other) == "", f"SEED={SEED}"
    m.step("vv.add.vi", vd=4, vs2=4, simm5=1)
    assert "v4" in m.difference(other)
    m.csr(contract.CSR_VSSEL, 0xF0000000)
    m.csr(contract.CSR_VSDAT, 5)
    assert m.csr(contract.CSR_VSDAT) == 0
