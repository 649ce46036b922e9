# SPDX-License-Identifier: BSD-3-Clause
"""The whole drive at 2x2 behind its door: data, offloads, and input that must get a clear error and leave the drive serving."""

from __future__ import annotations

import errno
import json
import os
import random
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from assasin import offloads, tpch
from assasin.board import Board, BoardError
from assasin.drive import Access, Command, Completion, Drive, DriveError, Extent, Input, Job, Session, function_image
from assasin.tree import ROOT, contract

CONFIG = "AssasinSb2x2"
PROFILE = "test"
BLOCK = 4096
HOLE = 40  # blocks from the end of the drive where nothing is ever written
NVM_READ, NVM_WRITE = 2, 1
EXEC, READ_RESULT = contract.SCOMP_OPCODE_IO_EXEC, contract.SCOMP_OPCODE_IO_READ
ABORT = contract.SCOMP_OPCODE_IO_ABORT
NO_SESSION = 0x100 | contract.NVME_VENDOR_STATUS_NO_SESSION

pytestmark = pytest.mark.system(CONFIG)


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    b = Board(f"pytest-{os.getpid()}")
    b.start(CONFIG, PROFILE, format=True)
    yield b
    b.stop()
    b.erase()


@pytest.fixture(scope="module")
def shared(board: Board) -> Iterator[Drive]:
    with Drive(board.address, queue_depth=128) as d:
        yield d


@pytest.fixture
def drive(shared: Drive) -> Iterator[Drive]:
    """The drive; whatever the test did to it, it must serve afterwards."""
    yield shared
    serves(shared)


