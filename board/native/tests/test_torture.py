# SPDX-License-Identifier: BSD-3-Clause
"""`assasin torture` as its users run it, and through a native board's door."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from assasin import torture
from assasin.board import Board, NativeBoard

ROOT = Path(__file__).resolve().parents[3]
RESULT = ROOT / "build" / "torture" / "result.json"
CASE = ROOT / "firmware" / "tests" / "cases" / "fua-behind-cached-write.case"
CLI = [sys.executable, "-m", "assasin", "torture"]
Make = Callable[[type[Board], str], Board]


def environment() -> dict[str, str]:
    """With the tree's packages."""
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'host-driver/python'}:{ROOT / 'build/gen/python'}"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command."""
    return subprocess.run([*CLI, *arguments], env=environment(), capture_output=True, text=True, check=False, timeout=600)


def test_cuts_leave_a_result() -> None:
    RESULT.unlink(missing_ok=True)
    done = run("--cuts", "50", "--seed", "7", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(RESULT.read_text())
    assert json.loads(done.stdout) == result
    assert (result["board"], result["seed"]) == ("native", 7)
    assert result["cuts"] >= 50
    assert (result["lost"], result["unbootable"], result["rules_broken"]) == (0, 0, 0)
    assert result["blocks_read"] > 0, "something was compared"


def test_a_case_is_played_again() -> None:
    done = run("--replay", str(CASE), "--around")
    assert done.returncode == 0, done.stderr
    assert "nothing is wrong" in " ".join(done.stdout.split())


def test_a_finding_is_told(tmp_path: Path) -> None:
    # A drive with room for nothing beside its spare blocks refuses; with `rules room` that is a finding.
    case = tmp_path / "refused.case"
    fill = "".join(f"  write {lba} 64\n" for _ in range(2) for lba in range(0, 4096, 64))
    case.write_text(f"seed 1\npart channels=1 ways=2 blocks=14 pages=16\nmedia\nrules room\nlife depth=4\n{fill}")
    done = run("--replay", str(case), "--json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["findings"]
    assert [f["found"] for f in found] == ["rule"]
    assert "write" in found[0]["why"]


def test_an_interrupt_keeps_what_was_done() -> None:
    RESULT.unlink(missing_ok=True)
    process = subprocess.Popen(
        [*CLI, "--cuts", "100000000"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    time.sleep(5)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    result = json.loads(RESULT.read_text())
    assert result["interrupted"]
    assert result["lost"] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cuts", "0"], "--cuts"),
        (["--around"], "--replay"),
        (["--board", "virtual", "--workers", "2"], "native board"),
        (["--replay", "no-such.case"], "no-such.case"),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], words: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_case_names_its_line(tmp_path: Path) -> None:
    case = tmp_path / "wrong.case"
    case.write_text("seed 1\nlife depth=0\n")
    done = run("--replay", str(case))
    assert done.returncode == 2
    assert "line 2 (life depth=0)" in done.stderr


def through_door(board: Board, config: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The program, with this board behind a door."""
    power = torture.Power(board, config, "test", "tearing=true")
    try:
        return torture.run(["--door", "--out", str(torture.FOLDER), *arguments], lambda _event: None, power)
    finally:
        power.off()


def test_cuts_through_the_door(board: Make) -> None:
    code, last = through_door(board(NativeBoard, "native-torture"), "AssasinSb2x2", "--cuts", "6", "--seed", "3")
    assert code == 0
    assert last["cuts"] >= 6
    assert last["blocks_read"] > 0
    assert last["lost"] == last["unbootable"] == last["rules_broken"] == 0


def test_seconds_end_a_run_through_the_door(board: Make) -> None:
    began = time.monotonic()
    code, last = through_door(board(NativeBoard, "native-torture"), "AssasinSb2x2", "--cuts", "100000", "--seconds", "4")
    assert code == 0
    assert last["cuts"] < 100000
    assert time.monotonic() - began < 60


def test_a_board_that_cannot_start_is_no_finding(board: Make) -> None:
    with pytest.raises(torture.TortureError, match="AssasinNo2x2"):
        through_door(board(NativeBoard, "native-torture"), "AssasinNo2x2", "--cuts", "1")


@pytest.mark.parametrize("seen", [1, 2, 3])
def test_a_board_that_the_program_has_just_killed_is_off(seen: int) -> None:
    """The process ends between one of the looks at it and the kill."""
    process = subprocess.Popen(["sleep", "60"])

    class Ending(Board):
        looks = 0

        def pid(self) -> int | None:
            self.looks += 1
            return process.pid if self.looks <= seen else None

    board = Ending("ending")
    try:
        torture.Power(board, "AssasinSb2x2", "test", "").off()
    finally:
        process.kill()
        process.wait()
    assert board.looks > seen
