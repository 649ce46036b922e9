# SPDX-License-Identifier: BSD-3-Clause
"""Storage functions (erasure coding, replication, encryption, compression, deduplication, log replay) on every back end."""

from __future__ import annotations

import random
from functools import reduce

import numpy as np
import pytest
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
