# SPDX-License-Identifier: BSD-3-Clause
"""Every board backs the parts of the SSD DRAM that the firmware uses on it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOARDS = sorted(p for p in (ROOT / "board").glob("*/board.toml") if tomllib.loads(p.read_text()).get("dram", {}).get("window"))


def defined(text: str, name: str) -> int:
    found = re.search(rf"#define {name}\s+(?:\(ASSASIN_DRAM_BASE \+ )?(0x[0-9a-f]+)u", text)
    assert found, f"firmware/platform/dram.h: no {name}"
    return int(found.group(1), 16)


@pytest.mark.parametrize("board", BOARDS, ids=lambda p: p.parent.name)
def test_the_firmwares_layout_is_backed(board: Path) -> None:
    text = (ROOT / "firmware" / "platform" / "dram.h").read_text()
    windows = [(w["offset"], w["offset"] + w["bytes"]) for w in tomllib.loads(board.read_text())["dram"]["window"]]
    parts = {
        "DRAM_RESULTS": 16 * defined(text, "DRAM_RESULT_STRIDE"),
        "DRAM_MEMORY": defined(text, "DRAM_MEMORY_SIZE"),
        "DRAM_COMMITS": 16 * defined(text, "DRAM_COMMIT_STRIDE"),
        "DRAM_LOCAL": defined(text, "DRAM_LOCAL_SIZE"),
    }
    for name, size in parts.items():
        start = defined(text, name)
        assert any(a <= start and start + size <= b for a, b in windows), f"{name}: {start:#x}, {size:#x} bytes"
