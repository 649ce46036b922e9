# SPDX-License-Identifier: BSD-3-Clause
"""
Every listed function gives the same in one piece and in many, wherever its description lets it be cut: the native builds, over
host bytes and over scattered blocks.
"""

from __future__ import annotations

import random
import re
import sqlite3
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import native
import numpy as np
import pytest
from assasin import offloads, tpch_scans
from assasin.cut import Plan, Source, Table, plan
from assasin.descriptions import FUNCTIONS, OffloadError, explain, listed, results_of
from assasin.job import CYCLES_A_BYTE, Extent, Input, Job, enough_kcycles, pack
from assasin.tree import ROOT, contract
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

BLOCK = 4096
SEED = random.randrange(1 << 30)
SOURCES = sorted(p.stem for f in ("", "examples") for p in (ROOT / "firmware" / "offload" / f).glob("*.c"))


class Medium:
    """Scattered blocks that hold streams."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.blocks: dict[int, bytes] = {}

    def table(self, data: bytes) -> Table:
        extents, at = [], 0
        padded = data + bytes(-len(data) % BLOCK)
        lba = 1000 * (len(self.blocks) + 1)
        while at < len(padded):
            count = min(self.random.randint(1, 5), (len(padded) - at) // BLOCK)
            extents.append(Extent(lba, count))
            for i in range(count):
                self.blocks[lba + i] = padded[at : at + BLOCK]
                at += BLOCK
            lba += count + self.random.randint(1, 3)
        return Table(extents, len(data))

    def bytes_of(self, stream: Input) -> bytes:
        if stream.data is not None:
            return stream.data
        held = b"".join(self.blocks[e.lba + i] for e in stream.extents for i in range(e.count))
        assert len(held) - stream.bytes < BLOCK, "a stream has no more blocks than it needs"
        return held[: stream.bytes]


def run(medium: Medium, planned: Plan) -> tuple[list[int], list[bytes]]:
    """Exit codes of the pieces, and their outputs merged."""
    ends, outputs = [], []
    for i, piece in enumerate(planned.inputs):
        streams = [medium.bytes_of(s) for s in piece]
        end, out = native.run(planned.call.name, streams, planned.args, planned.call.outputs, i, len(planned.inputs))
        ends.append(end & 0xFFFFFFFF)
        outputs.append(out)
    return ends, planned.merged(outputs) if not any(ends) else []


@dataclass
class Case:
    """Input streams and arguments that a function does something with."""

    streams: list[bytes]
    args: bytes = b""
    outputs: int | None = None


def _text(r: random.Random, rows: int) -> bytes:
    line = "{}|{}|{}|{}.{:02}|1995-0{}-11|{}-PRIORITY|Clerk#{:09}|0|{}|"
    made = [
        line.format(
            i, 7 * i, "OFP"[i % 3], r.randrange(1000, 99999), i % 100, i % 9 + 1, i % 5 + 1, i, "comment " * r.randint(3, 9)
        )
        for i in range(rows)
    ]
    return ("\n".join(made) + "\n").encode()


def _log(r: random.Random) -> bytes:
    folder = Path(tempfile.mkdtemp())
    db = sqlite3.connect(folder / "db", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE t (a, b)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(i, "x" * r.randrange(900)) for i in range(40)])
    log = (folder / "db-wal").read_bytes()
    db.close()
    return log


def _words(r: random.Random, records: int, words: int, most: int = 8000) -> bytes:
    return np.array([r.randrange(-most, most) for _ in range(records * words)], "<i4").tobytes()


def _case(name: str, r: random.Random) -> Case:
    data = r.randbytes(r.randrange(1, 150_000))
    cipher = r.randbytes(16) + (r.getrandbits(128) | 1 << 127).to_bytes(16, "big")
    orders = tpch_scans.Scan("orders", ("o_orderkey", "o_totalprice"), tpch_scans.Test("o_orderstatus", "=", "F"))
    chunk, streams = r.choice([4, 512, 4096]), r.randint(2, 5)
    equal = [r.randbytes(len(data)) for _ in range(streams)]
    tuples = r.randint(1, 8)
    makers: dict[str, Callable[[], Case]] = {
        "filter": lambda: Case([r.randbytes(32 * 2000)], struct.pack("<5i", -(2**31), 0, -(2**31), 2**31 - 1, 0)),
        "aes": lambda: Case([data], struct.pack("<II", 2, 0) + cipher),
        "lz4_compress": lambda: Case([b"".join(r.choice([b"stream ", b"page ", b"core "]) for _ in range(20_000))]),
        "lz4_decompress": lambda: Case([native.run("lz4_compress", [data])[1][0]]),
        "dedup": lambda: Case([b"".join(bytes([r.randrange(4)]) * BLOCK for _ in range(20))], outputs=r.randint(1, 2)),
        "raid4": lambda: Case(equal),
        "raid5": lambda: Case(equal, struct.pack("<I", chunk)),
        "raid6": lambda: Case(equal, struct.pack("<II", streams, 3 << streams)),
        "replicate": lambda: Case([data], outputs=r.randint(1, 8)),
        "wal": lambda: Case([_log(r)] * 2),
        "fgrep8": lambda: Case([bytes(BLOCK - 3) + b"patternpatternp" * 9000], b"patternp"),
        "grep": lambda: Case([data], data[:2].replace(b"\n", b" ")),
        "json_field": lambda: Case([b'{"a": [1, "b"], "b": 2}\n' * 900], b"b"),
        "saxpy": lambda: Case([_words(r, 9000, 1), _words(r, r.choice([9000, 100]), 1)], struct.pack("<f", 1.5)),
        "psf": lambda: Case([_text(r, 900)], tpch_scans.encode(orders)),
        "parse": lambda: Case([_text(r, 900)], tpch_scans.encode(orders)),
        "select": lambda: Case([_words(r, 2000, tuples)], struct.pack("<II", tuples, (1 << tuples) - 1)),
        "transpose": lambda: Case([_words(r, 2000, tuples)], outputs=tuples),
        "kmeans": lambda: Case([_words(r, 3000, tuples)], struct.pack("<II", 3, tuples) + _words(r, 3, tuples), r.randint(1, 2)),
        "linreg": lambda: Case([_words(r, 3000, tuples)], struct.pack("<I", tuples)),
        "pagerank": lambda: Case(
            [np.array([r.randrange(90) for _ in range(9000)], "<u4").tobytes(), r.randbytes(360)], struct.pack("<I", 90)
        ),
        "nn_conv": lambda: Case([r.randbytes(784 * 12)], struct.pack("<I", 3) + r.randbytes(1280), r.randint(1, 3)),
        "nn_fc": lambda: Case([r.randbytes(5408 * 4 * 5), r.randbytes(5409 * 4 * 2)], struct.pack("<I", 2)),
        "hamming": lambda: Case([r.randbytes(BLOCK * 13), r.randbytes(BLOCK * 13)], outputs=r.randint(2, 3)),
    }
    return makers.get(name, lambda: Case([data]))()


def test_every_function_in_the_folder_is_described() -> None:
    assert sorted(FUNCTIONS) == SOURCES


@pytest.mark.parametrize("usual", [2, 8])
@pytest.mark.parametrize("name", SOURCES)
def test_one_piece_and_many_give_the_same(name: str, usual: int) -> None:
    print(f"seed {SEED}")
    r = random.Random(f"{SEED}/{name}/{usual}")
    for _ in range(4):
        case = _case(name, r)
        medium = Medium(r.randrange(1 << 30))
        tables: list[Source] = [medium.table(s) for s in case.streams]
        one = run(medium, plan(name, list(case.streams), BLOCK, 1, case.args, case.outputs))
        assert not any(one[0]), f"{name} in one piece: {explain(name, one[0][0])}"
        for sources in (list(case.streams), tables):
            many = plan(name, sources, BLOCK, usual, case.args, case.outputs)
            assert run(medium, many)[1] == one[1]
        shown = results_of(name, many.call, one[1])
        assert shown is None or all(len(row) == len(shown.columns) for row in shown.rows)


@pytest.mark.parametrize("name", [n for n in SOURCES if FUNCTIONS[n].record is None])
def test_what_cannot_be_cut_is_one_piece_and_refuses_more(name: str) -> None:
    case = _case(name, random.Random(name))
    assert len(plan(name, list(case.streams), BLOCK, 8, case.args, case.outputs).inputs) == 1
    with pytest.raises(OffloadError, match=f"{name} cannot be divided into 2 pieces: "):
        plan(name, list(case.streams), BLOCK, 8, case.args, case.outputs, pieces=2)


@pytest.mark.parametrize("name", [n for n in SOURCES if FUNCTIONS[n].record is not None])
def test_what_can_be_cut_is(name: str) -> None:
    streams = [bytes(5408 * 4 * 64)] * (2 if 2 in FUNCTIONS[name].inputs else 1)
    args = _case(name, random.Random(3)).args
    args = struct.pack("<II", 2, 12) if name == "raid6" else args
    outputs = 4 if name == "transpose" else None
    assert len(plan(name, streams, BLOCK, 2, args, outputs).inputs) == 2


@pytest.mark.parametrize("pieces", [None, 1, 3, 16])
def test_ctr_over_pieces_is_what_cryptography_computes(pieces: int | None) -> None:
    r = random.Random(5)
    data, key, counter = r.randbytes(100_003), r.randbytes(16), b"\xff" * 15 + b"\xf0"
    planned = plan("aes", [data], BLOCK, 2, struct.pack("<II", 2, 0) + key + counter, pieces=pieces)
    ends, (out,) = run(Medium(0), planned)
    assert len(ends) == min(pieces or 2, 13)
    assert out == Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor().update(data)


def test_arguments_that_fix_the_piece_are_obeyed_or_refused() -> None:
    key = bytes(32)
    planned = plan("aes", [bytes(5 * BLOCK)], BLOCK, 2, struct.pack("<II", 2, BLOCK // 16) + key)
    assert [i.bytes for (i,) in planned.inputs] == [BLOCK] * 5
    with pytest.raises(OffloadError, match="pieces of 4096 bytes, which makes 5 pieces of 20480 bytes, not 2"):
        plan("aes", [bytes(5 * BLOCK)], BLOCK, 2, struct.pack("<II", 2, BLOCK // 16) + key, pieces=2)
    with pytest.raises(OffloadError, match="pieces of 1600 bytes; use a multiple of 4096"):
        plan("aes", [bytes(5 * BLOCK)], BLOCK, 2, struct.pack("<II", 2, 100) + key)


@pytest.mark.parametrize(
    ("name", "streams", "args", "outputs", "words"),
    [
        ("stat", 1, b"12345", None, "stat takes no arguments, 5 bytes were given"),
        ("aes", 1, b"", None, r"aes takes 40 bytes of arguments, not 0: struct aes_args in offloads.h"),
        ("raid4", 1, b"", None, "raid4 takes 2 to 8 input streams, not 1"),
        ("stat", 1, b"", 2, "stat has 1 output streams here, not 2"),
        ("transpose", 1, b"", None, "say how many output streams"),
        ("raid5", 3, struct.pack("<I", 0), None, "records of 0 bytes"),
    ],
)
def test_calls_that_make_no_sense_are_refused_in_words(
    name: str, streams: int, args: bytes, outputs: int | None, words: str
) -> None:
    with pytest.raises(OffloadError, match=words):
        plan(name, [bytes(BLOCK)] * streams, BLOCK, 2, args, outputs)


def test_streams_of_different_lengths() -> None:
    with pytest.raises(OffloadError, match="must be of one length, not of 4096, 8192 bytes"):
        plan("raid4", [bytes(4096), bytes(8192)], BLOCK, 2)
    with pytest.raises(OffloadError, match="--pieces 1"):
        plan("mine", [bytes(4096), bytes(8192)], BLOCK, 2)
    assert len(plan("saxpy", [bytes(8192), bytes(16384)], BLOCK, 2, bytes(4)).inputs) == 1


def test_a_function_of_ones_own_is_no_listed_one() -> None:
    assert listed("stat") is listed(str(ROOT / "build/offload/sb/stat.elf")) is FUNCTIONS["stat"]
    assert listed("/somewhere/stat.elf") is None
    assert len(plan("/somewhere/stat.elf", [bytes(9 * BLOCK)], BLOCK, 8, b"any").inputs) == 8


def test_every_exit_code_of_the_headers_has_words() -> None:
    text = "".join((ROOT / "firmware/offload/include" / f"{h}.h").read_text() for h in ("offloads", "analytics"))
    group = {
        "raid": ("raid4", "raid5", "raid6"),
        "lz4": ("lz4_decompress",),
        "analytics": ("select", "transpose", "kmeans", "linreg", "pagerank", "nn_conv", "nn_fc", "hamming"),
    }
    found = re.findall(r"enum (\w+)_exit \{(.*?)\}", text, re.DOTALL)
    assert len(found) >= 8
    for owner, body in found:
        for value in re.findall(r"\w+ = (\d+)", body):
            for name in group.get(owner, (owner,)):
                assert explain(name, int(value)), f"{name}: exit code {value} of enum {owner}_exit"


def test_results_by_name() -> None:
    data = np.array([5, -7, 100], "<i4").tobytes() * 4096
    planned = plan("stat", [data], BLOCK, 4)
    _, outputs = run(Medium(0), planned)
    shown = results_of("stat", planned.call, outputs)
    expected = offloads.expected_stat(data)
    assert shown is not None
    assert shown.json() == {"count": expected.count, "min": -7, "max": 100, "sum": expected.sum}


def test_arrays_are_bytes() -> None:
    values = np.arange(12_000, dtype="<i4").reshape(2, -1)
    planned = plan("sum", [values[:, ::2]], BLOCK, 2)
    assert b"".join(s.data or b"" for (s,) in planned.inputs) == values[:, ::2].tobytes()
    keys = np.frombuffer(b"patternp", "u1")
    assert plan("fgrep8", [bytearray(BLOCK)], BLOCK, 1, keys).args == b"patternp"
    packed, alive = pack(Job(0, [[Input.of(values)]], args=keys))
    assert (packed.inputs[0].bytes, packed.args_bytes) == (48_000, 8)
    del alive


def test_the_limit_of_a_piece_is_one_that_the_drive_takes() -> None:
    def limit(size: int) -> int:
        return enough_kcycles([[Input([Extent(0, -(-size // BLOCK))], size)]])

    assert limit(100) == contract.SCOMP_WATCHDOG_KCYCLES
    assert limit(1 << 20) == (1 << 20) * CYCLES_A_BYTE // 1000
    assert limit(1 << 40) == contract.SCOMP_WATCHDOG_MAX_KCYCLES
