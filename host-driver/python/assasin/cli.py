# SPDX-License-Identifier: BSD-3-Clause
"""The `assasin` command."""

from __future__ import annotations

import dataclasses
import errno
import importlib
import io
import itertools
import json
import os
import re
import select
import socket
import sys
import termios
import tty
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from assasin import access as accesses
from assasin import failures, kernel, later, outfile, paper_stated, terminal
from assasin.board import ARCHITECTURES, DEFAULT_CONFIG, PROFILES, Board, BoardError, NativeBoard, board_of, described
from assasin.builtin import BUILTIN
from assasin.drive import Access, Drive, DriveError, Extent, Piece
from assasin.errors import OffloadError
from assasin.helpful import HelpfulGroup, print_version
from assasin.job import Job
from assasin.media import Media
from assasin.terminal import human_bytes, percent
from assasin.tree import ROOT, contract

if TYPE_CHECKING:
    import numpy as np

    from assasin import bench as benchmarks
    from assasin import (
        cut,
        descriptions,
        files,
        free_blocks,
        ftl_bench,
        functions,
        lz4_frame,
        offloads,
        perf,
        random_reads,
        result_table,
        varve_bench,
        varve_data,
        varve_train,
        vm_suite,
    )
    from assasin import paper as paper_bench
    from assasin import vm as guests
    from assasin import vm_image as guest_images
    from assasin.cut import Plan, Source, Table
    from assasin.descriptions import Results
else:
    np = later.module("numpy")
    benchmarks = later.module("assasin.bench")
    cut = later.module("assasin.cut")
    descriptions = later.module("assasin.descriptions")
    files = later.module("assasin.files")
    free_blocks = later.module("assasin.free_blocks")
    ftl_bench = later.module("assasin.ftl_bench")
    functions = later.module("assasin.functions")
    guest_images = later.module("assasin.vm_image")
    guests = later.module("assasin.vm")
    lz4_frame = later.module("assasin.lz4_frame")
    offloads = later.module("assasin.offloads")
    paper_bench = later.module("assasin.paper")
    perf = later.module("assasin.perf")
    random_reads = later.module("assasin.random_reads")
    result_table = later.module("assasin.result_table")
    varve_bench = later.module("assasin.varve_bench")
    varve_data = later.module("assasin.varve_data")
    varve_train = later.module("assasin.varve_train")
    vm_suite = later.module("assasin.vm_suite")


class Size(click.ParamType):
    """Bytes: a number, hexadecimal too, with an optional unit K, M, G, T (binary)."""

    name = "bytes"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click.ParamType."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(0x[0-9a-fA-F]+|\d+)\s*([kKmMgGtT]?)(i?[bB])?", str(value))
        if not match:
            self.fail(f"'{value}' is not a number of bytes: write for example 4096, 0x1000, 64K or 4M", param, ctx)
        return int(match[1], 0) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[match[2].lower()]


class ExtentType(click.ParamType):
    """LBA:COUNT."""

    name = "lba:count"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Extent:
        """See click.ParamType."""
        if isinstance(value, Extent):
            return value
        try:
            lba, count = (int(x, 0) for x in str(value).split(":"))
        except ValueError:
            self.fail(f"'{value}' is not LBA:COUNT, for example 128:16", param, ctx)
        return Extent(lba, count)


class Hex(click.ParamType):
    """Bytes in hexadecimal."""

    name = "hex"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """See click.ParamType."""
        if isinstance(value, bytes):
            return value
        try:
            return bytes.fromhex(str(value))
        except ValueError:
            self.fail(f"'{value}' is not a string of hexadecimal bytes, for example 3e220000", param, ctx)


class ConfigName(click.ParamType):
    """<architecture><cores>x<channels>."""

    name = "config"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """See click.ParamType."""
        match = re.fullmatch(r"([A-Za-z]+)[1-9]\d*x[1-9]\d*", str(value))
        if not match:
            self.fail(f"'{value}' is not <architecture><cores>x<channels>, for example {DEFAULT_CONFIG}", param, ctx)
        if match[1] not in ARCHITECTURES:
            there_are = ", ".join(ARCHITECTURES)
            self.fail(f"'{value}': there is no architecture '{match[1]}'; there are: {there_are}", param, ctx)
        return str(value)


class KernelType(click.ParamType):
    """SLOT=FILE."""

    name = "slot=file"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, Path]:
        """See click.ParamType."""
        if isinstance(value, tuple):
            return value
        slot, sign, path = str(value).partition("=")
        if not sign or not slot.isdecimal() or not path:
            self.fail(f"'{value}' is not SLOT=FILE, for example 0=build/hls/fgrep8/fgrep8.so", param, ctx)
        if not Path(path).is_file():
            self.fail(f"there is no file {path}; assasin hls build makes a kernel's shared object", param, ctx)
        return int(slot), Path(path)


class Listed(click.ParamType):
    """Comma-separated names out of a list."""

    name = "name,name,..."

    def __init__(self, names: Sequence[str] | Callable[[], Sequence[str]]) -> None:
        self._names = names

    @property
    def names(self) -> Sequence[str]:
        """What there is; asked for when it is needed."""
        return self._names() if callable(self._names) else self._names

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """See click.ParamType."""
        if isinstance(value, tuple):
            return value
        chosen = tuple(str(value).split(","))
        for c in chosen:
            if c not in self.names:
                self.fail(f"there is no '{c}'; there are: {', '.join(self.names)}", param, ctx)
        return chosen


class Counts(click.ParamType):
    """Comma-separated numbers."""

    name = "n,n,..."

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """See click.ParamType."""
        if isinstance(value, tuple):
            return value
        try:
            counts = tuple(int(x) for x in str(value).split(","))
        except ValueError:
            self.fail(f"'{value}' is not a list of numbers, for example 1,2,4,8", param, ctx)
        if any(c < 1 for c in counts):
            self.fail(f"'{value}': 1 is the least", param, ctx)
        return counts


