# SPDX-License-Identifier: BSD-3-Clause
"""addword on the host, by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def example(size: int, seed: int) -> tuple[list[bytes], dict[str, float]]:
    """Input streams of about `size` bytes together, and the scalar arguments."""
    return [np.random.default_rng(seed).bytes(size)], {"addend": 0x90000001}


def expected(inputs: Sequence[bytes], scalars: Mapping[str, float]) -> bytes:
    """What the kernel makes of them."""
    data = inputs[0]
    whole = len(data) // 4 * 4
    return (np.frombuffer(data[:whole], "<u4") + np.uint32(scalars["addend"])).astype("<u4").tobytes() + data[whole:]
