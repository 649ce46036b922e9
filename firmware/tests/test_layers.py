# SPDX-License-Identifier: BSD-3-Clause
"""firmware/layers.py finds what it is to find, in a copy of the firmware, and nothing in the firmware itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FIRMWARE = Path(__file__).resolve().parents[1]
LAYERS = ("lib", "platform", "media", "ftl", "csd", "nvme", "app")


def check(root: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, str(FIRMWARE / "layers.py"), str(root)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for layer in LAYERS:
        shutil.copytree(FIRMWARE / layer, tmp_path / layer)
    return tmp_path


def prepend(path: Path, line: str) -> None:
    path.write_text(line + path.read_text())


def test_the_firmware_keeps_to_its_layers() -> None:
    assert check(FIRMWARE) == (0, "")


def test_an_include_upward_is_refused_with_its_chain(copy: Path) -> None:
    prepend(copy / "media" / "parts.h", '#include "csd/schedule.h"\n')
    status, out = check(copy)
    assert status == 1
    assert "media/parts.h -> csd/schedule.h: media is below csd" in out
    # From the source that is compiled to the header that should not be there.
    chain = next(line for line in out.splitlines() if "media/parts.h -> csd/schedule.h" in line).split(": ")[1].split(" -> ")
    assert chain[0].endswith(".c") and chain[0].startswith(("lib/", "platform/", "media/"))


def test_nvme_sees_the_service_of_csd_alone(copy: Path) -> None:
    prepend(copy / "nvme" / "io.c", '#include "csd/scomp.h"\n')
    status, out = check(copy)
    assert status == 1
    assert "nvme/io.c -> csd/scomp.h: nvme may include of csd only csd/service.h" in out


def test_csd_knows_no_nvme(copy: Path) -> None:
    prepend(copy / "csd" / "feed.c", '#include "nvme/nvme.h"\n')
    assert check(copy) == (1, "firmware layers: csd/feed.c -> nvme/nvme.h: csd is below nvme\n")


@pytest.mark.parametrize("head", ["void nand_borrowed(uint32_t n)", "const struct nand_op *\nnand_borrowed(void)"])
def test_a_call_upward_without_an_include_is_refused(copy: Path, head: str) -> None:
    prepend(copy / "media" / "parts.h", f"{head};\n")
    source = copy / "csd" / "feed.c"
    source.write_text(f"{source.read_text()}\n{head} {{\n}}\n")
    status, out = check(copy)
    assert status == 1
    assert "media/parts.h declares nand_borrowed, which csd/feed.c defines" in out


def test_a_comment_is_no_include(copy: Path) -> None:
    prepend(copy / "media" / "parts.h", '/*\n#include "csd/schedule.h"\n*/\n')
    assert check(copy) == (0, "")
