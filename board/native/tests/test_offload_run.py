# SPDX-License-Identifier: BSD-3-Clause
"""`assasin offload run --board`: an offload of one's own on the simulator of a core and on a board."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from assasin.board import Board, NativeBoard
from assasin.tree import ROOT

ASSASIN = ROOT / "scripts/bin/assasin"
TELLS = """#include <assasin.h>
int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    ASSASIN_STORE_U32(0, *(volatile uint32_t *)(ASSASIN_CORE_SPAD_BASE + 0xf000));
    ASSASIN_RETURN(0);
}
"""
"""What it puts out is left in the scratchpad by the firmware, which the simulator has not."""


def test_simulator_and_board_give_the_same(board: Callable[[type[Board], str], Board], tmp_path: Path) -> None:
    made = board(NativeBoard, "native-test")
    made.start("AssasinSb2x2", "test")
    data = tmp_path / "data"
    data.write_bytes(b"a line of words\n" * 1000)

    def run(source: Path) -> subprocess.CompletedProcess[str]:
        command = [ASSASIN, "offload", "run", source, data, "--board", "--name", made.name, "--json"]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    done = run(ROOT / "firmware/offload/examples/wc.c")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["bytes_out"] == [12] and answer["cycles"] > len(data.read_bytes())
    (tmp_path / "tells.c").write_text(TELLS)
    done = run(tmp_path / "tells.c")
    assert done.returncode == 1 and "differ" in done.stderr + done.stdout, done.stdout + done.stderr
