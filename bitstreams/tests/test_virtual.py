# SPDX-License-Identifier: BSD-3-Clause
"""The virtual board's images: packaged, verified and refused as any other board's."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from assasin.bitstreams import BitstreamError, package, virtual
from assasin.bitstreams.package import Package
from assasin.board import Board
from samples import ROOT, Run

CONFIG = "AssasinSb2x2"
BOARD = ROOT / "build" / "board" / CONFIG / "assasin-board"
NAME = "imagetest"

pytestmark = pytest.mark.skipif(not BOARD.exists(), reason=f"needs scripts/build {CONFIG}")
Assasin = Callable[..., Run]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of build/ and an empty bitstreams/."""
    for path in (BOARD, BOARD.with_name("stamp"), ROOT / "build" / "firmware" / "assasin-fw.bin"):
        to = tmp_path / path.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    monkeypatch.setattr(virtual, "BUILD", tmp_path / "build")
    monkeypatch.setattr(virtual, "ROOT", tmp_path)
    monkeypatch.setattr(virtual, "_clang", lambda: "cc")
    monkeypatch.setattr(virtual, "_rtl_of", lambda config, stamp: "0123456789abcdef")
    monkeypatch.setattr(virtual, "BITSTREAMS", tmp_path / "bitstreams")
    firmware = tmp_path / "build" / "firmware" / "assasin-fw.bin"
    monkeypatch.setattr(virtual, "FIRMWARE_BUILT", firmware)
    monkeypatch.setattr(package.make, "__defaults__", (firmware, tmp_path / "bitstreams"))
    return tmp_path / "build"


def test_a_tiles_configuration_takes_the_tiles_firmware(build: Path) -> None:
    tile = "ChipyardAssasin2x2"
    shutil.copytree(build / "board" / CONFIG, build / "board" / tile)
    with pytest.raises(BitstreamError, match=r"rocket/assasin-fw\.bin is not there: build it with make -C firmware FW_CPU=rocket"):
        virtual.ready(tile)
    firmware = build / "firmware" / "rocket" / "assasin-fw.bin"
    firmware.parent.mkdir()
    for content in (b"the tile's", b"a newer one"):
        firmware.write_bytes(content)
        assert virtual.ready(tile).firmware.read_bytes() == content
    assert virtual.ready(CONFIG).firmware.read_bytes() == (build / "firmware" / "assasin-fw.bin").read_bytes()


@pytest.fixture
def stopped() -> Iterator[Board]:
    board = Board(NAME)
    yield board
    board.stop()
    board.erase()


def test_a_build_is_packaged_once(build: Path) -> None:
    first = virtual.ready(CONFIG)
    assert first.manifest.board == first.manifest.part == "virtual"
    assert first.manifest.tool["scripts/build-board"] == (build / "board" / CONFIG / "stamp").read_text().strip()
    assert first.image.read_bytes() == BOARD.read_bytes()
    written = (first.folder / "manifest.json").stat().st_mtime_ns
    virtual.ready(CONFIG)
    assert (first.folder / "manifest.json").stat().st_mtime_ns == written


def test_a_new_build_or_firmware_is_packaged_again(build: Path) -> None:
    virtual.ready(CONFIG)
    (build / "firmware" / "assasin-fw.bin").write_bytes(b"new firmware")
    assert virtual.ready(CONFIG).firmware.read_bytes() == b"new firmware"
    (build / "board" / CONFIG / "stamp").write_text("another\n")
    assert virtual.ready(CONFIG).manifest.tool["scripts/build-board"] == "another"


def test_tampering_is_refused_wherever_it_happens(build: Path) -> None:
    made = virtual.ready(CONFIG)
    with made.image.open("ab") as f:
        f.write(b"\0")
    with pytest.raises(BitstreamError, match="the image has changed since it was packaged"):
        virtual.ready(CONFIG)
    (build / "firmware" / "assasin-fw.bin").write_bytes(b"new firmware")
    with pytest.raises(BitstreamError, match="the image has changed since it was packaged"):
        virtual.ready(CONFIG)
    virtual.package(CONFIG)
    with (build / "board" / CONFIG / "assasin-board").open("ab") as f:
        f.write(b"\0")
    with pytest.raises(BitstreamError, match=r"it was changed\. Remove build/board/AssasinSb2x2"):
        virtual.ready(CONFIG)
    virtual.package(CONFIG)
    virtual.ready(CONFIG)


def test_what_is_not_built(build: Path) -> None:
    with pytest.raises(
        BitstreamError, match="build/board/AssasinSb3x3/assasin-board is not there: build it with scripts/build AssasinSb3x3"
    ):
        virtual.ready("AssasinSb3x3")
    (build / "firmware" / "assasin-fw.bin").unlink()
    with pytest.raises(BitstreamError, match="build it with make -C firmware"):
        virtual.ready(CONFIG)


