# SPDX-License-Identifier: BSD-3-Clause
"""psf and parse: the scans of all TPC-H queries against DuckDB on `.tbl` text that DuckDB wrote, cuts, text that is no table."""

from __future__ import annotations

import datetime
import random
import struct
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from assasin import tpch, tpch_scans
from assasin.tpch_scans import COLUMNS, QUERIES, TABLES, And, Scan, Test, all_of, any_of, cut, decode, encode
from iss import ROOT, Core
from native import run

OFFLOAD = ROOT / "build" / "offload"
ARCHS = ["sb", "sp", "mem"]
TRUNCATED, BAD_VALUE, BAD_ROW, LONG_TEXT = 2, 3, 4, 5
SCANS = [pytest.param(scan, id=f"q{n:02}-{scan.table}") for n, scans in QUERIES.items() for scan in scans]
REGION = Scan("region", ("r_regionkey", "r_name"))


class Db:
    """TPC-H at a small scale factor in DuckDB, and its tables as `.tbl` text."""

    def __init__(self, folder: Path) -> None:
        self.db = tpch.Lineitem(0.005).db
        self.folder = folder

    def text(self, table: str) -> bytes:
        path = self.folder / f"{table}.tbl"
        if not path.exists():
            self.db.execute(
                f"COPY (SELECT *, NULL FROM {table} ORDER BY rowid) TO '{path}' (DELIMITER '|', HEADER false, QUOTE '', ESCAPE '')"
            )
        return path.read_bytes()

    def rows(self, scan: Scan) -> dict[str, np.ndarray]:
        got = self.db.execute(scan.sql() + " ORDER BY rowid").fetchnumpy()
        out = {}
        for name in scan.columns:
            values = np.ma.getdata(got[name])
            kind = COLUMNS[name].kind
            if kind == tpch_scans.DECIMAL:
                values = np.rint(values.astype(np.float64) * 100)
            out[name] = values.astype(
                "datetime64[D]" if kind == tpch_scans.DATE else object if kind == tpch_scans.STRING else np.int64
            )
        return out


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Db:
    return Db(tmp_path_factory.mktemp("tbl"))


