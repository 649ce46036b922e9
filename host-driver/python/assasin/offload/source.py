# SPDX-License-Identifier: BSD-3-Clause
"""The source of an offload: where it is, its name and its streams."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from assasin.errors import AssasinError
from assasin.tree import ROOT, contract

FOLDERS = (ROOT / "firmware/offload", ROOT / "firmware/offload/examples")
"""Where the project's own are."""

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ALL = {"IN": r"\bASSASIN_IN_ALL\b", "OUT": r"\bASSASIN_OUT_ALL\b"}


class SourceError(AssasinError):
    """There is no such offload, or its source is none."""


@dataclass(frozen=True)
class Source:
    """An offload's C source. `inputs`, `outputs`: how many streams it declares."""

    path: Path
    inputs: int
    outputs: int

    @property
    def name(self) -> str:
        """Name of the offload: the file's."""
        return self.path.stem

    @property
    def test(self) -> Path | None:
        """The test beside it, when there is one."""
        path = self.path.with_name(f"test_{self.name}.py")
        return path if path.is_file() else None


def shown(path: Path) -> str:
    """A path as users would write it: below the present folder or the project's relative, else whole."""
    for base in (Path.cwd(), ROOT):
        if path.is_relative_to(base):
            return str(path.relative_to(base)) or "."
    return str(path)


def _file(wanted: str) -> Path:
    """The C file that somebody means: a file, a folder with NAME/NAME.c, or the name of one."""
    path = Path(wanted)
    if path.suffix == ".c":
        if not path.is_file():
            raise SourceError(f"there is no file {wanted}")
        return path
    if path.suffix == ".elf":
        raise SourceError(f"{wanted} is built already: give its C source, or use assasin run")
    for folder in (path, *(f / wanted for f in FOLDERS)):
        inside = folder / f"{folder.resolve().name}.c"
        if inside.is_file():
            return inside
    if path.is_dir():
        raise SourceError(f"the folder {wanted} has no {path.resolve().name}.c: name the C file")
    for folder in (Path(), *FOLDERS):
        if (folder / f"{wanted}.c").is_file():
            return folder / f"{wanted}.c"
    raise SourceError(f"there is no offload '{wanted}' here: name a C file or a folder, or make one: assasin offload new {wanted}")


def _count(text: str, what: str) -> int:
    if re.search(_ALL[what], text):
        return int(contract.SCOMP_MAX_STREAMS)
    numbers = [int(n) for n in re.findall(rf"\bASSASIN_{what}\(\s*(\d+)\s*\)", text)]
    return max(numbers, default=-1) + 1


def find(wanted: str) -> Source:
    """The source that `wanted` names. Raises SourceError."""
    path = _file(wanted).resolve()
    if not IDENTIFIER.fullmatch(path.stem):
        raise SourceError(f"{path.name}: the name of an offload is letters, digits and _, no digit first; rename the file")
    text = _COMMENT.sub(" ", path.read_text(errors="replace"))
    if not re.search(r"\bcompute\s*\(", text):
        raise SourceError(f"{shown(path)} has no function compute: an offload defines int compute(void)")
    return Source(path, _count(text, "IN"), _count(text, "OUT"))
