# SPDX-License-Identifier: BSD-3-Clause
"""assasin_split: pieces cover the table once, in order, at record and block boundaries."""

from __future__ import annotations

import random

import pytest
from assasin.drive import DriveError, Extent, split

BLOCK = 4096


def blocks(extents: list[Extent]) -> list[int]:
    return [b for e in extents for b in range(e.lba, e.lba + e.count)]


@pytest.mark.parametrize("seed", range(60))
def test_pieces_cover_the_table(seed: int) -> None:
    r = random.Random(seed)
    extents, lba = [], 0
    for _ in range(r.randint(1, 6)):
        lba += r.randint(0, 5)
        extents.append(Extent(lba, r.randint(1, 20)))
        lba += extents[-1].count
    held = sum(e.count for e in extents) * BLOCK
    length = held - r.randint(0, BLOCK - 1)
    record = r.choice([1, 4, 24, 32, 64, 4096, 6144, 12288])
    asked = r.randint(1, 12)
    pieces = split(extents, length, record, BLOCK, asked)
    assert 1 <= len(pieces) <= asked
    assert sum(p.bytes for p in pieces) == length
    assert blocks([e for p in pieces for e in p.extents]) == blocks(extents)
    for p in pieces[:-1]:
        assert p.bytes % record == 0
        assert p.bytes % BLOCK == 0
    for p in pieces:
        assert 0 <= sum(e.count for e in p.extents) * BLOCK - p.bytes < BLOCK
    if len(pieces) > 1 and len(pieces) == asked:
        step = pieces[0].bytes
        assert max(p.bytes for p in pieces) == step


def test_a_table_longer_than_its_extents_is_refused() -> None:
    with pytest.raises(DriveError, match="hold 4096 bytes"):
        split([Extent(0, 1)], 4097, 1, BLOCK, 2)


@pytest.mark.parametrize("extents", [[(5, 2), (6, 1)], [(6, 1), (5, 2)], [(0, 100), (50, 1)], [(7, 1), (3, 1), (7, 1)]])
def test_overlapping_extents_are_refused(extents: list[tuple[int, int]]) -> None:
    with pytest.raises(DriveError, match="overlap"):
        split([Extent(*e) for e in extents], BLOCK, 1, BLOCK, 2)


@pytest.mark.parametrize(("length", "record"), [(0, 1), (10, 0)])
def test_nothing_to_divide(length: int, record: int) -> None:
    with pytest.raises(DriveError, match="cannot divide"):
        split([Extent(0, 1)], length, record, BLOCK, 2)
