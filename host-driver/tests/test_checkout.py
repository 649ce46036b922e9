# SPDX-License-Identifier: BSD-3-Clause
"""Where a checkout may lie: make and Verilator fail in a folder with a space in its name, each in its own way."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from assasin.tree import ROOT

COMMANDS = ("setup", "build", "test", "demo", "docs", "bin/assasin")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts of a checkout in such a folder."""
    folder = tmp_path / "my drive"
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_say_so_in_one_line(checkout: Path, command: str) -> None:
    done = subprocess.run([checkout / "scripts" / command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"the project lies in '{checkout}': make and Verilator cannot work" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_shell_that_sources_the_environment_goes_on(checkout: Path) -> None:
    words = ["bash", "-c", '. scripts/env.sh; echo "status $?"']
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=True)
    assert done.stdout == "status 1\n"
