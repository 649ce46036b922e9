# SPDX-License-Identifier: BSD-3-Clause
"""The native board as a process: host tools, media, loss of power at any moment, and what it refuses."""

from __future__ import annotations

import json
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from assasin import bench, offloads
from assasin.board import Board, BoardError, NativeBoard, profile_file
from assasin.drive import Drive, DriveError, Extent
from assasin.media import Media

ROOT = Path(__file__).resolve().parents[3]
BINARY = ROOT / "build" / "native" / "assasin-native"
FIRMWARE = ROOT / "build" / "native" / "assasin-fw.so"
CONFIG, PROFILE = "AssasinSb2x2", "test"
BLOCK = 4096

Make = Callable[[type[Board], str], Board]


def content(lba: int, version: int) -> bytes:
    """A block's contents."""
    return random.Random(lba << 16 | version).randbytes(BLOCK)


def test_writes_reads_functions_and_a_restart(board: Make) -> None:
    b = board(NativeBoard, "native-test")
    status = b.start(CONFIG, PROFILE)
    assert (status["board"], status["config"], status["profile"]) == ("native", CONFIG, PROFILE)
    data = bench.random_data(1 << 20)
    with Drive(b.address) as drive:
        serial = drive.info.serial
        drive.write(5, data)
        assert drive.read(5, len(data)) == data
        for name in ("scan", "stat"):
            pieces = offloads.run(drive, name, [Extent(5, 256)], len(data))
            assert bench._correct(name, data)(pieces)
            assert len(pieces) == 2, "both cores"
            assert all(p.report.cycles > len(data) // 32 for p in pieces), "a program takes its time"
    assert "ASSASIN firmware" in b.paths.console_log.read_text()
    b.stop()
    assert b.status()["state"] == "stopped"
    b.start(CONFIG, PROFILE)
    with Drive(b.address) as drive:
        assert drive.info.serial == serial
        assert drive.read(5, len(data)) == data


def test_chip_enables_without_a_package(board: Make) -> None:
    b = board(NativeBoard, "native-test")
    data = bench.random_data(1 << 20)
    b.start(CONFIG, PROFILE, media="fitted=0+2")
    with Drive(b.address) as drive:
        drive.write(3, data)
        assert drive.read(3, len(data)) == data
    log = b.paths.console_log
    assert "nand: channels 0-1: chip enables 0 2 used; 1 3 absent" in log.read_text()
    b.stop()
    b.start(CONFIG, PROFILE, media="fitted=0+2,absent=1.2")
    with Drive(b.address) as drive:
        assert drive.info.blocks == 0
        assert Media(drive.media()).fault == "medium of another geometry: start with the right one or format it"
    assert "ftl: channel 1: it is on chip enables 0 2; not in use: 2" in log.read_text()
    b.stop()
    b.start(CONFIG, PROFILE, media="fitted=0+2")
    with Drive(b.address) as drive:
        assert drive.read(3, len(data)) == data


def test_a_drive_without_a_module_says_so(board: Make) -> None:
    b = board(NativeBoard, "native-test")
    everything = "+".join(f"{channel}.{way}" for channel in range(2) for way in range(4))
    b.start(CONFIG, PROFILE, media=f"absent={everything}")
    with Drive(b.address) as drive:
        assert drive.info.blocks == 0
        assert drive.perf().channels == 2
        for _ in range(2):
            for command in (lambda: drive.write(0, bytes(BLOCK)), lambda: drive.read(0, BLOCK), lambda: drive.flush()):
                with pytest.raises(DriveError, match="namespace not ready"):
                    command()

    def said(*command: str) -> subprocess.CompletedProcess[str]:
        whole = [ROOT / "scripts" / "bin" / "assasin", *command, "--name", b.name]
        return subprocess.run(whole, capture_output=True, text=True, cwd=ROOT, env=os.environ | {"COLUMNS": "200"})

    info = said("info")
    assert info.returncode == 0, info.stderr
    assert "the drive has no namespace of blocks: no package answers" in info.stdout
    found = json.loads(said("info", "--json").stdout)
    assert (found["drive"]["blocks"], found["media"]["fault"]) == (0, "no package answers")
    nand = said("bringup", "nand")
    assert nand.returncode != 0
    assert "the drive knows no NAND part" in nand.stderr
    assert "Traceback" not in nand.stderr


def test_bit_errors_are_corrected_and_counted(board: Make) -> None:
    b = board(NativeBoard, "native-test")
    b.start(CONFIG, PROFILE, media="rber=2e-4,seed=3")
    data = bench.random_data(1 << 20)
    with Drive(b.address) as drive:
        drive.write(0, data)
        assert drive.read(0, len(data)) == data
        media = drive.media()
    read, corrected = sum(media.sectors_read), sum(media.bits_corrected)
    expected = read * media.sector_bytes * 8 * 2e-4
    assert read >= 256
    assert 0.9 * expected < corrected < 1.1 * expected
    assert b.status()["nand_bit_errors"] >= corrected


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_loss_of_power_while_it_writes(board: Make, seed: int) -> None:
    """What was flushed is there; a block that was being written is old or new."""
    r = random.Random(seed)
    b = board(NativeBoard, "native-test")
    blocks, media = 200, f"tearing=true,seed={seed}"
    b.start(CONFIG, PROFILE, media=media)
    drive = Drive(b.address)
    drive.write(0, b"".join(content(lba, 0) for lba in range(blocks)))
    drive.flush()
    written = threading.Event()

    def write() -> None:
        version = 0
        while True:
            version += 1
            for lba in r.sample(range(blocks), blocks):
                try:
                    drive.write(lba, content(lba, version % 4))
                except DriveError:
                    return
                written.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert written.wait(30)
    time.sleep(r.uniform(0.01, 0.3))
    b.kill()
    writer.join(60)
    assert not writer.is_alive()
    with pytest.raises(DriveError):
        drive.close()
    b.start(CONFIG, PROFILE, media=media)
    with Drive(b.address) as drive:
        found = drive.read(0, blocks * BLOCK)
        assert drive.log_page(2, 512)[144] == 1, "unsafe shutdowns"
    wrong = [lba for lba in range(blocks) if found[lba * BLOCK :][:BLOCK] not in [content(lba, v) for v in range(4)]]
    assert wrong == []


def run(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [BINARY, "--profile", profile_file(PROFILE), "--race", "--quit-after", "1000000", *options]
    return subprocess.run([str(x) for x in command], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--config", "AssasinSb2x2x2"), "'AssasinSb2x2x2': give <architecture><cores>x<channels>"),
        (("--config", "Baseline2x2"), "the native board has the architectures AssasinSb, AssasinSbX and ChannelLocal"),
        (("--config", "AssasinSb17x2"), "'AssasinSb17x2': choose 1 to 16 cores"),
        (("--config", "ChannelLocal2x4"), "as many cores as channels"),
        (("--config", CONFIG, "--media", "rbr=1"), "rbr"),
        (("--config", CONFIG, "--quit-after", "soon"), "--quit-after soon: not a number of cycles"),
        (("--config", CONFIG, "--firmware", "/dev/null"), "firmware '/dev/null'"),
        (("--config", CONFIG, "--firmware", "/no/such.so"), "firmware '/no/such.so'"),
    ],
)
def test_bad_options(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    firmware = () if "--firmware" in options else ("--firmware", FIRMWARE)
    done = run("--image", tmp_path / "image", *firmware, *options)
    assert done.returncode in (1, 2)
    assert said in done.stderr


def test_an_image_of_another_board(tmp_path: Path) -> None:
    arguments = ("--image", tmp_path, "--firmware", FIRMWARE)
    assert run(*arguments, "--config", CONFIG).returncode == 0
    done = run(*arguments, "--config", "AssasinSb1x1")
    assert done.returncode == 1
    assert "was made for 2 channels x 4 ways" in done.stderr


def test_a_bad_start_leaves_the_running_board_alone(board: Make) -> None:
    b = board(NativeBoard, "native-test")
    b.start(CONFIG, PROFILE)
    pid = b.pid()
    with pytest.raises(BoardError, match="the native board has the architectures"):
        b.start("AssasinSp2x2", PROFILE)
    assert b.pid() == pid
