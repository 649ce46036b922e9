# SPDX-License-Identifier: BSD-3-Clause
"""
Checks links. In the repository's Markdown files: each link's file and anchor is there, and each Markdown file and section that the
text names. In the built site: each link's page and anchor is there, and nothing is loaded from the network.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import markdown_text

GENERATED = {"build/gen/docs/contract.md": "reference/contract.md"}
"""Files that the site has under another name, and the repository not before they are generated."""
PLACEHOLDER = re.compile(r"[A-Z]{4,}/")
"""Stands in a name for what the reader chooses."""


def repository_files(root: Path) -> list[Path]:
    """The Markdown files of a checkout, relative to it; those that are new count too."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return sorted({Path(p) for p in listed.split("\0") if p and (root / p).is_file()})


def named_file(root: Path, page: Path, name: str) -> Path | None:
    """The file that `page` means by `name`: from the page's folder, from the root, or from a folder between them."""
    for folder in [page.parent, Path(), *page.parent.parents]:
        path = Path(os.path.normpath(folder / name))
        if str(path) in GENERATED or (root / path).is_file():
            return path
    return None


class Repository:
    """The Markdown files of a checkout, as targets of links."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._headings: dict[Path, list[markdown_text.Heading]] = {}

    def headings(self, path: Path) -> list[markdown_text.Heading]:
        """The headings of a file."""
        if path not in self._headings:
            self._headings[path] = markdown_text.headings((self.root / path).read_text(encoding="utf-8"))
        return self._headings[path]

    def link_fault(self, page: Path, target: str) -> str:
        """What is wrong with a link of `page`; nothing with those that lead out of the repository."""
        parts = urlsplit(target)
        path = Path(os.path.normpath(page.parent / unquote(parts.path))) if parts.path else page
        if parts.scheme or parts.netloc or str(path) in GENERATED:
            return ""
        if not (self.root / path).exists():
            return f"the link '{target}' leads to no file"
        anchored = parts.fragment and path.suffix == ".md"
        if anchored and parts.fragment not in {h.anchor for h in self.headings(path)}:
            return f"the link '{target}' leads to no heading of {path}"
        return ""

    def mention_fault(self, page: Path, name: str, section: str | None) -> str:
        """What is wrong with the name of a file, and perhaps of a section of it, in the text of `page`."""
        if PLACEHOLDER.match(name):
            return ""
        path = named_file(self.root, page, name)
        if path is None:
            return f"there is no file '{name}'"
        if section and str(path) not in GENERATED and markdown_text.section_anchor(self.headings(path), section) is None:
            return f'{path} has no section "{section}"'
        return ""

    def faults(self, page: Path, line: markdown_text.Line) -> list[str]:
        """What is wrong with the links of a line of `page`."""
        found: list[str] = []

        def link(match: re.Match[str]) -> str:
            found.append(self.link_fault(page, match["target"]))
            return ""

        def mention(match: re.Match[str]) -> str:
            found.append(self.mention_fault(page, match["name"], match["section"]))
            return ""

        if line.code:
            for match in markdown_text.MENTION.finditer(line.text):
                mention(match)
        else:
            markdown_text.rewritten(line.text, link, mention)
        return [f for f in found if f]


def check_repository(root: Path, files: list[Path] | None = None) -> list[str]:
    """What is wrong with the links of the Markdown files, a line `FILE:LINE: ...` each."""
    repository = Repository(root)
    return [
        f"{page}:{line.number}: {fault}"
        for page in (repository_files(root) if files is None else files)
        for line in markdown_text.lines((root / page).read_text(encoding="utf-8"))
        for fault in repository.faults(page, line)
    ]


@dataclass
class Page(HTMLParser):
    """Anchors and links of a page of HTML."""

    text: str
    anchors: set[str] = field(default_factory=set)
    links: list[tuple[int, str]] = field(default_factory=list)
    loaded: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        of = dict(attrs)
        for name in ("id", "name"):
            if of.get(name):
                self.anchors.add(of[name] or "")
        where = of.get("href") if tag in ("a", "link") else of.get("src") if tag in ("img", "script", "iframe") else None
        if where:
            loads = tag in ("img", "script", "iframe") or (tag == "link" and of.get("rel") in ("stylesheet", "icon", "preload"))
            (self.loaded if loads else self.links).append((self.getpos()[0], where))


def check_site(site: Path) -> list[str]:
    """What is wrong with the links of a built site, a line `FILE:LINE: ...` each."""
    pages = {p: Page(p.read_text(encoding="utf-8")) for p in sorted(site.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        where = path.relative_to(site)
        for number, target in page.loaded:
            if urlsplit(target).scheme not in ("", "data") or target.startswith("/"):
                wrong.append(f"{where}:{number}: '{target}' would be loaded from the network")
            elif not urlsplit(target).scheme and not (path.parent / unquote(urlsplit(target).path)).is_file():
                wrong.append(f"{where}:{number}: there is no file '{target}'")
        for number, target in page.links:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            to = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            if target.startswith("/") or not to.is_file():
                wrong.append(f"{where}:{number}: the link '{target}' leads to no file of the site")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].anchors | {"__skip"}:
                wrong.append(f"{where}:{number}: the link '{target}' leads to no anchor")
    return wrong
