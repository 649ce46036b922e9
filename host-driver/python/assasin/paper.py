# SPDX-License-Identifier: BSD-3-Clause
"""
`assasin bench paper`: the figures of the ASSASIN paper's evaluation from the RTL, one virtual board for each memory architecture.

Every configuration gets the same input, written through NVMe; every result is checked against a computation on the host.
Throughput is input bytes a cycle from the first page that a core gets to the stop of the last core: the paper's tables are
gigabytes long, so the first array read does not show there. Speed-ups compare cycles at equal clock.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

from assasin import offloads, perf, programs, terminal, tpch_scans
from assasin import paper_workloads as workloads
from assasin.analytics import text_pieces
from assasin.bench import random_data
from assasin.board import Board
from assasin.drive import Drive
from assasin.functions import Table
from assasin.job import Extent, Input, Job, Piece, enough_kcycles
from assasin.offloads import OffloadError
from assasin.paper_stated import stated
from assasin.paper_workloads import Workload
from assasin.tree import BENCH_FOLDER, ROOT, commit

FIGURES = ("fig5", "fig13", "fig14", "fig16", "fig17", "fig18", "fig19", "dram")
"""The paper's numbers; `dram`: DRAM bytes a flash byte, which the paper describes in words."""

SKEWS = (0.0, 0.25, 0.5, 0.75, 1.0)
RANDOM_LBA = 0


@dataclass(frozen=True)
class Row:
    """One figure of the bench beside the paper's. `ours` is None where this project has no such configuration."""

    figure: str
    config: str
    workload: str
    metric: str
    ours: float | None
    paper: float | None
    unit: str


@dataclass(frozen=True)
class Measurement:
    """One job."""

    config: str
    workload: str
    rate: float
    """Bytes a cycle from the first page on."""
    cycles: perf.Cycles
    window: perf.Window
    pieces: list[Piece] = field(repr=False)


def architecture(config: str) -> str:
    """`AssasinSb` of `AssasinSb8x8`."""
    return re.sub(r"\d+x\d+$", "", config)


class Pages:
    """Pages that the bench wrote, and where."""

    def __init__(self, lba: int, data: bytes, page: int) -> None:
        self.lba, self.data, self.page = lba, data, page

    def __len__(self) -> int:
        return len(self.data) // self.page

    def bytes_of(self, numbers: Sequence[int]) -> bytes:
        """The bytes of these pages."""
        return b"".join(self.data[n * self.page : (n + 1) * self.page] for n in numbers)

    def input(self, numbers: Sequence[int]) -> Input:
        """A stream of these pages."""
        extents: list[Extent] = []
        for n in numbers:
            lba = self.lba + n
            if extents and extents[-1].lba + extents[-1].count == lba:
                extents[-1] = Extent(extents[-1].lba, extents[-1].count + 1)
            else:
                extents.append(Extent(lba, 1))
        return Input(extents, len(numbers) * self.page)


