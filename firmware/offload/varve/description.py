# SPDX-License-Identifier: BSD-3-Clause
"""Columns and filters as tpch.toml describes them: reading, and every rule that a description must keep."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_INPUTS = 9
"""Input streams of VarVE-full (NIN)."""
MAX_OUTPUTS = 8
_LIMITS = {8: (0, 255), 32: (-(2**31), 2**31 - 1)}
"""Least and greatest number of a stored type; those of 32 bits are compared as signed numbers."""


_NAME = re.compile(r"[a-z][a-z0-9_]*")
_KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long main compute
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"""
"""Names that C, or the program of a core, has already."""


class DescriptionError(Exception):
    """A rule that the description breaks; the text names file, filter or column, and rule."""


@dataclass(frozen=True)
class Column:
    """A stored column."""

    name: str
    pad: int
    """Bits in which a value is stored: 8 or 32."""
    unsigned: bool
    low: int
    """Least value."""
    high: int
    """Greatest value."""
    codes: tuple[str, ...] = ()
    """Word of code 0, 1, ...; empty: the values are numbers."""
    ascii: bool = False
    """The value is the character itself."""

    @property
    def limits(self) -> tuple[int, int]:
        """Least and greatest number of the stored type."""
        return _LIMITS[self.pad]


@dataclass(frozen=True)
class Range:
    """The column lies between two numbers, both included; an end that is None is open."""

    column: Column
    low: int | None
    high: int | None
    negated: bool = False
    push: bool = True
    """Whether VarVE-full reads the column only for rows that are left."""


@dataclass(frozen=True)
class Equal:
    """The column is one of some numbers."""

    column: Column
    values: tuple[int, ...]
    negated: bool = False
    push: bool = True


Test = Range | Equal


@dataclass(frozen=True)
class AnyOf:
    """One of the lists of tests holds as a whole."""

    alternatives: tuple[tuple[Test, ...], ...]
    push: bool = True


Clause = Test | AnyOf


@dataclass(frozen=True)
class Filter:
    """Columns of the rows of a table for which all clauses hold."""

    name: str
    table: str
    where: tuple[Clause, ...]
    select: tuple[Column, ...]

    @property
    def predicate_columns(self) -> list[Column]:
        """Columns that clauses read, in their order, each once."""
        return list(dict.fromkeys(test.column for clause in self.where for test in tests(clause)))

    @property
    def inputs(self) -> list[Column]:
        """Input stream k reads inputs[k]: columns of clauses first, then selected ones that are not among them."""
        return list(dict.fromkeys([*self.predicate_columns, *self.select]))


@dataclass(frozen=True)
class Description:
    """All columns and filters."""

    columns: dict[str, Column]
    filters: tuple[Filter, ...]


def tests(clause: Clause) -> Iterator[Test]:
    """The tests of a clause in the order of the file."""
    if isinstance(clause, AnyOf):
        for alternative in clause.alternatives:
            yield from alternative
    else:
        yield clause


