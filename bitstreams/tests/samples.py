# SPDX-License-Identifier: BSD-3-Clause
"""Images that configure nothing, what is known of them, and how a command went."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assasin.bitstreams import Kernel, Timing, Utilisation
from assasin.bitstreams.package import Facts

ROOT = Path(__file__).resolve().parents[2]
PARTS = {"cosmosplus": "7z045ffg900", "daisyplus": "xczu17eg-ffvc1760-2-e", "zcu106": "xczu7ev-ffvc1156-2-e"}
CONFIG = "AssasinSb4x8"


def bit(part: str, words: int = 512) -> bytes:
    """A .bit file of the known layout, for this part, that configures nothing."""
    fields = zip("abcd", ("top;UserID=0XFFFFFFFF;Version=2024.1", part, "2026/11/21", "13:00:00"), strict=True)
    header = b"".join(k.encode() + (len(v) + 1).to_bytes(2, "big") + v.encode() + b"\0" for k, v in fields)
    data = (
        b"\xff" * 32
        + bytes.fromhex("000000bb11220044")
        + b"\xff" * 8
        + bytes.fromhex("aa995566")
        + bytes(range(256)) * (words // 64)
    )
    return bytes.fromhex("00090ff00ff00ff00ff0000001") + header + b"e" + len(data).to_bytes(4, "big") + data


FACTS = Facts(
    {"vivado": "2024.1"}, Timing(0.123, 100.0), Utilisation(101_000, 120_500, 380.5, 0, 32), (Kernel(0, "fgrep8", 0x1234ABCD),)
)


@dataclass
class Run:
    """How a command went; `said` is what it printed on stderr, with line breaks as blanks."""

    code: int
    out: str
    said: str
