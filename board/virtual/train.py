# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/build-board lets an instrumented simulator do, so that the compiler learns which way the chip's branches go: writes
through NVMe, and all cores streaming, with vectors where they have them. Usage: train.py DOOR, the socket of a board."""

from __future__ import annotations

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "host-driver" / "python"))

from assasin import offloads  # noqa: E402  (the path comes first)
from assasin.drive import Drive, DriveError  # noqa: E402
from assasin.job import Extent, Input, Job  # noqa: E402

BYTES_A_CORE = 64 << 10
VECTOR_BYTES_A_CORE = 16 << 10
PACKED_BYTES = 11 << 9
"""Of clip's stream of values of 11 bits: whole values."""


def main() -> None:
    """Writes to the drive behind the door given as argument, and runs two offloads over it."""
    with Drive(f"virtual:{sys.argv[1]}") as drive:
        size = min(BYTES_A_CORE * drive.info.cores, drive.info.blocks * drive.info.block_bytes // 2)
        drive.write(0, random.Random(1).randbytes(size))
        extents = [Extent(0, size // drive.info.block_bytes)]
        for name in ("scan", "stat"):
            offloads.run(drive, name, extents, size)
        for form in ("full", "pup"):
            try:
                clip = drive.load((ROOT / f"build/offload/varve/clip-{form}.elf").read_bytes())
            except DriveError:
                continue  # no core of the drive runs it
            blocks = VECTOR_BYTES_A_CORE // drive.info.block_bytes
            packed = Input.of(random.Random(2).randbytes(PACKED_BYTES))
            parts = [Input([Extent(i * blocks, blocks)], VECTOR_BYTES_A_CORE) for i in range(drive.info.cores)]
            drive.run_job(Job(clip, [[part, packed] for part in parts], streams_out=2))
            break


if __name__ == "__main__":
    main()
