# SPDX-License-Identifier: BSD-3-Clause
"""The same piece on a started board."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assasin.drive import Drive
from assasin.job import Input, Job, enough_kcycles
from assasin.offload import build
from assasin.offload.source import Source


def run(
    drive: Drive, source: Source, inputs: Sequence[bytes], args: bytes, outputs: int, tick: Callable[[], None] | None = None
) -> tuple[int, list[bytes], str, int]:
    """
    Runs one piece on one core of the drive, fed by the host. Returns what compute returned, the outputs, how the piece ended in
    words ("" when well), and its cycles on the core. Raises BuildError, and DriveError when the drive refuses.
    """
    arch = drive.variant()
    elf = build.build(source, (arch,))[arch].read_bytes()
    streams = [[Input.of(d) for d in inputs]]
    with drive.function(elf) as function:
        (piece,) = drive.run_job(
            Job(function, streams, None, outputs, args, 1, enough_kcycles(streams), tick=tick),
        )
    return piece.exit_code, list(piece.outputs), "" if piece.ok else piece.text, piece.report.cycles
