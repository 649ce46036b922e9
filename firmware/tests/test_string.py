# SPDX-License-Identifier: BSD-3-Clause
"""The firmware's memory functions (firmware/lib/string.c) on random places, lengths and overlaps, against Python's bytes."""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "lib" / "string.c"
NAMES = ("memcpy", "memmove", "memset", "memcmp")
SIZE = 256


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("string") / "string.so"
    renamed = [f"-D{name}=fw_{name}" for name in NAMES]
    flags = ["-std=c11", "-O2", "-ffreestanding", "-fno-tree-loop-distribute-patterns", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, *renamed, str(SOURCE), "-o", str(path)], check=True)
    return ctypes.CDLL(str(path))


def test_memory_functions(library: ctypes.CDLL, record_property) -> None:
    seed = random.randrange(1 << 32)
    record_property("seed", seed)
    print(f"seed {seed}")
    rng = random.Random(seed)
    memory = (ctypes.c_uint8 * SIZE)()
    base = ctypes.addressof(memory)
    for _ in range(20_000):
        before = rng.randbytes(SIZE)
        memory[:] = before
        want = bytearray(before)
        # Half of them on words, as most of the firmware's are.
        unit = rng.choice((1, 4))
        count = min(rng.choice((0, 1, 3, 4, 15, 16, 17, 64, rng.randrange(SIZE))), SIZE // 2)
        to, source = (rng.randrange((SIZE - count) // unit + 1) * unit for _ in range(2))
        which = rng.randrange(4)
        if which == 0 and (to + count <= source or source + count <= to):
            library.fw_memcpy(ctypes.c_void_p(base + to), ctypes.c_void_p(base + source), ctypes.c_size_t(count))
            want[to : to + count] = before[source : source + count]
        elif which == 1:
            library.fw_memmove(ctypes.c_void_p(base + to), ctypes.c_void_p(base + source), ctypes.c_size_t(count))
            want[to : to + count] = before[source : source + count]
        elif which == 2:
            value = rng.randrange(-128, 256)
            library.fw_memset(ctypes.c_void_p(base + to), value, ctypes.c_size_t(count))
            want[to : to + count] = bytes([value & 0xFF]) * count
        else:
            if rng.randrange(2):
                want[to : to + count] = before[source : source + count]
                memory[:] = want
            found = library.fw_memcmp(ctypes.c_void_p(base + to), ctypes.c_void_p(base + source), ctypes.c_size_t(count))
            a, b = bytes(want[to : to + count]), bytes(want[source : source + count])
            assert (found > 0) - (found < 0) == (a > b) - (a < b), (to, source, count)
        assert bytes(memory) == bytes(want), (which, to, source, count)
