# SPDX-License-Identifier: BSD-3-Clause
"""Other programs that a command runs: builds, compilers, tools. They end with the command when that is interrupted."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assasin import interrupts

END_SECONDS = 0.5
"""A program that is told to end has so long."""

_running: set[int] = set()
_lock = threading.Lock()


def _signal_group(pid: int, signum: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signum)


def _end_all() -> None:
    for pid in list(_running):
        _signal_group(pid, signal.SIGTERM)


interrupts.at_signal(_end_all)


def run(
    command: Sequence[str | Path],
    timeout: float | None = None,
    **options: Any,  # noqa: ANN401
) -> subprocess.CompletedProcess[Any]:
    """
    subprocess.run(), `options` being those of subprocess.Popen, in a session of the program's own: it and all that it has started
    end when this process is interrupted, or when the time is over.
    """
    if interrupts.arrived():
        raise KeyboardInterrupt
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        with _lock:
            _running.add(process.pid)
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            _signal_group(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
            _signal_group(process.pid, signal.SIGKILL)
            raise
        finally:
            with _lock:
                _running.discard(process.pid)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