LBA = click.IntRange(min=0)
DEFAULT_NAME = "virtual"
name_option = click.option(
    "--name", default=DEFAULT_NAME, show_default=True, envvar="ASSASIN_BOARD", show_envvar=True, help="Which board."
)
board_option = click.option(
    "--board",
    "kind",
    type=click.Choice([Board.KIND, NativeBoard.KIND]),
    default=Board.KIND,
    show_default=True,
    help="Kind of board to start.",
)
native_name_option = click.option("--name", default="native", show_default=True, help="Which board.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command has."""
    return name_option(json_option(command))


def open_drive(name: str) -> tuple[Board, Drive]:
    """Connects to a running board's drive."""
    board = Board(name).require()
    with terminal.spinner(f"connecting to {name}"):
        try:
            return board, Drive(board.address)
        except DriveError as e:
            visitor = board.visitor()
            if e.code != errno.EBUSY or visitor is None:
                raise
            raise DriveError(
                e.code, f"{visitor} uses the drive of '{name}', which has one user at a time: wait for it or end it"
            ) from e


class Command(click.Command):
    """A command whose errors become a message and an exit code; with --json they are JSON too, and waits print no lines."""

    def invoke(self, ctx: click.Context) -> object:
        """See click.Command."""
        as_json = bool(ctx.params.get("as_json"))
        terminal.lines = not as_json
        with failures.reported(as_json):
            return super().invoke(ctx)
        return None


@dataclass(frozen=True)
class Later:
    """A command of another module, which is loaded when the command is named."""

    module: str
    summary: str
    """The command's own first sentence, for the help of the group."""


class Group(HelpfulGroup):
    """A group of such commands. `later`: commands of other modules by name."""

    command_class = Command
    group_class = type
    later: Mapping[str, Later] = MappingProxyType({})
    complete: Callable[[], None] | None = None
    """Adds commands that are not named in `later`: called once, when one is wanted that is not known yet, or all are."""

    def _completed(self) -> None:
        if self.complete is not None:
            call, self.complete = self.complete, None
            call()

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        """See HelpfulGroup: loads no module for it."""
        loaded = [n for n in self.list_commands(ctx) if n in self.commands or n not in self.later]
        known = [(name, of.summary) for name, of in self.later.items() if name not in loaded]
        return sorted([*self.summaries_of(ctx, loaded), *known])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """See click.Group."""
        self._completed()
        return sorted({*self.commands, *self.later})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See click.Group."""
        if cmd_name not in self.commands and cmd_name in self.later:
            self.add_command(getattr(importlib.import_module(self.later[cmd_name].module), cmd_name))
        if cmd_name not in self.commands:
            self._completed()
        return super().get_command(ctx, cmd_name)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=print_version, help="Print version and commit, and end."
)
def cli() -> None:
    """Flash, use and measure ASSASIN computational SSDs."""


@cli.group()
def flash() -> None:
    """Put a configuration on a board and start it."""


_MEDIUM_OPTIONS = (
    click.option("--profile", default=PROFILES[0], show_default=True, help="What a cycle is worth: board/virtual/profiles."),
    click.option(
        "--nand", type=click.Path(path_type=Path, file_okay=False), help="Folder of the NAND's contents; made when it is not there."
    ),
    click.option(
        "--media",
        multiple=True,
        metavar="KEY=VALUE,...",
        help="How badly the NAND behaves, such as rber=1e-4,factory-bad=0.02,seed=7: board/virtual/nand/README.md has the keys.",
    ),
    click.option(
        "--nand-age",
        type=click.FloatRange(0, 1e6),
        default=0,
        metavar="HOURS",
        help="The NAND has lain that long since it was used last.",
    ),
    click.option("--format", "format_", is_flag=True, help="Erase the NAND's contents."),
    click.option("--serial", metavar="SERIAL", help="Serial number of the drive from now on: twelve hexadecimal digits."),
    click.option(
        "--spare",
        type=click.IntRange(2, 90),
        metavar="PERCENT",
        help="How much of a new or erased NAND the drive keeps back for itself, 2 to 90. Without it: 7.",
    ),
    click.option(
        "--parity",
        type=click.Choice(("on", "off")),
        help="Whether a new or erased NAND gets parity over dies: data outlive a die. It takes three. Without it: from eight on.",
    ),
    click.option("--stop", is_flag=True, help="Only stop the board that runs."),
)


def medium_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that virtual and native boards have: profile, NAND, serial number, end."""
    for option in reversed(_MEDIUM_OPTIONS):
        command = option(command)
    return command


@flash.command("virtual")
@click.argument("package", metavar="[IMAGE]", required=False)
@click.option(
    "--config",
    type=ConfigName(),
    help=f"Architecture, cores x channels: {', '.join(ARCHITECTURES)}. Default: IMAGE's, or {DEFAULT_CONFIG}.",
)
@medium_options
@click.option("--image", "old_nand", type=click.Path(path_type=Path, file_okay=False), hidden=True)
@click.option(
    "--kernel", "kernels", type=KernelType(), multiple=True, help="Put a kernel's shared object (assasin hls build) into a slot."
)
@common
def flash_virtual(
    package: str | None,
    config: str | None,
    profile: str,
    nand: Path | None,
    media: tuple[str, ...],
    nand_age: float,
    old_nand: Path | None,
    format_: bool,
    serial: str | None,
    spare: int | None,
    parity: str | None,
    kernels: tuple[tuple[int, Path], ...],
    stop: bool,
    name: str,
    as_json: bool,
) -> None:
    """
    Start the virtual board, in the background; a running one of this name is stopped first.

    IMAGE: a packaged simulator, a name in bitstreams/ or a folder. Without it the one that scripts/build has built, which is
    packaged if it is not yet. Either is verified against its manifest.
    """
    from assasin.bitstreams.commands import checked

    if len(dict(kernels)) != len(kernels):
        raise click.UsageError("--kernel: a slot is named twice")
    if old_nand is not None:
        if nand is not None:
            raise click.UsageError("--image is an old name of --nand: leave it out")
        terminal.err.print("assasin: --image is an old name of --nand: use --nand", style="yellow")
        nand = old_nand
    board = Board(name)
    if stop:
        _stop(board, as_json)
        return
    verified = checked(package, "virtual") if package else None
    if verified and config not in (None, verified.manifest.config):
        raise click.UsageError(f"--config {config}: {package} is {verified.manifest.config}; leave --config out")
    config = verified.manifest.config if verified else config or DEFAULT_CONFIG
    _start(
        board,
        as_json,
        lambda say: board.start(
            config,
            profile,
            nand,
            format_,
            dict(kernels),
            tick=say,
            package=verified,
            serial=serial,
            media=",".join(media),
            nand_age=nand_age,
            spare=spare or 0,
            parity=_switch(parity),
        ),
    )


@flash.command("native")
@click.option("--config", type=ConfigName(), default=DEFAULT_CONFIG, show_default=True, help="Architecture, cores x channels.")
@medium_options
@native_name_option
@json_option
def flash_native(
    config: str,
    profile: str,
    nand: Path | None,
    media: tuple[str, ...],
    nand_age: float,
    format_: bool,
    serial: str | None,
    spare: int | None,
    parity: str | None,
    stop: bool,
    name: str,
    as_json: bool,
) -> None:
    """
    Start the native board, in the background: the firmware as a program of this computer, on the virtual board's NAND model.

    Hundreds of times faster, with the same bytes; its cycles are estimates (board/native/README.md). `scripts/build native`
    builds it.
    """
    board = NativeBoard(name)
    if stop:
        _stop(board, as_json)
        return
    _start(
        board,
        as_json,
        lambda say: board.start(
            config,
            profile,
            nand,
            format_,
            tick=say,
            serial=serial,
            media=",".join(media),
            nand_age=nand_age,
            spare=spare or 0,
            parity=_switch(parity),
        ),
    )


def _switch(value: str | None) -> bool | None:
    """What an option that is on, off or not given says."""
    return None if value is None else value == "on"


def _stop(board: Board, as_json: bool) -> None:
    with terminal.spinner(f"stopping {board.name}"):
        stopped = board.stop()
    if as_json:
        terminal.dump({"stopped": stopped})
    else:
        terminal.out.print(f"stopped {board.name}" if stopped else f"no board was running under the name '{board.name}'")


def _start(board: Board, as_json: bool, start: Callable[[Callable[[str], None]], object]) -> None:
    """Has `start` start the board, and says what it is."""
    with terminal.spinner("starting") as say:
        start(say)
        say("waiting for the firmware")
        with Drive(board.address) as drive:
            info = drive.info
            fault = None if info.blocks else Media(drive.media()).fault
    status = board.status()
    if as_json:
        terminal.dump({"board": status, "drive": asdict(info)})
        return
    size = f"no namespace of blocks ({fault})" if fault else human_bytes(info.blocks * info.block_bytes)
    option = "" if board.name == DEFAULT_NAME else f" --name {board.name}"
    terminal.out.print(
        f"{status['config']} serves as '{board.name}': {size}, {info.cores} cores, {info.channels} channels; "
        f"next: assasin info{option}",
        soft_wrap=True,
    )


@cli.command()
@common
def info(name: str, as_json: bool) -> None:
    """What the drive is and what it has done."""
    try:
        board, drive = open_drive(name)
    except DriveError as e:
        if e.code != errno.EBUSY:
            raise
        _print_busy(Board(name), as_json)
        return
    with drive:
        counters = drive.perf()
        medium = Media(drive.media())
        i = drive.info
        slots = drive.slots()
    status = board.status()
    titles = {ident: title for ident, title in zip(slots, status.get("slots", []), strict=False) if title}
    kernels = [kernel.title(ident, titles) for ident in slots]
    values = {
        "media_reads": counters.media_reads,
        "media_programs": counters.media_programs,
        "media_erases": counters.media_erases,
        "nvme_commands": counters.nvme_commands,
        "pages_streamed": counters.fw_stream_pages,
        "clock": counters.time,
    }
    if as_json:
        held = [{"slot": n, "id": ident, "kernel": kernels[n] if ident else None} for n, ident in enumerate(slots)]
        terminal.dump({"board": status, "drive": asdict(i), "slots": held, "counters": values, "media": medium.json()})
        return
    capacity = f"{human_bytes(i.blocks * i.block_bytes)} = {i.blocks:,} blocks of {i.block_bytes} bytes"
    if not i.blocks:
        capacity = f"none, the drive has no namespace of blocks: {medium.fault}. `assasin console --log` says more"
    limit = "unknown"
    if counters.bus_cycles_page:
        rate = counters.channels * counters.page_bytes / counters.bus_cycles_page
        limit = f"{rate:.2f} bytes a cycle ({counters.bus_cycles_page} bus cycles a block of {counters.page_bytes:,} bytes)"
    terminal.pairs(
        f"{i.model} on board '{name}'",
        [
            ("board", described(status)),
            ("simulation speed", f"{status['khz']:.0f} kHz since start"),
            ("serial, firmware", f"{i.serial}, {i.firmware}"),
            ("capacity", capacity),
            ("cores", f"{i.cores} ASSASIN cores"),
            ("slots", ", ".join(f"{n}: {held}" for n, held in enumerate(kernels)) or "none in this configuration"),
            ("flash", f"{i.channels} channels x {i.ways} ways"),
            *medium.rows(),
            ("channels' limit", limit),
            ("transfers", f"at most {human_bytes(i.transfer_bytes)} a command, {i.queue_depth} commands in flight"),
            (
                "NAND",
                f"{values['media_reads']:,} page reads, {values['media_programs']:,} programs, {values['media_erases']:,} erases",
            ),
            ("served", f"{values['nvme_commands']:,} NVMe commands, {values['pages_streamed']:,} pages to cores"),
            ("clock", f"{values['clock']:,} cycles"),
        ],
    )


def _print_busy(board: Board, as_json: bool) -> None:
    """What the board itself says while somebody else uses the drive."""
    status = board.status()
    visitor = board.visitor() or "another process"
    if as_json:
        terminal.dump({"board": status, "busy": visitor})
        return
    values = [
        ("drive", f"busy: {visitor} uses it"),
        ("board", described(status)),
        ("simulation speed", f"{status['khz']:.0f} kHz since start"),
        ("clock", f"{status['timebase']:,} cycles"),
    ]
    for what, key in (("flash, read", "flash_read_bytes"), ("flash, written", "flash_program_bytes")):
        if key in status:
            values.append((what, f"{human_bytes(status[key])} since start"))
    values.append(("PCIe", f"{human_bytes(status['h2c_bytes'])} to the drive, {human_bytes(status['c2h_bytes'])} to the host"))
    if status["firmware_trapped"]:
        values.append(("firmware", f"stopped on a trap, cause {status['firmware_cause']} at PC {status['firmware_pc']:#x}"))
    terminal.pairs(f"board '{board.name}'", values)


class AccessType(click.ParamType):
    """LBA:BLOCKS:RIGHTS."""

    name = "lba:blocks:rights"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Access:
        """See click.ParamType."""
        if isinstance(value, Access):
            return value
        try:
            return accesses.parsed(str(value))
        except ValueError as e:
            self.fail(str(e), param, ctx)


@cli.command()
@click.argument("ranges", type=AccessType(), nargs=-1)
@click.option("--session", type=click.IntRange(1, 65535), help="Limit this session; without it those that are opened from now on.")
@click.option("--all", "everything", is_flag=True, help="All blocks again.")
@click.option("--none", "nothing", is_flag=True, help="No block at all.")
@click.option("--end", type=click.IntRange(1, 65535), help="End this session: its jobs stop, its functions go.")
@common
def access(
    ranges: tuple[Access, ...], session: int | None, everything: bool, nothing: bool, end: int | None, name: str, as_json: bool
) -> None:
    """
    Limit the blocks that offloads may touch to RANGES, each LBA:BLOCKS:RIGHTS with rights r, w or rw, at most 8; without any, show
    what the drive's sessions may touch. A limit for sessions to come lasts until the drive loses its power.
    """
    if sum((bool(ranges), everything, nothing, end is not None)) > 1:
        raise click.UsageError("RANGES, --all, --none and --end exclude each other")
    if session is not None and not (ranges or everything or nothing):
        raise click.UsageError("--session: say what it may touch: RANGES, --all or --none")
    _, drive = open_drive(name)
    with drive:
        if end is not None:
            drive.end_session(end)
        elif ranges or everything or nothing:
            drive.limit(session or 0, None if everything else list(ranges))
        found = drive.sessions()
    if as_json:
        terminal.dump({"sessions": [accesses.as_json(s) for s in found]})
        return
    rows = [
        [
            str(s.number or "new ones"),
            str(s.queue or "any"),
            str(s.functions),
            str(s.requests),
            accesses.said(accesses.ranges_of(s)),
        ]
        for s in found
    ]
    terminal.table("sessions", ["session", "queue", "functions", "jobs", "may touch"], rows)


@cli.command()
@click.argument("lba", type=LBA)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@common
def write(lba: int, file: Path, name: str, as_json: bool) -> None:
    """Write FILE to the drive from block LBA on; the last block is padded with zeros."""
    data = file.read_bytes()
    if not data:
        raise click.UsageError(f"{file} is empty: there is nothing to write")
    _, drive = open_drive(name)
    with drive:
        with terminal.bytes_bar(f"writing {file.name}", len(data)) as progress:
            blocks = drive.write(lba, data, progress)
        drive.flush()
    if as_json:
        terminal.dump({"lba": lba, "blocks": blocks, "bytes": len(data)})
    else:
        terminal.out.print(f"{len(data):,} bytes in blocks {lba}..{lba + blocks - 1}")


@cli.command()
@click.argument("lba", type=LBA)
@click.argument("length", metavar="BYTES", type=Size())
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@common
def read(lba: int, length: int, file: Path, name: str, as_json: bool) -> None:
    """Read BYTES from block LBA on into FILE."""
    if length == 0:
        raise click.UsageError("BYTES is 0: there is nothing to read")
    outfile.require(file)
    _, drive = open_drive(name)
    with drive:
        inside = lba * drive.info.block_bytes + length <= drive.info.blocks * drive.info.block_bytes
        with outfile.whole(file, length if inside else 0) as target:
            with terminal.bytes_bar(f"reading into {file.name}", length) as progress:
                data = drive.read(lba, length, progress)
            target.write(data)
    if as_json:
        terminal.dump({"lba": lba, "bytes": len(data), "file": str(file)})
    else:
        terminal.out.print(f"{len(data):,} bytes from block {lba} on in {file}")


@dataclasses.dataclass(frozen=True)
class StreamOption:
    """An input stream as it is named on the command line: blocks, or a file of the host's."""

    table: Table | None
    path: Path | None

    def source(self) -> Table | bytes:
        """The stream."""
        if self.table is not None:
            return self.table
        assert self.path is not None
        return self.path.read_bytes()


class StreamType(click.ParamType):
    """LBA:BYTES or a file."""

    name = "lba:bytes|file"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> StreamOption:
        """See click.ParamType."""
        if isinstance(value, StreamOption):
            return value
        text = str(value)
        match = re.fullmatch(r"(\d+|0x[0-9a-fA-F]+):(.+)", text)
        if match and not Path(text).exists():
            length = Size().convert(match[2], param, ctx)
            return StreamOption(cut.Table([Extent(int(match[1], 0), -(-length // 4096))], length), None)
        if not Path(text).is_file():
            self.fail(f"'{text}' is neither LBA:BYTES, for example 128:1M, nor a file", param, ctx)
        return StreamOption(None, Path(text))


def _sources(
    drive: Drive, streams: tuple[StreamOption, ...], extents: tuple[Extent, ...], lba: int | None, length: int | None
) -> list[Source]:
    """The input streams."""
    block = drive.info.block_bytes
    if streams and lba is None and length is None and not extents:
        return [s.source() for s in streams]
    if lba is not None and length is not None and not extents and not streams:
        extents = (Extent(lba, -(-length // block)),)
    elif extents and lba is None and not streams:
        length = length if length is not None else sum(e.count for e in extents) * block
    else:
        raise click.UsageError(
            "say what to run on: --lba LBA --bytes BYTES, or --extent LBA:COUNT once or more, "
            "or --stream LBA:BYTES (or --stream FILE) once or more"
        )
    assert length is not None
    if length == 0:
        raise click.UsageError("--bytes 0: there is nothing to run on")
    return [cut.Table(extents, length)]


@cli.command()
@click.argument("function")
@click.option("--lba", type=LBA, help="First block of the input.")
@click.option("--bytes", "length", type=Size(), help="Length of the input.")
@click.option("--extent", "extents", type=ExtentType(), multiple=True, help="Blocks of the input; may be given many times.")
@click.option(
    "--stream", "streams", type=StreamType(), multiple=True, help="An input stream, blocks or a file; once for every stream."
)
@click.option(
    "--file",
    "held",
    type=click.Path(path_type=Path),
    help="A file in a file system on the drive, which the kernel's nvme driver has: read inside the drive, at its blocks.",
)
@click.option("--in-drive", is_flag=True, help="With --file: refuse a file that the host would have to feed (holes, inline, ...).")
@click.option(
    "--pieces",
    type=click.IntRange(1, 1024),
    help="Pieces to divide the input into; default one a core where the function's input can be cut, of a kernel one.",
)
@click.option("--cores", type=click.IntRange(min=0), default=0, help="Cores to use at once; 0 = all.")
@click.option(
    "--record", type=click.IntRange(min=1), help="Bytes that must not be cut between pieces, besides what the function needs."
)
@click.option("--args", type=Hex(), default=b"", help="Arguments as hexadecimal bytes.")
@click.option("--args-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A file with the arguments' bytes.")
@click.option("--outputs", type=click.IntRange(0, 8), help="Output streams of a piece; default what the function has, else 1.")
@click.option(
    "--to",
    type=ExtentType(),
    multiple=True,
    help="Blocks that the output is written under, once for every output stream; needs one piece.",
)
@click.option(
    "--limit-kcycles",
    "watchdog",
    type=click.IntRange(1, contract.SCOMP_WATCHDOG_MAX_KCYCLES),
    default=contract.SCOMP_WATCHDOG_KCYCLES,
    show_default=True,
    help="1,000 cycles that a piece may run before it is stopped.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="File for the output, - for stdout; stream N > 0 goes to FILE.N."
)
@click.option("--dtype", help="The output is an array of this numpy type, for example <i4: --out FILE gets it as a .npy file.")
@common
def run(
    function: str,
    lba: int | None,
    length: int | None,
    extents: tuple[Extent, ...],
    streams: tuple[StreamOption, ...],
    held: Path | None,
    in_drive: bool,
    pieces: int | None,
    cores: int,
    record: int | None,
    args: bytes,
    args_file: Path | None,
    outputs: int | None,
    to: tuple[Extent, ...],
    watchdog: int,
    out: Path | None,
    dtype: str | None,
    name: str,
    as_json: bool,
) -> None:
    """
    Run FUNCTION, the name of an offload (scan, stat, filter, aes, raid6, ...), an ELF file, or the kernel.toml of a kernel that is
    in a slot, over blocks of the drive or files.

    Arguments and outputs are the offload's own: firmware/offload/README.md. From Python there is a call for each function.
    """
    args = args_file.read_bytes() if args_file is not None else args
    _check_dtype(dtype, out)
    if out is not None and str(out) != "-":
        outfile.require(out)
    if held is not None:
        if lba is not None or length is not None or extents or streams or to:
            raise click.UsageError("--file is the whole input: leave out --lba, --bytes, --extent, --stream and --to")
        _run_file(function, held, in_drive, args, outputs, pieces or 0, record or 0, cores, watchdog, out, dtype, as_json)
        return
    board, drive = open_drive(name)
    with drive:
        loaded = offloads.load(drive, function)
        _check_cores(drive, cores)
        sources = _sources(drive, streams, extents, lba, length)
        usual = 1 if to else cores or offloads.default_pieces(drive, loaded)
        planned = cut.plan(function, sources, drive.info.block_bytes, usual, args, len(to) if to else outputs, pieces, record)
        inputs = planned.inputs
        if to and len(inputs) != 1:
            raise click.UsageError(f"--to writes the output of one piece, this job has {len(inputs)}: add --pieces 1")
        job = Job(0, inputs, [[[e] for e in to]] if to else None, planned.call.outputs, planned.args, cores, watchdog)
        total = sum(map(cut.length_of, sources))
        with terminal.spinner(f"running {function} on {human_bytes(total)}"), drive.function(loaded) as named:
            done = drive.run_job(replace(job, function=named))
        if planned.call.name == "lz4_decompress" and not to and all(p.ok for p in done):
            functions.lz4_check(drive, sources[0], done[0].outputs[0])
    figures = perf.job_figures(done)
    results = _finish(planned, done, out, dtype, bool(to))
    if as_json:
        terminal.dump({"figures": asdict(figures), "pieces": [_piece_json(function, p) for p in done]} | _result_json(results))
    else:
        _print_run(function, done, figures, board.status()["ns_per_cycle"], out, results)
    _check(function, done, watchdog)


def _check(function: str, done: list[Piece], watchdog: int) -> None:
    """Raises OffloadError when a piece failed; when it took too long, with the limit it had."""
    try:
        offloads.check(function, done)
    except OffloadError as e:
        if not any(p.status == contract.SCOMP_STATUS_WATCHDOG for p in done):
            raise
        limit = f"a piece may run {watchdog:,},000 cycles; if it does not loop for ever, raise --limit-kcycles"
        raise OffloadError(f"{e}; {limit}") from e


def _check_cores(drive: Drive, cores: int) -> None:
    if cores > drive.info.cores:
        raise click.UsageError(f"--cores {cores}: this drive has {drive.info.cores} cores")


def _finish(planned: Plan, done: list[Piece], out: Path | None, dtype: str | None, stored: bool) -> Results | None:
    """Merges the pieces' outputs, puts them where the user wants them, and names what is in them. `stored`: the drive has them."""
    pieces = [p.outputs for p in done]
    ended_well = all(p.ok for p in done)
    if stored:
        return None
    outputs = planned.merged(pieces) if ended_well else descriptions.joined(planned.call, pieces)
    if ended_well and planned.call.name == "lz4_compress" and out is not None and out.suffix == lz4_frame.SUFFIX:
        outputs = [lz4_frame.wrap(outputs[0], sum(p.report.bytes_in for p in done))]
    _write_output(outputs, out, dtype)
    return descriptions.results_of(planned.function, planned.call, outputs) if ended_well else None


def _result_json(results: Results | None) -> dict[str, Any]:
    return {} if results is None else {"result": results.json()}


def _check_dtype(dtype: str | None, out: Path | None) -> None:
    """Refuses what numpy does not know before anything runs."""
    if dtype is None:
        return
    if out is None:
        raise click.UsageError("--dtype says how --out is written: add --out FILE")
    try:
        np.dtype(dtype)
    except TypeError as e:
        raise click.UsageError(f"--dtype {dtype}: numpy knows no such type") from e


def _write_output(outputs: list[bytes], out: Path | None, dtype: str | None) -> None:
    """Puts the output streams where the user wants them."""
    for s, data in enumerate(outputs if out is not None else []):
        assert out is not None
        target = out if s == 0 else out.with_name(f"{out.name}.{s}")
        if dtype is not None:
            if len(data) % np.dtype(dtype).itemsize:
                raise OffloadError(f"{len(data)} bytes of output are no array of {dtype}")
            array = io.BytesIO()
            np.save(array, np.frombuffer(data, dtype))
            data = array.getvalue()
        if str(out) == "-":
            sys.stdout.buffer.write(data)
        else:
            with outfile.whole(target) as f:
                f.write(data)
    sys.stdout.flush()


def _run_file(
    function: str,
    path: Path,
    in_drive: bool,
    args: bytes,
    outputs: int | None,
    pieces: int,
    record: int,
    cores: int,
    watchdog: int,
    out: Path | None,
    dtype: str | None,
    as_json: bool,
) -> None:
    """`assasin run --file`."""
    with files.HeldFile(path, in_drive) as file, terminal.spinner(f"running {function} on {path}"):
        done = files.run(function, file, args, outputs, pieces, record, cores, watchdog)
    figures = perf.job_figures(done.pieces)
    results = _finish(done.plan, done.pieces, out, dtype, False)
    how = f"the host fed it: {done.reason}" if done.reason else "read inside the drive"
    if as_json:
        terminal.dump(
            {"figures": asdict(figures), "in_drive": not done.reason, "how": how}
            | {"pieces": [_piece_json(function, p) for p in done.pieces]}
            | _result_json(results)
        )
    else:
        _print_run(function, done.pieces, figures, None, out, results)
        terminal.err.print(f"{path} on {file.device}: {how}", soft_wrap=True)


def _piece_json(function: str, p: Piece) -> dict[str, Any]:
    return {
        "status": p.status,
        "text": offloads.reason(function, p),
        "report": asdict(p.report),
        "outputs": [o.hex() for o in p.outputs],
    }


def _print_run(
    function: str, done: list[Piece], figures: perf.JobFigures, ns: float | None, out: Path | None, results: Results | None
) -> None:
    """A line for each piece, and the results by name; none when stdout has the output. `ns`: length of a cycle, when known."""
    if out is not None and str(out) == "-":
        return
    rows = []
    for i, p in enumerate(done):
        r = p.report
        shown = p.outputs[0][:24].hex(" ", 4) + (" ..." if len(p.outputs[0]) > 24 else "") if p.outputs else ""
        wait = (r.wait_in + r.wait_out) / r.cycles if r.cycles else 0.0
        rows.append(
            [
                str(i),
                str(r.core),
                f"{r.bytes_in:,}",
                f"{r.bytes_out:,}",
                f"{r.cycles:,}",
                f"{r.instret:,}",
                percent(1 - wait),
                offloads.reason(function, p),
                shown,
            ]
        )
    terminal.table(
        function,
        ["piece", "core", "bytes in", "bytes out", "cycles", "instructions", "busy", "end", "output"],
        rows,
        f"{figures.bytes_in:,} bytes in {figures.cycles:,} cycles = {figures.bytes_per_cycle:.2f} bytes a cycle"
        + (f" = {perf.gb_per_s(figures.bytes_per_cycle, ns):.2f} GB/s in the profile" if ns else ""),
    )
    if results is not None and (results.single or out is None):
        result_table.show(function, results)


@cli.group(cls=Group)
def bench() -> None:
    """Measure offloads in steady state, sequential reads and writes, or the figures of the ASSASIN paper."""


OVERWRITES = "the drive's last ones, which it deallocates afterwards, when they are free; else it asks."


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where a benchmark writes its data."""
    lba = click.option("--lba", type=LBA, help="First block to overwrite, whatever it holds; default: the drive's last blocks.")
    yes = click.option("--yes", is_flag=True, help="Overwrite the drive's last blocks without asking when they hold data.")
    return lba(yes(command))


def _place(drive: Drive, length: int, lba: int | None, yes: bool) -> free_blocks.Range:
    """The blocks that a benchmark works on."""
    if lba is not None:
        return free_blocks.at(drive, lba, length)
    with terminal.bytes_bar("looking for free blocks", length) as progress:
        place = free_blocks.at_the_end(drive, length, progress)
    if place.free or yes:
        return place
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"the drive's last blocks, {place}, hold data: say --yes to overwrite them, or --lba LBA for other blocks"
        )
    click.confirm(f"The drive's last blocks, {place}, hold data. Overwrite them?", abort=True, err=True)
    return place


def _bench_command(what: str, summary: str) -> None:
    """Adds `assasin bench WHAT`."""

    @bench.command(what, help=f"{summary} Overwrites blocks: {OVERWRITES}")
    @click.option("--bytes", "length", type=Size(), default="4M", show_default=True, help="Data to work on; it is written first.")
    @place_options
    @click.option("--cores", type=Counts(), help="Core counts to measure, for example 1,2,4,8; default all cores.")
    @common
    def run_bench(length: int, lba: int | None, yes: bool, cores: tuple[int, ...] | None, name: str, as_json: bool) -> None:
        if length == 0 or length % 4096:
            raise click.UsageError(f"--bytes {length}: use a multiple of 4096 that is not 0")
        board, drive = open_drive(name)
        context = benchmarks.Context.of(board)
        with drive, free_blocks.borrowed(drive, _place(drive, length, lba, yes)) as first:
            data = benchmarks.bench_data(what, length)
            if what in BUILTIN:
                _bench_offload(drive, context, what, data, first, cores or (drive.info.cores,), as_json)
            else:
                _bench_transfer(drive, context, what, data, first, as_json)


for _name in BUILTIN:
    _bench_command(_name, f"The offload {_name} in steady state.")
for _name in ("read", "write"):
    _bench_command(_name, f"Sequential {_name}s over NVMe.")


@bench.command("random")
@click.option("--depth", "depths", type=Counts(), default="1,2,4,8,16,32,64", show_default=True, help="Queue depths.")
@click.option("--reads", type=click.IntRange(1), default=256, show_default=True, help="Reads at each depth.")
@click.option("--bytes", "length", type=Size(), default="1M", show_default=True, help="Range to read from; it is written first.")
@place_options
@click.option("--seed", type=int, default=1, show_default=True, help="Which blocks are read.")
@common
def random_command(
    depths: tuple[int, ...], reads: int, length: int, lba: int | None, yes: bool, seed: int, name: str, as_json: bool
) -> None:
    """Random reads of one block, in device cycles by stage."""
    if length == 0 or length % 4096:
        raise click.UsageError(f"--bytes {length}: use a multiple of 4096 that is not 0")
    board, drive = open_drive(name)
    context = benchmarks.Context.of(board)
    with drive, free_blocks.borrowed(drive, _place(drive, length, lba, yes)) as first, terminal.spinner("writing") as say:
        data = benchmarks.random_data(length)
        drive.write(first, data)
        figures = random_reads.measure(
            drive, data, first, reads, depths, board.pcie_latency(), seed, lambda d: say(f"{reads} reads at depth {d}")
        )
    if as_json:
        terminal.dump(asdict(context) | {"depths": [asdict(f) for f in figures]})
        return
    terminal.table(
        _heading("random reads of 4 KiB, device cycles a read", context),
        ["depth", "cycles", "firmware", "handling", *random_reads.STAGES],
        [
            [str(f.depth), *("-" if x is None else f"{x:,.0f}" for x in (f.cycles, f.firmware, f.handling, *f.stages.values()))]
            for f in figures
        ],
        "firmware: its processor awake; handling: that, fetch and post without PCIe; flash and dma include array, bus and PCIe",
    )


@bench.command("paper")
@click.option("--figure", "figures", type=Listed(lambda: paper_bench.FIGURES), help="Only these; default all.")
@click.option("--configs", type=Listed(lambda: paper_stated.ARCHITECTURES), help="Only these architectures; default all.")
@click.option("--quick", is_flag=True, help="2x2 boards, profile test, small inputs: minutes, for tests.")
@click.option("--size", help="Cores x channels; default 8x8, with --quick 2x2.")
@click.option("--profile", help="What a cycle is worth; default paper, with --quick test.")
@click.option("--build/--no-build", "build_boards", default=True, show_default=True, help="Build each board first.")
@json_option
def paper_command(
    figures: tuple[str, ...] | None,
    configs: tuple[str, ...] | None,
    quick: bool,
    size: str | None,
    profile: str | None,
    build_boards: bool,
    as_json: bool,
) -> None:
    """
    The figures of the ASSASIN paper, ours beside the paper's stated values, one board for each memory architecture in turn.

    Leaves build/bench/paper.json and a plot for each figure.
    """
    size = size or ("2x2" if quick else "8x8")
    if not re.fullmatch(r"[1-9]\d*x[1-9]\d*", size):
        raise click.UsageError(f"--size {size}: write for example 8x8")
    boards = [f"{a}{size}" for a in configs or paper_stated.ARCHITECTURES]
    profile = profile or ("test" if quick else "paper")
    result = paper_bench.run(boards, figures or paper_bench.FIGURES, profile, quick, build_boards)
    from assasin import paper_plots

    note = f"{result['board']}, profile {profile}, {size}, commit {result['commit'][:12]}"
    plots = paper_plots.plot(paper_bench.rows_of(result), paper_bench.BENCH_FOLDER, note)
    if as_json:
        terminal.dump(result)
    else:
        paper_bench.print_table(result)
        terminal.out.print(f"{paper_bench.BENCH_FOLDER.relative_to(ROOT)}: paper.json, {', '.join(p.name for p in plots)}")


@bench.command("ftl")
@click.option("--part", "parts", type=Listed(lambda: ftl_bench.PARTS), help="Only these; default all.")
@click.option("--quick", is_flag=True, help="Small drives, short loads: a minute, for tests; the figures say little.")
@click.option("--config", type=ConfigName(), default="AssasinSb8x8", show_default=True, help="Of the virtual board.")
@click.option("--profile", default="paper", show_default=True, help="Of the virtual board.")
@click.option("--seed", type=click.IntRange(0, 0xFFFFFFFF), default=1, show_default=True, help="Of the loads.")
@json_option
def ftl_command(parts: tuple[str, ...] | None, quick: bool, config: str, profile: str, seed: int, as_json: bool) -> None:
    """
    The flash translation layer: write amplification, wear, latency, firmware cycles, recovery.

    Loads run on the native drive (scripts/build native); `firmware` and `recovery` start a virtual board (scripts/build CONFIG) and
    are left out when it is not built. Leaves build/bench/ftl.json and ftl-latency.png.
    """
    with terminal.spinner("ftl") as say:
        rows, missing, plots = ftl_bench.run(parts or ftl_bench.PARTS, quick, seed, config, profile, say)
    if as_json:
        terminal.dump({"rows": [asdict(r) for r in rows], "missing": missing})
    else:
        verdict = {True: "met", False: "MISSED", None: ""}
        terminal.table(
            "flash translation layer" + (", quick: the figures say little" if quick else ""),
            ["", "value", "unit", "at most", ""],
            [[r.name, f"{r.value:,.3f}", r.unit, "" if r.goal is None else f"{r.goal:,.3f}", verdict[r.met]] for r in rows],
        )
        terminal.out.print(f"{os.path.relpath(ftl_bench.BENCH_FOLDER, ROOT)}: {', '.join(['ftl.json', *(p.name for p in plots)])}")
    for part, why in missing.items():
        terminal.err.print(f"{part} was not measured: {why}", markup=False, highlight=False, soft_wrap=True)


@bench.command("varve")
@click.option("--figure", help="Only for these, for example 8.10,8.15; default all.", metavar="FIGURE,...")
@click.option("--filters", help="Only these, for example q03c,q06l; default all.", metavar="NAME,NAME,...")
@click.option("--quick", is_flag=True, help="Few rows and, unless named, few filters: for tests; the figures say little.")
@click.option("--seed", type=click.IntRange(0, 0xFFFFFFFF), help="Of the columns; default that of the committed results.")
@click.option("--build", is_flag=True, help="First build the tiles with other data paths and slots, each in up to an hour.")
@click.option("--board", metavar="CONFIG", help="Measure 9.2 on this virtual board too; alone: --figure board.")
@click.option("--pages", type=click.IntRange(1, 4096), help="On the board: flash pages of a core's part of a column of bytes.")
@click.option("--train", is_flag=True, help="Train the networks for MNIST again, in minutes, and hold them against the committed.")
@json_option
def varve_command(
    figure: str | None,
    filters: str | None,
    quick: bool,
    seed: int | None,
    build: bool,
    board: str | None,
    pages: int | None,
    train: bool,
    as_json: bool,
) -> None:
    """
    The vector unit: filters of TPC-H, bitpacking, RAID5 and MNIST in scalar and vector code, beside the dissertation's values.

    Runs on the RTL of one tile (hw/cosim/kernel-tile), programs by make -C firmware/offload filters workloads.
    Leaves build/bench/varve.json, varve-8.10.png and varve-filters.png. --train: train the networks for MNIST again instead.
    """
    if train:
        with terminal.spinner("training") as say:
            varve_train.train_again(say)
        return
    with terminal.spinner("varve") as say:
        result = varve_bench.run(
            figure.split(",") if figure else None,
            filters.split(",") if filters else None,
            quick,
            varve_data.SEED if seed is None else seed,
            say,
            build,
            board,
            pages,
        )
    from assasin import varve_plots

    plots = varve_plots.plots(result, varve_bench.BENCH_FOLDER)
    if as_json:
        terminal.dump(result)
    else:
        varve_bench.print_table(result)
        terminal.out.print(
            f"{os.path.relpath(varve_bench.BENCH_FOLDER, ROOT)}: {', '.join(['varve.json', *(p.name for p in plots)])}"
        )


def _heading(what: str, context: benchmarks.Context) -> str:
    return f"{what} on {context.board}, {context.config}, profile {context.profile}"


def _bench_offload(
    drive: Drive, context: benchmarks.Context, what: str, data: bytes, lba: int, cores: tuple[int, ...], as_json: bool
) -> None:
    too_many = [c for c in cores if c > drive.info.cores]
    if too_many:
        raise click.UsageError(f"--cores {too_many[0]}: this drive has {drive.info.cores}")
    with terminal.bytes_bar("writing the input", len(data)) as progress:
        drive.write(lba, data, progress)
    with terminal.spinner(what) as say:
        figures = benchmarks.bench_offload(drive, what, data, lba, cores, lambda c: say(f"{what} on {c} cores"))
    if as_json:
        terminal.dump(asdict(context) | {"runs": [f.json(context) for f in figures]})
    else:
        terminal.table(
            _heading(what, context),
            [
                "cores",
                "bytes",
                "cycles",
                "B/cycle",
                "speed-up",
                "cores busy",
                "steady B/cycle",
                "GB/s",
                "of limit",
                "channels",
                "fw cyc/page",
                "result",
            ],
            [_bench_row(f, figures[0], context) for f in figures],
            f"left: the whole job; steady: while all cores are fed. The channels' limit is {figures[0].bus_limit:.3f} B/cycle",
        )
    if not all(f.correct for f in figures):
        raise OffloadError(f"{what} returned a wrong result")


def _bench_row(f: benchmarks.OffloadFigures, first: benchmarks.OffloadFigures, context: benchmarks.Context) -> list[str]:
    whole = [
        str(f.cores),
        f"{f.bytes:,}",
        f"{f.job.cycles:,}",
        f"{f.job.bytes_per_cycle:.3f}",
        f"{f.job.bytes_per_cycle / first.job.bytes_per_cycle:.2f}",
        percent(f.job.core_utilisation),
    ]
    steady = ["too short"] + ["-"] * 3
    if f.steady:
        rate = f.steady.bytes_per_cycle
        gb = perf.gb_per_s(rate, context.ns_per_cycle)
        steady = [f"{rate:.3f}", f"{gb:.2f}", percent(rate / f.bus_limit), percent(f.steady.channel_utilisation)]
    return whole + steady + [f"{f.firmware_cycles_per_page:.0f}", "correct" if f.correct else "WRONG"]


def _bench_transfer(drive: Drive, context: benchmarks.Context, what: str, data: bytes, lba: int, as_json: bool) -> None:
    figures = []
    for step in ("write", "read") if what == "read" else ("write",):
        with terminal.bytes_bar(step, len(data)) as progress:
            figures.append(benchmarks.transfer(drive, step, lba, data, progress))
    f = figures[-1]
    if as_json:
        terminal.dump(asdict(context) | f.json(context))
    else:
        terminal.table(
            _heading(f"sequential {what}", context),
            ["", "bytes", "over PCIe", "cycles", "B/cycle", "GB/s", "channels", "data"],
            [
                [
                    what,
                    f"{f.bytes:,}",
                    f"{f.pcie_bytes:,}",
                    f"{f.cycles:,}",
                    f"{f.bytes_per_cycle:.3f}",
                    f"{perf.gb_per_s(f.bytes_per_cycle, context.ns_per_cycle):.2f}",
                    percent(f.channel_utilisation),
                    "correct" if f.correct else "WRONG",
                ]
            ],
        )
    if not f.correct:
        raise OffloadError(f"what was read from block {lba} on is not what was written")


@cli.command()
@click.option("--log", is_flag=True, help="Print what the firmware has said so far, and end.")
@common
def console(log: bool, name: str, as_json: bool) -> None:
    """The firmware's console; Ctrl-] leaves."""
    board = Board(name)
    if log or as_json:
        if not board.paths.console_log.exists():
            raise BoardError(f"board '{name}' has said nothing yet")
        text = board.paths.console_log.read_text(errors="replace")
        if as_json:
            terminal.dump({"console": text.splitlines()})
        else:
            sys.stdout.write(text)
        return
    with board.connect_console() as s:
        pump_console(s, name)


@cli.command("top")
@click.option("--every", type=click.FloatRange(0.1, 3600), default=1.0, show_default=True, help="Seconds between two looks.")
@click.option("--count", type=click.IntRange(1), help="Looks to take; default: until Ctrl-C or the board's end.")
@common
def top_command(every: float, count: int | None, name: str, as_json: bool) -> None:
    """
    Show what a running virtual board does: channels, cores, firmware, PCIe, DRAM.

    Works while others use the drive, and takes no simulated time. On a terminal it is a screen, in a pipe a line a look, and with
    --json an object a line. Ctrl-C leaves.
    """
    from rich.live import Live

    from assasin import top

    frames = itertools.islice(top.watch(Board(name), every), count)
    try:
        if as_json or not sys.stdout.isatty():
            for f in frames:
                print(json.dumps(f.json()) if as_json else top.line(f), flush=True)
        else:
            with Live(console=terminal.out, screen=True, auto_refresh=False) as live:
                for f in frames:
                    live.update(top.shown(f), refresh=True)
    except KeyboardInterrupt:
        return  # it is how one leaves


def pump_console(s: socket.socket, name: str) -> None:
    """Connects this terminal with a console until Ctrl-]. Raises BoardError when the other side ends."""
    terminal.err.print(f"console of {name}; Ctrl-] leaves")
    interactive = sys.stdin.isatty()
    saved = termios.tcgetattr(sys.stdin) if interactive else None
    try:
        if interactive:
            tty.setcbreak(sys.stdin)
        _pump(s)
    finally:
        if saved is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)


def _pump(s: socket.socket) -> None:
    leave = b"\x1d"
    keyboard = sys.stdin.fileno()
    sources: list[socket.socket | int] = [s, keyboard]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if s in ready:
            data = s.recv(4096)
            if not data:
                raise BoardError("the board has closed its console: its process has ended")
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        if keyboard in ready:
            typed = os.read(keyboard, 256)
            if leave in typed:
                return
            if typed:
                s.sendall(typed)
            else:
                sources = [s]


@cli.group(cls=Group, invoke_without_command=True)
@click.option(
    "--share", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder that the guest sees as /share."
)
@click.option(
    "--config", type=ConfigName(), default=DEFAULT_CONFIG, show_default=True, help="Board to start when none of this name runs."
)
@click.option("--profile", default=PROFILES[0], show_default=True, help="What a cycle is worth on it.")
@click.option("--kernel-option", "kernel_options", multiple=True, help="Appended to the kernel's command line.")
@board_option
@name_option
@click.pass_context
def vm(
    context: click.Context, share: Path | None, config: str, profile: str, kernel_options: tuple[str, ...], kind: str, name: str
) -> None:
    """
    A Linux guest with the drive as its PCIe device: Debian's kernel, its nvme driver, nvme-cli, fio, ext4, and a shell.

    Leaving the shell (or `poweroff`) ends it, Ctrl-A X at once. A board that was started for it is stopped with it.
    """
    if context.invoked_subcommand is not None:
        return
    board = board_of(kind, name)
    with terminal.spinner("making the guest") as say:
        guest_images.image(say)
        started = board.pid() is None
        if started:
            say(f"starting {config}")
            board.start(config, profile)
    try:
        with guests.Guest(board, share, terminal=True, kernel_options=" ".join(kernel_options)) as guest:
            code = guest.wait()
    finally:
        if started:
            board.stop()
    sys.exit(code)


@vm.command("test")
@click.option("--config", type=ConfigName(), default="AssasinSb2x2", show_default=True, help="Board to test.")
@click.option("--profile", default="test", show_default=True, help="What a cycle is worth.")
@click.option("--quick", is_flag=True, help="A part of the list, for scripts/test.")
@click.option("--step", "steps", type=Listed(lambda: [name for name, _, _ in vm_suite.STEPS]), help="Only these steps.")
@board_option
@click.option("--name", default="vmtest", show_default=True, help="Name of the board, which is formatted.")
@json_option
def vm_test(config: str, profile: str, quick: bool, steps: tuple[str, ...] | None, kind: str, name: str, as_json: bool) -> None:
    """What an unmodified Linux does with the drive, step by step; leaves build/vm/result.json."""
    with terminal.spinner("guest tests") as say:
        results, figures = vm_suite.run(config, profile, board_of(kind, name), quick, steps or (), say)
    if as_json:
        terminal.dump({"steps": [asdict(r) for r in results], "figures": figures})
    else:
        rows = [[r.step, "passed" if r.passed else "FAILED", f"{r.seconds:.1f}", r.message] for r in results]
        terminal.table(f"Linux guest on {kind} {config}, profile {profile}", ["step", "", "seconds", ""], rows)
        for row in figures.get("random_4k_reads", []) + figures.get("sequential_128k", []):
            terminal.out.print("  ".join(f"{k} {v}" for k, v in row.items()), soft_wrap=True)
    failed = sum(not r.passed for r in results)
    terminal.out.print(f"{len(results) - failed} passed, {failed} failed")
    if failed:
        sys.exit(1)


@cli.command()
@click.option("--sf", type=click.FloatRange(min=0, min_open=True), default=0.01, show_default=True, help="TPC-H scale factor.")
@click.option(
    "--config",
    type=ConfigName(),
    default=DEFAULT_CONFIG,
    show_default=True,
    help=f"Architecture, cores x channels: {', '.join(ARCHITECTURES)}.",
)
@click.option("--profile", default=PROFILES[0], show_default=True, help="What a cycle is worth.")
@click.option("--keep", is_flag=True, help="Leave the board running (name: demo).")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON too.")
def demo(sf: float, config: str, profile: str, keep: bool, as_json: bool) -> None:
    """TPC-H lineitem through NVMe into the drive, three offloads over it, checked against DuckDB; leaves build/demo/result.json."""
    from assasin import demo as demonstration

    result = demonstration.run(sf, config, profile, keep)
    if as_json:
        terminal.dump(result)
    if not result["correct"]:
        raise OffloadError("an offload's result differs from DuckDB's")


LATER = {
    "agent": Later("assasin.agent.commands", "A Zynq board through the agent on its Linux (board/agent)."),
    "bitstream": Later("assasin.bitstreams.commands", "Images of boards and their manifests: bitstreams/BOARD-CONFIG."),
    "boards": Later("assasin.boards.commands", "The boards there are."),
    "bringup": Later("assasin.bringup.commands", "Load, look into and debug a board from outside, whatever its firmware does."),
    "build": Later(
        "assasin.boards.commands",
        "Build the bitstream of a real board with Vivado; stages that are done are not run again.",
    ),
    "gdb": Later(
        "assasin.bringup.commands",
        "Serve GDB's remote protocol for one processor: halted while GDB has it, let go when GDB leaves.",
    ),
    "hls": Later(
        "assasin.hls.commands",
        "Kernels for the HLS slots: Vitis C++, simulated in C, run on the virtual board, exported to Vitis "
        "(hls-kernels/README.md).",
    ),
    "offload": Later(
        "assasin.offload.commands",
        "Functions of your own for the drive's cores: made, checked, run and profiled without a board "
        "(firmware/offload/README.md).",
    ),
    "petalinux": Later(
        "assasin.petalinux.commands",
        "Write the PetaLinux layer of BOARD: the agent's recipe, kernel options, device tree.",
    ),
    "power": Later(
        "assasin.power.commands",
        "Run COMMAND and say what it cost in energy: in all, by phase, by byte and by offload.",
    ),
    "synth": Later(
        "assasin.synth.commands",
        "Estimate what configurations take of the boards' FPGAs, with yosys; leaves build/synth/utilisation.json.",
    ),
    "torture": Later("assasin.torture", "Cut a drive's power at every moment and look whether all that it acknowledged is there."),
}
"""Commands of other modules, which are made of what is above, and loaded when they are named."""


def _flash_real_boards() -> None:
    from assasin.bitstreams.commands import flash_command
    from assasin.boards import Board as BoardFile

    for name in BoardFile.names():
        if name != "virtual":
            flash.add_command(flash_command(name))


def _bench_efficiency() -> None:
    from assasin.synth.commands import efficiency

    bench.add_command(efficiency)


def _group(command: click.Group) -> Group:
    """A group of this command line, as such."""
    assert isinstance(command, Group)
    return command


cli.later = LATER
_group(flash).complete = _flash_real_boards
_group(bench).complete = _bench_efficiency


def complete() -> None:
    """Loads the commands of all other modules."""
    for group in map(_group, (cli, flash, bench)):
        group.list_commands(click.Context(group))
        for name in group.later:
            group.get_command(click.Context(group), name)


def main() -> object:
    """Runs the command line as entry.py and failures.py want it: what is raised is theirs."""
    return cli.main(prog_name="assasin", standalone_mode=False)
