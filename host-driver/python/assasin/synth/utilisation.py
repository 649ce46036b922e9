# SPDX-License-Identifier: BSD-3-Clause
"""What each configuration takes of each board's FPGA, and whether it fits: build/synth/utilisation.json."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assasin.boards import Board, Part
from assasin.paper_stated import ARCHITECTURES
from assasin.synth import SynthError, cache, resources, units
from assasin.synth.resources import Resources
from assasin.synth.rtl import Chip, Rtl, load, parse
from assasin.tree import BUILD

FILE = BUILD / "synth" / "utilisation.json"
RESERVE = 0.15
"""Share of LUTs and of block RAM that a configuration must leave: for XDMA, flash PHYs and DRAM path, which are not in it, and
for placement."""
SLOTS = "AssasinSbHls"
"""AssasinSb with slots for HLS kernels; the kernels themselves are not in the figures."""
TILES = (4, 8)
"""Cores of the configurations that a board's table has."""


@dataclass(frozen=True)
class Row:
    """
    One configuration on one board. `codec`: with the channels' page codec; `why`: what limits it, or what it does not fit into;
    `vector_bits`: of a vector register, where it is not the configuration's own.
    """

    board: str
    config: str
    codec: bool
    cores: int
    channels: int
    lut: int
    ff: int
    bram36: float
    uram: int
    dsp: int
    fits: bool
    why: str
    vector_bits: int | None = None


@dataclass(frozen=True)
class UnitRow:
    """One unit of a configuration: how many there are, what one takes, and what its arrays became."""

    unit: str
    count: int
    each: Resources
    memories: dict[str, str]


def default_configs(board: Board) -> list[str]:
    """Every architecture on 4 and 8 cores and the board's channels, the board's own configuration first."""
    channels = board.nand.channels
    names = [board.chip.config]
    for architecture in (*ARCHITECTURES, SLOTS):
        sizes = [channels] if architecture == "ChannelLocal" else TILES
        names += [f"{architecture}{cores}x{channels}" for cores in sizes]
    return list(dict.fromkeys(names))


def part_of(board: Board) -> Part:
    """The board's FPGA. Raises SynthError for the virtual board."""
    if board.part is None:
        raise SynthError(f"board '{board.name}' has no FPGA; there are: {', '.join(real_boards())}")
    return board.part


def chip_of(board: Board, config: str, codec: bool = True, vector_bits: int | None = None) -> Chip:
    """The configuration with the board's number of ways and LUNs, and its width of BAR0."""
    return Chip(config, board.nand.ways, codec, board.nand.luns, board.pcie.bar0_bits, vector_bits)


def real_boards() -> list[str]:
    """The boards that have an FPGA."""
    return [name for name in Board.names() if Board.load(name).part is not None]


def unit_rows(rtl: Rtl, family: str, say: Callable[[str], None] = lambda _: None) -> list[UnitRow]:
    """The units of a configuration."""
    found = units.netlists(rtl, family, say)
    return [UnitRow(unit, n, resources.of_cells(netlist.cells), netlist.memories) for unit, (n, netlist) in found.items()]


def total(rows: Iterable[UnitRow]) -> Resources:
    """All units together."""
    return sum((row.each.times(row.count) for row in rows), Resources())


def row(board: Board, config: str, rows: Sequence[UnitRow], codec: bool = True, vector_bits: int | None = None) -> Row:
    """What the configuration takes of the board's part."""
    part = part_of(board)
    _, cores, channels = parse(config)
    sum_ = total(rows)
    fits, why = _judge(part, sum_, rows)
    if channels > board.nand.channels:
        fits, why = False, f"the board has {board.nand.channels} flash channels; {why}"
    taken = (sum_.lut, sum_.ff, sum_.bram36, sum_.uram, sum_.dsp)
    return Row(board.name, config, codec, cores, channels, *taken, fits, why, vector_bits)


def _judge(part: Part, sum_: Resources, rows: Sequence[UnitRow]) -> tuple[bool, str]:
    """Whether it fits, and the resource that decides."""
    limits = {
        "lut": (part.luts, 1 - RESERVE),
        "bram36": (part.bram36, 1 - RESERVE),
        "ff": (part.ffs, 1.0),
        "uram": (part.uram, 1.0),
        "dsp": (part.dsp, 1.0),
    }
    names = {"lut": "LUTs", "bram36": "BRAM36", "ff": "flip-flops", "uram": "UltraRAMs", "dsp": "DSP slices"}
    load_of = {
        key: getattr(sum_, key) / (most * share) if most else float(bool(getattr(sum_, key))) * 2
        for key, (most, share) in limits.items()
    }
    key = max(load_of, key=load_of.__getitem__)
    used, most = getattr(sum_, key), limits[key][0]
    left = 1 - used / most if most else -1.0
    fits = all(load <= 1 for load in load_of.values())
    largest = max(rows, key=lambda r: getattr(r.each, key) * r.count)
    share = f"{largest.count} x {largest.unit} take {getattr(largest.each, key) * largest.count:g}"
    text = f"{names[key]} are the tightest: {used:g} of {most:g}, {left:.0%} left; {share}"
    return fits, text if fits else f"too many {names[key]}: {used:g} of {most:g} with {limits[key][1]:.0%} usable; {share}"


def estimate(
    boards: Sequence[str],
    configs: Sequence[str],
    say: Callable[[str], None] = lambda _: None,
    file: Path = FILE,
    codec: bool = True,
    vector_bits: int | None = None,
) -> list[Row]:
    """Rows of these boards (default: all with an FPGA) and configurations (default: the board's table), written to `file` too."""
    chosen = [Board.load(name) for name in boards or real_boards()]
    for board in chosen:
        part_of(board)
    wanted = {board.name: list(configs) or default_configs(board) for board in chosen}
    rtl = load((chip_of(board, config, codec, vector_bits) for board in chosen for config in wanted[board.name]), say)
    rows = []
    for board in chosen:
        for config in wanted[board.name]:
            say(f"{config} for {board.name}")
            found = unit_rows(rtl[chip_of(board, config, codec, vector_bits)], part_of(board).family, say)
            rows.append(row(board, config, found, codec, vector_bits))
            # What has been estimated is kept when a long run is stopped.
            cache.write_json(file, [asdict(r) for r in rows])
    return rows


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Columns and lines for the terminal."""
    columns = ["board", "configuration", "LUT", "FF", "BRAM36", "URAM", "DSP", "fits", "why"]
    lines: list[list[Any]] = [
        [
            r.board,
            r.config,
            *(f"{value:,g}" if value < 1e6 else f"{value:,}" for value in (r.bram36, r.uram, r.dsp)),
            "yes" if r.fits else "NO",
            r.why,
        ]
        for r in rows
    ]
    for line, r in zip(lines, rows, strict=True):
        line[2:2] = [f"{r.lut:,}", f"{r.ff:,}"]
    return columns, lines
