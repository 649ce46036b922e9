# SPDX-License-Identifier: BSD-3-Clause
"""Content hashes that tie an image to what it was made of."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from pathlib import Path

from assasin.tree import ROOT

_RTL = ("hw/src/main", "hw/isa", "hw/contract")
_RTL_BUILD = ("hw/build.sbt", "hw/project/build.properties", "hw/project/plugins.sbt")
_NOT_IN_CHIP = "scomp.toml"  # between firmware and host: neither chip nor board knows it


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def rtl_hash(config: str, root: Path = ROOT) -> str:
    """
    Hash of a configuration's name, the chip's sources and the contract: 16 hexadecimal digits, the value of `rtl_hash_of` in
    scripts/board-hash.sh, so that a simulator and a bitstream of the same sources carry the same.
    """
    registers = sorted(str(p.relative_to(root)) for p in (root / "hw" / "regs").glob("*.toml") if p.name != _NOT_IN_CHIP)
    names = sorted(_files(root, [*_RTL, *registers, *_RTL_BUILD]), key=str.encode)
    lines = "".join(f"{file_hash(root / name)}  {name}\n" for name in names)
    content = hashlib.sha256(lines.encode()).hexdigest()[:16]
    return hashlib.sha256(f"{config} {_bar0_bits(root)} {content}\n".encode()).hexdigest()[:16]


def _bar0_bits(root: Path) -> str:
    """Widest access to BAR0 on the virtual board, for which its chips are made."""
    return str(tomllib.loads((root / "board/virtual/board.toml").read_text())["pcie"]["bar0_bits"])


def _counts(path: Path) -> bool:
    """Whether a file, named from the repository's root, goes into a board: what `hash_of` in scripts/board-hash.sh says."""
    return path.suffix not in (".md", ".pyc") and not {"tests", "reference"} & set(path.parts[:-1])


def _files(root: Path, starts: list[str]) -> Iterator[str]:
    for start in starts:
        path = root / start
        if path.is_dir():
            files = (p.relative_to(root) for p in path.rglob("*") if p.is_file() and not p.is_symlink())
            yield from (str(p) for p in files if _counts(p))
        else:
            yield start
