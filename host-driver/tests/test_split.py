# SPDX-License-Identifier: BSD-3-Clause
"""assasin_split: pieces cover the table once, in order, at record and block boundaries."""

from __future__ import annotations

import random

import pytest
from assasin.drive import DriveError, Extent, split, split_text

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


@pytest.mark.parametrize("seed", range(60))
def test_parts_of_text_hold_every_record_once(seed: int) -> None:
    """Every record that starts in a piece's own part, found as a function finds it, is whole in the piece's stream."""
    r = random.Random(seed)
    lines = [bytes(r.choices(b"abc|", k=r.randint(0, r.choice([10, 100, 4000])))) + b"\n" for _ in range(r.randint(1, 300))]
    text = b"".join(lines)
    count = -(-len(text) // BLOCK)
    cut = r.randint(0, count)
    extents = [Extent(10, cut), Extent(500, count - cut)] if 0 < cut < count else [Extent(10, count)]
    disk = {b: text[i * BLOCK : (i + 1) * BLOCK] for i, b in enumerate(blocks(extents))}
    asked, overlap = r.randint(1, 9), r.choice([BLOCK, 2 * BLOCK])
    pieces, own_bytes = split_text(extents, len(text), overlap, BLOCK, asked)
    assert 1 <= len(pieces) <= asked
    found = []
    for i, p in enumerate(pieces):
        stream = b"".join(disk[b] for b in blocks(p.extents))[: p.bytes]
        assert len(stream) == p.bytes
        at = 0 if i == 0 else stream.find(b"\n") + 1 or len(stream)
        while at <= own_bytes and at < len(stream):
            end = stream.index(b"\n", at) + 1
            found.append(stream[at:end])
            at = end
    assert found == lines
