# SPDX-License-Identifier: BSD-3-Clause
"""The whole drive at 2x2 on packages that behave badly (board/virtual/nand/README.md, "How the medium behaves")."""

from __future__ import annotations

import os
import random
import re
import threading
from collections.abc import Iterator

import pytest
from assasin import offloads
from assasin.board import Board, BoardError
from assasin.descriptions import OffloadError
from assasin.drive import Drive, DriveError, Extent

CONFIG = "AssasinSb2x2"
PROFILE = "test"
BLOCK = 4096
CHUNK = 8
"""Blocks of a write."""

pytestmark = pytest.mark.system(CONFIG)


@pytest.fixture
def board() -> Iterator[Board]:
    b = Board(f"pytest-media-{os.getpid()}")
    yield b
    b.stop()
    b.erase()


def content(lba: int, version: int) -> bytes:
    return random.Random(f"{lba} {version}").randbytes(CHUNK * BLOCK)


def test_a_wrong_key_costs_no_board_that_runs(board: Board) -> None:
    board.start(CONFIG, PROFILE, format=True)
    pid = board.pid()
    with pytest.raises(BoardError, match="there is no 'rbre': choose from rber, wear-rber"):
        board.start(CONFIG, PROFILE, media="rbre=1e-4")
    assert board.pid() == pid
    with Drive(board.address) as drive:
        drive.write(0, content(0, 0))


def test_raw_errors_are_corrected(board: Board) -> None:
    board.start(CONFIG, PROFILE, format=True, media="rber=5e-4,random-share=0.2,page-spread=0.2,seed=3")
    with Drive(board.address) as drive:
        for lba in range(0, 512, CHUNK):
            drive.write(lba, content(lba, 0))
        drive.flush()
        for lba in range(0, 512, CHUNK):
            assert drive.read(lba, CHUNK * BLOCK) == content(lba, 0)
    assert board.status()["nand_bit_errors"] > 512 * BLOCK * 8 * 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_power_cuts_tear_nothing_that_was_acknowledged(board: Board, seed: int) -> None:
    choice = random.Random(seed)
    versions: dict[int, int] = {}
    cut_operations = 0
    session = -1
    # A cut at a moment of the host's clock may find no operation under way: there is another one then.
    while session < 3 or (cut_operations == 0 and session < 15):
        session += 1
        board.start(CONFIG, PROFILE, format=session == 0, media=f"tearing=true,rber=1e-4,seed={seed * 16 + session}")
        cut_operations += board.status()["nand_cut_operations"]
        drive = Drive(board.address)
        for lba, version in versions.items():
            have = drive.read(lba, CHUNK * BLOCK)
            assert have == content(lba, version), f"blocks {lba} to {lba + CHUNK - 1}, session {session}"
        power = threading.Timer(choice.uniform(0.5, 1.5), board.kill)
        power.start()
        asked: tuple[int, int] | None = None
        with pytest.raises(DriveError):
            while True:
                lba = choice.randrange(0, 512, CHUNK)
                asked = (lba, session * 100_000 + choice.randrange(100_000))
                drive.write(lba, content(*asked))
                versions[lba] = asked[1]
        power.join()
        # What was under way may be old or new, block by block.
        assert asked is not None
        versions.pop(asked[0], None)
        with pytest.raises(DriveError):
            drive.close()
    assert cut_operations > 0


def test_a_die_that_dies_ends_reads_and_functions_with_its_blocks(board: Board) -> None:
    board.start(CONFIG, PROFILE, format=True, media="dead-die=1.3.0,dead-after=60", parity=False)
    with Drive(board.address) as drive:
        for lba in range(0, 64, CHUNK):
            drive.write(lba, content(lba, 0))
        drive.flush()
        # It dies when it has been read often enough.
        with pytest.raises(OffloadError) as error:
            for _ in range(20):
                offloads.run(drive, "scan", [Extent(0, 64)], 64 * BLOCK, pieces=1)
        said = re.search(r"ends with MEDIA_ERROR at byte (\d+) of input stream 0, LBA (\d+): ", str(error.value))
        assert said is not None, error.value
        lost = []
        for lba in range(64):
            want = content(lba - lba % CHUNK, 0)[lba % CHUNK * BLOCK :][:BLOCK]
            try:
                assert drive.read(lba, BLOCK) == want
            except DriveError as e:
                assert "unrecovered read error" in str(e).lower()
                lost.append(lba)
        # One of 2 channels x 4 ways.
        assert len(lost) == 64 // 8
        assert int(said[1]) == int(said[2]) * BLOCK
        assert int(said[2]) in lost
        media = drive.media()
        assert media.error_lba[0] == lost[-1]
        assert media.error_address[0] >> 24 == 0x13
        assert media.lost >= len(lost)


def test_a_die_that_dies_costs_nothing_with_parity(board: Board) -> None:
    """The drive rebuilds the die's blocks of those on the other dies, for reads and for functions."""
    board.start(CONFIG, PROFILE, format=True, media="dead-die=1.3.0,dead-after=60", parity=True)
    with Drive(board.address) as drive:
        for lba in range(0, 64, CHUNK):
            drive.write(lba, content(lba, 0))
        drive.flush()
        written = b"".join(content(lba, 0) for lba in range(0, 64, CHUNK))
        for _ in range(20):
            pieces = offloads.run(drive, "scan", [Extent(0, 64)], 64 * BLOCK, pieces=1)
            assert offloads.scan_result(pieces) == offloads.expected_scan(written)
        for lba in range(64):
            assert drive.read(lba, BLOCK) == written[lba * BLOCK :][:BLOCK]
        media = drive.media()
        assert media.lost == 0
        assert media.rebuilt > 0
