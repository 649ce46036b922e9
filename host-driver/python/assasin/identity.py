# SPDX-License-Identifier: BSD-3-Clause
"""
What tells one drive from another in a host: serial number, NQN and EUI64s are made of one identifier (hw/regs/scomp.toml).

Whoever loads the firmware writes an identifier into its image. The medium keeps the first one that it is given. A virtual board has
its own beside the NAND image, so that the drive stays the same when it is formatted.
"""

from __future__ import annotations

import re
import secrets
import struct
from pathlib import Path

from assasin.tree import contract

PREFIX = "ASSASIN-"
DIGITS = contract.IDENTITY_BITS // 4
FILE = "serial"
"""In the folder of a NAND image: the drive's serial number."""

_MAGIC = struct.pack("<II", contract.IDENTITY_MAGIC_LO, contract.IDENTITY_MAGIC_HI)


class IdentityError(ValueError):
    """A serial number or a firmware image is not what it has to be; the message says what is wanted."""


def serial(identity: int) -> str:
    """The serial number that a drive of this identifier shows."""
    return f"{PREFIX}{identity:0{DIGITS}X}"


def parse(text: str) -> int:
    """The identifier of a serial number, with or without its prefix. Raises IdentityError."""
    found = re.fullmatch(rf"(?:{PREFIX})?([0-9A-Fa-f]{{{DIGITS}}})", text.strip())
    if not found or int(found[1], 16) == 0:
        raise IdentityError(
            f"'{text}' is no serial number of a drive: wanted are {DIGITS} hexadecimal digits, not all 0, "
            f"for example {serial(0x0123456789AB)}"
        )
    return int(found[1], 16)


def fresh() -> int:
    """An identifier that no other drive has."""
    return 1 + secrets.randbelow((1 << contract.IDENTITY_BITS) - 1)


def of_image(folder: Path, wanted: str | None = None) -> int:
    """
    The identifier of the drive whose NAND image is in `folder`, which is made when it is not there.

    `wanted`: the serial number that it has from now on. Raises IdentityError, OSError.
    """
    file = folder / FILE
    if wanted is None and file.exists():
        try:
            return parse(file.read_text())
        except IdentityError as e:
            raise IdentityError(f"{file}: {e}; remove the file for a new serial number") from e
    identity = fresh() if wanted is None else parse(wanted)
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(serial(identity) + "\n")
    return identity


def personalised(image: bytes, identity: int, override: bool, spare: int = 0, parity: bool | None = None) -> bytes:
    """
    A firmware image that gives its drive this identifier, or with `override` replaces the one that its medium holds.

    `spare`: per cent of the medium that the drive keeps back when it formats it; 0 leaves that to the drive.
    `parity`: whether a medium that it formats has parity over dies; None leaves that to the drive.

    An image of a firmware that takes none is returned as it is.
    """
    at = image.find(_MAGIC)
    while at >= 0 and at % 8:
        at = image.find(_MAGIC, at + 1)
    if at < 0:
        return image
    flags = contract.IDENTITY_FLAG_OVERRIDE if override else 0
    if parity is not None:
        flags |= contract.IDENTITY_FLAG_PARITY_ON if parity else contract.IDENTITY_FLAG_PARITY_OFF
    block = _MAGIC + struct.pack("<QII", identity, flags, spare)
    return image[:at] + block + image[at + len(block) :]
