# SPDX-License-Identifier: BSD-3-Clause
"""
The scans of the 22 TPC-H queries as data, and the arguments of `psf` and `parse` (firmware/offload/include/tbl.h) for a scan.

A scan takes columns of one table's `.tbl` text, of the rows that satisfy a predicate: what Spark's data source interface pushes
down with the benchmark's validation parameters. Not pushed, as there: comparisons of two columns, LIKE with two wildcards inside,
expressions of a column. IN is pushed as OR.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

Value = int | str | Decimal | datetime.date

SKIP, SKIP_DATES, INT, DECIMAL, DATE, STRING = range(6)
RANGE, EQUAL, STARTS, ENDS, CONTAINS, LESS, LESS_EQUAL = range(7)
PASS, REJECT, NONE = 0xFF, 0xFE, 0xFF
SPLIT, INSIDE = 1, 2
OVERLAP = 4096
MAX_STEPS, MAX_TESTS, MAX_SLOTS, MAX_WORDS, MAX_ARGS = 32, 64, 24, 63, 4096
LOWEST, HIGHEST = -(2**31), 2**31 - 1
EPOCH = datetime.date(1970, 1, 1)

REASONS = {
    1: "bad arguments",
    2: "the text ends inside a row",
    3: "not a number or date, or outside 32 bits",
    4: "more or fewer columns than the table has, or a column shorter than its type allows",
    5: "a string of more than 255 bytes",
}
"""enum tbl_exit."""


def explain(exit_code: int) -> str:
    """Text for an exit code of psf or parse."""
    reason = REASONS.get(exit_code & 7, "unknown reason")
    return reason if exit_code & 7 == 1 else f"{reason}: row that begins in the 8 bytes from offset {exit_code & ~7} of the piece"


@dataclass(frozen=True)
class Column:
    """A column: name, kind (INT, DECIMAL, DATE, STRING), and the fewest characters that the specification allows it."""

    name: str
    kind: int
    shortest: int


def _table(text: str) -> tuple[Column, ...]:
    kinds = {"int": INT, "decimal": DECIMAL, "date": DATE, "string": STRING}
    columns = []
    for word in text.split():
        name, kind, *shortest = word.split(":")
        columns.append(Column(name, kinds[kind], int(shortest[0]) if shortest else {"date": 10, "string": 0}.get(kind, 1)))
    return tuple(columns)


TABLES = {
    "lineitem": _table(
        """l_orderkey:int l_partkey:int l_suppkey:int l_linenumber:int l_quantity:decimal l_extendedprice:decimal:6
           l_discount:decimal:4 l_tax:decimal:4 l_returnflag:string:1 l_linestatus:string:1 l_shipdate:date l_commitdate:date
           l_receiptdate:date l_shipinstruct:string:4 l_shipmode:string:3 l_comment:string:10"""
    ),
    "orders": _table(
        """o_orderkey:int o_custkey:int o_orderstatus:string:1 o_totalprice:decimal:6 o_orderdate:date o_orderpriority:string:5
           o_clerk:string:15 o_shippriority:int o_comment:string:19"""
    ),
    "partsupp": _table("ps_partkey:int ps_suppkey:int ps_availqty:int ps_supplycost:decimal:4 ps_comment:string:49"),
    "customer": _table(
        """c_custkey:int c_name:string:18 c_address:string:10 c_nationkey:int c_phone:string:15 c_acctbal:decimal:4
           c_mktsegment:string:8 c_comment:string:29"""
    ),
    "part": _table(
        """p_partkey:int p_name:string:14 p_mfgr:string:14 p_brand:string:8 p_type:string:16 p_size:int p_container:string:6
           p_retailprice:decimal:6 p_comment:string:5"""
    ),
    "supplier": _table(
        """s_suppkey:int s_name:string:18 s_address:string:10 s_nationkey:int s_phone:string:15 s_acctbal:decimal:4
           s_comment:string:25"""
    ),
    "nation": _table("n_nationkey:int n_name:string:4 n_regionkey:int n_comment:string"),
    "region": _table("r_regionkey:int r_name:string:4 r_comment:string"),
}
"""The tables, columns from left to right."""

COLUMNS = {c.name: c for columns in TABLES.values() for c in columns}


@dataclass(frozen=True)
class Test:
    """`column op value`; op: = <> < <= > >= and starts, ends, contains, each also with `not `."""

    __test__ = False  # not one of pytest's

    column: str
    op: str
    value: Value

    def sql(self) -> str:
        """The test in SQL."""
        text = str(self.value).replace("'", "''")
        if isinstance(self.value, int | Decimal):
            return f"{self.column} {self.op} {text}"
        if isinstance(self.value, datetime.date):
            return f"{self.column} {self.op} DATE '{text}'"
        word = self.op.removeprefix("not ")
        function = {"starts": "starts_with", "ends": "ends_with", "contains": "contains"}.get(word)
        if function is None:
            return f"{self.column} {self.op} '{text}'"
        return f"{'NOT ' if word != self.op else ''}{function}({self.column}, '{text}')"


@dataclass(frozen=True)
class And:
    """All of `parts` hold."""

    parts: tuple[Predicate, ...]

    def sql(self) -> str:
        """The predicate in SQL."""
        return " AND ".join(f"({p.sql()})" for p in self.parts) or "true"


@dataclass(frozen=True)
class Or:
    """One of `parts` holds."""

    parts: tuple[Predicate, ...]

    def sql(self) -> str:
        """The predicate in SQL."""
        return " OR ".join(f"({p.sql()})" for p in self.parts) or "false"


Predicate = Test | And | Or


def all_of(*parts: Predicate) -> And:
    """And."""
    return And(parts)


def any_of(*parts: Predicate) -> Or:
    """Or."""
    return Or(parts)


def one_of(column: str, *values: Value) -> Or:
    """SQL's IN."""
    return Or(tuple(Test(column, "=", v) for v in values))


