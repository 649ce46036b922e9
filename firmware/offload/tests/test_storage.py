# SPDX-License-Identifier: BSD-3-Clause
"""Storage functions (erasure coding, replication, encryption, compression, deduplication, log replay) on every back end."""

from __future__ import annotations

import random
import struct
from functools import reduce

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from iss import ROOT, Core
from native import run

OFFLOAD = ROOT / "build" / "offload"
ARCHS = ["sb", "sp", "mem"]
RAID_UNEQUAL = 2


def run_all(name: str, inputs: list[bytes], args: bytes = b"", outputs: int = 1, **task: int) -> tuple[int, list[bytes]]:
    """Runs the native build and the machine code of every architecture, in the simulator with pages at random times. All must agree."""
    expected = run(name, inputs, args, outputs, **task)
    for seed, arch in enumerate(ARCHS, len(inputs[0]) + 1 if inputs else 1):
        core = Core(OFFLOAD / arch / f"{name}.elf", inputs, args, outputs, software=arch != "sb", seed=seed, **task)
        value = core.run()
        assert value is not None, f"{arch}: waits for ever"
        assert (value, core.out) == (expected[0] & 0xFFFFFFFF, expected[1]), arch
    return expected


def streams(count: int, size: int, seed: int = 0) -> list[bytes]:
    rng = random.Random(size * 31 + count + seed)
    return [rng.randbytes(size) for _ in range(count)]


def xor(parts: list[bytes]) -> bytes:
    return reduce(np.bitwise_xor, [np.frombuffer(p, np.uint8) for p in parts]).tobytes()


@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("size", [0, 1, 4, 7, 8, 4096, 33_333])
def test_raid4_parity_and_rebuild(count: int, size: int) -> None:
    data = streams(count, size)
    value, (parity,) = run_all("raid4", data)
    assert (value, parity) == (0, xor(data))
    if count < 8:
        assert run("raid4", [*data[1:], parity]) == (0, [data[0]])


@pytest.mark.parametrize(
    "lengths", [(8, 7), (7, 8), (0, 4), (4, 0), (4096, 4100), (4100, 4096), (40_000, 9), (12, 12, 12, 13), (9, 9, 8), (5, 0, 5)]
)
def test_raid4_refuses_unequal_streams(lengths: tuple[int, ...]) -> None:
    assert run_all("raid4", [bytes(n) for n in lengths])[0] == RAID_UNEQUAL


def test_raid4_refuses_one_stream() -> None:
    assert run_all("raid4", [b"abcd"]) == (1, [b""])


@pytest.mark.parametrize("count", range(1, 9))
@pytest.mark.parametrize("size", [0, 3, 4, 13, 4096, 33_334])
def test_replicate(count: int, size: int) -> None:
    (data,) = streams(1, size)
    assert run_all("replicate", [data], outputs=count) == (0, [data] * count)


# GF(2^8) modulo 0x11d by logarithms, to check raid6 with.
EXP = np.zeros(255, np.uint8)
LOG = np.zeros(256, int)
value_ = 1
for power_ in range(255):
    EXP[power_], LOG[value_] = value_, power_
    value_ = value_ << 1 ^ (0x11D if value_ & 0x80 else 0)


def p_and_q(data: list[bytes]) -> list[bytes]:
    q = np.zeros(len(data[0]), np.uint8)
    for i, part in enumerate(data):
        d = np.frombuffer(part, np.uint8)
        q ^= np.where(d == 0, 0, EXP[(LOG[d] + i) % 255]).astype(np.uint8)
    return [xor(data), q.tobytes()]


@pytest.mark.parametrize("k", range(2, 8))
@pytest.mark.parametrize("size", [0, 1, 4, 4099])
def test_raid6_makes_p_and_q(k: int, size: int) -> None:
    data = streams(k, size)
    assert run_all("raid6", data, struct.pack("<II", k, 3 << k), outputs=2) == (0, p_and_q(data))


@pytest.mark.parametrize("k", range(2, 8))
def test_raid6_rebuilds_any_one_or_two(k: int) -> None:
    data = streams(k, 1027)
    members = data + p_and_q(data)
    for a in range(k + 2):
        for b in range(a, k + 2):
            lost = sorted({a, b})
            left = [m for i, m in enumerate(members) if i not in lost]
            mask = sum(1 << i for i in lost)
            assert run_all("raid6", left, struct.pack("<II", k, mask), outputs=len(lost)) == (0, [members[i] for i in lost])


@pytest.mark.parametrize(
    ("k", "lost", "inputs", "outputs"),
    [(1, 6, 1, 2), (8, 1, 8, 1), (3, 0, 5, 1), (3, 7, 2, 3), (3, 32, 4, 1), (3, 24, 4, 2), (3, 24, 3, 1)],
)
def test_raid6_refuses(k: int, lost: int, inputs: int, outputs: int) -> None:
    assert run_all("raid6", streams(inputs, 64), struct.pack("<II", k, lost), outputs=outputs) == (1, [b""] * outputs)


