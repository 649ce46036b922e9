# SPDX-License-Identifier: BSD-3-Clause
"""Random reads of one block at several queue depths: device cycles a read, and by stage (log page SCOMP_LOG_STAGES)."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assasin.binding import Command, Completion, DoneFn
from assasin.drive import Drive, DriveError
from assasin.tree import contract

READ = 0x02
STAGES = ("fetch", "decode", "prp", "map", "flash", "dma", "complete", "post")
"""Of these `flash` and `dma` hold the flash array, its bus and PCIe too; the others are all command handling."""

LOOKS = 5
"""Looks at the counters before the reads, to know what one costs."""

TRIES = 5
"""Runs at a depth until one lasts longer than the looks before it."""


@dataclass(frozen=True)
class DepthFigures:
    """Reads at one queue depth. Everything in device cycles a read, as the drive itself counts them."""

    depth: int
    reads: int
    cycles: float
    firmware: float
    """Cycles the firmware processor was awake, for whatever reason."""
    handling: float | None
    """`firmware`, `fetch` and `post` without the time on PCIe: what a read costs besides flash and buses. None: latency unknown."""
    stages: dict[str, float]
    """Mean time in each of STAGES. At depths above 1 reads wait for each other, so their sum passes `cycles`."""


def stages(drive: Drive) -> ctypes.Structure:
    """The drive's stage counters: its clock, how long its processor slept, and times by stage."""
    data = drive.log_page(contract.SCOMP_LOG_STAGES, ctypes.sizeof(contract.ScompStages))
    return contract.ScompStages.from_buffer_copy(data)


def measure(
    drive: Drive,
    data: bytes,
    lba: int,
    reads: int,
    depths: Sequence[int],
    pcie_latency: int | None,
    seed: int = 1,
    report: Callable[[int], None] | None = None,
) -> list[DepthFigures]:
    """
    Reads `reads` random blocks of `data`, which lies in the drive from block `lba` on, at every queue depth, and compares each.

    `pcie_latency`: cycles from the drive to host memory, one way, when they are known. What a look at the counters costs is taken
    off.
    Raises DriveError when a read fails or brings something else, or when the host's other work makes every look at the counters
    last longer than the reads. Raises ValueError for a depth that the queue cannot hold.
    """
    block = drive.info.block_bytes
    out = []
    for depth in depths:
        if not 1 <= depth < drive.info.queue_depth:
            raise ValueError(f"depth {depth}: the drive's queue holds 1 to {drive.info.queue_depth - 1} commands")
        if report:
            report(depth)
        order = random.Random(seed * 1000 + depth)
        with drive.dma(depth * block) as (_, memory):
            for _ in range(TRIES):
                looks = [stages(drive) for _ in range(LOOKS)]
                _run(drive, memory, data, lba, [order.randrange(len(data) // block) for _ in range(reads)], depth)
                after = stages(drive)
                first, second = _cheapest(looks)
                if after.time - looks[-1].time > second.time - first.time:
                    break
            else:
                raise DriveError(11, f"the host is too busy: {TRIES} times, to look at the counters took longer than {reads} reads")
        out.append(_figures(depth, reads, looks, after, pcie_latency))
    return out


def _cheapest(looks: Sequence[ctypes.Structure]) -> tuple[ctypes.Structure, ctypes.Structure]:
    """
    The two looks that follow each other soonest: what lies between them is what a look costs. The drive's clock goes on while the
    host's process waits for a processor, which makes the others longer.
    """
    return min(pairwise(looks), key=lambda pair: pair[1].time - pair[0].time)


def _run(drive: Drive, memory: ctypes.Array[ctypes.c_char], data: bytes, lba: int, blocks: list[int], depth: int) -> None:
    """Keeps `depth` reads in flight, each in a part of `memory` of its own."""
    block = drive.info.block_bytes
    free = list(range(depth))
    under_way: dict[int, int] = {}
    failed: list[str] = []

    def ended(slot: int | None, completion: ctypes._Pointer[Completion]) -> None:
        place = slot or 0
        at = under_way.pop(place)
        free.append(place)
        if completion.contents.status:
            failed.append(f"the read of block {lba + at} ended with status {completion.contents.status:#05x}")
        elif memory[place * block : (place + 1) * block] != data[at * block : (at + 1) * block]:
            failed.append(f"block {lba + at} is not what was written")

    done = DoneFn(ended)
    todo = iter(blocks)
    at = next(todo, None)
    while at is not None or under_way:
        while at is not None and free and not failed:
            place = free.pop()
            under_way[place] = at
            drive.submit(Command.of(READ, 1, dw10=lba + at), ctypes.addressof(memory) + place * block, block, done, place)
            at = next(todo, None)
        if failed:
            at = None
        if under_way:
            drive.wait()
    if failed:
        raise DriveError(5, failed[0])


def _figures(
    depth: int, reads: int, looks: Sequence[ctypes.Structure], after: ctypes.Structure, latency: int | None
) -> DepthFigures:
    before = looks[-1]
    first, second = _cheapest(looks)

    def passed(name: str) -> int:
        return int(getattr(after, name) - getattr(before, name))

    def looking(name: str) -> int:
        return int(getattr(second, name) - getattr(first, name))

    each = {s: passed(s) / max(1, passed("commands" if s in ("fetch", "post") else "reads")) for s in STAGES}
    cycles = passed("time") - looking("time")
    awake = (cycles - passed("fw_sleep") + looking("fw_sleep")) / reads
    # An entry is asked for and comes; a completion only goes.
    handling = None if latency is None else awake + each["fetch"] - 2 * latency + each["post"] - latency
    return DepthFigures(depth, reads, cycles / reads, awake, handling, each)
