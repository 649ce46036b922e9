# SPDX-License-Identifier: BSD-3-Clause
"""`assasin petalinux BOARD`."""

from __future__ import annotations

from pathlib import Path

import click

from assasin import terminal
from assasin.boards import Board, BoardFileError
from assasin.cli import Command, json_option
from assasin.petalinux.layer import LayerError, make_layer


@click.command(cls=Command)
@click.argument("board")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the layer; default build/petalinux/BOARD/meta-assasin.")
@json_option
def petalinux(board: str, out: Path | None, as_json: bool) -> None:
    """Write the PetaLinux layer of BOARD: the agent's recipe, kernel options, device tree."""
    try:
        loaded = Board.load(board)
        layer = make_layer(loaded, out)
    except BoardFileError as e:
        raise LayerError(str(e)) from e
    if as_json:
        terminal.dump({"board": board, "kind": loaded.kind, "layer": str(layer)})
    else:
        terminal.out.print(f"{layer}: next: board/common/petalinux/build {board} FILE.xsa", soft_wrap=True)
