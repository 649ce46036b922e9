# SPDX-License-Identifier: BSD-3-Clause
"""Other programs at low priority: synthesis takes minutes of a processor that others want too."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from assasin import programs

NICE = 15


def run(command: Sequence[str | Path], cwd: Path | None = None, log: IO[str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command at niceness NICE. What it prints goes to `log`, errors too, or into the result."""
    prefix = ["nice", "-n", str(max(0, NICE - os.nice(0)))]
    pipes = (subprocess.PIPE, subprocess.PIPE) if log is None else (log, subprocess.STDOUT)
    return programs.run([*prefix, *command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=pipes[0], stderr=pipes[1], text=True)
