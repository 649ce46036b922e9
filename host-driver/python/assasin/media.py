# SPDX-License-Identifier: BSD-3-Clause
"""The drive's medium in words: the part, the code that protects its sectors, and what reads have found there."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from assasin.tree import contract

_FOUND = {
    contract.FLASH_STATUS_TIMEOUT: "the chip does not answer",
    contract.FLASH_STATUS_MISDIRECTED: "another block's sector",
    contract.FLASH_STATUS_UNCORRECTABLE: "more bit errors than the code corrects",
    contract.FLASH_STATUS_ERASED: "erased",
    contract.FLASH_STATUS_MISMATCH: "checksum differs",
    contract.FLASH_STATUS_FOREIGN: "another layout",
}


def found_text(status: int) -> str:
    """A FlashStatus of a read in words."""
    return _FOUND.get(status, f"status {status}")


def error_rate(bits: int, sectors: int, sector_bytes: int) -> float | None:
    """Raw bit errors a bit, from those that were corrected in sectors that could be read; None when there were none."""
    return bits / (sectors * sector_bytes * 8) if sectors > 0 else None


def rate_text(rate: float | None) -> str:
    """An error rate in words."""
    return "not measured" if rate is None else "0" if rate == 0 else f"{rate:.1e}"


@dataclass(frozen=True)
class Place:
    """A sector address of a chip enable, taken apart."""

    channel: int
    way: int
    lun: int
    plane: int
    block: int
    page: int
    sector: int

    def __str__(self) -> str:
        return (
            f"channel {self.channel} way {self.way} LUN {self.lun} plane {self.plane} block {self.block} "
            f"page {self.page} sector {self.sector}"
        )


@dataclass(frozen=True)
class Lost:
    """A sector that could not be read: `found` is its FlashStatus, `codewords` a mask of those beyond correction."""

    lba: int
    place: Place
    found: int
    codewords: int

    def __str__(self) -> str:
        words = f", codewords {[n for n in range(4) if self.codewords >> n & 1]}" if self.codewords else ""
        return f"LBA {self.lba} ({self.place}): {found_text(self.found)}{words}"


@dataclass(frozen=True)
class Channel:
    """What a channel's reads found since power-on."""

    sectors_read: int
    bits_corrected: int
    sectors_failed: int
    error_rate: float | None


class Media:
    """Log page MEDIA."""

    def __init__(self, page: ctypes.Structure) -> None:
        self._page = page
        self.fault = bytes(page.fault).split(b"\0")[0].decode("ascii", "replace") or None
        """Why the drive has no blocks; None when it has."""
        self.model = bytes(page.model).rstrip(b"\0").decode("ascii", "replace")
        self.channels = [
            Channel(
                page.sectors_read[c],
                page.bits_corrected[c],
                page.sectors_failed[c],
                error_rate(page.bits_corrected[c], page.sectors_read[c] - page.sectors_failed[c], page.sector_bytes),
            )
            for c in range(page.channels)
        ]
        self.sectors_read = sum(c.sectors_read for c in self.channels)
        self.bits_corrected = sum(c.bits_corrected for c in self.channels)
        self.sectors_failed = sum(c.sectors_failed for c in self.channels)
        self.error_rate = error_rate(self.bits_corrected, self.sectors_read - self.sectors_failed, page.sector_bytes)
        self.lost = [
            Lost(page.error_lba[n], self.place(page.error_address[n]), found >> 28, found >> 16 & 15)
            for n, found in enumerate(page.error_found)
            if found
        ]

    def place(self, address: int) -> Place:
        """Where channel << 28 | way << 24 | sector address lies."""
        p = self._page
        row = address & 0xFFFFFF
        in_block = row & (p.block_sectors - 1)
        return Place(
            channel=address >> 28,
            way=address >> 24 & 15,
            lun=row >> p.lun_shift,
            plane=row >> p.plane_shift & (p.planes - 1),
            block=(row & ((1 << p.lun_shift) - 1)) >> p.block_shift,
            page=in_block // max(p.page_sectors, 1),
            sector=in_block % max(p.page_sectors, 1),
        )

    def address(self, lun: int, plane: int, block: int) -> int:
        """Sector address of a block's first sector."""
        return lun << self._page.lun_shift | plane << self._page.plane_shift | block << self._page.block_shift

    @property
    def code(self) -> str:
        """The code in words."""
        p = self._page
        sectors = (
            f"{p.page_sectors} sector{'s' if p.page_sectors != 1 else ''} of {p.sector_bytes:,} bytes a page, layout {p.layout}"
        )
        if p.code_t == 0:
            return f"none in this chip: checksum only; {sectors}"
        return f"BCH, {p.code_t} bits a codeword of 1,028 + {p.code_parity} bytes; {sectors}"

    def rows(self) -> list[tuple[str, str]]:
        """Lines for `assasin info`."""
        p = self._page
        if not self.model:
            return [("NAND part", "none")]
        pages = p.block_sectors // max(p.page_sectors, 1)
        rows = [
            (
                "NAND part",
                f"{self.model}: {p.luns} LUNs x {p.planes} planes x {p.blocks:,} blocks x {pages} pages "
                f"of {p.page_bytes:,} + {p.spare_bytes:,} bytes",
            ),
            ("code", self.code),
            (
                "read errors",
                f"{self.sectors_read:,} sectors read, {self.bits_corrected:,} bits corrected "
                f"(raw bit error rate {rate_text(self.error_rate)}), {self.sectors_failed:,} failed",
            ),
            ("repeated reads", f"{p.retries:,}, by which {p.rescued:,} sectors were read; {p.lost:,} times a block was lost"),
            ("parity over dies", f"{'yes' if p.parity else 'no'}; {p.rebuilt:,} sectors were rebuilt since power-on"),
        ]
        return rows + [("lost" if n == 0 else "", str(lost)) for n, lost in enumerate(self.lost)]

    def json(self) -> dict[str, object]:
        """The same for --json."""
        p = self._page
        return {
            "fault": self.fault,
            "part": self.model,
            "id": bytes(p.id).hex(),
            "page_bytes": p.page_bytes,
            "spare_bytes": p.spare_bytes,
            "code": {"t": p.code_t, "parity_bytes": p.code_parity},
            "layout": p.layout,
            "sectors_per_page": p.page_sectors,
            "sector_bytes": p.sector_bytes,
            "sectors_read": self.sectors_read,
            "bits_corrected": self.bits_corrected,
            "sectors_failed": self.sectors_failed,
            "raw_bit_error_rate": self.error_rate,
            "retries": p.retries,
            "rescued": p.rescued,
            "parity": bool(p.parity),
            "rebuilt": p.rebuilt,
            "lost": p.lost,
            "channels": [vars(c) for c in self.channels],
            "lost_sectors": [{"lba": x.lba, "place": vars(x.place), "found": found_text(x.found)} for x in self.lost],
        }
