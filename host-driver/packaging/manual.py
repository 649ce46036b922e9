# SPDX-License-Identifier: BSD-3-Clause
"""
Manual pages of libassasin (section 3), a page a function, from the comments of its header; libassasin(3) lists them.

Usage: manual.py HEADER VERSION FOLDER
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

COMMENT = re.compile(r"/\*\*(?P<text>.*?)\*/\s*(?P<code>[^/]*?;)?", re.S)
NAME = re.compile(r"\b(assasin_\w+)\(")
TAG = re.compile(r"\\(param|return)\b")
SEE_ALSO = re.compile(r"\b(assasin_\w+)\(\)")


@dataclass
class Function:
    """A function of the header and what its comment says."""

    name: str
    prototype: str
    text: str
    params: dict[str, str] = field(default_factory=dict)
    returns: str = ""

    @property
    def summary(self) -> str:
        """The first sentence."""
        return re.split(r"[.:](?:\s|$)", self.text, maxsplit=1)[0].replace("\n", " ")


def plain(comment: str) -> str:
    """A comment's text without its stars; list items and blank lines stay apart."""
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in comment.strip().splitlines()]
    return re.sub(r"(?<!\n)\n(?!\n|\s*- )", " ", "\n".join(lines)).strip()


def functions(header: str) -> Iterator[Function]:
    """The documented functions, in the header's order."""
    for match in COMMENT.finditer(header):
        code = match["code"] or ""
        found = NAME.search(code)
        if found is None or code.lstrip().startswith(("struct {", "typedef")) or "{" in code:
            continue
        pieces = TAG.split(plain(match["text"]))
        function = Function(found[1], " ".join(code.split()), pieces[0].strip())
        for tag, text in zip(pieces[1::2], pieces[2::2], strict=True):
            if tag == "return":
                function.returns = text.strip()
            else:
                name, _, what = text.strip().partition(" ")
                function.params[name] = what.strip()
        yield function


def troff(text: str) -> str:
    """Text as troff takes it: no line is a request, no backslash an escape."""
    lines = []
    for line in text.replace("\\", "\\e").splitlines():
        item = re.match(r"\s*- (.*)", line)
        if item:
            lines += [".IP \\(bu 2", item[1]]
        else:
            lines.append(line if line else ".PP")
    return "\n".join(
        f"\\&{line}" if line.startswith(("'", ".")) and not line.startswith((".IP", ".PP")) else line for line in lines
    )


def page(f: Function, version: str) -> str:
    """The manual page of a function."""
    parts = [
        f'.TH {f.name} 3 "" "libassasin {version}"',
        f".SH NAME\n{f.name} \\- {troff(f.summary)}",
        f".SH SYNOPSIS\n.nf\n#include <assasin/assasin.h>\n\n{troff(f.prototype)}\n.fi",
        f".SH DESCRIPTION\n.ad l\n{troff(f.text)}",
    ]
    parts += [f".TP\n.I {name}\n{troff(what)}" for name, what in f.params.items()]
    if f.returns:
        parts.append(f".SH RETURN VALUE\n{troff(f.returns)}")
    others = dict.fromkeys(SEE_ALSO.findall(" ".join([f.text, f.returns, *f.params.values()])))
    others.pop(f.name, None)
    parts.append(
        ".SH SEE ALSO\n"
        + ", ".join(f".BR {name} (3)" if i == 0 else f"{name}(3)" for i, name in enumerate(["libassasin", *others]))
    )
    return "\n".join(parts) + "\n"


def overview(header: str, found: list[Function], version: str) -> str:
    """libassasin(3): what the header says of all, and its functions."""
    match = re.search(r"/\*\*\s*\n \* \\file\n(.*?)\*/", header, re.S)
    if match is None:
        raise SystemExit("manual: the header has no comment that begins with \\file")
    what, _, rest = plain(match[1]).partition("\n\n")
    listed = "\n".join(f".TP\n.BR {f.name} (3)\n{troff(f.summary)}" for f in found)
    return (
        f'.TH libassasin 3 "" "libassasin {version}"\n.SH NAME\nlibassasin \\- {troff(what.removeprefix("libassasin: "))}\n'
        f".SH SYNOPSIS\n.nf\n#include <assasin/assasin.h>\n\ncc ... $(pkg-config --cflags --libs assasin)\n.fi\n"
        f".SH DESCRIPTION\n.ad l\n{troff(rest)}\n.SH FUNCTIONS\n{listed}\n"
    )


def main() -> None:
    """Writes the pages."""
    header, version, folder = Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2], Path(sys.argv[3])
    found = list(functions(header))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "libassasin.3").write_text(overview(header, found, version), encoding="utf-8")
    for f in found:
        (folder / f"{f.name}.3").write_text(page(f, version), encoding="utf-8")


if __name__ == "__main__":
    main()