def data_of(length: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(length)


def serves(drive: Drive) -> None:
    """A write, a read and an offload still do what they should."""
    lba = drive.info.blocks - 8
    data = data_of(2 * BLOCK, random.randrange(1 << 30))
    drive.write(lba, data)
    assert drive.read(lba, len(data)) == data
    pieces = offloads.run(drive, "scan", [Extent(lba, 2)], len(data))
    assert offloads.scan_result(pieces) == offloads.expected_scan(data)


def loaded(drive: Drive) -> int:
    """Functions that this connection has in the drive."""
    (mine,) = (s.functions for s in drive.sessions() if s.number == drive.session().number)
    return mine


def refused(code: int, words: str, call: Callable[..., object], *args: object, **kwargs: object) -> DriveError:
    with pytest.raises(DriveError, match=words) as e:
        call(*args, **kwargs)
    assert e.value.name == errno.errorcode[code], e.value
    return e.value


# ---- data ----


def test_identity(drive: Drive) -> None:
    i = drive.info
    assert (i.cores, i.channels, i.block_bytes) == (2, 2, BLOCK)
    assert i.transfer_bytes == 128 * 1024
    assert i.queue_depth == 127
    assert "ASSASIN" in i.model.upper()


def test_never_written_blocks_read_zeros(drive: Drive) -> None:
    assert drive.read(drive.info.blocks - HOLE, 5 * BLOCK) == bytes(5 * BLOCK)


def test_written_data_comes_back(drive: Drive) -> None:
    expected = bytearray(96 * BLOCK)
    r = random.Random(4)
    for seed in range(24):
        first, count = r.randrange(90), r.randrange(1, 7)
        data = data_of(count * BLOCK, seed)
        drive.write(200 + first, data)
        expected[first * BLOCK : (first + count) * BLOCK] = data
    assert drive.read(200, len(expected)) == expected


def test_many_commands_in_flight(drive: Drive) -> None:
    data = data_of(72 * 32768, 9)
    seen: list[int] = []
    drive.write(1000, data, lambda done, total: seen.append(done))
    assert drive.read(1000, len(data)) == data
    assert seen == sorted(seen)
    assert seen[-1] == len(data)


def test_flush(drive: Drive) -> None:
    drive.flush()


# ---- offloads ----


@pytest.mark.parametrize("length", [1, 63, 4096, 4097, 40000, 65536])
@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_scan(drive: Drive, length: int, pieces: int) -> None:
    data = data_of(length, length)
    blocks = drive.write(300, data)
    done = offloads.run(drive, "scan", [Extent(300, blocks)], length, pieces=pieces)
    assert offloads.scan_result(done) == offloads.expected_scan(data)
    assert sum(p.report.bytes_in for p in done) == length
    assert sum(p.report.pages for p in done) == blocks


def test_stat_and_filter_agree_with_duckdb(drive: Drive) -> None:
    lineitem = tpch.Lineitem(0.002)
    column, tuples = lineitem.column().tobytes(), lineitem.tuples().tobytes()
    first = drive.write(400, column)
    second = drive.write(400 + first, tuples)
    stat = offloads.stat_result(offloads.run(drive, "stat", [Extent(400, first)], len(column)))
    assert (stat.count, stat.sum, stat.min, stat.max) == lineitem.column_stat()
    scan = offloads.scan_result(offloads.run(drive, "scan", [Extent(400 + first, second)], len(tuples)))
    assert (scan.bytes, scan.checksum) == lineitem.tuples_scan()
    q6 = tpch.Q6()
    rows = offloads.filter_result(offloads.run(drive, "filter", [Extent(400 + first, second)], len(tuples), q6.args(), pieces=7))
    assert np.array_equal(rows, lineitem.q6_rows(q6))


def test_input_from_scattered_and_never_written_blocks(drive: Drive) -> None:
    data = data_of(6 * BLOCK, 3)
    drive.write(500, data)
    extents = [Extent(503, 2), Extent(drive.info.blocks - HOLE, 1), Extent(500, 1), Extent(505, 1)]
    expected = data[3 * BLOCK : 5 * BLOCK] + bytes(BLOCK) + data[:BLOCK] + data[5 * BLOCK :]
    done = offloads.run(drive, "scan", extents, len(expected) - 100, pieces=1)
    assert offloads.scan_result(done) == offloads.expected_scan(expected[:-100])


def test_more_pieces_than_cores(drive: Drive) -> None:
    data = data_of(40 * BLOCK, 11)
    drive.write(600, data)
    done = offloads.run(drive, "stat", [Extent(600, 40)], len(data), pieces=40)
    assert len(done) == 40
    assert {p.report.core for p in done} == {0, 1}
    assert offloads.stat_result(done) == offloads.expected_stat(data)


def test_one_core_when_one_is_asked_for(drive: Drive) -> None:
    data = data_of(8 * BLOCK, 12)
    drive.write(600, data)
    done = offloads.run(drive, "scan", [Extent(600, 8)], len(data), pieces=4, max_cores=1)
    spans = sorted((p.report.t_start, p.report.t_end) for p in done)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_the_worked_example(drive: Drive) -> None:
    sys.path.insert(0, str(ROOT / "host-driver" / "examples"))
    import histogram

    data = data_of(30000, 13) + b"\0" * 1000
    assert np.array_equal(histogram.histogram(drive, data, 700), np.bincount(np.frombuffer(data, "u1"), minlength=256))


def test_output_longer_than_the_stream_buffer(drive: Drive, tmp_path: Path) -> None:
    elf = build(
        tmp_path, "int compute(void) { for (;;) ASSASIN_STORE_U32(0, ASSASIN_LOAD_U32(0, end) ^ 0x5A5A5A5Au); end: return 0; }"
    )
    data = data_of(60 * BLOCK, 14)
    drive.write(800, data)
    with drive.function(elf) as name:
        done = drive.run(name, [[Input([Extent(800 + 30 * i, 30)], 30 * BLOCK)] for i in range(2)])
    assert all(p.ok for p in done)
    assert b"".join(p.outputs[0] for p in done) == bytes(b ^ 0x5A for b in data)


def test_a_function_that_has_left_its_place_is_refused(drive: Drive) -> None:
    elf = offloads.load(drive, "scan")
    drive.write(600, data_of(BLOCK, 3))
    job = [[Input([Extent(600, 1)], BLOCK)]]
    first = drive.load(elf)
    others = [drive.load(elf) for _ in range(contract.SCOMP_MAX_FUNCS // 2)]
    e = refused(errno.ESTALE, "load it again", drive.run, first, job)
    assert e.status == 0x100 | contract.NVME_VENDOR_STATUS_REPLACED
    refused(errno.ESTALE, "load it again", drive.unload, first)
    assert all(p.ok for p in drive.run(others[-1], job))
    for name in others:
        drive.unload(name)


def test_blocks_that_a_session_may_not_touch(drive: Drive) -> None:
    drive.write(600, data_of(8 * BLOCK, 4))
    with drive.function(offloads.load(drive, "scan")) as name:
        mine = drive.sessions()[-1]
        assert mine.functions >= 1
        drive.limit(mine.number, [Access(600, 4, contract.SCOMP_ACCESS_READ)])
        try:
            assert all(p.ok for p in drive.run(name, [[Input([Extent(600, 4)], 4 * BLOCK)]]))
            e = refused(errno.EACCES, "may not read block 604", drive.run, name, [[Input([Extent(602, 4)], 4 * BLOCK)]])
            assert e.status == 0x100 | contract.NVME_VENDOR_STATUS_NO_ACCESS
            job = Job(name, [[Input([Extent(600, 1)], BLOCK)]], [[[Extent(601, 1)]]])
            refused(errno.EACCES, "may not write block 601", drive.run_job, job)
            refused(errno.ERANGE, "LBA out of range", drive.limit, mine.number, [Access(1 << 40, 4, 1)])
        finally:
            drive.limit(mine.number, None)


def test_more_time_than_the_cap(drive: Drive) -> None:
    with drive.function(offloads.load(drive, "scan")) as name:
        job = [[Input([Extent(600, 1)], BLOCK)]]
        beyond = contract.SCOMP_WATCHDOG_MAX_KCYCLES + 1
        refused(errno.EINVAL, "watchdog limit: at most 100,000,000", drive.run, name, job, watchdog_kcycles=beyond)


def test_two_streams_in_and_two_out(drive: Drive, tmp_path: Path) -> None:
    elf = build(
        tmp_path,
        """int compute(void) { for (;;) { uint32_t a = ASSASIN_LOAD_U32(0, end), b = ASSASIN_LOAD_U32(1, end);
           ASSASIN_STORE_U32(0, a + b); ASSASIN_STORE_U16(1, a - b); } end: return 0; }""",
    )
    a, b = data_of(20 * BLOCK, 15), data_of(20 * BLOCK, 16)
    drive.write(900, a + b)
    with drive.function(elf) as name:
        (piece,) = drive.run(name, [[Input([Extent(900, 20)], len(a)), Input([Extent(920, 20)], len(b))]], streams_out=2)
    x, y = np.frombuffer(a, "<u4"), np.frombuffer(b, "<u4")
    assert piece.ok
    assert piece.outputs == [(x + y).tobytes(), (x - y).astype("<u2").tobytes()]


def test_exit_code(drive: Drive, tmp_path: Path) -> None:
    (piece,) = run_source(drive, tmp_path, "int compute(void) { return 77; }")
    assert (piece.status, piece.exit_code) == (contract.SCOMP_STATUS_EXIT_CODE, 77)
    assert "77" in piece.text


def test_without_an_epilogue_the_end_of_input_ends_the_piece(drive: Drive, tmp_path: Path) -> None:
    # The paper's convention: the loop ends when StreamLoad hangs.
    (piece,) = run_source(
        drive,
        tmp_path,
        """int compute(void) { __asm__ volatile("csrw 0x800, zero"); for (;;) (void)ASSASIN_LOAD_U8(0, end); end: return 9; }""",
    )
    assert piece.ok


# ---- programs that go wrong ----


def build(tmp_path: Path, body: str) -> bytes:
    source = tmp_path / "mine.c"
    source.write_text(f"#include <assasin.h>\n{body}\n")
    out = tmp_path / "out"
    make = ["make", "-s", "-C", ROOT / "firmware" / "offload", "elf", f"SRC={source}", f"OUT={out}", "ARCHS=sb"]
    subprocess.run(make, check=True, env={**os.environ, "MAKEFLAGS": ""})
    return (out / "mine.elf").read_bytes()


def run_source(drive: Drive, tmp_path: Path, body: str, **options: int) -> list:
    drive.write(700, bytes(BLOCK))
    with drive.function(build(tmp_path, body)) as name:
        return drive.run(name, [[Input([Extent(700, 1)], BLOCK)]], **options)


TRAPS = {
    "illegal-instruction": (".word 0", 2, "illegal instruction"),
    "compressed": (".half 0x4501\n.half 0x4501", 2, "illegal instruction"),
    "misaligned-load": ("li t0, 0x10002001\nlw t0, 0(t0)", 4, "misaligned load"),
    "misaligned-store": ("li t0, 0x10002002\nsw t0, 0(t0)", 6, "misaligned store"),
    "load-outside": ("li t0, 0x20000000\nlw t0, 0(t0)", 5, "outside the scratchpad"),
    "store-outside": ("li t0, 0x10010000\nsw t0, 0(t0)", 7, "outside the scratchpad"),
    "fetch-outside": ("li t0, 0x40000000\njr t0", 1, "fetch outside"),
    "stream-number": (".insn i 0x0b, 4, t0, x1, 0", 2, "illegal instruction"),
    "peek-too-far": ("li t0, 0x20000\n.insn r 0x0b, 4, 2, t1, x0, t0", 24, "stream read out of range"),
}


@pytest.mark.parametrize(("code", "cause", "words"), TRAPS.values(), ids=TRAPS)
def test_a_trap_is_reported_with_cause_and_pc(drive: Drive, tmp_path: Path, code: str, cause: int, words: str) -> None:
    body = 'int compute(void) { __asm__ volatile("' + code.replace("\n", "\\n") + '" ::: "t0", "t1", "memory"); return 0; }'
    (piece,) = run_source(drive, tmp_path, body)
    assert (piece.status, piece.cause) == (contract.SCOMP_STATUS_TRAP, cause), piece.text
    assert words in piece.text
    if cause != 1:
        assert 0 < piece.pc < contract.CORE_IMEM_SIZE


def test_an_endless_loop_meets_the_watchdog(drive: Drive, tmp_path: Path) -> None:
    (piece,) = run_source(drive, tmp_path, 'int compute(void) { for (;;) __asm__ volatile(""); }', watchdog_kcycles=40)
    assert piece.status == contract.SCOMP_STATUS_WATCHDOG
    assert 40_000 <= piece.report.cycles < 400_000
    assert "watchdog" in piece.text


def test_one_bad_piece_does_not_harm_the_others(drive: Drive, tmp_path: Path) -> None:
    elf = build(
        tmp_path,
        """int compute(void) { if (assasin_task()->piece == 2) *(volatile uint32_t *)0x30000000 = 1;
           uint32_t n = 0; for (;;) n += ASSASIN_LOAD_U8(0, end); end: ASSASIN_STORE_U32(0, n); return 0; }""",
    )
    data = data_of(5 * BLOCK, 21)
    drive.write(700, data)
    with drive.function(elf) as name:
        done = drive.run(name, [[Input([Extent(700 + i, 1)], BLOCK)] for i in range(5)])
    assert [p.ok for p in done] == [True, True, False, True, True]
    for i in (0, 1, 3, 4):
        assert struct.unpack("<I", done[i].outputs[0]) == (sum(data[i * BLOCK : (i + 1) * BLOCK]),)


# ---- ELF files ----


def patched(elf: bytes, offset: int, fmt: str, value: int) -> bytes:
    out = bytearray(elf)
    struct.pack_into(fmt, out, offset, value)
    return bytes(out)


def bad_elfs() -> dict[str, tuple[Callable[[bytes], bytes], str]]:
    header = 52  # first program header
    return {
        "not-elf": (lambda e: b"#!/bin/sh\necho hello\n", "not an ELF file"),
        "one-byte": (lambda e: b"\x7f", "not an ELF file"),
        "truncated-header": (lambda e: e[:40], "truncated|not an ELF"),
        "truncated-segment": (lambda e: e[:200], "outside the file|truncated"),
        "big-endian": (lambda e: patched(e, 5, "B", 2), "little-endian"),
        "compressed": (lambda e: patched(e, 36, "<I", 1), "compressed"),
        "relocatable": (lambda e: patched(e, 16, "<H", 1), "executable"),
        "text-too-large": (lambda e: patched(e, header + 20, "<I", 0x8001), "does not fit|segment"),
        "huge-segment": (lambda e: patched(e, header + 20, "<I", 0xFFFFFFF0), "does not fit|segment"),
        "segment-elsewhere": (
            lambda e: patched(patched(e, header + 8, "<I", 0x20000000), header + 12, "<I", 0x20000000),
            "segment",
        ),
        "segment-on-arguments": (
            lambda e: patched(patched(e, header + 8, "<I", 0x10000040), header + 12, "<I", 0x10000040),
            "segment",
        ),
        "wrapping-offset": (lambda e: patched(e, header + 4, "<I", 0xFFFFFF00), "segment"),
        "no-entry": (lambda e: patched(e, 24, "<I", 0x7000), "entry point"),
        "misaligned-entry": (lambda e: patched(e, 24, "<I", 2), "entry point"),
        "entry-in-scratchpad": (lambda e: patched(e, 24, "<I", 0x10001100), "entry point"),
        "hostile-header-offset": (lambda e: patched(e, 28, "<I", 0xFFFFFFE0), ""),
        "hostile-header-count": (lambda e: patched(e, 44, "<H", 0xFFFF), ""),
    }


@pytest.mark.parametrize(("change", "words"), bad_elfs().values(), ids=bad_elfs())
def test_a_bad_elf_is_refused(drive: Drive, change: Callable[[bytes], bytes], words: str) -> None:
    elf = (ROOT / "build" / "offload" / "scan.elf").read_bytes()
    before = loaded(drive)
    e = refused(errno.EINVAL, f"refuses the ELF file: .*({words})", drive.load, change(elf))
    assert e.status == 0x100 | contract.NVME_VENDOR_STATUS_BAD_ELF
    assert loaded(drive) == before


@pytest.mark.parametrize(("at", "value", "machine", "words"), [(4, 2, "64-bit RISC-V", "32-bit"), (18, 62, "x86-64", "RISC-V")])
def test_an_elf_for_another_machine_is_refused(drive: Drive, at: int, value: int, machine: str, words: str) -> None:
    """By the library, which names the machine, and by the drive."""
    elf = bytearray(function_image((ROOT / "build" / "offload" / "scan.elf").read_bytes()))
    elf[at] = value
    refused(errno.EINVAL, f"the ELF file is for {machine}", drive.load, bytes(elf))
    command = Command.of(contract.SCOMP_OPCODE_ADMIN_FUNC_LOAD, dw11=len(elf), **drive.session().named())
    e = refused(errno.EINVAL, words, drive.execute, 0, command, elf + bytes(-len(elf) % 4))
    assert e.status == 0x100 | contract.NVME_VENDOR_STATUS_BAD_ELF


def test_an_elf_that_is_too_large(drive: Drive) -> None:
    refused(errno.EINVAL, "131073 bytes without its debug information, the drive takes 1..131072", drive.load, bytes(131073))
    command = Command.of(contract.SCOMP_OPCODE_ADMIN_FUNC_LOAD, dw11=0x20001, **drive.session().named())
    e = refused(errno.EINVAL, "refuses the ELF file", drive.execute, 0, command, bytearray(4096))
    assert e.status == 0x100 | contract.NVME_VENDOR_STATUS_BAD_ELF


def test_function_names(drive: Drive) -> None:
    elf = (ROOT / "build" / "offload" / "scan.elf").read_bytes()
    before = loaded(drive)
    refused(errno.EBADF, "none of that name", drive.unload, 3)
    refused(errno.ESTALE, "load it again", drive.unload, 0x7FF3)
    # The drive chooses the names: twice the same function is two.
    name, other = drive.load(elf), drive.load((ROOT / "build" / "offload" / "stat.elf").read_bytes())
    assert name != other
    assert min(name >> 4, other >> 4) > 0, "tag 0 names nothing"
    assert loaded(drive) == before + 2
    drive.unload(other)
    assert drive.load(elf) not in (name, other), "a name comes once"
    drive.unload(name)
    refused(errno.ESTALE, "load it again", drive.unload, name)
    with pytest.raises(DriveError, match="load it again"):
        drive.run(name, [[Input([Extent(0, 1)], 1)]])


# ---- requests ----


def request_errors() -> dict[str, tuple[list[list[Input]], dict[str, int], str]]:
    one = Input([Extent(700, 1)], BLOCK)
    return {
        "extent-of-length-zero": ([[Input([Extent(700, 0)], 1)]], {}, "extent"),
        "stream-of-length-zero": ([[Input([Extent(700, 1)], 0)]], {}, "stream"),
        "stream-longer-than-extents": ([[Input([Extent(700, 1)], BLOCK + 1)]], {}, "stream"),
        "stream-that-needs-fewer-extents": ([[Input([Extent(700, 1), Extent(702, 1)], BLOCK)]], {}, "stream"),
        "more-streams-than-s": ([[one, one]], {"s_log2": 0}, "byte 10: s_log2"),
        "more-output-streams-than-s": ([[one]], {"s_log2": 1, "streams_out": 3}, "byte 10: s_log2"),
        "s-out-of-range": ([[one]], {"s_log2": 4}, "byte 10: s_log2"),
        "nine-input-streams": ([[one] * 9], {}, "byte 8: number of input streams"),
        "nine-output-streams": ([[one]], {"streams_out": 9}, "byte 9: number of output streams"),
    }


@pytest.mark.parametrize("case", request_errors())
def test_a_bad_request_is_refused(drive: Drive, case: str) -> None:
    pieces, options, words = request_errors()[case]
    elf = (ROOT / "build" / "offload" / "scan.elf").read_bytes()
    with drive.function(elf) as name:
        e = refused(errno.EINVAL, words, drive.run, name, pieces, **options)
    assert e.status == 0x100 | contract.NVME_VENDOR_STATUS_BAD_REQUEST


@pytest.mark.parametrize(("lba", "count"), [(0, 1), (-1, 2), (2**63, 2)])
def test_extents_past_the_end(drive: Drive, lba: int, count: int) -> None:
    elf = (ROOT / "build" / "offload" / "scan.elf").read_bytes()
    with drive.function(elf) as name:
        refused(
            errno.ERANGE, "LBA out of range", drive.run, name, [[Input([Extent(drive.info.blocks + lba, count)], count * BLOCK)]]
        )


def test_overlapping_extents(drive: Drive) -> None:
    elf = (ROOT / "build" / "offload" / "scan.elf").read_bytes()
    with drive.function(elf) as name:
        overlapping = [[Input([Extent(700, 2), Extent(710, 1), Extent(701, 2)], 5 * BLOCK)]]
        refused(errno.EEXIST, "piece 0 overlap at block 701", drive.run, name, overlapping)
    refused(errno.EEXIST, "overlap: 700:2, 701:2", offloads.run, drive, "scan", [Extent(700, 2), Extent(701, 2)], 4 * BLOCK)


def execute_request(drive: Drive, data: bytearray) -> Completion:
    """IO_EXEC with the request's bytes as they are."""
    return drive.execute(1, Command.of(EXEC, 1, dw12=len(data), **drive.session().job(0xFFF9)), data)


def raw_request(**changes: int) -> bytearray:
    head = contract.ScompRequest(
        magic=contract.SCOMP_MAGIC,
        version=contract.SCOMP_VERSION,
        func=0,
        streams_in=1,
        streams_out=1,
        s_log2=0xFF,
        pieces=1,
        extents=1,
    )
    for name, value in changes.items():
        setattr(head, name, value)
    return bytearray(bytes(head) + bytes(contract.ScompStream(0, 1, BLOCK)) + bytes(contract.ScompExtent(700, 1)))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("magic", 0),
        ("version", 3),
        ("reserved0", 1),
        ("flags", 1),
        ("pieces", 0),
        ("pieces", 1025),
        ("pieces", 0xFFFFFFFF),
        ("extents", 0),
        ("extents", 2),
        ("extents", 0x10000001),
        ("args_bytes", 4097),
        ("args_bytes", 0xFFFFFFF8),
        ("streams_in", 0),
    ],
)
def test_a_malformed_request_names_the_field(drive: Drive, field: str, value: int) -> None:
    elf = (ROOT / "build" / "offload" / "scan.elf").read_bytes()
    with drive.function(elf) as name:
        e = refused(
            errno.EINVAL, "malformed scomp request", execute_request, drive, raw_request(**({"func": name} | {field: value}))
        )
    assert e.status == 0x100 | contract.NVME_VENDOR_STATUS_BAD_REQUEST


def test_the_drive_itself_refuses_overlapping_extents(drive: Drive) -> None:
    elf = (ROOT / "build" / "offload" / "scan.elf").read_bytes()
    data = bytes(contract.ScompStream(0, 2, 3 * BLOCK))
    data += bytes(contract.ScompExtent(701, 2)) + bytes(contract.ScompExtent(700, 2))
    with drive.function(elf) as name:
        e = refused(errno.EEXIST, "overlap", execute_request, drive, raw_request(func=name, extents=2)[:64] + data)
    assert e.status == 0x100 | contract.NVME_VENDOR_STATUS_OVERLAP


@pytest.mark.parametrize("length", [0, 4, 63, 64, 128 * 1024 + 4])
def test_a_request_of_the_wrong_length(drive: Drive, length: int) -> None:
    with pytest.raises(DriveError) as e:
        drive.execute(1, Command.of(EXEC, 1, dw12=length, **drive.session().job(9)), raw_request())
    assert e.value.code == errno.EINVAL


def test_unknown_handles(drive: Drive) -> None:
    job = drive.session().job(4711)
    refused(errno.EBADF, "bad handle", drive.execute, 1, Command.of(READ_RESULT, 1, dw12=8192, **job), bytearray(8192))
    refused(errno.EBADF, "bad handle", drive.execute, 1, Command.of(ABORT, 1, **job))


# ---- sessions ----


def opened(drive: Drive, secret: tuple[int, int], **dwords: int) -> Completion:
    """IO_SESSION_OPEN as it is, beside the session that the connection has."""
    asked = {"dw10": contract.SCOMP_INTERFACE, "dw14": secret[0], "dw15": secret[1]} | dwords
    return drive.raw(1, Command.of(contract.SCOMP_OPCODE_IO_SESSION_OPEN, 1, **asked))


def test_the_drive_gives_out_the_numbers_of_sessions(drive: Drive) -> None:
    """Two of one secret are two, each with functions of its own; what has ended is nobody's."""
    mine = drive.session()
    elf = function_image(offloads.load(drive, "scan"))
    data = bytearray(elf + bytes(-len(elf) % 4))
    other = Session(opened(drive, mine.secret).dw0, mine.secret)
    assert other.number not in (0, mine.number)
    assert {s.number for s in drive.sessions()} >= {0, mine.number, other.number}
    load = Command.of(contract.SCOMP_OPCODE_ADMIN_FUNC_LOAD, dw11=len(elf), **other.named())
    name = drive.execute(0, load, data).dw0
    refused(errno.ESTALE, "load it again", drive.unload, name)
    refused(errno.ESTALE, "load it again", drive.run, name, [[Input([Extent(0, 1)], BLOCK)]])
    assert drive.raw(1, Command.of(contract.SCOMP_OPCODE_IO_SESSION_CLOSE, 1, **other.named())).status == 0
    assert other.number not in {s.number for s in drive.sessions()}
    e = refused(errno.ESTALE, "the session has ended", drive.execute, 0, load, data)
    assert e.status == NO_SESSION
    again = opened(drive, mine.secret).dw0
    assert again not in (0, mine.number, other.number)
    drive.end_session(again)


def test_a_session_that_is_not_opened_right(drive: Drive) -> None:
    before = [s.number for s in drive.sessions()]
    older = opened(drive, (1, 2), dw10=contract.SCOMP_INTERFACE - 1)
    assert (older.status, older.dw1) == (0x100 | contract.NVME_VENDOR_STATUS_INTERFACE, contract.SCOMP_INTERFACE)
    assert opened(drive, (0, 0)).status == 0x002
    for dwords in ({"dw11": 2}, {"dw12": 1}, {"dw13": 1}):
        assert opened(drive, (1, 2), **dwords).status == 0x002
    assert [s.number for s in drive.sessions()] == before


def test_a_command_without_the_secret(drive: Drive) -> None:
    """Neither another secret nor another number reaches the session; software from before sessions names none at all."""
    mine = drive.session()
    with drive.function(offloads.load(drive, "scan")) as name, drive.dma(8192) as (bus, _):
        for wrong in (
            replace(mine, secret=(mine.secret[0] ^ 1, mine.secret[1])),
            replace(mine, secret=(mine.secret[0], mine.secret[1] ^ 1 << 31)),
            replace(mine, number=mine.number ^ 8),
            Session(0, (0, 0)),
        ):
            for opcode in (EXEC, READ_RESULT, ABORT, contract.SCOMP_OPCODE_IO_FEED):
                assert drive.raw(1, Command.of(opcode, 1, bus, bus + BLOCK, dw12=8192, **wrong.job(0))).status == NO_SESSION
            assert drive.raw(1, Command.of(contract.SCOMP_OPCODE_IO_SESSION_CLOSE, 1, **wrong.named())).status == NO_SESSION
            load = Command.of(contract.SCOMP_OPCODE_ADMIN_FUNC_LOAD, 0, bus, bus + BLOCK, dw11=8192, **wrong.named())
            assert drive.raw(0, load).status == NO_SESSION
            unload = Command.of(contract.SCOMP_OPCODE_ADMIN_FUNC_UNLOAD, dw10=name, **wrong.named())
            assert drive.raw(0, unload).status == NO_SESSION
        assert drive.session() == mine


# ---- commands ----


@pytest.mark.parametrize(("lba", "blocks"), [(0, 1), (-1, 2), (-32, 33)])
def test_past_the_end(drive: Drive, lba: int, blocks: int) -> None:
    first = drive.info.blocks + lba
    refused(errno.ERANGE, "LBA out of range", drive.read, first, blocks * BLOCK)
    refused(errno.ERANGE, "LBA out of range", drive.write, first, bytes(blocks * BLOCK))
    refused(errno.ERANGE, "LBA out of range", drive.read, 2**64 - 1, BLOCK)


def test_more_than_mdts(drive: Drive) -> None:
    with drive.dma(BLOCK) as (bus, _):
        done = drive.raw(1, Command.of(NVM_READ, 1, bus, bus, dw10=0, dw12=32))
    assert done.status == 0x002


@pytest.mark.parametrize("opcode", [0x7F, 0x83, 0xC3, 0xC6, 0xFE, 0xFF])
def test_unknown_opcodes(drive: Drive, opcode: int) -> None:
    assert drive.raw(1, Command.of(opcode, 1)).status == 0x001
    assert drive.raw(0, Command.of(opcode)).status == 0x001


@pytest.mark.parametrize("opcode", [ABORT, EXEC, READ_RESULT])
@pytest.mark.parametrize("dword", [{"dw11": 1}, {"dw11": 1 << 31}, {"dw13": 1}], ids=str)
def test_reserved_bits_in_a_vendor_command(drive: Drive, opcode: int, dword: dict[str, int]) -> None:
    job = drive.session().job(9)
    with drive.dma(8192) as (bus, _):
        done = drive.raw(1, Command.of(opcode, 1, bus, bus + BLOCK, dw12=8192 if opcode != ABORT else 0, **job | dword))
    assert done.status == 0x002


ADMIN_RESERVED = {
    "load": (contract.SCOMP_OPCODE_ADMIN_FUNC_LOAD, {"dw11": 8192}, [{"dw10": 1}, {"dw12": 1}]),
    "unload": (contract.SCOMP_OPCODE_ADMIN_FUNC_UNLOAD, {}, [{"dw10": 1 << 16}, {"dw11": 1}, {"dw12": 1}]),
}


@pytest.mark.parametrize(("opcode", "needed", "reserved"), ADMIN_RESERVED.values(), ids=ADMIN_RESERVED)
def test_reserved_bits_in_a_vendor_admin_command(
    drive: Drive, opcode: int, needed: dict[str, int], reserved: list[dict[str, int]]
) -> None:
    with drive.dma(8192) as (bus, _):
        for dword in reserved:
            command = Command.of(opcode, 0, bus, bus + BLOCK, **needed | drive.session().named() | dword)
            assert drive.raw(0, command).status == 0x002


def test_reserved_bits_where_sessions_close_and_end(drive: Drive) -> None:
    mine = drive.session()
    for dword in ({"dw10": 1}, {"dw11": 1}, {"dw12": 1}):
        close = Command.of(contract.SCOMP_OPCODE_IO_SESSION_CLOSE, 1, **mine.named() | dword)
        assert drive.raw(1, close).status == 0x002
    for dword in ({"dw10": 1 << 16 | mine.number}, {"dw10": mine.number, "dw11": 1}, {"dw10": mine.number, "dw15": 1}):
        assert drive.raw(0, Command.of(contract.SCOMP_OPCODE_ADMIN_SESSION_END, **dword)).status == 0x002
    assert mine.number in {s.number for s in drive.sessions()}


def test_wrong_namespace(drive: Drive) -> None:
    for nsid in (0, 4, 0xFFFFFFFE):
        assert drive.raw(1, Command.of(NVM_READ, nsid)).status == 0x00B


# ---- PRPs ----


def test_unaligned_prps(drive: Drive) -> None:
    with drive.dma(8 * BLOCK) as (bus, memory):
        read = {"dw10": 700, "dw12": 1}
        assert drive.raw(1, Command.of(NVM_READ, 1, bus, bus + BLOCK + 4, **read)).status == 0x013
        assert drive.raw(1, Command.of(NVM_READ, 1, bus + 2, bus + BLOCK, **read)).status == 0x013
        struct.pack_into("<2Q", memory, 0, bus + 5 * BLOCK, bus + 6 * BLOCK + 8)
        assert drive.raw(1, Command.of(NVM_READ, 1, bus + 4 * BLOCK, bus, dw10=700, dw12=2)).status == 0x013
        assert drive.raw(1, Command.of(NVM_READ, 1, bus + 4 * BLOCK, bus + 4, dw10=700, dw12=2)).status in (0x002, 0x013)


def test_an_offset_in_the_first_prp_is_legal(drive: Drive) -> None:
    data = data_of(2 * BLOCK, 31)
    drive.write(700, data)
    with drive.dma(4 * BLOCK) as (bus, memory):
        struct.pack_into("<2Q", memory, 3 * BLOCK + 8, bus + BLOCK, bus + 2 * BLOCK)
        assert drive.raw(1, Command.of(NVM_READ, 1, bus + 0x804, bus + 3 * BLOCK + 8, dw10=700, dw12=1)).status == 0
        assert memory.raw[0x804 : 0x804 + len(data)] == data
        assert memory.raw[:0x804] == bytes(0x804)


@pytest.mark.parametrize("where", [0, 0x1000, 0xFE000000, 0xFFFFFFFF_FFFFF000, 1 << 52])
def test_prps_that_lead_nowhere(drive: Drive, where: int) -> None:
    # Writes to the host are posted: what leads nowhere is lost on the way and the drive does not hear of it.
    assert drive.raw(1, Command.of(NVM_READ, 1, where, 0, dw10=700)).status == 0
    # Reads from the host are answered with an error.
    assert drive.raw(1, Command.of(NVM_WRITE, 1, where, 0, dw10=701)).status == 0x004
    with drive.dma(BLOCK) as (bus, memory):
        assert drive.raw(1, Command.of(NVM_READ, 1, bus, where, dw10=700, dw12=3)).status == 0x004
        struct.pack_into("<3Q", memory, 0, where, where, where)
        assert drive.raw(1, Command.of(NVM_WRITE, 1, bus, bus, dw10=701, dw12=3)).status == 0x004


# ---- queues ----


def test_a_command_to_a_deleted_queue(drive: Drive) -> None:
    with drive.dma(4 * BLOCK) as (bus, memory):
        create_cq = Command.of(5, prp1=bus, dw10=15 << 16 | 2, dw11=1)
        create_sq = Command.of(1, prp1=bus + BLOCK, dw10=15 << 16 | 2, dw11=2 << 16 | 1)
        assert drive.raw(0, create_cq).status == 0
        assert drive.raw(0, create_sq).status == 0
        assert drive.raw(0, create_sq).status == 0x101
        memory[BLOCK : BLOCK + 64] = bytes(Command.of(0, 1))
        drive.set_register(0x1000 + 8 * 2, 1)
        drive.flush()
        assert struct.unpack_from("<I", memory, 12)[0] >> 16 == 1, "the flush on queue 2 has completed with phase 1"
        assert drive.raw(0, Command.of(4, dw10=2)).status == 0x10C
        assert drive.raw(0, Command.of(0, dw10=2)).status == 0
        drive.set_register(0x1000 + 8 * 2, 5)
        serves(drive)
        assert drive.raw(0, Command.of(4, dw10=2)).status == 0
        drive.set_register(0x1000 + 8 * 2 + 4, 3)
        drive.set_register(0x1000 + 8 * 7, 1)
        serves(drive)
        assert bytes(memory[16:BLOCK]) == bytes(BLOCK - 16), "nothing but the one completion was posted"
        assert drive.raw(0, Command.of(0, dw10=2)).status == 0x101
        assert drive.raw(0, Command.of(4, dw10=9)).status == 0x101


def test_a_doorbell_out_of_range(drive: Drive) -> None:
    drive.set_register(0x1000 + 8, 60000)
    serves(drive)


def test_bad_queues_are_refused(drive: Drive) -> None:
    with drive.dma(BLOCK) as (bus, _):
        assert drive.raw(0, Command.of(5, prp1=bus, dw10=15 << 16 | 0, dw11=1)).status == 0x101
        assert drive.raw(0, Command.of(5, prp1=bus, dw10=15 << 16 | 9, dw11=1)).status == 0x101
        assert drive.raw(0, Command.of(5, prp1=bus, dw10=0 << 16 | 2, dw11=1)).status == 0x102
        assert drive.raw(0, Command.of(5, prp1=bus, dw10=65535 << 16 | 2, dw11=1)).status == 0x102
        assert drive.raw(0, Command.of(5, prp1=bus + 8, dw10=15 << 16 | 2, dw11=1)).status == 0x013
        assert drive.raw(0, Command.of(1, prp1=bus, dw10=15 << 16 | 3, dw11=3 << 16 | 1)).status == 0x100


# ---- the board ----


def test_another_visitor_is_turned_away(drive: Drive, board: Board) -> None:
    refused(errno.EBUSY, "another visitor", Drive, board.address)


@pytest.fixture
def own_board(tmp_path: Path) -> Iterator[Board]:
    """A board for one test, on an image of its own."""
    b = Board(f"pytest-own-{os.getpid()}")
    yield b
    b.stop()
    b.erase()


TENANT = """
import os, sys
sys.path.insert(0, sys.argv[1])
from assasin.drive import Drive, Extent, Input
drive = Drive(sys.argv[2])
name = drive.load(open(sys.argv[3], "rb").read())
def leave():
    print(name, drive.sessions()[-1].number, flush=True)
    os._exit(7)
drive.run(name, [[Input([Extent(0, 1)], 4096)]] * 8, watchdog_kcycles=10_000_000, tick=leave)
"""
"""Leaves in the middle of a job that loops on every core."""


def test_one_process_gets_nothing_of_another(own_board: Board, tmp_path: Path) -> None:
    """What a process leaves behind holds up nobody and is nobody's; what the operator has limited stays so for the next ones."""
    own_board.start(CONFIG, PROFILE, format=True)
    loop = tmp_path / "loop.elf"
    loop.write_bytes(build(tmp_path, 'int compute(void) { for (;;) __asm__ volatile(""); }'))
    python = str(ROOT / "host-driver" / "python")
    left = subprocess.run(
        [sys.executable, "-c", TENANT, python, own_board.address, loop], timeout=120, check=False, capture_output=True, text=True
    )
    assert left.returncode == 7, left.stderr
    name, session = map(int, left.stdout.split())
    with Drive(own_board.address) as d:
        d.write(0, data_of(8 * BLOCK, 1))
        assert [s.number for s in d.sessions()] == [0], "a session ends with its process"
        refused(errno.ESTALE, "session has ended|there is no such session", d.end_session, session)
        scan = offloads.load(d, "scan")
        mine = [d.load(scan) for _ in range(contract.SCOMP_MAX_FUNCS // 2)]
        assert name not in mine
        refused(errno.ESTALE, "load it again", d.run, name, [[Input([Extent(0, 1)], BLOCK)]])
        assert all(p.ok for p in d.run(mine[0], [[Input([Extent(0, 8)], 8 * BLOCK)]] * 4))
    command, env = [sys.executable, "-m", "assasin"], {**os.environ, "PYTHONPATH": python}

    def assasin(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *words, "--name", own_board.name], check=False, timeout=120, capture_output=True, text=True, env=env
        )

    assert json.loads(assasin("access", "0:4:r", "--json").stdout)["sessions"][0]["ranges"] == [
        {"lba": 0, "blocks": 4, "rights": 1}
    ]
    assert assasin("run", "stat", "--lba", "0", "--bytes", "16K").returncode == 0
    outside = assasin("run", "stat", "--lba", "0", "--bytes", "32K")
    assert outside.returncode == 1
    assert "may not read block 4" in " ".join(outside.stderr.split())
    wrong = assasin("access", "0:4:x")
    assert wrong.returncode == 2
    assert "rights r, w or rw" in " ".join(wrong.stderr.split())
    assert assasin("access", "--all").returncode == 0
    assert assasin("run", "stat", "--lba", "0", "--bytes", "32K").returncode == 0


def test_power_is_lost_while_idle_and_the_data_stays(own_board: Board) -> None:
    data = data_of(20 * BLOCK, 41)
    own_board.start(CONFIG, PROFILE, format=True)
    with Drive(own_board.address) as d:
        d.write(10, data)
    own_board.kill()
    with pytest.raises(BoardError, match="assasin flash virtual"):
        own_board.require()
    own_board.start(CONFIG, PROFILE)
    with Drive(own_board.address) as d:
        assert d.read(10, len(data)) == data
        assert d.read(40, BLOCK) == bytes(BLOCK)
        d.write(12, data[:BLOCK])
    own_board.stop()
    own_board.start(CONFIG, PROFILE)
    with Drive(own_board.address) as d:
        assert d.read(10, 3 * BLOCK) == data[: 2 * BLOCK] + data[:BLOCK]
        serves(d)


def test_every_drive_has_a_serial_number_of_its_own(own_board: Board, drive: Drive) -> None:
    """It stays through a loss of power and a format, until another is asked for."""

    def serial(**options: Any) -> str:
        own_board.start(CONFIG, PROFILE, **options)
        with Drive(own_board.address) as d:
            return d.info.serial

    first = serial()
    assert first.startswith("ASSASIN-")
    assert first != drive.info.serial
    own_board.kill()
    assert serial() == first
    assert serial(format=True) == first
    assert serial(serial="00000000BEEF") == "ASSASIN-00000000BEEF"
    own_board.kill()
    assert serial() == "ASSASIN-00000000BEEF"
    with pytest.raises(BoardError, match="'beef' is no serial number"):
        serial(serial="beef")
    own_board.require()


def test_the_board_dies_under_a_visitor(own_board: Board) -> None:
    own_board.start(CONFIG, PROFILE, format=True)
    d = Drive(own_board.address)
    serves(d)
    own_board.kill()
    refused(errno.ENODEV, "process has ended", d.read, 0, BLOCK)
    refused(errno.ENODEV, "not shut down", d.close)


def test_an_image_of_another_geometry_is_refused(own_board: Board, tmp_path: Path) -> None:
    own_board.start(CONFIG, PROFILE, image=tmp_path / "image", format=True)
    own_board.stop()
    with pytest.raises(BoardError, match=r"geometry|part"):
        own_board.start(CONFIG, "paper", image=tmp_path / "image")
    own_board.start(CONFIG, PROFILE, image=tmp_path / "image")
    with Drive(own_board.address) as d:
        serves(d)


# ---- the command ----


def assasin(*args: object, ok: bool = True) -> str:
    """The command as a user types it: with the PATH of scripts/env.sh, in a folder of the user's."""
    shell = ["bash", "-c", '. "$0/scripts/env.sh" && exec assasin "$@"', ROOT, *map(str, args)]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=600)
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return done.stdout if ok else done.stderr


def test_the_command_line(own_board: Board, tmp_path: Path) -> None:
    name = ("--name", own_board.name)
    assert "assasin flash virtual" in assasin("info", *name, ok=False)
    started = json.loads(assasin("flash", "virtual", "--config", CONFIG, "--profile", PROFILE, "--format", *name, "--json"))
    assert started["board"]["config"] == CONFIG
    data = data_of(10 * BLOCK + 5, 51)
    (tmp_path / "in").write_bytes(data)
    assert json.loads(assasin("write", 3, tmp_path / "in", *name, "--json"))["blocks"] == 11
    assasin("read", 3, len(data), tmp_path / "out", *name)
    assert (tmp_path / "out").read_bytes() == data
    assert CONFIG in assasin("info", *name)
    assert json.loads(assasin("info", *name, "--json"))["drive"]["cores"] == 2
    result = json.loads(
        assasin("run", "scan", "--lba", 3, "--bytes", len(data), "--pieces", 3, "--out", tmp_path / "scan", *name, "--json")
    )
    assert len(result["pieces"]) == 3
    expected = offloads.expected_scan(data)
    assert struct.unpack("<2I", (tmp_path / "scan").read_bytes()) == (len(data), expected.checksum), "one result of all pieces"
    assert result["result"] == {"bytes": len(data), "checksum": expected.checksum}
    assert "ok" in assasin("run", ROOT / "build/offload/stat.elf", "--extent", "3:2", "--extent", "9:1", *name)
    assert "LBA out of range" in assasin("read", 1 << 40, 4096, tmp_path / "out", *name, ok=False)
    whole = data[: len(data) // 16 * 16]
    (tmp_path / "whole").write_bytes(whole)
    raid = ("run", "raid4", "--stream", f"3:{len(whole)}", "--stream", tmp_path / "whole", "--record", 4)
    assasin(*raid, "--out", tmp_path / "parity", *name)
    assert (tmp_path / "parity").read_bytes() == bytes(len(whole)), "the xor of a file and its copy in the drive"
    copied = json.loads(assasin("run", "replicate", "--stream", tmp_path / "whole", "--to", "40:11", *name, "--json"))
    assert copied["pieces"][0]["report"]["bytes_out"] == len(whole)
    assasin("read", 40, len(whole), tmp_path / "out", *name)
    assert (tmp_path / "out").read_bytes() == whole
    assert "--pieces 1" in assasin("run", "replicate", "--lba", 3, "--bytes", 8192, "--pieces", 2, "--to", "40:11", *name, ok=False)
    assert "neither LBA:BYTES" in assasin("run", "raid4", "--stream", "nowhere", *name, ok=False)
    figures = json.loads(assasin("bench", "scan", "--bytes", "64K", "--cores", "1,2", *name, "--json"))
    assert [r["cores"] for r in figures["runs"]] == [1, 2]
    assert all(r["correct"] for r in figures["runs"])
    assert json.loads(assasin("bench", "read", "--bytes", "64K", *name, "--json"))["correct"]
    random = ("bench", "random", "--bytes", "64K", "--depth", "1,8", "--reads", 64, *name, "--json")
    runs = [json.loads(assasin(*random))["depths"] for _ in range(2)]
    depths = runs[0]
    assert [d["depth"] for d in depths] == [1, 8]
    # The drive's clock goes on while the host's process waits for a processor: the shorter run is the drive's own time.
    assert min(run[1]["cycles"] for run in runs) < min(run[0]["cycles"] for run in runs)
    # One read in eight is timed. All the timed ones together take no longer than all reads in flight: a single read that waits
    # for an erase may be much of that, and the mean of the timed ones so far above the mean of all.
    # A look at the counters that was slow is taken off the cycles, so that the longer run's are the limit.
    for d, other in zip(*runs, strict=True):
        limit = 8.5 * max(d["cycles"], other["cycles"]) * d["depth"]
        assert not [(s, n) for s, n in d["stages"].items() if not 0 < n < limit], runs
    # One read of 64 is scrub's, which is 15 cycles of the average.
    assert depths[0]["handling"] <= 1575, "device cycles in command handling of a 4 KiB read"
    assert "holds 1 to" in assasin("bench", "random", "--depth", 4096, *name, ok=False)
    assert assasin("console", "--log", *name)
    assert json.loads(assasin("flash", "virtual", "--stop", *name, "--json"))["stopped"]
