# SPDX-License-Identifier: BSD-3-Clause
"""Board files: those that are there, and what is said about wrong ones."""

import re
import shutil

import pytest
from assasin.boards import Board, BoardFileError
from assasin.boards.board import BOARDS
from assasin.boards.xdc import VCCO_MV, PinError


def test_all_boards_load():
    assert set(Board.names()) >= {"virtual", "cosmosplus", "daisyplus", "zcu106"}
    for name in Board.names():
        board = Board.load(name)
        assert board.name == name
        assert board.is_virtual == (board.part is None)
        assert board.pcie.class_code == 0x010802


def test_bar0_is_as_wide_as_its_port():
    """The XDMA IP's AXI4-Lite master takes 32 bits; the chip hides its controller memory buffer behind it."""
    for name in Board.names():
        assert Board.load(name).pcie.bar0_bits == (64 if name == "virtual" else 32), name


def test_every_nand_pin_is_there():
    for name in ("cosmosplus", "daisyplus"):
        board = Board.load(name)
        signals = [pin.signal for pin in board.pins if pin.signal.startswith("nand")]
        assert len(signals) == 32 * board.nand.channels
        assert {pin.iostandard for pin in board.pins if pin.signal.startswith("nand")} <= set(VCCO_MV)


@pytest.fixture
def copy(tmp_path):
    def make(name, file, pattern, replacement):
        shutil.copytree(BOARDS / name, tmp_path / "board" / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("petalinux"))
        path = tmp_path / "board" / name / file
        text, count = re.subn(pattern, replacement, path.read_text(), count=1, flags=re.MULTILINE)
        assert count == 1
        path.write_text(text)
        return tmp_path / "board"

    return make


@pytest.mark.parametrize(
    ("name", "file", "pattern", "replacement", "says"),
    [
        ("cosmosplus", "board.toml", r"^lanes = 8", "lanes = 17", r"\[pcie\] lanes: is 17, must be 1 to 16"),
        ("cosmosplus", "board.toml", r"^lanes = 8", 'lanes = "8"', "is '8', must be an integer"),
        ("cosmosplus", "board.toml", r"^lanes = 8", "lane = 8", "there is no item 'lane'"),
        ("cosmosplus", "board.toml", r"^lanes = 8\n", "", "'lanes' is missing"),
        ("cosmosplus", "board.toml", r"^name = .*", 'name = "other"', "must be that of its folder"),
        ("cosmosplus", "board.toml", r"^kind = .*", 'kind = "versal"', "must be one of: virtual, zynq7, zynqmp"),
        ("cosmosplus", "board.toml", r"^phy_mhz = 400", "phy_mhz = 300", "must be 2 or 4 times core_mhz"),
        ("cosmosplus", "board.toml", r"^module = .*", 'module = "other"', "is not one of modules"),
        ("cosmosplus", "board.toml", r'^config = "Ass.*', 'config = "AssasinSb4x16"', "has 16 channels"),
        ("cosmosplus", "board.toml", r"^linux_bytes = 0x08000000", "linux_bytes = 0x09000000", "Linux and window 0 overlap"),
        ("cosmosplus", "board.toml", r"^physical = 0x3C000000", "physical = 0x3C000001", "multiples of 16 MiB"),
        ("cosmosplus", "board.toml", r"^tool = .*", 'tool = "virtual"', "does not fit a board of kind zynq7"),
        ("cosmosplus", "board.toml", r"^generation = 2", "generation = ", "Invalid value"),
        ("zcu106", "board.toml", r"^shunt_uohm = 5000\n", "", "driver ina226 needs shunt_uohm"),
        ("zcu106", "board.toml", r'^name = "vccint"', 'name = "mgtavcc"', "two are called 'mgtavcc'"),
        ("zcu106", "board.toml", r"^store_bytes = .*\n", "", "emulated NAND needs store_base and store_bytes"),
        ("zcu106", "board.toml", r"^store_base = .*", "store_base = 0", "Linux and the NAND store overlap"),
        ("cosmosplus", "pins.csv", r"^nand0_dq\[1\],AK25", "nand0_dq[1],AJ25", "pin AJ25 is there already, on line 2"),
        ("cosmosplus", "pins.csv", r"^nand0_dq\[1\]", "nand0_dq[0]", r"signal nand0_dq\[0\] is there already"),
        ("cosmosplus", "pins.csv", r"AK25", "25AK", "not a package pin"),
        ("cosmosplus", "pins.csv", r"^signal,pin", "name,pin", "the first line is"),
        ("cosmosplus", "pins.csv", r"^nand0_dq\[1\],AK25", "nand0_dq[1],", "has no pin, nor has another half"),
    ],
)
def test_wrong_files_are_named(copy, name, file, pattern, replacement, says):
    boards = copy(name, file, pattern, replacement)
    with pytest.raises(BoardFileError, match=says) as error:
        Board.load(name, boards)
    assert f"board/{name}/{file}" in str(error.value)


def test_unknown_board():
    with pytest.raises(BoardFileError, match="there is no board 'zc706'; there are: cosmosplus"):
        Board.load("zc706")


@pytest.mark.parametrize(
    ("pattern", "replacement", "says"),
    [
        (r"^nand3_dq\[0\],.*\n", "", r"port nand3_dq\[0\] of the top level has no pin"),
        (r"^nand3_dq\[0\]", "nand3_dq[8]", "port nand3_dq.0. of the top level has no pin"),
        (r"(^nand3_dq\[0\].*),LVCMOS18,", r"\1,LVCMOS25,", "needs 2500 mV"),
        (r"(^pcie_perst_n,AB16),10,", r"\1,33,", "which need different supplies"),
        (r"(^nand3_re_n.*),DIFF_SSTL18_II,", r"\1,SSTL18_II,", "one half of a pair|must both be there"),
        (r"(^nand3_dq\[0\].*),LVCMOS18,", r"\1,LVDS,", "I/O standard LVDS is not known"),
    ],
)
def test_pins_that_do_not_fit(copy, projects, pattern, replacement, says):
    from assasin.boards import xdc
    from assasin.boards.ports import read_ports

    board = Board.load("cosmosplus", copy("cosmosplus", "pins.csv", pattern, replacement))
    ports = read_ports(projects["cosmosplus"].folder / "top.v", "assasin_top")
    ports = {name: port for name, port in ports.items() if not name.startswith(("DDR_", "FIXED_IO_"))}
    with pytest.raises(PinError, match=says):
        xdc.check(board, ports)
