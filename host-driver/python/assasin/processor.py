# SPDX-License-Identifier: BSD-3-Clause
"""What executes a chip's firmware: its own processor, or a tile of a Chipyard SoC. By it go the firmware's image and its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from assasin.tree import contract

TILE_BASE = 0xF4000000
"""Where a tile's firmware begins: DRAM_FIRMWARE of firmware/platform/dram.h, and its first instruction."""
TILE_SIZE = 0x100000


@dataclass(frozen=True)
class Processor:
    """
    A folder of firmware/hal.

    `base`, `size`: the memory that the loader writes; the first instruction is at `base`.
    """

    name: str
    base: int
    size: int

    @property
    def make(self) -> str:
        """The command that builds its firmware."""
        return "make -C firmware" + (f" FW_CPU={self.name}" if self is not CORE else "")

    def image(self, core: Path) -> Path:
        """Its image, where the drive's own processor has its in the file `core`."""
        return core if self is CORE else core.parent / self.name / core.name


CORE = Processor("core", contract.TCM_BASE, contract.TCM_SIZE)
ROCKET = Processor("rocket", TILE_BASE, TILE_SIZE)
ROCKET64 = Processor("rocket64", TILE_BASE, TILE_SIZE)


def processor_of(config: str) -> Processor:
    """The processor of a named configuration."""
    if re.match(r"ChipyardAssasinRvd\d", config):
        return ROCKET64
    return ROCKET if config.startswith("Chipyard") else CORE
