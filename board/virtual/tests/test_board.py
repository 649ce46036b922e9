# SPDX-License-Identifier: BSD-3-Clause
"""The assasin-board process: options, life and death, idling, console, and that stopping the clock changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

ROOT = Path(__file__).resolve().parents[3]
BOARD = ROOT / "build" / "board" / "AssasinSb2x2" / "assasin-board"
FIRMWARE = ROOT / "build" / "firmware" / "assasin-fw.bin"
PROFILE = ROOT / "board" / "virtual" / "profiles" / "test.toml"
CROSS = os.environ.get("CROSS", "riscv64-unknown-elf-")

pytestmark = pytest.mark.skipif(not BOARD.exists(), reason="needs scripts/build AssasinSb2x2: build/board is empty")

SYS = "li s0, 0x20000000\n"
FLASH = "li s1, 0x20100000\n"


def assemble(folder: Path, body: str) -> Path:
    """A flat firmware of the instructions in `body`."""
    source, elf, binary = folder / "fw.S", folder / "fw.elf", folder / "fw.bin"
    source.write_text(f".globl _start\n_start:\n{body}\n")
    options = ["-march=rv32im", "-mabi=ilp32", "-misa-spec=2.2", "-nostdlib", "-Wl,-Ttext=0"]
    subprocess.run([f"{CROSS}gcc", *options, source, "-o", elf], check=True)
    subprocess.run([f"{CROSS}objcopy", "-O", "binary", elf, binary], check=True)
    return binary


def command(folder: Path, *options: str | Path, firmware: Path = FIRMWARE, profile: Path = PROFILE) -> list[str]:
    """Command line of a board with its image in `folder`."""
    base = [BOARD, "--image", folder / "image", "--profile", profile, "--firmware", firmware]
    return [str(x) for x in [*base, *options]]


def run(folder: Path, *options: str | Path, **files: Path) -> subprocess.CompletedProcess[str]:
    """Runs a board that ends by itself."""
    return subprocess.run(command(folder, *options, **files), capture_output=True, text=True, timeout=300)


class Running:
    """A board that serves. What a failed test leaves running is ended by the `folder` fixture."""

    started: ClassVar[list[subprocess.Popen[str]]] = []

    def __init__(self, folder: Path, *options: str | Path, **files: Path) -> None:
        self.door = folder / "door"
        self.log = folder / "log"
        # a file, not a pipe: nobody reads while the test runs, and a board that cannot print waits
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command(folder, "--socket", self.door, *options, **files), stderr=log, text=True)
        self.started.append(self.process)
        self.wait_for(lambda status: status.get("state") == "serving")

    def status(self) -> dict[str, Any]:
        path = Path(f"{self.door}.status")
        return json.loads(path.read_text()) if path.exists() else {}

    def wait_for(self, condition: Any, seconds: float = 30) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while not condition(status := self.status()):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, status
            time.sleep(0.02)
        return status

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=10)


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose path is short enough for sockets."""
    yield tmp_path_factory.mktemp("b")
    while Running.started:
        process = Running.started.pop()
        process.kill()
        process.wait()


def test_stopping_the_clock_changes_nothing(folder: Path) -> None:
    """The console is read out at other moments, which delays the firmware by some cycles. So the images are compared
    before the first record that holds the drive's time, and bytes of DRAM when the drive is idle: in the middle of its
    work one of the two is a load ahead."""
    seen = []
    for name, option in (("asleep", ()), ("awake", ("--never-sleep",))):
        found = []
        for until in (640_000, 1_500_000):
            place = folder / f"{name}-{until}"
            place.mkdir()
            files = ("--console", place / "console", "--stats", place / "stats")
            result = run(place, *files, "--format", "--race", "--quit-after", str(until), *option)
            assert result.returncode == 0, result.stderr
            stats = json.loads((place / "stats").read_text())
            assert (stats["asleep_cycles"] > 100_000) == (name == "asleep")
            found.append(stats["flash_program_bytes"])
            if until == 1_500_000:
                found += [stats[key] for key in ("dram_read_bytes", "dram_write_bytes")]
            else:
                assert stats["flash_program_bytes"] > 0
                found.append(hashlib.sha256((place / "image" / "nand.img").read_bytes()).hexdigest())
        boot = re.search(r"boot: (\d+) cycles", (place / "console").read_text())
        assert boot, (place / "console").read_text()
        seen.append((boot.group(1), *found))
    assert seen[0] == seen[1]


