# SPDX-License-Identifier: BSD-3-Clause
"""What measures of `assasin bench varve` have in common: calls of a program on the RTL of a tile, and rows of the result."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assasin import programs
from assasin.errors import AssasinError
from assasin.tree import BUILD, ROOT, contract

TILES = BUILD / "cosim"
TILE = TILES / "AssasinVp" / "kernel_tile"
FULL_TILE = TILES / "AssasinVf" / "kernel_tile"
"""With VarVE-full."""
BASELINE_TILE = TILES / "Baseline" / "kernel_tile"
"""With L1 and L2 in front of DRAM instead of a scratchpad; programs named baseline run on it."""
FILTERS = BUILD / "offload" / "varve" / "filters"
WORKLOADS = BUILD / "offload" / "varve" / "workloads"
BUILDS = {
    TILE: "hw/cosim/kernel-tile",
    FULL_TILE: "hw/cosim/kernel-tile",
    BASELINE_TILE: "hw/cosim/kernel-tile",
    FILTERS: "make -C firmware/offload filters",
    WORKLOADS: "make -C firmware/offload workloads",
}
"""What builds what is measured with."""

CONFIG, FULL_CONFIG = "tile of AssasinVp", "tile of AssasinVf, with VarVE-full"

LIMIT = 4_000_000
"""Cycles of a call, more than any takes."""

DATA = contract.CORE_SPAD_BASE + contract.SCOMP_SPAD_DATA + 0x1000
END = contract.CORE_SPAD_BASE + contract.CORE_SPAD_SIZE - 0x1000
"""Where data may lie: behind the program's own, and below its stack."""

ARGS = contract.CORE_SPAD_BASE + contract.SCOMP_SPAD_ARGS

_ALIGN = 32
_UNTOUCHED = 0xA5

STAGES = (
    "issued",
    "wait_issue",
    "wait_result",
    "wait_input",
    "wait_output",
    "wait_strip",
    "wait_hazard",
    "wait_memory",
    "wait_unit",
)
"""Counters of the vector unit of which one counts in each cycle (docs/varve/unit.md 8.3)."""

Values = NDArray[np.generic]


class VarveBenchError(AssasinError):
    """Something that is measured with is not there, or a result is wrong; the message says which, and what to do."""


@dataclass(frozen=True)
class Row:
    """A value beside the dissertation's (docs/varve/bench.md 1.1)."""

    figure: str
    workload: str
    form: str
    metric: str
    ours: float | None
    paper: float | None
    unit: str
    config: str = CONFIG
    low: float | None = None
    high: float | None = None
    plotted: bool = False
    why: str | None = None
    """Why there is none of ours."""


@dataclass(frozen=True)
class Measured:
    """What a workload takes in a program, without the start and the end of a call."""

    program: str
    cycles: int
    instructions: int
    overhead: int
    """Cycles of the start and the end."""
    counts: dict[str, int] = field(default_factory=dict)
    """Of varve_counters.NAMES; empty for a program that does not use the vector unit."""


def there(path: Path) -> None:
    """Raises VarveBenchError where a file is not built."""
    if not path.exists():
        build = BUILDS[path if path in BUILDS else path.parent]
        raise VarveBenchError(f"{path.relative_to(ROOT)} is not there: build it with {build}")


def missing(tile: Path) -> str | None:
    """Why nothing is measured on a tile that no run needs, where it is not built."""
    if tile.exists():
        return None
    return f"{tile.relative_to(ROOT)} is not there: build it with hw/cosim/kernel-tile {tile.parent.name}"


def build(tile: Path) -> None:
    """Builds a tile unless it is up to date, in up to an hour. Raises VarveBenchError."""
    done = programs.run([ROOT / "hw" / "cosim" / "kernel-tile", tile.parent.name], capture_output=True, text=True)
    if done.returncode:
        raise VarveBenchError(f"hw/cosim/kernel-tile {tile.parent.name}: {done.stderr.strip()[-600:]}")


def room(size: int) -> int:
    """Bytes that an area of so many takes, with at least 8 behind it."""
    return (size + 8 + _ALIGN - 1) // _ALIGN * _ALIGN


