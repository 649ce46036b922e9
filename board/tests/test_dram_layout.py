# SPDX-License-Identifier: BSD-3-Clause
"""Every board backs the parts of the SSD DRAM that the firmware uses on it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOARDS = sorted(p for p in (ROOT / "board").glob("*/board.toml") if tomllib.loads(p.read_text()).get("dram", {}).get("window"))


def layout() -> dict[str, int]:
    """The DRAM_* of the firmware's layout: addresses count from the DRAM's first byte."""
    text = (ROOT / "firmware" / "platform" / "dram.h").read_text()
    values = {"ASSASIN_DRAM_BASE": 0}
    for name, expression in re.findall(r"#define (DRAM_\w+)\s+(\(?[\w +]+\)?)", text):
        values[name] = sum(
            values[word] if word in values else int(word.removesuffix("u"), 0) for word in expression.strip("() ").split(" + ")
        )
    return values


@pytest.mark.parametrize("board", BOARDS, ids=lambda p: p.parent.name)
def test_the_firmwares_layout_is_backed(board: Path) -> None:
    found = layout()
    windows = [(w["offset"], w["offset"] + w["bytes"]) for w in tomllib.loads(board.read_text())["dram"]["window"]]
    # The map ends where the window does: board.toml says for what capacity. Of these two a board backs what 16 cores use.
    parts = {name.removesuffix("_SIZE"): size for name, size in found.items() if name.endswith("_SIZE")}
    del parts["DRAM_MAP"]
    # The chips of these boards have our own firmware processor, whose program lies in its own memory.
    del parts["DRAM_FIRMWARE"]
    parts |= {
        "DRAM_RESULTS": 16 * found["DRAM_RESULT_STRIDE"],
        "DRAM_COMMITS": 16 * found["DRAM_COMMIT_STRIDE"],
    }
    for name, size in parts.items():
        start = found[name]
        assert any(a <= start and start + size <= b for a, b in windows), f"{name}: {start:#x}, {size:#x} bytes"
