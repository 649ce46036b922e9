# SPDX-License-Identifier: BSD-3-Clause
"""Raw bit errors and factory marks of a drive's NAND blocks, as the drive's firmware reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from assasin.bringup.link import BringupError
from assasin.drive import Drive
from assasin.media import Media, error_rate

STATES = ["free", "open", "full", "drive's own", "left out", "full, in the log", "being emptied", "full, its data cannot be moved"]
"""What the drive uses a block's superblock for."""
BAD = ["", "came bad", "program failed", "erase failed", "dead die"]
"""Why the drive writes nothing to a block."""
NOT_IN_USE = 0xFFFFFFFF


@dataclass(frozen=True)
class Block:
    """A block of a die and what was found there. `marks`: a factory mark of a bad block, None: not readable."""

    channel: int
    way: int
    lun: int
    plane: int
    block: int
    state: str
    erases: int
    read: int
    erased: int
    failed: int
    bits: int
    worst: int
    marked: bool | None
    rate: float | None


SAMPLE_BLOCKS = 256
SAMPLE_SECTORS = 64
"""Blocks, and sectors of each, that are read when nothing else is asked for: seconds on any part."""


@dataclass(frozen=True)
class Choice:
    """
    Which blocks, numbers within a plane, of which channels and ways; None: all. `sample`: so many of these blocks, spread evenly;
    0: all. `step`: of so many sectors one is read; None: as many that SAMPLE_SECTORS are.
    """

    first: int = 0
    last: int | None = None
    channels: tuple[int, ...] = ()
    ways: tuple[int, ...] = ()
    sample: int = SAMPLE_BLOCKS
    step: int | None = None


@dataclass(frozen=True)
class Plan:
    """What is read: channel, way, LUN, plane and number of blocks, `of` so many that were chosen, and one sector of `step` each."""

    media: Media
    places: list[tuple[int, int, int, int, int]]
    of: int
    step: int
    sector_bytes: int

    def __str__(self) -> str:
        some = len(self.places) < self.of
        which = f"{len(self.places):,} of {self.of:,} blocks, spread evenly (--blocks 0: all)" if some else f"{self.of:,} blocks"
        if self.step == 0:
            return f"{which}; only the factory's marks"
        return f"{which}; " + (f"one of {self.step} sectors of each (--step 1: all)" if self.step > 1 else "every sector")


def _chosen(asked: tuple[int, ...], there: int, what: str) -> list[int]:
    for n in asked:
        if n >= there:
            raise BringupError(f"{what} {n}: the drive has {there}, 0 to {there - 1}")
    return sorted(set(asked)) or list(range(there))


def plan(drive: Drive, choice: Choice) -> Plan:
    """The blocks that `choice` means on this drive."""
    page = drive.media()
    if page.block_sectors == 0:
        raise BringupError("the drive knows no NAND part: its console says why (assasin bringup console)")
    last = page.blocks - 1 if choice.last is None else choice.last
    if last >= page.blocks:
        raise BringupError(f"block {last}: a plane has {page.blocks}, 0 to {page.blocks - 1}")
    if choice.first > last:
        raise BringupError(f"blocks {choice.first} to {last}: the first has to come before the last")
    step = max(page.block_sectors // SAMPLE_SECTORS, 1) if choice.step is None else choice.step
    if step > page.block_sectors:
        raise BringupError(f"--step {step}: a block has {page.block_sectors} sectors")
    channels = _chosen(choice.channels, page.channels, "channel")
    ways = _chosen(choice.ways, page.ways, "way")
    planes = list(product(channels, ways, range(page.luns), range(page.planes)))
    numbers = range(choice.first, last + 1)
    of = len(planes) * len(numbers)
    count = of if choice.sample == 0 else min(choice.sample, of)
    if count == of:
        chosen = [(*plane, block) for plane in planes for block in numbers]
    else:
        # Every plane in turn, or as many as there are blocks to read, and numbers from the first to the last.
        turns = min(count, len(planes))
        chosen = [(*planes[k % turns * len(planes) // turns], numbers[k * len(numbers) // count]) for k in range(count)]
    return Plan(Media(page), chosen, of, step, page.sector_bytes)


def blocks(drive: Drive, what: Plan, progress: Callable[[int, int], None]) -> Iterator[Block]:
    """Reads blocks one after another. `progress` gets how many are done, and of how many."""
    for done, (channel, way, lun, plane, block) in enumerate(what.places):
        progress(done, len(what.places))
        found = drive.nand_block(channel << 4 | way, what.media.address(lun, plane, block), what.step)
        yield Block(
            channel,
            way,
            lun,
            plane,
            block,
            "not in use" if found.state == NOT_IN_USE else BAD[found.bad] or STATES[found.state],
            found.erases,
            found.sectors_read,
            found.sectors_erased,
            found.sectors_failed,
            found.bits,
            found.worst,
            None if found.marks_failed else 0 in bytes(found.marks),
            error_rate(found.bits, found.sectors_read, what.sector_bytes),
        )
    progress(len(what.places), len(what.places))


def histogram(found: list[Block]) -> list[tuple[str, int]]:
    """How many of the blocks with programmed sectors have which raw bit error rate, by powers of ten."""
    decades = [(1e-7, "below 1e-7"), (1e-6, "1e-7 to 1e-6"), (1e-5, "1e-6 to 1e-5"), (1e-4, "1e-5 to 1e-4"), (1e-3, "1e-4 to 1e-3")]
    rows = dict.fromkeys(["none seen", *(name for _, name in decades), "1e-3 and more"], 0)
    for rate in (b.rate for b in found):
        if rate is None:
            continue
        name = "none seen" if rate == 0 else next((name for limit, name in decades if rate < limit), "1e-3 and more")
        rows[name] += 1
    return list(rows.items())
