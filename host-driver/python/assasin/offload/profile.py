# SPDX-License-Identifier: BSD-3-Clause
"""Where an offload spends its cycles, by source line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assasin.offload import machine


@dataclass(frozen=True)
class Line:
    """A source line: cycles of its instructions, their share of all, how many instructions ran. `text`: as in the file."""

    file: str
    line: int
    function: str
    cycles: int
    share: float
    runs: int
    text: str


def _text(path: str, line: int, seen: dict[str, list[str]]) -> str:
    if path not in seen:
        try:
            seen[path] = Path(path).read_text(errors="replace").splitlines()
        except OSError:
            seen[path] = []
    return seen[path][line - 1].strip() if 0 < line <= len(seen[path]) else ""


def lines(elf: Path, spent: Sequence[int], runs: Sequence[int]) -> list[Line]:
    """The lines that ran, those with most cycles first. `spent`, `runs`: of a counted Core. Raises BuildError."""
    ran = [4 * i for i, n in enumerate(runs) if n]
    places = machine.lines_of(elf, ran)
    cycles: dict[tuple[str, int], int] = defaultdict(int)
    instructions: dict[tuple[str, int], int] = defaultdict(int)
    functions = {}
    for address in ran:
        function, path, line = places[address]
        cycles[path, line] += spent[address // 4]
        instructions[path, line] += runs[address // 4]
        functions[path, line] = function
    total = sum(cycles.values()) or 1
    seen: dict[str, list[str]] = {}
    found = [
        Line(Path(path).name, line, functions[path, line], n, n / total, instructions[path, line], _text(path, line, seen))
        for (path, line), n in cycles.items()
    ]
    return sorted(found, key=lambda x: (-x.cycles, x.file, x.line))
