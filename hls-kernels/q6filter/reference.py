# SPDX-License-Identifier: BSD-3-Clause
"""q6filter on the host, by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

TUPLE_WORDS = 8
SHIPDATE, QUANTITY, PRICE, DISCOUNT = 3, 4, 5, 6


def example(size: int, seed: int) -> tuple[list[bytes], dict[str, float]]:
    """Tuples of which about 2 in 100 qualify, and TPC-H's validation values."""
    rows = np.random.default_rng(seed).integers(0, 1 << 31, (size // 32, TUPLE_WORDS), dtype=np.int32)
    rows[:, SHIPDATE] = 8036 + rows[:, SHIPDATE] % 2526
    rows[:, QUANTITY] = 100 + rows[:, QUANTITY] % 50 * 100
    rows[:, DISCOUNT] %= 11
    query = {"shipdate_from": 8766, "shipdate_to": 9131, "discount_low": 5, "discount_high": 7, "quantity_to": 2400}
    return [rows.astype("<i4").tobytes()], {n: float(v) for n, v in query.items()}


def expected(inputs: Sequence[bytes], scalars: Mapping[str, float]) -> bytes:
    """Price and discount of the rows that qualify."""
    rows = np.frombuffer(inputs[0][: len(inputs[0]) // 32 * 32], "<i4").reshape(-1, TUPLE_WORDS)
    keep = (rows[:, SHIPDATE] >= scalars["shipdate_from"]) & (rows[:, SHIPDATE] < scalars["shipdate_to"])
    keep &= (rows[:, DISCOUNT] >= scalars["discount_low"]) & (rows[:, DISCOUNT] <= scalars["discount_high"])
    keep &= rows[:, QUANTITY] < scalars["quantity_to"]
    return rows[keep][:, [PRICE, DISCOUNT]].tobytes()
