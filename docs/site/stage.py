# SPDX-License-Identifier: BSD-3-Clause
"""
Lays the pages of the site: the repository's Markdown files, in their folders, as the site's generator takes them. Names of Markdown
files become links, and blocks get the blank lines that Python-Markdown wants before them.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import markdown_text
from links import GENERATED, PLACEHOLDER, named_file

LIST = re.compile(r"^ {0,1}([-*+]|\d+\.) ")


class Stage:
    """Where the pages are put. `root` is the checkout, `folder` what the generator reads."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        self.files: set[Path] = set()
        shutil.rmtree(folder, ignore_errors=True)

    def write(self, path: Path | str, text: str) -> None:
        """Writes a page or a file."""
        to = self.folder / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text, encoding="utf-8")

    def page(self, path: Path) -> None:
        """Lays a Markdown file of the repository."""
        text = (self.root / path).read_text(encoding="utf-8")
        out: list[str] = []
        before = markdown_text.Line(0, "", False)
        for line in markdown_text.lines(text):
            shown = line.text if line.code else self._linked(path, line.text)
            if not line.code and re.match(r"^ {2,3}([-*+] |\d+\. |\|)", shown):
                shown = "    " + shown.lstrip()
            if before.text.strip() and not before.code and self._begins(line, before):
                out.append("")
            out.append(shown)
            before = line
        self.write(path, "\n".join(out) + "\n")

    @staticmethod
    def _begins(line: markdown_text.Line, before: markdown_text.Line) -> bool:
        """Whether a block begins here for which there has to be a blank line."""
        if markdown_text.HEADING.match(before.text) or (line.code and line.text.strip()):
            return True
        if line.text.lstrip().startswith("|"):
            return not before.text.lstrip().startswith("|")
        return bool(LIST.match(line.text)) and not LIST.match(before.text) and not before.text.startswith("  ")

    def _relative(self, page: Path, path: Path, anchor: str | None) -> str:
        to = Path(GENERATED.get(str(path), path))
        self.files.add(to)
        return os.path.relpath(to, page.parent) + (f"#{anchor}" if anchor else "")

    def _linked(self, page: Path, line: str) -> str:
        def link(match: re.Match[str]) -> str:
            parts = urlsplit(match["target"])
            if parts.scheme or parts.netloc or not parts.path:
                return match[0]
            path = Path(os.path.normpath(page.parent / unquote(parts.path)))
            if (self.root / path).is_dir():
                path = path / "README.md"
            if not (self.root / path).is_file() and str(path) not in GENERATED:
                return match[0]
            if path.suffix != ".md" and path not in self.files:
                self.write(path, (self.root / path).read_text(encoding="utf-8"))
            head = match[0][: match[0].rindex("](")]
            return f"{head}]({self._relative(page, path, parts.fragment)})"

        def mention(match: re.Match[str]) -> str:
            path = None if PLACEHOLDER.match(match["name"]) else named_file(self.root, page, match["name"])
            if path is None or (path == page and not match["section"]):
                return match[0]
            anchor = None
            if match["section"] and (self.root / path).is_file():
                found = markdown_text.headings((self.root / path).read_text(encoding="utf-8"))
                anchor = markdown_text.section_anchor(found, match["section"])
            return f"[{match[0]}]({self._relative(page, path, anchor)})"

        return markdown_text.rewritten(line, link, mention)
