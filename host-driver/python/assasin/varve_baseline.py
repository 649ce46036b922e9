# SPDX-License-Identifier: BSD-3-Clause
"""
Figure 9.2 of `assasin bench varve`: workloads in scalar code on the RTL of Baseline's tile, and what VarVE-full is over that.

The tile has L1 of 32 KiB with 8 ways, L2 of 256 KiB with 16 and a DRAM of 60 cycles that nobody else uses. A call begins with its
data in DRAM and with empty caches, as pieces of the drive do; `/warm` with the data in L2. Bytes a cycle of eight cores are derived
from the cycles of one tile: eight tiles share nothing but the crossbar, which gives and takes 8 bytes a cycle and tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assasin import varve_filters, varve_mnist, varve_train, varve_workloads
from assasin.varve_data import Window
from assasin.varve_filters import GROWING, mean
from assasin.varve_mnist import BASELINE as PROGRAMS
from assasin.varve_stated import SUMMARY, Stated
from assasin.varve_tile import BASELINE_TILE, FULL_CONFIG, Measured, Row

FIGURE, TOGETHER = "9.2", "10.1"
CONFIG = "tile of Baseline"
CORES, PORT = 8, 8
"""Cores of the machine, and bytes a cycle of a tile's crossbar port each way."""
WORKLOADS = ("bitpack5", "bitpack15", "raid5-encode")
CHANNELS = 8.0
"""Bytes a cycle that the dissertation lets the flash give to all cores, p.92."""

Found = Mapping[tuple[str, str, str], float]
"""By workload, form and metric, what the same run found on the tiles with a scratchpad."""


@dataclass(frozen=True)
class Call:
    """What a workload takes on Baseline, and the bytes of its inputs and outputs."""

    name: str
    rows: int
    taken: Measured
    bytes_in: int
    bytes_out: int


def _best(of: Sequence[Measured]) -> Measured:
    return min(of, key=lambda m: m.cycles)


