# SPDX-License-Identifier: BSD-3-Clause
"""Builds one offload by firmware/offload/Makefile: for cores, and for this machine under the sanitizers."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from assasin.errors import AssasinError
from assasin.offload.simulator import LIBRARY
from assasin.offload.source import Source
from assasin.tree import BUILD, ROOT

ARCHITECTURES = ("sb", "sbx", "sp", "mem", "v")
SOFTWARE = ("sp", "mem")
"""Those whose stream pointers are kept by software."""

FOLDER = ROOT / "firmware/offload"
_NEEDED = {
    "make": "make",
    "riscv64-unknown-elf-gcc": "gcc-riscv64-unknown-elf",
    "cc": "gcc",
}
"""Programs that a build needs, and the package that has them."""
_SIMULATOR_SOURCES = (
    FOLDER / "simulator/piece.c",
    *(ROOT / "board/native/model" / n for n in ("iss.c", "iss.h", "iss_varve.c", "iss_varve.h")),
    BUILD / "gen/c/assasin_contract.h",
)


class BuildError(AssasinError):
    """It does not compile, or a compiler is missing. The message has the compiler's own lines."""


def require_compilers() -> None:
    """Raises BuildError when a program is missing."""
    for program, package in _NEEDED.items():
        if shutil.which(program) is None:
            raise BuildError(f"the program {program} is not there: install the package {package} (scripts/setup does it)")


def _make(arguments: list[str], what: str) -> None:
    command = ["make", "-s", "-j2", "--no-print-directory", "-C", str(FOLDER), *arguments]
    # A make around this one must not pass its own flags on.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")} | {"LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode:
        lines = [x for x in done.stderr.splitlines() if not re.match(r"make(\[\d+\])?: ", x)]
        raise BuildError(f"{what}\n" + "\n".join(lines or done.stderr.splitlines()))


def folder_of(source: Source) -> Path:
    """Where the builds of this source are: one folder for each source, so that two of the same name never mix."""
    return BUILD / "offload" / "own" / f"{source.name}-{hashlib.sha256(str(source.path).encode()).hexdigest()[:10]}"


def _for_make(source: Source, out: Path) -> Path:
    """The source under a path that make can take: without spaces and signs that mean something there."""
    if not re.search(r"[^\w/.+-]", str(source.path)):
        return source.path
    link = out / "source"
    if not link.is_symlink() or link.readlink() != source.path.parent:
        link.unlink(missing_ok=True)
        link.symlink_to(source.path.parent)
    return link / source.path.name


def files_of(source: Source, archs: tuple[str, ...], sanitized: bool) -> dict[str, Path]:
    """Where the programs are once they are built: see build()."""
    out = folder_of(source)
    files = {a: out / a / f"{source.name}.elf" for a in archs}
    return files | ({"sanitized": out / "sanitized" / source.name} if sanitized else {})


def build(source: Source, archs: tuple[str, ...] = ("sb",), sanitized: bool = False) -> dict[str, Path]:
    """
    The programs for these architectures, and under "sanitized" the one for this machine; what is up to date is not built again.
    Raises BuildError.
    """
    require_compilers()
    out = folder_of(source)
    out.mkdir(parents=True, exist_ok=True)
    files = files_of(source, archs, sanitized)
    _make([f"SRC={_for_make(source, out)}", f"OUT={out}", *map(str, files.values())], f"{source.path.name} does not build:")
    return files


def build_simulator() -> Path:
    """The simulator's shared object. Raises BuildError."""
    newest = max((p.stat().st_mtime for p in _SIMULATOR_SOURCES if p.exists()), default=0)
    if not LIBRARY.exists() or LIBRARY.stat().st_mtime < newest:
        require_compilers()
        _make([str(LIBRARY)], "the simulator does not build:")
    return LIBRARY
