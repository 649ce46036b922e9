# SPDX-License-Identifier: BSD-3-Clause
"""The offloads' ELF files: layout, encodings, and what the machine code does against the native builds."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from pathlib import Path

import assasin_contract as contract
import numpy as np
import pytest
from assasin import tpch
from iss import Core, segments
from native import ROOT, run

OFFLOAD = ROOT / "build" / "offload"
NAMES = ["scan", "stat", "filter", "histogram"]
ARCHS = ["sb", "sbx", "sp", "mem"]
STREAM_OPS = {
    n.removeprefix("MATCH_"): (getattr(contract, n), getattr(contract, n.replace("MATCH", "MASK")))
    for n in dir(contract)
    if n.startswith("MATCH_")
}


def words(name: str, arch: str = "sb") -> list[int]:
    elf = (OFFLOAD / arch / f"{name}.elf").read_bytes()
    (text,) = (data for address, data, _ in segments(elf) if address < contract.CORE_SPAD_BASE)
    return list(struct.unpack(f"<{len(text) // 4}I", text))


def op_of(word: int) -> str | None:
    found = [n for n, (match, mask) in STREAM_OPS.items() if word & mask == match]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arch", ARCHS)
def test_layout(name: str, arch: str) -> None:
    elf = (OFFLOAD / arch / f"{name}.elf").read_bytes()
    assert len(elf) <= contract.SCOMP_MAX_ELF
    assert struct.unpack_from("<HHIII", elf, 16)[:4] == (2, 243, 1, 0)
    assert struct.unpack_from("<I", elf, 36)[0] == 0, "e_flags: no compressed code, soft float"
    for address, _, size in segments(elf):
        if address < contract.CORE_SPAD_BASE:
            assert address + size <= contract.CORE_IMEM_SIZE
        else:
            assert address >= contract.CORE_SPAD_BASE + contract.SCOMP_SPAD_DATA
            assert address + size <= contract.CORE_SPAD_BASE + contract.CORE_SPAD_SIZE


@pytest.mark.parametrize("name", NAMES)
def test_every_custom_word_is_a_stream_instruction(name: str) -> None:
    custom = [w for w in words(name) if w & 0x7F == 0x0B]
    assert custom
    assert all(op_of(w) for w in custom)
    assert (OFFLOAD / f"{name}.elf").read_bytes() == (OFFLOAD / "sb" / f"{name}.elf").read_bytes()


@pytest.mark.parametrize("arch", ["sp", "mem"])
def test_no_stream_instruction_without_stream_hardware(arch: str) -> None:
    assert not [w for name in NAMES for w in words(name, arch) if w & 0x7F == 0x0B]


@pytest.mark.parametrize("arch", ["sp", "mem"])
def test_software_pointers_cost_a_comparison_and_an_addition(arch: str) -> None:
    data = random.Random(5).randbytes(1 << 18)
    spent = {}
    for a in ("sb", arch):
        core = Core(OFFLOAD / a / "sum.elf", [data], software=a != "sb")
        assert core.run() == 0
        spent[a] = core.instructions
    extra = (spent[arch] - spent["sb"]) / (len(data) // 4)
    assert 1.9 < extra < 2.1


def test_scan_spends_one_instruction_a_byte_and_little_else() -> None:
    code = words("scan")
    loads = sum(op_of(w) == "STREAM_LBU" for w in code)
    first = next(i for i, w in enumerate(code) if op_of(w) == "STREAM_LBU")
    last = max(i for i, w in enumerate(code) if op_of(w) == "STREAM_LBU")
    in_loop = last + 2 - first  # and the jump back
    assert loads == 512
    assert in_loop <= loads * 1.02


def inputs(name: str, size: int) -> tuple[bytes, bytes]:
    data = random.Random(size).randbytes(size)
    if name != "filter":
        return data, b""
    rows = np.frombuffer(data[: size // 32 * 32], tpch.TUPLE).copy()
    low, high = tpch.Q6().days()
    rows["shipdate"] = np.where(rows["shipdate"] % 2, low + abs(rows["shipdate"]) % (high - low), high)
    rows["discount"] = abs(rows["discount"]) % 11
    rows["quantity"] = abs(rows["quantity"]) % 5000
    return rows.tobytes() + data[size // 32 * 32 :], tpch.Q6().args()


@pytest.mark.parametrize("size", [0, 1, 31, 64, 511, 512, 513, 1000, 4096, 20001, 150003])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arch", ARCHS)
def test_machine_code_and_native_build_agree(name: str, size: int, arch: str) -> None:
    data, args = inputs(name, size)
    expected = run(name, [data], args)
    for seed in (0, 1, size + 2):
        core = Core(OFFLOAD / arch / f"{name}.elf", [data], args, software=arch in ("sp", "mem"), seed=seed)
        value = core.run()
        assert (value, core.out) == expected


MIXED = """#include <assasin.h>
/* Copies by elements whose widths the data itself chooses, so that the heads take every alignment; then sums. */
int compute(void) {
    ASSASIN_IN(0); ASSASIN_IN(1); ASSASIN_OUT(0); ASSASIN_OUT(1);
    uint32_t sum = 0, kind;
    for (;;) {
        kind = ASSASIN_LOAD_U8(0, end);
        uint32_t v;
        switch (kind % 6) {
        case 0: v = ASSASIN_LOAD_U8(1, end); ASSASIN_STORE_U8(0, v); break;
        case 1: v = (uint32_t)ASSASIN_LOAD_S8(1, end); ASSASIN_STORE_U16(0, v); break;
        case 2: v = ASSASIN_LOAD_U16(1, end); ASSASIN_STORE_U16(0, v); break;
        case 3: v = (uint32_t)ASSASIN_LOAD_S16(1, end); ASSASIN_STORE_U32(0, v); break;
        case 4: v = ASSASIN_LOAD_U32(1, end); ASSASIN_STORE_U32(0, v); break;
        default: v = (uint32_t)ASSASIN_LOAD_S32(1, end); ASSASIN_STORE_U8(0, v); ASSASIN_STORE_U16(1, v); break;
        }
        sum += v;
        if (ASSASIN_OUT_HEAD(0) > 64 && kind >= 128) {
            sum ^= ASSASIN_PEEK_OUT_U8(0, 1 + kind % 64) + 3 * ASSASIN_PEEK_OUT_U16(0, 2 + kind % 60);
            sum ^= 5 * ASSASIN_PEEK_OUT_U32(0, 4 + kind % 50);
        }
    }
end:
    ASSASIN_STORE_U32(1, sum);
    ASSASIN_STORE_U32(1, ASSASIN_IN_HEAD(0));
    ASSASIN_STORE_U32(1, ASSASIN_IN_HEAD(1));
    ASSASIN_STORE_U32(1, ASSASIN_OUT_HEAD(0));
    ASSASIN_RETURN((int)(sum & 0xff));
}
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("mixed")
    done = build(tmp_path, MIXED, "all")
    assert done.returncode == 0, done.stderr
    return tmp_path / "out"


