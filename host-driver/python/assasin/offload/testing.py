# SPDX-License-Identifier: BSD-3-Clause
"""
For tests of an offload: data in, its output back.

Each call runs the function twice, under the sanitizers of this machine and as machine code on the simulator of a core, and
fails when the sanitizers find something or the two differ.
"""

from __future__ import annotations

from pathlib import Path

from assasin.offload import both
from assasin.offload import source as sources


def _source(wanted: str | Path) -> sources.Source:
    path = Path(wanted)
    if path.suffix == ".py":
        path = path.with_name(path.stem.removeprefix("test_") + ".c")
    return sources.find(str(path))


def run_all(wanted: str | Path, *inputs: bytes, args: bytes = b"", outputs: int | None = None, exit_code: int = 0) -> list[bytes]:
    """
    The output streams of the offload `wanted`: a C file, or a test's `__file__`, which stands for the C file beside it
    (test_wc.py: wc.c). `exit_code`: what compute must return. Raises AssertionError.
    """
    source = _source(wanted)
    pair = both.run(source, inputs, args, source.outputs if outputs is None else outputs)
    assert not pair.findings, "\n".join(map(str, pair.findings))
    assert pair.native.exit_code == exit_code, f"compute returned {pair.native.exit_code}, not {exit_code}"
    return pair.machine.outputs


def run(wanted: str | Path, *inputs: bytes, args: bytes = b"", exit_code: int = 0) -> bytes:
    """Output stream 0, as run_all() has it."""
    return run_all(wanted, *inputs, args=args, exit_code=exit_code)[0]
