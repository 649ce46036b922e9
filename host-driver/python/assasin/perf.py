# SPDX-License-Identifier: BSD-3-Clause
"""What the drive's counters say about a job: cycles, bytes per cycle, utilisation."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from assasin.drive import Piece


@dataclass(frozen=True)
class Window:
    """Differences of two scomp_perf snapshots (see the contract)."""

    cycles: int
    stream_pages: int
    stream_cycles: int
    pcie_to_host: int
    pcie_from_host: int
    bus_busy: list[int]
    data_bytes: list[int]
    media_reads: int
    channels: int
    page_bytes: int
    bus_cycles_page: int
    dram_read: int
    dram_write: int

    @property
    def dram_per_flash(self) -> float:
        """Bytes over the DRAM's interface for each byte of page data that the channels moved; 0 when they moved none."""
        flash = sum(self.data_bytes)
        return (self.dram_read + self.dram_write) / flash if flash else 0.0

    @property
    def firmware_cycles_per_page(self) -> float:
        """Firmware cycles spent a page streamed to a core; 0 when none was."""
        return self.stream_cycles / self.stream_pages if self.stream_pages else 0.0

    @property
    def bus_limit(self) -> float:
        """Bytes a cycle that all channels together can deliver: page reads back to back, spare bytes on the wire included."""
        return self.channels * self.page_bytes / self.bus_cycles_page

    @property
    def pcie_bytes(self) -> int:
        """Bytes of data over PCIe in both directions."""
        return self.pcie_to_host + self.pcie_from_host

    def channel_utilisation(self, cycles: int) -> float:
        """Share of `cycles` in which the channels' buses were busy, on average."""
        return sum(self.bus_busy) / (self.channels * cycles) if cycles else 0.0


def window(before: ctypes.Structure, after: ctypes.Structure) -> Window:
    """The difference of two contract.ScompPerf."""
    n = after.channels
    return Window(
        cycles=after.time - before.time,
        stream_pages=after.fw_stream_pages - before.fw_stream_pages,
        stream_cycles=after.fw_stream_cycles - before.fw_stream_cycles,
        pcie_to_host=after.host_read_bytes - before.host_read_bytes,
        pcie_from_host=after.host_write_bytes - before.host_write_bytes,
        bus_busy=[after.bus_busy[i] - before.bus_busy[i] for i in range(n)],
        data_bytes=[after.data_bytes[i] - before.data_bytes[i] for i in range(n)],
        media_reads=after.media_reads - before.media_reads,
        channels=n,
        page_bytes=after.page_bytes,
        bus_cycles_page=after.bus_cycles_page,
        dram_read=after.dram_read_bytes - before.dram_read_bytes,
        dram_write=after.dram_write_bytes - before.dram_write_bytes,
    )


@dataclass(frozen=True)
class JobFigures:
    """Figures of one job, from its pieces' reports."""

    bytes_in: int
    bytes_out: int
    cycles: int
    """From the start of the first core to the stop of the last."""
    bytes_per_cycle: float
    """bytes_in / cycles: ramp-up and tail included."""
    core_utilisation: float
    """Share of the cores' running cycles in which they did not wait for a stream."""
    cores: int
    """Cores that took part."""


@dataclass(frozen=True)
class Steady:
    """Part of a job in which every core that takes part was being fed, between two looks at the drive's counters."""

    cycles: int
    bytes_per_cycle: float
    """Page data over the channels' buses, all together."""
    channel_utilisation: float


LEAST_STEADY_CYCLES = 20_000
"""A shorter window is not worth a figure: a page takes some 4,600 cycles of a channel."""


def steady(pieces: Sequence[Piece], looks: Sequence[ctypes.Structure]) -> Steady | None:
    """
    The steady state of a job: from the first to the last of `looks` (scomp_perf snapshots taken while it ran) between the time
    when the last core had started and got its first page, and the time when the first core got its last one. None when that is not
    long enough.
    """
    by_core: dict[int, list[Piece]] = {}
    for p in pieces:
        if p.report.pages:
            by_core.setdefault(p.report.core, []).append(p)
    if not by_core:
        return None
    begin = max(min(max(p.report.t_start, p.report.t_first_page) for p in group) for group in by_core.values())
    end = min(max(p.report.t_last_page for p in group) for group in by_core.values())
    inside = [x for x in looks if begin <= x.time <= end]
    if len(inside) < 2 or inside[-1].time - inside[0].time < LEAST_STEADY_CYCLES:
        return None
    w = window(inside[0], inside[-1])
    return Steady(w.cycles, sum(w.data_bytes) / w.cycles, w.channel_utilisation(w.cycles))


def job_figures(pieces: Sequence[Piece]) -> JobFigures:
    """Figures of the job whose pieces these are."""
    reports = [p.report for p in pieces]
    cycles = max(r.t_end for r in reports) - min(r.t_start for r in reports)
    running = sum(r.cycles for r in reports)
    waiting = sum(r.wait_in + r.wait_out for r in reports)
    bytes_in = sum(r.bytes_in for r in reports)
    return JobFigures(
        bytes_in=bytes_in,
        bytes_out=sum(r.bytes_out for r in reports),
        cycles=cycles,
        bytes_per_cycle=bytes_in / cycles if cycles else 0.0,
        core_utilisation=1 - waiting / running if running else 0.0,
        cores=len({r.core for r in reports}),
    )


@dataclass(frozen=True)
class Cycles:
    """What the cores of a job did with their cycles from their first page on, shares of 1 that add up to 1."""

    computing: float
    """Retiring instructions, and stalls within the pipeline."""
    memory: float
    """Waiting for the data cache."""
    input: float
    """Waiting for an input stream."""
    output: float
    """Waiting for room in an output stream."""


def decompose(pieces: Sequence[Piece]) -> Cycles:
    """
    Where the cores' cycles went. The wait for a piece's first page is left out: it is an array read that a longer piece has once
    too, and of a job's first pieces nothing else can hide it.
    """
    running = memory = wait_in = wait_out = 0
    for p in pieces:
        r = p.report
        first = max(0, min(r.t_first_page - r.t_start, r.wait_in)) if r.pages else 0
        running += r.cycles - first
        memory += r.wait_mem
        wait_in += r.wait_in - first
        wait_out += r.wait_out
    if running <= 0:
        return Cycles(0.0, 0.0, 0.0, 0.0)
    return Cycles((running - memory - wait_in - wait_out) / running, memory / running, wait_in / running, wait_out / running)


def unstalled_rate(pieces: Sequence[Piece]) -> float:
    """Input bytes a cycle of one core whose streams never kept it waiting."""
    busy = sum(p.report.cycles - p.report.wait_in - p.report.wait_out for p in pieces)
    return sum(p.report.bytes_in for p in pieces) / busy if busy > 0 else 0.0


def stream_rate(pieces: Sequence[Piece]) -> float:
    """Input bytes a cycle from the job's first page to the stop of its last core: without the first array read."""
    reports = [p.report for p in pieces if p.report.pages]
    if not reports:
        return 0.0
    cycles = max(r.t_end for r in reports) - min(r.t_first_page for r in reports)
    return sum(r.bytes_in for r in reports) / cycles if cycles > 0 else 0.0


def gb_per_s(bytes_per_cycle: float, ns_per_cycle: float) -> float:
    """Bytes a cycle as GB/s (10^9) in a profile whose cycle lasts `ns_per_cycle`."""
    return bytes_per_cycle / ns_per_cycle
