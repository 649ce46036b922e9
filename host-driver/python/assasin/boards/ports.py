# SPDX-License-Identifier: BSD-3-Clause
"""Ports of a Verilog module, as firtool and the generators here write module headers (ANSI style, one port a line)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from assasin.errors import AssasinError

_PORT = re.compile(r"^\s*(?:(input|output|inout)\b)?\s*(?:wire|reg)?\s*(?:\[(\d+):0\])?\s*([A-Za-z_]\w*),?\s*$")


class PortError(AssasinError):
    """A module header cannot be read."""


@dataclass(frozen=True)
class Port:
    """One port."""

    name: str
    direction: str
    """input, output or inout."""
    width: int
    """Bits."""

    @property
    def range(self) -> str:
        """Verilog range with a trailing blank, empty for one bit."""
        return f"[{self.width - 1}:0] " if self.width > 1 else ""


def read_ports(path: Path, module: str) -> dict[str, Port]:
    """Ports of `module` in `path`, by name. Raises PortError."""
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    header = re.search(rf"\bmodule\s+{re.escape(module)}\s*(?:#\s*\(.*?\)\s*)?\((.*?)\);", text, re.DOTALL)
    if not header:
        raise PortError(f"{path.name}: there is no module {module}")
    ports: dict[str, Port] = {}
    direction, width = "", 1
    for line in header[1].splitlines():
        if not line.strip():
            continue
        match = _PORT.match(line)
        if not match:
            raise PortError(f"{path.name}: port line '{line.strip()}' of {module} is not understood")
        # Direction and range hold until the next ones, as in Verilog.
        if match[1]:
            direction, width = match[1], int(match[2]) + 1 if match[2] else 1
        elif match[2]:
            width = int(match[2]) + 1
        ports[match[3]] = Port(match[3], direction, width)
    return ports
