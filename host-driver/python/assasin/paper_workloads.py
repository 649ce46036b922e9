# SPDX-License-Identifier: BSD-3-Clause
"""The workloads of `assasin bench paper`: inputs, offloads with their arguments, and the check of every result."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assasin import bench, offloads
from assasin.drive import Piece

Streams = Sequence[bytes]
"""The input streams of one piece."""


@dataclass(frozen=True)
class Workload:
    """One function as the bench runs it. `size` and `quick_size` are input bytes of all streams and pieces together."""

    name: str
    offload: str
    size: int
    quick_size: int
    correct: Callable[[Sequence[Streams], list[Piece]], bool]
    streams_in: int = 1
    streams_out: int = 1
    args: bytes = b""
    shape: Callable[[bytes], bytes] = lambda data: data
    """Makes the input out of random bytes; must work page by page."""


def _joined(pieces: Sequence[Piece], stream: int = 0) -> bytes:
    return b"".join(p.outputs[stream] for p in pieces)


def _single(inputs: Sequence[Streams]) -> bytes:
    return b"".join(streams[0] for streams in inputs)


def _xor(streams: Streams) -> npt.NDArray[np.uint8]:
    out = np.frombuffer(streams[0], np.uint8).copy()
    for s in streams[1:]:
        out ^= np.frombuffer(s, np.uint8)
    return out


def double(values: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Times x in GF(256) with the polynomial 0x11D."""
    return ((values << 1) ^ np.where(values & 0x80, 0x1D, 0).astype(np.uint8)).astype(np.uint8)


def _syndrome(streams: Streams) -> npt.NDArray[np.uint8]:
    """Q of RAID 6: the sum of 2^i times stream i, by Horner's rule."""
    out: npt.NDArray[np.uint8] = np.zeros(len(streams[0]), np.uint8)
    for s in reversed(streams):
        out = double(out) ^ np.frombuffer(s, np.uint8)
    return out


def _raid4_correct(inputs: Sequence[Streams], pieces: list[Piece]) -> bool:
    return all(p.outputs[0] == _xor(s).tobytes() for s, p in zip(inputs, pieces, strict=True))


def _raid6_correct(inputs: Sequence[Streams], pieces: list[Piece]) -> bool:
    return all(
        p.outputs[0] == _xor(s).tobytes() and p.outputs[1] == _syndrome(s).tobytes() for s, p in zip(inputs, pieces, strict=True)
    )


def _filter_shape(data: bytes) -> bytes:
    """Lineitem tuples of which about 2 % satisfy Q6's predicate."""
    rows = np.frombuffer(data, "<u4").reshape(-1, 8).copy()
    rows[:, 3] = 8036 + rows[:, 3] % 2526
    rows[:, 4] = 100 + rows[:, 4] % 50 * 100
    rows[:, 6] %= 11
    return rows.astype("<u4").tobytes()


KIB, MIB = 1 << 10, 1 << 20

STAT = Workload(
    "stat",
    "stat",
    4 * MIB,
    256 * KIB,
    lambda inputs, pieces: offloads.stat_result(pieces) == offloads.expected_stat(_single(inputs)),
)
SCAN = Workload(
    "scan",
    "scan",
    2 * MIB,
    128 * KIB,
    lambda inputs, pieces: offloads.scan_result(pieces) == offloads.expected_scan(_single(inputs)),
)
FILTER = Workload(
    "filter",
    "filter",
    2 * MIB,
    128 * KIB,
    lambda inputs, pieces: bool(np.array_equal(offloads.filter_result(pieces), bench.expected_filter(_single(inputs)))),
    args=bench.FILTER_ARGS,
    shape=_filter_shape,
)
RAID4 = Workload("raid4", "raid4", 4 * MIB, 256 * KIB, _raid4_correct, streams_in=4, streams_out=1)
RAID6 = Workload(
    "raid6", "raid6", 2 * MIB, 128 * KIB, _raid6_correct, streams_in=4, streams_out=2, args=struct.pack("<II", 4, 3 << 4)
)

FUNCTIONS = (STAT, RAID4, RAID6)
"""The standalone functions of Figure 13, the least compute-intensive first."""

SKEWED = ((STAT, 512 * KIB), (RAID6, 256 * KIB))
"""The functions of Figure 19 and how much of the input they work on at every skew."""