def padded(values: Values) -> bytes:
    """An output with what must be behind it, in words."""
    data = values.tobytes()
    return data + bytes([_UNTOUCHED]) * (8 + -len(data) % 4)


class Script:
    """Lines for kernel_tile: what lies in the scratchpad, a run, and what to read behind it."""

    def __init__(self) -> None:
        self.at = DATA
        self.warm = False
        """Whether a tile with caches has the data in L2 at the start; else it has them in DRAM alone."""
        self._loads: list[str] = []
        self._reads: list[str] = []

    def input(self, values: Values) -> int:
        """Places values; the address."""
        return self._place(values.tobytes(), room(values.nbytes))

    def output(self, values: Values, most: int) -> int:
        """Makes room for `most` bytes where these are to be; the address. What is behind them must stay as it is."""
        size = len(padded(values))
        at = self._place(bytes([_UNTOUCHED] * size), room(most))
        self.read(at, size)
        return at

    def arguments(self, words: Sequence[int]) -> None:
        """Words of the piece's arguments."""
        self._load(ARGS, struct.pack(f"<{len(words)}I", *words))

    def read(self, address: int, size: int) -> None:
        """Has a place read; answers come in the order of these calls, behind that of the run."""
        self._reads.append(f"read {address} {size}\n")

    def text(self) -> str:
        """The lines."""
        if self.at > END:
            raise ValueError("the data do not fit the scratchpad")
        return "".join([*self._loads, f"run {LIMIT}{' warm' if self.warm else ''}\n", *self._reads])

    @property
    def answers(self) -> int:
        """How many there will be."""
        return 1 + len(self._reads)

    def _place(self, data: bytes, size: int) -> int:
        at = self.at
        self._load(at, data)
        self.at += size
        return at

    def _load(self, at: int, data: bytes) -> None:
        if data:
            self._loads.append(f"load {at} {data.hex()}\n")


def answers(elf: Path, what: str, scripts: Sequence[Script], tile: Path | None = None) -> list[list[dict[str, Any]]]:
    """Those of each script, run one behind the other on a tile, default TILE. Raises VarveBenchError."""
    tile = tile or TILE
    there(tile)
    there(elf)
    with tempfile.TemporaryFile("w+") as commands:
        for script in scripts:
            commands.write(script.text())
        commands.seek(0)
        done = programs.run([tile, elf], stdin=commands, capture_output=True, text=True)
    if done.returncode:
        raise VarveBenchError(f"{what}: {done.stderr.strip()[-600:] or f'kernel_tile ends with {done.returncode}'}")
    found = iter([json.loads(line) for line in done.stdout.splitlines()])
    return [[next(found) for _ in range(script.answers)] for script in scripts]


def ended(run: dict[str, Any], what: str) -> None:
    """Raises VarveBenchError for a call that does not end well."""
    if (run["state"], run["code"]) != (contract.CORE_STATE_EXITED, 0):
        raise VarveBenchError(f"{what} does not end well: state {run['state']}, code {run['code']}, pc {run['pc']:#x}")


@dataclass(frozen=True)
class Taken:
    """What a call takes."""

    cycles: int
    instructions: int
    counts: dict[str, int]
    """As of Measured."""


def taken(run: dict[str, Any], what: str) -> Taken:
    """
    From an answer of kernel_tile. Raises VarveBenchError where the unit's counters do not add up to the cycles of the run.
    """
    counts = run.get("counters", {})
    if any(counts.values()):
        total = sum(counts[name] for name in STAGES)
        if total != run["running"]:
            raise VarveBenchError(f"{what}: the unit's counters add up to {total} cycles, the tile has run for {run['running']}")
    return Taken(run["cycles"], run["instructions"], counts if counts.get("issued") else {})


def beyond(program: str, few: Taken, many: Taken) -> Measured:
    """What a whole takes from what its first half and itself do."""
    cycles = 2 * (many.cycles - few.cycles)
    counts = {name: 2 * (n - few.counts.get(name, 0)) for name, n in many.counts.items()}
    return Measured(program, cycles, 2 * (many.instructions - few.instructions), many.cycles - cycles, counts)
