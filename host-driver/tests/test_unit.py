# SPDX-License-Identifier: BSD-3-Clause
"""The C unit tests, each program as one test, with the address and undefined-behaviour sanitizers on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "host-driver" / "tests" / "unit").glob("*_test.c"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_unit(source: Path) -> None:
    out = ROOT / "build" / "host-sanitized"
    make = [
        "make",
        "-s",
        "-C",
        ROOT / "host-driver",
        f"OUT={out}",
        "CFLAGS=-O1 -g -fsanitize=address,undefined",
        out / "tests" / source.stem,
    ]
    subprocess.run(make, check=True)
    done = subprocess.run([out / "tests" / source.stem], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
