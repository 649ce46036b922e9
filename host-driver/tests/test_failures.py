# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong around a command: one message that names the place and says what to do, nothing half-written, no traceback."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from assasin import failures
from assasin.board import Board, BoardError, read_status
from assasin.tree import ROOT

CONFIG, PROFILE = "AssasinSb2x2", "test"
PACKAGE = ROOT / "host-driver" / "python"
ASSASIN = (sys.executable, "-m", "assasin")

needs_board = pytest.mark.system(CONFIG)


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    b = Board(f"pytest-fail-{os.getpid()}")
    b.start(CONFIG, PROFILE, format=True)
    yield b
    b.stop()
    b.erase()


def run(*command: object, code: int = 1, program: Sequence[str] = ASSASIN, **options: object) -> str:
    """Runs the command, which must fail. Returns its message."""
    done = subprocess.run(
        [*program, *map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        check=False,
        **options,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    assert done.returncode == code, (done.returncode, done.stderr, done.stdout)
    return done.stderr


def mounted(script: str, *command: object) -> list[str]:
    """The command in a mount namespace of its own, after a script that mounts."""
    return [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        f'{script} && exec "$@"',
        "sh",
        *ASSASIN,
        *map(str, command),
    ]


def small_disk(folder: Path, size: str) -> str:
    folder.mkdir()
    return f"mount -t tmpfs -o size={size} tmpfs {folder}"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.ENOENT, "no such file"),
        (errno.EFBIG, "ulimit"),
        (errno.EXDEV, "cross-device"),
    ],
)
def test_errors_of_the_system_name_the_path(code: int, words: str) -> None:
    text = failures.describe(OSError(code, os.strerror(code), "/some/where"))
    assert text.startswith("/some/where: ")
    assert words in text.lower()


def test_a_fault_of_assasin_itself_leaves_its_traceback_in_a_file() -> None:
    code = "from assasin import failures\nwith failures.reported(False):\n    {}['nothing']\n"
    text = run("-c", code, program=[sys.executable])
    assert "KeyError: 'nothing'" in text
    log = Path(text.split("report it with ")[1].strip())
    log = log if log.is_absolute() else ROOT / log
    assert "Traceback" in log.read_text()
    log.unlink()


def test_without_the_python_packages() -> None:
    code = f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); from assasin.entry import main; main()"
    assert "run scripts/setup" in run("-I", "-S", "-c", code, program=[sys.executable])


def test_without_the_generated_contract(tmp_path: Path) -> None:
    package = tmp_path / "host-driver" / "python"
    shutil.copytree(PACKAGE / "assasin", package / "assasin", ignore=shutil.ignore_patterns("__pycache__"))
    code = f"import sys; sys.path.insert(0, {str(package)!r}); from assasin.entry import main; main()"
    assert "run scripts/contract" in run("-c", code, program=[sys.executable])


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "\x00\xff", '{"state": "serving"}'])
def test_a_damaged_status_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "status.json"
    path.write_bytes(text.encode("latin-1"))
    status = read_status(path)
    assert status.get("config") is None
    with pytest.raises(BoardError, match=r"status\.json does not say 'config'"):
        status["config"]


def test_a_missing_folder_is_refused_before_anything_else(tmp_path: Path) -> None:
    """Before the board is looked for: there is none of this name."""
    for command in (
        ["read", 0, 4096, tmp_path / "no" / "x"],
        ["run", "scan", "--lba", 0, "--bytes", 4096, "--out", tmp_path / "no" / "x"],
    ):
        text = run(*command, "--name", "there-is-none")
        assert f"there is no folder {tmp_path}/no" in text


def test_a_configuration_that_is_not_built() -> None:
    assert "scripts/build AssasinSb7x7" in run("vm", "--config", "AssasinSb7x7", "--name", "there-is-none")
    assert "scripts/build AssasinSb7x7" in run("flash", "virtual", "--config", "AssasinSb7x7", "--name", "there-is-none")


@needs_board
def test_a_read_only_checkout() -> None:
    script = f"mount --bind {ROOT} {ROOT} && mount -o remount,bind,ro {ROOT}"
    text = run(program=mounted(script, "flash", "virtual", "--config", CONFIG, "--name", "read-only"))
    assert "read-only" in text
    assert str(ROOT) in text


