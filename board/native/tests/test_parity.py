# SPDX-License-Identifier: BSD-3-Clause
"""
The parity gate: the native and the virtual board do the same.

One list of jobs goes to both, a command at a time, with restarts between: writes, reads, trims, zeroes, flushes, functions, and
commands that are refused. Everything that the host gets back has to be the same, then the map, read from what lies on the medium.
Each board then takes over the other's medium.
"""

from __future__ import annotations

import hashlib
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from assasin import offloads
from assasin.bench import FILTER_ARGS, bench_data
from assasin.binding import Command
from assasin.board import Board, NativeBoard, profile_file
from assasin.drive import Drive, DriveError, Extent

ROOT = Path(__file__).resolve().parents[3]
CONFIG, PROFILE = "AssasinSb2x2", "test"
CHANNELS, WAYS = 2, 4
BLOCK = 4096
SPAN = 384
"""Blocks that the jobs use."""

pytestmark = pytest.mark.skipif(
    not (ROOT / "build" / "board" / CONFIG / "assasin-board").exists(), reason=f"needs scripts/build {CONFIG}: build/board is empty"
)

FLUSH, WRITE, READ, COMPARE, WRITE_ZEROES, MANAGEMENT, VERIFY = 0x00, 0x01, 0x02, 0x05, 0x08, 0x09, 0x0C
ADMIN, IO = 0, 1


@dataclass(frozen=True)
class Job:
    """One thing to do: its name, and what it is done with."""

    what: str
    lba: int = 0
    count: int = 0
    seed: int = 0


def jobs(seed: int, length: int) -> Iterator[Job]:
    """A list of jobs; the same for the same seed."""
    r = random.Random(seed)
    names = (
        ["write"] * 8 + ["read"] * 5 + ["trim", "zeroes", "flush", "stat", "filter", "compare", "verify", "beyond", "bad", "data"]
    )
    yield Job("write", 0, 64, seed)
    for n in range(length):
        what = r.choice(names)
        count = r.choice((1, 1, 2, 3, 8, 24, 32))
        yield Job(what, r.randrange(SPAN - count), count, seed + n)
    yield Job("read", 0, SPAN)


def do(drive: Drive, job: Job) -> Any:
    """Does a job and returns what the host can tell of it."""
    at = {"dw10": job.lba, "dw12": job.count - 1}
    match job.what:
        case "write":
            return drive.write(job.lba, random.Random(job.seed).randbytes(job.count * BLOCK))
        case "data":
            return drive.write(job.lba, bench_data("filter", job.count * BLOCK))
        case "read":
            return hashlib.sha256(drive.read(job.lba, job.count * BLOCK)).hexdigest()
        case "trim":
            ranges = bytearray(b"".join(n.to_bytes(s, "little") for n, s in ((0, 4), (job.count, 4), (job.lba, 8))))
            return outcome(drive, IO, Command.of(MANAGEMENT, 1, dw10=0, dw11=4), ranges)
        case "zeroes":
            return outcome(drive, IO, Command.of(WRITE_ZEROES, 1, **at))
        case "verify":
            return outcome(drive, IO, Command.of(VERIFY, 1, **at))
        case "compare":
            data = bytearray(random.Random(job.seed).randbytes(BLOCK))
            return outcome(drive, IO, Command.of(COMPARE, 1, dw10=job.lba), data)
        case "beyond":
            return outcome(drive, IO, Command.of(READ, 1, dw10=drive.info.blocks - 1, dw12=1), bytearray(2 * BLOCK))
        case "bad":
            return outcome(drive, ADMIN, Command.of(0x7F, dw10=job.seed))
        case "flush":
            return drive.flush()
        case "stat" | "filter" as name:
            args = FILTER_ARGS if name == "filter" else b""
            pieces = offloads.run(drive, name, [Extent(job.lba, job.count)], job.count * BLOCK, args=args)
            return [(p.text, p.exit_code, [bytes(o) for o in p.outputs]) for p in pieces]
    raise AssertionError(job)


def outcome(drive: Drive, queue: int, command: Command, data: bytearray | None = None) -> tuple[Any, ...]:
    """A command's status and result, and the data that came back."""
    try:
        done = drive.execute(queue, command, data)
    except DriveError as e:
        return "refused", e.code, str(e)
    return done.status, done.dw0, done.dw1, bytes(data or b"")


