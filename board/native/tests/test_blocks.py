# SPDX-License-Identifier: BSD-3-Clause
"""Blocks by libassasin beside plain reads and writes: compared, trimmed, zeroed, and in several pieces of memory."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import pytest
from assasin.binding import library
from assasin.board import Board, NativeBoard
from assasin.drive import Drive, DriveError, Extent

BLOCK = 4096


class IoVec(ctypes.Structure):
    """struct iovec."""

    _fields_: ClassVar = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


@pytest.fixture
def drive(board: Callable[[type[Board], str], Board]) -> Iterator[Drive]:
    b = board(NativeBoard, "native-test")
    b.start("AssasinSb2x2", "test")
    with Drive(b.address) as opened:
        yield opened


def test_compare_finds_every_block_that_differs(drive: Drive) -> None:
    data = bytearray(random.Random(5).randbytes(64 * BLOCK))
    drive.write(3, bytes(data))
    assert drive.compare(3, bytes(data))
    for block in (0, 7, 8, 31, 63):
        other = bytearray(data)
        other[block * BLOCK + random.Random(block).randrange(BLOCK)] ^= 1
        assert not drive.compare(3, bytes(other)), block
    with pytest.raises(DriveError) as beyond:
        drive.compare(drive.info.blocks - 1, bytes(2 * BLOCK))
    assert beyond.value.name == "ERANGE"
    assert drive.read(3, len(data)) == data, "a comparison changes nothing"


def test_trimmed_and_zeroed_blocks_read_zeros_and_no_others_do(drive: Drive) -> None:
    data = random.Random(6).randbytes(700 * BLOCK)
    drive.write(0, data)
    # More ranges than one command has.
    extents = [Extent(2 * i, 1) for i in range(300)]
    drive.trim(extents)
    drive.write_zeroes(650, 20)
    want = bytearray(data)
    for lba, count in [*((e.lba, e.count) for e in extents), (650, 20)]:
        want[lba * BLOCK : (lba + count) * BLOCK] = bytes(count * BLOCK)
    assert drive.read(0, len(data)) == want
    last = drive.info.blocks - 1
    for refused, name in (
        (lambda: drive.trim([]), "EINVAL"),
        (lambda: drive.trim([Extent(0, 0)]), "EINVAL"),
        (lambda: drive.trim([Extent(last, 2)]), "ERANGE"),
        (lambda: drive.write_zeroes(0, 0), "EINVAL"),
        (lambda: drive.write_zeroes(last, 2), "ERANGE"),
    ):
        with pytest.raises(DriveError) as error:
            refused()
        assert error.value.name == name, error.value
    assert drive.read(0, len(data)) == want


def moved(drive: Drive, function: str, parts: Sequence[ctypes.Array[ctypes.c_char]], lengths: Sequence[int]) -> int:
    """assasin_readv() or assasin_writev() of so many bytes of each part, at block 100."""
    table = (IoVec * len(parts))(*((ctypes.addressof(p), length) for p, length in zip(parts, lengths, strict=True)))
    call = getattr(library(), function)
    call.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(IoVec), ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    return int(call(drive._handle, 100, table, len(parts), None, None))


def test_vectors_of_any_lengths(drive: Drive) -> None:
    r = random.Random(7)
    for turn in range(20):
        total, lengths = r.randrange(1, 40) * BLOCK, [0]
        while sum(lengths) < total:
            lengths.append(min(r.choice([0, 1, 3, 4095, 4096, 5000, 40000]), total - sum(lengths)))
        r.shuffle(lengths)
        data = r.randbytes(total)
        at, parts = 0, []
        for length in lengths:
            parts.append(ctypes.create_string_buffer(data[at : at + length], length + 1))
            at += length
        assert moved(drive, "assasin_writev", parts, lengths) == 0, (turn, lengths)
        assert drive.read(100, total) == data
        back = [ctypes.create_string_buffer(length + 1) for length in lengths]
        assert moved(drive, "assasin_readv", back, lengths) == 0, (turn, lengths)
        assert b"".join(p.raw[:length] for p, length in zip(back, lengths, strict=True)) == data
        assert all(p.raw[length:] == b"\0" for p, length in zip(back, lengths, strict=True)), "nothing behind a part"
