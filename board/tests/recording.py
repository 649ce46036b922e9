# SPDX-License-Identifier: BSD-3-Clause
"""Runs the build's Tcl in tclsh against board/tests/vivado.tcl and reads what it recorded."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPORTS = HERE / "reports"


class TclFailed(Exception):
    """tclsh ended with an error."""


@dataclass(frozen=True)
class Call:
    """One recorded command."""

    name: str
    args: tuple[str, ...]

    def option(self, name: str) -> str | None:
        """Value after -name."""
        return self.args[self.args.index(name) + 1] if name in self.args else None


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Environment of the stand-in."""
    return (
        os.environ
        | {"VIVADO_RECORDING": str(folder / "recording"), "VIVADO_REPORTS": str(REPORTS), "VIVADO_SLACKS": "0.1 0.01 0.2"}
        | more
    )


def run(folder: Path, script: str) -> list[Call]:
    """Runs `script` in `folder`; returns the calls of this run."""
    recording = folder / "recording"
    recording.unlink(missing_ok=True)
    program = f"source {HERE / 'vivado.tcl'}\n{script}\n"
    result = subprocess.run(["tclsh"], input=program, text=True, capture_output=True, cwd=folder, env=environment(folder))
    if result.returncode or result.stderr:
        raise TclFailed(result.stderr)
    words = [json.loads(line) for line in recording.read_text().splitlines()]
    return [Call(word[0], tuple(word[1:])) for word in words]


def stage(folder: Path, name: str) -> list[Call]:
    """Runs one stage of the build."""
    tcl = os.path.relpath(HERE.parent / "common" / "tcl" / "stage.tcl", folder)
    return run(folder, f"set argv {name}\nsource {tcl}")
