# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that run while their caller does something else: several at once, awaited, cancelled, and with a board that goes away."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from assasin import offloads
from assasin.board import Board, NativeBoard
from assasin.drive import Drive, DriveError, Execution, Extent
from assasin.job import Input, Job, Piece
from assasin.tree import ROOT

CONFIG, PROFILE = "AssasinSb2x2", "test"
BLOCK = 4096
PARTS, PART_BLOCKS = 4, 64

Make = Callable[[type[Board], str], Board]


class Columns:
    """Columns of 32-bit values in a drive, and jobs over them."""

    def __init__(self, board: Board, drive: Drive) -> None:
        seed = random.randrange(1 << 30)
        print("seed", seed)
        self.board = board
        self.drive = drive
        numbers = random.Random(seed)
        self.parts = [numbers.randbytes(PART_BLOCKS * BLOCK) for _ in range(PARTS)]
        for i, part in enumerate(self.parts):
            drive.write(i * PART_BLOCKS, part)
        self.stat = drive.load(offloads.load(drive, "stat"))

    def job(self, part: int) -> Job:
        """`stat` over a column."""
        return Job(self.stat, [[Input([Extent(part * PART_BLOCKS, PART_BLOCKS)], PART_BLOCKS * BLOCK)]], max_cores=1)

    def fed(self, part: int) -> Job:
        """The same, with a column that the host sends."""
        return Job(self.stat, [[Input.of(self.parts[part])]], max_cores=1)

    def right(self, part: int, pieces: list[Piece]) -> bool:
        """Whether these are the results of a column."""
        return offloads.stat_result(pieces) == offloads.expected_stat(self.parts[part])


@pytest.fixture
def columns(board: Make) -> Iterator[Columns]:
    b = board(NativeBoard, "native-test")
    b.start(CONFIG, PROFILE)
    with Drive(b.address) as drive:
        yield Columns(b, drive)


def wait(drive: Drive, executions: list[Execution], seconds: float = 60) -> None:
    """Waits for the drive's events until all have ended."""
    loop = select.poll()
    loop.register(drive.event_fd(), select.POLLIN)
    end = time.monotonic() + seconds
    while not all(e.ended for e in executions):
        assert time.monotonic() < end, "the jobs have not ended"
        assert loop.poll(10_000), "ten seconds without an event while jobs run"
        drive.poll()


def test_several_jobs_at_once_by_events(columns: Columns) -> None:
    drive = columns.drive
    executions = [drive.start(columns.fed(i) if i % 2 else columns.job(i)) for i in range(PARTS)]
    assert not any(e.ended for e in executions), "start() does not wait"
    wait(drive, executions)
    for i, execution in enumerate(executions):
        assert columns.right(i, execution.result())
    with pytest.raises(DriveError, match="taken before") as caught:
        executions[0].result()
    assert caught.value.code == errno.EBADF
    # Nothing is in flight any more: the descriptor is quiet, so that an event loop sleeps.
    drive.poll()
    assert not select.select([drive.event_fd()], [], [], 0.3)[0]


def test_jobs_go_on_while_other_calls_wait(columns: Columns) -> None:
    drive = columns.drive
    execution = drive.start(columns.job(0))
    end = time.monotonic() + 60
    while not execution.ended:
        assert time.monotonic() < end
        assert drive.read(PART_BLOCKS, BLOCK * 4) == columns.parts[1][: BLOCK * 4]
        assert columns.right(2, drive.run_job(columns.job(2)))
    assert columns.right(0, execution.result())


def test_each_job_has_its_own_failure(columns: Columns) -> None:
    drive = columns.drive
    bad = drive.start(Job(columns.stat, [[Input([Extent(drive.info.blocks, 1)], BLOCK)]]))
    cancelled = drive.start(Job(columns.stat, [[Input([Extent(0, PARTS * PART_BLOCKS)], PARTS * PART_BLOCKS * BLOCK)]]))
    cancelled.cancel()
    good = drive.start(columns.job(3))
    unknown = drive.start(Job(0xBEEF, [[Input([Extent(0, 1)], BLOCK)]]))
    wait(drive, [bad, cancelled, good, unknown])
    with pytest.raises(DriveError, match="extent 0"):
        bad.result()
    with pytest.raises(DriveError, match="canceled by the caller") as caught:
        cancelled.result()
    assert caught.value.code == errno.ECANCELED
    assert columns.right(3, good.result())
    with pytest.raises(DriveError) as caught:
        unknown.result()
    assert caught.value.code in (errno.EBADF, errno.ESTALE)
    with pytest.raises(DriveError, match="a job has 1"):
        drive.start(Job(columns.stat, []))
    with pytest.raises(ValueError, match="no tick"):
        drive.start(Job(columns.stat, [[Input([Extent(0, 1)], BLOCK)]], tick=lambda: None))


def test_result_waits(columns: Columns) -> None:
    first, second = columns.drive.start(columns.job(0)), columns.drive.start(columns.job(1))
    assert columns.right(1, second.result())
    assert columns.right(0, first.result())


