# SPDX-License-Identifier: BSD-3-Clause
"""Where things are in the source tree that this package belongs to, and the generated contract."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]
"""Top folder of the project."""

BUILD = ROOT / "build"
"""Everything built lands here."""

BENCH_FOLDER = BUILD / "bench"
"""Results of benches."""


def commit() -> str:
    """The commit of the tree, with `+` when something has been changed since; `unknown` outside a repository."""
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--abbrev=40", "--dirty=+"], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def _load_contract() -> ModuleType:
    path = BUILD / "gen" / "python" / "assasin_contract.py"
    if not path.exists():
        raise FileNotFoundError(f"{path.relative_to(ROOT)} is not there: run scripts/contract")
    spec = importlib.util.spec_from_file_location("assasin_contract", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


contract = _load_contract()
"""build/gen/python/assasin_contract.py: constants and ctypes structs of the contract."""