def test_sigterm_ends_it_cleanly_and_the_image_boots_again(folder: Path) -> None:
    for options in (("--format",), ()):
        board = Running(folder, *options)
        assert board.stop() == 0
        assert board.status()["state"] == "stopped"
        assert not board.door.exists()


def test_killed_it_leaves_a_socket_that_the_next_replaces(folder: Path) -> None:
    board = Running(folder, "--format")
    board.process.kill()
    board.process.wait()
    assert board.door.exists()
    Path(f"{board.door}.status").unlink()
    assert Running(folder).stop() == 0


def test_media_keys_are_checked(folder: Path) -> None:
    for media, why in (
        ("rbre=1", "--media rbre=1: there is no 'rbre': choose from rber, wear-rber, "),
        ("rber=1", "rber=1: choose a number, 0 to 0.45"),
        ("dead-die=9.0.0", "dead-die=9.0.0: the board has 2 channels of 4 ways, the part 1 LUNs"),
        ("absent=2.0", "fitted or absent names a chip enable that the board does not have: there are 2 channels of 4"),
        ("fitted=0+4", "fitted or absent names a chip enable that the board does not have: there are 2 channels of 4"),
    ):
        for check in ((), ("--check",)):
            result = run(folder, "--media", media, *check)
            assert result.returncode == 1
            assert why in result.stderr
    result = run(folder, "--nand-age", "-1")
    assert result.returncode == 2
    assert "--nand-age -1: choose a number of hours, 0 to 1000000" in result.stderr


def test_media_reach_the_packages(folder: Path) -> None:
    errors = {}
    for rate in ("0", "1e-4"):
        stats = folder / "stats"
        media = ("--media", f"rber={rate}", "--media", "erased-share=1,seed=3")
        result = run(folder, "--format", "--race", "--stats", stats, *media, "--quit-after", "450000")
        assert result.returncode == 0, result.stderr
        errors[rate] = json.loads(stats.read_text())["nand_bit_errors"]
    assert errors["0"] == 0
    assert errors["1e-4"] > 0


def test_an_end_in_an_operation_is_a_loss_of_power(folder: Path) -> None:
    """The next board gives the operation its end, by the seed; a run that met nothing says nothing."""
    media = ("--media", "tearing=true,seed=5")
    lost = []
    for cycle in range(180_000, 600_000, 20_000):
        for _ in range(2):
            assert run(folder, "--format", "--race", *media, "--quit-after", str(cycle)).returncode == 0
            result = run(folder, *media, "--quit-after", "1000")
            assert result.returncode == 0, result.stderr
            lost.append(result.stderr)
            assert run(folder, *media, "--quit-after", "1000").stderr == ""
        if lost[-1]:
            break
    assert re.search(r"power was lost \(seed 5\): channel \d way \d LUN 0 block \d+( page \d+: program|: erase) ", lost[-1])
    assert lost[-1] == lost[-2], "the seed repeats it"


def test_one_process_an_image_and_a_socket(folder: Path) -> None:
    board = Running(folder, "--format")
    second = run(folder)
    assert second.returncode == 1
    assert "another process holds it" in second.stderr
    formatting = run(folder, "--format")
    assert formatting.returncode == 1
    assert "another process holds it" in formatting.stderr
    other = folder / "other"
    other.mkdir()
    third = run(other, "--socket", board.door)
    assert third.returncode == 1
    assert "another board listens there" in third.stderr
    assert board.stop() == 0