def check(got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name, values in expected.items():
        assert len(got[name]) == len(values), name
        assert np.array_equal(got[name], values), name


def core(name: str, arch: str, data: bytes, args: bytes, outputs: int = 1, **task: int) -> Core:
    c = Core(OFFLOAD / arch / f"{name}.elf", [data], args, outputs, software=arch != "sb", **task)
    c.value = c.run()
    return c


@pytest.mark.parametrize("scan", SCANS)
def test_every_scan_gives_duckdbs_rows(db: Db, scan: Scan) -> None:
    value, (out,) = run("psf", [db.text(scan.table)], encode(scan))
    expected = db.rows(scan)
    assert value == 0
    check(decode(out, scan), expected)


def test_the_scans_qualify_some_rows_and_cover_all_queries(db: Db) -> None:
    assert sorted(QUERIES) == list(range(1, 23))
    # Some predicates leave nothing of a table of ten suppliers; the large ones must leave something.
    for scans in QUERIES.values():
        for scan in scans:
            if scan.table in ("lineitem", "orders", "customer", "partsupp", "nation", "region"):
                assert len(db.rows(scan)[scan.columns[0]]), scan


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("scan", SCANS)
def test_machine_code_and_native_build_agree(db: Db, scan: Scan, arch: str) -> None:
    text = db.text(scan.table)
    text = text[: text.rindex(b"\n", 0, min(len(text), 20_000)) + 1]
    value, out = run("psf", [text], encode(scan))
    c = core("psf", arch, text, encode(scan), seed=len(text) + len(scan.columns))
    assert (c.value, c.out) == (value, out)
    assert value == 0


@pytest.mark.parametrize("pieces", [2, 3, 8, 40])
@pytest.mark.parametrize("table", ["lineitem", "partsupp", "orders", "region"])
def test_pieces_cut_anywhere_give_every_row_once(db: Db, table: str, pieces: int) -> None:
    text = db.text(table)
    scan = next(s for scans in QUERIES.values() for s in scans if s.table == table)
    whole = run("psf", [text], encode(scan))[1][0]
    each, streams = cut(len(text), pieces)
    parts = [run("psf", [text[at : at + n]], encode(scan, each), piece=i, pieces=len(streams)) for i, (at, n) in enumerate(streams)]
    assert [value for value, _ in parts] == [0] * len(parts)
    assert b"".join(out for _, (out,) in parts) == whole


@pytest.mark.parametrize("each", range(1, 60))
def test_pieces_cut_at_every_byte(each: int) -> None:
    """Borders at every place of a row, also right before and right behind a newline; on the native build and on cores."""
    text = b"".join(b"%d|%s|%s|\n" % (i * 7**i, b"n" * (4 + i % 5), b"c" * (i * 5 % 23)) for i in range(9))
    scan = REGION
    whole = run("psf", [text], encode(scan))[1][0]
    out = b""
    for i, at in enumerate(range(0, len(text), each)):
        value, (part,) = run("psf", [text[at : at + each + 60]], encode(scan, each), piece=i)
        assert value == 0
        c = core("psf", ARCHS[i % 3], text[at : at + each + 60], encode(scan, each), piece=i, seed=i)
        assert (c.value, c.out) == (0, [part])
        out += part
    assert out == whole
    assert len(decode(out, scan)["r_name"]) == 9


def test_a_request_that_begins_inside_a_text(db: Db) -> None:
    text = db.text("nation")
    scan = QUERIES[9][-1]
    half = text.index(b"\n", 900) + 1
    first = run("psf", [text[: half + 400]], encode(scan, half - 7))[1][0]
    second = run("psf", [text[half - 7 :]], encode(scan, inside=True))[1][0]
    assert first + second == run("psf", [text], encode(scan))[1][0]


ROW = b"0|AFRICA|some comment|\n"
KEYS = Scan("region", ("r_regionkey", "r_name", "r_comment"))
DATES = Scan("orders", ("o_custkey", "o_totalprice", "o_orderdate"))
ORDER = b"1|%s|O|%s|%s|5-LOW|Clerk#000000951|0|nstructions sleep furiously among |\n"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"0|AFRICA|some comment", TRUNCATED),
        (b"0|AFRICA|some comment|", TRUNCATED),
        (b"0", TRUNCATED),
        (b"\n", BAD_VALUE),
        (b"|AFRICA|c|\n", BAD_VALUE),
        (b"x|AFRICA|c|\n", BAD_VALUE),
        (b"-|AFRICA|c|\n", BAD_VALUE),
        (b"1x|AFRICA|c|\n", BAD_VALUE),
        (b"2147483648|AFRICA|c|\n", BAD_VALUE),
        (b"21474836470|AFRICA|c|\n", BAD_VALUE),
        (b"1|AFRICA|\n" + ROW, BAD_ROW),
        (b"1|AFRICA|c|more|\n", BAD_ROW),
        (b"1|AFRICA|c\n" + ROW, BAD_ROW),
        (b"1|" + b"A" * 256 + b"|c|\n", LONG_TEXT),
        (b"1|" + b"A" * 3000 + b"|c|\n", LONG_TEXT),
        (bytes(100), BAD_VALUE),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 100])
def test_text_that_is_no_table(bad: bytes, why: int, before: int) -> None:
    """The rows before come out whole, and the exit code says why and where."""
    text = ROW * before + bad
    value, (out,) = run("psf", [text], encode(KEYS))
    assert value == why | (before * len(ROW) & ~7)
    assert out == run("psf", [ROW * before], encode(KEYS))[1][0]
    for arch in ARCHS:
        c = core("psf", arch, text, encode(KEYS), seed=before)
        assert (c.value, c.out) == (value, [out])
    assert str(value & ~7) in tpch_scans.explain(value)


@pytest.mark.parametrize(
    ("customer", "price", "date"),
    [
        ("1", "1.5x", "1996-01-02"),
        ("1", ".5", "1996-01-02"),
        ("1", "1.", "1996-01-02"),
        ("1", "1.234", "1996-01-02"),
        ("1", "21474836.48", "1996-01-02"),
        ("1", "123456789", "1996-01-02"),
        ("1", "1", "1996-13-02"),
        ("1", "1", "1996-00-02"),
        ("1", "1", "1996-02-30"),
        ("1", "1", "1900-02-29"),
        ("1", "1", "1997-02-29"),
        ("1", "1", "1996-01-00"),
        ("1", "1", "1996-1-002"),
        ("1", "1", "1996/01/02"),
        ("1", "1", "1996-01-02 "),
        ("1", "1", "199:-01-02"),
        ("1", "1", "1996-01-0?"),
    ],
)
def test_values_that_are_none(customer: str, price: str, date: str) -> None:
    text = ORDER % (customer.encode(), price.encode(), date.encode())
    assert run("psf", [text], encode(DATES)) == (BAD_VALUE, [b""])
    assert core("psf", "sb", text, encode(DATES)).value == BAD_VALUE


