# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command under the eyes of power sources and reports what it cost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

from assasin import interrupts
from assasin.boards import Board
from assasin.power import marks
from assasin.power.errors import PowerError
from assasin.power.phases import by_offload, by_phase, median_joules
from assasin.power.sources import Source, Watched
from assasin.tree import commit

SCHEMA = 1


def execute(command: Sequence[str], marks_file: Path, quiet: bool) -> tuple[int, float, float]:
    """
    Runs the command to its end. Returns its exit code and when it began and ended, seconds of CLOCK_REALTIME. `quiet`: its output
    goes to standard error. Raises PowerError when it cannot be started.
    """
    environment = os.environ | {marks.VARIABLE: str(marks_file)}
    begin = time.time()
    # Signals are the command's: it ends, and what was measured until then is reported.
    running: list[subprocess.Popen[bytes]] = []

    def pass_on(signum: int, _frame: FrameType | None) -> None:
        interrupts.noticed()
        for process in running:
            process.send_signal(signum)

    before = {signum: signal.signal(signum, pass_on) for signum in interrupts.SIGNALS}
    try:
        running.append(subprocess.Popen(command, env=environment, stdout=sys.stderr if quiet else None))
        code = running[0].wait()
    except OSError as e:
        raise PowerError(
            f"'{command[0]}' cannot be started: {e.strerror}; write the command as you would in a shell, after --"
        ) from e
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
    return code, begin, time.time()


def run(board: Board, sources: Sequence[Source], command: Sequence[str], quiet: bool) -> tuple[dict[str, Any], list[Watched]]:
    """Runs `command` and returns the report (build/power/result.json) and what the sources saw. Raises PowerError."""
    for source in sources:
        source.start()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "marks"
        file.touch()
        code, begin, end = execute(command, file, quiet)
        operations = marks.load(file)
    watched = [w for source in sources for w in source.finish(begin, end, operations)]
    return {
        "schema": SCHEMA,
        "board": board.name,
        "title": board.title,
        "commit": commit(),
        "command": list(command),
        "exit_code": code,
        "host_seconds": end - begin,
        "measured_on_hardware": bool(watched) and all(w.on_hardware for w in watched),
        "sources": [figures(w) for w in watched],
    }, watched


def figures(w: Watched) -> dict[str, Any]:
    """A source's part of the report."""
    t = w.trace
    seconds = w.end - w.begin
    joules = t.joules(w.begin, w.end)
    offloads = by_offload(t, w.spans, w.begin, w.end)
    own = {rail: t.joules(w.begin, w.end, rail) for rail in t.watts}
    rails = [{"rail": r, "group": t.groups.get(r, r), "joules": j, "mean_w": j / seconds} for r, j in own.items()]
    groups = {group: sum(own[rail] for rail in members) for group, members in t.by_group().items()}
    return {
        "source": w.source,
        "kind": w.kind,
        "time": w.time,
        "method": w.method,
        "on_hardware": w.on_hardware,
        **w.context,
        "readings": len(t.edges),
        "seconds": seconds,
        "joules": joules,
        "mean_w": joules / seconds,
        "idle_w": w.idle_w,
        "joules_above_idle": None if w.idle_w is None else joules - w.idle_w * seconds,
        "missing_seconds": t.missing(w.begin, w.end),
        "gaps": [[a - w.begin, b - w.begin] for a, b in t.gaps if a < w.end and b > w.begin],
        "groups": [{"group": g, "joules": j, "mean_w": j / seconds} for g, j in groups.items()],
        "rails": rails,
        "phases_by": w.phases_by,
        "phases": [asdict(s) for s in by_phase(t, w.spans, w.begin, w.end)],
        "offloads": [asdict(s) for s in offloads],
        "median_offload_joules": median_joules(offloads),
    }


def save(report: dict[str, Any], path: Path) -> None:
    """Writes the report in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(report, indent=2) + "\n")
    new.replace(path)
