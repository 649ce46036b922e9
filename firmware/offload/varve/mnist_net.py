#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Writes a network of mnist.npz as a header for mnist.c: the convolution's weights as macros, so that zeros take no code.

Usage: mnist_net.py NPZ VARIANT >HEADER
"""

from __future__ import annotations

import sys

import numpy as np

GROUP = 8
"""Filters of a call."""


def header(path: str, variant: str) -> str:
    """The text."""
    with np.load(path, allow_pickle=False) as kept:
        filters = kept[f"{variant}.filters"].astype(int)
        shift = int(kept[f"{variant}.shift"])
    lines = [
        "/* SPDX-License-Identifier: BSD-3-Clause */",
        f"/* Made by mnist_net.py: {variant}. */",
        f"#define MNIST_SHIFT {shift}",
        "/* T(tap, weight) of each tap of a filter whose weight is not 0; FIRST of the first of them, NONE() where all are. */",
    ]
    for f, weights in enumerate(filters):
        taps = [(int(t), int(weights[t])) for t in np.flatnonzero(weights)]
        words = [f"{'T' if k else 'FIRST'}({t}, {w})" for k, (t, w) in enumerate(taps)]
        lines.append(f"#define MNIST_{f // GROUP}_{f % GROUP}(FIRST, T, NONE) {' '.join(words) or 'NONE()'}")
    lines += [
        "/* A group's, so that neighbours do not wait for each other: FIRST(filter, tap, weight) of each filter, or NONE(filter);",
        "   then MUL(filter, tap, weight) of each with a further weight, and ADD(filter) of these; and so on. */",
    ]
    for g, of in enumerate(filters.reshape(-1, GROUP, filters.shape[1])):
        taps_of = [[int(t) for t in np.flatnonzero(weights)] for weights in of]
        words = [f"FIRST({f}, {taps[0]}, {of[f][taps[0]]})" if taps else f"NONE({f})" for f, taps in enumerate(taps_of)]
        for k in range(1, max(map(len, taps_of))):
            left = [(f, taps[k]) for f, taps in enumerate(taps_of) if len(taps) > k]
            words += [f"MUL({f}, {t}, {of[f][t]})" for f, t in left] + [f"ADD({f})" for f, _ in left]
        lines.append(f"#define MNIST_GROUP_{g}(FIRST, MUL, ADD, NONE) {' '.join(words)}")
    groups = filters.reshape(-1, GROUP, filters.shape[1]).transpose(0, 2, 1)
    rows = ["{" + ", ".join("{" + ", ".join(map(str, tap)) + "}" for tap in group) + "}" for group in groups.tolist()]
    lines.append("/* Of group, tap, filter. */")
    lines.append(f"#define MNIST_WEIGHTS {{{', '.join(rows)}}}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(header(sys.argv[1], sys.argv[2]))
