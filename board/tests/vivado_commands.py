# SPDX-License-Identifier: BSD-3-Clause
"""
Command spec of Vivado for tclint, derived from the help texts that xilinx-language-server carries.

Usage: vivado_commands.py VIVADO.json SPEC.json  The help texts are GPL: neither they nor the spec are part of this project.
A command's spec holds its switches, those with a value and those without, and how many positional arguments it takes.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

_WORD = re.compile(r"(\[)?\s*(?:(-[\w-]+)(?:\s+(<[^>]+>))?|(<[^>]+>)(\.\.\.)?)\s*\]?")

_OPTIONAL = {
    "apply_bd_automation": ("-dict", "-opts"),
    "assign_bd_address": ("-dict",),
    "route_design": ("-max_delay", "-min_delay"),
}
"""Switches that the syntax shows as required and the commands' own examples leave out."""


def spec_of(name: str, text: str) -> dict[str, Any] | None:
    """Spec of one command out of its help; None where its syntax is not given in the usual form: then anything goes."""
    match = re.search(rf"^Syntax:\s*\n{re.escape(name)}\b(.*?)\n\s*\n", text, re.DOTALL | re.MULTILINE)
    if not match:
        return None
    switches: dict[str, Any] = {}
    positionals: list[dict[str, Any]] = []
    for word in _WORD.finditer(re.sub(r"\s+", " ", match[1])):
        optional, switch, value, positional, many = word.groups()
        if switch:
            switches[switch] = {
                "required": optional is None and switch not in _OPTIONAL.get(name, ()),
                "repeated": False,
                "value": {"type": "any"} if value else None,
            }
        elif positional:
            kind = "variadic" if many or positional.endswith("s>") else "any"
            positionals.append({"name": positional.strip("<>"), "required": optional is None, "value": {"type": kind}})
    # -dict takes the place of name and value.
    if name == "set_property":
        for positional in positionals:
            positional["required"] = False
        positionals[-1]["value"] = {"type": "variadic"}
    return {"switches": switches, "positionals": positionals}


def main() -> None:
    """See above."""
    source, out = sys.argv[1:]
    helps: dict[str, str] = json.loads(Path(source).read_text())
    # What Tcl itself has, tclint knows better.
    vivado = {name: text for name, text in helps.items() if "Categories:" in text}
    commands: dict[str, Any] = {name: spec_of(name, text) for name, text in vivado.items()}
    Path(out).write_text(json.dumps({"name": "vivado", "commands": commands}))
    print(sum(spec is not None for spec in commands.values()))


if __name__ == "__main__":
    main()
