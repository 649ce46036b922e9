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
STREAM_OPS = {
    n.removeprefix("MATCH_"): (getattr(contract, n), getattr(contract, n.replace("MATCH", "MASK")))
    for n in dir(contract)
    if n.startswith("MATCH_")
}


def words(name: str) -> list[int]:
    (text,) = (data for address, data, _ in segments((OFFLOAD / f"{name}.elf").read_bytes()) if address < contract.CORE_SPAD_BASE)
    return list(struct.unpack(f"<{len(text) // 4}I", text))


def op_of(word: int) -> str | None:
    found = [n for n, (match, mask) in STREAM_OPS.items() if word & mask == match]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("name", NAMES)
def test_layout(name: str) -> None:
    elf = (OFFLOAD / f"{name}.elf").read_bytes()
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


@pytest.mark.parametrize("size", [0, 1, 31, 64, 511, 512, 513, 1000, 4096, 20001])
@pytest.mark.parametrize("name", NAMES)
def test_machine_code_and_native_build_agree(name: str, size: int) -> None:
    data, args = inputs(name, size)
    core = Core(OFFLOAD / f"{name}.elf", [data], args)
    value = core.run()
    assert (value, [bytes(o) for o in core.out]) == run(name, [data], args)


def test_filter_refuses_other_arguments_on_a_core() -> None:
    assert Core(OFFLOAD / "filter.elf", [b""], b"short").run() == 1


def build(tmp_path: Path, source: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "mine.c").write_text(source)
    make = ["make", "-s", "-C", ROOT / "firmware" / "offload", "elf", f"SRC={tmp_path / 'mine.c'}", f"OUT={tmp_path / 'out'}"]
    return subprocess.run(make, capture_output=True, text=True, env={**os.environ, "MAKEFLAGS": ""})


def test_an_offload_of_your_own_builds(tmp_path: Path) -> None:
    readme = (ROOT / "firmware" / "offload" / "README.md").read_text()
    quoted = readme[readme.index("    #include <assasin.h>") : readme.index("    make -C firmware/offload SRC")]
    source = "\n".join(line.removeprefix("    ") for line in quoted.rstrip().split("\n")) + "\n"
    assert (ROOT / "firmware" / "offload" / "examples" / "histogram.c").read_text().endswith(source)
    done = build(tmp_path, source)
    assert done.returncode == 0, done.stderr
    core = Core(tmp_path / "out" / "mine.elf", [b"abca"])
    assert core.run() == 0
    assert struct.unpack("<256I", core.out[0])[97:100] == (2, 1, 1)


def test_two_ends_of_stream_are_refused(tmp_path: Path) -> None:
    done = build(
        tmp_path,
        """#include <assasin.h>
        int compute(void) {
            uint32_t a = ASSASIN_LOAD_U32(0, short_);
            for (;;) a += ASSASIN_LOAD_U32(0, end);
        end: ASSASIN_STORE_U32(0, a); return 0;
        short_: return 3; }""",
    )
    assert done.returncode != 0
    assert "stream loads end in 2 different places" in done.stderr


def test_a_constant_on_the_edge_is_refused_and_keep_helps(tmp_path: Path) -> None:
    source = """#include <assasin.h>
        int compute(void) {{
            uint32_t n = 0; {keep}
            (void)ASSASIN_LOAD_U8(0, end); n = 1; {keep}
            (void)ASSASIN_LOAD_U8(0, end); n = 2; {keep}
        end: ASSASIN_STORE_U32(0, n); return 0; }}"""
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
            struct { uint32_t v[64]; } copy = {{0}};
            for (unsigned i = 0; i < 64; i++) copy.v[i] = zeros[i * 9] + ones;
            uint64_t n = assasin_task()->bytes[0], q = (n << 33 | 5) / 7;
            ASSASIN_STORE_U32(0, copy.v[63] + table[n]);
            ASSASIN_STORE_U32(0, q); ASSASIN_STORE_U32(0, q >> 32);
            ASSASIN_STORE_U32(0, ASSASIN_PEEK_OUT_U32(0, 12)); ASSASIN_STORE_U32(0, ASSASIN_PEEK_IN_U8(0, 1));
            return 0; }""",
    )
    assert done.returncode == 0, done.stderr
    core = Core(tmp_path / "out" / "mine.elf", [b"xyz"])
    assert core.run() == 0
    first, low, high, again, last = struct.unpack("<5I", core.out[0])
    assert first == again == 0x01010101 + ord("3")
    assert high << 32 | low == (3 << 33 | 5) // 7
    assert last == ord("z")


def test_an_offload_without_loads_has_no_epilogue(tmp_path: Path) -> None:
    done = build(tmp_path, "#include <assasin.h>\nint compute(void) { ASSASIN_STORE_U8(0, 1); return 7; }")
    assert done.returncode == 0, done.stderr
    core = Core(tmp_path / "out" / "mine.elf", [b""])
    assert core.run() == 7
    assert core.sepilogue == 0
