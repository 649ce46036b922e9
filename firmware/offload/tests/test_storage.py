# SPDX-License-Identifier: BSD-3-Clause
"""Storage functions (erasure coding, replication, encryption, compression, deduplication, log replay) on every back end."""

from __future__ import annotations

import ctypes
import ctypes.util
import random
import shutil
import sqlite3
import struct
from functools import reduce
from pathlib import Path

import lz4_frames
import mmh3
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from iss import ROOT, Core
from native import run

OFFLOAD = ROOT / "build" / "offload"
ARCHS = ["sb", "sbx", "sp", "mem"]
RAID_UNEQUAL = 2


def run_all(
    name: str, inputs: list[bytes], args: bytes = b"", outputs: int = 1, partial: bool = False, **task: int
) -> tuple[int, list[bytes]]:
    """Runs the native build and the machine code of every architecture, in the simulator with pages at random times.
    All must agree; `partial`: when the piece fails, how far the outputs have got may differ."""
    expected = run(name, inputs, args, outputs, **task)
    for seed, arch in enumerate(ARCHS, len(inputs[0]) + 1 if inputs else 1):
        core = Core(OFFLOAD / arch / f"{name}.elf", inputs, args, outputs, software=arch in ("sp", "mem"), seed=seed, **task)
        value = core.run()
        assert value is not None, f"{arch}: waits for ever"
        assert value == expected[0] & 0xFFFFFFFF, arch
        if value == 0 or not partial:
            assert core.out == expected[1], arch
        else:
            assert all(a.startswith(b) or b.startswith(a) for a, b in zip(core.out, expected[1], strict=True))
    return expected


def streams(count: int, size: int, seed: int = 0) -> list[bytes]:
    rng = random.Random(size * 31 + count + seed)
    return [rng.randbytes(size) for _ in range(count)]


def xor(parts: list[bytes]) -> bytes:
    return reduce(np.bitwise_xor, [np.frombuffer(p, np.uint8) for p in parts]).tobytes()


@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("size", [0, 1, 4, 7, 8, 4096, 33_333])
def test_raid4_parity_and_rebuild(count: int, size: int) -> None:
    data = streams(count, size)
    value, (parity,) = run_all("raid4", data)
    assert (value, parity) == (0, xor(data))
    if count < 8:
        assert run("raid4", [*data[1:], parity]) == (0, [data[0]])


@pytest.mark.parametrize(
    "lengths", [(8, 7), (7, 8), (0, 4), (4, 0), (4096, 4100), (4100, 4096), (40_000, 9), (12, 12, 12, 13), (9, 9, 8), (5, 0, 5)]
)
def test_raid4_refuses_unequal_streams(lengths: tuple[int, ...]) -> None:
    assert run_all("raid4", [bytes(n) for n in lengths], partial=True)[0] == RAID_UNEQUAL


def test_raid4_refuses_one_stream() -> None:
    assert run_all("raid4", [b"abcd"]) == (1, [b""])


@pytest.mark.parametrize("count", range(1, 9))
@pytest.mark.parametrize("size", [0, 3, 4, 13, 4096, 33_334])
def test_replicate(count: int, size: int) -> None:
    (data,) = streams(1, size)
    assert run_all("replicate", [data], outputs=count) == (0, [data] * count)


# GF(2^8) modulo 0x11d by logarithms, to check raid6 with.
EXP = np.zeros(255, np.uint8)
LOG = np.zeros(256, int)
value_ = 1
for power_ in range(255):
    EXP[power_], LOG[value_] = value_, power_
    value_ = value_ << 1 ^ (0x11D if value_ & 0x80 else 0)


def p_and_q(data: list[bytes]) -> list[bytes]:
    q = np.zeros(len(data[0]), np.uint8)
    for i, part in enumerate(data):
        d = np.frombuffer(part, np.uint8)
        q ^= np.where(d == 0, 0, EXP[(LOG[d] + i) % 255]).astype(np.uint8)
    return [xor(data), q.tobytes()]


