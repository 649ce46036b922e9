# SPDX-License-Identifier: BSD-3-Clause
"""Which firmware a configuration gets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from assasin.board import ARCHITECTURES
from assasin.processor import CORE, ROCKET, ROCKET64, Processor, processor_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("config", "processor"),
    [("AssasinSb8x8", CORE), ("Baseline2x2", CORE), ("ChipyardAssasin2x2", ROCKET), ("ChipyardAssasinRvd2x2", ROCKET64)],
)
def test_the_configuration_names_the_processor(config: str, processor: Processor) -> None:
    assert processor_of(config) is processor


def test_images_and_their_builds() -> None:
    core = Path("build/firmware/assasin-fw.bin")
    assert CORE.image(core) == core
    assert ROCKET.image(core) == Path("build/firmware/rocket/assasin-fw.bin")
    assert ROCKET64.make == "make -C firmware FW_CPU=rocket64"
    for processor in (CORE, ROCKET, ROCKET64):
        assert (ROOT / "firmware" / "hal" / processor.name / "cpu.mk").exists()


def test_the_place_is_the_linker_scripts() -> None:
    script = (ROOT / "firmware" / "hal" / "rocket" / "link.ld").read_text()
    found = re.search(r"ORIGIN = (0x[0-9a-f]+), LENGTH = (\d+)M", script)
    assert found is not None
    assert (int(found[1], 16), int(found[2]) << 20) == (ROCKET.base, ROCKET.size) == (ROCKET64.base, ROCKET64.size)


def test_every_architecture_has_one() -> None:
    assert {processor_of(f"{name}2x2").name for name in ARCHITECTURES} == {"core", "rocket", "rocket64"}
