# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in every form on real boards: read path, write path, drive-internal, trees; and the storage functions against others."""

from __future__ import annotations

import errno
import os
import random
import re
import sqlite3
import struct
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import mmh3
import numpy as np
import pytest
from assasin import analytics, functions, offloads, tpch_scans, varve_board
from assasin.board import Board
from assasin.bringup import disassemble, varve_state
from assasin.bringup.hart import DebugBlock, Hart
from assasin.bringup.link import open_link
from assasin.drive import Command, Drive, DriveError
from assasin.functions import Table
from assasin.job import OUTSIDE, Edge, Extent, Input, Job, Node, Piece, Tree, chain
from assasin.offloads import OffloadError
from assasin.tree import ROOT, contract
from assasin.varve_tile import VarveBenchError
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

CONFIGS = ("AssasinSb2x2", "AssasinSbX2x2", "AssasinSp2x2", "AssasinSbCache2x2", "Baseline2x2", "Prefetch2x2")
CHANNEL_LOCAL = "ChannelLocal2x2"
VECTOR = "AssasinV2x2"
VARVE = (("AssasinVp2x2", ("pup",)), ("AssasinVf2x2", ("pup", "full", "published")))
BLOCK = 4096
XOR, INC, SUM, SPLIT, HOLD = 0, 1, 2, 3, 4
"""The functions below; what the drive calls them is Loaded's to know."""

SOURCES = {
    XOR: "int compute(void) { for (;;) ASSASIN_STORE_U8(0, ASSASIN_LOAD_U8(0, end) ^ 0x5Au); end: return 0; }",
    INC: "int compute(void) { for (;;) ASSASIN_STORE_U8(0, ASSASIN_LOAD_U8(0, end) + 1u); end: return 0; }",
    SUM: """int compute(void) { for (;;) { uint32_t a = ASSASIN_LOAD_U8(0, end), b = ASSASIN_LOAD_U8(1, end);
            ASSASIN_STORE_U8(0, a + b); } end: return *(const int *)assasin_args(); }""",
    # Every byte on both ways.
    SPLIT: """int compute(void) { for (;;) { uint32_t a = ASSASIN_LOAD_U8(0, end);
            ASSASIN_STORE_U8(0, a); ASSASIN_STORE_U8(1, a); } end: return 0; }""",
    # Lets nothing of stream 0 on to stream 1 before its end.
    HOLD: """int compute(void) { for (;;) ASSASIN_STORE_U8(0, ASSASIN_LOAD_U8(0, end));
            end: for (int i = 0; i < 10; i++) ASSASIN_STORE_U8(1, i); return 0; }""",
}


class Loaded:
    """A drive whose jobs name the functions above by their numbers here."""

    def __init__(self, drive: Drive, names: dict[int, int]) -> None:
        self._drive, self._names = drive, names

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drive, name)

    def run_job(self, job: Job) -> list[Piece]:
        function = job.function
        if isinstance(function, Tree):
            nodes = [replace(n, function=self._names.get(n.function, n.function)) for n in function.nodes]
            return self._drive.run_job(replace(job, function=replace(function, nodes=nodes)))
        return self._drive.run_job(replace(job, function=self._names.get(function, function)))


def built(config: str) -> bool:
    return (ROOT / "build" / "board" / config / "assasin-board").exists()


pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not built(CONFIGS[0]), reason=f"needs scripts/build {CONFIGS[0]}: build/board is empty"),
]


def start(config: str, name: str = "any") -> Iterator[Drive]:
    board = Board(f"pytest-{name}-{config}-{os.getpid()}")
    board.start(config, "test", format=True)
    try:
        with Drive(board.address) as d:
            yield d
    finally:
        board.stop()
        board.erase()


@pytest.fixture(scope="module")
def drive() -> Iterator[Drive]:
    yield from start(CONFIGS[0], "jobs")


@pytest.fixture(scope="module", params=CONFIGS)
def any_drive(request: pytest.FixtureRequest) -> Iterator[Drive]:
    if not built(request.param):
        pytest.skip(f"needs scripts/build-board {request.param}")
    yield from start(request.param)


