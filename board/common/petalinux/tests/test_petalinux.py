# SPDX-License-Identifier: BSD-3-Clause
"""PetaLinux layers: device trees through dtc, recipes through oelint-adv, the agent out of the layer, the build script's calls."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
HERE = Path(__file__).parent
sys.path.insert(0, str(ROOT / "host-driver" / "python"))

from assasin.boards import Board  # noqa: E402
from assasin.petalinux import LayerError, make_layer  # noqa: E402
from assasin.petalinux.device_tree import Region, drive_memory  # noqa: E402

ZYNQ = [name for name in Board.names() if Board.load(name).kind != "virtual"]
FILES = "recipes-apps/assasin-agent/files"


@pytest.fixture(scope="module", params=ZYNQ)
def layer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Board, Path]:
    board = Board.load(request.param)
    return board, make_layer(board, tmp_path_factory.mktemp(board.name) / "meta-assasin")


def dtc(*arguments: object) -> str:
    """Runs dtc; a warning is a failure."""
    done = subprocess.run(["dtc", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def value(blob: Path, node: str, name: str, kind: str = "s") -> str:
    """A property of a compiled tree."""
    command = ["fdtget", "-t", kind, blob, node, name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def nodes(blob: Path, node: str) -> list[str]:
    return subprocess.run(["fdtget", "-l", blob, node], capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="module")
def tree(layer: tuple[Board, Path]) -> tuple[Board, Path]:
    """The board's tree, compiled on the labels of the vendor's."""
    board, folder = layer
    blob = folder.parent / "system.dtb"
    dtc("-@", "-i", folder / "recipes-bsp/device-tree/files", "-o", blob, HERE / f"{board.kind}.dts")
    return board, blob


def test_the_window_is_where_the_board_file_has_it(tree: tuple[Board, Path]) -> None:
    board, blob = tree
    assert board.ps is not None
    node = f"/assasin@{board.ps.regs_base:x}"
    assert value(blob, node, "compatible") == "assasin,bar0 generic-uio"
    assert value(blob, node, "linux,uio-name") == "assasin"
    cells = [int(c, 16) for c in value(blob, node, "reg", "x").split()]
    half = len(cells) // 2
    base, size = (sum(c << 32 * i for i, c in enumerate(reversed(part))) for part in (cells[:half], cells[half:]))
    assert (base, size) == (board.ps.regs_base, 0x10000)


def test_linux_keeps_off_the_drive(tree: tuple[Board, Path]) -> None:
    board, blob = tree
    found = nodes(blob, "/reserved-memory")
    assert found == [f"drive@{r.base:x}" for r in drive_memory(board)]
    for name in found:
        assert (
            "no-map"
            in subprocess.run(["fdtget", "-p", blob, f"/reserved-memory/{name}"], capture_output=True, text=True, check=True).stdout
        )
    covered = sum(r.bytes for r in drive_memory(board))
    assert covered == sum(w.bytes for w in board.dram.windows) + (board.nand.store_bytes or 0)
    assert all(r.base >= board.dram.linux_bytes for r in drive_memory(board))


def test_neighbours_are_joined() -> None:
    regions = drive_memory(Board.load("cosmosplus"))
    assert regions == [Region(0x08000000, 0x38000000)]


def test_every_sensor_has_its_node_and_line(tree: tuple[Board, Path], layer: tuple[Board, Path]) -> None:
    """By its label, under its bus, multiplexer and port, with its shunt."""
    board, blob = tree
    conf = (layer[1] / FILES / "assasin-agent.conf").read_text()
    bus0 = {"zynq7": "/axi/i2c@e0004000", "zynqmp": "/axi/i2c@ff020000"}[board.kind]
    served = 0
    for s in board.sensors:
        line = f'sensor "{s.name}" "{s.rail}" {s.driver}'
        if s.driver in ("ina226", "pmbus"):
            assert s.bus == 0 and s.address is not None
            model = "ina226" if s.driver == "ina226" else "ucd90120"
            node = f"{bus0}/i2c-mux@{s.mux:x}/i2c@{s.mux_port}/{model}@{s.address:x}"
            assert value(blob, node, "label") == s.name
            assert value(blob, node, "compatible") == f"ti,{model}"
            assert int(value(blob, node, "reg", "u")) == s.address
            if s.shunt_uohm:
                assert int(value(blob, node, "shunt-resistor", "u")) == s.shunt_uohm
            assert int(value(blob, node.rpartition("/")[0], "reg", "u")) == s.mux_port
        elif s.driver == "ams":
            node = {"zynq7": "/axi/adc@f8007100", "zynqmp": "/axi/ams@ffa50000"}[board.kind]
            assert value(blob, node, "label") == s.name and value(blob, node, "status") == "okay"
        else:
            assert s.name not in conf
            continue
        assert line in conf
        served += 1
    assert conf.count("sensor ") == served
    assert served == {"cosmosplus": 2, "daisyplus": 1, "zcu106": 19}.get(board.name, served)


def test_the_overlay_names_the_agents_file(tree: tuple[Board, Path], layer: tuple[Board, Path]) -> None:
    """Applied to the tree as the kernel does it."""
    _, blob = tree
    dtbo, whole = blob.with_name("assasin.dtbo"), blob.with_name("applied.dtb")
    dtc("-@", "-o", dtbo, layer[1] / FILES / "assasin.dts")
    subprocess.run(["fdtoverlay", "-i", blob, "-o", whole, dtbo], check=True)
    assert value(whole, "/fpga-region", "firmware-name") == "assasin.bin"
    assert 'IMAGE "assasin.bin"' in re.sub(r" +", " ", (ROOT / "board/agent/fabric.c").read_text())


def test_the_agent_builds_out_of_the_layer_alone(layer: tuple[Board, Path], tmp_path: Path) -> None:
    """As the recipe does, and takes the configuration that comes with it."""
    board, folder = layer
    recipe = (folder / "recipes-apps/assasin-agent/assasin-agent_1.0.bb").read_text()
    source = tmp_path / "agent"
    shutil.copytree(folder / FILES / "agent", source)
    variables = re.search(r'EXTRA_OEMAKE = "(.*)"', recipe)
    assert variables
    words = variables[1].replace("${B}", str(source)).replace("${S}", str(source)).split()
    subprocess.run(["make", "-s", "-C", source, *words, "install", f"DESTDIR={tmp_path / 'image'}"], check=True)
    agent = tmp_path / "image/usr/bin/assasin-agent"
    process = subprocess.Popen(
        [agent, "--config", folder / FILES / "assasin-agent.conf", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("assasin-agent: listening at 127.0.0.1:")
    finally:
        process.terminate()
        process.wait(10)
    assert board.name in (folder / FILES / "assasin-agent.conf").read_text()


def test_every_file_of_a_recipe_is_there(layer: tuple[Board, Path]) -> None:
    for recipe in layer[1].rglob("*.bb*"):
        text = recipe.read_text()
        assert not re.search(r"@\w+@", text), f"a placeholder is left in {recipe.name}"
        search = [recipe.parent / "files", *recipe.parent.glob("linux-xlnx")]
        for name in re.findall(r"file://(\S+?)[\s\";]", text):
            assert any((folder / name).exists() for folder in search), f"{recipe.name}: {name}"
    digest = re.search(r"md5=([0-9a-f]{32})", (layer[1] / "recipes-apps/assasin-agent/assasin-agent_1.0.bb").read_text())
    command = ["md5sum", ROOT / "LICENSE"]
    assert digest and digest[1] == subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]


def test_recipes_are_clean(layer: tuple[Board, Path]) -> None:
    """oelint-adv with every rule but those that board/common/petalinux/oelint.cfg gives a reason against."""
    files = [p for p in layer[1].rglob("*") if p.suffix in (".bb", ".bbappend") or p.name == "layer.conf"]
    assert len(files) == 4
    env = os.environ | {"OELINT_CONFIG": str(HERE.parent / "oelint.cfg")}
    done = subprocess.run(["oelint-adv", "--quiet", *files], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    broken = layer[1].parent / "broken_1.0.bb"
    broken.write_text('SUMMARY = "x"\nSRC_URI = "file://a"\nLICENSE="MIT"\n')
    done = subprocess.run(["oelint-adv", "--quiet", broken], capture_output=True, text=True, env=env, check=False)
    assert done.returncode != 0 and "mandatoryvar.DESCRIPTION" in done.stderr


def test_boards_without_linux(tmp_path: Path) -> None:
    with pytest.raises(LayerError, match=r"virtual has no processing system \(\[ps\] in"):
        make_layer(Board.load("virtual"), tmp_path / "x")
    (tmp_path / "precious").mkdir()
    with pytest.raises(LayerError, match="is there and is no layer"):
        make_layer(Board.load("zcu106"), tmp_path / "precious")
    assert list((tmp_path / "precious").iterdir()) == []


@pytest.fixture
def petalinux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """PetaLinux's commands, recorded; `create` makes the files that the real one does."""
    folder, log = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    for name in ("create", "config", "build", "package"):
        tool = folder / f"petalinux-{name}"
        tool.write_text(f'#!/bin/sh\necho "{name} $*" >>{log}\n')
        tool.chmod(0o755)
    with (folder / "petalinux-create").open("a") as f:
        f.write("for last; do :; done\nmkdir -p $last/.petalinux $last/project-spec/configs $last/project-spec/meta-user/conf\n")
        f.write("touch $last/.petalinux/metadata $last/project-spec/configs/config $last/project-spec/configs/rootfs_config\n")
        f.write("touch $last/project-spec/meta-user/conf/user-rootfsconfig\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return log


def build(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HERE.parent / "build", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_build_script(petalinux: Path, tmp_path: Path) -> None:
    xsa, project = tmp_path / "top.xsa", tmp_path / "projects" / "linux"
    xsa.write_bytes(b"xsa")
    for _ in range(2):
        done = build("zcu106", xsa, project)
        assert done.returncode == 0, done.stderr
    once = [
        f"config --silentconfig --get-hw-description {xsa}",
        "config --silentconfig",
        "config --silentconfig -c rootfs",
        "build ",
        "package --boot --force --fsbl images/linux/zynqmp_fsbl.elf --u-boot",
    ]
    assert petalinux.read_text().splitlines() == ["create --type project --template zynqMP --name linux", *once, *once]
    config = (project / "project-spec/configs/config").read_text().splitlines()
    layer = ROOT / "build/petalinux/zcu106/meta-assasin"
    assert sorted(config) == [
        "CONFIG_SUBSYSTEM_FPGA_MANAGER=y",
        "CONFIG_SUBSYSTEM_REMOVE_PL_DTB=y",
        f'CONFIG_USER_LAYER_0="{layer}"',
    ]
    assert (project / "project-spec/configs/rootfs_config").read_text() == "CONFIG_assasin-agent=y\n"
    assert (project / "project-spec/meta-user/conf/user-rootfsconfig").read_text() == "CONFIG_assasin-agent\n"


def test_the_build_script_says_what_is_missing(tmp_path: Path) -> None:
    xsa = tmp_path / "top.xsa"
    assert build("zcu106").returncode == 2
    missing = build("zcu106", xsa)
    assert missing.returncode == 1 and "top.xsa is not there: assasin build --board zcu106" in missing.stderr
    xsa.write_bytes(b"")
    missing = build("zcu106", xsa)
    assert missing.returncode == 1 and "petalinux-create is not on PATH: source PetaLinux's settings.sh" in missing.stderr


def test_a_board_that_is_none(petalinux: Path, tmp_path: Path) -> None:
    xsa = tmp_path / "top.xsa"
    xsa.write_bytes(b"")
    refused = build("vcu118", xsa)
    assert refused.returncode != 0 and "there is no board 'vcu118'" in refused.stderr
    assert not petalinux.exists()
