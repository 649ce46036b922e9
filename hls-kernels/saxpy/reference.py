# SPDX-License-Identifier: BSD-3-Clause
"""saxpy on the host, by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def example(size: int, seed: int) -> tuple[list[bytes], dict[str, float]]:
    """Two vectors of `size` bytes together."""
    rng = np.random.default_rng(seed)
    vectors = [rng.standard_normal(size // 8).astype("<f4").tobytes() for _ in range(2)]
    return vectors, {"alpha": 1.5 + seed}


def expected(inputs: Sequence[bytes], scalars: Mapping[str, float]) -> bytes:
    """alpha * B + C, each operation rounded."""
    whole = min(len(i) for i in inputs) // 4 * 4
    b, c = (np.frombuffer(i[:whole], "<f4") for i in inputs)
    return ((np.float32(scalars["alpha"]) * b).astype("<f4") + c).astype("<f4").tobytes()
