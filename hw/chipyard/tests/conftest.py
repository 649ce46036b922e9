# SPDX-License-Identifier: BSD-3-Clause
"""Paths of the tests, and the contract that they need generated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / f) for f in ("host-driver/python", "build/gen/python")]
if not (ROOT / "build" / "gen" / "python" / "assasin_contract.py").exists():
    subprocess.run([ROOT / "scripts" / "contract"], check=True)
