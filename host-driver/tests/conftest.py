# SPDX-License-Identifier: BSD-3-Clause
"""Paths of the tests, what they need built, and the boards that the system tests share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "host-driver" / "python"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "system: needs a built virtual board (scripts/build AssasinSb2x2)")
    if not (ROOT / "build" / "gen" / "python" / "assasin_contract.py").exists():
        subprocess.run([ROOT / "scripts" / "contract"], check=True)
    subprocess.run(["make", "-s", "-C", ROOT / "host-driver"], check=True)
    subprocess.run(["make", "-s", "-C", ROOT / "firmware" / "offload"], check=True)
