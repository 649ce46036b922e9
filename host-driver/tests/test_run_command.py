# SPDX-License-Identifier: BSD-3-Clause
"""`assasin run` on a real board: right answers with the default pieces, results by name, and calls refused in words."""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lz4_frames
import numpy as np
import pytest
from assasin import bench as benchmarks
from assasin import offloads
from assasin.board import Board
from assasin.drive import Command, Drive, DriveError, Extent
from assasin.hls.kernel import KernelError
from assasin.hls.run import board_with
from assasin.tree import ROOT, contract
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

CONFIG = "AssasinSb2x2"
NAME = f"pytest-run-{os.getpid()}"

pytestmark = pytest.mark.system(CONFIG)


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    b = Board(NAME)
    b.start(CONFIG, "test", format=True)
    yield b
    b.stop()
    b.erase()


def invoke(*args: object) -> subprocess.CompletedProcess[str]:
    command = [ROOT / "scripts" / "bin" / "assasin", *map(str, args), "--name", NAME]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def run(*args: object) -> dict[str, Any]:
    result = invoke("run", *args, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def refused(words: str, *args: object) -> None:
    result = invoke("run", *args)
    assert result.returncode in (1, 2), result.stdout
    assert "Traceback" not in result.stderr
    said = " ".join(result.stderr.replace("│", " ").split())
    assert words in said, said


def store(board: Board, lba: int, data: bytes) -> tuple[str, ...]:
    with Drive(board.address) as drive:
        drive.write(lba, data)
    return ("--lba", str(lba), "--bytes", str(len(data)))


def test_ctr_with_the_default_pieces_is_what_cryptography_computes(board: Board, tmp_path: Path) -> None:
    r = random.Random(1)
    data, key, counter = r.randbytes(40_001), r.randbytes(16), r.randbytes(16)
    args = (struct.pack("<II", 2, 0) + key + counter).hex()
    done = run("aes", *store(board, 10, data), "--args", args, "--out", tmp_path / "out")
    assert len(done["pieces"]) == 2
    assert (tmp_path / "out").read_bytes() == Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor().update(data)


def test_results_have_names(board: Board) -> None:
    data = np.arange(-1000, 9000, dtype="<i4").tobytes()
    where = store(board, 100, data)
    expected = offloads.expected_stat(data)
    named = {"count": 10_000, "min": -1000, "max": 8999, "sum": expected.sum}
    assert run("stat", *where)["result"] == named
    assert run("stat", *where, "--pieces", 1)["result"] == named
    shown = invoke("run", "stat", *where).stdout
    assert all(word in shown for word in ("result of stat", "count", "10,000", "8,999"))
    tuples = run("select", *where, "--args", struct.pack("<II", 4, 0b1001).hex())["result"]
    assert tuples[:2] == [{"tuple": 0, "word 0": -1000, "word 3": -997}, {"tuple": 1, "word 0": -996, "word 3": -993}]
    assert len(tuples) == 2500
    assert "and 2,480 more" in invoke("run", "select", *where, "--args", struct.pack("<II", 4, 0b1001).hex()).stdout


def test_a_pattern_across_two_pieces_is_found(board: Board) -> None:
    data = bytes(8192 - 4) + b"ASSASIN!" + bytes(8188)
    assert run("fgrep8", *store(board, 200, data), "--args", b"ASSASIN!".hex())["result"] == {"count": 1}


def test_any_name_takes_an_array(board: Board, tmp_path: Path) -> None:
    where = store(board, 300, np.arange(3000, dtype="<i4").tobytes())
    run("select", *where, "--args", struct.pack("<II", 3, 1).hex(), "--out", tmp_path / "x", "--dtype", "<i4")
    assert np.array_equal(np.load(tmp_path / "x"), np.arange(0, 3000, 3))


@pytest.mark.parametrize(
    ("words", "args"),
    [
        ("raid4 takes 2 to 8 input streams, not 1", ("raid4", "--stream", "0:8K")),
        ("stat takes no arguments, 2 bytes were given", ("stat", "--lba", 0, "--bytes", "8K", "--args", "0102")),
        ("--cores 99: this drive has 2 cores", ("stat", "--lba", 0, "--bytes", "8K", "--cores", 99)),
        ("lz4_decompress cannot be divided into 2 pieces", ("lz4_decompress", "--lba", 0, "--bytes", "8K", "--pieces", 2)),
        ("this is not the header of an SQLite write-ahead log (exit code 2)", ("wal", *["--stream", "0:8K"] * 2)),
        ("say how many output streams", ("transpose", "--lba", 0, "--bytes", "8K")),
        ("--dtype says how --out is written", ("stat", "--lba", 0, "--bytes", "8K", "--dtype", "<i4")),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(board: Board, words: str, args: tuple[object, ...]) -> None:
    refused(words, *args)


BENCHES = [
    ("bench", "scan", "--bytes", "64K"),
    ("bench", "read", "--bytes", "64K"),
    ("bench", "random", "--bytes", "64K", "--reads", 8, "--depth", 1),
]


@pytest.mark.parametrize("command", BENCHES)
def test_a_benchmark_leaves_what_is_on_the_drive_alone(board: Board, command: tuple[object, ...]) -> None:
    data = random.Random(7).randbytes(64 << 10)
    with Drive(board.address) as drive:
        drive.write(0, data)
        last = drive.info.blocks - 1
    for _ in range(2):
        done = invoke(*command, "--json")
        assert done.returncode == 0, done.stderr
    with Drive(board.address) as drive:
        assert drive.read(0, len(data)) == data
        assert not any(drive.read(last - 15, 64 << 10)), "what it wrote is free again"
        drive.write(last, b"mine")
    done = invoke(*command)
    assert done.returncode == 2
    assert f"the drive's last blocks, {last - 15}..{last}, hold data" in " ".join(done.stderr.replace("│", " ").split())
    with Drive(board.address) as drive:
        assert drive.read(last, 4) == b"mine"
        drive.trim([Extent(last, 1)])
        assert drive.read(last, 4) == bytes(4)


def test_a_benchmark_overwrites_what_it_is_told_to(board: Board) -> None:
    with Drive(board.address) as drive:
        last = drive.info.blocks - 1
        drive.write(last, b"mine")
    assert invoke("bench", "write", "--bytes", "16K", "--yes").returncode == 0
    assert invoke("bench", "write", "--bytes", "16K", "--lba", 0).returncode == 0
    with Drive(board.address) as drive:
        assert drive.read(last, 4) != b"mine"
        assert drive.read(0, 4096) == benchmarks.bench_data("write", 16 << 10)[:4096]
    assert "are more than the drive has" in invoke("bench", "write", "--bytes", "100G").stderr


def test_lz4_files_go_to_other_programs_and_come_from_them(board: Board, tmp_path: Path) -> None:
    data = b"".join(b"%d the quick brown fox %x\n" % (i % 50, i * i % 1000) for i in range(1500))
    run("lz4_compress", *store(board, 400, data), "--out", tmp_path / "x.lz4")
    run("lz4_compress", *store(board, 400, data), "--out", tmp_path / "raw")
    assert lz4_frames.decompress((tmp_path / "x.lz4").read_bytes(), len(data)) == data
    assert (tmp_path / "x.lz4").read_bytes()[15:-4] == (tmp_path / "raw").read_bytes()
    theirs = lz4_frames.compress(data, alone=1, checksum=1, block_size=7)
    run("lz4_decompress", *store(board, 450, theirs), "--out", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == data
    (tmp_path / "spoilt").write_bytes(theirs[:-1] + bytes([theirs[-1] ^ 1]))
    refused("checksum was made of", "lz4_decompress", "--stream", tmp_path / "spoilt")
    (tmp_path / "sums").write_bytes(lz4_frames.compress(data, block_checksums=1))
    refused("the frame has checksums of blocks", "lz4_decompress", "--stream", tmp_path / "sums")


def test_programs_for_other_cores_are_refused_by_name(board: Board, tmp_path: Path) -> None:
    where = ("--lba", 0, "--bytes", "8K")
    refused("the ELF file is for x86-64, the drive's cores are 32-bit RISC-V", "/bin/ls", *where)
    elf = bytearray((ROOT / "build/offload/sb/stat.elf").read_bytes())
    elf[4] = 2
    (tmp_path / "rv64.elf").write_bytes(elf)
    refused("the ELF file is for 64-bit RISC-V", tmp_path / "rv64.elf", *where)
    for variant, configs in (("mem", "Baseline, Prefetch"), ("sp", "AssasinSp"), ("sbx", "AssasinSbX")):
        mine = "AssasinSb, AssasinSbCache, ChannelLocal"
        built_for = f"built for '{variant}' cores ({configs}), this drive has 'sb' cores ({mine})"
        refused(built_for, ROOT / f"build/offload/{variant}/scan.elf", *where)
    refused("take build/offload/sb/NAME.elf, which make -C firmware/offload", ROOT / "build/offload/mem/scan.elf", *where)
    # The firmware refuses it as well: other hosts may not look.
    with Drive(board.address) as drive, pytest.raises(DriveError, match="cores of another kind"):
        data = bytearray((ROOT / "build/offload/mem/stat.elf").read_bytes().ljust(8192, b"\0"))
        drive.execute(0, Command.of(contract.SCOMP_OPCODE_ADMIN_FUNC_LOAD, dw11=len(data), **drive.session().named()), data)


def test_a_kernel_does_not_replace_a_board_of_the_users(board: Board) -> None:
    before = board.pid()
    words = f"a board that `assasin hls` did not start runs under the name '{NAME}'"
    with pytest.raises(KernelError, match=words), board_with([], NAME, CONFIG, "test", lambda _: None):
        pass
    assert board.pid() == before


def test_the_example_in_c(board: Board, tmp_path: Path) -> None:
    host = ROOT / "host-driver"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{host}/include"]
    files = [host / "examples" / "stat.c", ROOT / "build/host/libassasin.a"]
    subprocess.run(["cc", *flags, *files, "-lpthread", "-o", tmp_path / "stat"], check=True)
    data = np.arange(-1000, 9000, dtype="<i4").tobytes()
    store(board, 500, data)
    words = [tmp_path / "stat", board.address, ROOT / "build/offload/stat.elf", "500", str(len(data))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == f"count 10000, min -1000, max 8999, sum {offloads.expected_stat(data).sum}\n"