@pytest.mark.parametrize("k", range(2, 8))
@pytest.mark.parametrize("size", [0, 1, 4, 4099])
def test_raid6_makes_p_and_q(k: int, size: int) -> None:
    data = streams(k, size)
    assert run_all("raid6", data, struct.pack("<II", k, 3 << k), outputs=2) == (0, p_and_q(data))


@pytest.mark.parametrize("k", range(2, 8))
def test_raid6_rebuilds_any_one_or_two(k: int) -> None:
    data = streams(k, 1027)
    members = data + p_and_q(data)
    for a in range(k + 2):
        for b in range(a, k + 2):
            lost = sorted({a, b})
            left = [m for i, m in enumerate(members) if i not in lost]
            mask = sum(1 << i for i in lost)
            assert run_all("raid6", left, struct.pack("<II", k, mask), outputs=len(lost)) == (0, [members[i] for i in lost])


@pytest.mark.parametrize(
    ("k", "lost", "inputs", "outputs"),
    [(1, 6, 1, 2), (8, 1, 8, 1), (3, 0, 5, 1), (3, 7, 2, 3), (3, 32, 4, 1), (3, 24, 4, 2), (3, 24, 3, 1)],
)
def test_raid6_refuses(k: int, lost: int, inputs: int, outputs: int) -> None:
    assert run_all("raid6", streams(inputs, 64), struct.pack("<II", k, lost), outputs=outputs) == (1, [b""] * outputs)


def test_raid6_refuses_unequal_streams() -> None:
    for k, lost in ((3, 24), (3, 3)):
        for i in range(3):
            data = streams(3, 100)
            data[i] = data[i][:-1]
            assert run_all("raid6", data, struct.pack("<II", k, lost), outputs=2)[0] == RAID_UNEQUAL


@pytest.mark.parametrize("k", range(2, 6))
@pytest.mark.parametrize(("chunk", "size"), [(4, 90), (512, 5000), (4096, 40_001), (4096, 0)])
def test_raid5_left_symmetric(k: int, chunk: int, size: int) -> None:
    data = streams(k, size)
    members = [bytearray() for _ in range(k + 1)]
    for row, at in enumerate(range(0, size, chunk)):
        parts = [d[at : at + chunk] for d in data]
        parity = k - row % (k + 1)
        members[parity] += xor(parts)
        for j, part in enumerate(parts):
            members[(parity + 1 + j) % (k + 1)] += part
    value, out = run_all("raid5", data, struct.pack("<I", chunk), outputs=k + 1)
    assert (value, out) == (0, [bytes(m) for m in members])
    for lost in range(k + 1):
        assert run("raid4", out[:lost] + out[lost + 1 :]) == (0, [out[lost]])


@pytest.mark.parametrize(
    ("count", "outputs", "args"),
    [(1, 2, b"\0\x10\0\0"), (6, 7, b"\0\x10\0\0"), (3, 3, b"\0\x10\0\0"), (3, 4, b"\2\0\0\0"), (3, 4, b"\0\0\0\0"), (3, 4, b"")],
)
def test_raid5_refuses(count: int, outputs: int, args: bytes) -> None:
    assert run_all("raid5", streams(count, 64), args, outputs=outputs) == (1, [b""] * outputs)


def test_raid5_refuses_unequal_streams() -> None:
    assert run_all("raid5", [bytes(8), bytes(9)], struct.pack("<I", 4), outputs=3)[0] == RAID_UNEQUAL


def aes(mode: int, data: bytes, key: bytes, counter: bytes = bytes(16)) -> bytes:
    """What the cryptography package makes of it."""
    way = modes.CTR(counter) if mode == 2 else modes.ECB()
    cipher = Cipher(algorithms.AES128(key), way)
    context = cipher.decryptor() if mode == 1 else cipher.encryptor()
    return context.update(data) + context.finalize()


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("size", [0, 16, 48, 4096, 40_000])
def test_aes_is_what_cryptography_computes(mode: int, size: int) -> None:
    data, key, counter = random.Random(size).randbytes(size), random.Random(mode).randbytes(16), random.Random(7).randbytes(16)
    args = struct.pack("<II16s16s", mode, 0, key, counter)
    assert run_all("aes", [data], args) == (0, [aes(mode, data, key, counter)])


