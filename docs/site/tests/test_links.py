# SPDX-License-Identifier: BSD-3-Clause
"""Links: the repository's resolve, and each kind of broken one is found and named by file and line."""

from __future__ import annotations

from pathlib import Path

import links
import markdown_text
import pytest

ROOT = Path(__file__).resolve().parents[3]
GOOD = '# One\n\nA [link](b.md#two-words), b.md, "Two words", and `folder/c.md`.\n\n    # code: b.md\n'


def made(folder: Path, text: str) -> Path:
    """A small tree of Markdown files, a.md with this text."""
    (folder / "folder").mkdir()
    (folder / "a.md").write_text(text)
    (folder / "b.md").write_text("# B\n## Two words\n## Two words\n")
    (folder / "folder/c.md").write_text("# C\nSee [b](../b.md), b.md and ../a.md.\n")
    return folder


def checked(folder: Path) -> list[str]:
    """What is wrong with that tree."""
    return links.check_repository(folder, [Path("a.md"), Path("b.md"), Path("folder/c.md")])


def test_the_repository_has_no_broken_link() -> None:
    assert links.check_repository(ROOT) == []


def test_good_links_are_taken(tmp_path: Path) -> None:
    assert checked(made(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[x](missing.md)", "the link 'missing.md' leads to no file"),
        ("[x](folder/missing.txt)", "the link 'folder/missing.txt' leads to no file"),
        ("[x](b.md#three)", "the link 'b.md#three' leads to no heading of b.md"),
        ("[x](b.md#two-words-2)", "the link 'b.md#two-words-2' leads to no heading of b.md"),
        ("[x](#two)", "the link '#two' leads to no heading of a.md"),
        ("![x](missing.svg)", "the link 'missing.svg' leads to no file"),
        ("in a sentence: missing.md", "there is no file 'missing.md'"),
        ("as code: `folder/missing.md`", "there is no file 'folder/missing.md'"),
        ("    command     # in code, missing.md has more", "there is no file 'missing.md'"),
        ('section: b.md, "Three"', 'b.md has no section "Three"'),
    ],
)
def test_a_broken_link_is_named_by_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    text = GOOD + "\n" + line + "\n"
    number = text.splitlines().index(line) + 1
    assert checked(made(tmp_path, text)) == [f"a.md:{number}: {message}"]


def test_code_is_told_from_text() -> None:
    text = "# A\n    code\ntext\n    goes on\n\n    code\n\n- item\n\n    of the item\n\n```\nfenced\n```\n"
    assert [line.text.strip() for line in markdown_text.lines(text) if line.code and line.text] == [
        "code", "code", "```", "fenced", "```",
    ]  # fmt: skip


def test_anchors_are_those_of_code_hosts() -> None:
    text = "# `assasin bench ftl`\n## End of stream, and why\n## Power, area (Table V)\n## Top-level ports (`AssasinSoc`)\n"
    assert [h.anchor for h in markdown_text.headings(text)] == [
        "assasin-bench-ftl", "end-of-stream-and-why", "power-area-table-v", "top-level-ports-assasinsoc",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("html", "message"),
    [
        ('<a href="gone.html">x</a>', "the link 'gone.html' leads to no file of the site"),
        ('<a href="#gone">x</a>', "the link '#gone' leads to no anchor"),
        ('<a href="/">x</a>', "the link '/' leads to no file of the site"),
        ('<a href=".">x</a>', "the link '.' leads to no file of the site"),
        ('<img src="gone.png">', "there is no file 'gone.png'"),
        ('<script src="https://example.org/x.js"></script>', "'https://example.org/x.js' would be loaded from the network"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "'//example.org/x.css' would be loaded from the network"),
    ],
)
def test_a_broken_link_of_the_site_is_found(tmp_path: Path, html: str, message: str) -> None:
    (tmp_path / "index.html").write_text(f'<h1 id="one">1</h1>\n<a href="#one">x</a>\n{html}\n')
    assert links.check_site(tmp_path) == [f"index.html:3: {message}"]