def mixed_in_python(kinds: bytes, data: bytes) -> tuple[int, list[bytes]]:
    """What MIXED does, from its text."""
    total, at, used, outs = 0, 0, 0, [bytearray(), bytearray()]
    for kind in kinds:
        k = kind % 6
        width = (1, 1, 2, 2, 4, 4)[k]
        used += 1
        if at + width > len(data):
            break
        v = int.from_bytes(data[at : at + width], "little", signed=k in (1, 3, 5)) & 0xFFFFFFFF
        at += width
        stored = (1, 2, 2, 4, 4, 1)[k]
        outs[0] += v.to_bytes(4, "little")[:stored]
        if k == 5:
            outs[1] += v.to_bytes(4, "little")[:2]
        total = total + v & 0xFFFFFFFF
        if len(outs[0]) > 64 and kind >= 128:

            def peek(width: int, distance: int, end: int = len(outs[0])) -> int:
                return int.from_bytes(outs[0][end - distance : end - distance + width], "little")

            total ^= peek(1, 1 + kind % 64) + 3 * peek(2, 2 + kind % 60)
            total = (total ^ 5 * peek(4, 4 + kind % 50)) & 0xFFFFFFFF
    outs[1] += struct.pack("<4I", total, used, at, len(outs[0]))
    return total & 0xFF, [bytes(o) for o in outs]


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("page", [512, 4096])
def test_all_widths_at_all_alignments_on_all_back_ends(mixed: Path, seed: int, page: int) -> None:
    rng = random.Random(seed)
    kinds = rng.randbytes(40_000 + seed) if seed < 7 else bytes([4 + seed % 2]) * 33_000
    data = rng.randbytes(rng.choice([7, 8190, 66_000, 90_003]))
    expected = mixed_in_python(kinds, data)
    assert run("mine", [kinds, data], outputs=2, folder=mixed) == expected
    for arch in ARCHS:
        core = Core(mixed / arch / "mine.elf", [kinds, data], outputs=2, software=arch in ("sp", "mem"), seed=seed, page=page)
        value = core.run()
        assert (value, core.out) == expected, arch


