# SPDX-License-Identifier: BSD-3-Clause
"""Typed records out of TOML tables: every key known, every type right, every number in its range, or one clear message."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from assasin.errors import AssasinError

Record = TypeVar("Record")


class BoardFileError(AssasinError):
    """A board file is missing or wrong; the message names file, item, value and what is legal."""


@dataclass(frozen=True)
class Range:
    """Annotation of an integer item: legal values."""

    low: int
    high: int

    def check(self, value: object, where: str) -> None:
        """Raises BoardFileError."""
        if isinstance(value, int) and not self.low <= value <= self.high:
            raise BoardFileError(f"{where}: is {value}, must be {self.low} to {self.high}")


class Choice:
    """Annotation of a string item: legal values."""

    def __init__(self, *values: str) -> None:
        self.values = values

    def check(self, value: object, where: str) -> None:
        """Raises BoardFileError."""
        if value not in self.values:
            raise BoardFileError(f"{where}: is '{value}', must be one of: {', '.join(self.values)}")


@dataclass(frozen=True)
class Tables:
    """Annotation of a tuple of records: the array of tables that holds them."""

    key: str


def read(kind: type[Record], table: object, where: str) -> Record:
    """
    The record of type `kind` (a dataclass) that `table` holds.

    `where`: what messages call the table, such as "board/x/board.toml [part]". Raises BoardFileError.
    """
    if not isinstance(table, Mapping):
        raise BoardFileError(f"{where}: is {table!r}, must be a table")
    hints = typing.get_type_hints(kind, include_extras=True)
    items = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        notes = getattr(hints[field.name], "__metadata__", ())
        items[next((note.key for note in notes if isinstance(note, Tables)), field.name)] = (field, notes)
    unknown = sorted(set(table) - set(items))
    if unknown:
        raise BoardFileError(f"{where}: there is no item '{unknown[0]}'; there are: {', '.join(items)}")
    plain = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, (field, notes) in items.items():
        if key in table:
            values[field.name] = _value(table[key], plain[field.name], notes, f"{where} {key}")
        elif field.default is dataclasses.MISSING:
            raise BoardFileError(f"{where}: '{key}' is missing")
    return kind(**values)


def _value(value: object, expected: object, notes: tuple[object, ...], where: str) -> object:
    if typing.get_origin(expected) is tuple:
        if not isinstance(value, list):
            raise BoardFileError(f"{where}: is {value!r}, must be a list")
        member = typing.get_args(expected)[0]
        if dataclasses.is_dataclass(member):
            return tuple(read(typing.cast(type, member), item, f"{where}[{i}]") for i, item in enumerate(value))
        return tuple(_value(item, member, (), f"{where}[{i}]") for i, item in enumerate(value))
    kind = typing.cast(type, next((t for t in typing.get_args(expected) if t is not type(None)), expected))
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise BoardFileError(f"{where}: is {value!r}, must be {_NAMES[kind]}")
    for note in notes:
        if isinstance(note, Range | Choice):
            note.check(value, where)
    return value


_NAMES: dict[object, str] = {int: "an integer", str: "a string", bool: "true or false"}