def between(column: str, low: Value, high: Value) -> And:
    """SQL's BETWEEN: both ends belong to it."""
    return all_of(Test(column, ">=", low), Test(column, "<=", high))


def since_until(column: str, since: str, until: str) -> And:
    """A date from `since` on, before `until`."""
    return all_of(Test(column, ">=", datetime.date.fromisoformat(since)), Test(column, "<", datetime.date.fromisoformat(until)))


@dataclass(frozen=True)
class Scan:
    """Columns of `table`, in the table's order, of the rows that satisfy `where`."""

    table: str
    columns: tuple[str, ...]
    where: Predicate = And(())

    def sql(self) -> str:
        """The same as a query."""
        return f"SELECT {', '.join(self.columns)} FROM {self.table} WHERE {self.where.sql()}"


def number(column: str, value: Value) -> int:
    """`value` of a column that is not a string as psf has it: an integer, hundredths, or days since 1970-01-01."""
    kind = COLUMNS[column].kind
    if isinstance(value, datetime.date):
        out, fits = (value - EPOCH).days, kind == DATE
    elif kind == DECIMAL:
        scaled = Decimal(value) * 100
        out, fits = int(scaled), scaled == int(scaled)
    else:
        out, fits = int(value), kind == INT
    if not fits:
        raise ValueError(f"{value!r} is no value of column {column}")
    if not LOWEST <= out <= HIGHEST:
        raise ValueError(f"{value!r} for column {column} needs more than 32 bits")
    return out


def _interval(test: Test) -> tuple[int, int]:
    """The numbers for which a test other than <> holds; low > high: none."""
    v = number(test.column, test.value)
    return {
        "=": (v, v),
        "<": (LOWEST, v - 1),
        "<=": (LOWEST, v),
        ">": (v + 1, HIGHEST),
        ">=": (v, HIGHEST),
    }[test.op]


def _columns_of(p: Predicate) -> set[str]:
    return {p.column} if isinstance(p, Test) else {c for part in p.parts for c in _columns_of(part)}


