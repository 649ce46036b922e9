# SPDX-License-Identifier: BSD-3-Clause
"""What sessions of a drive may touch, in words and from words."""

from __future__ import annotations

import ctypes
import re
from typing import Any

from assasin.drive import Access
from assasin.tree import contract

RIGHTS = {"r": contract.SCOMP_ACCESS_READ, "w": contract.SCOMP_ACCESS_WRITE}


def parsed(text: str) -> Access:
    """LBA:BLOCKS:RIGHTS, rights r, w or rw. Raises ValueError with what is wrong."""
    match = re.fullmatch(r"(0x[0-9a-fA-F]+|\d+):(0x[0-9a-fA-F]+|\d+):(r|w|rw)", text)
    if not match:
        raise ValueError(f"'{text}' is not LBA:BLOCKS:RIGHTS with rights r, w or rw, for example 0:1024:r")
    if int(match[2], 0) == 0:
        raise ValueError(f"'{text}' has no blocks: a range has at least 1")
    return Access(int(match[1], 0), int(match[2], 0), sum(RIGHTS[letter] for letter in match[3]))


def ranges_of(session: ctypes.Structure) -> list[Access] | None:
    """The ranges of a contract.ScompSession, None when it may touch all blocks."""
    if not session.limited:
        return None
    return [Access(session.lba[i], session.blocks[i], session.rights[i]) for i in range(session.count)]


def said(ranges: list[Access] | None) -> str:
    """Ranges as parsed() takes them."""
    if ranges is None:
        return "all blocks"
    letters = [f"{r.lba}:{r.blocks}:{''.join(k for k, bit in RIGHTS.items() if r.rights & bit)}" for r in ranges]
    return " ".join(letters) or "no block"


def as_json(session: ctypes.Structure) -> dict[str, Any]:
    """A contract.ScompSession as a dictionary; `ranges` None: all blocks."""
    ranges = ranges_of(session)
    named = None if ranges is None else [{"lba": r.lba, "blocks": r.blocks, "rights": r.rights} for r in ranges]
    keys = ("number", "queue", "functions", "requests", "idle_kcycles")
    return {key: getattr(session, key) for key in keys} | {"ranges": named}
