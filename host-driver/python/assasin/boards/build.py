# SPDX-License-Identifier: BSD-3-Clause
"""Runs Vivado stage by stage. A stage whose inputs are those of the last time is not run again."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from assasin import programs
from assasin.boards import reports
from assasin.boards.project import Project, ProjectError, write_json
from assasin.tree import ROOT

STAGES = ("project", "synth", "place", "route", "bitstream")
"""In this order; each starts from what the one before left."""

_RESULTS = {
    "project": "project/{board}.xpr",
    "synth": "synth.dcp",
    "place": "place.dcp",
    "route": "route.dcp",
    "bitstream": "{board}.bit",
}


def find_vivado() -> str:
    """Vivado's program. Raises ProjectError."""
    vivado = shutil.which("vivado")
    if vivado is None:
        raise ProjectError(
            "vivado is not on PATH: source its settings64.sh first. Without it, --stage sources writes all that it would read"
        )
    return vivado


def vivado_version(vivado: str) -> str:
    """Version, such as 2023.2. Raises ProjectError."""
    try:
        text = subprocess.run([vivado, "-version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as e:
        raise ProjectError(f"{vivado} -version fails: {e}") from e
    match = re.search(r"v(\d{4}\.\d+(?:\.\d+)?)", text, re.IGNORECASE)
    if not match:
        raise ProjectError(f"{vivado} -version says '{text.strip()[:80]}': no version in it")
    return match[1]


def done(project: Project, stage: str, digest: str) -> bool:
    """Whether the stage's result is there and was made of these inputs."""
    stamp = project.folder / f"{stage}.stamp"
    result = project.folder / _RESULTS[stage].format(board=project.board.name)
    return result.exists() and stamp.exists() and stamp.read_text() == digest


def run(project: Project, last: str, say: Callable[[str], None]) -> list[str]:
    """
    Runs the stages up to `last` that are not done, in the project's folder; `say` is told which.

    Returns those that ran. Raises ProjectError with the end of Vivado's log.
    """
    vivado = find_vivado()
    version = vivado_version(vivado)
    digest = f"{project.inputs_digest()} {version}\n"
    ran: list[str] = []
    for stage in STAGES[: STAGES.index(last) + 1]:
        if not ran and done(project, stage, digest):
            continue
        say(stage)
        stamp = project.folder / f"{stage}.stamp"
        stamp.unlink(missing_ok=True)
        script = os.path.relpath(ROOT / "board" / "common" / "tcl" / "stage.tcl", project.folder)
        log = f"{stage}.log"
        command = [vivado, "-mode", "batch", "-nojournal", "-log", log, "-source", script, "-tclargs", stage]
        with (project.folder / f"{stage}.out").open("w") as out:
            code = programs.run(command, cwd=project.folder, stdout=out, stderr=subprocess.STDOUT).returncode
        if code:
            raise ProjectError(f"Vivado fails in stage {stage}:\n{_errors(project.folder, log, f'{stage}.out')}")
        if not (project.folder / _RESULTS[stage].format(board=project.board.name)).exists():
            raise ProjectError(f"Vivado ended stage {stage} without its result: see {project.folder / log}")
        stamp.write_text(digest)
        ran.append(stage)
    return ran


def _errors(folder: Path, *logs: str) -> str:
    for name in logs:
        path = folder / name
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        errors = [line for line in lines if line.startswith(("ERROR", "CRITICAL WARNING"))]
        if lines:
            return "\n".join([*(errors or lines)[-8:], f"the whole log: {path}"])
    return f"it left no log in {folder}"


def facts(project: Project) -> dict[str, object]:
    """What a manifest says about the built image: tool, timing, utilisation, kernels. Raises ReportError."""
    folder = project.folder / "reports"
    timing = reports.read_timing(folder / "timing_route.rpt")
    return {
        "tool": {"vivado": vivado_version(find_vivado())},
        "timing": {"wns_ns": timing.wns_ns, "clock_mhz": project.board.clock.core_mhz},
        "utilisation": reports.read_utilisation(folder / "utilization_route.rpt").json(),
        "kernels": [{"slot": k.slot, "name": k.name, "id": k.id} for k in project.kernels],
    }


def package(project: Project) -> dict[str, object]:
    """Puts the bitstream into bitstreams/ by `assasin bitstream package`; returns the manifest. Raises ProjectError."""
    path = project.folder / "facts.json"
    write_json(path, facts(project))
    command = [str(ROOT / "scripts" / "bin" / "assasin"), "bitstream", "package", project.board.name, project.config]
    command += [str(project.bitstream), "--facts", str(path), "--json"]
    result = programs.run(command, capture_output=True, text=True)
    if result.returncode:
        raise ProjectError(f"the bitstream cannot be packaged: {result.stderr.strip() or result.stdout.strip()}")
    return json.loads(result.stdout)
