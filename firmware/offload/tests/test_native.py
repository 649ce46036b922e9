# SPDX-License-Identifier: BSD-3-Clause
"""The offloads' native builds against computations of the same data that share no code with them (numpy, DuckDB)."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from assasin import tpch
from native import Fault, run


@pytest.fixture(scope="session")
def lineitem() -> tpch.Lineitem:
    return tpch.Lineitem(0.01)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 511, 512, 513, 4096, 70001])
def test_scan_counts_every_byte_and_sums_the_blocks(size: int) -> None:
    data = random.Random(size).randbytes(size)
    _, (out,) = run("scan", [data])
    assert struct.unpack("<II", out) == (size, sum(data[::64]) % 2**32)


def test_scan_of_the_tuples_is_what_duckdb_computes(lineitem: tpch.Lineitem) -> None:
    _, (out,) = run("scan", [lineitem.tuples().tobytes()])
    assert struct.unpack("<II", out) == lineitem.tuples_scan()
    assert lineitem.tuples_scan()[1] > 0


def test_stat_of_the_column_is_what_duckdb_computes(lineitem: tpch.Lineitem) -> None:
    _, (out,) = run("stat", [lineitem.column().tobytes()])
    count, low, high, zero, total = struct.unpack("<IiiIq", out)
    assert (count, total, low, high) == lineitem.column_stat()
    assert zero == 0


@pytest.mark.parametrize(
    "values",
    [[], [0], [-1], [2**31 - 1] * 9, [-(2**31)] * 9, [-(2**31), 2**31 - 1], [5, -7, 3, 3, -7], list(range(-20, 21))],
    ids=str,
)
def test_stat_at_the_edges_of_32_bits(values: list[int]) -> None:
    _, (out,) = run("stat", [np.array(values, "<i4").tobytes()])
    count, low, high, _, total = struct.unpack("<IiiIq", out)
    assert (count, total) == (len(values), sum(values))
    assert (low, high) == ((min(values), max(values)) if values else (2**31 - 1, -(2**31)))


@pytest.mark.parametrize("seed", range(40))
def test_stat_of_columns_that_change_their_range(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(rng.integers(1, 6)):
        bound = int(2 ** rng.integers(1, 32))
        parts.append(rng.integers(-bound, bound, rng.integers(0, 3000)))
    values = np.concatenate(parts).clip(-(2**31), 2**31 - 1).astype("<i4")
    _, (out,) = run("stat", [values.tobytes()])
    count, low, high, _, total = struct.unpack("<IiiIq", out)
    assert (count, total) == (len(values), int(values.sum(dtype=np.int64)))
    if count:
        assert (low, high) == (values.min(), values.max())


def test_stat_ignores_a_cut_off_value() -> None:
    _, (out,) = run("stat", [struct.pack("<ii", 10, 20) + b"\xff\xff\xff"])
    assert struct.unpack("<IiiIq", out) == (2, 10, 20, 0, 30)


def test_filter_returns_the_rows_that_duckdb_selects(lineitem: tpch.Lineitem) -> None:
    q = tpch.Q6()
    value, (out,) = run("filter", [lineitem.tuples().tobytes()], q.args())
    rows = np.frombuffer(out, "<i4").reshape(-1, 2)
    expected = lineitem.q6_rows(q)
    assert value == 0
    assert len(expected) > 0
    assert np.array_equal(rows, expected)
    assert int((rows[:, 0].astype(np.int64) * rows[:, 1]).sum()) == lineitem.q6_revenue()


@pytest.mark.parametrize(
    "q",
    [
        tpch.Q6(shipdate_from="1992-01-01", shipdate_to="1999-01-01", discount_low=0, discount_high=10, quantity_to=5100),
        tpch.Q6(discount_low=7, discount_high=5),
        tpch.Q6(shipdate_from="1995-01-01", shipdate_to="1994-01-01"),
        tpch.Q6(shipdate_from="1994-01-01", shipdate_to="1994-01-01"),
        tpch.Q6(quantity_to=0),
    ],
    ids=["all", "discounts-reversed", "dates-reversed", "dates-empty", "no-quantity"],
)
def test_filter_with_ranges_that_take_all_or_nothing(lineitem: tpch.Lineitem, q: tpch.Q6) -> None:
    _, (out,) = run("filter", [lineitem.tuples().tobytes()], q.args())
    assert np.array_equal(np.frombuffer(out, "<i4").reshape(-1, 2), lineitem.q6_rows(q))


def test_filter_ignores_a_cut_off_tuple() -> None:
    row = np.zeros(1, tpch.TUPLE)
    row["shipdate"] = tpch.Q6().days()[0]
    row["discount"] = 5
    row["extendedprice"] = 77
    _, (out,) = run("filter", [row.tobytes() + row.tobytes()[:-1]], tpch.Q6().args())
    assert struct.unpack("<ii", out) == (77, 5)


def test_filter_refuses_other_arguments() -> None:
    assert run("filter", [b""], b"short")[0] == 1


def test_a_stream_that_is_not_there_is_a_fault() -> None:
    with pytest.raises(Fault, match="does not have"):
        run("scan", [])
