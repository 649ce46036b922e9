# SPDX-License-Identifier: BSD-3-Clause
"""Where things are in the source tree that this package belongs to, and the generated contract."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]
"""Top folder of the project."""

BUILD = ROOT / "build"
"""Everything built lands here."""


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
