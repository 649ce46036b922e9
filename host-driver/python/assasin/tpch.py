# SPDX-License-Identifier: BSD-3-Clause
"""TPC-H lineitem from DuckDB's generator, as the drive stores it, and DuckDB's own answers about the same table."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

TUPLE = np.dtype(
    [
        ("orderkey", "<u4"),
        ("partkey", "<u4"),
        ("suppkey", "<u4"),
        ("shipdate", "<i4"),
        ("quantity", "<i4"),
        ("extendedprice", "<i4"),
        ("discount", "<i4"),
        ("tax", "<i4"),
    ]
)
"""struct lineitem_tuple of firmware/offload/include/offloads.h: days since 1970-01-01, decimals in hundredths."""


@dataclass(frozen=True)
class Q6:
    """The predicate of TPC-H Q6 in the tuple's units; the defaults are the benchmark's validation values."""

    shipdate_from: str = "1994-01-01"
    shipdate_to: str = "1995-01-01"
    discount_low: int = 5
    discount_high: int = 7
    quantity_to: int = 2400

    def days(self) -> tuple[int, int]:
        """The date range in days since 1970-01-01."""
        epoch = np.datetime64("1970-01-01")
        return tuple(int((np.datetime64(d) - epoch).astype(int)) for d in (self.shipdate_from, self.shipdate_to))  # type: ignore[return-value]

    def args(self) -> bytes:
        """struct filter_args."""
        low, high = self.days()
        return np.array([low, high, self.discount_low, self.discount_high, self.quantity_to], "<i4").tobytes()


def extension_path() -> Path:
    """Where the wheel `duckdb-extension-tpch` put DuckDB's TPC-H extension for the DuckDB in use."""
    spec = importlib.util.find_spec("duckdb_extension_tpch")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the Python package duckdb-extension-tpch is not installed: run scripts/setup")
    version = duckdb.__version__
    path = Path(spec.origin).parent / "extensions" / f"v{version}" / "tpch.duckdb_extension"
    if not path.exists():
        raise FileNotFoundError(f"{path.name} for DuckDB {version} is not in the wheel duckdb-extension-tpch: run scripts/setup")
    return path


class Lineitem:
    """The lineitem table at scale factor `sf`, inside an in-memory DuckDB."""

    def __init__(self, sf: float) -> None:
        self.db = duckdb.connect()
        path = str(extension_path()).replace("'", "''")
        self.db.execute(f"LOAD '{path}'")
        self.db.execute(f"CALL dbgen(sf={sf})")

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._one("SELECT count(*) FROM lineitem")[0]

    def tuples(self) -> npt.NDArray[np.void]:
        """All rows as TUPLE, in table order."""
        columns = self.db.execute(
            """SELECT l_orderkey orderkey, l_partkey partkey, l_suppkey suppkey,
                      date_diff('day', DATE '1970-01-01', l_shipdate) shipdate,
                      CAST(l_quantity * 100 AS INTEGER) quantity, CAST(l_extendedprice * 100 AS INTEGER) extendedprice,
                      CAST(l_discount * 100 AS INTEGER) discount, CAST(l_tax * 100 AS INTEGER) tax
               FROM lineitem ORDER BY rowid"""
        ).fetchnumpy()
        out = np.empty(len(columns["orderkey"]), TUPLE)
        for name in TUPLE.names or ():
            values = columns[name]
            narrow = values.astype(TUPLE[name])
            if not np.array_equal(narrow, values):
                raise OverflowError(f"lineitem column {name} does not fit {TUPLE[name]}: use a smaller scale factor")
            out[name] = narrow
        return out

    def column(self) -> npt.NDArray[np.int32]:
        """l_extendedprice in hundredths as 32-bit integers, in table order: the input of stat."""
        values = self.db.execute("SELECT CAST(l_extendedprice * 100 AS INTEGER) v FROM lineitem ORDER BY rowid").fetchnumpy()["v"]
        return values.astype("<i4")

    def column_stat(self) -> tuple[int, int, int, int]:
        """DuckDB's count, sum, min and max of the column, in hundredths."""
        return self._one(
            """SELECT count(l_extendedprice), CAST(sum(l_extendedprice) * 100 AS BIGINT),
                      CAST(min(l_extendedprice) * 100 AS INTEGER), CAST(max(l_extendedprice) * 100 AS INTEGER) FROM lineitem"""
        )

    def tuples_scan(self) -> tuple[int, int]:
        """
        What scan returns for the tuples, computed by DuckDB from its table: bytes, and the sum modulo 2^32 of the first byte of
        every 64-byte block, which is the low byte of every other row's order key.
        """
        return self._one(
            f"""WITH v AS (SELECT l_orderkey k, row_number() OVER (ORDER BY rowid) - 1 i FROM lineitem)
                SELECT count(*) * {TUPLE.itemsize}, coalesce(sum(k & 255) FILTER (i % 2 = 0), 0)::BIGINT % 4294967296 FROM v"""
        )

    def q6_rows(self, q: Q6) -> npt.NDArray[np.int32]:
        """Price and discount, in hundredths, of the rows that satisfy Q6's predicate, in table order; shape (n, 2)."""
        r = self.db.execute(
            """SELECT CAST(l_extendedprice * 100 AS INTEGER) p, CAST(l_discount * 100 AS INTEGER) d FROM lineitem
               WHERE l_shipdate >= ?::DATE AND l_shipdate < ?::DATE AND l_discount BETWEEN ?::DECIMAL(15,2) AND ?::DECIMAL(15,2)
                 AND l_quantity < ?::DECIMAL(15,2) ORDER BY rowid""",
            [
                q.shipdate_from,
                q.shipdate_to,
                f"{q.discount_low / 100:.2f}",
                f"{q.discount_high / 100:.2f}",
                f"{q.quantity_to / 100:.2f}",
            ],
        ).fetchnumpy()
        return np.stack([r["p"], r["d"]], axis=1).astype("<i4")

    def q6_revenue(self) -> int:
        """The answer of TPC-H query 6 by DuckDB's own text of it, in ten-thousandths."""
        query = self._one("SELECT query FROM tpch_queries() WHERE query_nr = 6")[0].rstrip().rstrip(";")
        return self._one(f"SELECT CAST(revenue * 10000 AS BIGINT) FROM ({query})")[0]

    def _one(self, sql: str) -> tuple:
        row = self.db.execute(sql).fetchone()
        assert row is not None
        return row
