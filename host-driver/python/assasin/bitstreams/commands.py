# SPDX-License-Identifier: BSD-3-Clause
"""`assasin bitstream ...`, and `assasin flash BOARD IMAGE` for boards that are not virtual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assasin import terminal
from assasin.agent.client import parse_address
from assasin.bitstreams import package as packages
from assasin.bitstreams import pci, virtual
from assasin.bitstreams.errors import BitstreamError
from assasin.bitstreams.manifest import BITSTREAMS
from assasin.bitstreams.package import Facts, Package
from assasin.bitstreams.program import XVC_PORT, OpenFpgaLoader, OverAgent, Programmer, Vivado
from assasin.boards import Board
from assasin.cli import Command, ConfigName, Group, json_option
from assasin.tree import ROOT

TOOLS = ("openfpgaloader", "vivado", "agent")


@click.group(cls=Group)
def bitstream() -> None:
    """Images of boards and their manifests: bitstreams/BOARD-CONFIG."""


@bitstream.command("list")
@json_option
def list_(as_json: bool) -> None:
    """All packages: what they are, whether the image is here and made of this tree's sources."""
    found = [packages.summary(f) for f in packages.folders()]
    if as_json:
        terminal.dump(found)
        return
    if not found:
        terminal.out.print("no images yet: assasin build --board BOARD makes one, scripts/build CONFIG the virtual board's")
        return
    rows = [_row(f) for f in found]
    terminal.table("bitstreams", ["name", "created", "tool", "slack ns", "MHz", "kernels", "image", "sources"], rows)


def _row(found: dict[str, Any]) -> list[str]:
    if found["problem"]:
        return [found["name"], found["problem"], *[""] * 6]
    tool = next((f"{name} {version}" for name, version in found["tool"].items() if "/" not in name), "-")
    return [
        found["name"],
        found["created"],
        tool,
        "-" if found["wns_ns"] is None else f"{found['wns_ns']:.3f}",
        "-" if found["clock_mhz"] is None else f"{found['clock_mhz']:g}",
        ", ".join(found["kernels"]) or "-",
        "here" if found["image_present"] else "not here",
        "this tree's" if found["current"] else "others",
    ]


@bitstream.command()
@click.argument("image", nargs=-1)
@json_option
def verify(image: tuple[str, ...], as_json: bool) -> None:
    """
    Compare packages with their manifests: files, hashes, part, board. Without IMAGE: all that are here.

    IMAGE is a folder, a file in it, or a name in bitstreams/.
    """
    folders = [packages.find(i, "virtual") for i in image] or packages.folders()
    results: list[dict[str, Any]] = []
    for folder in folders:
        try:
            package = Package.open(folder)
            results.append({"name": folder.name, "ok": True, "current": package.manifest.is_current, "problem": None})
        except BitstreamError as e:
            results.append({"name": folder.name, "ok": False, "current": None, "problem": str(e)})
    if as_json:
        terminal.dump(results)
    for r in results if not as_json else []:
        sources = "" if r["current"] else "; made of other sources than this tree's"
        terminal.out.print(f"{r['name']}: {'correct' + sources if r['ok'] else r['problem']}", soft_wrap=True, highlight=False)
    bad = [r["name"] for r in results if not r["ok"]]
    if bad:
        raise click.exceptions.Exit(1)
    if not results and not as_json:
        terminal.out.print("no images are here")


@bitstream.command("package")
@click.argument("board")
@click.argument("config", type=ConfigName())
@click.argument("image", type=click.Path(path_type=Path), required=False)
@click.option("--facts", type=click.Path(path_type=Path), help="JSON: tool, timing, utilisation, kernels, as in the manifest.")
@click.option(
    "--firmware", type=click.Path(path_type=Path), default=packages.FIRMWARE_BUILT, help="Flat binary for the firmware memory."
)
@click.option("--out", type=click.Path(path_type=Path), default=BITSTREAMS, help="Folder that gets BOARD-CONFIG.")
@json_option
def package_(board: str, config: str, image: Path | None, facts: Path | None, firmware: Path, out: Path, as_json: bool) -> None:
    """Put IMAGE (a .bit file), the firmware and their manifest together. `virtual` takes what scripts/build CONFIG has built."""
    if board == "virtual":
        if image or facts:
            raise click.UsageError("virtual: IMAGE and --facts are not given, build/board has both")
        package = virtual.package(config)
    else:
        if image is None or facts is None:
            raise click.UsageError(f"{board}: give the IMAGE and --facts FILE (bitstreams/README.md)")
        package = packages.make(board, config, image, Facts.read(facts), firmware, out)
    if as_json:
        terminal.dump(package.manifest.json() | {"folder": str(package.folder)})
    else:
        terminal.out.print(f"{package.folder}: {package.image.name}, {package.manifest.image.bytes:,} bytes", soft_wrap=True)


