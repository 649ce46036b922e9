# SPDX-License-Identifier: BSD-3-Clause
"""varve/tpch.toml and tpch_scans.QUERIES say the same of every scan: columns and predicates."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
import varve_filters
from assasin import tpch_scans
from assasin.tpch_scans import COLUMNS, DATE, DECIMAL, INT, QUERIES, And, Or, Predicate, Scan, Test
from varve_filters import columns, filters

SEED = int(os.environ.get("SEED", "1"))
ROWS = 10_000
ADDED = {"q22c": (("c_acctbal", "c_cntrycode"), Test("c_acctbal", ">", 0))}
"""Of Q22's scalar subquery; no scan of QUERIES."""

Row = dict[str, int]


def scans() -> dict[str, Scan]:
    """The scans with a predicate, by the filter's name: query and first letter of the table."""
    return {f"q{q:02}{s.table[0]}": s for q, of in QUERIES.items() for s in of if s.where != And(())}


def word(column: str, row: Row) -> str:
    """The text of a column from its code."""
    if column == "p_name":
        return " ".join(word(f"p_name{i}", row) for i in range(1, 6))
    c, code = columns()[column], row[column]
    return chr(code) if c["ascii"] else c["codes"][code]


def lower(p: Predicate) -> Callable[[Row], bool]:
    """A predicate of QUERIES on stored values: days, hundredths, codes."""
    if isinstance(p, And | Or):
        parts = [lower(part) for part in p.parts]
        joined = all if isinstance(p, And) else any
        return lambda row: joined(part(row) for part in parts)
    op, negated = p.op.removeprefix("not "), p.op.startswith("not ")
    if COLUMNS[p.column].kind in (INT, DECIMAL, DATE):
        value = tpch_scans.number(p.column, p.value)
        compare = {
            "=": lambda v: v == value,
            "<>": lambda v: v != value,
            "<": lambda v: v < value,
            "<=": lambda v: v <= value,
            ">": lambda v: v > value,
            ">=": lambda v: v >= value,
        }[op]
        return lambda row: compare(row[p.column]) != negated
    said = {
        "=": lambda text: text == p.value,
        "<>": lambda text: text != p.value,
        "starts": lambda text: text.startswith(p.value),
        "ends": lambda text: text.endswith(p.value),
        "contains": lambda text: p.value in text,
    }[op]
    return lambda row: said(word(p.column, row)) != negated


def row_of(f: dict, where: Predicate, rng: random.Random) -> Row:
    """Stored values of all columns that either description reads, many of them near a constant."""
    row = varve_filters.random_row(f, rng)
    for name in _columns_of(where):
        if name == "p_name":
            for i, code in enumerate(rng.sample(range(92), 5), 1):
                row.setdefault(f"p_name{i}", code)
        elif name == "p_type":
            if "p_type" not in row:
                # The type's third syllable is the column p_metal.
                row["p_type"] = 5 * rng.randrange(30) + row["p_metal"]
        else:
            assert name in row, f"{f['name']} does not read {name}"
    return row


def _columns_of(p: Predicate) -> set[str]:
    return {p.column} if isinstance(p, Test) else {c for part in p.parts for c in _columns_of(part)}


def test_both_have_the_same_scans() -> None:
    assert sorted(filters()) == sorted([*scans(), *ADDED])


@pytest.mark.parametrize("name", filters())
def test_selected_columns(name: str) -> None:
    f = filters()[name]
    want = ADDED[name][0] if name in ADDED else scans()[name].columns
    assert tuple(f["outputs"]) == want
    if name not in ADDED:
        assert f["table"] == scans()[name].table


@pytest.mark.parametrize("name", filters())
def test_predicates(name: str) -> None:
    f, rng = filters()[name], random.Random(f"{SEED} {name}")
    where = ADDED[name][1] if name in ADDED else scans()[name].where
    holds, found = lower(where), 0
    for _ in range(ROWS):
        row = row_of(f, where, rng)
        got = varve_filters.selected(f, row)
        found += got
        assert got == holds(row), f"{name}, SEED={SEED}: {row}"
    assert 0 < found < ROWS


def test_codes_are_those_of_bench_md() -> None:
    """Where the order of words could be mistaken."""
    for column, code, text in (
        ("l_shipmode", 5, "SHIP"),
        ("p_brand", 19, "Brand#45"),
        ("p_container", 17, "MED BOX"),
        ("p_type", 74, "MEDIUM POLISHED TIN"),
        ("p_name5", 33, "green"),
        ("n_name", 20, "SAUDI ARABIA"),
        ("r_name", 3, "EUROPE"),
    ):
        assert columns()[column]["codes"][code] == text


def test_a_type_ends_in_its_metal() -> None:
    metals = columns()["p_metal"]["codes"]
    assert all(text.endswith(" " + metals[code % 5]) for code, text in enumerate(columns()["p_type"]["codes"]))
