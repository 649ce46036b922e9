# SPDX-License-Identifier: BSD-3-Clause
"""
Columns of TPC-H at SF 10 as the vector unit's filters read them: integers, made with numpy alone (docs/varve/bench.md 2.1, 2.2).

What a column holds depends on the seed, its table and name, and the window: not on which others are made, nor in what order.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]

SEED = 14
SUPPLIERS = 100_000
ORDERS = 15_000_000
ROWS = {"lineitem": 4 * ORDERS, "orders": ORDERS, "customer": 1_500_000, "part": 2_000_000}
"""Of the tables that grow with the scale factor; of lineitem the mean."""

SMALL = {"nation": 25, "region": 5}
"""Rows of the others."""

CURRENT = 9298
"""1995-06-17: what was received by then may have been returned, what was shipped later is open. Days since 1970-01-01."""


@dataclass(frozen=True)
class VarWidth:
    """A stream of values with widths of their own (docs/varve/isa.md 5.2)."""

    data: NDArray[np.uint8]
    """The values' bits without gaps, bit 0 first."""
    widths: NDArray[np.uint8]
    """Bits of each value."""


def widths(values: Column, unsigned: bool) -> Column:
    """Bits of the smallest number that holds each value, without a sign or in two's complement; 0 of 0."""
    if unsigned and (values < 0).any():
        raise ValueError("a value below 0 has no width without a sign")
    # 53 bits at most, so that a double has each number exactly.
    magnitude = np.where(values < 0, ~values, values)
    bits = np.frexp(magnitude.astype(np.float64))[1].astype(np.int64)
    return bits if unsigned else np.where(values == 0, 0, bits + 1)


def varwidth(values: Column, unsigned: bool) -> VarWidth:
    """Values of up to 32 bits as a VarWidth stream."""
    of = widths(values, unsigned)
    places = np.arange(33)
    bits = values[:, None] >> places & 1
    data = np.packbits(bits[places < of[:, None]].astype(np.uint8), bitorder="little")
    return VarWidth(data, of.astype(np.uint8))


class Window:
    """Consecutive rows of a table. Window w of many begins at row w * rows / many; nation and region begin anew at their ends."""

    def __init__(self, table: str, n: int, seed: int = SEED, window: int = 0, windows: int = 1) -> None:
        self.table, self.n = table, n
        self._seed, self._window = seed, window
        self._first = 0 if table in SMALL else window * (ORDERS if table == "lineitem" else ROWS[table]) // windows
        self._made: dict[str, Column] = {}

    def column(self, name: str) -> Column:
        """A column by its name in tpch.toml, or one that only others depend on."""
        if name not in self._made:
            self._made[name] = _MAKERS[name](self)
        return self._made[name]

    def draw(self, name: str, low: int, high: int, shape: int | tuple[int, ...] | None = None) -> Column:
        """Numbers from low to high."""
        return self.random(name).integers(low, high + 1, self.n if shape is None else shape, dtype=np.int64)

    def random(self, name: str) -> np.random.Generator:
        """The generator of a column."""
        words = [self._seed, zlib.crc32(f"{self.table}.{name}".encode()), self._window]
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))

    def row(self) -> Column:
        """The number of every row; of lineitem that of its order."""
        if self.table in SMALL:
            return np.arange(self.n, dtype=np.int64) % SMALL[self.table]
        if self.table != "lineitem":
            return self._first + np.arange(self.n, dtype=np.int64)
        return self._first + self.column("order")


def _order_key(w: Window) -> Column:
    i = w.row()
    return i // 8 * 32 + i % 8 + 1


