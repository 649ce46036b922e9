# SPDX-License-Identifier: BSD-3-Clause
"""The tree of modules."""

from __future__ import annotations

from pathlib import Path

import pytest
from assasin.synth import SynthError
from assasin.synth.rtl import Rtl, parse
from assasin.synth.units import is_unit
from conftest import SMALL_CHIP, write_chip


def test_names() -> None:
    assert parse("AssasinSb4x8") == ("AssasinSb", 4, 8)
    for wrong in ("AssasinSb", "AssasinSb0x8", "4x8", "AssasinSb4x8 "):
        with pytest.raises(SynthError, match="for example AssasinSb4x8"):
            parse(wrong)


def test_instances(small_chip: Path) -> None:
    chip = Rtl(small_chip)
    assert chip.instances["AssasinSoc"] == {"Core": 2}
    assert chip.counts() == {"AssasinSoc": 1, "Core": 2, "Counter": 2, "big_2048x32": 2, "small_16x8": 2}
    assert chip.closure("Core", lambda m: m == "Counter") == {"Core", "big_2048x32", "small_16x8"}
    assert dict(chip.paths("Core")) == {"": "Core", "rows": "Counter", "big_ext": "big_2048x32", "small_ext": "small_16x8"}
    assert [chip.memory_bits(m) for m in ("big_2048x32", "small_16x8", "Core")] == [65536, 128, 0]


def test_hash_is_of_the_content(small_chip: Path, tmp_path: Path) -> None:
    before = Rtl(small_chip)
    renamed = {
        n: t.replace("Counter ", "Counter_3 ").replace("module Counter(", "module Counter_3(") for n, t in SMALL_CHIP.items()
    }
    renamed["Counter_3"] = renamed.pop("Counter")
    after = Rtl(write_chip(tmp_path / "renamed", renamed))
    assert after.hash("AssasinSoc") == before.hash("AssasinSoc")
    changed = SMALL_CHIP | {"Counter": SMALL_CHIP["Counter"].replace("11'h1;", "11'h3;")}
    other = Rtl(write_chip(tmp_path / "changed", changed))
    assert other.hash("Core") != before.hash("Core")
    # The top sees only the ports of Core, which is a unit.
    assert other.hash("AssasinSoc") != before.hash("AssasinSoc")
    assert other.hash("AssasinSoc", is_unit) == before.hash("AssasinSoc", is_unit)


def test_folder_without_top(tmp_path: Path) -> None:
    (tmp_path / "Core.sv").write_text(SMALL_CHIP["Core"])
    with pytest.raises(SynthError, match=r"holds no AssasinSoc\.sv: remove the folder"):
        Rtl(tmp_path)


def test_part_of_a_chip(tmp_path: Path) -> None:
    part = write_chip(tmp_path / "part", {n: t for n, t in SMALL_CHIP.items() if n != "AssasinSoc"})
    with pytest.raises(SynthError, match="holds no AssasinSoc"):
        Rtl(part)
    assert Rtl(part, "Core").counts("Core") == {"Core": 1, "Counter": 1, "big_2048x32": 1, "small_16x8": 1}