@pytest.fixture(scope="module")
def loaded(drive: Drive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    """The drive with the functions above."""
    tmp_path = tmp_path_factory.mktemp("functions")
    names = {}
    for number, source in SOURCES.items():
        (tmp_path / f"f{number}.c").write_text(f"#include <assasin.h>\n{source}\n")
        make = ["make", "-s", "-C", ROOT / "firmware/offload", "elf", f"SRC={tmp_path}/f{number}.c", f"OUT={tmp_path}", "ARCHS=sb"]
        subprocess.run(make, check=True, env={**os.environ, "MAKEFLAGS": ""})
        names[number] = drive.load((tmp_path / f"f{number}.elf").read_bytes())
    yield Loaded(drive, names)
    for name in names.values():
        drive.unload(name)


def data_of(length: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(length)


def xored(data: bytes) -> bytes:
    return bytes(b ^ 0x5A for b in data)


def incremented(data: bytes) -> bytes:
    return bytes((b + 1) & 0xFF for b in data)


def added(a: bytes, b: bytes) -> bytes:
    return (np.frombuffer(a, np.uint8) + np.frombuffer(b, np.uint8)).tobytes()


# ---- where streams come from and go ----


@pytest.mark.parametrize("length", [0, 1, 4095, 32768, 32769, 200_003])
def test_input_from_the_host(loaded: Loaded, length: int) -> None:
    data = data_of(length, length)
    (piece,) = loaded.run_job(Job(XOR, [[Input.of(data)]]))
    assert piece.ok
    assert piece.outputs == [xored(data)]


def test_many_pieces_and_streams_from_the_host(loaded: Loaded) -> None:
    a, b = data_of(90_000, 1), data_of(90_000, 2)
    cuts = [(i, min(i + 7001, 90_000)) for i in range(0, 90_000, 7001)]
    pieces = loaded.run_job(Job(SUM, [[Input.of(a[i:j]), Input.of(b[i:j])] for i, j in cuts], args=bytes(4)))
    assert b"".join(p.outputs[0] for p in pieces) == added(a, b)


def test_from_host_and_flash_at_once(loaded: Loaded) -> None:
    a, b = data_of(50_000, 3), data_of(50_000, 4)
    loaded.write(100, a)
    (piece,) = loaded.run_job(Job(SUM, [[Input([Extent(100, 13)], len(a)), Input.of(b)]], args=bytes(4)))
    assert piece.outputs == [added(a, b)]


def test_from_host_to_flash_and_from_flash_to_flash(loaded: Loaded) -> None:
    data = data_of(10 * BLOCK - 100, 5)
    loaded.write(200, b"\xee" * (12 * BLOCK))
    (piece,) = loaded.run_job(Job(XOR, [[Input.of(data)]], [[[Extent(200, 4), Extent(205, 7)]]]))
    assert piece.ok
    assert (piece.outputs, piece.report.bytes_out) == ([b""], len(data))
    assert loaded.read(200, 4 * BLOCK) == xored(data)[: 4 * BLOCK]
    assert loaded.read(204, BLOCK) == b"\xee" * BLOCK
    assert loaded.read(205, 6 * BLOCK) == xored(data)[4 * BLOCK :] + bytes(100)
    assert loaded.read(211, BLOCK) == b"\xee" * BLOCK, "a block that the output does not reach keeps what it held"
    source = [Extent(200, 4), Extent(205, 6)]
    (piece,) = loaded.run_job(Job(XOR, [[Input(source, len(data))]], [[source]]))
    assert piece.ok
    assert loaded.read(205, 6 * BLOCK) == data[4 * BLOCK :] + bytes(100), "an output may replace its own input"


def test_output_that_does_not_fit_changes_nothing(loaded: Loaded) -> None:
    data = data_of(5 * BLOCK + 1, 6)
    before = loaded.read(300, 6 * BLOCK)
    good, bad = [Input.of(data[: 2 * BLOCK])], [Input.of(data)]
    pieces = loaded.run_job(Job(XOR, [good, bad], [[[Extent(310, 2)]], [[Extent(300, 5)]]]))
    assert [p.status for p in pieces] == [contract.SCOMP_STATUS_OK, contract.SCOMP_STATUS_NO_ROOM]
    assert "does not fit" in pieces[1].text
    assert loaded.read(300, 6 * BLOCK) == before
    assert loaded.read(310, 2 * BLOCK) == xored(data[: 2 * BLOCK])


def test_a_piece_that_fails_writes_nothing(loaded: Loaded) -> None:
    before = loaded.read(320, 4 * BLOCK)
    (piece,) = loaded.run_job(Job(SUM, [[Input.of(bytes(4 * BLOCK))] * 2], [[[Extent(320, 4)]]], args=b"\x07\0\0\0"))
    assert (piece.status, piece.exit_code) == (contract.SCOMP_STATUS_EXIT_CODE, 7)
    assert loaded.read(320, 4 * BLOCK) == before


# ---- trees ----


def test_a_chain_of_two_functions(loaded: Loaded) -> None:
    data = data_of(70_001, 7)
    (piece,) = loaded.run_job(Job(chain(Node(XOR), Node(INC)), [[Input.of(data)]]))
    assert piece.ok
    assert piece.outputs == [incremented(xored(data))]
    assert sorted(n.report.core for n in piece.nodes) == [0, 1]
    assert [n.report.node for n in piece.nodes] == [0, 1]


def test_chains_queue_and_write_to_flash(loaded: Loaded) -> None:
    data = data_of(6 * BLOCK, 8)
    loaded.write(400, data)
    tree = chain(Node(INC), Node(XOR))
    inputs = [[Input([Extent(400 + 2 * i, 2)], 2 * BLOCK)] for i in range(3)]
    pieces = loaded.run_job(Job(tree, inputs, [[[Extent(410 + 2 * i, 2)]] for i in range(3)]))
    assert all(p.ok for p in pieces)
    assert loaded.read(410, 6 * BLOCK) == xored(incremented(data))


def test_a_tree_with_two_inputs_and_arguments(loaded: Loaded) -> None:
    a, b = data_of(40_000, 9), data_of(40_000, 10)
    edges = [Edge(OUTSIDE, 0, 0, 0), Edge(0, 0, 1, 0), Edge(OUTSIDE, 1, 1, 1), Edge(1, 0, OUTSIDE, 0)]
    tree = Tree([Node(XOR), Node(SUM, streams_in=2, args=bytes(4))], edges)
    (piece,) = loaded.run_job(Job(tree, [[Input.of(a), Input.of(b)]]))
    assert piece.ok
    assert piece.outputs == [added(xored(a), b)]


TWO_WAYS = [Edge(OUTSIDE, 0, 0, 0), Edge(0, 0, 1, 0), Edge(0, 1, 1, 1), Edge(1, 0, OUTSIDE, 0)]


def test_two_ways_that_meet_again(loaded: Loaded) -> None:
    data = data_of(200_000, 11)
    tree = Tree([Node(SPLIT, streams_out=2), Node(SUM, streams_in=2, args=bytes(4))], TWO_WAYS)
    (piece,) = loaded.run_job(Job(tree, [[Input.of(data)]]))
    assert piece.ok
    assert piece.outputs == [added(data, data)]


@pytest.mark.parametrize("length", [10_000, 200_000])
def test_a_tree_that_waits_for_itself_ends(loaded: Loaded, length: int) -> None:
    """Node 1 wants both ways alike; node 0 fills one before it begins with the other, which works while the rings hold it."""
    data = data_of(length, 12)
    loaded.write(600, data + bytes(-length % BLOCK))
    tree = Tree([Node(HOLD, streams_out=2), Node(SUM, streams_in=2, args=bytes(4))], TWO_WAYS)
    source = Input([Extent(600, -(-length // BLOCK))], length)
    (piece,) = loaded.run_job(Job(tree, [[source]]))
    if length < 20_000:
        assert piece.ok
        assert piece.outputs == [added(data[:10], bytes(range(10)))]
        return
    assert piece.status == contract.SCOMP_STATUS_DEADLOCK
    assert piece.report.cycles < 3_000_000
    with pytest.raises(OffloadError, match="node 0 has output"):
        offloads.check("a tree", [piece])
    (again,) = loaded.run_job(Job(chain(Node(XOR), Node(INC)), [[source]]))
    assert again.outputs == [incremented(xored(data))]


def bad_trees() -> dict[str, tuple[list[Node], list[Edge], int, str]]:
    through = Edge(OUTSIDE, 0, 0, 0), Edge(0, 0, 1, 0), Edge(1, 0, OUTSIDE, 0)
    two = [Node(XOR), Node(INC)]
    return {
        "an-input-fed-twice": (two, [*through, Edge(0, 0, 1, 0)], errno.EINVAL, "edge"),
        "an-input-not-fed": (two, [through[0], through[2]], errno.EINVAL, "edge|node"),
        "an-unknown-stream": (two, [through[0], Edge(0, 1, 1, 0), through[2]], errno.EINVAL, "edge"),
        "an-unknown-node": (two, [through[0], Edge(0, 0, 2, 0), through[2]], errno.EINVAL, "edge"),
        "a-cycle": (
            [Node(SUM, 2), Node(XOR)],
            [Edge(OUTSIDE, 0, 0, 0), Edge(1, 0, 0, 1), Edge(0, 0, 1, 0), Edge(1, 0, OUTSIDE, 0)],
            errno.EINVAL,
            "edge",
        ),
        "an-empty-slot": ([Node(XOR), Node(9)], [*through], errno.EBADF, "node 1: its function"),
        "more-nodes-than-cores": ([Node(XOR)] * 3, [*through], errno.EINVAL, "3 nodes needs as many cores, this drive has 2"),
    }


@pytest.mark.parametrize("case", bad_trees())
def test_a_tree_that_makes_no_sense_is_refused(loaded: Loaded, case: str) -> None:
    nodes, edges, code, words = bad_trees()[case]
    with pytest.raises(DriveError, match=words) as e:
        loaded.run_job(Job(Tree(nodes, edges), [[Input.of(b"abcd")]]))
    assert e.value.code == code
    (piece,) = loaded.run_job(Job(XOR, [[Input.of(b"abcd")]]))
    assert piece.outputs == [xored(b"abcd")]


def test_outputs_that_overlap_are_refused(loaded: Loaded) -> None:
    job = Job(XOR, [[Input.of(b"a")], [Input.of(b"b")]], [[[Extent(500, 2)]], [[Extent(501, 1)]]])
    with pytest.raises(DriveError, match="overlap") as e:
        loaded.run_job(job)
    assert e.value.code == errno.EEXIST


# ---- the functions, on every architecture that has been built ----


def stored(drive: Drive, lba: int, data: bytes) -> Table:
    return Table([Extent(lba, drive.write(lba, data))], len(data))


def test_scan_and_stat(any_drive: Drive) -> None:
    data = data_of(60_000, 11)
    table = stored(any_drive, 600, data)
    assert offloads.scan_result(offloads.run(any_drive, "scan", table.extents, len(data))) == offloads.expected_scan(data)
    assert offloads.stat_result(offloads.run(any_drive, "stat", table.extents, len(data))) == offloads.expected_stat(data)


@pytest.mark.skipif(not built(CHANNEL_LOCAL), reason=f"needs scripts/build-board {CHANNEL_LOCAL}")
def test_a_channel_local_drive() -> None:
    for drive in start(CHANNEL_LOCAL):
        data = data_of(16 * BLOCK, 14)
        table = Input(stored(drive, 600, data).extents, len(data))
        with drive.function(offloads.load(drive, "scan")) as name:
            pieces = drive.run_job(Job(name, [[table], [table]], channel_local=True))
            with pytest.raises(DriveError, match="a channel-local chip takes no others"):
                drive.run_job(Job(name, [[table]]))
        assert all(p.ok for p in pieces)
        assert [p.report.core for p in pieces] == [0, 1]
        assert [p.report.bytes_in for p in pieces] == [8 * BLOCK] * 2
        assert offloads.scan_result(pieces) == offloads.expected_scan(data)


def test_vectors() -> None:
    """AssasinV runs vector instructions beside functions built for AssasinSb; of two jobs neither sees the other's registers."""
    if not built(VECTOR):
        pytest.skip(f"needs scripts/build {VECTOR}")
    data = data_of(100_003, 31)
    added = (np.frombuffer(data, np.uint8) + np.uint8(7)).tobytes()
    for drive in start(VECTOR):
        name = drive.load((ROOT / "build/offload/vector_add.elf").read_bytes())
        cuts = [(i, min(i + 30_011, len(data))) for i in range(0, len(data), 30_011)]
        pieces = drive.run_job(Job(name, [[Input.of(data[i:j])] for i, j in cuts]))
        assert all(p.ok for p in pieces)
        assert b"".join(p.outputs[0] for p in pieces) == added
        drive.unload(name)
        drive.write(0, data)
        assert offloads.scan_result(offloads.run(drive, "scan", [Extent(0, 25)], len(data))) == offloads.expected_scan(data)


@pytest.mark.parametrize(("config", "forms"), VARVE)
def test_varve(config: str, forms: tuple[str, ...]) -> None:
    """Cores with VarVE run its kernels on stream buffers beside Zve32x and functions built for AssasinSb, in any order."""
    if not built(config):
        pytest.skip(f"needs scripts/build {config}")
    seed = int(os.environ.get("SEED", "14"))
    rng = random.Random(f"{seed} {config}")
    programs = [ROOT / f"build/offload/varve/clip-{form}.elf" for form in forms]
    for drive in start(config):
        names = [drive.load(p.read_bytes()) for p in programs]
        for function, form in zip(names, forms, strict=True):
            sizes = [(rng.randrange(3_000), rng.randrange(6_000)) for _ in range(4)]
            cases = [clip_case(rng, *size) for size in [*sizes, (0, 1), (1, 0)]]
            pieces = drive.run_job(Job(function, [[Input.of(a), Input.of(b)] for (a, b), _ in cases], streams_out=2))
            for piece, size, (_, want) in zip(pieces, [*sizes, (0, 1), (1, 0)], cases, strict=True):
                assert piece.ok, f"SEED={seed}, {form}, values {size}: {piece}"
                assert list(piece.outputs) == want, f"SEED={seed}, {form}, values {size}"
        data = data_of(6_001, seed)
        name = drive.load((ROOT / "build/offload/vector_add.elf").read_bytes())
        (piece,) = drive.run_job(Job(name, [[Input.of(data)]]))
        assert piece.outputs[0] == (np.frombuffer(data, np.uint8) + np.uint8(7)).tobytes()
        drive.unload(name)
        drive.write(0, data)
        assert offloads.scan_result(offloads.run(drive, "scan", [Extent(0, 2)], len(data))) == offloads.expected_scan(data)
        if "full" not in forms:
            with pytest.raises(DriveError, match=re.escape("'vf' cores (AssasinVf)")):
                drive.load((ROOT / "build/offload/varve/clip-full.elf").read_bytes())


def instructions(elf: bytes) -> dict[int, int]:
    """Words of an ELF file's code by address."""
    (headers,), (count,) = struct.unpack_from("<I", elf, 28), struct.unpack_from("<H", elf, 44)
    words = {}
    for i in range(count):
        kind, offset, address, _, size, _, flags, _ = struct.unpack_from("<8I", elf, headers + 32 * i)
        if kind == 1 and flags & 1:
            words |= {
                address + at: word
                for at, (word,) in zip(range(0, size, 4), struct.iter_unpack("<I", elf[offset:][:size]), strict=False)
            }
    return words


def halted_core(block: DebugBlock) -> Hart:
    deadline = time.monotonic() + 120
    while True:
        for hart in block.harts:
            if hart.halted:
                return hart
        assert time.monotonic() < deadline, "no core comes to the breakpoint"


def test_vector_functions_over_columns_in_the_flash() -> None:
    """As `assasin bench varve --board` has them: results are numpy's, and the channels limit the rate."""
    with pytest.raises(VarveBenchError, match="AssasinSb2x2 has no VarVE-full"):
        next(varve_board.run("AssasinSb2x2", ["q03c"], True, 14, lambda _: None, False))
    config = "AssasinVf2x2"
    if not built(config):
        pytest.skip(f"needs scripts/build {config}")
    for found in varve_board.run(config, ["bitpack5"], True, 14, lambda _: None, False):
        # A core has one page: no limit holds for what comes with the first ones.
        assert found.cores == 2 and found.rate / found.limit > 0.2, found
    for found in varve_board.run(config, ["q06l"], True, 14, lambda _: None, False, core_pages=6):
        assert found.input_bytes == 2 * 6 * 4096 * 16, found
        assert 0.4 < found.rate / found.limit < 1.05, found
        assert found.steady is not None and 0.4 < found.steady.bytes_per_cycle / found.limit < 1.05, found


def test_a_debugger_in_the_middle_of_a_strip() -> None:
    """Halted before VPACK, a core shows its elements, NumE and streams, takes another element, and goes on with it."""
    config = "AssasinVf2x2"
    if not built(config):
        pytest.skip(f"needs scripts/build {config}")
    elf = (ROOT / "build/offload/varve/clip-full.elf").read_bytes()
    code = instructions(elf)
    texts = {at: disassemble.text(word, at) for at, word in code.items()}
    packs = [at for at, text in texts.items() if text.startswith("vs.vpack ") and text.endswith(",s0")]
    (packed,) = {code[at] >> 15 & 31 for at in packs}
    (inputs, want) = clip_case(random.Random(14), 200, 0)
    first = np.frombuffer(inputs[0], "<i4").copy()
    first[:2] = 200, -7
    want[0] = first.clip(0, 255).astype(np.uint8).tobytes()
    board = Board(f"pytest-strip-{os.getpid()}")
    board.start(config, "test", format=True)
    try:
        with Drive(board.address) as drive, open_link(f"virtual:{board.name}") as link, ThreadPoolExecutor(1) as pool:
            block = DebugBlock(link)
            for hart in block.harts[:-1]:
                for place in packs:
                    hart.set_breakpoint(place)
            name = drive.load(elf)
            job = pool.submit(drive.run_job, Job(name, [[Input.of(first.tobytes()), Input.of(inputs[1])]], streams_out=2))
            hart = halted_core(block)
            try:
                vector = varve_state.vector(hart, packed)
                assert vector.variable
                assert vector.count > 0
                assert vector.elements(8) == first[: vector.count].clip(0, 255).tolist()
                assert re.search(r"  200 \([89] bits\), 0 \(0 bits\), ", vector.text(8))
                assert hart.csr(contract.CSR_NUME) == vector.count
                source, target = varve_state.streams(hart)
                assert (source.output, source.number, source.byte, source.done) == (False, 0, 0, 0)
                assert (target.output, target.number, target.byte, target.done) == (True, 0, 0, 0)
                hart.set_vector(packed, bytes([123, *vector.data[1:]]))
            finally:
                for each in block.harts[:-1]:
                    each.clear_breakpoint()
                hart.resume()
            (piece,) = job.result(timeout=300)
            assert piece.ok, piece
            assert piece.outputs[0] == bytes([123]) + want[0][1:]
    finally:
        board.stop()
        board.erase()


def clip_case(rng: random.Random, values: int, packed: int) -> tuple[tuple[bytes, bytes], list[bytes]]:
    """Input and output streams of firmware/offload/tests/varve/clip.c with so many values in each."""
    wide = np.array([rng.choice((-1, 1)) * rng.getrandbits(rng.randint(0, 12)) for _ in range(values)], "<i4")
    narrow = [rng.getrandbits(11) for _ in range(packed)]
    inputs = (wide.tobytes(), bits(narrow, 11))
    return inputs, [wide.clip(0, 255).astype(np.uint8).tobytes(), bits([v >> 6 for v in narrow], 5)]


def bits(values: list[int], width: int) -> bytes:
    """Values of `width` bits without gaps, the first one lowest; the last byte is filled with zeros."""
    places = np.array(values, np.uint32)[:, np.newaxis] >> np.arange(width, dtype=np.uint32) & 1
    return np.packbits(places.astype(np.uint8).reshape(-1), bitorder="little").tobytes()


def test_vectors_need_the_unit(drive: Drive) -> None:
    """A drive without the unit refuses them, and so do its host library and its firmware."""
    for form, built_for in (
        ("vector_add.elf", "'v' cores (AssasinV, AssasinVp, AssasinVf)"),
        ("vector/limit/pup.elf", "'vp' cores (AssasinVp, AssasinVf)"),
        ("vector/limit/full.elf", "'vf' cores (AssasinVf)"),
    ):
        elf = (ROOT / "build/offload" / form).read_bytes()
        with pytest.raises(DriveError, match=re.escape(built_for)):
            drive.load(elf)
        data = bytearray(elf.ljust(-len(elf) % 4 + len(elf), b"\0"))
        opcode = contract.SCOMP_OPCODE_ADMIN_FUNC_LOAD
        with pytest.raises(DriveError, match="cores of another kind"):
            drive.execute(0, Command.of(opcode, dw11=len(data), **drive.session().named()), data)


def test_aes(any_drive: Drive) -> None:
    key, counter = data_of(16, 12), b"\xff" * 15 + b"\xfe"
    plain = data_of(2 * BLOCK + 32, 13)
    ecb = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(plain)
    assert functions.aes(any_drive, stored(any_drive, 700, plain), key, "ecb-encrypt") == ecb
    assert functions.aes(any_drive, ecb, key, "ecb-decrypt") == plain
    ctr = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor().update(plain[:-5])
    functions.aes(any_drive, plain[:-5], key, "ctr", counter, to=[Extent(800, 3)], pieces=3)
    assert any_drive.read(800, len(ctr)) == ctr


def test_raid(any_drive: Drive) -> None:
    data = [data_of(10_000, 20 + i) for i in range(3)]
    arrays = [np.frombuffer(d, np.uint8) for d in data]
    p = functions.raid4(any_drive, [stored(any_drive, 900 + 10 * i, d) for i, d in enumerate(data)])
    assert p == (arrays[0] ^ arrays[1] ^ arrays[2]).tobytes()
    assert functions.raid4(any_drive, [data[0], data[2], p]) == data[1]
    assert functions.raid6(any_drive, data)[0] == p
    q = functions.raid6(any_drive, data)[1]
    assert functions.raid6_rebuild(any_drive, [None, data[1], None, p, q]) == [data[0], data[2]]
    assert functions.raid6_rebuild(any_drive, [*data, None, None]) == [p, q]
    members = functions.raid5(any_drive, data, chunk=512)
    assert functions.raid4(any_drive, [members[0], members[2], members[3]]) == members[1]
    assert functions.replicate(any_drive, data[0], 2, to=[[Extent(950, 3)], None])[1] == data[0]
    assert any_drive.read(950, len(data[0])) == data[0]


def test_streams_of_unequal_length_are_refused(drive: Drive) -> None:
    with pytest.raises(ValueError, match="of one length, not of 3, 4 bytes"):
        functions.raid4(drive, [b"abc", b"abcd"])
    inputs = [[Input.of(b"abc"), Input.of(b"abcd")]]
    with pytest.raises(OffloadError, match="raid4: the streams have different lengths"):
        functions.execute(drive, "raid4", inputs, [[None]])


def ints(low: int, high: int, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, shape).astype("<i4")


def test_lz4(any_drive: Drive) -> None:
    text = b"".join(b"%d the quick brown fox %x\n" % (i % 50, i * i % 1000) for i in range(1500))
    packed = functions.lz4_compress(any_drive, stored(any_drive, 1000, text))
    assert len(packed) < len(text) // 2
    assert functions.lz4_decompress(any_drive, packed) == text
    with pytest.raises(OffloadError, match="lz4_decompress: the data ends inside a block"):
        functions.lz4_decompress(any_drive, packed[:-3])
    before = any_drive.read(1050, BLOCK)
    with pytest.raises(OffloadError, match=r"corrupt|ends inside"):
        functions.lz4_decompress(any_drive, b"\x08\0\0\0\x0fabcdefg", to=[Extent(1050, 1)])
    assert any_drive.read(1050, BLOCK) == before


def test_dedup(any_drive: Drive) -> None:
    blocks = [data_of(BLOCK, s) for s in (1, 2, 1, 3, 2, 1)]
    got = functions.dedup(any_drive, stored(any_drive, 1100, b"".join(blocks)), pieces=2)
    assert got.first == [0, 1, 0, 3, 1, 0]
    assert got.contents == [blocks[0], blocks[1], blocks[3]]
    assert got.fingerprints[0] == mmh3.hash_bytes(blocks[0], 0, x64arch=False)


def test_wal(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA wal_autocheckpoint=0")
    db.execute("CREATE TABLE t (a, b)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(i, "x" * (i % 70)) for i in range(60)])
    base, log = path.read_bytes(), (tmp_path / "db-wal").read_bytes()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    expected = path.read_bytes()
    assert functions.wal_replay(drive, stored(drive, 1200, log), base) == expected
    with pytest.raises(OffloadError, match="not the header"):
        functions.wal_replay(drive, b"nonsense" * 8, base)
    db.close()


def test_tables(any_drive: Drive) -> None:
    rows = ints(-1000, 1000, 3000, 4)
    table = stored(any_drive, 1300, rows.tobytes())
    assert analytics.column_sum(any_drive, table) == (rows.size, int(rows.sum(dtype=np.int64)) % 2**32)
    assert analytics.statistics(any_drive, table) == offloads.expected_stat(rows.tobytes())
    assert np.array_equal(analytics.select(any_drive, table, 4, [3, 1]), rows[:, [1, 3]])
    for column, got in enumerate(analytics.transpose(any_drive, table, 4)):
        assert np.array_equal(got, rows[:, column])


def test_statistical_models(any_drive: Drive) -> None:
    points = ints(-4000, 4000, 600, 3)
    centroids = points[:4]
    table = stored(any_drive, 1400, points.tobytes())
    got = analytics.kmeans_step(any_drive, table, centroids)
    distance = ((points[:, None].astype(np.int64) - centroids[None]) ** 2).sum(2)
    nearest = distance.argmin(1)
    assert got.counts.tolist() == np.bincount(nearest, minlength=4).tolist()
    assert np.array_equal(got.sums, [points[nearest == c].sum(0, dtype=np.int64) for c in range(4)])
    assert got.inertia.sum() == distance.min(1).sum()
    rows = np.column_stack([points, 7 + 3 * points[:, 0] - 2 * points[:, 2]]).astype("<i4")
    found = analytics.linear_regression(any_drive, stored(any_drive, 1410, rows.tobytes()), 4)
    assert np.allclose(found, [7, 3, 0, -2], atol=1e-6)


def test_pagerank(any_drive: Drive) -> None:
    edges = ints(0, 500, 3000, 2).astype("<u4")
    gives = ints(0, 1 << 20, 500, seed=1).astype("<u4")
    expected = np.zeros(500, np.uint32)
    np.add.at(expected, edges[:, 1], gives[edges[:, 0]])
    assert np.array_equal(analytics.pagerank_step(any_drive, stored(any_drive, 1500, edges.tobytes()), gives), expected)


def test_a_neural_network_is_a_tree(drive: Drive) -> None:
    r = np.random.default_rng(5)
    network = analytics.Network(
        6, r.integers(-50, 50, 32), r.integers(-20, 20, (9, 32)), r.integers(-99, 99, 3), r.integers(-9, 9, (3, 5408))
    )
    images = r.integers(0, 256, (2, 28, 28)).astype(np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), (1, 2)).reshape(2, 26, 26, 9).astype(np.int64)
    layer = np.maximum(windows @ network.weight + network.bias, 0) >> network.shift
    pooled = layer.reshape(2, 13, 2, 13, 2, 32).max((2, 4)).reshape(2, -1)
    expected = pooled @ network.dense_weight.T + network.dense_bias
    assert np.array_equal(analytics.infer(drive, images.tobytes(), network), expected)


def test_parse_select_filter(any_drive: Drive) -> None:
    scan = tpch_scans.Scan(
        "orders",
        ("o_orderkey", "o_totalprice", "o_orderpriority"),
        tpch_scans.Test("o_orderstatus", "=", "F"),
    )
    lines, expected = [], []
    for i in range(400):
        status, cents, priority = "OFP"[i % 3], 100_000 + 37 * i, f"{i % 5 + 1}-PRIORITY"
        text = (
            f"{i}|{i * 7}|{status}|{cents // 100}.{cents % 100:02}|1995-0{i % 9 + 1}-11|{priority}|Clerk#{i:09}|0|{'comment ' * 4}|"
        )
        lines.append(text)
        if status == "F":
            expected.append((i, cents, priority))
    text = ("\n".join(lines) + "\n").encode()
    table = stored(any_drive, 1600, text)
    got = analytics.psf(any_drive, table, scan, pieces=3)
    assert list(zip(*(got[c].tolist() for c in scan.columns), strict=True)) == expected
    with pytest.raises(OffloadError, match="the text ends inside a row"):
        analytics.psf(any_drive, text[:-30], scan)
