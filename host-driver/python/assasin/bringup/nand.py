# SPDX-License-Identifier: BSD-3-Clause
"""Raw bit errors and factory marks of a drive's NAND blocks, as the drive's firmware reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from assasin.bringup.link import BringupError
from assasin.drive import Drive
from assasin.media import Media, error_rate

STATES = ["free", "open", "full", "drive's own", "retired", "emptied"]
"""What the drive uses a block for."""
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


@dataclass(frozen=True)
class Choice:
    """Which blocks, numbers within a plane, of which channels and ways; None: all. `step`: of so many sectors one is read."""

    first: int
    last: int | None
    channels: tuple[int, ...]
    ways: tuple[int, ...]
    step: int


def _chosen(asked: tuple[int, ...], there: int, what: str) -> list[int]:
    for n in asked:
        if n >= there:
            raise BringupError(f"{what} {n}: the drive has {there}, 0 to {there - 1}")
    return sorted(set(asked)) or list(range(there))


def blocks(drive: Drive, choice: Choice, progress: Callable[[int, int], None]) -> Iterator[Block]:
    """Reads the chosen blocks one after another. `progress` gets how many are done, and of how many."""
    page = drive.media()
    media = Media(page)
    if page.block_sectors == 0:
        raise BringupError("the drive knows no NAND part: its console says why (assasin bringup console)")
    last = page.blocks - 1 if choice.last is None else choice.last
    if last >= page.blocks:
        raise BringupError(f"block {last}: a plane has {page.blocks}, 0 to {page.blocks - 1}")
    if choice.first > last:
        raise BringupError(f"blocks {choice.first} to {last}: the first has to come before the last")
    if choice.step > page.block_sectors:
        raise BringupError(f"--step {choice.step}: a block has {page.block_sectors} sectors")
    channels = _chosen(choice.channels, page.channels, "channel")
    ways = _chosen(choice.ways, page.ways, "way")
    places = list(product(channels, ways, range(page.luns), range(page.planes), range(choice.first, last + 1)))
    for done, (channel, way, lun, plane, block) in enumerate(places):
        progress(done, len(places))
        found = drive.nand_block(channel << 4 | way, media.address(lun, plane, block), choice.step)
        yield Block(
            channel,
            way,
            lun,
            plane,
            block,
            "not in use" if found.state == NOT_IN_USE else STATES[found.state],
            found.erases,
            found.sectors_read,
            found.sectors_erased,
            found.sectors_failed,
            found.bits,
            found.worst,
            None if found.marks_failed else 0 in bytes(found.marks),
            error_rate(found.bits, found.sectors_read, page.sector_bytes),
        )
    progress(len(places), len(places))


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