def read(path: Path) -> Description:
    """Reads and checks a description; raises DescriptionError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DescriptionError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DescriptionError(f"{path}: is no TOML file: {error}") from None
    try:
        return _description(data)
    except DescriptionError as error:
        raise DescriptionError(f"{path}: {error}") from None


def _require(holds: bool, where: str, rule: str) -> None:
    if not holds:
        raise DescriptionError(f"{where}: {rule}")


def _keys(item: object, where: str, needed: set[str], optional: set[str] = frozenset()) -> dict:
    """The item as a table with all of `needed` and no keys beside `optional`."""
    _require(isinstance(item, dict), where, "must be a table")
    missing, unknown = sorted(needed - set(item)), sorted(set(item) - needed - optional)
    _require(not missing, where, f"{', '.join(missing)} missing")
    _require(not unknown, where, f"unknown key {', '.join(unknown)}")
    return item


def _flag(item: dict, key: str, default: bool, where: str) -> bool:
    value = item.get(key, default)
    _require(isinstance(value, bool), where, f"{key} must be true or false")
    return value


def _number(value: object, where: str, what: str) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool), where, f"{what} must be a whole number")
    return value


def _text(value: object, where: str, what: str) -> str:
    _require(isinstance(value, str), where, f"{what} must be a text")
    return value


def _list(value: object, where: str, what: str) -> list:
    _require(isinstance(value, list) and bool(value), where, f"{what} must be a list with at least one entry")
    return value


def _description(data: dict) -> Description:
    _keys(data, "the file", {"tables", "column", "filter"})
    tables = {
        k: _text(v, f"table {k}", "the prefix") for k, v in _keys(data["tables"], "tables", set(), set(data["tables"])).items()
    }
    _require(isinstance(data["column"], dict), "column", "must be a table")
    columns: dict[str, Column] = {}
    for name, item in data["column"].items():
        columns[name] = _column(name, item, columns)
    filters: dict[str, Filter] = {}
    for i, item in enumerate(_list(data["filter"], "the file", "filter")):
        _require(isinstance(item, dict) and isinstance(item.get("name"), str), f"filter {i + 1}", "a filter needs a name")
        name = item["name"]
        _require(name not in filters, f"filter {name}", "two filters have this name")
        filters[name] = _filter(name, item, tables, columns)
    return Description(columns, tuple(filters.values()))


def _column(name: str, item: object, others: dict[str, Column]) -> Column:
    where = f"column {name}"
    _require(_NAME.fullmatch(name) is not None, where, "the name must be small letters, digits and _")
    table = _keys(item, where, {"pad", "unsigned", "min", "max"}, {"codes", "ascii"})
    pad = _number(table["pad"], where, "pad")
    _require(pad in _LIMITS, where, f"pad must be {' or '.join(map(str, _LIMITS))} bits")
    unsigned = _flag(table, "unsigned", True, where)
    _require(unsigned or pad == 32, where, "a column of 8 bits must be unsigned")
    low, high = _number(table["min"], where, "min"), _number(table["max"], where, "max")
    least, most = _LIMITS[pad]
    least = 0 if unsigned else least
    _require(least <= low <= high <= most, where, f"min and max must be in order and lie in {least} to {most}")
    codes = table.get("codes", [])
    if isinstance(codes, str):
        _require(codes in others, where, f"codes names column {codes}, which does not stand before")
        codes = list(others[codes].codes)
    _require(isinstance(codes, list) and all(isinstance(c, str) for c in codes), where, "codes must be a list of words")
    _require(len(set(codes)) == len(codes), where, "a word has two codes")
    plain = all(c.isprintable() and c.isascii() and "*/" not in c for c in codes)
    _require(plain, where, "a word must be printable ASCII without */, for it becomes a comment of C")
    _require(not codes or (low, high) == (0, len(codes) - 1), where, "min and max must be the first and the last code")
    characters = _flag(table, "ascii", False, where)
    _require(not characters or (low >= 32 and high <= 126), where, "min and max of an ascii column must be 32 to 126")
    return Column(name, pad, unsigned, low, high, tuple(codes), characters)


def _filter(name: str, item: object, tables: dict[str, str], columns: dict[str, Column]) -> Filter:
    where = f"filter {name}"
    table = _keys(item, where, {"name", "table", "where", "select"})
    _require(_NAME.fullmatch(name) is not None, where, "the name must be small letters, digits and _")
    _require(name not in _KEYWORDS.split(), where, "the name has a meaning in C")
    kind = _text(table["table"], where, "table")
    _require(kind in tables, where, f"table {kind} is not declared")

    def column(value: object) -> Column:
        text = _text(value, where, "a column")
        _require(text in columns, where, f"column {text} is not declared")
        _require(text.startswith(tables[kind]), where, f"column {text} is not one of table {kind}")
        return columns[text]

    def test(entry: object) -> Test:
        _require(isinstance(entry, dict), where, "a clause must be a table")
        keys = _keys(entry, where, {"column"}, {"range", "equal", "not", "never", "push"})
        c = column(keys["column"])
        of = f"{where}: column {c.name}"
        _require(("range" in keys) != ("equal" in keys), of, "a clause needs either range or equal")
        negated, push = _flag(keys, "not", False, of), _flag(keys, "push", True, of)
        never = _flag(keys, "never", False, of)
        least, most = c.limits
        for value in _list(keys.get("range", keys.get("equal")), of, "range or equal"):
            v = _number(value, of, "a constant")
            _require(least <= v <= most, of, f"constant {v} does not fit {c.pad} bits")
            open_end = "range" in keys and v in (least, most)
            outside = f"constant {v} lies outside {c.low} to {c.high}; never = true allows it"
            _require(open_end or never or c.low <= v <= c.high, of, outside)
        if "equal" in keys:
            values = tuple(keys["equal"])
            _require(len(set(values)) == len(values), of, "a constant of equal stands twice")
            return Equal(c, values, negated, push)
        _require(len(keys["range"]) == 2, of, "range must be [low, high]")
        low, high = keys["range"]
        _require(low <= high, of, f"range [{low}, {high}] is empty")
        _require((low, high) != (least, most), of, "a range with two open ends always holds")
        return Range(c, None if low == least else low, None if high == most else high, negated, push)

    def clause(entry: object) -> Clause:
        if not (isinstance(entry, dict) and "any" in entry):
            return test(entry)
        keys = _keys(entry, where, {"any"}, {"push"})
        alternatives = []
        for alternative in _list(keys["any"], where, "any"):
            inner = [test(t) for t in _list(alternative, where, "an alternative of any")]
            _require(all(t.push for t in inner), where, "push stands beside any, not inside it")
            alternatives.append(tuple(inner))
        return AnyOf(tuple(alternatives), _flag(keys, "push", True, where))

    clauses = tuple(clause(entry) for entry in _list(table["where"], where, "where"))
    select = tuple(column(value) for value in _list(table["select"], where, "select"))
    _require(len(set(select)) == len(select), where, "a column is selected twice")
    _require(len(select) <= MAX_OUTPUTS, where, f"{len(select)} columns are selected; there are {MAX_OUTPUTS} output streams")
    found = Filter(name, kind, clauses, select)
    _require(len(found.inputs) <= MAX_INPUTS, where, f"{len(found.inputs)} columns are read; there are {MAX_INPUTS} input streams")
    return found
