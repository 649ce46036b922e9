#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Writes the TPC-H filters as C, and filters.json, from one description (docs/varve/bench.md 3).

OUT/NAME.c is a filter in all forms of VarVE. OUT/filters.c has all of them and the table by which main.c finds one.
OUT/filters.json has what tests and the bench must know: streams, widths, constants.
Usage: generate.py OUT [--description tpch.toml]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import description
import emit
from description import AnyOf, Clause, Column, Description, DescriptionError, Equal, Filter, Test

SMALL = ("nation", "region")
"""Tables that do not grow with the scale factor."""


def column_entry(c: Column) -> dict[str, object]:
    """A column in filters.json; pad in bits."""
    entry = {"pad": c.pad, "unsigned": c.unsigned, "min": c.low, "max": c.high, "ascii": c.ascii, "codes": list(c.codes)}
    return entry


def clause_entry(clause: Clause) -> dict[str, object]:
    """A clause in filters.json; an open end of a range is null."""
    if isinstance(clause, AnyOf):
        return {"any": [[test_entry(t) for t in alternative] for alternative in clause.alternatives], "push": clause.push}
    return test_entry(clause)


def test_entry(t: Test) -> dict[str, object]:
    """A clause of one column."""
    said: dict[str, object] = {"equal": list(t.values)} if isinstance(t, Equal) else {"range": [t.low, t.high]}
    return {"column": t.column.name, **said, "not": t.negated, "push": t.push}


def filter_entry(number: int, f: Filter) -> dict[str, object]:
    """A filter in filters.json; `number` is what main.c takes for it."""
    return {
        "name": f.name,
        "number": number,
        "table": f.table,
        "grows": f.table not in SMALL,
        "where": [clause_entry(clause) for clause in f.where],
        "inputs": [c.name for c in f.inputs],
        "outputs": [c.name for c in f.select],
        "predicate_columns": [c.name for c in f.predicate_columns],
    }


def whole(d: Description) -> str:
    """The C file that has all filters."""
    lines = ["/* SPDX-License-Identifier: BSD-3-Clause */", "/* Made by generate.py: every filter, and its number. */"]
    lines += [f'#include "{f.name}.c"' for f in d.filters]
    lines += ["", "varve_filter *const varve_filters[] = {"]
    lines += [f"    {f.name}," for f in d.filters]
    lines += ["};", f"const uintptr_t varve_filter_count = {len(d.filters)};"]
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    """Writes a file whose text has changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main() -> int:
    """Exit code 1: the description breaks a rule, or nothing can be written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="directory for the files")
    parser.add_argument("--description", type=Path, default=Path(__file__).with_name("tpch.toml"))
    options = parser.parse_args()
    try:
        found = description.read(options.description)
        options.out.mkdir(parents=True, exist_ok=True)
        for f in found.filters:
            write(options.out / f"{f.name}.c", emit.text(f))
        write(options.out / "filters.c", whole(found))
        entries = {
            "columns": {name: column_entry(c) for name, c in found.columns.items()},
            "filters": [filter_entry(i, f) for i, f in enumerate(found.filters)],
        }
        write(options.out / "filters.json", json.dumps(entries, indent=1) + "\n")
    except DescriptionError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{options.out}: cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
