# SPDX-License-Identifier: BSD-3-Clause
"""The table of configurations and parts, and the project's targets for AssasinSb."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from assasin.boards import Board
from assasin.synth import SynthError, resources, rtl, units, utilisation
from assasin.synth.resources import Resources
from assasin.synth.utilisation import UnitRow
from assasin.tree import ROOT, contract


def _units(lut: int, bram36: float, ff: int = 0, uram: int = 0) -> list[UnitRow]:
    return [
        UnitRow("StreamCore", 4, Resources(lut=lut // 5, bram36=bram36 / 5), {}),
        UnitRow("Uncore", 1, Resources(lut=lut // 5, bram36=bram36 / 5, ff=ff, uram=uram), {}),
    ]


def test_fits_with_a_reserve() -> None:
    board = Board.load("cosmosplus")
    assert board.part
    luts, blocks = board.part.luts, board.part.bram36
    row = utilisation.row(board, "AssasinSb4x8", _units(int(luts * 0.84), blocks * 0.5))
    assert row.fits
    assert "LUTs are the tightest" in row.why
    assert "4 x StreamCore" in row.why
    assert (row.board, row.cores, row.channels) == ("cosmosplus", 4, 8)
    assert not utilisation.row(board, "AssasinSb4x8", _units(int(luts * 0.86), 0)).fits
    row = utilisation.row(board, "AssasinSb4x8", _units(1000, blocks * 0.9))
    assert not row.fits
    assert "too many BRAM36" in row.why
    # The part has no UltraRAM, and flip-flops may all be used.
    assert "UltraRAM" in utilisation.row(board, "AssasinSb4x8", _units(1000, 1, uram=1)).why
    assert utilisation.row(board, "AssasinSb4x8", _units(1000, 1, ff=board.part.ffs)).fits


def test_channels_of_the_board() -> None:
    board = Board.load("daisyplus")
    row = utilisation.row(board, f"AssasinSb4x{board.nand.channels + 1}", _units(1000, 1))
    assert not row.fits
    assert f"the board has {board.nand.channels} flash channels" in row.why


def test_every_architecture_is_in_a_boards_table() -> None:
    for name in utilisation.real_boards():
        board = Board.load(name)
        configs = utilisation.default_configs(board)
        assert configs[0] == board.chip.config
        assert f"ChannelLocal{board.nand.channels}x{board.nand.channels}" in configs
        assert f"Prefetch8x{board.nand.channels}" in configs
        assert f"AssasinSbHls4x{board.nand.channels}" in configs
        assert len(set(configs)) == len(configs)


def test_units_are_modules() -> None:
    """A unit by a name that no module has would be counted with the module above it."""
    sources = "\n".join(path.read_text() for path in (ROOT / "hw" / "src" / "main").rglob("*.scala"))
    modules = set(re.findall(r"\bclass (\w+)", sources))
    assert set(units.UNITS) <= modules, set(units.UNITS) - modules


def test_boards_without_fpga() -> None:
    with pytest.raises(SynthError, match=r"'virtual' has no FPGA; there are: .*cosmosplus"):
        utilisation.part_of(Board.load("virtual"))
    assert "virtual" not in utilisation.real_boards()


@pytest.mark.parametrize(("name", "config"), [("cosmosplus", "AssasinSb4x8"), ("daisyplus", "AssasinSb8x4")])
def test_targets(name: str, config: str, tmp_path: Path) -> None:
    """AssasinSb on the boards, out of the real RTL, with 15 % of LUTs and block RAM left."""
    board = Board.load(name)
    part = utilisation.part_of(board)
    file = tmp_path / "utilisation.json"
    (row,) = utilisation.estimate([name], [config], file=file)
    assert row.fits, row.why
    assert row.lut <= 0.85 * part.luts
    assert row.bram36 <= 0.85 * part.bram36
    # Firmware memory, per tile scratchpad, two stream buffers and instruction memory, and per channel four sectors that are read
    # and two that are programmed, are in block RAM of 4 KiB.
    blocks = (contract.TCM_SIZE // 1024 + row.cores * (3 * 64 + 32) + row.channels * (16 + 8)) / 4
    assert blocks <= row.bram36 <= 1.15 * blocks
    assert row.dsp == 4 * (row.cores + 1)
    (written,) = json.loads(file.read_text())
    assert written == {**written, "board": name, "config": config, "lut": row.lut, "fits": True}
    assert replace(row, **written) == row


def test_smaller_vector_registers() -> None:
    """The unit that a tile has is the smaller one, and a configuration without such units is told so."""
    board = Board.load("daisyplus")
    chips = {bits: utilisation.chip_of(board, "AssasinVf1x1", vector_bits=bits) for bits in (None, 64)}
    emitted = rtl.load(chips.values())
    for bits, chip in chips.items():
        ports = emitted[chip].ports("ExecutePath")
        assert f"[{(bits or 256) - 1}:0]" in ports
        assert bits is None or "[255:0]" not in ports
    with pytest.raises(SynthError, match="AssasinSb1x1 has no vector unit"):
        rtl.load([utilisation.chip_of(board, "AssasinSb1x1", vector_bits=64)])


def test_chip_without_codec() -> None:
    """The codec is most of a flash channel's logic, and all of it goes: the memory for sectors stays."""
    board = Board.load("cosmosplus")
    part = utilisation.part_of(board)
    chips = {codec: utilisation.chip_of(board, board.chip.config, codec) for codec in (True, False)}
    emitted = rtl.load(chips.values())
    channels = {}
    for codec, chip in chips.items():
        parts = [name for name in emitted[chip].texts if name.startswith("Bch")]
        assert bool(parts) == codec, parts
        netlist = units.netlist(emitted[chip], "FlashChannel", part.family)
        channels[codec] = resources.of_cells(netlist.cells)
    assert channels[False].lut < channels[True].lut / 2
    assert channels[False].ff < channels[True].ff
    # Four sectors that are read, and two that are programmed, in blocks of 4 KiB.
    assert 6 <= channels[False].bram36 <= channels[True].bram36


def test_every_architecture_is_synthesised(tmp_path: Path) -> None:
    """All architectures on four tiles, and what tells them apart; their units make up the larger configurations too."""
    configs = [config for config in utilisation.default_configs(Board.load("cosmosplus")) if config.endswith("4x8")]
    rows = {row.config: row for row in utilisation.estimate(["cosmosplus"], configs, file=tmp_path / "utilisation.json")}
    assert list(rows) == configs
    # Four L2 caches of 256 KiB beside the firmware's memory are more block RAM than a user's design should take of this part.
    full = {name: row.why for name, row in rows.items() if not row.fits}
    assert full.keys() == {"Baseline4x8", "Prefetch4x8"}
    assert all("too many BRAM36" in why for why in full.values()), full
    sb, cache, baseline = rows["AssasinSb4x8"], rows["AssasinSbCache4x8"], rows["Baseline4x8"]
    # L1 of 32 KiB and its tags, and L2 of 256 KiB, in blocks of 4 KiB.
    assert sb.bram36 + 4 * 8 <= cache.bram36 <= sb.bram36 + 4 * 10
    assert baseline.bram36 >= 4 * (64 + 256 + 32) / 4
    assert sb.lut < cache.lut < baseline.lut < rows["Prefetch4x8"].lut
    assert sb.lut < rows["AssasinSbX4x8"].lut
    # Two slots are two tiles without a processor.
    slots = rows["AssasinSbHls4x8"]
    assert 0 < slots.lut - sb.lut < sb.lut / 2
    assert slots.dsp == sb.dsp