def _conjuncts(p: Predicate) -> list[Predicate]:
    return [c for part in p.parts for c in _conjuncts(part)] if isinstance(p, And) else [p]


def _size(p: Predicate) -> int:
    return 1 if isinstance(p, Test) else sum(_size(part) for part in p.parts)


class _Tests:
    """The graph of tests behind the steps."""

    def __init__(self, slots: dict[str, int]) -> None:
        self.slots = slots
        self.records: list[bytes] = []
        self.texts = b""

    def add(self, p: Predicate, yes: int, no: int) -> None:
        """Appends the tests of `p`, which go to `yes` or `no`. They lie in the order in which they are written down."""
        if isinstance(p, Test):
            self.records.append(self._record(p, yes, no))
            return
        if not p.parts:
            raise ValueError("an Or needs at least one part")
        for i, part in enumerate(p.parts):
            last = i == len(p.parts) - 1
            behind = len(self.records) + _size(part)
            if isinstance(p, And):
                self.add(part, yes if last else behind, no)
            else:
                self.add(part, yes, no if last else behind)

    def _record(self, t: Test, yes: int, no: int) -> bytes:
        word = t.op.removeprefix("not ")
        if word != t.op or word == "<>":
            yes, no = no, yes
        if COLUMNS[t.column].kind == STRING:
            if not isinstance(t.value, str):
                raise ValueError(f"column {t.column} is a string, {t.value!r} is not")
            if word in (">", ">="):
                yes, no, word = no, yes, {">": "<=", ">=": "<"}[word]
            names = {"=": EQUAL, "<>": EQUAL, "starts": STARTS, "ends": ENDS, "contains": CONTAINS, "<": LESS, "<=": LESS_EQUAL}
            op, data = names[word], t.value.encode("ascii")
            low, width = len(self.texts), len(data)
            self.texts += data
        else:
            low, high = _interval(Test(t.column, "=", t.value) if word == "<>" else t)
            if low > high:
                low, high, yes = LOWEST, HIGHEST, no
            op, width = RANGE, high - low
        return struct.pack("<4BiI", op, self.slots[t.column], yes, no, low, width)


