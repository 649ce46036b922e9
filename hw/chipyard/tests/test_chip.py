# SPDX-License-Identifier: BSD-3-Clause
"""
Chips of a Chipyard checkout: its generator elaborates them, and the virtual board runs the demonstration on one.

CHIPYARD_DIR names the checkout; without it everything here is left out. Leaves build/chipyard/result.json.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assasin.board import Board
from assasin.bringup.link import VirtualLink

ROOT = Path(__file__).resolve().parents[3]
RESET = 0x8004
"""CTRL.RESET in BAR0."""
CHECKOUT = os.environ.get("CHIPYARD_DIR", "")
ELABORATED = ["AssasinSb2x2Config", "AssasinSb2x2RV64Config"]
BOARDS = ["ChipyardAssasin2x2"]

pytestmark = pytest.mark.skipif(not CHECKOUT, reason="CHIPYARD_DIR is not set: no Chipyard checkout to elaborate and run chips of")


@pytest.fixture(scope="module")
def configs() -> Iterator[dict[str, dict[str, Any]]]:
    """What became of each configuration, by name; written when all have been tried."""
    known: dict[str, dict[str, Any]] = {
        name: {"name": name, "elaborated": False, "simulated": False, "demo_correct": None, "sim_khz": None}
        for name in [*ELABORATED, *(f"{board}Config" for board in BOARDS)]
    }
    yield known
    commit = subprocess.run(["git", "-C", CHECKOUT, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    chisel = re.search(r'val chisel6Version = "([^"]+)"', (Path(CHECKOUT) / "build.sbt").read_text())
    path = ROOT / "build" / "chipyard" / "result.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"chipyard_commit": commit, "chisel": chisel and chisel[1], "configs": list(known.values())}, indent=2) + "\n"
    )


@pytest.mark.parametrize("name", ELABORATED)
def test_elaborates(name: str, configs: dict[str, dict[str, Any]]) -> None:
    began = time.time()
    done = subprocess.run(
        [ROOT / "scripts" / "chipyard", CHECKOUT, "--elaborate", name], capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    firrtl = Path(CHECKOUT) / "generated" / name / f"{name}.fir"
    assert firrtl.stat().st_mtime >= began, "an older run's FIRRTL"
    configs[name]["elaborated"] = True


@pytest.mark.parametrize("board", BOARDS)
def test_runs_the_demonstration(board: str, configs: dict[str, dict[str, Any]]) -> None:
    """scripts/test has built the board (scripts/build)."""
    config = configs[f"{board}Config"]
    assert (ROOT / "build" / "board" / board / "assasin-board").exists(), f"CHIPYARD_DIR is set, but {board} has not been built"
    config["elaborated"] = True
    result = ROOT / "build" / "demo" / "result.json"
    result.unlink(missing_ok=True)
    done = subprocess.run(
        [ROOT / "scripts" / "bin" / "assasin", "demo", "--config", board, "--sf", "0.001"],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert result.exists(), done.stdout[-4000:] + done.stderr[-2000:]
    found = json.loads(result.read_text())
    config.update(simulated=True, demo_correct=found["correct"], sim_khz=found["sim_khz"])
    assert found["correct"]
    assert found["config"] == board


def test_the_clock_stands_while_nothing_happens() -> None:
    """A board that has booted and has no host leaves the processor alone."""
    board = Board("chipyard-idle")
    board.start(BOARDS[0], "test", format=True)
    try:
        end = time.monotonic() + 300
        while "boot: " not in board.paths.console_log.read_text(errors="replace"):
            assert time.monotonic() < end, "the firmware does not boot"
            time.sleep(0.2)
        time.sleep(3)

        def used() -> float:
            fields = Path(f"/proc/{board.pid()}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before = used()
        time.sleep(5)
        share = (used() - before) / 5
        assert share < 0.05, f"the idle board takes {100 * share:.0f} % of a processor"
    finally:
        board.stop()
        board.erase()


def test_reset_holds_the_tile_at_any_moment() -> None:
    """CTRL.RESET.FW amid the firmware's boot, again and again: each time the tile begins anew, and the last boot ends."""
    board = Board("chipyard-reset")
    board.start(BOARDS[0], "test", format=True)
    moments = random.Random(1)
    try:

        def printed(text: str) -> int:
            return board.paths.console_log.read_text(errors="replace").count(text)

        def wait(text: str, count: int) -> None:
            end = time.monotonic() + 300
            while printed(text) < count:
                assert time.monotonic() < end, f"'{text}' was printed {printed(text)} times, not {count}: the tile stands"
                time.sleep(0.2)

        formatted = printed("drive: ")
        with VirtualLink(board) as link:
            for i in range(6):
                boots = printed("ASSASIN firmware")
                link.write(RESET, 1)
                held = printed("ASSASIN firmware")
                time.sleep(0.5)
                assert printed("ASSASIN firmware") == held, "the tile runs in reset"
                link.write(RESET, 0)
                wait("ASSASIN firmware", boots + 1)
                time.sleep(moments.uniform(0, 3) if i < 5 else 0)
        wait("drive: ", formatted + 1)
    finally:
        board.stop()
        board.erase()
