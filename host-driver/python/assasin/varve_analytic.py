# SPDX-License-Identifier: BSD-3-Clause
"""
The analytical model of figures 8.17 and 8.18: elements of a vector by the alignment of their widths (docs/varve/bench.md 4.4).

An element takes its width rounded up to the alignment G, a vector VLEN bits; at most VLEN / G elements are in one. The speed-up
over lanes of fixed width is the mean number of elements over the number of lanes. The model has no ports and no latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assasin.varve_data import Column, Window, widths
from assasin.varve_stated import ALIGNMENT, CARRIES, Stated
from assasin.varve_tile import Row

RAID, GAN, ADDER = "8.17", "8.18", "table8.4"
ELEN, MBMAX = 32, 64
"""Bits of the largest element of Zve32x and of VarVE-full."""
VLEN = 256
ALIGNMENTS = (8, 4, 2, 1)

Shares = dict[int, float]
"""Of each width in bits, the share of values that have it."""

ZEROS, MEAN, LARGEST = 0.3, 3.9, 8
"""Of the assumed weights and activations: the share of zeros, the mean width of the others, the greatest width."""


def shares(values: Column, unsigned: bool) -> Shares:
    """Of a column."""
    found, counts = np.unique(widths(values, unsigned), return_counts=True)
    return {int(w): float(c) / len(values) for w, c in zip(found, counts, strict=True)}


def assumed(zeros: float = ZEROS, mean: float = MEAN, largest: int = LARGEST) -> Shares:
    """Zeros, and else widths from 1 on whose shares fall by a constant ratio, so that they have a mean."""

    def shape(ratio: float) -> NDArray[np.float64]:
        weights = ratio ** np.arange(largest, dtype=np.float64)
        return np.asarray(weights / weights.sum())

    low, high = 1e-6, 1e6
    for _ in range(200):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if (shape(middle) * np.arange(1, largest + 1)).sum() < mean else (low, middle)
    return {0: zeros} | {k + 1: float((1 - zeros) * p) for k, p in enumerate(shape(low))}


def _of_pairs(a: Shares, b: Shares, width: Callable[[int, int], int]) -> Shares:
    found: Shares = {}
    for (u, p), (v, q) in product(a.items(), b.items()):
        found[width(u, v)] = found.get(width(u, v), 0.0) + p * q
    return found


def logical(a: Shares, b: Shares) -> Shares:
    """Widths at which pairs of a logical operation are aligned, table 8.3."""
    return _of_pairs(a, b, max)


def products(a: Shares, b: Shares) -> Shares:
    """The same of a product; of 0 there is nothing to align."""
    return _of_pairs(a, b, lambda u, v: u + v if u and v else 0)


def elements(of: Shares, align: int, most: int | None = None) -> float:
    """
    The mean number of elements with these widths, drawn independently, that a vector of VLEN bits holds.

    most: elements that it may hold, default VLEN / align.
    """
    slots = VLEN // align
    step = np.zeros(slots + 1)
    for w, p in of.items():
        step[min(-(-w // align), slots)] += p
    # Of the slots that the first k elements take; what does not fit is dropped.
    taken: NDArray[np.floating[Any]] = np.zeros(slots + 1)
    mean = 0.0
    taken[0] = 1
    for _ in range(slots if most is None else most):
        taken = np.convolve(taken, step)[: slots + 1]
        mean += taken.sum()
    return float(mean)


def carry_cases(largest: int, any_width: bool) -> int:
    """
    Cases of the carry into a byte, table 8.4: at how many different places of its element a byte may stand.

    Elements have a power of two of bytes and lie at multiples of it; or any number of bytes, and lie anywhere.
    """
    size = largest // 8
    if any_width:
        return size
    return max(len({byte % each for each in (1, 2, 4, 8) if each <= size}) for byte in range(size))


def adders() -> Iterator[Row]:
    """Table 8.4."""
    for form, largest in (("zve32x", ELEN), ("full", MBMAX)):
        ours, stated = carry_cases(largest, form == "full"), CARRIES[form]
        unit = f"cases of the carry into a byte, elements of up to {largest} bits"
        yield Row(ADDER, "adder", form, "carry_variants", ours, stated, unit, "derived from the sizes of elements")


def _row(figure: str, workload: str, form: str, metric: str, ours: float | None, unit: str, why: str | None = None) -> Row:
    stated = ALIGNMENT.get((workload, form, metric), Stated())
    return Row(figure, workload, form, metric, ours, stated.value, unit, "analytical model", plotted=stated.plotted, why=why)


def run(measured: dict[tuple[str, str, str], float], seed: int) -> Iterator[Row]:
    """Rows of the model; measured: by workload, form and metric, what the same run found on the tile."""
    lines = shares(Window("lineitem", 200_000, seed, 1, 2).column("l_linenumber"), True)
    weights = assumed()

    def model(figure: str, name: str, of: Shares, lanes: int, over_scalar: str, unit: str) -> Iterator[Row]:
        for align in ALIGNMENTS:
            ratio = elements(of, align) / lanes
            yield _row(figure, f"{name}/a{align}", "full-model", "speedup_over_zve32x", ratio, unit)
            scalar = measured.get((over_scalar, "zve32x", "speedup_over_scalar"))
            why = None if scalar else f"{over_scalar} over scalar code was not measured in this run"
            ours = ratio * scalar if scalar else None
            yield _row(
                figure, f"{name}/a{align}", "full-model", "speedup_over_scalar", ours, f"that by {over_scalar}'s zve32x", why
            )

    yield from model(RAID, "raid5", lines, VLEN // 32, "raid5-encode", "values of a vector over 8 lanes of 32 bits")
    for align in ALIGNMENTS:
        pairs = elements(logical(lines, lines), align) / (VLEN // 32)
        yield _row(RAID, f"raid5/a{align}", "full-model", "pairs_over_zve32x", pairs, "pairs of an xor over 8 lanes of 32 bits")
    unit = f"products of a vector over 32 lanes of 8 bits; {ZEROS:.0%} zeros, else {MEAN} bits on the mean, an assumption"
    yield from model(GAN, "gan", products(weights, weights), VLEN // 8, "mnist", unit)
