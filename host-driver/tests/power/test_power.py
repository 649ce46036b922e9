# SPDX-License-Identifier: BSD-3-Clause
"""`assasin power` on the 2x2 board, and that its counters are the firmware's and disturb nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assasin import offloads
from assasin.bench import random_data
from assasin.board import Board, shortest
from assasin.drive import Drive, Extent
from assasin.job import Input
from assasin.kernel import Kernel
from assasin.power.activity import Recorder
from assasin.power.errors import PowerError
from assasin.power.phases import of_activity

ROOT = Path(__file__).resolve().parents[3]
CONFIG = "AssasinSb2x2"
BINARY = ROOT / "build" / "board" / CONFIG / "assasin-board"
NAME = "powertest"
BYTES = 128 << 10

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not BINARY.exists(), reason=f"needs scripts/build {CONFIG}: build/board is empty"),
]


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    subprocess.run(["make", "-s", "-C", ROOT / "firmware"], check=True)
    b = Board(NAME)
    b.start(CONFIG, "test", format=True)
    with Drive(b.address) as drive:
        drive.write(0, random_data(BYTES))
        drive.flush()
    yield b
    b.stop()


def assasin(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "host-driver" / "python")}
    command = [sys.executable, "-m", "assasin", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def run_scan(board: Board) -> list[Any]:
    with Drive(board.address) as drive:
        return offloads.run(drive, "scan", [Extent(0, BYTES // 4096)], BYTES)


def test_counters_are_what_the_firmware_reports(board: Board) -> None:
    with Drive(board.address) as drive:
        drive.read(0, 4096)  # reads that the mount has left in flight end before this one
        recorder = Recorder(board, every=5000)
        before = drive.perf()
        pieces = offloads.run(drive, "scan", [Extent(0, BYTES // 4096)], BYTES)
        pieces += offloads.run(drive, "stat", [Extent(0, BYTES // 4096)], BYTES)
        after = drive.perf()
        log = recorder.stop()
    reports = [p.report for p in pieces]
    for core in range(2):
        for name in ("cycles", "instret", "wait_in", "wait_out", "wait_mem", "l1_misses", "l2_misses", "prefetches"):
            expected = sum(getattr(r, name) for r in reports if r.core == core)
            assert log.cores(name)[:, core].sum() == expected, (core, name)
    assert all(r.cycles and r.instret for r in reports)
    # A core whose pages come faster than it works may have waited for none.
    assert any(r.wait_in for r in reports)
    for channel in range(2):
        assert log.channels("data_bytes")[:, channel].sum() == after.data_bytes[channel] - before.data_bytes[channel]
        busy = after.bus_busy[channel] - before.bus_busy[channel]
        assert busy > 0
        assert log.channels("bus_busy")[:, channel].sum() == pytest.approx(busy, rel=0.01)
    assert log.grown("array_reads").sum() == after.media_reads - before.media_reads
    assert log.grown("dram_read_bytes").sum() == pytest.approx(after.dram_read_bytes - before.dram_read_bytes, rel=0.05)
    assert log.edges[0] <= before.time * 1e-9
    assert log.edges[-1] >= after.time * 1e-9


def test_kernels_in_slots_are_counted_as_the_firmware_does(tmp_path: Path) -> None:
    config = "AssasinSbHls2x2"
    if not (ROOT / "build" / "board" / config / "assasin-board").exists():
        pytest.skip(f"needs scripts/build {config}")
    so = tmp_path / "probe.so"
    source = ROOT / "board" / "virtual" / "tests" / "kernels" / "probe.c"
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{ROOT}/hls-kernels/include", source, "-o", so], check=True)
    b = Board(f"{NAME}3")
    b.start(config, "test", format=True, kernels={1: so})
    try:
        with Drive(b.address) as drive:
            drive.write(0, random_data(BYTES))
            recorder = Recorder(b, every=5000)
            with drive.function(Kernel("probe", "1", 1, 2)) as name:
                pieces = drive.run(name, [[Input([Extent(0, BYTES // 4096)], BYTES)]], args=struct.pack("<2I", 0, 1))
            log = recorder.stop()
    finally:
        b.stop()
        b.erase()
    assert pieces[0].ok, pieces[0].text
    assert log.kernels == ("", "probe/1")
    for name in ("cycles", "wait_in", "wait_out"):
        assert list(log.slots(name).sum(axis=0)) == [0, getattr(pieces[0].report, name)]
    assert log.cores("cycles").sum() == 0
    # The kernel's output goes on to the host when it has ended.
    assert of_activity(log)[0].what == "offload"
    assert {s.what for s in of_activity(log)} <= {"offload", "read"}


def test_samples_stand_at_the_asked_interval_while_the_clock_runs(board: Board) -> None:
    recorder = Recorder(board, every=1000)
    run_scan(board)
    log = recorder.stop()
    busy = log.cycles[log.cores("cycles").sum(axis=1) > 0]
    assert len(busy) > 20
    assert (busy <= 1000 + 40).all()


def phase(report: dict[str, Any], what: str, source: int = 0) -> dict[str, Any]:
    return next(p for p in report["sources"][source]["phases"] if p["phase"] == what)


def test_the_command(board: Board, tmp_path: Path) -> None:
    options = (
        "--name",
        NAME,
        "--source",
        "activity",
        "--source",
        "xssd",
        "--medium",
        "pcm",
        "--host-utilisation",
        "0.1",
        "--out",
        tmp_path,
    )
    bench = (sys.executable, "-m", "assasin", "bench", "scan", "--bytes", str(BYTES), "--name", NAME)
    report = json.loads(assasin("power", *options, "--json", "--", *bench).stdout)
    assert report == json.loads((tmp_path / "result.json").read_text())
    assert (tmp_path / "power.png").read_bytes().startswith(b"\x89PNG")
    assert (report["board"], report["exit_code"], report["measured_on_hardware"]) == ("virtual", 0, False)
    activity, xssd = report["sources"]
    for s in (activity, xssd):
        assert (s["kind"], s["time"], s["config"], s["phases_by"]) == ("modelled", "simulated", CONFIG, "marks")
        assert sum(p["joules"] for p in s["phases"]) == pytest.approx(s["joules"])
        assert sum(r["joules"] for r in s["rails"]) == pytest.approx(s["joules"])
        assert sum(g["joules"] for g in s["groups"]) == pytest.approx(s["joules"])
        assert s["mean_w"] > s["idle_w"] > 0
        assert all(sum(p["groups"].values()) == pytest.approx(p["joules"]) for p in s["phases"])
        assert len(s["offloads"]) == 1
        assert s["offloads"][0]["bytes"] == BYTES
        assert s["missing_seconds"] == 0
    assert phase(report, "write")["bytes"] == BYTES
    offload = phase(report, "offload")
    assert offload["nj_per_byte"] == pytest.approx(offload["joules"] / BYTES * 1e9)
    # At least the energy of the pages that it read, and not ten times the whole drive's.
    pages = BYTES // 4096 * 4320 * 8 * 250e-12
    assert pages < offload["joules"] < 10 * activity["mean_w"] * offload["seconds"]
    assert any(r["rail"] == "host processor" for r in xssd["rails"])


def test_no_command(tmp_path: Path) -> None:
    assert "write the command after --" in assasin("power", "--out", tmp_path, code=2).stderr


def test_a_table_and_the_exit_code(board: Board, tmp_path: Path) -> None:
    script = f"from assasin.drive import Drive; Drive({board.address!r}).close(); raise SystemExit(7)"
    done = assasin("power", "--name", NAME, "--out", tmp_path, "--", sys.executable, "-c", script, code=7)
    assert "Energy by phase: activity (modelled) on virtual, AssasinSb2x2" in done.stdout
    assert "exit code 7" in done.stderr
    assert json.loads((tmp_path / "result.json").read_text())["exit_code"] == 7


def test_a_command_that_does_not_touch_the_board(board: Board, tmp_path: Path) -> None:
    done = assasin("power", "--name", NAME, "--out", tmp_path, "--", "true", code=1)
    assert f"no time passed on virtual board '{NAME}'" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--name", "nobody", "--", "true"), "no board is running under the name 'nobody'"),
        (("--name", NAME, "--", "no-such-command"), "'no-such-command' cannot be started: No such file"),
        (("--board", "toaster", "--", "true"), "there is no board 'toaster'; there are:"),
        (("--source", "hwmon", "--", "true"), "the virtual board has nothing to measure"),
        (("--list",), "--list reads sensors"),
        (("--source", "magic", "--", "true"), "--source magic: give activity or xssd"),
        (("--board", "zcu106", "--source", "activity", "--", "true"), "zcu106 has sensors: --source hwmon"),
        (("--board", "zcu106", "--source", "hwmon:/nowhere", "--", "true"), "no hwmon device under /nowhere/class/hwmon"),
        (("--board", "daisyplus", "--", "true"), "has no sensor that measures power: log an external meter"),
        (("--board", "daisyplus", "--source", "meter:gone.csv", "--", "true"), "meter log gone.csv is not there"),
        (("--board", "daisyplus", "--source", "pmbus", "--", "true"), "has no sensor of driver pmbus"),
        (("--board", "cosmosplus", "--source", "pmbus:/dev/i2c-none", "--", "true"), "/dev/i2c-none: No such file"),
        (("--board", "zcu106", "--source", "agent:", "--", "true"), "'' is not HOST or HOST:PORT"),
    ],
)
def test_bad_input(board: Board, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = assasin("power", "--idle", "0", "--out", tmp_path, *arguments, code=1)
    assert words in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())


def test_sensors_of_a_real_board_from_files(tmp_path: Path) -> None:
    """zcu106 with a sysfs tree of plain files: measured, but not on hardware."""
    from assasin.boards import Board as BoardFile

    for i, s in enumerate(s for s in BoardFile.load("zcu106").sensors if s.driver == "ina226"):
        folder = tmp_path / "sys/class/hwmon" / f"hwmon{i}"
        folder.mkdir(parents=True)
        files = {"name": "ina226", "label": s.name, "in1_input": 1000, "curr1_input": 100, "power1_input": 100_000}
        for file, value in (files | {"shunt_resistor": s.shunt_uohm}).items():
            (folder / file).write_text(f"{value}\n")
    rails = i + 1
    where = ("--board", "zcu106", "--source", f"hwmon:{tmp_path / 'sys'}")
    listed = json.loads(assasin("power", *where, "--list", "--json").stdout)
    assert [(r["volts"], r["amperes"], r["watts"], r["error"]) for r in listed] == [(1.0, 0.1, 0.1, None)] * rails
    options = (*where, "--idle", "0.1", "--out", tmp_path / "out", "--json")
    report = json.loads(assasin("power", *options, "--", "sleep", "0.3").stdout)
    source = report["sources"][0]
    assert source["mean_w"] == pytest.approx(0.1 * rails, rel=1e-3)
    assert source["joules_above_idle"] == pytest.approx(0, abs=1e-3)
    assert (source["kind"], report["measured_on_hardware"], len(source["rails"])) == ("measured", False, rails)


def test_a_meter_that_logs_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    stop = threading.Event()

    def write() -> None:
        with file.open("w", buffering=1) as log:
            log.write("timestamp,power_mw\n")
            while not stop.wait(0.01):
                log.write(f"{time.time():.6f},12000\n")

    meter = threading.Thread(target=write)
    meter.start()
    try:
        options = ("--board", "daisyplus", "--source", f"meter:{file}", "--idle", "0.2", "--out", tmp_path / "out", "--json")
        report = json.loads(assasin("power", *options, "--max-gap", "1", "--", "sleep", "0.2").stdout)
    finally:
        stop.set()
        meter.join()
    source = report["sources"][0]
    assert source["kind"] == "logged"
    assert source["joules"] == pytest.approx(12 * source["seconds"], rel=1e-3)


def test_a_board_that_dies_meanwhile(board: Board) -> None:
    other = Board(f"{NAME}2")
    other.start(CONFIG, "test", format=True)
    recorder = Recorder(other)
    other.kill()
    with pytest.raises(PowerError, match=f"virtual board '{NAME}2' has ended while its counters were read"):
        recorder.stop()
    other.erase()


def test_what_is_no_request_closes_the_connection(board: Board) -> None:
    for text in (
        b"now\n",
        b"every 0\n",
        b"every -5\n",
        b"every 99999999999999999999999\n",
        b"every 10x\n",
        b"x" * 100,
        b"every 9\nlater\n",
    ):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(20)
            s.connect(shortest(board.paths.folder / "door.activity"))
            s.sendall(text)
            while s.recv(1 << 16):
                pass
    Recorder(board).stop()


def watched_boot(folder: Path, watch: bool) -> tuple[str, str, int, int]:
    """Boots a board to a fixed time, by itself or with its counters read as often as can be. Returns what it has done."""
    folder.mkdir()
    door = folder / "d"
    command = [BINARY, "--image", folder / "image", "--profile", ROOT / "board/virtual/profiles/test.toml", "--format", "--race"]
    command += ["--firmware", ROOT / "build/firmware/assasin-fw.bin", "--socket", door, "--console", folder / "console"]
    command += ["--stats", folder / "stats", "--quit-after", "900000"]
    process = subprocess.Popen([str(x) for x in command], stderr=subprocess.DEVNULL)
    samples = 0
    if watch:
        while not Path(f"{door}.activity").exists():
            assert process.poll() is None
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f"{door}.activity")
            s.sendall(b"every 1\n")
            while part := s.recv(1 << 16):
                samples += part.count(b"\n")
        assert samples > 1000
    assert process.wait(timeout=120) == 0
    stats = json.loads((folder / "stats").read_text())
    boot = re.search(r"boot: (\d+) cycles", (folder / "console").read_text())
    assert boot
    image = hashlib.sha256((folder / "image" / "nand.img").read_bytes()).hexdigest()
    return boot.group(1), image, stats["dram_read_bytes"], stats["dram_write_bytes"]


def test_watching_changes_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("w")
    assert watched_boot(folder / "a", watch=False) == watched_boot(folder / "b", watch=True)