def test_values_at_their_limits() -> None:
    rng = random.Random(3)
    rows = [
        (-2147483647, Decimal("-21474834.99"), datetime.date(1, 1, 1)),
        (2147483647, Decimal("21474834.99"), datetime.date(9999, 12, 31)),
        (0, Decimal("0.07"), datetime.date(2000, 2, 29)),
        (5, Decimal("-0.5"), datetime.date(1600, 3, 1)),
        (10, Decimal("17"), datetime.date(1970, 1, 1)),
    ]
    rows += [
        (
            rng.randint(-(10**k), 10**k),
            Decimal(rng.randint(-(10**k), 10**k)) / 100,
            datetime.date.fromordinal(rng.randint(1, 3652059)),
        )
        for k in range(1, 10)
        for _ in range(100)
    ]
    text = b"".join(ORDER % (str(c).encode(), str(p).encode(), d.isoformat().encode()) for c, p, d in rows)
    for value, (out,) in [
        run("psf", [text], encode(DATES)),
        *((c.value, c.out) for c in [core("psf", a, text, encode(DATES)) for a in ARCHS]),
    ]:
        assert value == 0
        got = decode(out, DATES)
        assert got["o_custkey"].tolist() == [c for c, _, _ in rows]
        assert got["o_totalprice"].tolist() == [int(p * 100) for _, p, _ in rows]
        assert got["o_orderdate"].tolist() == [d for _, _, d in rows]


def test_a_separator_lost_in_skipped_columns_is_noticed(db: Db) -> None:
    """Every '|' and every newline of some lineitem rows removed, one at a time."""
    (scan,) = QUERIES[6]
    lines = db.text("lineitem").split(b"\n")[:3]
    row = lines[1] + b"\n"
    for at in [i for i, c in enumerate(row) if c in b"|\n"]:
        text = lines[0] + b"\n" + row[:at] + row[at + 1 :] + lines[2] + b"\n" + lines[0] + b"\n"
        assert run("psf", [text], encode(scan))[0] & 7 in (TRUNCATED, BAD_VALUE, BAD_ROW), at


@pytest.mark.parametrize("size", [0, 7, 300, 5000])
def test_random_bytes_end_with_a_code_on_every_back_end(size: int) -> None:
    data = random.Random(size).randbytes(size)
    for scans in QUERIES.values():
        expected = run("psf", [data], encode(scans[0]))
        assert expected[0] & 7 in ((0,) if size == 0 else (TRUNCATED, BAD_VALUE, BAD_ROW, LONG_TEXT))
        for arch in ARCHS:
            c = core("psf", arch, data, encode(scans[0]), seed=size)
            assert (c.value, c.out) == expected


def random_predicate(rng: random.Random, depth: int) -> tpch_scans.Predicate:
    if depth and rng.random() < 0.7:
        parts = tuple(random_predicate(rng, depth - 1) for _ in range(rng.randint(1, 3)))
        return And(parts) if rng.random() < 0.5 else any_of(*parts)
    compare = ["=", "<>", "<", "<=", ">", ">="]
    words = ["starts", "ends", "contains", "not starts", "not ends", "not contains"]
    kind = rng.randrange(4)
    if kind == 0:
        return Test("o_custkey", rng.choice(compare), rng.randint(1, 750))
    if kind == 1:
        return Test("o_totalprice", rng.choice(compare), Decimal(rng.randint(100000, 30000000)) / 100)
    if kind == 2:
        return Test("o_orderdate", rng.choice(compare), datetime.date(1992, 1, 1) + datetime.timedelta(rng.randint(0, 2400)))
    column, values = rng.choice(
        [
            ("o_orderpriority", ["5-LOW", "1-URGENT", "5", "LOW", "2-HI", "", "-", "4-NOT SPECIFIEDX"]),
            ("o_comment", ["s", "furiously", "qu", ".", "ly"]),
        ]
    )
    return Test(column, rng.choice(compare + words), rng.choice(values))


