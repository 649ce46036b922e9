# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C and SIGTERM at any moment of any command: it ends soon, with one line, and the board serves the next."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from assasin import offloads
from assasin.board import Board
from assasin.drive import Drive, Extent
from assasin.tree import BUILD, ROOT, contract
from assasin.vm import QEMU

CONFIG, PROFILE = "AssasinSb2x2", "test"
SECONDS = 5.0
"""Of a second that a command has, and what a loaded machine takes away from it."""

SEED = int(os.environ.get("ASSASIN_SEED", random.SystemRandom().randrange(1 << 32)))
BIG = 8 << 20
ASSASIN = (sys.executable, "-m", "assasin")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "host-driver" / "python"), "COLUMNS": "160"}
LOOP = 'int compute(void) { for (;;) __asm__ volatile(""); }'

pytestmark = pytest.mark.system(CONFIG)


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    b = Board(f"pytest-int-{os.getpid()}")
    b.start(CONFIG, PROFILE, format=True)
    yield b
    b.stop()
    b.erase()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A big file, and a function that does not end."""
    folder = tmp_path_factory.mktemp("interrupts")
    (folder / "big").write_bytes(random.Random(SEED).randbytes(BIG))
    (folder / "loop.c").write_text(f"#include <assasin.h>\n{LOOP}\n")
    make = ["make", "-s", "-C", ROOT / "firmware" / "offload", "elf", f"SRC={folder}/loop.c", f"OUT={folder}", "ARCHS=sb"]
    subprocess.run(make, check=True, env={**os.environ, "MAKEFLAGS": ""})
    return folder


class Running:
    """A command of the user's that runs."""

    def __init__(self, command: Sequence[object], program: Sequence[str] = ASSASIN) -> None:
        self.words = [*program, *map(str, command)]
        self.process = subprocess.Popen(
            self.words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
            start_new_session=True,
        )

    def interrupt(self, signum: int = signal.SIGINT) -> tuple[str, str]:
        """Sends the signal, and checks how the command ends. Returns what it printed."""
        start = time.monotonic()
        self.process.send_signal(signum)
        try:
            out, err = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        seconds = time.monotonic() - start
        print(f"seed {SEED}: {' '.join(self.words[-8:])}: ended after {seconds:.2f} s: {err.strip()[-200:]}")
        assert "Traceback" not in err, err
        assert self.process.returncode == 128 + signum, err
        assert err.strip().splitlines()[-1].startswith("assasin: "), err
        assert "interrupted" in err
        assert seconds < SECONDS
        return out, err

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def connected(board: Board, command: Running) -> None:
    """Waits until the command has the drive."""
    deadline = time.monotonic() + 60
    while board.status().get("visitor_pid") != command.process.pid:
        assert command.process.poll() is None, command.process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def serves(board: Board) -> None:
    """The next command has the drive, all of its cores are free, and it does what it should."""
    data = random.Random(1).randbytes(1 << 16)
    with Drive(board.address) as d:
        lba = d.info.blocks - 64
        d.write(lba, data)
        pieces = offloads.run(d, "scan", [Extent(lba, 16)], len(data))
        assert len({p.report.core for p in pieces}) == d.info.cores
        assert offloads.scan_result(pieces) == offloads.expected_scan(data)


COMMANDS = {
    "run": ("run", "{files}/sb/loop.elf", "--lba", 0, "--bytes", "64K"),
    "run-fed": ("run", "{files}/sb/loop.elf", "--stream", "{files}/big"),
    "write": ("write", 0, "{files}/big"),
    "read": ("read", 0, "7M", "{files}/back"),
    "bench-scan": ("bench", "scan", "--bytes", "2M", "--lba", 0),
    "bench-write": ("bench", "write", "--bytes", "7M", "--lba", 0),
    "bench-random": ("bench", "random", "--reads", 100000, "--lba", 0),
}


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_uses_the_drive(board: Board, files: Path, name: str, signum: int) -> None:
    elf = next(files.rglob("loop.elf"))
    words = [str(w).format(files=files).replace(f"{files}/sb/loop.elf", str(elf)) for w in COMMANDS[name]]
    with Drive(board.address) as d:
        d.write(0, bytes(d.info.block_bytes))
    command = Running([*words, "--name", board.name])
    connected(board, command)
    time.sleep(random.Random(f"{SEED}{name}{signum}").uniform(0, 3))
    out, err = command.interrupt(signum)
    assert not out
    assert not (files / "back").exists()
    assert not list(files.glob(".back*"))
    if name == "write" and "blocks" in err:
        assert "may be" in err or "are written" in err
    elif name == "write":
        # It came before the first block.
        assert err == "assasin: interrupted\n"
        with Drive(board.address) as d:
            assert not any(d.read(0, d.info.block_bytes))
    serves(board)


def test_json_says_that_it_was_interrupted(board: Board, files: Path) -> None:
    command = Running(["write", 0, files / "big", "--name", board.name, "--json"])
    connected(board, command)
    out, _ = command.interrupt()
    assert json.loads(out)["interrupted"] is True
    serves(board)


@pytest.mark.parametrize("moment", range(6))
def test_start_up(board: Board, moment: int) -> None:
    """While Python starts and imports: not even then is there a traceback."""
    shell = ("bash", f"{ROOT}/scripts/bin/assasin")
    command = Running(["run", "scan", "--lba", 0, "--bytes", "4M", "--name", board.name], shell)
    # Before that the signal ends the shell, as it does.
    while b"python" not in Path(f"/proc/{command.process.pid}/cmdline").read_bytes().split(b"\0")[0]:
        time.sleep(0.002)
    time.sleep(random.Random(f"{SEED}{moment}").uniform(0, 0.15 * moment))
    command.interrupt()
    serves(board)