def start(board: Board, image: Path) -> None:
    board.start(CONFIG, PROFILE, image, serial="0123456789AB")


def results(board: Board, image: Path, lists: list[list[Job]]) -> list[Any]:
    """Does the lists of jobs, each after a start of the board: first shut down as a host does, then by loss of power."""
    out: list[Any] = []
    for n, some in enumerate(lists):
        start(board, image)
        with Drive(board.address) as drive:
            out += [(job, do(drive, job)) for job in some]
            out.append(drive.info)
            out.append(health(drive))
        if n % 2:
            board.kill()
        else:
            board.stop()
    return out


def health(drive: Drive) -> dict[int, int]:
    """The health log without what depends on time: the bytes that are not 0, by offset."""
    page = bytearray(drive.log_page(2, 512))
    page[96:112] = bytes(16)  # controller busy time
    page[128:144] = bytes(16)  # power on hours
    page[176:192] = bytes(16)  # error log entries: the library may ask for results of a function that has just ended
    return {i: byte for i, byte in enumerate(page) if byte}


def sectors(image: Path, code_bits: int, layout: int, seed: int) -> list[str]:
    """Every sector on the medium."""
    arguments = [image / "nand.img", profile_file(PROFILE), CHANNELS, WAYS, code_bits, layout, seed]
    command = [str(x) for x in [ROOT / "build" / "native" / "sectors", *arguments]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def logical_map(lines: list[str]) -> dict[int, tuple[str, str]]:
    """Of every block the place and the contents that were written last, by the sectors' sequence numbers; trims do not show."""
    newest: dict[int, tuple[int, str, str]] = {}
    for line in lines:
        *place, status, oob0, oob1, contents = line.split()
        lba, sequence = int(oob0, 16), int(oob1, 16)
        if status == "0" and lba < 0x4000_0000 and sequence >= newest.get(lba, (0, "", ""))[0]:
            newest[lba] = sequence, " ".join(place), contents
    return {lba: (place, contents) for lba, (_, place, contents) in newest.items()}


def differences(one: list[Any], other: list[Any]) -> list[str]:
    return [f"native {a!r:.300}\nvirtual {b!r:.300}" for a, b in zip(one, other, strict=True) if a != b]


@pytest.mark.parametrize("seed", [1])
def test_the_same_jobs_end_the_same(seed: int, board: Callable[[type[Board], str], Board], tmp_path: Path) -> None:
    lists = [list(jobs(seed + 1000 * n, 24)) for n in range(3)]
    boards = {"native": board(NativeBoard, "native-parity"), "virtual": board(Board, "virtual-parity")}
    images = {kind: tmp_path / kind for kind in boards}
    found = {kind: results(b, images[kind], lists) for kind, b in boards.items()}
    assert differences(found["native"], found["virtual"]) == []

    with_code = boards["native"]
    start(with_code, images["native"])
    with Drive(with_code.address) as drive:
        medium = drive.media()
    with_code.stop()
    seeds = seed_of_firmware()
    media = {kind: sectors(image, medium.code_t, medium.layout, seeds) for kind, image in images.items()}
    maps = {kind: logical_map(lines) for kind, lines in media.items()}
    assert len(maps["native"]) > SPAN // 2, "the sectors on the medium cannot be read: wrong code, layout or seed"
    assert maps["native"] == maps["virtual"]

    # Each board takes over the other's medium.
    last = Job("read", 0, SPAN)
    crossed = {}
    for kind, b in boards.items():
        other = images["virtual" if kind == "native" else "native"]
        start(b, other)
        with Drive(b.address) as drive:
            crossed[kind] = do(drive, last), do(drive, Job("stat", 0, 32))
        b.stop()
    assert crossed["native"] == crossed["virtual"]
    assert crossed["native"][0] == found["native"][-3][1]


def seed_of_firmware() -> int:
    """What the firmware's scrambler seed is."""
    text = (ROOT / "firmware" / "media" / "nand.h").read_text()
    line = next(line for line in text.splitlines() if line.startswith("#define NAND_SEED"))
    return int(line.split()[2].rstrip("u"), 0)