def _words(columns: Sequence[Column]) -> int:
    """Whole words that are sure to lie between the first character of `columns` and their last '|'."""
    return min(max(sum(c.shortest + 1 for c in columns) - 2, 0) // 4, MAX_WORDS)


def encode(scan: Scan, piece_bytes: int = 0, inside: bool = False) -> bytes:
    """
    The arguments of psf (or parse) for `scan`.

    `piece_bytes`: the text is cut into pieces of so many bytes (see `cut`), 0: every piece is a text of its own. `inside`: piece 0
    begins inside the text, too. Raises ValueError when the scan does not fit.
    """
    table = TABLES[scan.table]
    names = [c.name for c in table]
    clauses = _conjuncts(scan.where)
    used = set(scan.columns) | {c for p in clauses for c in _columns_of(p)}
    if list(scan.columns) != [n for n in names if n in scan.columns] or not used <= set(names) or not scan.columns:
        raise ValueError(
            f"the columns of a scan must be columns of {scan.table}, in its order, each once; got {', '.join(scan.columns)}"
        )
    extra = [n for n in names if n in used and n not in scan.columns]
    slots = {n: i for i, n in enumerate([*scan.columns, *extra])}
    if len(slots) > MAX_SLOTS:
        raise ValueError(f"a scan can use {MAX_SLOTS} columns, this one uses {len(slots)}")

    ranges = {n: (LOWEST, HIGHEST) for n in slots}
    behind: dict[str, list[Predicate]] = {n: [] for n in slots}
    for p in clauses:
        if isinstance(p, Test) and COLUMNS[p.column].kind != STRING and p.op != "<>":
            low, high = _interval(p)
            ranges[p.column] = max(ranges[p.column][0], low), min(ranges[p.column][1], high)
        else:
            behind[max(_columns_of(p), key=names.index)].append(p)
    tests = _Tests(slots)
    steps: list[bytes] = []

    def step(kind: int, columns: Sequence[Column], end: int, slot: int = 0, test: int = NONE, low: int = 0, high: int = 0) -> None:
        rest = table[end:]
        words = _words(columns) if kind == SKIP else 0
        steps.append(struct.pack("<8BiI", kind, len(columns), slot, test, words, len(rest), _words(rest), 0, low, high - low))

    last = max(names.index(n) for n in slots)
    i = 0
    while i <= last:
        column = table[i]
        if column.name not in slots:
            j = i
            while table[j].name not in slots and (table[j].kind == DATE) == (column.kind == DATE):
                j += 1
            step(SKIP_DATES if column.kind == DATE else SKIP, table[i:j], j)
            i = j
            continue
        low, high = ranges[column.name]
        found = behind[column.name]
        if low > high:
            raise ValueError(f"no value of {column.name} satisfies the predicate")
        test = NONE
        if found:
            test = len(tests.records)
            tests.add(And(tuple(found)), PASS, REJECT)
        step(column.kind, [column], i + 1, slots[column.name], test, low, high)
        i += 1
    if len(steps) > MAX_STEPS or len(tests.records) > MAX_TESTS:
        raise ValueError(
            f"the scan needs {len(steps)} steps and {len(tests.records)} tests; at most {MAX_STEPS} and {MAX_TESTS} are possible"
        )
    flags = (SPLIT if piece_bytes else 0) | (INSIDE if inside else 0)
    head = struct.pack("<I4BHH", piece_bytes, flags, len(steps), len(tests.records), len(scan.columns), len(tests.texts), 0)
    args = head + b"".join(steps) + b"".join(tests.records) + tests.texts
    if len(args) > MAX_ARGS:
        raise ValueError(f"the scan needs {len(args)} bytes of arguments; at most {MAX_ARGS} are possible")
    return args


def cut(length: int, pieces: int, block: int = 4096) -> tuple[int, list[tuple[int, int]]]:
    """
    Cuts a text of `length` bytes for `pieces` cores at multiples of `block`.

    Returns piece_bytes for `encode` and the (offset, bytes) of each piece's stream: its own bytes and the overlap. There may be
    fewer pieces than asked for.
    """
    each = max(-(-length // (pieces * block)), 1) * block
    return each, [(at, min(length - at, each + OVERLAP)) for at in range(0, max(length, 1), each)]


def decode(data: bytes, scan: Scan) -> dict[str, np.ndarray]:
    """
    The rows that psf has stored, as columns: int32, hundredths as int32, datetime64[D], or str objects.

    Raises ValueError when `data` ends inside a row.
    """
    kinds = [COLUMNS[n].kind for n in scan.columns]
    width = len(kinds)
    if STRING not in kinds:
        if len(data) % (4 * width):
            raise ValueError(f"{len(data)} bytes are not whole rows of {4 * width}")
        table = np.frombuffer(data, "<i4").reshape(-1, width)
        columns: list[np.ndarray] = [table[:, k] for k in range(width)]
    else:
        strings = [k for k, kind in enumerate(kinds) if kind == STRING]
        lists: list[list] = [[] for _ in kinds]
        at, unpack = 0, struct.Struct(f"<{width}i")
        while at < len(data):
            if at + unpack.size > len(data):
                raise ValueError(f"the rows end inside a row, at byte {len(data)}")
            row = list(unpack.unpack_from(data, at))
            at += unpack.size
            for k in strings:
                size = row[k]
                if at + size > len(data):
                    raise ValueError(f"the rows end inside a row, at byte {len(data)}")
                row[k] = data[at : at + size].decode("ascii")
                at += (size + 3) & ~3
            for values, value in zip(lists, row, strict=True):
                values.append(value)
        columns = [np.array(v, object if k in strings else "<i4") for k, v in enumerate(lists)]
    return {
        name: c.astype("datetime64[D]") if kind == DATE else c for name, kind, c in zip(scan.columns, kinds, columns, strict=True)
    }


def _scan(table: str, columns: str, *where: Predicate) -> Scan:
    prefix = {"partsupp": "ps"}.get(table, table[0])
    return Scan(table, tuple(f"{prefix}_{c}" for c in columns.split()), And(where))


def _date(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


QUERIES: dict[int, tuple[Scan, ...]] = {
    1: (
        _scan(
            "lineitem",
            "quantity extendedprice discount tax returnflag linestatus",
            Test("l_shipdate", "<=", _date("1998-09-02")),
        ),
    ),
    2: (
        _scan("part", "partkey mfgr", Test("p_size", "=", 15), Test("p_type", "ends", "BRASS")),
        _scan("supplier", "suppkey name address nationkey phone acctbal comment"),
        _scan("partsupp", "partkey suppkey supplycost"),
        _scan("nation", "nationkey name regionkey"),
        _scan("region", "regionkey", Test("r_name", "=", "EUROPE")),
    ),
    3: (
        _scan("customer", "custkey", Test("c_mktsegment", "=", "BUILDING")),
        _scan("orders", "orderkey custkey orderdate shippriority", Test("o_orderdate", "<", _date("1995-03-15"))),
        _scan("lineitem", "orderkey extendedprice discount", Test("l_shipdate", ">", _date("1995-03-15"))),
    ),
    4: (
        _scan("orders", "orderkey orderpriority", since_until("o_orderdate", "1993-07-01", "1993-10-01")),
        _scan("lineitem", "orderkey commitdate receiptdate"),
    ),
    5: (
        _scan("customer", "custkey nationkey"),
        _scan("orders", "orderkey custkey", since_until("o_orderdate", "1994-01-01", "1995-01-01")),
        _scan("lineitem", "orderkey suppkey extendedprice discount"),
        _scan("supplier", "suppkey nationkey"),
        _scan("nation", "nationkey name regionkey"),
        _scan("region", "regionkey", Test("r_name", "=", "ASIA")),
    ),
    6: (
        _scan(
            "lineitem",
            "extendedprice discount",
            since_until("l_shipdate", "1994-01-01", "1995-01-01"),
            between("l_discount", Decimal("0.05"), Decimal("0.07")),
            Test("l_quantity", "<", 24),
        ),
    ),
    7: (
        _scan("supplier", "suppkey nationkey"),
        _scan(
            "lineitem",
            "orderkey suppkey extendedprice discount shipdate",
            between("l_shipdate", _date("1995-01-01"), _date("1996-12-31")),
        ),
        _scan("orders", "orderkey custkey"),
        _scan("customer", "custkey nationkey"),
        _scan("nation", "nationkey name", one_of("n_name", "FRANCE", "GERMANY")),
    ),
    8: (
        _scan("part", "partkey", Test("p_type", "=", "ECONOMY ANODIZED STEEL")),
        _scan("supplier", "suppkey nationkey"),
        _scan("lineitem", "orderkey partkey suppkey extendedprice discount"),
        _scan("orders", "orderkey custkey orderdate", between("o_orderdate", _date("1995-01-01"), _date("1996-12-31"))),
        _scan("customer", "custkey nationkey"),
        _scan("nation", "nationkey name regionkey"),
        _scan("region", "regionkey", Test("r_name", "=", "AMERICA")),
    ),
    9: (
        _scan("part", "partkey", Test("p_name", "contains", "green")),
        _scan("supplier", "suppkey nationkey"),
        _scan("lineitem", "orderkey partkey suppkey quantity extendedprice discount"),
        _scan("partsupp", "partkey suppkey supplycost"),
        _scan("orders", "orderkey orderdate"),
        _scan("nation", "nationkey name"),
    ),
    10: (
        _scan("customer", "custkey name address nationkey phone acctbal comment"),
        _scan("orders", "orderkey custkey", since_until("o_orderdate", "1993-10-01", "1994-01-01")),
        _scan("lineitem", "orderkey extendedprice discount", Test("l_returnflag", "=", "R")),
        _scan("nation", "nationkey name"),
    ),
    11: (
        _scan("partsupp", "partkey suppkey availqty supplycost"),
        _scan("supplier", "suppkey nationkey"),
        _scan("nation", "nationkey", Test("n_name", "=", "GERMANY")),
    ),
    12: (
        _scan("orders", "orderkey orderpriority"),
        _scan(
            "lineitem",
            "orderkey shipdate commitdate receiptdate shipmode",
            one_of("l_shipmode", "MAIL", "SHIP"),
            since_until("l_receiptdate", "1994-01-01", "1995-01-01"),
        ),
    ),
    13: (_scan("customer", "custkey"), _scan("orders", "orderkey custkey comment")),
    14: (
        _scan("lineitem", "partkey extendedprice discount", since_until("l_shipdate", "1995-09-01", "1995-10-01")),
        _scan("part", "partkey type"),
    ),
    15: (
        _scan("lineitem", "suppkey extendedprice discount", since_until("l_shipdate", "1996-01-01", "1996-04-01")),
        _scan("supplier", "suppkey name address phone"),
    ),
    16: (
        _scan("partsupp", "partkey suppkey"),
        _scan(
            "part",
            "partkey brand type size",
            Test("p_brand", "<>", "Brand#45"),
            Test("p_type", "not starts", "MEDIUM POLISHED"),
            one_of("p_size", 49, 14, 23, 45, 19, 3, 36, 9),
        ),
        _scan("supplier", "suppkey comment"),
    ),
    17: (
        _scan("lineitem", "partkey quantity extendedprice"),
        _scan("part", "partkey", Test("p_brand", "=", "Brand#23"), Test("p_container", "=", "MED BOX")),
    ),
    18: (
        _scan("customer", "custkey name"),
        _scan("orders", "orderkey custkey totalprice orderdate"),
        _scan("lineitem", "orderkey quantity"),
    ),
    19: (
        _scan(
            "lineitem",
            "partkey quantity extendedprice discount",
            any_of(between("l_quantity", 1, 11), between("l_quantity", 10, 20), between("l_quantity", 20, 30)),
            one_of("l_shipmode", "AIR", "AIR REG"),
            Test("l_shipinstruct", "=", "DELIVER IN PERSON"),
        ),
        _scan(
            "part",
            "partkey brand size container",
            any_of(
                all_of(
                    Test("p_brand", "=", "Brand#12"),
                    one_of("p_container", "SM CASE", "SM BOX", "SM PACK", "SM PKG"),
                    between("p_size", 1, 5),
                ),
                all_of(
                    Test("p_brand", "=", "Brand#23"),
                    one_of("p_container", "MED BAG", "MED BOX", "MED PKG", "MED PACK"),
                    between("p_size", 1, 10),
                ),
                all_of(
                    Test("p_brand", "=", "Brand#34"),
                    one_of("p_container", "LG CASE", "LG BOX", "LG PACK", "LG PKG"),
                    between("p_size", 1, 15),
                ),
            ),
        ),
    ),
    20: (
        _scan("supplier", "suppkey name address nationkey"),
        _scan("nation", "nationkey", Test("n_name", "=", "CANADA")),
        _scan("partsupp", "partkey suppkey availqty"),
        _scan("part", "partkey", Test("p_name", "starts", "forest")),
        _scan("lineitem", "partkey suppkey quantity", since_until("l_shipdate", "1994-01-01", "1995-01-01")),
    ),
    21: (
        _scan("supplier", "suppkey name nationkey"),
        _scan("lineitem", "orderkey suppkey commitdate receiptdate"),
        _scan("orders", "orderkey", Test("o_orderstatus", "=", "F")),
        _scan("nation", "nationkey", Test("n_name", "=", "SAUDI ARABIA")),
    ),
    22: (_scan("customer", "custkey phone acctbal"), _scan("orders", "custkey")),
}
"""Query number to its scans."""
