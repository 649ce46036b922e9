# SPDX-License-Identifier: BSD-3-Clause
"""A board: its file, read and checked as a whole."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from assasin.boards.model import KINDS, Chip, Clock, Dram, Nand, Part, Pcie, Program, Ps, Sensor
from assasin.boards.pins import Pin, read_pins
from assasin.boards.record import BoardFileError, read
from assasin.tree import ROOT

BOARDS = ROOT / "board"
"""One folder a board."""

_TABLES = ("part", "pcie", "clock", "dram", "nand", "chip", "ps", "sensors", "program")
_CHIP_WINDOW = 0x80000000
_WINDOW_STEP = 16 << 20
"""board/common/dram compares the upper eight address bits."""


@dataclass(frozen=True)
class Board:
    """A board as its file describes it."""

    name: str
    title: str
    kind: str
    """virtual, zynq7 or zynqmp."""
    folder: Path
    """Where its file is."""
    part: Part | None
    """None for the virtual board."""
    pcie: Pcie
    clock: Clock
    dram: Dram
    nand: Nand
    chip: Chip
    sensors: tuple[Sensor, ...]
    program: Program
    ps: Ps | None
    """None for the virtual board."""
    pins: tuple[Pin, ...]
    """Pins of the top level; empty for the virtual board."""

    @property
    def is_virtual(self) -> bool:
        """The simulator, not a device."""
        return self.kind == "virtual"

    @staticmethod
    def names(boards: Path = BOARDS) -> tuple[str, ...]:
        """Boards there are, sorted."""
        return tuple(sorted(path.parent.name for path in boards.glob("*/board.toml")))

    @staticmethod
    def load(name: str, boards: Path = BOARDS) -> Board:
        """The board called `name`, out of `boards`/NAME/board.toml. Raises BoardFileError."""
        folder = boards / name
        path = folder / "board.toml"
        if name not in Board.names(boards):
            raise BoardFileError(f"there is no board '{name}'; there are: {', '.join(Board.names(boards))}")
        label = f"{boards.name}/{name}/board.toml"
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
            raise BoardFileError(f"{label}: {e}") from e
        return _checked(_build(data, folder, label), label)


def _build(data: Mapping[str, object], folder: Path, label: str) -> Board:
    known = ("name", "title", "kind", *_TABLES)
    for key in data:
        if key not in known:
            raise BoardFileError(f"{label}: there is no item '{key}'; there are: {', '.join(known)}")

    def text(key: str) -> str:
        value = data.get(key)
        if not isinstance(value, str) or not value:
            raise BoardFileError(f"{label}: {key} is {value!r}, must be a string")
        return value

    def table(key: str) -> object:
        if key not in data:
            raise BoardFileError(f"{label}: table [{key}] is missing")
        return data[key]

    if text("name") != folder.name:
        raise BoardFileError(f"{label}: name is '{data['name']}', must be that of its folder, '{folder.name}'")
    kind = text("kind")
    if kind not in KINDS:
        raise BoardFileError(f"{label}: kind is '{kind}', must be one of: {', '.join(KINDS)}")
    sensors = data.get("sensors", [])
    if not isinstance(sensors, list):
        raise BoardFileError(f"{label}: sensors must be an array of tables, [[sensors]]")
    pins = folder / "pins.csv"
    if kind != "virtual" and not pins.exists():
        raise BoardFileError(f"{label}: pins.csv is missing next to it")
    return Board(
        name=folder.name,
        title=text("title"),
        kind=kind,
        folder=folder,
        part=None if kind == "virtual" and "part" not in data else read(Part, table("part"), f"{label} [part]"),
        pcie=read(Pcie, table("pcie"), f"{label} [pcie]"),
        clock=read(Clock, table("clock"), f"{label} [clock]"),
        dram=read(Dram, table("dram"), f"{label} [dram]"),
        nand=read(Nand, table("nand"), f"{label} [nand]"),
        chip=read(Chip, table("chip"), f"{label} [chip]"),
        sensors=tuple(read(Sensor, s, f"{label} [[sensors]] {i}") for i, s in enumerate(sensors)),
        program=read(Program, table("program"), f"{label} [program]"),
        ps=None if kind == "virtual" and "ps" not in data else read(Ps, table("ps"), f"{label} [ps]"),
        pins=read_pins(pins, f"{label.rpartition('/')[0]}/pins.csv") if kind != "virtual" else (),
    )


def _checked(board: Board, label: str) -> Board:
    """What one item alone cannot tell."""
    _check_chip(board, label)
    _check_dram(board, label)
    names = [s.name for s in board.sensors]
    for name in names:
        if names.count(name) > 1:
            raise BoardFileError(f"{label} [[sensors]]: two are called '{name}'; give each a name of its own")
    for sensor in board.sensors:
        if sensor.driver in ("ina226", "pmbus") and (sensor.bus is None or sensor.address is None):
            raise BoardFileError(f"{label} [[sensors]] {sensor.name}: driver {sensor.driver} needs bus and address")
        if sensor.driver == "ina226" and sensor.shunt_uohm is None:
            raise BoardFileError(f"{label} [[sensors]] {sensor.name}: driver ina226 needs shunt_uohm")
        if (sensor.mux is None) != (sensor.mux_port is None):
            raise BoardFileError(f"{label} [[sensors]] {sensor.name}: mux and mux_port belong together")
    if board.is_virtual != (board.program.tool == "virtual"):
        raise BoardFileError(f"{label} [program] tool: '{board.program.tool}' does not fit a board of kind {board.kind}")
    if board.nand.module not in board.nand.modules:
        raise BoardFileError(f"{label} [nand] module: '{board.nand.module}' is not one of modules: {', '.join(board.nand.modules)}")
    if board.is_virtual:
        return board
    if not board.pcie.block:
        raise BoardFileError(f"{label} [pcie]: block is missing")
    if board.nand.emulated:
        if board.kind != "zynqmp":
            raise BoardFileError(f"{label} [nand] emulated: its store needs the 40-bit addresses of a board of kind zynqmp")
        if board.nand.store_base is None or board.nand.store_bytes is None:
            raise BoardFileError(f"{label} [nand]: emulated NAND needs store_base and store_bytes")
    elif board.nand.phy is None or board.clock.phy_mhz is None or board.nand.vccio_mv is None:
        raise BoardFileError(f"{label}: NAND that is not emulated needs [nand] phy and vccio_mv, and [clock] phy_mhz")
    elif board.clock.phy_mhz not in (2 * board.clock.core_mhz, 4 * board.clock.core_mhz):
        raise BoardFileError(
            f"{label} [clock] phy_mhz: is {board.clock.phy_mhz}, must be 2 or 4 times core_mhz, {board.clock.core_mhz}"
        )
    return board


def _check_chip(board: Board, label: str) -> None:
    match = re.fullmatch(r"[A-Za-z]+(\d+)x(\d+)", board.chip.config)
    if not match:
        raise BoardFileError(f"{label} [chip] config: '{board.chip.config}' is not <Architecture><cores>x<channels>")
    channels = int(match[2])
    if channels > board.nand.channels:
        raise BoardFileError(
            f"{label} [chip] config: '{board.chip.config}' has {channels} channels, [nand] channels is {board.nand.channels}"
        )


def _check_dram(board: Board, label: str) -> None:
    dram = board.dram
    if dram.kind == "model":
        return
    if not dram.windows:
        raise BoardFileError(f"{label} [dram]: no [[dram.window]] says where the drive's memory is")
    spans = [("Linux", 0, dram.linux_bytes)]
    if board.nand.emulated and board.nand.store_base is not None and board.nand.store_bytes is not None:
        spans.append(("the NAND store", board.nand.store_base, board.nand.store_bytes))
    offsets: list[tuple[int, int]] = []
    for i, window in enumerate(dram.windows):
        if window.offset + window.bytes > _CHIP_WINDOW:
            raise BoardFileError(f"{label} [[dram.window]] {i}: ends past the chip's DRAM window of 0x{_CHIP_WINDOW:X} bytes")
        if any(value % _WINDOW_STEP for value in (window.offset, window.bytes, window.physical)):
            raise BoardFileError(f"{label} [[dram.window]] {i}: offset, bytes and physical must be multiples of 16 MiB")
        for start, end in offsets:
            if window.offset < end and start < window.offset + window.bytes:
                raise BoardFileError(f"{label} [[dram.window]] {i}: offset 0x{window.offset:X} overlaps another window")
        offsets.append((window.offset, window.offset + window.bytes))
        spans.append((f"window {i}", window.physical, window.bytes))
    spans.sort(key=lambda span: span[1])
    for (name, base, size), (next_name, next_base, _) in pairwise(spans):
        if base + size > next_base:
            raise BoardFileError(f"{label} [dram]: {name} and {next_name} overlap at physical 0x{next_base:X}")
    total = sum(size for _, _, size in spans)
    if total > dram.bytes:
        raise BoardFileError(f"{label} [dram]: Linux, windows and stores need 0x{total:X} bytes, bytes is 0x{dram.bytes:X}")