def _filters(names: Sequence[str], quick: bool, seed: int, tell: Callable[[str], None]) -> Iterator[Call]:
    described = varve_filters.description()
    for f in described["filters"]:
        if f["name"] not in names:
            continue
        n = varve_filters.rows_of(f, described["columns"], quick)
        window = Window(f["table"], n, seed)
        half, whole = (varve_filters.call(f, described["columns"], window, k) for k in (n // 2, n))
        tell(f"{f['name']} on Baseline, {n} rows")
        taken = _best([varve_filters.measure(p, half, whole, BASELINE_TILE) for p in PROGRAMS])
        yield Call(f["name"], n, taken, sum(v.nbytes for v in whole.inputs), sum(v.nbytes for v in whole.outputs))


def _workloads(quick: bool, seed: int, tell: Callable[[str], None]) -> Iterator[Call]:
    for w in varve_workloads.ALL:
        if w.name not in WORKLOADS:
            continue
        n = varve_workloads.rows_measured(w, quick)
        tell(f"{w.name} on Baseline, {n} rows")
        taken = _best([varve_workloads.measure(w, p, n, seed, tile=BASELINE_TILE) for p in PROGRAMS])
        inputs, output = w.data(n, seed)
        yield Call(w.name, n, taken, sum(v.nbytes for v in inputs), output.nbytes)


def _network(warm: bool, quick: bool, tell: Callable[[str], None]) -> Measured:
    """The network that is not pruned, whole calls; each layer by the faster program."""
    name = varve_train.VARIANTS[0]
    network, image = varve_train.committed().networks[name], varve_train.images().pixels[varve_mnist.IMAGE]
    groups = 1 if quick else varve_mnist.GROUPS
    tell(f"{name} on Baseline{', with the data in L2' if warm else ''}")
    of = {p: varve_mnist.layers(name, network, p, image, groups, BASELINE_TILE, warm) for p in PROGRAMS}
    layers = varve_mnist.best(of, PROGRAMS)
    program = f"convolution {layers[0].name}, dense layer {layers[1].name}"
    return Measured(program, sum(t.cycles for t in layers), sum(t.instructions for t in layers), 0)


def bytes_per_cycle(bytes_in: int, bytes_out: int, cycles: float) -> float:
    """Of the inputs, by eight tiles whose crossbar ports give and take PORT bytes a cycle."""
    return CORES * bytes_in / max(cycles, bytes_in / PORT, bytes_out / PORT)


def run(
    measured: Found,
    filters: Sequence[str],
    quick: bool,
    seed: int,
    tell: Callable[[str], None],
    on_board: Mapping[str, float] | None = None,
) -> Iterator[Row]:
    """
    Measures on Baseline what `measured` has of VarVE-full. Raises VarveBenchError.

    filters: those that grow. on_board: bytes a cycle that workloads have on a board of eight cores with its flash.
    """
    over: dict[tuple[str, str], float] = {}

    def row(name: str, form: str, metric: str, ours: float | None, unit: str, why: str | None = None) -> Row:
        return Row(FIGURE, name, form, metric, ours, None, unit, CONFIG if form == "baseline" else FULL_CONFIG, why=why)

    def ratios(name: str, workload: str, cycles: float, scalar: str) -> Iterator[Row]:
        """Of full, and of scalar code on a scratchpad; scalar: the workload of scalar code."""
        for form, of in (("scalar", scalar), ("full", workload)):
            theirs = measured.get((of, form, "cycles"))
            if theirs is not None:
                over[name, form] = cycles / theirs
                yield row(name, form, "speedup_over_baseline", cycles / theirs, "1")

    for c in (*_filters(filters, quick, seed, tell), *_workloads(quick, seed, tell)):
        m = c.taken
        yield row(c.name, "baseline", "cycles", m.cycles, f"cycles, {m.program}")
        yield row(c.name, "baseline", "instructions", m.instructions, f"instructions, {m.program}")
        yield row(c.name, "baseline", "rows", c.rows, "rows")
        yield row(c.name, "baseline", "cycles_per_row", m.cycles / c.rows, "cycles")
        yield from ratios(c.name, c.name, m.cycles, c.name)
        cycles = measured.get((c.name, "full", "cycles"))
        if cycles is not None:
            unit = "bytes of the inputs, flash infinite; derived from one tile's cycles, data in the scratchpad, and 8 bytes a port"
            rate = bytes_per_cycle(c.bytes_in, c.bytes_out, cycles)
            yield row(c.name, "full", "bytes_per_cycle_8_cores", rate, unit)
            unit = f"that, or {CHANNELS:g} bytes a cycle of flash where they are less; derived, not run on a board with its flash"
            capped = min(rate, CHANNELS)
            if on_board and c.name in on_board:
                unit, capped = "bytes of the inputs, on a virtual board with its flash", on_board[c.name]
            yield row(f"{c.name}/flash", "full", "bytes_per_cycle_8_cores", capped, unit)
    for warm in (False, True):
        m = _network(warm, quick, tell)
        end = "/warm" if warm else ""
        yield row(f"mnist{end}", "baseline", "cycles", m.cycles, f"cycles, {m.program}")
        yield row(f"mnist{end}", "baseline", "instructions", m.instructions, f"instructions, {m.program}")
        for name in varve_train.VARIANTS:
            # Over the network that is not pruned, as figure 8.14.
            yield from ratios(f"{name}{end}", name, m.cycles, varve_train.VARIANTS[0])
    yield from summary(over, filters)


def summary(over: Mapping[tuple[str, str], float], filters: Sequence[str]) -> Iterator[Row]:
    """Geometric means of the set of varve_summary.py; over: speed-ups by workload and form."""
    for form, figure in (("full", FIGURE), ("scalar", TOGETHER)):
        config = FULL_CONFIG if form == "full" else "tile with a scratchpad"
        missing = f"{len(filters)} of the {GROWING} filters were measured" if len(filters) != GROWING else None
        alone = [over[f, form] for f in filters if (f, form) in over]
        why = missing or (None if len(alone) == GROWING else f"{len(alone)} of the {GROWING} filters were measured")
        for metric, of in (("", mean), ("least_", min), ("greatest_", max)):
            ours = None if why else float(of(alone))
            unit = "1; the filters alone"
            yield Row(figure, "filters", form, f"{metric}speedup_over_baseline", ours, None, unit, config, why=why)
        for name, end in (("geomean", ""), ("geomean-all", ""), ("geomean/warm", "/warm"), ("geomean-all/warm", "/warm")):
            own = [(w, form) for w in WORKLOADS] + [(f"{w}{end}", form) for w in varve_train.VARIANTS]
            each = [(f, form) for f in filters]
            absent = [w for w, _ in own + each if (w, form) not in over]
            why = missing or (f"not measured in this run: {', '.join(absent)}" if absent else None)
            ours = None
            if why is None:
                of_filters = [over[key] for key in each]
                members = [over[key] for key in own]
                ours = mean([*members, *(of_filters if name.startswith("geomean-all") else [mean(of_filters)])])
            stated = SUMMARY.get((figure, name, "speedup_over_baseline"), Stated())
            unit = "1; the data in the scratchpad against DRAM behind caches" + (", of mnist L2" if end else "")
            yield Row(figure, name, form, "speedup_over_baseline", ours, stated.value, unit, config, why=why)
