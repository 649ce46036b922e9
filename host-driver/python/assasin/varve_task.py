# SPDX-License-Identifier: BSD-3-Clause
"""Functions of VarVE-full over columns in the stream buffers, as a drive runs them, and what they must store."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assasin import varve_filters, varve_workloads
from assasin.varve_data import Window
from assasin.varve_tile import FILTERS, WORKLOADS, Values, VarveBenchError

_TO_END, _BUFFER = 0xFFFFFFFF, 0x400
PROGRAMS = {"bitpack5": 0, "bitpack15": 1, "raid5-encode": 2}
"""Workloads beside the filters: their kernels of full-buffers.elf."""


@dataclass(frozen=True)
class Task:
    """A function over columns: its program, its arguments, what it reads, and its outputs for rows from one to another."""

    name: str
    program: Path
    args: bytes
    columns: dict[str, Values]
    outputs: Callable[[int, int], list[bytes]]
    streams_out: int


def filter_task(name: str, rows: int, seed: int) -> Task:
    """A filter of TPC-H."""
    described = varve_filters.description()
    f = next(f for f in described["filters"] if f["name"] == name)
    kinds, window = described["columns"], Window(f["table"], rows, seed)
    chosen = varve_filters.selected(f, window)
    columns = {c: varve_filters.stored(c, kinds, window) for c in dict.fromkeys([*f["inputs"], *f["outputs"]])}
    words = [f["number"], _TO_END, 0, 0]
    for c in [*f["inputs"], *f["outputs"]]:
        words += [0, 0, kinds[c]["pad"], _BUFFER]

    def outputs(first: int, end: int) -> list[bytes]:
        return [columns[c][first:end][chosen[first:end]].tobytes() for c in f["outputs"]]

    inputs = {c: columns[c] for c in f["inputs"]}
    return Task(name, FILTERS / "full.elf", struct.pack(f"<{len(words)}I", *words), inputs, outputs, len(f["outputs"]))


def workload_task(name: str, rows: int, seed: int) -> Task:
    """Bitpacking or RAID5."""
    w = next(w for w in varve_workloads.ALL if w.name == name)
    inputs, output = w.data(rows, seed)
    data = output.tobytes()

    def outputs(first: int, end: int) -> list[bytes]:
        return [data[len(data) * first // rows : len(data) * end // rows]]

    args = struct.pack("<9I", PROGRAMS[name], 0, *[0] * 7)
    columns = {f"{name}.{k}": values for k, values in enumerate(inputs)}
    return Task(name, WORKLOADS / "full-buffers.elf", args, columns, outputs, 1)


def check(task: Task, first: int, end: int, outputs: Sequence[bytes], what: str) -> None:
    """Raises VarveBenchError where outputs over rows from one to another are not numpy's; what: where they are from."""
    for k, (found, wanted) in enumerate(zip(outputs, task.outputs(first, end), strict=True)):
        if found != wanted:
            raise VarveBenchError(f"{task.name} {what}: output {k} of rows {first} to {end} is not numpy's: the result is wrong")


def task(name: str, rows: int, seed: int) -> Task:
    """A filter or one of PROGRAMS over so many rows."""
    return workload_task(name, rows, seed) if name in PROGRAMS else filter_task(name, rows, seed)
