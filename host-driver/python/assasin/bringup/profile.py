# SPDX-License-Identifier: BSD-3-Clause
"""A profile by sampling: where harts are, seen from outside while they run at full speed."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from assasin.bringup.elf import Elf
from assasin.bringup.hart import BASE, DebugBlock, Hart
from assasin.bringup.link import Operation
from assasin.tree import contract

_TOGETHER = 24  # samples in one go


@dataclass
class Profile:
    """
    Samples of one hart.

    `asleep`: not running, or in WFI; `waiting_in`, `waiting_out`: for a stream, `waiting_at` a PC; `busy`: the rest, by PC.
    """

    hart: str
    asleep: int = 0
    waiting_in: int = 0
    waiting_out: int = 0
    busy: Counter[int] = field(default_factory=Counter)
    waiting_at: Counter[int] = field(default_factory=Counter)

    @property
    def samples(self) -> int:
        """All of them."""
        return self.asleep + self.waiting_in + self.waiting_out + self.busy.total()

    def functions(self, elf: Elf | None) -> list[tuple[str, int, int]]:
        """Function (or address, without an ELF file), samples busy in it, samples in which it waited; the most first."""
        busy, waiting = Counter[str](), Counter[str]()
        for source, totals in ((self.busy, busy), (self.waiting_at, waiting)):
            for pc, n in source.items():
                found = elf.symbol(pc) if elf else None
                totals[found.name if found else f"{pc:08x}"] += n
        names = sorted(busy.keys() | waiting.keys(), key=lambda name: (-busy[name] - waiting[name], name))
        return [(name, busy[name], waiting[name]) for name in names]


def sample(block: DebugBlock, harts: list[Hart], seconds: float) -> tuple[list[Profile], int]:
    """Samples the harts in turn for `seconds` of this machine's time. Returns their profiles and the clock cycles that passed."""
    profiles = [Profile(h.name) for h in harts]
    operations: list[Operation] = []
    for h in harts:
        operations += [
            (BASE + contract.DEBUG_SELECT, h.number),
            (contract.CTRL_BASE + contract.CTRL_FW_STATE, None),
            (BASE + contract.DEBUG_STATUS, None),
            (BASE + contract.DEBUG_PC + 4 * h.number, None),
        ]
    first = _cycles(block)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        # The block's selection belongs to whoever holds the lock.
        with block.link.locked():
            words = iter(block.link.access(operations * _TOGETHER))
        for i, (firmware, status, pc) in enumerate(zip(words, words, words, strict=True)):
            n = i % len(harts)
            _count(profiles[n], harts[n].is_firmware and bool(firmware & 1), status, pc)
    return profiles, _cycles(block) - first


def _cycles(block: DebugBlock) -> int:
    low, high = block.link.access(
        [(contract.CTRL_BASE + contract.CTRL_CYCLES_LO, None), (contract.CTRL_BASE + contract.CTRL_CYCLES_HI, None)]
    )
    return high << 32 | low


def _count(profile: Profile, asleep: bool, status: int, pc: int) -> None:
    state = status >> contract.DEBUG_STATUS_STATE_SHIFT & contract.DEBUG_STATUS_STATE_MASK
    if asleep or state != contract.CORE_STATE_RUNNING:
        profile.asleep += 1
    elif status >> contract.DEBUG_STATUS_WAIT_IN_SHIFT & 1:
        profile.waiting_in += 1
        profile.waiting_at[pc] += 1
    elif status >> contract.DEBUG_STATUS_WAIT_OUT_SHIFT & 1:
        profile.waiting_out += 1
        profile.waiting_at[pc] += 1
    else:
        profile.busy[pc] += 1
