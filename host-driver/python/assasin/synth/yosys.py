# SPDX-License-Identifier: BSD-3-Clause
"""Runs yosys scripts at low priority, out of the Python package `pyosys`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

from assasin.synth import SynthError, polite

# Run in a process of its own: yosys keeps its memory, and ends the process when a script is wrong.
_RUNNER = "import sys; from pyosys import libyosys; libyosys.run_pass('script ' + sys.argv[1], libyosys.Design())"


def version() -> str:
    """Version of the package."""
    try:
        return importlib.metadata.version("pyosys")
    except importlib.metadata.PackageNotFoundError:
        raise SynthError("yosys is missing: run scripts/setup, which installs the Python package pyosys") from None


def jobs() -> int:
    """How many scripts to run at a time: one a processor, but no more than memory lets be; a large unit takes 1 to 2 GB."""
    return max(1, min(len(os.sched_getaffinity(0)), 4))


def share() -> Path:
    """The folder of yosys's own libraries."""
    spec = importlib.util.find_spec("pyosys")
    if spec is None or spec.origin is None:
        raise SynthError("yosys is missing: run scripts/setup, which installs the Python package pyosys")
    return Path(spec.origin).parent / "share"


def run(script: str, log: Path) -> None:
    """Runs a script; everything it prints goes to the file `log`. Raises SynthError with its last line."""
    version()
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".ys") as file, open(log, "w", encoding="utf-8") as out:
        file.write(script)
        file.flush()
        done = polite.run([sys.executable, "-c", _RUNNER, file.name], log=out)
    if done.returncode:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if "ERROR" in line] or lines or ["it printed nothing"]
        raise SynthError(f"yosys failed: {errors[-1]}; its log is {log}")