def test_aes_example_of_fips_197() -> None:
    args = struct.pack("<II16s16s", 0, 0, bytes(range(16)), bytes(16))
    (out,) = run_all("aes", [bytes.fromhex("00112233445566778899aabbccddeeff")], args)[1]
    assert out.hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 13, 15, 17, 31, 4099, 8191])
@pytest.mark.parametrize(
    "counter", [b"\xff" * 16, b"\xff" * 15 + b"\xfe", bytes(range(16)), b"\x01" + b"\xff" * 7 + b"\0" * 3 + b"\xff" * 5]
)
def test_aes_counter_carries_and_lengths(size: int, counter: bytes) -> None:
    data = random.Random(size).randbytes(size)
    args = struct.pack("<II16s16s", 2, 0, b"k" * 16, counter)
    assert run_all("aes", [data], args) == (0, [aes(2, data, b"k" * 16, counter)])


def test_aes_pieces_continue_the_counter() -> None:
    data, counter = random.Random(1).randbytes(3 * 4096 + 100), b"\xff" * 14 + b"\xfe\x80"
    args = struct.pack("<II16s16s", 2, 4096 // 16, b"q" * 16, counter)
    out = [run_all("aes", [data[i * 4096 : (i + 1) * 4096]], args, piece=i, pieces=4)[1][0] for i in range(4)]
    assert b"".join(out) == aes(2, data, b"q" * 16, counter)


@pytest.mark.parametrize(
    ("piece_blocks", "piece", "pieces", "size", "end"),
    [(0, 0, 1, 64, 0), (4, 0, 3, 64, 0), (4, 2, 3, 5, 0), (0, 0, 2, 64, 3), (0, 1, 2, 64, 3), (3, 0, 2, 64, 3), (5, 0, 2, 64, 3)],
)
def test_aes_refuses_pieces_whose_counters_would_repeat(piece_blocks: int, piece: int, pieces: int, size: int, end: int) -> None:
    args = struct.pack("<II32x", 2, piece_blocks)
    assert run_all("aes", [bytes(size)], args, piece=piece, pieces=pieces)[0] == end


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("size", [1, 4, 15, 17, 4100])
def test_aes_ecb_needs_whole_blocks(mode: int, size: int) -> None:
    assert run_all("aes", [bytes(size)], struct.pack("<II32x", mode, 0))[0] == 2


@pytest.mark.parametrize("args", [b"", bytes(39), bytes(41), struct.pack("<II32x", 3, 0)])
def test_aes_refuses_other_arguments(args: bytes) -> None:
    assert run_all("aes", [bytes(16)], args) == (1, [b""])


LZ4 = ctypes.CDLL(ctypes.util.find_library("lz4") or "liblz4.so.1")
LZ4_BLOCK = 24576
STORED = 1 << 31


def lz4_pack(data: bytes, block: int) -> bytes:
    """Blocks of the lz4 library in our framing."""
    out = b""
    for at in range(0, len(data), block):
        part = data[at : at + block]
        room = ctypes.create_string_buffer(LZ4.LZ4_compressBound(len(part)))
        size = LZ4.LZ4_compress_HC(part, room, len(part), len(room), 9)
        assert size > 0
        out += struct.pack("<I", size) + room.raw[:size]
    return out


def lz4_unpack(stream: bytes, block: int = LZ4_BLOCK) -> bytes:
    out, at = b"", 0
    while at < len(stream):
        (size,) = struct.unpack_from("<I", stream, at)
        part = stream[at + 4 : at + 4 + size % STORED]
        assert len(part) == size % STORED
        at += 4 + len(part)
        if size & STORED:
            out += part
            continue
        room = ctypes.create_string_buffer(block)
        length = LZ4.LZ4_decompress_safe(part, room, len(part), block)
        assert length >= 0
        out += room.raw[:length]
    return out


def text(size: int, seed: int = 1) -> bytes:
    rng = random.Random(seed)
    words = [rng.randbytes(rng.randrange(1, 9)).hex() for _ in range(300)]
    return " ".join(rng.choice(words) for _ in range(size // 5 + 5)).encode()[:size]


SAMPLES = {
    "empty": b"",
    "one": b"x",
    "twelve": b"aaaaaaaaaaaa",
    "thirteen": b"a" * 13,
    "same": b"z" * 100_000,
    "period3": b"abc" * 20_000,
    "period7": b"1234567" * 9_000,
    "random": random.Random(4).randbytes(60_001),
    "text": text(150_003),
    "block": text(LZ4_BLOCK),
    "block+1": text(LZ4_BLOCK + 1),
    "mixed": text(9_000) + random.Random(5).randbytes(7_000) + bytes(30_000) + text(9_000),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_lz4_library_decompresses_what_we_compress(name: str) -> None:
    data = SAMPLES[name]
    value, (out,) = run_all("lz4_compress", [data])
    assert value == 0
    assert lz4_unpack(out) == data
    assert len(out) <= len(data) + 4 * -(-len(data) // LZ4_BLOCK)
    if name in ("same", "period3", "period7"):
        assert len(out) < len(data) / 50
    if name == "text":
        assert len(out) < len(data) * 0.7
    assert run_all("lz4_decompress", [out]) == (0, [data])


@pytest.mark.parametrize("block", [1000, 65_536, 4 << 20])
@pytest.mark.parametrize("name", SAMPLES)
def test_we_decompress_what_the_lz4_library_compresses(name: str, block: int) -> None:
    data = SAMPLES[name]
    assert run_all("lz4_decompress", [lz4_pack(data, block)]) == (0, [data])


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 100, 3000])
def test_truncated_lz4(cut: int) -> None:
    value, (out,) = run_all("lz4_decompress", [lz4_pack(SAMPLES["text"], 65_536)[:-cut]], partial=True)
    assert value == 2
    assert SAMPLES["text"].startswith(out)


@pytest.mark.parametrize(
    "block",
    [
        b"\x10a\0\0" + b"\0",  # distance 0
        b"\x10a\2\0" + b"\0",  # before the block's start
        b"\x50abc",  # literals beyond the block
        b"\xf0\xff\xff",  # length without end
        b"\x10a\1",  # half a distance
        b"\x10a\1\0",  # ends with a match
        b"\x1fa\1\0",  # match length without end
    ],
)
def test_corrupt_lz4(block: bytes) -> None:
    stream = struct.pack("<I", 3 | STORED) + b"xyz" + struct.pack("<I", len(block)) + block + bytes(64)
    assert run_all("lz4_decompress", [stream])[0] == 1


def test_noise_as_lz4_never_leaves_the_window() -> None:
    rng = random.Random(11)
    good = lz4_pack(SAMPLES["mixed"][:6000], 2000)
    for _ in range(60):
        noise = bytearray(good)
        for _ in range(rng.randrange(1, 5)):
            noise[rng.randrange(4, len(noise))] = rng.randrange(256)
        run_all("lz4_decompress", [bytes(noise)], partial=True)


FRAMES: dict[str, dict[str, int]] = {
    "linked": {},
    "alone": {"alone": 1, "block_size": lz4_frames.BLOCK_64K, "size": 1},
    "as-the-command-makes-it": {"alone": 1, "block_size": 7, "checksum": 1},
    "all": {"checksum": 1, "size": 1, "level": 9},
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", SAMPLES)
def test_frames_of_the_lz4_library(name: str, kind: str) -> None:
    data = SAMPLES[name]
    assert run_all("lz4_decompress", [lz4_frames.compress(data, **FRAMES[kind])]) == (0, [data])


@pytest.mark.parametrize("cut", [1, 4, 5, 9, 300])
def test_a_frame_without_its_end(cut: int) -> None:
    frame = lz4_frames.compress(SAMPLES["text"], checksum=1)
    assert run_all("lz4_decompress", [frame[:-cut]], partial=True)[0] == 2


def test_frames_that_are_refused() -> None:
    data = SAMPLES["mixed"][:5000]
    frame = bytearray(lz4_frames.compress(data, size=1))
    other = [lz4_frames.compress(data, block_checksums=1), bytes(frame) * 2, bytes(frame) + bytes(4)]
    assert [run_all("lz4_decompress", [f], partial=True)[0] for f in other] == [4] * 3
    for at in (5, 6, 14):  # block size, content size, checksum: what the descriptor's checksum covers
        spoilt = frame.copy()
        spoilt[at] ^= 0x10
        assert run_all("lz4_decompress", [bytes(spoilt)], partial=True)[0] == 1
    longer = lz4_frames.compress(data + b"x", size=1)
    assert longer[:6] == frame[:6]
    wrong = longer[:15] + frame[15:]
    assert run_all("lz4_decompress", [wrong], partial=True)[0] == 1, "the descriptor promises a byte more"


def test_lz4_needs_the_window() -> None:
    core = Core(OFFLOAD / "sb" / "lz4_decompress.elf", [b"", b""])
    assert core.run() == 3


def dedup(data: bytes, remembered: int = 2048) -> tuple[bytes, bytes]:
    records, contents, seen = b"", b"", {}
    for i, at in enumerate(range(0, len(data), 4096)):
        part = data[at : at + 4096]
        mark = mmh3.hash_bytes(part, 0, False)
        first = seen.get(mark, i)
        if first == i:
            contents += part
            if len(seen) < remembered:
                seen[mark] = i
        records += struct.pack("<II", i, first) + mark
    return records, contents


@pytest.mark.parametrize("size", [0, 1, 4, 15, 16, 31, 4095, 4096, 4097, 8192, 300_005])
def test_dedup(size: int) -> None:
    rng = random.Random(size)
    kinds = [rng.randbytes(4096) for _ in range(20)]
    data = b"".join(rng.choice(kinds) for _ in range(size // 4096 + 1))[:size]
    records, contents = dedup(data)
    assert run_all("dedup", [data]) == (0, [records])
    assert run_all("dedup", [data], outputs=2) == (0, [records, contents])


def test_dedup_remembers_2048_blocks() -> None:
    blocks = [struct.pack("<I", i) * 1024 for i in range(2060)]
    data = b"".join(blocks) + blocks[5] + blocks[2047] + blocks[2050]
    records, _ = dedup(data)
    assert run_all("dedup", [data], room=1 << 24) == (0, [records])
    assert [struct.unpack_from("<I", records, 24 * (2060 + i) + 4)[0] for i in range(3)] == [5, 2047, 2062]


def test_dedup_refuses_three_outputs() -> None:
    assert run_all("dedup", [bytes(4096)], outputs=3)[0] == 1


def wal_case(folder: Path, page: int, transactions: int) -> tuple[bytes, bytes]:
    """A database file and its log, written by SQLite; the last transaction is not committed."""
    db = sqlite3.connect(folder / "db", isolation_level=None)
    db.execute(f"pragma page_size={page}")
    db.execute("pragma journal_mode=wal")
    db.execute("pragma wal_autocheckpoint=0")
    db.execute("pragma cache_size=5")
    db.execute("create table t (a integer primary key, b blob)")
    db.execute("pragma wal_checkpoint(truncate)")
    rng = random.Random(page)
    for _ in range(transactions):
        db.execute("begin")
        for _ in range(rng.randrange(1, 30)):
            db.execute("insert into t (b) values (?)", (rng.randbytes(rng.randrange(2 * page)),))
        if rng.random() < 0.3:
            db.execute("delete from t where a % 3 = 0")
        db.execute("commit")
    db.execute("begin")
    db.executemany("insert into t (b) values (?)", [(rng.randbytes(page),) for _ in range(40)])
    base, log = (folder / "db").read_bytes(), (folder / "db-wal").read_bytes()
    db.execute("rollback")
    db.close()
    return base, log


def replayed(base: bytes, out: bytes) -> bytes:
    page, frames, pages, zero = struct.unpack_from("<4I", out)
    assert zero == 0
    assert len(out) == 16 + frames * (page + 4)
    if frames == 0:
        return base
    database = bytearray(base.ljust(page * pages, b"\0"))
    for i in range(frames):
        at = 16 + i * (page + 4)
        (number,) = struct.unpack_from("<I", out, at)
        database[(number - 1) * page : number * page] = out[at + 4 : at + 4 + page]
    return bytes(database[: page * pages])


def checkpointed(folder: Path, base: bytes, log: bytes) -> bytes:
    """The database file after SQLite has recovered and checkpointed the log."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "db").write_bytes(base)
    (folder / "db-wal").write_bytes(log)
    db = sqlite3.connect(folder / "db")
    assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    db.execute("pragma wal_checkpoint(truncate)")
    result = (folder / "db").read_bytes()
    db.close()
    return result


@pytest.mark.parametrize("page", [512, 1024, 4096, 65536])
def test_wal_replay_is_what_sqlite_checkpoints(tmp_path: Path, page: int) -> None:
    base, log = wal_case(tmp_path, page, 8)
    value, (out,) = run_all("wal", [log, log], room=1 << 24)
    assert value == 0
    assert struct.unpack_from("<I", out, 4)[0] < (len(log) - 32) // (page + 24), "the open transaction has frames in the log"
    assert replayed(base, out) == checkpointed(tmp_path / "sqlite", base, log)


def test_a_wal_that_is_cut_off_or_corrupt_counts_up_to_the_last_valid_commit(tmp_path: Path) -> None:
    base, log = wal_case(tmp_path, 1024, 8)
    rng = random.Random(2)
    seen = set()
    for i in range(24):
        bad = bytearray(log)
        if i % 2:
            del bad[rng.randrange(33, len(log)) :]
        else:
            bad[rng.randrange(32, len(log))] ^= 1 << rng.randrange(8)
        value, (out,) = run_all("wal", [bytes(bad), bytes(bad)], room=1 << 24)
        assert value == 0
        seen.add(struct.unpack_from("<I", out, 4)[0])
        assert replayed(base, out) == checkpointed(tmp_path / "sqlite", base, bytes(bad))
    assert len(seen) > 4


def big_endian_wal(log: bytes) -> bytes:
    """The same log as a big-endian machine writes it: the checksums are over big-endian words."""
    page = struct.unpack_from(">I", log, 8)[0]

    def checksum(data: bytes, s: tuple[int, int]) -> tuple[int, int]:
        s0, s1 = s
        for a, b in struct.iter_unpack(">II", data):
            s0 = s0 + a + s1 & 0xFFFFFFFF
            s1 = s1 + b + s0 & 0xFFFFFFFF
        return s0, s1

    head = struct.pack(">I", 0x377F0683) + log[4:24]
    s = checksum(head, (0, 0))
    out = head + struct.pack(">II", *s)
    for at in range(32, len(log), 24 + page):
        s = checksum(log[at : at + 8] + log[at + 24 : at + 24 + page], s)
        out += log[at : at + 16] + struct.pack(">II", *s) + log[at + 24 : at + 24 + page]
    return out


def test_a_wal_of_a_big_endian_machine(tmp_path: Path) -> None:
    base, log = wal_case(tmp_path, 512, 3)
    other = big_endian_wal(log)
    value, (out,) = run_all("wal", [other, other])
    assert value == 0
    assert replayed(base, out) == checkpointed(tmp_path / "sqlite", base, other) == checkpointed(tmp_path / "sqlite", base, log)


@pytest.mark.parametrize("at", [0, 3, 5, 9, 20, 25, 31])
def test_a_wal_header_that_is_none(tmp_path: Path, at: int) -> None:
    _, log = wal_case(tmp_path, 512, 1)
    bad = bytearray(log)
    bad[at] ^= 1
    assert run_all("wal", [bytes(bad), bytes(bad)]) == (2, [b""])


@pytest.mark.parametrize("size", [0, 31, 32])
def test_a_wal_without_frames(tmp_path: Path, size: int) -> None:
    _, log = wal_case(tmp_path, 512, 1)
    value, (out,) = run_all("wal", [log[:size]] * 2)
    assert (value, out) == (0, struct.pack("<4I", 512 if size == 32 else 0, 0, 0, 0))


def test_wal_wants_the_log_twice() -> None:
    assert run_all("wal", [bytes(32)])[0] == 1
    assert run_all("wal", [bytes(32), bytes(36)])[0] == 1
