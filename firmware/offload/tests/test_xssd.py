# SPDX-License-Identifier: BSD-3-Clause
"""XSSD's fgrep-8 and saxpy on every back end, against searches and arithmetic of the host's that share no code with them."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from native import run
from test_storage import run_all


def places(text: bytes, key: bytes) -> int:
    count, at = 0, text.find(key)
    while at >= 0:
        count, at = count + 1, text.find(key, at + 1)
    return count


def fgrep8(text: bytes, key: bytes) -> int:
    value, (out,) = run_all("fgrep8", [text], key)
    assert value == 0
    count, zero = struct.unpack("<II", out)
    assert zero == 0
    return count


KEY = b"ASSASIN!"


@pytest.mark.parametrize("size", [*range(18), 4096, 70_001])
def test_fgrep8_finds_nothing_in_noise(size: int) -> None:
    assert fgrep8(random.Random(size).randbytes(size), KEY) == 0


@pytest.mark.parametrize("at", [*range(13), 4089, 4092])
@pytest.mark.parametrize("rest", range(8))
def test_fgrep8_finds_one_at_any_offset(at: int, rest: int) -> None:
    rng = random.Random(at * 8 + rest)
    assert fgrep8(rng.randbytes(at) + KEY + rng.randbytes(rest), KEY) == 1


@pytest.mark.parametrize("byte", [0, 1, ord("x"), 255])
@pytest.mark.parametrize("size", [0, 7, 8, 9, 11, 12, 15, 16, 17, 1000])
def test_fgrep8_counts_overlapping_places(byte: int, size: int) -> None:
    assert fgrep8(bytes([byte]) * size, bytes([byte]) * 8) == max(0, size - 7)


@pytest.mark.parametrize("seed", range(12))
def test_fgrep8_in_text_of_two_letters(seed: int) -> None:
    rng = random.Random(seed)
    text = bytes(rng.choice(b"ab") for _ in range(3000 + seed))
    key = bytes(rng.choice(b"ab") for _ in range(8))
    assert fgrep8(text, key) == places(text, key) > 0


def test_fgrep8_takes_zeros_for_bytes() -> None:
    key = bytes(range(8))
    text = b"\0" * 9 + key + b"\0" + key
    assert fgrep8(text, key) == 2


@pytest.mark.parametrize("args", [b"", b"seven by", b"nine byte"])
def test_fgrep8_refuses_other_arguments(args: bytes) -> None:
    assert run_all("fgrep8", [b"x" * 64], args)[0] == (0 if len(args) == 8 else 1)


def floats(count: int, seed: int) -> np.ndarray:
    """Any bits but NaNs: subnormal numbers and infinities too."""
    words = np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint64).astype("<u4")
    values = words.view("<f4")
    return np.where(np.isnan(values), np.float32(1.5), values).astype("<f4")


@pytest.mark.parametrize("alpha", [0.0, 1.0, -2.5, 1e-30, 3e38])
@pytest.mark.parametrize("count", [0, 1, 2, 2049])
def test_saxpy(alpha: float, count: int) -> None:
    b, c = floats(count, count), floats(count, count + 1)
    with np.errstate(all="ignore"):
        c[: count // 2] = -np.float32(alpha) * b[: count // 2]  # sums that cancel
        c[np.isinf(c)] = 1  # no infinity less another, which would be a NaN of any bits
        b[np.isnan(np.float32(alpha) * b)] = 1
        expected = (np.float32(alpha) * b).astype("<f4") + c
    value, (out,) = run_all("saxpy", [b.tobytes(), c.tobytes()], struct.pack("<f", alpha))
    assert value == 0
    assert out == expected.astype("<f4").tobytes()


@pytest.mark.parametrize("alpha", [1.0, -1.0, 0.5, 1.0000001, -3.3333333])
@pytest.mark.parametrize("spread", [0, 1, 2, 5, 23, 24, 25, 26, 31, 40])
def test_saxpy_rounds_like_ieee_754(alpha: float, spread: int) -> None:
    """Numbers whose exponents differ by up to `spread`, with few bits at the ends: ties, sticky bits and cancellation."""
    rng = np.random.default_rng(spread)
    count = 4000

    def numbers() -> np.ndarray:
        exponents = 127 + rng.integers(-spread, spread + 1, count)
        masks = rng.choice([0x7FFFFF, 0x7FFFFE, 0x400001, 0x000003, 0x700000, 0], count)
        bits = rng.integers(0, 2, count) << 31 | exponents << 23 | (rng.integers(0, 1 << 23, count) & masks)
        return bits.astype("<u4").view("<f4")

    b, c = numbers(), numbers()
    expected = (np.float32(alpha) * b).astype("<f4") + c
    value, (out,) = run_all("saxpy", [b.tobytes(), c.tobytes()], struct.pack("<f", alpha))
    assert value == 0
    assert out == expected.astype("<f4").tobytes()


@pytest.mark.parametrize(("b", "c"), [(8, 4), (4, 8), (0, 12), (12, 0), (7, 9), (9, 7)])
def test_saxpy_ends_with_the_shorter_vector(b: int, c: int) -> None:
    data = np.arange(1, 5, dtype="<f4").tobytes()
    value, (out,) = run_all("saxpy", [data[:b], data[:c]], struct.pack("<f", 2))
    expected = np.frombuffer(data[: min(b, c) // 4 * 4], "<f4") * 3
    assert (value, out) == (0, expected.astype("<f4").tobytes())


def test_saxpy_refuses_other_arguments() -> None:
    assert run("saxpy", [b"", b""], b"12345")[0] == 1
    assert run("saxpy", [b""], b"1234")[0] == 1
