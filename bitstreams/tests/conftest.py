# SPDX-License-Identifier: BSD-3-Clause
"""Packages to test with, and the command as users run it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "host-driver" / "python"), str(Path(__file__).parent)]

from assasin import cli  # noqa: E402
from assasin.bitstreams import Kernel, Timing, Utilisation, package  # noqa: E402
from assasin.bitstreams.package import Facts, Package  # noqa: E402

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


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Package]:
    """Makes packages in tmp_path/bitstreams."""

    def run(board: str = "cosmosplus", config: str = CONFIG, facts: Facts = FACTS, part: str | None = None) -> Package:
        image, firmware = tmp_path / f"{board}.bit", tmp_path / "fw.bin"
        image.write_bytes(bit(part or PARTS[board]))
        firmware.write_bytes(b"firmware of " + board.encode())
        return package.make(board, config, image, facts, firmware, tmp_path / "bitstreams")

    return run


@dataclass
class Run:
    """How a command went; `said` is what it printed on stderr, with line breaks as blanks."""

    code: int
    out: str
    said: str


@pytest.fixture
def assasin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """`assasin ARGUMENTS` in this process."""

    def run(*arguments: str | Path) -> Run:
        monkeypatch.setattr(sys, "argv", ["assasin", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        captured = capsys.readouterr()
        code = end.value.code
        return Run(code if isinstance(code, int) else 0 if code is None else 1, captured.out, " ".join(captured.err.split()))

    return run
