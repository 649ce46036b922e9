#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check the firmware's layers (docs/firmware.md): includes go downward only, and a folder defines what its headers declare.

Usage: firmware/layers.py [FOLDER]
Prints each violation, an upward include with the chain that leads to it; exit status 1 when there are any.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from pathlib import Path

# From the bottom to the top.
LAYERS = ("lib", "platform", "media", "ftl", "csd", "nvme", "app")
# What a layer may include of another that shows it one face: (includer, included layer) -> headers.
FACES = {("nvme", "csd"): {"csd/service.h"}}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# A declaration or the head of a definition at the start of a line, as clang-format writes it.
FUNCTION = re.compile(
    r"^(?!static|typedef|struct \w+ \{|#|\})[A-Za-z_][\w\s\*]*?\b(\w+)\(([^;{}]*)\)\s*(?:__attribute__\(\(.*?\)\)\s*)?([;{])",
    re.MULTILINE | re.DOTALL,
)


def layer_of(name: str) -> str:
    """Layer of the file `name`, a path below the firmware's folder."""
    return name.split("/", 1)[0]


def includes(root: Path) -> dict[str, list[str]]:
    """For every source file of a layer, the headers of layers that it includes."""
    found = {}
    for layer in LAYERS:
        for path in sorted([*(root / layer).glob("*.c"), *(root / layer).glob("*.h")]):
            names = INCLUDE.findall(COMMENT.sub("", path.read_text()))
            found[f"{layer}/{path.name}"] = [n for n in names if layer_of(n) in LAYERS and (root / n).is_file()]
    return found


def chain_to(graph: dict[str, list[str]], target: str) -> list[str]:
    """The shortest way from a .c file of the same layer or one below to `target`, by includes."""
    rank = LAYERS.index(layer_of(target))
    starts = [n for n in graph if n.endswith(".c") and LAYERS.index(layer_of(n)) <= rank]
    before = {n: "" for n in starts}
    queue = deque(starts)
    while queue and target not in before:
        name = queue.popleft()
        for header in graph.get(name, []):
            if header not in before:
                before[header] = name
                queue.append(header)
    if target not in before:
        return [target]
    way = [target]
    while before[way[0]]:
        way.insert(0, before[way[0]])
    return way


def bad_includes(root: Path) -> list[str]:
    """Upward includes, and includes of a header that is not another layer's face."""
    graph = includes(root)
    wrong = []
    for name, headers in graph.items():
        own = layer_of(name)
        for header in headers:
            other = layer_of(header)
            face = FACES.get((own, other))
            if LAYERS.index(other) > LAYERS.index(own):
                why = f"{own} is below {other}"
            elif face is not None and header not in face:
                why = f"{own} may include of {other} only {', '.join(sorted(face))}"
            else:
                continue
            wrong.append(f"{' -> '.join([*chain_to(graph, name), header])}: {why}")
    return wrong


def functions(text: str, end: str) -> set[str]:
    """Names of the functions with external linkage that `text` declares (end ";") or defines ("{")."""
    return {m.group(1) for m in FUNCTION.finditer(COMMENT.sub("", text)) if m.group(3) == end}


def foreign_definitions(root: Path) -> list[str]:
    """Functions that one layer's header declares and another layer defines: a call upward that no include shows."""
    defined: dict[str, str] = {}
    for layer in LAYERS:
        for path in sorted((root / layer).glob("*.c")):
            for name in functions(path.read_text(), "{"):
                defined[name] = f"{layer}/{path.name}"
    wrong = []
    for layer in LAYERS:
        for path in sorted((root / layer).glob("*.h")):
            for name in sorted(functions(path.read_text(), ";")):
                where = defined.get(name)
                if where is not None and layer_of(where) != layer:
                    wrong.append(f"{layer}/{path.name} declares {name}, which {where} defines")
    return wrong


def main() -> int:
    """Print what is wrong."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    wrong = bad_includes(root) + foreign_definitions(root)
    for line in wrong:
        print(f"firmware layers: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
