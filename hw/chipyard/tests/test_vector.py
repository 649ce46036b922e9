# SPDX-License-Identifier: BSD-3-Clause
"""The vector bench of hw/chipyard/vector without a checkout: its program on spike, and what its script says of bad arguments."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
VECTOR = ROOT / "hw" / "chipyard" / "vector"
LLVM = os.environ["LLVM_VERSION"]
"""scripts/env.sh sets it."""


@pytest.mark.parametrize("vlen", [128, 256])
def test_vector_and_scalar_code_agree(tmp_path: Path, vlen: int) -> None:
    elf = tmp_path / "bench.elf"
    options = f"--target=riscv64 -march=rv64imac_zve32x_zvl{vlen}b -mabi=lp64 -mcmodel=medany -O2 -ffreestanding"
    options += f" -fno-vectorize -fno-slp-vectorize -Wall -Wextra -Werror -nostdlib -fuse-ld=lld-{LLVM} -DHTIF"
    sources = [VECTOR / "crt0.S", VECTOR / "bench.c"]
    subprocess.run([f"clang-{LLVM}", *options.split(), "-T", VECTOR / "link.ld", *sources, "-o", elf], check=True, timeout=120)
    memory = "-m0x10000:0x10000,0x80000000:0x100000"
    done = subprocess.run(
        ["spike", f"--isa=rv64imac_zicsr_zve32x_zvl{vlen}b", memory, elf], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{done.returncode} kernels differ, or 1000 and a trap's cause: {done.stderr[-1000:]}"


@pytest.mark.parametrize("program", ["zve", "pup", "full"])
def test_programs_fit_the_rom(tmp_path: Path, program: str) -> None:
    subprocess.run([VECTOR / "compile", program, tmp_path], check=True, timeout=120)
    assert 1000 < (tmp_path / "bench.bin").stat().st_size < 0x10000


def test_what_is_no_program(tmp_path: Path) -> None:
    done = subprocess.run([VECTOR / "compile", "saturn", tmp_path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "compile zve|pup|full OUT" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["."], [".", "AssasinV256D128Rocket"], [".", "AssasinV256D128RocketConfig", "saturn"]])
def test_usage(arguments: list[str]) -> None:
    done = subprocess.run([VECTOR / "run", *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "usage: hw/chipyard/vector/run CHIPYARD_DIR CONFIG" in done.stderr
