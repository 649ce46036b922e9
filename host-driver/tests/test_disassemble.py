# SPDX-License-Identifier: BSD-3-Clause
"""Disassembly against binutils, for the words that it knows, and against the contract's encoders."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest
from assasin.bringup.disassemble import listing, text
from assasin.bringup.gdbserver import GdbServer
from assasin.tree import contract

SEED = int(os.environ.get("SEED", "1"))


def base_words(rng: random.Random) -> list[int]:
    """Words of RV32IM and Zicsr, many of them with neighbours that are none."""
    opcodes = (0x37, 0x17, 0x6F, 0x67, 0x63, 0x03, 0x23, 0x13, 0x33, 0x73)
    words = [0x73, 0x100073, 0x30200073, 0x10500073, 0x0FF0000F, 0x100F]
    for _ in range(4000):
        opcode = rng.choice(opcodes)
        word = rng.getrandbits(25) << 7 | opcode
        if opcode in (0x33, 0x13):
            word = word & 0x01FFFFFF | rng.choice((0, 0, 1, 0x20)) << 25
        words.append(word)
    return words


def test_base_words_as_binutils_has_them(tmp_path: Path) -> None:
    words = base_words(random.Random(SEED))
    (tmp_path / "code.bin").write_bytes(b"".join(w.to_bytes(4, "little") for w in words))
    command = "riscv64-unknown-elf-objdump -D -b binary -m riscv:rv32 -M no-aliases,numeric"
    run = subprocess.run([*command.split(), tmp_path / "code.bin"], check=True, capture_output=True, text=True)
    names = ["zero", "ra", "sp", "gp", "tp", *(f"t{i}" for i in range(3)), "s0", "s1", *(f"a{i}" for i in range(8))]
    names += [*(f"s{i}" for i in range(2, 12)), *(f"t{i}" for i in range(3, 7))]
    compared = 0
    for line in run.stdout.splitlines():
        found = re.match(r"\s*([0-9a-f]+):\s+([0-9a-f]{8})\s+(\S.*)$", line)
        if not found:
            continue
        pc, word, theirs = int(found[1], 16), int(found[2], 16), found[3].split(" #")[0].strip()
        ours = text(word, pc)
        if ours.startswith(".word"):
            # what binutils knows beyond: RV64, Zb*, floating point, hypervisor
            assert not re.match(r"(lw|addi|add|sub|mul\w*|div\w*|rem\w*|beq|jal|csrr\w+|sll|srl|sra)\s", theirs), (
                theirs,
                hex(word),
            )
            continue
        theirs = re.sub(r"\bx(\d+)\b", lambda m: names[int(m[1])], re.sub(r"\s+", " ", theirs))
        theirs = re.sub(r"0x([0-9a-f]+)$", lambda m: f"{int(m[1], 16) & 0xFFFFFFFF:x}", theirs) if " 0x" not in theirs else theirs
        if ours.startswith("csrr"):  # binutils names more CSRs
            (mine, *mine_rest), (other, *other_rest) = ours.split(","), theirs.split(",")
            assert (mine, mine_rest[1:]) == (other, other_rest[1:]), hex(word)
        elif ours.split()[0] in ("jal", *("beq", "bne", "blt", "bge", "bltu", "bgeu")):
            target = int(theirs.rsplit(",", 1)[1], 16) & 0xFFFFFFFF
            assert (ours.rsplit(",", 1)[0], int(ours.rsplit(",", 1)[1], 16)) == (theirs.rsplit(",", 1)[0], target), hex(word)
        else:
            squeezed = theirs.replace("0x", "")
            assert ours.replace("0x", "") == squeezed, f"SEED={SEED}, {word:#010x}: {theirs}"
        compared += 1
    assert compared > 2000


def test_words_of_the_contract() -> None:
    rng = random.Random(SEED)
    for row in contract.INSTRUCTIONS:
        for _ in range(20):
            word = row.match | rng.getrandbits(32) & ~row.mask
            name, _, operands = text(word, 0).partition(" ")
            assert name == row.name
            for operand in row.operands:
                value = word >> operand.lsb & ((1 << operand.width) - 1)
                if operand.name in ("vd", "vs", "vs1", "vs2"):
                    assert f"v{value}" in operands.split(",")
                if operand.name in ("id", "rs1=stream"):
                    assert f"s{value}" in operands.split(",")


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        (0x6280B0AB, "vv.cmpeq.vi v1,v8,1"),  # the example of isa.md 3.2
        (0x0200245B, "vs.vunpack v8,s0"),
        (0x048024DB, "vs.vunpack.m v9,s1,v8.t"),
        (0x0084B5DB, "vs.vpack.m a1,v9,s0,v8.t"),
        (0x003015DB, "vs.rcnum a1,{s0 s1}"),
        (0x3200055B, "vs.ew a0,s0"),
        (0x00A6005B, "vs.fr s0,a2,a0"),
        (0x840715F3, "csrrw a1,vsfmt,a4"),
        (0x0000200B, "stream.lw zero,s0"),
        (0xF00187AB, ".word 0xf00187ab"),  # funct6 111100 is no instruction of VarVE
        (0xFFFFFFFF, ".word 0xffffffff"),
        (0x0D0575D7, "vsetvli a1,a0,e32,m1,ta,ma"),
    ],
)
def test_examples(word: int, wanted: str) -> None:
    assert text(word, 0) == wanted


def test_any_word_has_a_text() -> None:
    rng = random.Random(SEED)
    for _ in range(20000):
        word = rng.getrandbits(32)
        shown = text(word, rng.getrandbits(32) & ~3)
        assert shown
        if shown.startswith(".word"):
            assert shown == f".word {word:#010x}"


def test_listing() -> None:
    code = b"".join(w.to_bytes(4, "little") for w in (0x0200245B, 0x00000513))
    assert listing(code, 0x1C) == "      1c:  0200245b  vs.vunpack v8,s0\n      20:  00000513  addi a0,zero,0\n"


class FakeHart:
    """As much of a hart as `monitor disassemble` needs."""

    name = "core 0"
    is_firmware = False
    pc = 0x1C

    def read_memory(self, address: int, count: int) -> bytes:
        code = b"".join(w.to_bytes(4, "little") for w in (0x0200245B, 0x00000513))
        return (code * 64)[address - 0x1C :][:count]


class FakeWire:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.said = ""

    def send(self, packet: str) -> None:
        assert packet[0] == "O"
        self.said += bytes.fromhex(packet[1:]).decode()


@pytest.mark.parametrize(
    ("asked", "lines", "first"),
    [
        ("disassemble", 16, "      1c:  0200245b  vs.vunpack v8,s0"),
        ("disassemble 0x20", 16, "      20:  00000513  addi a0,zero,0"),
        ("disassemble 32 3", 3, "      20:  00000513  addi a0,zero,0"),
        ("disassemble 0x1e", 1, "monitor disassemble: the address is a multiple of 4, and there are 1 to 64 instructions"),
        ("disassemble 0x1c 65", 1, "monitor disassemble: the address is a multiple of 4, and there are 1 to 64 instructions"),
        ("disassemble here", 1, "monitor disassemble: ADDRESS and COUNT are numbers, for example 0x1c 8"),
    ],
)
def test_in_gdb(asked: str, lines: int, first: str) -> None:
    wire = FakeWire()
    server = GdbServer(FakeHart(), wire)  # type: ignore[arg-type]
    assert server._monitor(asked) == "OK"
    assert len(wire.said.splitlines()) == lines
    assert wire.said.splitlines()[0] == first
    assert len("O") + 2 * len(wire.said) < 0x2000
