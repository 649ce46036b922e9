# SPDX-License-Identifier: BSD-3-Clause
"""The firmware's images for every processor of firmware/hal: entry, place, and instructions that the processor has."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CROSS = "riscv64-unknown-elf-"
# Standard instructions of RV32I, RV64I, M, A, C, Zicsr and Zifencei, as objdump names them, by what they begin with.
BASE = (
    "add|addi|addw|addiw|and|andi|auipc|b(eq|ne|lt|ge|gt|le)(z|u)?|csr\\w*|ebreak|ecall|fence(\\.i)?|j|jal|jalr|jr|l[bhwd]u?|li|lui"
    "|mret|mv|neg|negw|nop|not|or|ori|rd\\w+|ret|s[bhwd]|seqz|snez|sgtz|sltz|sll|slli|sllw|slliw|slt|slti|sltu|sltiu|sext\\.[bhw]|zext\\.b"
    "|sra|srai|sraw|sraiw|srl|srli|srlw|srliw|sub|subw|unimp|wfi|xor|xori"
)
MULTIPLY = "mul(w|h|hu|hsu)?|div(u|w|uw)?|rem(u|w|uw)?"
ATOMIC = "amo\\w+\\.[wd](\\.\\w+)?|lr\\.[wd](\\.\\w+)?|sc\\.[wd](\\.\\w+)?"

# Opcodes custom-0 to custom-3, among them those of the stream instructions.
CUSTOM = (0x0B, 0x2B, 0x5B, 0x7B)


@dataclass(frozen=True)
class Image:
    """What `processor`'s image has to be: [first, end) is the memory that it has to itself."""

    processor: str
    first: int
    end: int
    bits: int
    compressed: bool

    @property
    def elf(self) -> Path:
        """A build of the tests' own: other suites build theirs at the same time."""
        return ROOT / "build" / "firmware" / "images" / self.processor / "assasin-fw.elf"


IMAGES = (
    Image("core", 0, 0x60000, 32, compressed=False),
    Image("rocket", 0xF4000000, 0xF4100000, 32, compressed=True),
    Image("rocket64", 0xF4000000, 0xF4100000, 64, compressed=True),
)


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout


@pytest.fixture(scope="module", params=IMAGES, ids=lambda i: i.processor)
def image(request: pytest.FixtureRequest) -> Image:
    found: Image = request.param
    output("make", "-s", "-C", ROOT / "firmware", f"FW_CPU={found.processor}", f"OUT={found.elf.parent}")
    return found


def segments(elf: Path) -> list[tuple[int, int]]:
    """[first, end) of each part that is loaded or reserved."""
    found = []
    for line in output(f"{CROSS}readelf", "-lW", elf).splitlines():
        words = line.split()
        if words and words[0] == "LOAD":
            found.append((int(words[3], 16), int(words[3], 16) + int(words[5], 16)))
    return sorted(found)


def symbols(elf: Path) -> dict[str, int]:
    return {name: int(value, 16) for value, _, name in (line.split() for line in output(f"{CROSS}nm", elf).splitlines())}


def instructions(elf: Path) -> list[tuple[int, str, str]]:
    """Address, bytes in hexadecimal, mnemonic."""
    listing = output(f"{CROSS}objdump", "-d", elf)
    return [
        (int(a, 16), word, name) for a, word, name in re.findall(r"^ *([0-9a-f]+):\t([0-9a-f]+) +\t([\w.]+)", listing, re.MULTILINE)
    ]


def test_starts_where_the_processor_does(image: Image) -> None:
    header = output(f"{CROSS}readelf", "-h", image.elf)
    entry = re.search(r"Entry point address: +0x([0-9a-f]+)", header)
    assert entry is not None
    assert int(entry[1], 16) == image.first
    assert f"ELF{image.bits}" in header
    assert symbols(image.elf)["_start"] == image.first


def test_keeps_to_its_memory(image: Image) -> None:
    parts = segments(image.elf)
    assert parts
    assert parts[0][0] == image.first
    # The stack goes down from the end of the memory to the last part.
    assert parts[-1][1] + 0x2000 <= image.end
    assert symbols(image.elf)["__stack_top"] == image.end
    for (_, end), (first, _) in pairwise(parts):
        assert end <= first
    flat = image.elf.with_suffix(".bin").stat().st_size
    assert 0 < flat <= image.end - image.first


def test_the_drives_dram_map_leaves_the_tiles_memory_free() -> None:
    """platform/dram.h asserts that its parts follow each other without overlap; DRAM_FIRMWARE is the one of the linker script."""
    text = (ROOT / "firmware" / "platform" / "dram.h").read_text()
    offset = re.search(r"#define DRAM_FIRMWARE +\(ASSASIN_DRAM_BASE \+ (0x[0-9a-f]+)u\)", text)
    size = re.search(r"#define DRAM_FIRMWARE_SIZE +(0x[0-9a-f]+)u", text)
    assert offset is not None
    assert size is not None
    for tile in IMAGES[1:]:
        assert (0x80000000 + int(offset[1], 16), int(size[1], 16)) == (tile.first, tile.end - tile.first)
    assert "DRAM_BEHIND(DRAM_FIRMWARE, DRAM_LOCAL);" in text


def test_has_only_instructions_of_its_processor(image: Image) -> None:
    code = instructions(image.elf)
    assert len(code) > 10000
    legal = re.compile(rf"(c\.)?({BASE}|{MULTIPLY}{'|' + ATOMIC if image.compressed else ''})")
    strange = {name for _, _, name in code if not legal.fullmatch(name)}
    assert not strange
    assert not [hex(address) for address, word, _ in code if len(word) == 8 and int(word, 16) & 0x7F in CUSTOM]
    short = [word for _, word, _ in code if len(word) == 4]
    assert bool(short) == image.compressed


def test_reaches_registers_through_fences_on_a_tile(image: Image) -> None:
    """The order of the fences is what firmware/tests/rocket looks at; the drive's own processor needs none."""
    fences = [name for _, _, name in instructions(image.elf) if name == "fence"]
    assert (len(fences) > 100) == image.compressed
    assert image.compressed or not fences


def test_an_unknown_processor_is_refused() -> None:
    done = subprocess.run(["make", "-C", ROOT / "firmware", "FW_CPU=nothing"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "FW_CPU=nothing: there are core rocket rocket64" in done.stderr