def flash_command(name: str) -> click.Command:
    """`assasin flash NAME` for the board of that name."""

    @click.command(
        name, cls=Command, help=f"Verify IMAGE, a name in bitstreams/ or a folder, and program the board {name} with it."
    )
    @click.argument("image")
    @click.option("--via", type=click.Choice(TOOLS), help="Tool; without it what the board file names.")
    @click.option("--cable", help="JTAG cable, as openFPGALoader --list-cables names it.")
    @click.option("--xvc", metavar="HOST[:PORT]", help="Xilinx Virtual Cable server in place of a cable, for openFPGALoader.")
    @click.option("--server", default="localhost:3121", show_default=True, help="Vivado's hardware server.")
    @click.option("--agent", metavar="HOST[:PORT]", help="The board agent on the board's Linux (implies --via agent).")
    @click.option(
        "--replug", is_flag=True, help="Take the board off this machine's PCIe bus first and look for it afterwards (root)."
    )
    @click.option("--accept-timing", is_flag=True, help="Program an image that has not met its timing.")
    @click.option("--dry-run", is_flag=True, help="Only verify.")
    @json_option
    def command(
        image: str,
        via: str | None,
        cable: str | None,
        xvc: str | None,
        server: str,
        agent: str | None,
        replug: bool,
        accept_timing: bool,
        dry_run: bool,
        as_json: bool,
    ) -> None:
        board = packages.board_file(name)
        package = checked(image, board.name, accept_timing)
        programmer = None if dry_run else _programmer(board, via, cable, xvc, server, agent)
        if programmer is not None:
            _program(programmer, package, replug)
        report = {"board": name, "image": str(package.folder), "programmed": programmer is not None}
        if as_json:
            terminal.dump(report | {"manifest": package.manifest.json()})
        elif programmer is None:
            terminal.out.print(f"{package.folder.name} is correct and for {name}; nothing was programmed", soft_wrap=True)
        else:
            firmware = package.firmware.relative_to(ROOT) if package.firmware.is_relative_to(ROOT) else package.firmware
            where = f"--via agent:{agent}" if agent else "--via pci:ADDRESS"
            terminal.out.print(f"{name} holds {package.folder.name}; next: assasin bringup load {firmware} {where}", soft_wrap=True)

    return command


def checked(image: str, board: str, accept_timing: bool = False) -> Package:
    """The verified package that `image` means. Raises BitstreamError when it is not for `board`."""
    package = Package.open(packages.find(image, board))
    manifest = package.manifest
    if manifest.board != board:
        raise BitstreamError(
            f"{package.folder.name} is an image for the board {manifest.board}, not for {board}: "
            f"assasin flash {manifest.board} {image}, or another image"
        )
    wns = manifest.timing.wns_ns
    if wns is not None and wns < 0 and not accept_timing:
        raise BitstreamError(
            f"{package.folder.name} misses its timing by {-wns:g} ns (clock: {manifest.timing.clock_mhz} MHz): build it with a "
            "slower one ([clock] core_mhz in the board file), or try it with --accept-timing"
        )
    return package


def _programmer(board: Board, via: str | None, cable: str | None, xvc: str | None, server: str, agent: str | None) -> Programmer:
    via = via or ("agent" if agent else "openfpgaloader" if xvc else board.program.tool)
    if via == "agent":
        if agent is None:
            raise click.UsageError("--via agent needs --agent HOST[:PORT]")
        return OverAgent(board, *parse_address(agent))
    if agent:
        raise click.UsageError(f"--agent does not go with --via {via}")
    if via == "vivado":
        return Vivado(board, server)
    if via == "openfpgaloader":
        host, _, port = xvc.partition(":") if xvc else ("", "", "")
        if port and not port.isdigit():
            raise click.UsageError(f"--xvc {xvc}: write HOST or HOST:PORT")
        return OpenFpgaLoader(board, cable, (host, int(port or XVC_PORT)) if xvc else None)
    raise BitstreamError(f"board/{board.name}/board.toml: program.tool '{via}' programs no FPGA: give --via {', '.join(TOOLS)}")


def _program(programmer: Programmer, package: Package, replug: bool) -> None:
    board = programmer.board
    present = pci.functions(board.pcie.vendor_id, board.pcie.device_id)
    for function in present:
        mounted = function.mounted()
        if mounted:
            raise BitstreamError(f"PCI function {function.address} holds the file system at {mounted[0]}: umount it first")
        if not replug:
            raise BitstreamError(
                f"PCI function {function.address} of this machine is a {board.name} (driver: {function.driver or 'none'}): a board "
                "that loses its FPGA's contents under a running host can hang it. Give --replug (as root) if it is the one you mean"
            )
    with terminal.spinner(f"programming {board.name}") as say:
        for function in present:
            function.remove()
        try:
            programmer.program(package, lambda text: say(text))
        finally:
            if replug:
                pci.rescan()
