# SPDX-License-Identifier: BSD-3-Clause
"""What a Markdown file of this repository consists of: text and code, headings with their anchors, links, names of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

FENCE = re.compile(r"^\s*(```|~~~)")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
ITEM = re.compile(r"^\s*([-*+]|\d+\.)\s")
LINK = re.compile(r"!?\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"(`+)(?P<code>.+?)\1")
# The name of a Markdown file, and the section that is named behind it: docs/medium.md, "Parity sectors".
NAME = r"(?<![\w./*{}-])(?P<name>(?:\.\./)*[\w.-]+(?:/[\w.-]+)*\.md)(?![\w/*])"
SECTION = r'(?:,? "(?P<section>[^"]+)")?'
MENTION = re.compile(NAME + SECTION)
CODE_MENTION = re.compile(r"`" + NAME + r"`" + SECTION)


@dataclass(frozen=True)
class Line:
    """A line of a file. `number` counts from 1."""

    number: int
    text: str
    code: bool


def lines(text: str) -> Iterator[Line]:
    """The lines; those of fenced and of indented blocks are code."""
    fenced = in_list = False
    before = Line(0, "", False)
    for number, line in enumerate(text.splitlines(), 1):
        code = False
        if FENCE.match(line):
            fenced, code = not fenced, True
        elif fenced:
            code = True
        elif line.strip():
            indented = line.startswith(("    ", "\t"))
            if not line.startswith(" "):
                in_list = bool(ITEM.match(line))
            code = indented and not in_list and (before.code or not before.text.strip() or bool(HEADING.match(before.text)))
        else:
            code = before.code
        before = Line(number, line, code)
        yield before


def slug(heading: str) -> str:
    """The anchor of a heading, as code hosts and the site make it."""
    plain = LINK.sub(lambda m: m["text"], heading).replace("`", "").replace("*", "")
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


@dataclass(frozen=True)
class Heading:
    """A heading of a file."""

    line: int
    text: str
    anchor: str


def headings(text: str) -> list[Heading]:
    """The headings. Where two have the same words the later ones get a number, -1 and up."""
    seen: dict[str, int] = {}
    found = []
    for line in lines(text):
        match = None if line.code else HEADING.match(line.text)
        if match:
            anchor = slug(match[2])
            count = seen.get(anchor, 0)
            seen[anchor] = count + 1
            found.append(Heading(line.number, match[2].replace("`", ""), f"{anchor}-{count}" if count else anchor))
    return found


def section_anchor(found: list[Heading], section: str) -> str | None:
    """The anchor of the section with that heading."""
    return next((h.anchor for h in found if h.text == section.replace("`", "")), None)


def rewritten(
    line: str, link: Callable[[re.Match[str]], str], mention: Callable[[re.Match[str]], str], code: Callable[[str], str] = str
) -> str:
    """A line of text in which links, names of Markdown files and other pieces of code are what the functions make of them."""
    out, at = [], 0
    while at < len(line):
        found = [m for m in (p.search(line, at) for p in (LINK, CODE_MENTION, CODE, MENTION)) if m]
        if not found:
            break
        # Of two at the same place the one that comes first in the list.
        first = min(found, key=lambda m: m.start())
        out.append(line[at : first.start()])
        if first.re is LINK:
            out.append(link(first))
        elif first.re is CODE:
            out.append(code(first[0]))
        else:
            out.append(mention(first))
        at = first.end()
    return "".join(out) + line[at:]


def slug_for_site(text: str, _separator: str) -> str:
    """For the site's generator, which numbers anchors itself."""
    return slug(text)
