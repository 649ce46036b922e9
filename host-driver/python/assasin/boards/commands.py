# SPDX-License-Identifier: BSD-3-Clause
"""`assasin build` and `assasin boards`."""

from __future__ import annotations

from dataclasses import asdict

import click

from assasin import terminal
from assasin.boards import build as flow
from assasin.boards import kernels as exported
from assasin.boards.board import Board
from assasin.boards.project import Project, ProjectError
from assasin.cli import Command, ConfigName, json_option


class KernelChoice(click.ParamType):
    """SLOT=NAME."""

    name = "slot=kernel"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, str]:
        """See click.ParamType."""
        if isinstance(value, tuple):
            return value
        slot, _, name = str(value).partition("=")
        if not slot.isdigit() or not name:
            self.fail(f"'{value}' is not SLOT=KERNEL, for example 0=fgrep8", param, ctx)
        return int(slot), name


@click.command("build", cls=Command)
@click.option("--board", "board_name", required=True, help="Board: a folder of board/.")
@click.option("--config", type=ConfigName(), help="Architecture, cores x channels. Default: the board file's.")
@click.option(
    "--stage",
    type=click.Choice(("sources", *flow.STAGES)),
    default=flow.STAGES[-1],
    show_default=True,
    help="Last stage. sources: write what Vivado reads, without Vivado.",
)
@click.option(
    "--kernel", "kernels", type=KernelChoice(), multiple=True, help="HLS kernel for a slot, as assasin hls export left it."
)
@json_option
def build(board_name: str, config: str | None, stage: str, kernels: tuple[tuple[int, str], ...], as_json: bool) -> None:
    """Build the bitstream of a real board with Vivado; stages that are done are not run again."""
    board = Board.load(board_name)
    if len({slot for slot, _ in kernels}) < len(kernels):
        raise ProjectError("a slot is given two kernels: give --kernel once for each slot")
    project = Project.of(board, config, [exported.load(slot, name) for slot, name in kernels])
    if stage != "sources":
        flow.find_vivado()
    with terminal.spinner("chip") as say:
        project.emit()
        say("top level")
        project.generate()
        ran = [] if stage == "sources" else flow.run(project, stage, say)
    result: dict[str, object] = {"board": board.name, "config": project.config, "folder": str(project.folder), "ran": ran}
    if stage == flow.STAGES[-1]:
        result["package"] = flow.package(project)
    if as_json:
        terminal.dump(result)
        return
    terminal.out.print(
        f"{project.folder}: {', '.join(ran) if ran else 'sources' if stage == 'sources' else 'up to date'}", soft_wrap=True
    )


@click.command("boards", cls=Command)
@json_option
def boards(as_json: bool) -> None:
    """The boards there are."""
    found = [Board.load(name) for name in Board.names()]
    if as_json:
        keys = ("name", "title", "kind", "part", "pcie", "clock", "dram", "ps", "nand", "chip", "sensors", "program")
        terminal.dump([{key: value for key, value in asdict(board).items() if key in keys} for board in found])
        return
    rows = [
        [
            board.name,
            board.part.name if board.part else "-",
            f"Gen{board.pcie.generation} x{board.pcie.lanes}",
            f"{board.nand.channels} x {board.nand.ways}{' emulated' if board.nand.emulated else ''}",
            board.chip.config,
            str(len(board.sensors)),
        ]
        for board in found
    ]
    terminal.table("Boards", ["board", "part", "PCIe", "channels x ways", "chip", "sensors"], rows)