def test_the_second_one_ends_it_at_once(board: Board, files: Path) -> None:
    """Also when the first one cannot be answered: the board is stopped in the middle of everything."""
    command = Running(["write", 0, files / "big", "--name", board.name])
    connected(board, command)
    pid = board.pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        start = time.monotonic()
        command.process.send_signal(signal.SIGINT)
        time.sleep(0.4)
        command.interrupt()
        assert time.monotonic() - start < SECONDS
    finally:
        os.kill(pid, signal.SIGCONT)
    serves(board)


def test_starting_a_board() -> None:
    b = Board(f"pytest-start-{os.getpid()}")
    try:
        command = Running(["flash", "virtual", "--name", b.name, "--config", CONFIG, "--profile", PROFILE, "--format"])
        while b.pid() is None:
            assert command.process.poll() is None, command.process.communicate()
            time.sleep(0.01)
        command.interrupt()
        time.sleep(0.2)
        assert b.pid() is None, "a board that is not up is not left behind"
    finally:
        b.stop()
        b.erase()


def test_the_demo(tmp_path: Path) -> None:
    command = Running(["demo", "--config", CONFIG, "--profile", PROFILE])
    b = Board("demo")
    deadline = time.monotonic() + 120
    while b.status().get("visitor_pid") != command.process.pid:
        assert command.process.poll() is None, command.process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    command.interrupt()
    assert b.pid() is None, "the demo's board ends with it"


@pytest.mark.parametrize("words", [("vm",), ("vm", "test", "--quick")], ids=["vm", "vm-test"])
def test_a_guest(words: tuple[str, ...]) -> None:
    """QEMU and the board that was started for it end with the command."""
    assert shutil.which(QEMU), f"{QEMU} is not there: scripts/setup installs it"
    b = Board(f"pytest-vm-{os.getpid()}")
    try:
        command = Running([*words, "--name", b.name, "--config", CONFIG, "--profile", PROFILE])
        deadline = time.monotonic() + 120
        while not b.status().get("visitor_pid"):
            assert command.process.poll() is None, command.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        qemu = b.status()["visitor_pid"]
        time.sleep(random.Random(f"{SEED}{words}").uniform(0, 3))
        command.interrupt()
        assert b.pid() is None
        assert not Path(f"/proc/{qemu}").exists() or b"qemu" not in Path(f"/proc/{qemu}/cmdline").read_bytes()
    finally:
        b.stop()
        b.erase()


def test_power(board: Board, files: Path, tmp_path: Path) -> None:
    """The command is interrupted, and power reports what it measured until then."""
    inner = ("--", *ASSASIN, "write", "0", files / "big", "--name", board.name)
    command = Running(["power", "--name", board.name, "--out", tmp_path, *inner])
    deadline = time.monotonic() + 60
    while not board.status().get("visitor_pid"):
        assert command.process.poll() is None, command.process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1)
    start = time.monotonic()
    command.process.send_signal(signal.SIGINT)
    _out, err = command.process.communicate(timeout=60)
    print(f"power: {time.monotonic() - start:.2f} s")
    assert command.process.returncode == 128 + signal.SIGINT, err
    assert "Traceback" not in err
    assert json.loads((tmp_path / "result.json").read_text())["exit_code"] == 128 + signal.SIGINT
    serves(board)


def test_a_compiler_ends_with_the_command(tmp_path: Path) -> None:
    """`hls csim` of a kernel that takes long to compile: what it has started is not left behind."""
    folder = tmp_path / "slow"
    made = subprocess.run([*ASSASIN, "hls", "list", "--json"], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    name = json.loads(made.stdout)["kernels"][0]["name"]
    source = ROOT / "hls-kernels" / name
    subprocess.run(["cp", "-r", source, folder], check=True)
    metadata = folder / "kernel.toml"
    metadata.write_text(metadata.read_text().replace(f'name = "{name}"', 'name = "slow"'))
    bench = next(folder.glob("*tb*.cpp"), None) or next(p for p in folder.glob("*.cpp"))
    heavy = "template<unsigned N, unsigned M> struct Slow { static constexpr unsigned v = Slow<N-1, M>::v + Slow<N-1, M+1>::v; };\n"
    heavy += 'template<unsigned M> struct Slow<0, M> { static constexpr unsigned v = 1; };\nstatic_assert(Slow<1000, 0>::v, "");\n'
    bench.write_text(bench.read_text() + heavy)
    command = Running(["hls", "csim", folder])
    time.sleep(4)
    assert command.process.poll() is None, command.process.communicate()
    command.interrupt()
    left = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True, check=False).stdout
    assert not left, left


def test_the_default_watchdog() -> None:
    """10^8 cycles: the contract, its reference and the help agree; firmware/tests has that the drive does."""
    assert contract.SCOMP_WATCHDOG_KCYCLES == 100_000
    shown = subprocess.run([*ASSASIN, "run", "--help"], env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout
    assert "100000" in shown[shown.index("--limit-kcycles") :]
    assert "SCOMP_WATCHDOG_KCYCLES: 100,000 (10^8 cycles)" in (BUILD / "gen" / "docs" / "contract.md").read_text()
