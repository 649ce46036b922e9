# SPDX-License-Identifier: BSD-3-Clause
"""generate.py names file, filter or column, and rule when a description is wrong, and never ends with a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

GENERATE = Path(__file__).resolve().parents[1] / "varve" / "generate.py"
GOOD = """
[tables]
part = "p_"
[column.p_key]
pad = 32
unsigned = true
min = 1
max = 2000
[column.p_kind]
pad = 8
unsigned = true
min = 0
max = 2
codes = ["A", "B", "C"]
[column.x_key]
pad = 32
unsigned = false
min = -5
max = 5
[[filter]]
name = "one"
table = "part"
where = [
    { column = "p_kind", equal = [1] },
]
select = ["p_key"]
"""
CLAUSE = '{ column = "p_kind", equal = [1] },'
MANY = "".join(f"[column.p_{i}]\npad = 8\nunsigned = true\nmin = 0\nmax = 9\n" for i in range(10))


def generate(path: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Writes a description and runs the generator on it."""
    source = path / "mine.toml"
    source.write_text(text)
    return subprocess.run(
        [sys.executable, GENERATE, path / "out", "--description", source], capture_output=True, text=True, check=False
    )


def test_a_good_description(tmp_path: Path) -> None:
    done = generate(tmp_path, GOOD)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "uintptr_t one(" in (tmp_path / "out" / "one.c").read_text()
    entry = json.loads((tmp_path / "out" / "filters.json").read_text())["filters"][0]
    assert (entry["inputs"], entry["outputs"], entry["grows"]) == (["p_kind", "p_key"], ["p_key"], True)


