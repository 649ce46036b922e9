# SPDX-License-Identifier: BSD-3-Clause
"""Marks that libassasin leaves when ASSASIN_MARKS names a file: when a program did what with the drive
(host-driver/src/marks.h)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from assasin.power.errors import PowerError

VARIABLE = "ASSASIN_MARKS"


@dataclass(frozen=True)
class Operation:
    """Something that a program did with the drive. Times are seconds of CLOCK_REALTIME; clocks are the drive's cycles."""

    what: str
    """offload, read or write."""
    begin_s: float
    end_s: float
    begin_clock: int | None
    end_clock: int | None
    bytes: int
    """Input of the job, or length of the transfer."""
    ok: bool


def load(path: Path) -> list[Operation]:
    """Operations in the order of their begins; what never ended (a killed program's) is left out. Raises PowerError."""
    open_: dict[tuple[int, int, str], dict[str, int]] = {}
    done: list[Operation] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            mark = json.loads(line)
            key = (mark["process"], mark["drive"], mark["what"])
            if mark["edge"] == "begin":
                open_[key] = mark
                continue
            first = open_.pop(key, None)
            if first is None:
                continue
            done.append(
                Operation(
                    what=mark["what"],
                    begin_s=first["t_ns"] / 1e9,
                    end_s=mark["t_ns"] / 1e9,
                    begin_clock=first.get("clock"),
                    end_clock=mark.get("clock"),
                    bytes=mark["bytes"],
                    ok=mark["rc"] == 0,
                )
            )
        except (ValueError, KeyError, TypeError) as e:
            raise PowerError(
                f"{path}, line {number}: '{line[:80]}' is no mark of libassasin ({e}): did something else write there?"
            ) from e
    return sorted(done, key=lambda o: o.begin_s)
