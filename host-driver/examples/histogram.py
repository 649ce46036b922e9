# SPDX-License-Identifier: BSD-3-Clause
"""
Runs the offload of firmware/offload/examples/histogram.c over a file that it writes to the drive first.

Usage: PYTHONPATH=host-driver/python python host-driver/examples/histogram.py FILE   (with a board running: assasin flash virtual)
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from assasin import offloads
from assasin.board import Board
from assasin.drive import Drive, Extent


def histogram(drive: Drive, data: bytes, lba: int = 0) -> np.ndarray:
    """Writes `data` from block `lba` on and counts its byte values inside the drive."""
    blocks = drive.write(lba, data)
    pieces = offloads.run(drive, "histogram", [Extent(lba, blocks)], len(data))
    return sum(np.frombuffer(p.outputs[0], "<u4").astype(np.int64) for p in pieces)


if __name__ == "__main__":
    with Drive(Board().require().address) as drive:
        counts = histogram(drive, Path(sys.argv[1]).read_bytes())
    for value in np.argsort(counts)[::-1][:8]:
        print(f"{value:3} {bytes([value])!r:8} {counts[value]:,}")
