# SPDX-License-Identifier: BSD-3-Clause
"""The example of README.md, "Vector kernels": examples/varve/limit.c in every form."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import assasin_contract as contract
import pytest
from iss import Core

OFFLOAD = Path(__file__).resolve().parents[1]
BUILD = OFFLOAD.parents[1] / "build" / "offload" / "vector" / "limit"
DATA = contract.CORE_SPAD_BASE + contract.SCOMP_SPAD_DATA + 0x1000
ROWS = 333


@pytest.mark.parametrize("form", ["scalar", "model"])
def test_on_the_host(form: str) -> None:
    done = subprocess.run([BUILD / form], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "3", "255", "255", "0", "77"]


@pytest.mark.parametrize("form", ["scalar", "pup", "full", "published"])
def test_on_a_core(form: str) -> None:
    rng = random.Random(form)
    values = [rng.randrange(-(2**31), 2**31) >> rng.randrange(32) for _ in range(ROWS)]
    mask = bytes(rng.randrange(3) for _ in range(ROWS))
    want = bytes(min(max(v, 0), 255) for v, on in zip(values, mask, strict=True) if on)
    at_mask, at_out = DATA + 4 * ROWS + 4, DATA + 6 * ROWS
    core = Core(
        BUILD / f"{form}.elf",
        [],
        args=struct.pack("<5I", ROWS, DATA, at_mask, at_out, 0),
        outputs=0,
        memory={DATA: struct.pack(f"<{ROWS}i", *values), at_mask: mask},
        vlen=0 if form == "scalar" else 256,
    )
    assert core.run() == 0
    assert struct.unpack_from("<I", core.spad, contract.SCOMP_SPAD_ARGS + 16)[0] == len(want)
    assert core.spad[at_out - contract.CORE_SPAD_BASE :][: len(want)] == want


def test_the_readme_shows_the_kernel() -> None:
    source = (OFFLOAD / "examples" / "varve" / "limit.c").read_text()
    kernel = source[source.index("uintptr_t limit(uintptr_t count, const void *values, const void *mask, void *out) {") :]
    kernel = kernel[: kernel.index("\n}\n") + 3]
    shown = "".join("    " + line + "\n" if line else "\n" for line in kernel.splitlines())
    assert shown in (OFFLOAD / "README.md").read_text()


def test_a_vector_kernel_that_is_not_there() -> None:
    command = ["make", "-C", str(OFFLOAD), "vector", "VECTOR=/nowhere/mine.c"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "VECTOR: there is no file /nowhere/mine.c. Give the whole path" in done.stderr