class Machine:
    """A drive under test with the bench's data in it."""

    def __init__(self, drive: Drive, config: str, quick: bool, say: Callable[[str], None]) -> None:
        self.drive, self.config, self.quick, self.say = drive, config, quick, say
        self.page = drive.info.block_bytes
        self._next_lba = 0
        self._tables: dict[object, Pages] = {}

    def size(self, w: Workload) -> int:
        """Input bytes of a workload here."""
        return w.quick_size if self.quick else w.size

    def pages(self, w: Workload, length: int) -> Pages:
        """At least `length` bytes of the workload's kind of input, written when they are not there yet."""
        have = self._tables.get(w.shape)
        if have is None or len(have.data) < length:
            length = max(length, *(self.size(other) for other in workloads.ALL if other.shape is w.shape))
            self.say(f"{self.config}: writing {terminal.human_bytes(length)}")
            have = self.write(w.shape(random_data(length)))
            self._tables[w.shape] = have
        return have

    def write(self, data: bytes) -> Pages:
        """Writes whole pages behind everything else."""
        lba = self._next_lba
        self._next_lba += self.drive.write(lba, data)
        return Pages(lba, data, self.page)

    def run(
        self, w: Workload, streams: Sequence[Sequence[Sequence[int]]], pages: Pages, channel_local: bool = False
    ) -> Measurement:
        """
        Runs a workload on the streams of every piece, each a list of page numbers, one core a piece, and checks its result. With
        `channel_local` every piece names all the pages and is given those of its own channel; `streams` says which these are.
        """
        self.say(f"{self.config}: {w.name}")
        inputs = [[pages.input(s) for s in piece] for piece in streams]
        if channel_local:
            everything = [sorted(n for piece in streams for n in piece[i]) for i in range(w.streams_in)]
            inputs = [[pages.input(s) for s in everything] for _ in streams]
        with self.drive.function(offloads.load(self.drive, w.offload)) as loaded:
            job = Job(
                loaded,
                inputs,
                streams_out=w.streams_out,
                args=w.args,
                max_cores=len(streams),
                channel_local=channel_local,
                watchdog_kcycles=enough_kcycles(inputs),
            )
            if not channel_local:
                self.load_cores(job)
            before = self.drive.perf()
            pieces = offloads.check(w.name, self.drive.run_job(job))
            window = perf.window(before, self.drive.perf())
        if not w.correct([[pages.bytes_of(s) for s in piece] for piece in streams], pieces):
            raise OffloadError(f"{w.name} on {self.config} returned a wrong result")
        return Measurement(self.config, w.name, perf.stream_rate(pieces), perf.decompose(pieces), window, pieces)

    def load_cores(self, job: Job) -> None:
        """
        Runs the job on the first page of its streams, whatever comes of it, so that its cores hold the function.

        Before the drive loads another function into a core it clears the core's memories, with caches 1 MiB of DRAM a core: the
        paper measures functions that are loaded.
        """
        first = [[Input([Extent(s.extents[0].lba, 1)], min(s.bytes, self.page)) for s in piece] for piece in job.inputs]
        self.drive.run_job(replace(job, inputs=first))

    def measure(self, w: Workload, cores: int = 0, length: int = 0) -> Measurement:
        """
        Runs a workload over `length` bytes (0 = its size) on `cores` cores (0 = all). Several streams are tables one behind the
        other, which begin on different channels, as tables do that were written at different times.
        """
        length = length or self.size(w)
        cores = cores or self.drive.info.cores
        a_stream = length // self.page // w.streams_in
        apart = a_stream + max(1, self.drive.info.channels // w.streams_in) * (w.streams_in > 1)
        pages = self.pages(w, (apart * (w.streams_in - 1) + a_stream) * self.page)
        starts = [a_stream * i // cores for i in range(cores + 1)]
        streams = [[list(range(i * apart + a, i * apart + b)) for i in range(w.streams_in)] for a, b in pairwise(starts) if b > a]
        return self.run(w, streams, pages)


# ---- the figures, a function each: measurements on one machine in, rows out ----


def filter_cycles(m: Machine) -> Iterator[Row]:
    """Figure 5: one core, Filter, Baseline."""
    got = m.measure(workloads.FILTER, cores=1, length=m.size(workloads.FILTER) // 4)
    yield _row("fig5", m.config, "filter", "bytes_per_cycle", got.rate, "B/cycle")
    for name, share in asdict(got.cycles).items():
        yield _row("fig5", m.config, "filter", f"share_{name}", share, "1")


def functions(m: Machine, figures: Sequence[str]) -> Iterator[Row]:
    """Figure 13 and DRAM traffic: the standalone functions on all cores."""
    for w in workloads.FUNCTIONS:
        got = m.measure(w)
        if "fig13" in figures:
            yield _row("fig13", m.config, w.name, "bytes_per_cycle", got.rate, "B/cycle")
            for name, share in asdict(got.cycles).items():
                yield _row("fig13", m.config, w.name, f"share_{name}", share, "1")
        if "dram" in figures:
            yield _row("dram", m.config, w.name, "dram_bytes_per_flash_byte", got.window.dram_per_flash, "B/B")


def pipelines(m: Machine) -> Iterator[Row]:
    """Figure 14: Parse-Select-Filter over the largest table of every query of TPC-H, with its predicate."""
    texts = workloads.TpchText(24 * 1024 if m.quick else 256 * 1024)
    written: dict[str, Table] = {}
    for query in workloads.QUICK_QUERIES if m.quick else tpch_scans.QUERIES:
        scan = workloads.largest_scan(query)
        m.say(f"{m.config}: PSF of query {query}")
        if scan.table not in written:
            text = texts.text(scan.table)
            pages = m.write(text + bytes(-len(text) % m.page))
            written[scan.table] = Table([Extent(pages.lba, len(pages))], len(text))
        table = written[scan.table]
        inputs, own = text_pieces(m.drive, table)
        args = tpch_scans.encode(scan, own)
        with m.drive.function(offloads.load(m.drive, "psf")) as loaded:
            streams = [[i] for i in inputs]
            job = Job(loaded, streams, args=args, watchdog_kcycles=enough_kcycles(streams))
            m.load_cores(job)
            before = m.drive.perf()
            pieces = offloads.check("psf", m.drive.run_job(job))
            window = perf.window(before, m.drive.perf())
        if not texts.correct(scan, pieces):
            raise OffloadError(f"PSF of query {query} on {m.config} returned wrong rows")
        name = f"Q{query} {scan.table}"
        # The overlap between pieces is read twice but counts once.
        rate = perf.stream_rate(pieces) * table.bytes / sum(p.report.bytes_in for p in pieces)
        yield _row("fig14", m.config, name, "bytes_per_cycle", rate, "B/cycle")
        yield _row("fig14", m.config, name, "share_memory", perf.decompose(pieces).memory, "1")
        yield _row("fig14", m.config, name, "dram_bytes_per_flash_byte", window.dram_per_flash, "B/B")


def scaling(m: Machine) -> Iterator[Row]:
    """Figures 16, 17 and 18: scan on 1 core to all of them, and what each channel carried for all of them."""
    cores, got = 1, None
    while cores <= m.drive.info.cores:
        got = m.measure(workloads.SCAN, cores, m.size(workloads.SCAN) * cores // m.drive.info.cores)
        name = f"scan x {cores}"
        yield _row("fig16", m.config, name, "bytes_per_cycle", got.rate, "B/cycle")
        utilisation = 1 - got.cycles.input - got.cycles.output
        yield _row("fig17", m.config, name, "utilisation", utilisation, "1")
        # What `cores` cores would do at most if their input were always there, and what the channels can give them.
        ideal = min(1.0, got.window.bus_limit / (cores * perf.unstalled_rate(got.pieces)))
        yield _row("fig17", m.config, name, "normalised_utilisation", utilisation / ideal, "1")
        cores *= 2
    assert got is not None
    total = sum(got.window.data_bytes)
    for c, carried in enumerate(got.window.data_bytes):
        yield _row("fig18", m.config, f"channel {c}", "share_of_load", carried / total, "1")


def skewed_counts(skew: float, pages: int, channels: int) -> list[int]:
    """
    Pages on each channel for a skew of the paper's definition, normalised so that 0 is an even layout and 1 has all on one channel:
    (max / average - 1) / (channels - 1).
    """
    most = round(pages / channels * (1 + skew * (channels - 1)))
    rest = pages - most
    return [most] + [(rest + i) // (channels - 1) for i in range(channels - 1)] if channels > 1 else [pages]


def skew(m: Machine) -> Iterator[Row]:
    """Figure 19: the same amount of data spread ever more unevenly over the channels."""
    channel_local = architecture(m.config) == "ChannelLocal"
    channels, cores = m.drive.info.channels, m.drive.info.cores
    skews = (0.0, 1.0) if m.quick else SKEWS
    for w, length in workloads.SKEWED:
        even = 0.0
        count = max(length // (8 if m.quick else 1) // m.page // w.streams_in // channels, 1) * channels
        pages = m.pages(w, count * w.streams_in * m.page * channels)
        on_channel = _by_channel(m, pages)
        for s in skews:
            counts = skewed_counts(s, count, channels)
            chosen = [[on_channel[c][i * counts[c] : (i + 1) * counts[c]] for c in range(channels)] for i in range(w.streams_in)]
            if channel_local:
                streams = [[chosen[i][c] for i in range(w.streams_in)] for c in range(channels)]
            else:
                mixed = [_interleave(of_channel) for of_channel in chosen]
                streams = [[stream[k::cores] for stream in mixed] for k in range(cores)]
                streams = [piece for piece in streams if piece[0]]
            got = m.run(w, streams, pages, channel_local)
            _check_channels(m, w, got, counts)
            even = even or got.rate
            name = f"{w.name} at skew {s:g}"
            yield _row("fig19", m.config, name, "bytes_per_cycle", got.rate, "B/cycle")
            yield _row("fig19", m.config, name, "normalised_throughput", got.rate / even, "1")


def _by_channel(m: Machine, pages: Pages) -> list[list[int]]:
    """The pages of each channel. The drive fills channel after channel in the order of writing; the first one is asked for."""
    before = m.drive.perf()
    m.drive.read(pages.lba, m.page)
    first = perf.window(before, m.drive.perf()).data_bytes
    offset = max(range(len(first)), key=first.__getitem__)
    n = m.drive.info.channels
    return [list(range((c - offset) % n, len(pages), n)) for c in range(n)]


def _check_channels(m: Machine, w: Workload, got: Measurement, counts: Sequence[int]) -> None:
    """The channels' own counters must show the layout that was asked for."""
    expected = [c * w.streams_in * m.page for c in counts]
    if got.window.data_bytes != expected:
        raise OffloadError(f"{w.name} on {m.config}: the channels carried {got.window.data_bytes} bytes, the layout has {expected}")


def _interleave(lists: Sequence[Sequence[int]]) -> list[int]:
    """All elements, those of each list spread evenly."""
    return [n for _, n in sorted(((i + 0.5) / len(part), n) for part in lists for i, n in enumerate(part))]


def _row(figure: str, config: str, workload: str, metric: str, ours: float | None, unit: str) -> Row:
    return Row(figure, config, workload, metric, ours, _paper(figure, config, workload, metric), unit)


def _paper(figure: str, config: str, workload: str, metric: str) -> float | None:
    """The paper's machine has eight cores and channels: other sizes compare by ratios only."""
    absolute = metric == "bytes_per_cycle" and not config.endswith("8x8") and figure != "fig5"
    return None if absolute else stated(figure, architecture(config), workload, metric)


# ---- comparisons between configurations ----


def _geomean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))


RATIOS = (("Baseline", "speedup_over_baseline"), ("AssasinSp", "speedup_over_sp"), ("AssasinSb", "speedup_over_sb"))


def comparisons(rows: Sequence[Row]) -> list[Row]:
    """Speed-ups over Baseline, AssasinSp and AssasinSb (Figures 13 and 14), and what the crossbar gains (Figure 19)."""
    out: list[Row] = []
    rate = {(r.figure, architecture(r.config), r.workload): r.ours for r in rows if r.metric == "bytes_per_cycle" and r.ours}
    config = {architecture(r.config): r.config for r in rows}
    for base, metric in RATIOS:
        for arch in config:
            if arch == base or (base != "Baseline" and arch not in ("AssasinSb", "AssasinSbCache", "AssasinSbX")):
                continue
            for figure in ("fig13", "fig14"):
                names = [w for f, a, w in rate if f == figure and a == arch and (f, base, w) in rate]
                gains = [rate[figure, arch, w] / rate[figure, base, w] for w in names]
                if figure == "fig14" and gains:
                    out.append(_row(figure, config[arch], "psf", metric, _geomean(gains), "1"))
                for w, gain in zip(names, gains, strict=True):
                    out.append(_row(figure, config[arch], w, metric, gain, "1"))
    if any(f == "fig14" for f, _, _ in rate):
        out.append(
            Row("fig14", "UDP", "psf", "speedup_over_baseline", None, stated("fig14", "UDP", "psf", "speedup_over_baseline"), "1")
        )
    for f, a, w in rate:
        if f == "fig19" and a == "AssasinSb" and (f, "ChannelLocal", w) in rate:
            gain = rate[f, a, w] / rate[f, "ChannelLocal", w]
            out.append(_row(f, config[a], w, "crossbar_over_channel_local", gain, "1"))
    return out


# ---- the whole bench ----


def needed(config: str, figures: Sequence[str]) -> list[str]:
    """The figures for which a configuration is measured."""
    arch = architecture(config)
    wanted = {
        "fig5": arch == "Baseline",
        "fig13": arch != "ChannelLocal",
        "fig14": arch != "ChannelLocal",
        "fig16": arch == "AssasinSb",
        "fig17": arch == "AssasinSb",
        "fig18": arch == "AssasinSb",
        "fig19": arch in ("AssasinSb", "ChannelLocal"),
        "dram": arch != "ChannelLocal",
    }
    return [f for f in figures if wanted[f]]


@contextmanager
def _machine(config: str, profile: str, quick: bool, say: Callable[[str], None]) -> Iterator[Machine]:
    board = Board(f"paper-{config}")
    say(f"{config}: starting the board")
    # The drive of the paper has no parity: pages follow each other over the channels.
    board.start(config, profile, format=True, parity=False)
    try:
        with Drive(board.address) as drive:
            yield Machine(drive, config, quick, say)
    finally:
        board.stop()
        board.erase()


def measure_config(m: Machine, figures: Sequence[str]) -> list[Row]:
    """All rows of the configuration, for these figures."""
    rows: list[Row] = []
    if "fig5" in figures:
        rows += filter_cycles(m)
    if {"fig13", "dram"} & set(figures):
        rows += functions(m, figures)
    if "fig14" in figures:
        rows += pipelines(m)
    if {"fig16", "fig17", "fig18"} & set(figures):
        rows += [r for r in scaling(m) if r.figure in figures]
    if "fig19" in figures:
        rows += skew(m)
    return rows


def build(config: str) -> None:
    """Builds a configuration's board unless it is up to date. Raises OffloadError."""
    done = programs.run([ROOT / "scripts" / "build", config], capture_output=True, text=True)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise OffloadError(f"scripts/build {config} failed: " + "\n".join(lines[-5:]))


def run(configs: Sequence[str], figures: Sequence[str], profile: str, quick: bool, build_boards: bool) -> dict[str, Any]:
    """Runs the bench, prints its table, and writes build/bench/paper.json, which it returns, and the plots."""
    rows: list[Row] = []
    geometry: dict[str, int] = {}
    result = _result(rows, geometry, profile, quick)
    for config in configs:
        todo = needed(config, figures)
        if not todo:
            continue
        with terminal.spinner(config) as say:
            if build_boards:
                say(f"{config}: building")
                build(config)
            with _machine(config, profile, quick, say) as machine:
                rows += measure_config(machine, todo)
                p, i = machine.drive.perf(), machine.drive.info
                geometry = {
                    "cores": i.cores,
                    "channels": i.channels,
                    "ways": i.ways,
                    "page_bytes": p.page_bytes,
                    "spare_bytes": p.spare_bytes,
                }
        # After every configuration: the whole bench takes long, and what has been measured is kept when it is stopped.
        result = _result(rows, geometry, profile, quick)
        BENCH_FOLDER.mkdir(parents=True, exist_ok=True)
        path = BENCH_FOLDER / "paper.json"
        part = path.with_suffix(".part")
        part.write_text(json.dumps(result, indent=2) + "\n")
        part.rename(path)
    return result


def _result(rows: Sequence[Row], geometry: dict[str, int], profile: str, quick: bool) -> dict[str, Any]:
    """The bench's result of what has been measured, with the comparisons that it allows."""
    complete = [*rows, *comparisons(rows)]
    return {
        "board": "virtual (simulated)",
        "profile": profile,
        "quick": quick,
        "geometry": geometry,
        "commit": commit(),
        "rows": [asdict(r if r.ours is None else replace(r, ours=float(r.ours))) for r in complete],
    }


def rows_of(result: dict[str, Any]) -> list[Row]:
    """The rows of a result."""
    return [Row(**r) for r in result["rows"]]


def print_table(result: dict[str, Any]) -> None:
    """Prints ours beside the paper's."""
    lines = [
        [
            r.figure,
            r.config,
            r.workload,
            r.metric,
            "-" if r.ours is None else f"{r.ours:.3f}",
            "-" if r.paper is None else f"{r.paper:g}",
            r.unit,
        ]
        for r in sorted(rows_of(result), key=lambda r: FIGURES.index(r.figure))
    ]
    terminal.table(
        f"The paper's figures on {result['board']}, profile {result['profile']}, commit {result['commit'][:12]}",
        ["figure", "configuration", "workload", "metric", "ours", "paper", "unit"],
        lines,
        "paper: what its text states, for 8x8 at 1 GHz; everything here is simulated",
    )