@pytest.mark.parametrize("seed", range(40))
def test_random_predicates_select_what_duckdb_selects(db: Db, seed: int) -> None:
    where = random_predicate(random.Random(seed), 3)
    scan = Scan("orders", ("o_orderkey", "o_orderpriority", "o_clerk"), where)
    try:
        args = encode(scan)
    except ValueError as e:
        assert "no value of" in str(e)
        assert not len(db.rows(scan)["o_orderkey"])
        return
    text = db.text("orders")
    value, out = run("psf", [text], args)
    assert value == 0
    check(decode(out[0], scan), db.rows(scan))
    short = text[: text.rindex(b"\n", 0, 9000) + 1]
    c = core("psf", "sb", short, args, seed=seed)
    assert (c.value, c.out) == run("psf", [short], args)


def test_arguments_that_contradict_themselves_are_refused() -> None:
    good = encode(QUERIES[19][0])
    bad = [b"", good[:-1], good + b"x", good[:4] + b"\0\0" + good[6:]]
    for at in range(4, len(good)):
        bad += [good[:at] + bytes([v]) + good[at + 1 :] for v in (0x7F, 0xFD)]
    refused = 0
    for args in bad:
        value, out = run("psf", [b""], args)
        assert value in (0, 1)
        assert out == [b""]
        refused += value
    assert [run("psf", [b""], a)[0] for a in bad[:4]] == [1] * 4
    assert refused > len(good) // 2
    assert core("psf", "sb", b"", b"").value == 1


def test_scans_that_cannot_be_encoded_say_why() -> None:
    with pytest.raises(ValueError, match="in its order"):
        encode(Scan("region", ("r_name", "r_regionkey")))
    with pytest.raises(ValueError, match="no value of"):
        encode(Scan("region", ("r_name",), all_of(Test("r_regionkey", "<", 1), Test("r_regionkey", ">", 2))))
    with pytest.raises(ValueError, match="more than 32 bits"):
        encode(Scan("region", ("r_name",), Test("r_regionkey", "<", 2**40)))
    with pytest.raises(ValueError, match="no value of column"):
        encode(Scan("orders", ("o_orderkey",), Test("o_totalprice", "<", Decimal("0.001"))))
    with pytest.raises(ValueError, match="is a string"):
        encode(Scan("region", ("r_name",), Test("r_name", "=", 5)))
    with pytest.raises(ValueError, match="tests"):
        encode(Scan("part", ("p_size",), any_of(*(Test("p_size", "=", i) for i in range(65)))))
    with pytest.raises(ValueError, match="inside a row"):
        decode(bytes(7), KEYS)
    with pytest.raises(ValueError, match="whole rows"):
        decode(bytes(7), DATES)


@pytest.mark.parametrize(
    "columns", [("l_orderkey",), ("l_quantity", "l_shipdate", "l_shipmode"), tuple(c.name for c in TABLES["lineitem"][8:])]
)
def test_parse_gives_columns(db: Db, columns: tuple[str, ...]) -> None:
    text = db.text("lineitem")
    text = text[: text.rindex(b"\n", 0, 50_000) + 1]
    scan = Scan("lineitem", columns)
    value, outs = run("parse", [text], encode(scan), outputs=len(columns))
    assert value == 0
    expected = db.rows(scan)
    count = text.count(b"\n")
    for name, out in zip(columns, outs, strict=True):
        kind = COLUMNS[name].kind
        if kind == tpch_scans.STRING:
            at, got = 0, []
            while at < len(out):
                (n,) = struct.unpack_from("<I", out, at)
                got.append(out[at + 4 : at + 4 + n].decode())
                at += 4 + (n + 3) // 4 * 4
            assert got == expected[name][:count].tolist()
        else:
            values = np.frombuffer(out, "<i4")
            assert np.array_equal(values.astype(expected[name].dtype), expected[name][:count])
    for arch in ARCHS:
        c = core("parse", arch, text, encode(scan), len(columns), seed=3)
        assert (c.value, c.out) == (0, outs)


def test_parse_refuses_more_columns_than_streams() -> None:
    assert run("parse", [ROW], encode(KEYS), outputs=2)[0] == 1


CYCLES_PER_BYTE = {1: 6.0, 6: 3.7}


@pytest.mark.parametrize(("query", "limit"), CYCLES_PER_BYTE.items())
def test_cycles_per_byte_of_lineitem_scans(db: Db, query: int, limit: float) -> None:
    text = db.text("lineitem")
    c = core("psf", "sb", text, encode(QUERIES[query][0]))
    assert c.value == 0
    assert c.cycles / len(text) < limit
