# SPDX-License-Identifier: BSD-3-Clause
"""`assasin flash BOARD IMAGE` of real boards: refusals, and the tools against stand-ins for the hardware behind them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from assasin.bitstreams import Timing, pci
from assasin.bitstreams.package import Facts, Package
from assasin.bitstreams.xilinx import read_bit
from jtag import ARM_7Z, IDCODE_7Z045, IDCODE_ZU7EV, Cable, Device, Fabric
from samples import CONFIG, FACTS, ROOT, Run

sys.path.append(str(ROOT / "board" / "agent" / "tests"))
from fakes import FpgaManager, Tree

Make = Callable[..., Package]
Assasin = Callable[..., Run]


@pytest.fixture(autouse=True)
def no_board_in_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """PCI functions are those of a folder."""
    monkeypatch.setattr(pci.functions, "__defaults__", (tmp_path / "sys",))
    monkeypatch.setattr(pci.rescan, "__defaults__", (tmp_path / "sys",))
    (tmp_path / "sys" / "bus" / "pci" / "devices").mkdir(parents=True)
    (tmp_path / "sys" / "bus" / "pci" / "rescan").write_text("")
    return tmp_path / "sys"


def zynq() -> tuple[Fabric, Cable]:
    fabric = Fabric(IDCODE_7Z045)
    return fabric, Cable(fabric, Device(ARM_7Z, 4, 0xE))


def test_a_dry_run_verifies_alone(make: Make, assasin: Assasin) -> None:
    done = assasin("flash", "cosmosplus", make().folder, "--dry-run", "--json")
    assert done.code == 0 and not json.loads(done.out)["programmed"]


def test_another_board_is_refused(make: Make, assasin: Assasin) -> None:
    image = make().folder
    for board in ("daisyplus", "zcu106", "virtual"):
        refused = assasin("flash", board, image)
        assert refused.code == 1
        assert f"is an image for the board cosmosplus, not for {board}: assasin flash cosmosplus" in refused.said


def test_another_part_is_refused(make: Make, assasin: Assasin) -> None:
    """A manifest that lies about its part, and one that lies about its image."""
    made = make()
    path = made.folder / "manifest.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"part": "xc7z100ffg900-2"}))
    refused = assasin("flash", "cosmosplus", made.folder, "--dry-run")
    assert refused.code == 1 and "says part xc7z100ffg900-2, board/cosmosplus/board.toml has xc7z045ffg900-3" in refused.said
    path.write_text(json.dumps(values | {"board": "zcu106", "part": "xczu7ev-ffvc1156-2-e"}))
    refused = assasin("flash", "zcu106", made.folder, "--dry-run")
    assert refused.code == 1 and "was built for part 7z045ffg900, the board zcu106 has xczu7ev-ffvc1156-2-e" in refused.said
    path.write_text(json.dumps(values | {"board": "vcu118"}))
    refused = assasin("flash", "cosmosplus", made.folder, "--dry-run")
    assert refused.code == 1 and "there is no board 'vcu118'" in refused.said


def test_a_tampered_image_is_not_sent(make: Make, assasin: Assasin) -> None:
    made = make()
    data = bytearray(made.image.read_bytes())
    data[-1] ^= 1
    made.image.write_bytes(data)
    fabric, cable = zynq()
    refused = assasin("flash", "cosmosplus", made.folder, "--xvc", cable.address)
    assert refused.code == 1 and "the image has changed since it was packaged: do not use it" in refused.said
    assert not fabric.cleared


def test_an_image_without_its_timing_needs_consent(make: Make, assasin: Assasin) -> None:
    image = make(facts=Facts({"vivado": "2024.1"}, Timing(-0.25, 100))).folder
    refused = assasin("flash", "cosmosplus", image, "--dry-run")
    assert refused.code == 1 and "misses its timing by 0.25 ns" in refused.said and "--accept-timing" in refused.said
    assert assasin("flash", "cosmosplus", image, "--dry-run", "--accept-timing").code == 0


def test_an_image_that_is_not_there(assasin: Assasin) -> None:
    refused = assasin("flash", "cosmosplus", "AssasinSb16x8")
    assert refused.code == 1 and "there is no image 'AssasinSb16x8'" in refused.said
    assert assasin("flash", "vcu118", "x").code == 2


def test_missing_tools(make: Make, assasin: Assasin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    image = make().folder
    monkeypatch.setenv("PATH", str(tmp_path))
    for options, message in (
        ([], "openFPGALoader is not installed, or not on PATH: install it with: apt install openfpgaloader"),
        (["--via", "vivado"], "vivado is not installed, or not on PATH: source its settings64.sh"),
        (["--agent", "127.0.0.1:1"], "no agent answers at 127.0.0.1:1"),
    ):
        refused = assasin("flash", "cosmosplus", image, *options)
        assert refused.code == 1 and message in refused.said, refused.said
    assert assasin("flash", "cosmosplus", image, "--via", "agent").code == 2
    assert assasin("flash", "cosmosplus", image, "--via", "vivado", "--agent", "h").code == 2
    assert assasin("flash", "cosmosplus", image, "--xvc", "h:p").code in (1, 2)


def test_openfpgaloader_programs_the_chain(make: Make, assasin: Assasin) -> None:
    """The real tool, through an XVC socket, into TAP controllers that keep what is shifted in."""
    made = make()
    fabric, cable = zynq()
    done = assasin("flash", "cosmosplus", made.folder, "--xvc", cable.address)
    assert done.code == 0, done.said
    assert "next: assasin bringup load" in " ".join(done.out.split())
    assert fabric.holds(read_bit(made.image).data)
    assert "shift" not in done.said


def test_openfpgaloader_finds_another_chip(make: Make, assasin: Assasin) -> None:
    fabric = Fabric(IDCODE_ZU7EV)
    cable = Cable(fabric, Device(0x5BA00477, 4, 0xE))
    refused = assasin("flash", "cosmosplus", make().folder, "--xvc", cable.address)
    assert refused.code == 1
    assert "the cable leads to xczu7ev, the board cosmosplus has xc7z045: this is another board" in refused.said
    assert not fabric.cleared


def test_openfpgaloader_knows_not_every_chip(make: Make, assasin: Assasin) -> None:
    refused = assasin("flash", "daisyplus", make("daisyplus").folder, "--via", "openfpgaloader")
    assert refused.code == 1 and "does not know xczu17eg: take a newer one, --via vivado or --via agent" in refused.said


def test_openfpgaloader_without_a_cable(make: Make, assasin: Assasin) -> None:
    """The real tool on a machine without one."""
    refused = assasin("flash", "cosmosplus", make().folder)
    assert refused.code == 1 and "no FPGA found: check cable, power and driver" in refused.said
    assert "build/flash/cosmosplus.log" in refused.said
    assert "--detect" in (ROOT / "build" / "flash" / "cosmosplus.log").read_text()
    refused = assasin("flash", "cosmosplus", make().folder, "--cable", "string")
    assert refused.code == 1 and "string" in refused.said


@pytest.fixture
def vivado(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """A `vivado` on PATH that runs its script in tclsh against a recording stand-in."""
    program = tmp_path / "bin" / "vivado"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec tclsh {Path(__file__).with_name("vivado.tcl")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def chain(cables: str, done: int = 1) -> None:
        monkeypatch.setenv("FAKE_CHAIN", cables)
        monkeypatch.setenv("FAKE_DONE", str(done))

    return chain


def calls() -> list[str]:
    log = (ROOT / "build" / "flash" / "zcu106.log").read_text()
    return [line.removeprefix("CALL ") for line in log.splitlines() if line.startswith("CALL ")]


def test_vivado_programs_the_right_device(make: Make, assasin: Assasin, vivado: Callable[..., None]) -> None:
    vivado("other=xc7z045_1:xc7z045 jtag=xczu7_0:xczu7,arm_dap_1:")
    done = assasin("flash", "zcu106", make("zcu106").folder, "--server", "lab:3121")
    assert done.code == 0, done.said
    assert calls() == [
        "open_hw_manager",
        "connect_hw_server -url lab:3121",
        "open_hw_target other",
        "close_hw_target",
        "open_hw_target jtag",
        "close_hw_target",
        "open_hw_target jtag",
        "current_hw_device xczu7_0",
        "set_property PROGRAM.FILE zcu106.bit xczu7_0",
        "program_hw_devices xczu7_0",
        "refresh_hw_device xczu7_0",
        "close_hw_manager",
    ]


@pytest.mark.parametrize(
    ("cables", "done", "message"),
    [
        ("down", 1, "no hardware server at localhost:3121: connection refused"),
        ("", 1, "no device: check cable and power"),
        ("jtag=xc7z045_1:xc7z045", 1, "no xczu7ev-ffvc1156-2-e is connected to localhost:3121; found: xc7z045_1"),
        ("jtag=locked", 1, "found: jtag (locked by another client)"),
        ("a=xczu7_0:xczu7 b=xczu7_0:xczu7", 1, "more than one xczu7ev-ffvc1156-2-e is connected"),
        ("a=xczu7_0:xczu7", 0, "xczu7_0 took the bitstream but did not start: DONE is low"),
    ],
)
def test_vivado_refuses(make: Make, assasin: Assasin, vivado: Callable[..., None], cables: str, done: int, message: str) -> None:
    vivado(cables, done)
    refused = assasin("flash", "zcu106", make("zcu106").folder)
    assert refused.code == 1 and message in refused.said
    assert ("program_hw_devices xczu7_0" in calls()) == (done == 0)


@pytest.fixture
def agent(tmp_path: Path) -> Callable[[str], tuple[str, Tree]]:
    """Starts the board agent on a fake sysfs tree."""
    subprocess.run(["make", "-s", "-C", ROOT / "board" / "agent"], check=True)
    running = []

    def start(board: str) -> tuple[str, Tree]:
        tree = Tree(tmp_path / "root")
        config = tmp_path / "agent.conf"
        config.write_text(f"board {board}\n")
        command = [ROOT / "build/agent/assasin-agent", "--config", config, "--port", "0", "--root", tree.root]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        return process.stdout.readline().split()[-1], tree

    yield start  # type: ignore[misc]
    for process in running:
        process.terminate()
        process.wait(10)


def test_the_agent_programs(make: Make, assasin: Assasin, agent: Callable[[str], tuple[str, Tree]]) -> None:
    address, tree = agent("zcu106")
    kernel = FpgaManager(tree)
    made = make("zcu106")
    done = assasin("flash", "zcu106", made.folder, "--agent", address)
    assert done.code == 0, done.said
    assert kernel.taken == read_bit(made.image).for_fpga_manager()
    assert f"--via agent:{address}" in " ".join(done.out.split())
    status = json.loads(assasin("agent", "status", address, "--json").out)
    assert (status["board"], status["fpga"]) == ("zcu106", "operating")


def test_the_agent_of_another_board(make: Make, assasin: Assasin, agent: Callable[[str], tuple[str, Tree]]) -> None:
    address, _ = agent("daisyplus")
    refused = assasin("flash", "zcu106", make("zcu106").folder, "--agent", address)
    assert refused.code == 1 and "serves the board daisyplus, not zcu106" in refused.said


def test_a_board_that_this_host_uses(
    make: Make, assasin: Assasin, no_board_in_this_machine: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Losing the FPGA's contents under a running host can hang it."""
    image = make().folder
    sys_, function = no_board_in_this_machine, no_board_in_this_machine / "bus/pci/devices/0000:01:00.0"
    (function / "nvme" / "nvme3").mkdir(parents=True)
    for file, text in (("vendor", "0x10ee\n"), ("device", "0x7028\n"), ("remove", "")):
        (function / file).write_text(text)
    (function / "driver").symlink_to("../../../bus/pci/drivers/nvme")
    fabric, cable = zynq()
    command = ["flash", "cosmosplus", image, "--xvc", cable.address]
    refused = assasin(*command)
    assert refused.code == 1 and "0000:01:00.0 of this machine is a cosmosplus (driver: nvme)" in refused.said
    assert "--replug" in refused.said and not fabric.cleared
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/nvme3n1p1 /data ext4 rw 0 0\n/dev/nvme33n1 / ext4 rw 0 0\n")
    monkeypatch.setattr(pci.Function.mounted, "__defaults__", (mounts,))
    refused = assasin(*command, "--replug")
    assert refused.code == 1 and "holds the file system at /data: umount it first" in refused.said
    mounts.write_text("/dev/nvme33n1 / ext4 rw 0 0\n")
    assert assasin(*command, "--replug").code == 0
    assert (function / "remove").read_text() == "1" and (sys_ / "bus/pci/rescan").read_text() == "1"
    assert fabric.started
    shutil.rmtree(function / "remove", ignore_errors=True)
    assert FACTS and CONFIG
