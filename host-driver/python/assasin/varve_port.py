# SPDX-License-Identifier: BSD-3-Clause
"""
Figure 9.2 of `assasin bench varve` with the flash taken as infinite: VarVE-full on one tile whose inputs come through its port of
the crossbar, 8 bytes a cycle, and whose outputs leave by it (hw/cosim/stream_tile.cpp). Eight tiles share nothing but the crossbar.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from assasin import programs, varve_counters
from assasin.varve_filters import GROWING, mean
from assasin.varve_task import PROGRAMS, Task, check, task
from assasin.varve_tile import FULL_TILE, Row, VarveBenchError, beyond, missing, taken

FIGURE, NAME = "9.2", "port"
"""Of its rows; what asks for it alone."""
TILE = FULL_TILE.with_name("stream_tile")
CONFIG = "tile of AssasinVf, fed through its port of 8 bytes a cycle"
CORES = 8
ROWS, QUICK_ROWS = 16384, 4096


def call(of: Task, rows: int, delay: int = 0) -> dict[str, Any]:
    """
    The answer of stream_tile for the task's first rows; nothing arrives in the first `delay` cycles. Raises VarveBenchError, also
    for a wrong result.
    """
    with tempfile.TemporaryDirectory() as folder:
        inputs = [Path(folder) / str(k) for k in range(len(of.columns))]
        for path, values in zip(inputs, of.columns.values(), strict=True):
            path.write_bytes(values[:rows].tobytes())
        command: list[str | Path] = [TILE, of.program, of.args.hex(), str(of.streams_out), str(delay), *inputs]
        done = programs.run(command, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip()[-600:] or f"stream_tile ends with {done.returncode}"
        raise VarveBenchError(f"{of.name} with its streams: {said}")
    found: dict[str, Any] = json.loads(done.stdout)
    check(of, 0, rows, [bytes.fromhex(output) for output in found["outputs"]], "through the port of a tile")
    return found


def run(names: Sequence[str], quick: bool, seed: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """Measures filters and workloads by name. Raises VarveBenchError."""
    why = missing(TILE)
    rates: list[float] = []
    rows = QUICK_ROWS if quick else ROWS
    for name in names:

        def row(metric: str, ours: float | None, unit: str, name: str = name) -> Row:
            return Row(FIGURE, f"{name}/port", "full", metric, ours, None, unit, CONFIG, why=why)

        if why:
            yield row("bytes_per_cycle_8_cores", None, "B/cycle")
            continue
        tell(f"{name} through the port, {rows} rows")
        of = task(name, rows, seed)
        given = [call(of, n) for n in (rows // 2, rows)]
        few, many = (taken(one | {"cycles": one["running"], "instructions": 0}, name) for one in given)
        m = beyond("full", few, many)
        bytes_in = 2 * (given[1]["bytes_in"] - given[0]["bytes_in"])
        yield row("cycles", m.cycles, f"cycles, {rows} rows")
        rate = CORES * bytes_in / m.cycles
        rates += [] if name in PROGRAMS else [rate]
        yield row("bytes_per_cycle_8_cores", rate, "B/cycle of the inputs, flash infinite, 8 times one tile's")
        yield from varve_counters.rows(FIGURE, f"{name}/port", "full", m.counts, m.program, CONFIG)
    if len(rates) == GROWING:
        for metric, ours in (("", mean(rates)), ("least_", min(rates))):
            unit = "B/cycle of the inputs; the filters alone"
            yield Row(FIGURE, "filters/port", "full", f"{metric}bytes_per_cycle_8_cores", ours, None, unit, CONFIG)
