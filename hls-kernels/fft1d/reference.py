# SPDX-License-Identifier: BSD-3-Clause
"""fft1d on the host, by numpy in double precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

POINTS = 1024
ERROR = 1e-6
"""Allowed root mean square error, of a row's: ten passes of single precision stay well below."""


def example(size: int, seed: int) -> tuple[list[bytes], dict[str, float]]:
    """Rows of noise, as many as `size` bytes hold, at least one."""
    rows = max(1, size // (8 * POINTS))
    return [np.random.default_rng(seed).standard_normal(2 * POINTS * rows).astype("<f4").tobytes()], {"rows": rows}


def expected(inputs: Sequence[bytes], scalars: Mapping[str, float]) -> bytes:
    """The transform of every row, rounded to single precision."""
    length = int(scalars["rows"]) * POINTS * 8
    whole = min(length, len(inputs[0]) // 4 * 4)
    data = inputs[0][:whole].ljust(length, b"\0")
    rows = np.frombuffer(data, "<c8").reshape(-1, POINTS)
    return np.fft.fft(rows.astype(np.complex128)).astype("<c8").tobytes()


def equal(result: bytes, wanted: bytes) -> bool:
    """Whether each row is right within ERROR."""
    if len(result) != len(wanted):
        return False
    a, b = (np.frombuffer(x, "<c8").astype(np.complex128).reshape(-1, POINTS) for x in (result, wanted))
    return bool(np.all(np.linalg.norm(a - b, axis=1) <= ERROR * np.linalg.norm(b, axis=1)))
