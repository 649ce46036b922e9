# SPDX-License-Identifier: BSD-3-Clause
"""The whole drive at 2x2 on packages of the shape of real modules': pages of 16 KiB, blocks that are no power of two, no exact
times in the parameter page (board/virtual/parts/tiny-16k.toml). The board ends the run when the firmware is too fast for it."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from assasin import offloads
from assasin.board import Board
from assasin.bringup import nand
from assasin.drive import Drive, DriveError, Extent

CONFIG = "AssasinSb2x2"
PROFILE = "test-16k"
BLOCK = 4096
CHUNK = 16 * BLOCK
# Blocks: channels, ways and planes, pages, sectors.
SUPERBLOCK = 2 * 8 * 32 * 4

pytestmark = pytest.mark.system(CONFIG)


@pytest.fixture
def board() -> Iterator[Board]:
    b = Board(f"pytest-parts-{os.getpid()}")
    yield b
    b.stop()
    b.erase()


def image(board: Board) -> Path:
    return board.paths.folder / f"image-{CONFIG}-{PROFILE}" / "nand.img"


def test_write_read_offload_restart(board: Board) -> None:
    data = random.Random(16).randbytes(12 * CHUNK)
    board.start(CONFIG, PROFILE, format=True)
    with Drive(board.address) as drive:
        console = board.paths.console_log.read_text()
        assert "2 planes x 11 blocks x 32 pages x 16384+2208 B" in console
        assert "4 sectors a page, each of 4 codewords of which 70 bits can be corrected, 4600 B" in console
        # From one end of the drive to the other.
        places = [i * (drive.info.blocks - CHUNK // BLOCK) // 11 for i in range(12)]
        for i, lba in enumerate(places):
            drive.write(lba, data[i * CHUNK :][:CHUNK])
        extents = [Extent(lba, CHUNK // BLOCK) for lba in places]

        def check() -> None:
            for i, lba in enumerate(places):
                assert drive.read(lba, CHUNK) == data[i * CHUNK :][:CHUNK]
            pieces = offloads.run(drive, "scan", extents, len(data))
            assert offloads.scan_result(pieces) == offloads.expected_scan(data)

        check()
        drive.flush()
    written = image(board).stat().st_blocks * 512
    assert written < 4 * len(data), "the image holds what the drive leaves out of the pages"
    board.stop()

    board.start(CONFIG, PROFILE)
    drive = Drive(board.address)
    check()
    # Power fails with the last writes in the log alone.
    random.Random(17).shuffle(places)
    for i, lba in enumerate(places):
        drive.write(lba, data[i * CHUNK :][:CHUNK])
    drive.flush()
    extents = [Extent(lba, CHUNK // BLOCK) for lba in places]
    board.kill()
    with pytest.raises(DriveError, match="not shut down"):
        drive.close()

    board.start(CONFIG, PROFILE)
    with Drive(board.address) as drive:
        console = board.paths.console_log.read_text()
        found = re.search(r"\[ *(\d+)\] ftl: up to .*\n\[ *(\d+)\] ftl: recovered 192 pages", console)
        assert found is not None, console
        # The log is read once, and as many rounds of a page of every way behind it as prove its end: one for each of the four
        # planes of two LUNs and one more, two for parity, and eight for programs that may have failed. Sectors of 4,600 bytes,
        # a byte in two cycles, on two channels.
        bus = (192 + (4 + 1 + 2 + 8) * 2 * 2 * 4) * 4600 * 2 // 2
        assert int(found[2]) - int(found[1]) < 2 * bus
        check()


@pytest.mark.parametrize("part", ["cosmosplus", "cosmosplus-hynix"])
def test_modules_of_real_boards(board: Board, part: str) -> None:
    """Their whole geometry, errors and tearing; without bad blocks, whose marks take minutes to read in
    simulation: firmware/tests/test_marks.cpp has them."""
    data = random.Random(18).randbytes(4 * CHUNK)
    board.start(CONFIG, part, format=True, media="factory-bad=0")
    with Drive(board.address) as drive:
        places = [i * (drive.info.blocks - CHUNK // BLOCK) // 3 for i in range(4)]
        for i, lba in enumerate(places):
            drive.write(lba, data[i * CHUNK :][:CHUNK])
        extents = [Extent(lba, CHUNK // BLOCK) for lba in places]
        pieces = offloads.run(drive, "scan", extents, len(data))
        assert offloads.scan_result(pieces) == offloads.expected_scan(data)
        drive.flush()
    board.stop()

    board.start(CONFIG, part, media="factory-bad=0")
    drive = Drive(board.address)
    assert "clean medium" in board.paths.console_log.read_text()
    random.Random(19).shuffle(places)
    for i, lba in enumerate(places):
        drive.write(lba, data[i * CHUNK :][:CHUNK])
    drive.flush()
    board.kill()
    with pytest.raises(DriveError, match="not shut down"):
        drive.close()

    board.start(CONFIG, part, media="factory-bad=0")
    with Drive(board.address) as drive:
        assert "recovered 64 pages" in board.paths.console_log.read_text()
        for i, lba in enumerate(places):
            assert drive.read(lba, CHUNK) == data[i * CHUNK :][:CHUNK]


def test_blocks_that_came_bad(board: Board) -> None:
    """Four of 176 blocks are left out one by one, one of them where checkpoints are; the others of their superblocks are used."""
    media = "factory-bad=0.012,tearing=true,seed=2"
    data = random.Random(20).randbytes(12 * CHUNK)
    board.start(CONFIG, PROFILE, format=True, media=media)
    drive = Drive(board.address)
    assert "4 of 176 blocks came bad" in board.paths.console_log.read_text()
    # Eight superblocks hold data: of eleven, one has root records and two have checkpoints. Four of them are to write at all.
    capacity = drive.info.blocks
    assert 3 * SUPERBLOCK < capacity < 4 * SUPERBLOCK
    found = list(nand.blocks(drive, nand.plan(drive, nand.Choice(sample=0, step=0)), lambda done, of: None))
    marked = [b for b in found if b.marked]
    assert len(marked) == 4
    assert 1 in {b.block for b in marked}
    assert [b for b in found if b.state == "came bad"] == marked
    assert {b.block for b in found if b.state == "drive's own"} == {0, 1, 2}
    places = [i * (drive.info.blocks - CHUNK // BLOCK) // 11 for i in range(12)]

    def write() -> None:
        for i, lba in enumerate(places):
            drive.write(lba, data[i * CHUNK :][:CHUNK])
        drive.flush()

    def check() -> None:
        for i, lba in enumerate(places):
            assert drive.read(lba, CHUNK) == data[i * CHUNK :][:CHUNK]

    write()
    board.kill()
    with pytest.raises(DriveError, match="not shut down"):
        drive.close()
    # Before the first checkpoint that anybody asked for: the log goes around them all the same.
    board.start(CONFIG, PROFILE, media=media)
    with Drive(board.address) as drive:
        assert "recovered 192 pages" in board.paths.console_log.read_text()
        check()
        random.Random(21).shuffle(places)
        write()
    board.stop()
    board.start(CONFIG, PROFILE, media=media)
    with Drive(board.address) as drive:
        assert "clean medium" in board.paths.console_log.read_text()
        assert drive.info.blocks == capacity
        check()
