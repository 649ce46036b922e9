# SPDX-License-Identifier: BSD-3-Clause
"""The analytical model of the vector unit's figures against its definition and against drawn widths."""

from __future__ import annotations

import os
import random

import pytest
from assasin import varve_analytic as model
from assasin.varve_analytic import VLEN, Shares

SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))

# l_linenumber 1..7, of which 8 - k in 28 lines have k (TPC-H 2.18, clause 4.2.3): 1, 2 and 3 bits.
LINES: Shares = {1: 7 / 28, 2: 11 / 28, 3: 10 / 28}


@pytest.mark.parametrize(("align", "ratio"), [(8, 4.0), (4, 8.0), (2, 11.8), (1, 15.2)])
def test_raid5_is_what_the_mean_width_says(align: int, ratio: float) -> None:
    # The mean forgets the bits that stay empty at a vector's end, half an element.
    assert model.elements(LINES, align) / 8 == pytest.approx(ratio, abs=0.1)


def test_the_column_has_the_shares_of_the_specification() -> None:
    from assasin.varve_data import Window

    found = model.shares(Window("lineitem", 200_000, 14, 1, 2).column("l_linenumber"), True)
    assert found == pytest.approx(LINES, abs=0.005)


def drawn(of: Shares, align: int, most: int, rng: random.Random) -> int:
    """Elements of a vector, one by one."""
    count, room = 0, VLEN
    while count < most:
        width = rng.choices(list(of), list(of.values()))[0]
        room -= (width + align - 1) // align * align
        if room < 0:
            return count
        count += 1
    return count


@pytest.mark.parametrize("align", model.ALIGNMENTS)
def test_drawn_widths_have_the_mean(align: int) -> None:
    rng = random.Random(SEED + align)
    weights = [rng.random() for _ in range(12)]
    of = {w: p / sum(weights) for w, p in zip(rng.sample(range(33), 12), weights, strict=True)}
    for most in (VLEN // align, 20):
        n = 3000
        found = [drawn(of, align, most, rng) for _ in range(n)]
        mean = sum(found) / n
        spread = (sum((x - mean) ** 2 for x in found) / n) ** 0.5
        assert model.elements(of, align, most) == pytest.approx(mean, abs=5 * spread / n**0.5 + 1e-9), f"SEED={SEED}, {of}"


def test_zeros_alone_bring_their_share() -> None:
    # Values of a byte and zeros at 8 bits: a vector ends before its 33rd byte, so it has 33 / (1 - z) elements less one.
    assert model.elements({0: 0.3, 8: 0.7}, 8, 10_000) == pytest.approx(33 / 0.7 - 1)
    assert model.elements({0: 0.3, 8: 0.7}, 8) == pytest.approx(32, abs=0.01)
    assert model.elements({0: 1.0}, 8) == 32 and model.elements({0: 1.0}, 1) == 256


def test_pairs() -> None:
    a = {0: 0.5, 3: 0.5}
    assert model.logical(a, {1: 1.0}) == {1: 0.5, 3: 0.5}
    assert model.products(a, {1: 0.5, 2: 0.5}) == {0: 0.5, 4: 0.25, 5: 0.25}


def test_assumed_widths_have_their_mean() -> None:
    of = model.assumed()
    assert sum(of.values()) == pytest.approx(1) and of[0] == model.ZEROS
    assert sum(w * p for w, p in of.items()) / (1 - of[0]) == pytest.approx(model.MEAN)
    steps = [of[k + 1] / of[k] for k in range(1, model.LARGEST)]
    assert steps == pytest.approx([steps[0]] * len(steps))


def test_cases_of_a_carry() -> None:
    # The dissertation's 4 of SVE, whose elements have up to 64 bits, and its 8.
    assert [model.carry_cases(bits, False) for bits in (8, 16, 32, 64)] == [1, 2, 3, 4]
    assert [model.carry_cases(bits, True) for bits in (32, 64)] == [4, 8]
    assert [(r.form, r.ours, r.paper) for r in model.adders()] == [("zve32x", 3, 4), ("full", 8, 8)]


def test_rows_say_what_was_not_measured() -> None:
    rows = {(r.workload, r.form, r.metric): r for r in model.run({}, 14)}
    assert all((r.ours is None) == bool(r.why) for r in rows.values())
    assert rows["raid5/a1", "full-model", "speedup_over_zve32x"].paper == 15
    given = {("raid5-encode", "zve32x", "speedup_over_scalar"): 3.5}
    rows = {(r.workload, r.form, r.metric): r for r in model.run(given, 14)}
    # The dissertation's 53 is its 15 and 3.5.
    assert rows["raid5/a1", "full-model", "speedup_over_scalar"].ours == pytest.approx(53, rel=0.02)
    assert rows["gan/a8", "full-model", "speedup_over_zve32x"].ours == pytest.approx(1, abs=0.05)
