# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/build-board lets an instrumented simulator do, so that the compiler learns which way the chip's branches go: writes
through NVMe, and all cores streaming. Usage: train.py DOOR (the socket of a board that serves)."""

from __future__ import annotations

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "host-driver" / "python"))

from assasin import offloads  # noqa: E402  (the path comes first)
from assasin.drive import Drive, Extent  # noqa: E402

BYTES_A_CORE = 64 << 10


def main() -> None:
    """Writes to the drive behind the door given as argument, and runs two offloads over it."""
    with Drive(f"virtual:{sys.argv[1]}") as drive:
        size = min(BYTES_A_CORE * drive.info.cores, drive.info.blocks * drive.info.block_bytes // 2)
        drive.write(0, random.Random(1).randbytes(size))
        extents = [Extent(0, size // drive.info.block_bytes)]
        for name in ("scan", "stat"):
            offloads.run(drive, name, extents, size)


if __name__ == "__main__":
    main()