def test_raid6_refuses_unequal_streams() -> None:
    for k, lost in ((3, 24), (3, 3)):
        for i in range(3):
            data = streams(3, 100)
            data[i] = data[i][:-1]
            assert run_all("raid6", data, struct.pack("<II", k, lost), outputs=2)[0] == RAID_UNEQUAL


@pytest.mark.parametrize("k", range(2, 6))
@pytest.mark.parametrize(("chunk", "size"), [(4, 90), (512, 5000), (4096, 40_001), (4096, 0)])
def test_raid5_left_symmetric(k: int, chunk: int, size: int) -> None:
    data = streams(k, size)
    members = [bytearray() for _ in range(k + 1)]
    for row, at in enumerate(range(0, size, chunk)):
        parts = [d[at : at + chunk] for d in data]
        parity = k - row % (k + 1)
        members[parity] += xor(parts)
        for j, part in enumerate(parts):
            members[(parity + 1 + j) % (k + 1)] += part
    value, out = run_all("raid5", data, struct.pack("<I", chunk), outputs=k + 1)
    assert (value, out) == (0, [bytes(m) for m in members])
    for lost in range(k + 1):
        assert run("raid4", out[:lost] + out[lost + 1 :]) == (0, [out[lost]])


@pytest.mark.parametrize(
    ("count", "outputs", "args"),
    [(1, 2, b"\0\x10\0\0"), (6, 7, b"\0\x10\0\0"), (3, 3, b"\0\x10\0\0"), (3, 4, b"\2\0\0\0"), (3, 4, b"\0\0\0\0"), (3, 4, b"")],
)
def test_raid5_refuses(count: int, outputs: int, args: bytes) -> None:
    assert run_all("raid5", streams(count, 64), args, outputs=outputs) == (1, [b""] * outputs)


def test_raid5_refuses_unequal_streams() -> None:
    assert run_all("raid5", [bytes(8), bytes(9)], struct.pack("<I", 4), outputs=3)[0] == RAID_UNEQUAL


def aes(mode: int, data: bytes, key: bytes, counter: bytes = bytes(16)) -> bytes:
    """What the cryptography package makes of it."""
    way = modes.CTR(counter) if mode == 2 else modes.ECB()
    cipher = Cipher(algorithms.AES128(key), way)
    context = cipher.decryptor() if mode == 1 else cipher.encryptor()
    return context.update(data) + context.finalize()


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("size", [0, 16, 48, 4096, 40_000])
def test_aes_is_what_cryptography_computes(mode: int, size: int) -> None:
    data, key, counter = random.Random(size).randbytes(size), random.Random(mode).randbytes(16), random.Random(7).randbytes(16)
    args = struct.pack("<II16s16s", mode, 0, key, counter)
    assert run_all("aes", [data], args) == (0, [aes(mode, data, key, counter)])


def test_aes_example_of_fips_197() -> None:
    args = struct.pack("<II16s16s", 0, 0, bytes(range(16)), bytes(16))
    (out,) = run_all("aes", [bytes.fromhex("00112233445566778899aabbccddeeff")], args)[1]
    assert out.hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 13, 15, 17, 31, 4099, 8191])
@pytest.mark.parametrize(
    "counter", [b"\xff" * 16, b"\xff" * 15 + b"\xfe", bytes(range(16)), b"\x01" + b"\xff" * 7 + b"\0" * 3 + b"\xff" * 5]
)
def test_aes_counter_carries_and_lengths(size: int, counter: bytes) -> None:
    data = random.Random(size).randbytes(size)
    args = struct.pack("<II16s16s", 2, 0, b"k" * 16, counter)
    assert run_all("aes", [data], args) == (0, [aes(2, data, b"k" * 16, counter)])


def test_aes_pieces_continue_the_counter() -> None:
    data, counter = random.Random(1).randbytes(3 * 4096 + 100), b"\xff" * 14 + b"\xfe\x80"
    args = struct.pack("<II16s16s", 2, 4096 // 16, b"q" * 16, counter)
    out = [run_all("aes", [data[i * 4096 : (i + 1) * 4096]], args, piece=i, pieces=4)[1][0] for i in range(4)]
    assert b"".join(out) == aes(2, data, b"q" * 16, counter)


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("size", [1, 4, 15, 17, 4100])
def test_aes_ecb_needs_whole_blocks(mode: int, size: int) -> None:
    assert run_all("aes", [bytes(size)], struct.pack("<II32x", mode, 0))[0] == 2


@pytest.mark.parametrize("args", [b"", bytes(39), bytes(41), struct.pack("<II32x", 3, 0)])
def test_aes_refuses_other_arguments(args: bytes) -> None:
    assert run_all("aes", [bytes(16)], args) == (1, [b""])