def test_a_misaligned_stream_of_words(tmp_path: Path) -> None:
    source = """#include <assasin.h>
        int compute(void) {
            ASSASIN_IN(0); ASSASIN_OUT(0);
            uint32_t v = ASSASIN_LOAD_U8(0, end);
            ASSASIN_STORE_U8(0, v);
            for (;;) { v = ASSASIN_LOAD_U32(0, end); ASSASIN_STORE_U32(0, v); }
        end: ASSASIN_RETURN(0); }"""
    assert build(tmp_path, source).returncode == 0
    data = random.Random(3).randbytes(140_003)
    for arch in ARCHS:
        core = Core(tmp_path / "out" / arch / "mine.elf", [data], software=arch in ("sp", "mem"), seed=9)
        assert core.run() == 0
        assert core.out == [data[: 1 + (len(data) - 1) // 4 * 4]]


def test_filter_refuses_other_arguments_on_a_core() -> None:
    for arch in ARCHS:
        assert Core(OFFLOAD / arch / "filter.elf", [b""], b"short", software=arch in ("sp", "mem")).run() == 1


def build(tmp_path: Path, source: str, target: str = "elf") -> subprocess.CompletedProcess[str]:
    (tmp_path / "mine.c").write_text(source)
    make = ["make", "-s", "-C", ROOT / "firmware" / "offload", target, f"SRC={tmp_path / 'mine.c'}", f"OUT={tmp_path / 'out'}"]
    return subprocess.run(make, capture_output=True, text=True, env={**os.environ, "MAKEFLAGS": ""})


def test_an_offload_of_your_own_builds(tmp_path: Path) -> None:
    readme = (ROOT / "firmware" / "offload" / "README.md").read_text()
    quoted = readme[readme.index("    #include <assasin.h>") : readme.index("    make -C firmware/offload SRC")]
    source = "\n".join(line.removeprefix("    ") for line in quoted.rstrip().split("\n")) + "\n"
    assert (ROOT / "firmware" / "offload" / "examples" / "histogram.c").read_text().endswith(source)
    done = build(tmp_path, source)
    assert done.returncode == 0, done.stderr
    for arch in ARCHS:
        core = Core(tmp_path / "out" / arch / "mine.elf", [b"abca"], software=arch in ("sp", "mem"))
        assert core.run() == 0
        assert struct.unpack("<256I", core.out[0])[97:100] == (2, 1, 1)


def test_two_ends_of_stream_are_refused(tmp_path: Path) -> None:
    done = build(
        tmp_path,
        """#include <assasin.h>
        int compute(void) {
            ASSASIN_IN(0); ASSASIN_OUT(0);
            uint32_t a = ASSASIN_LOAD_U32(0, short_);
            for (;;) a += ASSASIN_LOAD_U32(0, end);
        end: ASSASIN_STORE_U32(0, a); ASSASIN_RETURN(0);
        short_: return 3; }""",
    )
    assert done.returncode != 0
    assert "stream loads end in 2 different places" in done.stderr


def test_a_constant_on_the_edge_is_refused_and_keep_helps(tmp_path: Path) -> None:
    source = """#include <assasin.h>
        int compute(void) {{
            ASSASIN_IN(0); ASSASIN_OUT(0);
            uint32_t n = 0; {keep}
            (void)ASSASIN_LOAD_U8(0, end); n = 1; {keep}
            (void)ASSASIN_LOAD_U8(0, end); n = 2; {keep}
        end: ASSASIN_STORE_U32(0, n); ASSASIN_RETURN(0); }}"""
    done = build(tmp_path, source.format(keep=""))
    assert done.returncode != 0
    assert "ASSASIN_KEEP" in done.stderr
    assert build(tmp_path, source.format(keep="ASSASIN_KEEP(n);")).returncode == 0
    for length in range(4):
        core = Core(tmp_path / "out" / "mine.elf", [bytes(length)])
        core.run()
        assert struct.unpack("<I", core.out[0]) == (min(length, 2),)


def test_data_bss_and_library_calls_work_on_a_core(tmp_path: Path) -> None:
    done = build(
        tmp_path,
        """#include <assasin.h>
        static const uint8_t table[16] = "0123456789abcdef";
        static uint32_t ones = 0x01010101, zeros[600];
        int compute(void) {
            ASSASIN_OUT(0);
            struct { uint32_t v[64]; } copy = {{0}};
            for (unsigned i = 0; i < 64; i++) copy.v[i] = zeros[i * 9] + ones;
            uint64_t n = assasin_task()->bytes[0], q = (n << 33 | 5) / 7;
            ASSASIN_STORE_U32(0, copy.v[63] + table[n]);
            ASSASIN_STORE_U32(0, q); ASSASIN_STORE_U32(0, q >> 32);
            ASSASIN_STORE_U32(0, ASSASIN_PEEK_OUT_U32(0, 12)); ASSASIN_STORE_U32(0, ASSASIN_PEEK_IN_U8(0, 1));
            ASSASIN_RETURN(0); }""",
    )
    assert done.returncode == 0, done.stderr
    for arch in ARCHS:
        core = Core(tmp_path / "out" / arch / "mine.elf", [b"xyz"], software=arch in ("sp", "mem"))
        assert core.run() == 0
        first, low, high, again, last = struct.unpack("<5I", core.out[0])
        assert first == again == 0x01010101 + ord("3")
        assert high << 32 | low == (3 << 33 | 5) // 7
        assert last == ord("z")


def test_an_offload_without_loads_has_no_epilogue(tmp_path: Path) -> None:
    done = build(tmp_path, "#include <assasin.h>\nint compute(void) { ASSASIN_OUT(0); ASSASIN_STORE_U8(0, 1); ASSASIN_RETURN(7); }")
    assert done.returncode == 0, done.stderr
    core = Core(tmp_path / "out" / "mine.elf", [b""])
    assert core.run() == 7
    assert core.sepilogue == 0
