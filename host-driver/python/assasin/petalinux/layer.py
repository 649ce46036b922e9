# SPDX-License-Identifier: BSD-3-Clause
"""A complete Yocto layer of one board, which needs nothing of this tree any more."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from assasin.board import BoardError
from assasin.boards import Board
from assasin.petalinux import device_tree
from assasin.tree import BUILD, ROOT

_COMMON = ROOT / "board" / "common" / "petalinux" / "meta-assasin"
_AGENT = ROOT / "board" / "agent"
_RECIPE = "assasin-agent_1.0.bb"


class LayerError(BoardError):
    """A layer cannot be made; the message says why."""


def default_folder(board: str) -> Path:
    """build/petalinux/BOARD/meta-assasin."""
    return BUILD / "petalinux" / board / "meta-assasin"


def make_layer(board: Board, out: Path | None = None) -> Path:
    """
    Writes the layer of `board` to `out`, which is replaced as a whole; by default default_folder().

    Raises LayerError.
    """
    own = board.folder / "petalinux" / "board.dtsi"
    if board.ps is None:
        raise LayerError(
            f"the board {board.name} has no processing system ([ps] in board/{board.name}/board.toml): nothing runs Linux there"
        )
    if not own.exists():
        raise LayerError(
            f"{own.relative_to(ROOT)} is missing: it describes the board's I2C multiplexers (board/common/petalinux/README.md)"
        )
    header = BUILD / "gen" / "c" / "assasin_contract.h"
    if not header.exists():
        raise LayerError(f"{header.relative_to(ROOT)} is not there: run scripts/contract")
    out = out or default_folder(board.name)
    if out.exists() and not (out / "conf" / "layer.conf").exists():
        raise LayerError(f"{out} is there and is no layer: give another --out")
    new = out.with_name(out.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(_COMMON, new)
    # As Yocto's machine overrides call the processing systems.
    for append in new.rglob("*.bbappend"):
        append.write_text(append.read_text().replace("@SOC@", board.kind))
    _fill_recipe(board, new / "recipes-apps" / "assasin-agent", header)
    tree = new / "recipes-bsp" / "device-tree" / "files"
    tree.mkdir()
    shutil.copyfile(own, tree / "board.dtsi")
    (tree / "assasin.dtsi").write_text(device_tree.system(board))
    (tree / "sensors.dtsi").write_text(device_tree.sensors(board))
    shutil.rmtree(out, ignore_errors=True)
    os.replace(new, out)
    return out


def _fill_recipe(board: Board, folder: Path, header: Path) -> None:
    files = folder / "files"
    agent = files / "agent"
    (agent / "generated").mkdir(parents=True)
    for source in sorted(_AGENT.iterdir()):
        if source.suffix in (".c", ".h") or source.name == "Makefile":
            shutil.copyfile(source, agent / source.name)
    shutil.copyfile(header, agent / "generated" / header.name)
    shutil.copyfile(ROOT / "board" / "virtual" / "pciproxy" / "protocol.h", agent / "generated" / "protocol.h")
    shutil.copyfile(ROOT / "LICENSE", files / "LICENSE")
    (files / "assasin-agent.conf").write_text(device_tree.agent_config(board))
    (files / "assasin.dts").write_text(device_tree.overlay(board))
    recipe = folder / _RECIPE
    digest = hashlib.md5((ROOT / "LICENSE").read_bytes(), usedforsecurity=False).hexdigest()
    recipe.write_text(recipe.read_text().replace("@LICENSE_MD5@", digest))
