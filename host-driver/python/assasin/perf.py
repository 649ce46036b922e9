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
    steady_bytes_per_cycle: float
    """Without ramp-up and end: see steady_rate()."""
    core_utilisation: float
    """Share of the cores' running cycles in which they did not wait for a stream."""
    cores: int
    """Cores that took part."""


def steady_rate(pieces: Sequence[Piece], page_bytes: int, channels: int) -> float:
    """
    Bytes a cycle between the first and the last page delivered to any core: the wait for the first array read and the cores'
    start and end do not count, an uneven finish does. Every channel's first page was on the bus before that time begins and does
    not count either. 0 when no page is left.
    """
    reports = [p.report for p in pieces if p.report.pages]
    pages = sum(r.pages for r in reports) - channels
    if pages < 1:
        return 0.0
    span = max(r.t_last_page for r in reports) - min(r.t_first_page for r in reports)
    return pages * page_bytes / span if span > 0 else 0.0


def job_figures(pieces: Sequence[Piece], page_bytes: int, channels: int) -> JobFigures:
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
        steady_bytes_per_cycle=steady_rate(pieces, page_bytes, channels),
        core_utilisation=1 - waiting / running if running else 0.0,
        cores=len({r.core for r in reports}),
    )


def gb_per_s(bytes_per_cycle: float, ns_per_cycle: float) -> float:
    """Bytes a cycle as GB/s (10^9) in a profile whose cycle lasts `ns_per_cycle`."""
    return bytes_per_cycle / ns_per_cycle
