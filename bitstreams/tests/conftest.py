# SPDX-License-Identifier: BSD-3-Clause
"""Packages to test with, and the command as users run it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "host-driver" / "python"), str(Path(__file__).parent)]

from assasin import cli, failures  # noqa: E402
from assasin.bitstreams import package  # noqa: E402
from assasin.bitstreams.package import Facts, Package  # noqa: E402
from samples import CONFIG, FACTS, PARTS, Run, bit  # noqa: E402


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Package]:
    """Makes packages in tmp_path/bitstreams."""

    def run(board: str = "cosmosplus", config: str = CONFIG, facts: Facts = FACTS, part: str | None = None) -> Package:
        image, firmware = tmp_path / f"{board}.bit", tmp_path / "fw.bin"
        image.write_bytes(bit(part or PARTS[board]))
        firmware.write_bytes(b"firmware of " + board.encode())
        return package.make(board, config, image, facts, firmware, tmp_path / "bitstreams")

    return run


@pytest.fixture
def assasin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """`assasin ARGUMENTS` in this process."""

    def run(*arguments: str | Path) -> Run:
        monkeypatch.setattr(sys, "argv", ["assasin", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            sys.exit(failures.run(cli.main))
        captured = capsys.readouterr()
        code = end.value.code
        return Run(code if isinstance(code, int) else 0 if code is None else 1, captured.out, " ".join(captured.err.split()))

    return run
