# SPDX-License-Identifier: BSD-3-Clause
"""The kernels' models, called as a slot calls them, against their references; and kernels that hardware could not be made of."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from assasin.hls import kernel as kernels
from assasin.hls import model, reference
from assasin.hls.kernel import Kernel
from slot import Slot

Edited = Callable[..., Path]
ALL = kernels.names()


def words_of(kernel: Kernel, scalars: dict[str, float]) -> list[int]:
    return [s.word(scalars[s.name]) for s in kernel.scalars]


@pytest.mark.parametrize("name", ALL)
def test_a_model_says_what_it_is(name: str) -> None:
    k = kernels.load(name)
    got = Slot(model.build(k)).kernel
    assert (got.id, got.name.decode(), got.version.decode()) == (k.id, k.name, k.version)
    assert (got.inputs, got.scalars) == (len(k.inputs), len(k.scalars))
    assert (got.ii_num, got.ii_den, got.latency) == (k.ii.numerator, k.ii.denominator, k.latency)


@pytest.mark.parametrize("size", [64, 8192, 20_000])
@pytest.mark.parametrize("name", ALL)
def test_a_model_against_its_reference(name: str, size: int) -> None:
    k = kernels.load(name)
    judge = reference.load(k)
    slot = Slot(model.build(k))
    for seed in (1, 2):
        inputs, scalars = judge.example(size, seed)
        got = slot.run(inputs, words_of(k, scalars))
        assert got.ended
        assert not got.waited
        assert got.unread == 0
        assert judge.equal(got.output, judge.expected(inputs, scalars))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 31, 32, 33])
@pytest.mark.parametrize("name", ALL)
def test_streams_of_odd_lengths(name: str, size: int) -> None:
    k = kernels.load(name)
    judge = reference.load(k)
    _, scalars = judge.example(8192, 1)
    data = struct.pack("<9f", *(1.5 * i for i in range(9)))[:size]  # finite for kernels that take floats
    got = Slot(model.build(k)).run([data] * len(k.inputs), words_of(k, scalars))
    assert (got.ended, got.waited, got.unread) == (True, False, 0)
    assert judge.equal(got.output, judge.expected([data] * len(k.inputs), scalars))


@pytest.mark.parametrize("name", ALL)
def test_a_reference_tells_a_wrong_result(name: str) -> None:
    judge = reference.load(kernels.load(name))
    inputs, scalars = judge.example(8192, 3)
    wanted = judge.expected(inputs, scalars)
    assert judge.equal(wanted, wanted)
    wrong = bytes([*wanted[:-1], wanted[-1] ^ 0x40])
    assert not judge.equal(wrong, wanted)
    assert not judge.equal(wanted[:-1], wanted)


def test_pieces_of_fgrep8_add_up() -> None:
    k = kernels.load("fgrep8")
    judge = reference.load(k)
    text, key = bytearray(random.Random(4).randbytes(1 << 15)), b"ASSASIN!"
    for at in (4090, 8192 - 7, 12288, 16384 - 8, 30_000):  # at, across and behind the cuts
        text[at : at + 8] = key
    scalars = dict(zip(("key_low", "key_high"), struct.unpack("<II", key), strict=True))
    slot = Slot(model.build(k))
    outputs = [slot.run([bytes(text[i : i + 4096 + k.overlap])], words_of(k, scalars)).output for i in range(0, len(text), 4096)]
    assert judge.merge(outputs) == judge.expected([bytes(text)], scalars) == struct.pack("<Q", 5)


def test_a_reset_ends_a_model_and_it_starts_anew() -> None:
    k = kernels.load("aes128")
    judge = reference.load(k)
    inputs, scalars = judge.example(4096, 1)
    slot = Slot(model.build(k))
    cut = slot.run(inputs, words_of(k, scalars), room=10)
    assert not cut.ended
    assert cut.output == judge.expected(inputs, scalars)[:80]
    assert slot.run(inputs, words_of(k, scalars)).output == judge.expected(inputs, scalars)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("last = beat.last;", "last = false;", None),  # reads on and on: waits, as in hardware
        ("data_out.write(beat);", "beat.last = 0; data_out.write(beat);", "has ended without a beat that has last"),
        ("data_out.write(beat);", "beat.keep = 0x0f; data_out.write(beat);", "not whole before the last one"),
        ("data_out.write(beat);", "beat.keep = 0xf0; data_out.write(beat);", "keep has a gap"),
        ("} while (!last);", "} while (!last);\n    data_out.write(make_beat(0, 0, true));", "behind the one with last"),
        ("beat_t beat = data_in.read();", "beat_t beat = data_out.read();", "reads its output stream"),
        ("data_out.write(beat);", "data_in.write(beat);", "writes to its input stream 0"),
        (
            "bool last;",
            'bool last;\n    hls::stream<int> inner("inner");\n    inner.read();',
            "reads stream 'inner' while it is empty",
        ),
    ],
)
def test_what_hardware_could_not_do(
    edited: Edited, capfd: pytest.CaptureFixture[str], old: str, new: str, message: str | None
) -> None:
    k = kernels.load(edited("addword", "addword.cpp", old, new))
    got = Slot(model.build(k)).run([bytes(24)], [1])
    said = capfd.readouterr().err
    if message is None:
        assert got.waited
        assert said == ""
    else:
        assert said.startswith("kernel addword/1.0: ")
        assert message in said


def test_a_model_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    k = kernels.load("addword")
    path = model.build(k)
    before = path.stat().st_mtime_ns
    monkeypatch.setattr("assasin.hls.toolchain.run", lambda *_: pytest.fail("something was compiled"))
    assert model.build(k).stat().st_mtime_ns == before
