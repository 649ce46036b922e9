# SPDX-License-Identifier: BSD-3-Clause
"""
Emulated NAND: the part that board/common/emulator shows, from a part file next to the board file.

The parameter page is laid out in board/virtual/nand/README.md.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assasin.boards.record import BoardFileError

PAGE_BYTES = 4096
STORE_PAGE_BYTES = 68 * 64
"""What a page with its spare area takes in DRAM."""

_MAX_SPARE = STORE_PAGE_BYTES - PAGE_BYTES


def crc16(data: bytes) -> int:
    """CRC-16 of ONFI: polynomial 8005h, start 4F4Eh, most significant bit first."""
    crc = 0x4F4E
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x8005 if crc & 0x8000 else 0)) & 0xFFFF
    return crc


def load_part(path: Path) -> dict[str, Any]:
    """A part file whose NAND the emulator can be. Raises BoardFileError."""
    try:
        part = tomllib.loads(path.read_text(encoding="utf-8"))
        geometry = part["geometry"]
        pages, blocks = geometry["pages_per_block"], geometry["blocks_per_plane"]
        legal: Mapping[str, tuple[int, bool]] = {
            "luns": (geometry["luns"], geometry["luns"] == 1),
            "planes": (geometry["planes"], geometry["planes"] == 1),
            "page_bytes": (geometry["page_bytes"], geometry["page_bytes"] == PAGE_BYTES),
            "spare_bytes": (geometry["spare_bytes"], 16 <= geometry["spare_bytes"] <= _MAX_SPARE),
            "pages_per_block": (pages, pages > 1 and pages & (pages - 1) == 0),
            "blocks_per_plane": (blocks, blocks > 1 and blocks & (blocks - 1) == 0),
        }
        page = parameter_page(part)
    except OSError as e:
        raise BoardFileError(f"{path.name}: {e.strerror}; an emulated NAND needs this part file next to the board file") from e
    except (tomllib.TOMLDecodeError, KeyError, TypeError, OverflowError, ValueError) as e:
        raise BoardFileError(f"{path.name}: {e!r}: not a part file, see board/virtual/parts") from e
    for name, (value, fits) in legal.items():
        if not fits:
            raise BoardFileError(f"{path.name}: {name} is {value}, which the emulator cannot be")
    assert len(page) == 256
    return part


def parameter_page(part: Mapping[str, Any]) -> bytes:
    """The ONFI parameter page of `part`."""
    page = bytearray(256)
    info, geometry, array, bus = part["part"], part["geometry"], part["array"], part["nvddr2"]

    def put(at: int, size: int, value: int) -> None:
        page[at : at + size] = value.to_bytes(size, "little")

    def text(at: int, size: int, value: str) -> None:
        page[at : at + size] = value.encode().ljust(size)

    mode = bus["timing_mode"]
    text(0, 4, "ONFI")
    put(4, 2, 0x03FE)
    put(6, 2, 0x0400)
    put(8, 2, 0x004C)
    put(14, 1, 3)
    text(32, 12, info["manufacturer"])
    text(44, 20, info["name"])
    put(64, 1, info["id"][0])
    put(80, 4, geometry["page_bytes"])
    put(84, 2, geometry["spare_bytes"])
    put(92, 4, geometry["pages_per_block"])
    put(96, 4, geometry["blocks_per_plane"])
    put(100, 1, 1)
    put(101, 1, 0x23)
    put(102, 1, geometry["bits_per_cell"])
    put(107, 1, 1)
    put(110, 1, 1)
    put(129, 2, 0x3F)
    for at, name in ((133, "tPROG"), (135, "tBERS"), (137, "tR")):
        put(at, 2, array[name])
    put(139, 2, bus["tCCS"])
    put(142, 1, (2 << min(mode, 7)) - 1)
    put(154, 2, bus["tADL"])
    put(162, 1, int(mode >= 8))
    put(164, 2, 0xA551)
    for at, name in (
        (166, "tWC"),
        (168, "tCS"),
        (170, "tWB"),
        (172, "tRR"),
        (174, "tRPRE"),
        (176, "tPST"),
        (178, "tWHR"),
        (180, "tADL"),
        (182, "tCCS"),
        (184, "beat_ps"),
    ):
        put(at, 2, bus[name])
    put(186, 1, mode)
    put(254, 2, crc16(bytes(page[:254])))
    return bytes(page)


def parameters(part: Mapping[str, Any], core_mhz: int) -> dict[str, str]:
    """Parameters of the module nand_emulator, without WAYS and BASE."""
    geometry, array = part["geometry"], part["array"]
    page = parameter_page(part)
    identifier = bytes(part["part"]["id"]).ljust(8, b"\0")
    return {
        "PAGE_LOG2": str(geometry["pages_per_block"].bit_length() - 1),
        "BLOCK_LOG2": str(geometry["blocks_per_plane"].bit_length() - 1),
        "SPARE": str(geometry["spare_bytes"]),
        "PARAMETERS": f"2048'h{int.from_bytes(page, 'little'):X}",
        "ID": f"64'h{int.from_bytes(identifier, 'little'):X}",
        "READ_CYCLES": str(array["tR"] * core_mhz),
        "PROGRAM_CYCLES": str(array["tPROG"] * core_mhz),
        "ERASE_CYCLES": str(array["tBERS"] * core_mhz),
        "RESET_CYCLES": str(array["tRST"] * core_mhz),
    }


def store_bytes(part: Mapping[str, Any], channels: int, ways: int) -> int:
    """DRAM that the contents of all packages take."""
    geometry = part["geometry"]
    return int(channels * ways * geometry["blocks_per_plane"] * geometry["pages_per_block"] * STORE_PAGE_BYTES)


if __name__ == "__main__":
    # Parameters as options of verilator, for the emulator's bench: PART.toml MHZ
    for key, value in parameters(load_part(Path(sys.argv[1])), int(sys.argv[2])).items():
        print(f"-G{key}={value}")