def test_idle_takes_no_processor_time(folder: Path) -> None:
    board = Running(folder, "--format")
    time.sleep(1.5)  # the boot itself

    def ticks() -> int:
        fields = Path(f"/proc/{board.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    deadline = time.monotonic() + 30
    while True:
        before = ticks()
        time.sleep(1)
        used = ticks() - before
        if used <= 0.05 * os.sysconf("SC_CLK_TCK"):
            break
        assert time.monotonic() < deadline, f"{used} ticks in a second"
    assert board.stop() == 0


def test_visitors_one_at_a_time(folder: Path) -> None:
    board = Running(folder, "--format")
    first = socket.socket(socket.AF_UNIX)
    first.connect(str(board.door))
    board.wait_for(lambda status: board_accepts(first))
    second = socket.socket(socket.AF_UNIX)
    second.settimeout(10)
    second.connect(str(board.door))
    assert second.recv(1) == b""
    first.close()
    third = socket.socket(socket.AF_UNIX)
    third.connect(str(board.door))
    assert board_accepts(third)
    third.close()
    assert board.stop() == 0


def board_accepts(visitor: socket.socket) -> bool:
    """Reads the vendor id over the door."""
    visitor.settimeout(20)
    visitor.sendall((3).to_bytes(4, "little") + bytes(4) + (12).to_bytes(8, "little"))
    visitor.sendall((0).to_bytes(4, "little") + bytes(4) + (2).to_bytes(4, "little"))
    answer = visitor.recv(24, socket.MSG_WAITALL)
    return int.from_bytes(answer[16:24], "little") == 0x10EE


def test_console_goes_both_ways(folder: Path) -> None:
    echo = assemble(
        folder,
        SYS
        + """
        li a0, 'R'
        sw a0, 0x30(s0)
        li a0, 0x10
        sw a0, 0x24(s0)
        1: wfi
        lw a0, 0x34(s0)
        bgez a0, 1b
        addi a0, a0, 1
        sw a0, 0x30(s0)
        j 1b
        """,
    )
    board = Running(folder, "--console", folder / "log", firmware=echo)
    console = socket.socket(socket.AF_UNIX)
    console.settimeout(10)
    console.connect(f"{board.door}.console")
    console.sendall(b"HAL")
    got = b""
    while len(got) < 4:
        got += console.recv(16)
    assert got == b"RIBM"
    assert board.stop() == 0
    assert (folder / "log").read_text().count("] ") == 1
    assert "RIBM" in (folder / "log").read_text()


def test_firmware_trap_is_in_the_status(folder: Path) -> None:
    bad = assemble(folder, "nop\nnop\n.word 0\n")
    board = Running(folder, firmware=bad)
    status = board.wait_for(lambda s: s.get("firmware_trapped"))
    assert (status["firmware_cause"], status["firmware_pc"]) == (2, 8)
    assert board.stop() == 0


def test_nand_violation_stops_the_run(folder: Path) -> None:
    id_before_reset = assemble(
        folder,
        FLASH
        + """
        # The steps of READ_ID (FLASH_DEFAULT_STEPS), and where they begin.
        li a0, 0x9001
        sw a0, 0x104(s1)
        li a0, 0x13
        sw a0, 0x108(s1)
        li a0, 0x10007
        sw a0, 0x10c(s1)
        li a0, 1
        sw a0, 0x204(s1)
        li a0, 1 # READ_ID
        sw a0, 0x00(s1)
        sw zero, 0x04(s1)
        li a0, 8
        sw a0, 0x0c(s1)
        1: j 1b
        """,
    )
    result = run(folder, "--stats", folder / "stats", "--quit-after", "100000", firmware=id_before_reset)
    assert result.returncode == 3
    assert "NAND violation: channel 0 way 0" in result.stderr
    assert "before the first RESET" in result.stderr
    stats = json.loads((folder / "stats").read_text())
    assert stats["state"] == "violation"
    assert stats["violations"] == 1
    assert "before the first RESET" in stats["message"]


def test_image_of_another_geometry(folder: Path) -> None:
    assert run(folder, "--format", "--quit-after", "1000").returncode == 0
    result = run(folder, profile=PROFILE.with_name("paper.toml"))
    assert result.returncode == 1
    assert "was made for" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--quit-after", "soon"], "--quit-after soon: not a number of cycles"),
        (["--trace", "waves.fst"], "--trace"),
        (["surplus"], "unexpected argument 'surplus'"),
        (["--socket", "/tmp/" + "x" * 200], "choose a shorter one"),
        (["--profile", "/nowhere.toml"], "/nowhere.toml"),
        (["--firmware", "/nowhere.bin"], "cannot open firmware '/nowhere.bin'"),
        (["--firmware", str(BOARD)], "fit the firmware memory"),
        (["--firmware", "/dev/null"], "0 bytes"),
    ],
)
def test_bad_options(folder: Path, options: list[str], message: str) -> None:
    result = run(folder, "--quit-after", "1000", *options)
    assert result.returncode in (1, 2)
    assert message in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[clock]\n", "[clock] ns_per_cycle is missing"),
        ("[clock]\nns_per_cycle = 0\n", "ns_per_cycle = 0: must lie in"),
        ("[clock\n", "profile"),
        ('[clock]\nns_per_cycle = 1\n[nand]\npart = "none"\n', "bytes is missing"),
    ],
)
def test_bad_profiles(folder: Path, text: str, message: str) -> None:
    profile = folder / "bad.toml"
    profile.write_text(text)
    result = run(folder, profile=profile)
    assert result.returncode == 1
    assert message in result.stderr