def test_files_that_do_not_change_keep_their_time(tmp_path: Path) -> None:
    generate(tmp_path, GOOD)
    before = (tmp_path / "out" / "one.c").stat().st_mtime_ns
    generate(tmp_path, GOOD)
    assert (tmp_path / "out" / "one.c").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (CLAUSE, "{ column = 'p_none', equal = [1] }", "filter one: column p_none is not declared"),
        (CLAUSE, "{ column = 'x_key', equal = [1] }", "filter one: column x_key is not one of table part"),
        (CLAUSE, "{ column = 'p_kind' }", "filter one: column p_kind: a clause needs either range or equal"),
        (CLAUSE, "{ column = 'p_kind', equal = [1], range = [1, 2] }", "a clause needs either range or equal"),
        (CLAUSE, "{ column = 'p_kind', equal = 1 }", "range or equal must be a list with at least one entry"),
        (CLAUSE, "{ column = 'p_kind', equal = [] }", "range or equal must be a list with at least one entry"),
        (CLAUSE, "{ column = 'p_kind', equal = ['B'] }", "filter one: column p_kind: a constant must be a whole number"),
        (CLAUSE, "{ column = 'p_kind', equal = [true] }", "a constant must be a whole number"),
        (CLAUSE, "{ column = 'p_kind', equal = [1, 1] }", "a constant of equal stands twice"),
        (CLAUSE, "{ column = 'p_kind', equal = [9] }", "column p_kind: constant 9 lies outside 0 to 2; never = true allows it"),
        (CLAUSE, "{ column = 'p_kind', equal = [300], never = true }", "constant 300 does not fit 8 bits"),
        (CLAUSE, "{ column = 'p_kind', range = [2, 1] }", "filter one: column p_kind: range [2, 1] is empty"),
        (CLAUSE, "{ column = 'p_kind', range = [1] }", "range must be [low, high]"),
        (CLAUSE, "{ column = 'p_kind', range = [0, 255] }", "a range with two open ends always holds"),
        (CLAUSE, "{ column = 'p_kind', equal = [1], push = 1 }", "push must be true or false"),
        (CLAUSE, "{ column = 'p_kind', equals = [1] }", "filter one: unknown key equals"),
        (CLAUSE, "{ column = 5, equal = [1] }", "filter one: a column must be a text"),
        (CLAUSE, "5", "filter one: a clause must be a table"),
        (CLAUSE, "{ any = [] }", "any must be a list with at least one entry"),
        (CLAUSE, "{ any = [{ column = 'p_kind', equal = [1] }] }", "an alternative of any must be a list"),
        (CLAUSE, "{ any = [[{ column = 'p_kind', equal = [1], push = false }]] }", "push stands beside any, not inside it"),
        (CLAUSE, "", "filter one: where must be a list with at least one entry"),
        ('select = ["p_key"]', "select = []", "filter one: select must be a list with at least one entry"),
        ('select = ["p_key"]', 'select = ["p_key", "p_key"]', "filter one: a column is selected twice"),
        ('select = ["p_key"]', "", "filter one: select missing"),
        ('table = "part"', 'table = "parts"', "filter one: table parts is not declared"),
        ('name = "one"', 'name = "One more"', "filter One more: the name must be small letters, digits and _"),
        ('name = "one"', 'name = "switch"', "filter switch: the name has a meaning in C"),
        ("[column.x_key]", "[column.X]", "column X: the name must be small letters, digits and _"),
        ('name = "one"', "", "filter 1: a filter needs a name"),
        ("pad = 8", "pad = 16", "column p_kind: pad must be 8 or 32 bits"),
        ("max = 2000", "max = 0", "column p_key: min and max must be in order and lie in 0 to 2147483647"),
        ("max = 2000", "most = 2", "column p_key: max missing"),
        ('"B", "C"', '"B"', "column p_kind: min and max must be the first and the last code"),
        ('"B", "C"', '"B", "B"', "column p_kind: a word has two codes"),
        ('"B", "C"', '"B", "C*/"', "column p_kind: a word must be printable ASCII without */"),
        ("min = 0\n", "min = 0\nascii = true\n", "column p_kind: min and max of an ascii column must be 32 to 126"),
        ("max = 2\n", "max = 2\nunsigned = false\n", "is no TOML file"),
        ("[[filter]]", "[filter]", "the file: filter must be a list"),
        ("[tables]", "[table]", "the file: tables missing"),
    ],
)
def test_a_bad_description(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert GOOD.count(old) == 1
    done = generate(tmp_path, GOOD.replace(old, new))
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path / 'mine.toml'}: ") and done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.parametrize(
    ("select", "message"),
    [
        (range(9), "filter one: 9 columns are selected; there are 8 output streams"),
        (range(8), ""),
    ],
)
def test_limits_of_streams(tmp_path: Path, select: range, message: str) -> None:
    names = ", ".join(f'"p_{i}"' for i in select)
    done = generate(tmp_path, GOOD.replace("[[filter]]", MANY + "[[filter]]").replace('["p_key"]', f"[{names}]"))
    assert (done.returncode, done.stderr.count("\n")) == ((1, 1) if message else (0, 0))
    assert message in done.stderr


def test_at_most_nine_inputs(tmp_path: Path) -> None:
    clauses = ", ".join(f"{{ column = 'p_{i}', equal = [1] }}" for i in range(10))
    text = GOOD.replace("[[filter]]", MANY + "[[filter]]").replace(CLAUSE, clauses)
    done = generate(tmp_path, text)
    assert done.returncode == 1 and "filter one: 11 columns are read; there are 9 input streams" in done.stderr


def test_two_filters_of_a_name(tmp_path: Path) -> None:
    done = generate(tmp_path, GOOD + GOOD[GOOD.index("[[filter]]") :])
    assert done.returncode == 1 and "filter one: two filters have this name" in done.stderr


def test_a_description_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, GENERATE, tmp_path, "--description", tmp_path / "no.toml"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, f"{tmp_path / 'no.toml'}: cannot be read: No such file or directory\n")


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = subprocess.run([sys.executable, GENERATE, tmp_path / "file" / "out"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cannot be written" in done.stderr and done.stderr.count("\n") == 1