def test_sources_that_are_newer_than_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest must not name sources that the simulator was not made of."""
    import os

    stamp = tmp_path / "stamp"
    stamp.write_text("x")
    os.utime(stamp, (1, 1))
    monkeypatch.setattr(virtual, "BUILD", tmp_path)
    with pytest.raises(BitstreamError, match=f"sources are newer than .*: run scripts/build {CONFIG}"):
        virtual._rtl_of(CONFIG, stamp)
    emitted = tmp_path / "rtl" / CONFIG / "stamp"
    emitted.parent.mkdir(parents=True)
    emitted.write_text("fedcba9876543210\n")
    os.utime(emitted, (1, 1))
    assert virtual._rtl_of(CONFIG, stamp) == "fedcba9876543210"


def test_a_package_serves(build: Path, stopped: Board, assasin: Assasin) -> None:
    made = virtual.ready(CONFIG)
    done = assasin("flash", "virtual", made.folder, "--profile", "test", "--name", NAME, "--json")
    assert done.code == 0, done.said
    assert json.loads(done.out)["board"]["config"] == CONFIG
    pid = stopped.pid()
    assert Path(f"/proc/{pid}/exe").resolve() == made.image
    assert assasin("flash", "virtual", made.folder, "--config", "AssasinSb8x8", "--name", NAME).code == 2


def test_a_package_that_lies_does_not_serve(build: Path, stopped: Board, assasin: Assasin) -> None:
    """Another configuration's simulator under a manifest whose hashes are right."""
    stamp = build / "board" / CONFIG / "stamp"
    other = build / "board" / "AssasinSb8x8"
    other.mkdir()
    shutil.copy(stamp, other / "stamp")
    shutil.copy(stamp.with_name("assasin-board"), other / "assasin-board")
    made = virtual.ready("AssasinSb8x8")
    refused = assasin("flash", "virtual", made.folder, "--profile", "test", "--name", NAME)
    assert refused.code == 1 and "the image is a simulator of AssasinSb2x2, its manifest says AssasinSb8x8" in refused.said
    assert stopped.pid() is None


def test_refused_packages_start_nothing(build: Path, stopped: Board, assasin: Assasin) -> None:
    made = virtual.ready(CONFIG)
    for break_ in (
        lambda: made.firmware.write_bytes(b"x"),
        lambda: made.image.chmod(0o644),
        lambda: (made.folder / "manifest.json").write_text("{}"),
    ):
        break_()
        refused = assasin("flash", "virtual", made.folder, "--name", NAME)
        assert refused.code == 1 and stopped.pid() is None
    assert made.manifest == Package(made.folder, made.manifest, made.image).manifest


def test_bring_up_through_the_agent(stopped: Board, assasin: Assasin, tmp_path: Path) -> None:
    """A real chip and firmware behind the agent: reset, registers, and a firmware loaded and compared through it."""
    subprocess.run(["make", "-s", "-C", ROOT / "board" / "agent"], check=True)
    assert assasin("flash", "virtual", "--config", CONFIG, "--profile", "test", "--name", NAME).code == 0
    config = tmp_path / "agent.conf"
    config.write_text(f"board virtual\nwindow proxy {stopped.paths.bars}\n")
    (tmp_path / "root/lib/firmware").mkdir(parents=True)
    command = [ROOT / "build/agent/assasin-agent", "--config", config, "--port", "0", "--root", tmp_path / "root"]
    agent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert agent.stdout is not None
        address = agent.stdout.readline().split()[-1]
        assert assasin("agent", "status", address).code == 0
        dump = json.loads(assasin("bringup", "dump", "--via", f"agent:{address}", "--block", "CTRL", "--json").out)
        print(dump["registers"][:2])
        ids = [r["value"] for r in dump["registers"] if r["register"] == "ID"]
        assert ids == [0x41535331]
        boots = stopped.paths.console_log.read_text().count("ASSASIN")
        firmware = ROOT / "build" / "firmware" / "assasin-fw.bin"
        loaded = assasin("bringup", "load", firmware, "--via", f"agent:{address}")
        assert loaded.code == 0 and "started" in loaded.out, loaded.said
        assert assasin("info", "--name", NAME).code == 0
        assert assasin("agent", "reset", address).code == 0
        assert assasin("info", "--name", NAME).code == 0
        assert stopped.paths.console_log.read_text().count("ASSASIN") >= boots
    finally:
        agent.terminate()
        agent.wait(10)
