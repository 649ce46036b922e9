# SPDX-License-Identifier: BSD-3-Clause
"""Reference pages of C headers, made of their declarations and the comments `/** ... */` of these."""

from __future__ import annotations

import re
from pathlib import Path

COMMENT = re.compile(r"/\*\*(?!<)(?P<text>.*?)\*/", re.S)
MEMBER = re.compile(r"(?P<type>[\w ]+?[ *]+)(?P<name>\w+(?:\[[^\]]*\])*)(?: ?: ?\d+)?;")
TRAILING = re.compile(r"/\*\*<(.*?)\*/", re.S)
NAMES = (
    re.compile(r"^#define (\w+(?:\([^)]*\))?)"),
    re.compile(r"^typedef .*?\(\*(\w+)\)", re.S),
    re.compile(r"^((?:struct|enum|union) \w+)\s*[{;]"),
    re.compile(r"^typedef .*?(\w+);", re.S),
    re.compile(r"(\w+)\([^;{]*\)\s*(?:__attribute__\(\(.*?\)\)\s*)?[;{]", re.S),
    re.compile(r"(\w+)(?:\[[^\]]*\])?\s*[;=]"),
)


def plain(comment: str) -> str:
    """A comment's text without its stars, as Markdown."""
    text = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.strip().splitlines()]
    out: list[str] = []
    for line in text:
        before = out[-1].strip() if out else ""
        starts = re.match(r"\s*- |\|", line)
        if starts and before and not re.match(r"- |\|", before) and not out[-1].startswith(("  ", "- ")):
            out.append("")
        out.append(line)
    return "\n".join(out)


def _code(rest: str) -> str:
    """The declaration that a header goes on with: a macro, or everything up to the `;` or the body's end."""
    rest = rest.lstrip("\n")
    if rest.lstrip().startswith("#"):
        match = re.match(r"\s*#.*?(?<!\\)\n", rest, re.S)
        return match[0].strip() if match else ""
    depth = 0
    for i, c in enumerate(rest):
        depth += (c == "{") - (c == "}")
        if depth == 0 and c == ";":
            return rest[: i + 1].strip()
        if depth == 0 and c == "}" and re.match(r"\s*(?![\w\s;*]*;)", rest[i + 1 :]) and ")" in rest[: rest.find("{")]:
            return rest[: rest.find("{")].strip() + ";"
    return ""


def _tags(text: str) -> str:
    """Parameters and the result as a list. A backslash begins such a tag in the header."""
    parts = re.split(r"\s*\\(param|return)\b\s*", text)
    out, items = parts[0], []
    for tag, what in zip(parts[1::2], parts[2::2], strict=True):
        name, _, rest = what.partition(" ")
        first, _, behind = (rest if tag == "param" else what).strip().partition("\n  - ")
        item = f"- `{name}`: {first}" if tag == "param" else f"- *returns* {first}"
        items.append(" ".join(item.split()) + "".join(f"\n    - {' '.join(x.split())}" for x in behind.split("\n  - ") if x))
    return out + ("\n\n" + "\n".join(items) if items else "")


def _members(code: str) -> str:
    """The members of a structure or enumeration that have a comment, as a table."""
    body = re.sub(r"\s+", " ", code[code.find("{") + 1 : code.rfind("}")])
    if "/**" not in body:
        return ""
    rows, at, before = [], 0, ""
    for match in re.finditer(r"/\*\*(<?)(.*?)\*/", body):
        declared = body[at : match.start()].strip()
        words = " ".join(match[2].replace("|", "\\|").split())
        if match[1] and declared:
            rows += [(declared.split("; ")[-1].split(", ")[-1] if "enum" in code.split("{")[0] else declared, words)]
        elif before and declared:
            rows.append((declared, before))
        before = "" if match[1] else words
        at = match.end()
        while at < len(body) and body[at] in ", ":
            at += 1
    if before and body[at:].strip():
        rows.append((body[at:].strip(), before))
    lines = [f"| `{' '.join(what.rstrip(',; ').split())}` | {words} |" for what, words in rows]
    return "| member | |\n|---|---|\n" + "\n".join(lines) if lines else ""


def page(header: Path, title: str, note: str) -> str:
    """The page of a header, as Markdown."""
    text = header.read_text(encoding="utf-8")
    out = [f"# {title}", note]
    for match in COMMENT.finditer(text):
        comment = match["text"].strip()
        if comment.startswith("* \\file") or comment.startswith("\\file"):
            out.append(plain(comment).replace("\\file", "", 1).strip())
            continue
        group = re.match(r"(?:\* )?\\defgroup \w+ (.*)", comment)
        if group:
            out.append(f"## {group[1]}")
            continue
        if comment.startswith(("@}", "* @}")) or text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip():
            continue
        if text[text.rfind("\n", 0, match.start()) + 1 : match.start()].startswith(" "):
            continue  # of a member
        code = _code(text[match.end() :])
        names = [m[1] for m in (p.search(code) for p in NAMES) if m]
        if not code or not names:
            continue
        out.append(f"### `{names[0]}`")
        members = _members(code) if code.startswith(("struct", "enum", "union", "typedef struct")) and "{" in code else ""
        if not members:
            out.append("```c\n" + re.sub(r" +\\\n", r" \\\n", code) + "\n```")
        out.append(_tags(plain(comment)))
        if members:
            out.append(members)
    return "\n\n".join(out) + "\n"
