# SPDX-License-Identifier: BSD-3-Clause
"""Paths of the tests, and copies of kernels that tests may break."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "host-driver" / "python"))


def pytest_configure(config: pytest.Config) -> None:
    if not (ROOT / "build" / "gen" / "python" / "assasin_contract.py").exists():
        subprocess.run([ROOT / "scripts" / "contract"], check=True)


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """edited("fgrep8", "kernel.toml", old, new, ...): a copy of a kernel's folder texts replaced once each; built elsewhere."""
    monkeypatch.setattr("assasin.hls.kernel.OUT", tmp_path / "build")

    def copy(name: str, *edits: str) -> Path:
        folder = tmp_path / name
        if not folder.exists():
            shutil.copytree(ROOT / "hls-kernels" / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
        for i in range(0, len(edits), 3):
            file, old, new = edits[i : i + 3]
            text = (folder / file).read_text()
            assert old in text
            (folder / file).write_text(text.replace(old, new, 1))
        return folder

    return copy