def test_tasks_of_an_event_loop(columns: Columns) -> None:
    drive = columns.drive
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def main() -> None:
        counter = asyncio.create_task(count())
        for _ in range(3):
            found = await asyncio.gather(*(drive.run_async(columns.job(i)) for i in range(PARTS)))
            assert all(columns.right(i, pieces) for i, pieces in enumerate(found))
        whole = Job(columns.stat, [[Input([Extent(0, PARTS * PART_BLOCKS)], PARTS * PART_BLOCKS * BLOCK)]])
        given_up = asyncio.create_task(drive.run_async(whole))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        # The aborted job's end is taken by the loop, beside others.
        assert columns.right(0, await drive.run_async(columns.job(0)))
        with pytest.raises(DriveError, match="extent 0"):
            await drive.run_async(Job(columns.stat, [[Input([Extent(drive.info.blocks, 1)], BLOCK)]]))
        counter.cancel()

    asyncio.run(main())
    assert turns > 100, f"the loop went on {turns} times only"
    assert columns.right(1, drive.run_job(columns.job(1)))
    asyncio.run(main())


def test_random_use(columns: Columns) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw, drive = random.Random(seed), columns.drive
    running: list[tuple[int, Execution, bool]] = []
    for _ in range(150):
        match draw.choice(("start", "start", "poll", "sleep", "cancel", "finish", "read", "run")):
            case "start" if len(running) < 6:
                part = draw.randrange(PARTS)
                running.append((part, drive.start(draw.choice((columns.job, columns.fed))(part)), False))
            case "poll":
                drive.poll()
            case "sleep":
                select.select([drive.event_fd()], [], [], draw.random() / 100)
            case "cancel" if running:
                at = draw.randrange(len(running))
                part, execution, _ = running[at]
                execution.cancel()
                running[at] = part, execution, True
            case "finish" if running:
                finish(columns, *running.pop(draw.randrange(len(running))))
            case "read":
                part, first = draw.randrange(PARTS), draw.randrange(PART_BLOCKS)
                assert drive.read(part * PART_BLOCKS + first, BLOCK) == columns.parts[part][first * BLOCK : (first + 1) * BLOCK]
            case "run":
                assert columns.right(0, drive.run_job(columns.job(0)))
    wait(drive, [execution for _, execution, _ in running])
    for one in running:
        finish(columns, *one)


def finish(columns: Columns, part: int, execution: Execution, cancelled: bool) -> None:
    """A job ends as it should: with its result, unless it was cancelled before it ended."""
    try:
        assert columns.right(part, execution.result())
    except DriveError as error:
        assert cancelled and error.code == errno.ECANCELED, error


def test_close_cancels_what_runs(board: Make) -> None:
    b = board(NativeBoard, "native-test")
    b.start(CONFIG, PROFILE)
    with Drive(b.address) as drive:
        columns = Columns(b, drive)
        left = [drive.start(columns.job(i)) for i in range(PARTS)]
    assert all(e.ended for e in left)
    with pytest.raises(DriveError, match="its drive is closed"):
        left[0].result()
    with Drive(b.address) as columns.drive:
        columns.stat = columns.drive.load(offloads.load(columns.drive, "stat"))
        assert columns.right(2, columns.drive.run_job(columns.job(2)))


def test_a_board_that_goes_away_is_noticed_by_events(columns: Columns) -> None:
    drive = columns.drive

    async def main() -> None:
        running = [asyncio.create_task(drive.run_async(columns.job(i))) for i in range(PARTS)]
        await asyncio.sleep(0)
        pid = columns.board.pid()
        assert pid is not None
        os.kill(pid, 9)
        ends = await asyncio.wait_for(asyncio.gather(*running, return_exceptions=True), 20)
        assert all(isinstance(e, DriveError) and e.code == errno.ENODEV for e in ends), ends

    asyncio.run(main())
    with pytest.raises(DriveError):
        drive.run_job(columns.job(0))
    drive.abandon()


def test_the_example_in_c_under_sanitizers(board: Make, tmp_path: Path) -> None:
    b = board(NativeBoard, "native-test")
    b.start(CONFIG, PROFILE)
    with Drive(b.address) as drive:
        parts = Columns(b, drive).parts
        function = offloads.elf_path("stat", drive.variant())
    host, program = ROOT / "host-driver", tmp_path / "columns"
    flags = ["-std=c11", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    folders = [host / "include", host / "src", ROOT / "build/gen/c", ROOT / "board/virtual/pciproxy"]
    sources = [host / "examples/columns.c", *sorted((host / "src").glob("*.c"))]
    subprocess.run(["gcc", *flags, *(f"-I{f}" for f in folders), *sources, "-o", program, "-lpthread"], check=True)
    words = [program, b.address, function, str(PARTS), str(PART_BLOCKS * BLOCK)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = [offloads.expected_stat(part) for part in parts]
    lines = {f"column {i}: count {w.count}, min {w.min}, max {w.max}, sum {w.sum}" for i, w in enumerate(wanted)}
    assert set(done.stdout.splitlines()) == lines
    # The third column ends past the drive's end: what runs beside it is cancelled, and nothing leaks.
    words[-2:] = ["3", str(drive.info.blocks * drive.info.block_bytes // 2)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1 and "columns: running a job: " in done.stderr and "LeakSanitizer" not in done.stderr, done.stderr