def _order_customer(w: Window) -> Column:
    drawn = w.draw("o_custkey", 0, ROWS["customer"] // 3 * 2 - 1)
    return drawn // 2 * 3 + drawn % 2 + 1


def _order_status(w: Window) -> Column:
    lines = w.draw("lines", 1, 7)
    ship = w.column("o_orderdate")[:, None] + w.draw("ship", 1, 121, (w.n, 7))
    open_ = ((ship > CURRENT) & (np.arange(7) < lines[:, None])).sum(axis=1)
    return np.where(open_ == 0, ord("F"), np.where(open_ == lines, ord("O"), ord("P")))


def _line_order(w: Window) -> Column:
    """Orders from the window's first on, each as often as it has lines."""
    return np.repeat(np.arange(w.n, dtype=np.int64), w.draw("lines", 1, 7))[: w.n]


def _line_number(w: Window) -> Column:
    order = w.column("order")
    return np.arange(w.n, dtype=np.int64) - np.searchsorted(order, order) + 1


def _line_date(w: Window) -> Column:
    return w.draw("orderdate", 8035, 10440)[w.column("order")]


def _line_supplier(w: Window) -> Column:
    part = w.column("l_partkey")
    return (part + w.draw("l_suppkey", 0, 3) * (SUPPLIERS // 4 + (part - 1) // SUPPLIERS)) % SUPPLIERS + 1


def _line_price(w: Window) -> Column:
    part = w.column("l_partkey")
    return w.column("l_quantity") // 100 * (90_000 + part // 10 % 20_001 + 100 * (part % 1_000))


def _line_returned(w: Window) -> Column:
    either = np.where(w.draw("l_returnflag", 0, 1) == 0, ord("R"), ord("A"))
    return np.where(w.column("l_receiptdate") <= CURRENT, either, ord("N"))


def _line_status(w: Window) -> Column:
    return np.where(w.column("l_shipdate") > CURRENT, ord("O"), ord("F"))


def _part_words(w: Window) -> Column:
    """Five different words of 92 for each part."""
    words = np.tile(np.arange(92, dtype=np.int64), (w.n, 1))
    return w.random("p_name").permuted(words, axis=1)[:, :5]


def _uniform(name: str, low: int, high: int) -> Callable[[Window], Column]:
    return lambda w: w.draw(name, low, high)


def _later(name: str, than: str, low: int, high: int) -> Callable[[Window], Column]:
    return lambda w: w.column(than) + w.draw(name, low, high)


def _word(k: int) -> Callable[[Window], Column]:
    return lambda w: w.column("p_name")[:, k]


_MAKERS: dict[str, Callable[[Window], Column]] = {
    "order": _line_order,
    "orderdate": _line_date,
    "l_orderkey": _order_key,
    "l_partkey": _uniform("l_partkey", 1, ROWS["part"]),
    "l_suppkey": _line_supplier,
    "l_linenumber": _line_number,
    "l_quantity": lambda w: 100 * w.draw("l_quantity", 1, 50),
    "l_extendedprice": _line_price,
    "l_discount": _uniform("l_discount", 0, 10),
    "l_tax": _uniform("l_tax", 0, 8),
    "l_returnflag": _line_returned,
    "l_linestatus": _line_status,
    "l_shipdate": _later("l_shipdate", "orderdate", 1, 121),
    "l_commitdate": _later("l_commitdate", "orderdate", 30, 90),
    "l_receiptdate": _later("l_receiptdate", "l_shipdate", 1, 30),
    "l_shipinstruct": _uniform("l_shipinstruct", 0, 3),
    "l_shipmode": _uniform("l_shipmode", 0, 6),
    "o_orderkey": _order_key,
    "o_custkey": _order_customer,
    "o_orderstatus": _order_status,
    "o_orderdate": _uniform("o_orderdate", 8035, 10440),
    "o_orderpriority": _uniform("o_orderpriority", 0, 4),
    "o_shippriority": _uniform("o_shippriority", 0, 0),
    "c_custkey": lambda w: w.row() + 1,
    "c_acctbal": _uniform("c_acctbal", -99_999, 999_999),
    "c_cntrycode": _uniform("c_cntrycode", 10, 34),
    "c_mktsegment": _uniform("c_mktsegment", 0, 4),
    "p_partkey": lambda w: w.row() + 1,
    "p_name": _part_words,
    **{f"p_name{k + 1}": _word(k) for k in range(5)},
    "p_mfgr": _uniform("p_mfgr", 0, 4),
    "p_brand": lambda w: 5 * w.column("p_mfgr") + w.draw("p_brand", 0, 4),
    "p_type": _uniform("p_type", 0, 149),
    # The last of a type's three words; codes are in alphabetical order.
    "p_metal": lambda w: w.column("p_type") % 5,
    "p_size": _uniform("p_size", 1, 50),
    "p_container": _uniform("p_container", 0, 39),
    **{name: lambda w: w.row() for name in ("n_nationkey", "n_name", "r_regionkey", "r_name")},
}
