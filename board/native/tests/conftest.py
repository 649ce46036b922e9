# SPDX-License-Identifier: BSD-3-Clause
"""Paths of the tests, what they need built, and boards that end with their test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / f) for f in ("host-driver/python", "build/gen/python")]

from assasin.board import Board, NativeBoard  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    subprocess.run([ROOT / "scripts" / "build", "native"], check=True)


@pytest.fixture
def board() -> Iterator[Callable[[type[Board], str], Board]]:
    """Makes boards, not started; at the end they are stopped and removed."""
    made: list[Board] = []

    def make(kind: type[Board] = NativeBoard, name: str = "native-test") -> Board:
        b = kind(name)
        b.stop()
        b.erase()
        made.append(b)
        return b

    yield make
    for b in made:
        b.stop()
        b.erase()
