# SPDX-License-Identifier: BSD-3-Clause
"""Blocks that a benchmark may write without destroying anything: at the drive's end, reading zeros, deallocated afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from assasin.drive import Drive, DriveError, Extent, Progress
from assasin.offloads import OffloadError

LOOK_BYTES = 1 << 20


@dataclass(frozen=True)
class Range:
    """Blocks `lba` to `lba + count - 1`. `free`: they read zeros."""

    lba: int
    count: int
    free: bool

    def __str__(self) -> str:
        return f"{self.lba}..{self.lba + self.count - 1}"


def at(drive: Drive, lba: int, length: int) -> Range:
    """The blocks from `lba` on that hold `length` bytes, whatever is in them. Raises OffloadError for more than the drive has."""
    block = drive.info.block_bytes
    count = -(-length // block)
    if lba + count > drive.info.blocks:
        raise OffloadError(
            f"{length:,} bytes from block {lba} on are more than the drive has: {drive.info.blocks:,} blocks of {block} bytes"
        )
    return Range(lba, count, False)


def at_the_end(drive: Drive, length: int, progress: Progress | None = None) -> Range:
    """The drive's last blocks that hold `length` bytes, and whether they are free. Raises OffloadError like at()."""
    block = drive.info.block_bytes
    count = -(-length // block)
    first = at(drive, max(0, drive.info.blocks - count), length).lba
    for done in range(0, count * block, LOOK_BYTES):
        size = min(LOOK_BYTES, count * block - done)
        if any(drive.read(first + done // block, size)):
            return Range(first, count, False)
        if progress:
            progress(done + size, count * block)
    return Range(first, count, True)


@contextmanager
def borrowed(drive: Drive, blocks: Range) -> Iterator[int]:
    """First block of the range for the time of a `with` block; a range that was free is free again afterwards."""
    try:
        yield blocks.lba
    finally:
        if blocks.free:
            # A connection that is lost has been reported by what was done in the block.
            with suppress(DriveError):
                drive.trim([Extent(blocks.lba, blocks.count)])
