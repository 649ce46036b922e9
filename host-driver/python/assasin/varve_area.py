# SPDX-License-Identifier: BSD-3-Clause
"""
Section 8.4.2 of `assasin bench varve`: what the alignment of elements takes by bits of a slot, and its period, by hw/synth's flow.

LUTs of UltraScale+ of two networks, each by itself: the sums that tell where elements begin, and the one that takes dead slots out,
of which the alignment has two. Periods are of logic without wires. Only ratios mean something.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from assasin.synth import SynthError, cache, clock, polite, resources, units
from assasin.synth.rtl import Rtl
from assasin.tree import BUILD, ROOT
from assasin.varve_analytic import ALIGNMENTS
from assasin.varve_stated import AREA
from assasin.varve_tile import Row, VarveBenchError

FIGURE = "8.4.2"
FAMILY = "xcup"
NETWORKS = {"prefix_sum": "SlotPrefix", "multiplexers": "Squeeze"}
"""By the name in metrics: modules."""
PERIODS = {"eau": ("ElementSizes", "AlignUnit", "WidthUnit"), "adder": ("SlotAdder",)}
"""By workload: modules whose periods, the longest of them, are compared with that of what adds in the unit of fixed width: sizes of
elements, their alignment, and widths of results."""
CONFIG = "yosys, VLEN 256"


def _sources() -> list[Path]:
    hw = ROOT / "hw"
    tests = hw / "src" / "test" / "scala" / "assasin" / "vector"
    return [
        hw / "build.sbt",
        *sorted((hw / "src" / "main" / "scala" / "assasin" / "vector").glob("*.scala")),
        *(tests / f"{name}.scala" for name in ("EmitSlots", "SlotPrefix")),
    ]


def _emitted(tell: Callable[[str], None]) -> Path:
    """The folder of the networks' Verilog, emitted once for each state of the sources."""
    target = cache.folder() / "rtl" / cache.digest("slots", *(path.read_text(encoding="utf-8") for path in _sources()))
    if target.exists():
        return target
    if shutil.which("sbt") is None:
        raise SynthError("sbt is missing: run scripts/setup, then `. scripts/env.sh`")
    tell("emitting the networks of slots")
    log = BUILD / "synth" / "slots.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work, open(log, "w", encoding="utf-8") as out:
        polite.run([ROOT / "scripts" / "contract"], log=out)
        made = Path(work) / "slots"
        done = polite.run(["sbt", f"Test/runMain assasin.vector.EmitSlots {made}"], ROOT / "hw", out)
        if done.returncode:
            raise SynthError(f"the generator does not emit the networks of slots; its log is {log}")
        os.replace(made, target)
    return target


def ratio(luts: dict[tuple[str, int], int], name: str) -> float:
    """LUTs of a network with slots of 1 bit over those with slots of 8; luts: by network and bits of a slot."""
    return luts[name, 1] / luts[name, 8]


def _row(workload: str, metric: str, ours: float, unit: str) -> Row:
    stated = AREA.get((workload, metric))
    return Row(
        FIGURE, workload, "full", metric, ours, stated.value if stated else None, unit, CONFIG, high=stated.high if stated else None
    )


def unmeasured() -> Iterator[Row]:
    """Rows of a run that does not name the figure."""
    why = f"yosys takes minutes for it: name it, --figure {FIGURE}"
    for (workload, metric), stated in AREA.items():
        yield Row(FIGURE, workload, "full", metric, None, stated.value, "1", CONFIG, high=stated.high, why=why)


def run(tell: Callable[[str], None]) -> Iterator[Row]:
    """Synthesises what has not been before. Raises VarveBenchError."""
    try:
        yield from _run(tell)
    except SynthError as error:
        raise VarveBenchError(f"{FIGURE}: {error}") from error


def _run(tell: Callable[[str], None]) -> Iterator[Row]:
    folder = _emitted(tell)
    luts: dict[tuple[str, int], int] = {}
    for align in ALIGNMENTS:
        for name, module in NETWORKS.items():
            tell(f"{module}, slots of {align} bits")
            made = units.netlist(Rtl(folder / f"a{align}", module), module, FAMILY, tell)
            luts[name, align] = resources.of_cells(made.cells).lut
            yield _row(f"eau/a{align}", f"{name}_luts", luts[name, align], f"LUTs of {module}")
    for name, module in NETWORKS.items():
        yield _row("eau", f"{name}_area_a1_over_a8", ratio(luts, name), f"LUTs of {module} over LUTs")
    for workload, modules in PERIODS.items():
        over = clock.period_over_fixed_width_unit(Rtl(folder / "a8", modules[0]), modules, say=tell)
        slowest = max(over, key=lambda module: over[module])
        yield _row(
            workload, "period_over_fixed_width_unit", over[slowest], f"period of {slowest} over that of {clock.FIXED_WIDTH_UNIT}"
        )
