# SPDX-License-Identifier: BSD-3-Clause
"""The full size once: the demo, and the steady state of `scan`, on the 8x8 board in profile `paper`. All figures are cycles,
so the load of the machine that simulates does not matter."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
from assasin import bench, demo
from assasin.board import Board
from assasin.drive import Drive
from assasin.tree import ROOT

CONFIG = "AssasinSb8x8"
PROFILE = "paper"
SCAN_BYTES = 4 << 20

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        not (ROOT / "build" / "board" / CONFIG / "assasin-board").exists(),
        reason=f"needs scripts/build {CONFIG}: build/board is empty",
    ),
]


@pytest.fixture(scope="module")
def drive() -> Iterator[Drive]:
    board = Board(f"pytest-scale-{os.getpid()}")
    board.start(CONFIG, PROFILE, format=True)
    try:
        with Drive(board.address) as d:
            yield d
    finally:
        board.stop()
        board.erase()


def test_scan_takes_what_the_channels_give(drive: Drive) -> None:
    data = bench.bench_data("scan", SCAN_BYTES)
    drive.write(0, data)
    four, eight = bench.bench_offload(drive, "scan", data, 0, (4, 8))
    for figures in (four, eight):
        assert figures.correct
        assert figures.steady is not None
        assert figures.firmware_cycles_per_page <= 400, figures
    # Four cores are the limit, eight run into that of the channels.
    assert four.steady.bytes_per_cycle >= 0.95 * 4, four
    assert four.job.core_utilisation >= 0.95, four
    assert eight.steady.bytes_per_cycle >= 0.97 * eight.bus_limit, eight


def test_demo() -> None:
    demo.run(0.002, CONFIG, PROFILE, False)
    result = json.loads((ROOT / "build" / "demo" / "result.json").read_text())
    assert (result["config"], result["profile"]) == (CONFIG, PROFILE)
    assert [o["name"] for o in result["offloads"]] == ["scan", "stat", "filter"]
    for offload in result["offloads"]:
        assert offload["correct"] and offload["bytes"] > 0 and offload["bytes_per_cycle"] > 0
    assert result["sim_khz"] > 0 and 0 < result["firmware_cycles_per_page"] <= 400
