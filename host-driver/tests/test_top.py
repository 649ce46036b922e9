# SPDX-License-Identifier: BSD-3-Clause
"""`assasin top` beside a job, and what it makes of two samples of the counters."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest
from assasin import bench, offloads, top
from assasin.board import Board
from assasin.drive import Drive, Extent
from assasin.tree import ROOT

CONFIG = "AssasinSb2x2"
NAME = f"pytest-top-{os.getpid()}"
ASSASIN = str(ROOT / "scripts/bin/assasin")

HEADING = {
    "config": CONFIG,
    "core_counters": ["cycles", "instret", "wait_in", "wait_out", "wait_mem"],
    "channel_counters": ["bus_busy", "data_bytes"],
}
SUMS = ("clocked", "firmware_sleep", "c2h_bytes", "h2c_bytes", "dram_read_bytes", "dram_write_bytes", "array_reads")


def sample(timebase: int, core: list[int], channel: list[int], **sums: int) -> dict[str, object]:
    zero = dict.fromkeys((*SUMS, "array_programs", "array_erases"), 0)
    return zero | sums | {"timebase": timebase, "cores": [core], "slots": [], "channels": [channel]}


def test_shares_are_of_the_interval() -> None:
    before = sample(1000, [900, 0, 100, 100, 100], [500, 4096], firmware_sleep=1000, clocked=10, c2h_bytes=7)
    after = sample(3000, [1900, 0, 400, 200, 300], [1500, 8192], firmware_sleep=1500, clocked=1010, c2h_bytes=4007)
    f = top.frame(Board(NAME), HEADING, before, after, 0.5)
    assert (f.cycles, f.khz, f.firmware, f.to_host, f.from_host, f.visitor) == (2000, 2.0, 0.75, 2.0, 0.0, None)
    assert f.channels == (top.Channel(0.5, 2.048),)
    (core,) = f.cores
    assert (core.computing, core.input, core.output, core.memory) == (0.2, 0.15, 0.05, 0.1)


def test_a_board_whose_time_stands_still() -> None:
    still = sample(1000, [900, 0, 0, 0, 0], [500, 4096])
    f = top.frame(Board(NAME), HEADING, still, still, 1.0)
    assert (f.cycles, f.khz, f.firmware, f.cores[0].computing, f.channels[0].busy) == (0, 0, 0, 0, 0)


def test_a_bar_is_never_longer_than_it_may_be() -> None:
    for shares in ((0.0, 0.0), (1.0, 0.0), (0.5, 0.5), (0.7, 0.9), (0.01, 0.01), (1 / 3, 1 / 3)):
        assert len(top.bar(*((share, "red") for share in shares))) == top.BAR


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    b = Board(NAME)
    b.start(CONFIG, "test", format=True)
    yield b
    b.stop()
    b.erase()


def command(*words: str) -> list[str]:
    return [ASSASIN, "top", "--name", NAME, *words]


@pytest.mark.system(CONFIG)
def test_beside_a_job_it_shows_channels_and_cores_at_work(board: Board) -> None:
    data = bench.random_data(1 << 20)
    frames = []
    with Drive(board.address) as drive:
        drive.write(0, data)
        watching = subprocess.Popen(command("--json", "--every", "0.2"), stdout=subprocess.PIPE, text=True)
        assert watching.stdout is not None
        try:
            frames.append(json.loads(watching.stdout.readline()))
            reader = threading.Thread(target=lambda: frames.extend(json.loads(line) for line in watching.stdout or ()))
            reader.start()
            pieces = offloads.run(drive, "scan", [Extent(0, 256)], len(data))
            time.sleep(0.5)
        finally:
            watching.send_signal(signal.SIGINT)
            assert watching.wait(30) == 0, "Ctrl-C is how one leaves"
            reader.join()
    assert offloads.scan_result(pieces) == offloads.expected_scan(data)
    assert all(f["visitor"] and str(os.getpid()) in f["visitor"] for f in frames)
    moved = sum(sum(c["bytes_per_cycle"] for c in f["channels"]) * f["cycles"] for f in frames)
    assert moved == pytest.approx(len(data), rel=0.05), "each byte of the job in one interval"
    for i in range(2):
        assert max(f["cores"][i]["computing"] for f in frames) > 0.1
    shares = [s for f in frames for core in f["cores"] for s in core.values()]
    assert min(shares) >= 0 and max(sum(core.values()) for f in frames for core in f["cores"]) <= 1.001


@pytest.mark.system(CONFIG)
def test_lines_in_a_pipe_and_what_is_refused(board: Board) -> None:
    done = subprocess.run(command("--count", "2", "--every", "0.1"), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.count("B/cycle") == 4 and not done.stderr, done
    refused = subprocess.run([ASSASIN, "top", "--name", "no-such-board"], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "no board is running under the name 'no-such-board'" in refused.stderr
    refused = subprocess.run(command("--every", "0"), capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2 and "0.1" in refused.stderr


@pytest.mark.system(CONFIG)
def test_a_board_that_ends_meanwhile_is_said(board: Board) -> None:
    watching = subprocess.Popen(command("--every", "0.2"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert watching.stdout is not None and watching.stdout.readline()
    board.stop()
    _, said = watching.communicate(timeout=60)
    assert watching.returncode == 1 and "has ended" in said and "Traceback" not in said, said
    board.start(CONFIG, "test")