@needs_board
@pytest.mark.parametrize("words", [("info",), ("info", "--json")])
def test_nobody_reads_the_output(board: Board, words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        run(*words, "--name", board.name, stdout=writer, code=1 if len(words) == 1 else failures.PIPE_CLOSED)
    finally:
        os.close(writer)
    with Path("/dev/full").open("w") as full:
        assert "standard output: the disk is full" in run(*words, "--name", board.name, stdout=full)


@needs_board
def test_a_full_disk_keeps_the_file_that_is_there(board: Board, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    mount = small_disk(disk, "256k")
    check = f"ls -A {disk} > {tmp_path}/left; cat {disk}/x > {tmp_path}/old; exit $code"
    for command in (
        ["read", 0, "1M", disk / "x", "--name", board.name],
        ["run", "replicate", "--lba", 0, "--bytes", "512K", "--pieces", 1, "--out", disk / "x", "--name", board.name],
    ):
        script = f'{mount} && echo old > {disk}/x && "$@"; code=$?; {check}'
        words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", *ASSASIN, *map(str, command)]
        assert f"{disk}/x: the disk is full" in run(program=words)
        assert (tmp_path / "left").read_text() == "x\n"
        assert (tmp_path / "old").read_text() == "old\n"


@needs_board
def test_a_device_is_written_to_and_not_replaced(board: Board) -> None:
    assert "/dev/full: the disk is full" in run("read", 0, 4096, "/dev/full", "--name", board.name)
    assert Path("/dev/full").is_char_device()


@needs_board
def test_the_drive_is_busy(board: Board, tmp_path: Path) -> None:
    """`info` answers all the same, out of what the board itself says; others say who has the drive."""
    (tmp_path / "big").write_bytes(os.urandom(8 << 20))
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    words = [*ASSASIN, "write", "0", str(tmp_path / "big"), "--name", board.name]
    other = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while board.status().get("visitor_pid") != other.pid:
            assert time.monotonic() < deadline
            assert other.poll() is None
            time.sleep(0.05)
        shown = subprocess.run([*ASSASIN, "info", "--name", board.name, "--json"], env=environment, capture_output=True, check=True)
        busy = json.loads(shown.stdout)
        assert busy["busy"].startswith(f"process {other.pid} (assasin write 0")
        assert busy["board"]["visitor_pid"] == other.pid
        text = subprocess.run([*ASSASIN, "info", "--name", board.name], env=environment, capture_output=True, check=True, text=True)
        assert "busy: process" in text.stdout
        assert "kHz" in text.stdout
        assert f"process {other.pid}" in run("read", 0, 4096, tmp_path / "x", "--name", board.name)
    finally:
        other.terminate()
        other.communicate()


@needs_board
def test_progress_where_there_is_no_terminal(board: Board, tmp_path: Path) -> None:
    """A line every ten seconds: bytes, cycles and simulation speed; none with --json."""
    (tmp_path / "big").write_bytes(os.urandom(10 << 20))
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    words = [*ASSASIN, "write", "0", str(tmp_path / "big"), "--name", board.name]
    for more in ([], ["--json"]):
        process = subprocess.Popen([*words, *more], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if more:
            time.sleep(14)
        else:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("writing big, ")
            assert all(word in line for word in ("of 10.0 MiB", "flash", " cycles", " kHz", " s")), line
        process.terminate()
        _, err = process.communicate()
        if more:
            assert "writing big," not in err


@needs_board
def test_the_board_dies_in_the_middle(tmp_path: Path) -> None:
    b = Board(f"pytest-dies-{os.getpid()}")
    b.start(CONFIG, PROFILE, format=True)
    try:
        (tmp_path / "big").write_bytes(bytes(4 << 20))
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        words = [*ASSASIN, "write", "0", str(tmp_path / "big"), "--name", b.name]
        process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while b.status().get("visitor_pid") != process.pid:
            time.sleep(0.05)
        b.kill()
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "Traceback" not in err
        assert "process has ended. Its log: " in err
        assert "board.log" in err
    finally:
        b.stop()
        b.erase()


@needs_board
def test_a_full_disk_under_the_nand_image(tmp_path: Path) -> None:
    """The board ends and says why; who uses the drive is told, and where the log is."""
    b = Board(f"pytest-full-{os.getpid()}")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    disk = tmp_path / "disk"
    mount = small_disk(disk, "1m")
    words = mounted(mount, "flash", "virtual", "--config", CONFIG, "--profile", PROFILE, "--image", disk, "--name", b.name)
    try:
        started = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        if started.returncode == 0:
            (tmp_path / "big").write_bytes(os.urandom(8 << 20))
            text = run("write", 0, tmp_path / "big", "--name", b.name)
            assert "board.log" in text
        else:
            text = started.stderr
        assert "Traceback" not in text
        assert "No space left on device" in text
        assert "No space left on device" in b.paths.log.read_text()
    finally:
        b.stop()
        b.erase()
