# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks of a drive: the offloads' throughput in steady state, and NVMe reads and writes."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assasin import offloads, perf
from assasin.board import Board
from assasin.drive import Drive, Extent, Piece, Progress
from assasin.perf import JobFigures, Steady

FILTER_ARGS = struct.pack("<5i", 8766, 9131, 5, 7, 2400)
"""struct filter_args of TPC-H Q6's validation values: 1994, 0.05..0.07, below 24."""


@dataclass(frozen=True)
class Context:
    """What a figure was taken on; printed with every figure."""

    board: str
    config: str
    profile: str
    ns_per_cycle: float

    @classmethod
    def of(cls, board: Board) -> Context:
        """The context of a running board."""
        s = board.status()
        return cls(f"{s.get('board', 'virtual')} (simulated)", s["config"], s["profile"], s["ns_per_cycle"])


@dataclass(frozen=True)
class OffloadFigures:
    """One run of an offload."""

    name: str
    cores: int
    bytes: int
    correct: bool
    job: JobFigures
    steady: Steady | None
    bus_limit: float
    channel_utilisation: float
    firmware_cycles_per_page: float
    pcie_bytes: int

    def json(self, context: Context) -> dict[str, Any]:
        """Everything, flat, with the throughput in the profile."""
        job = {k: v for k, v in asdict(self.job).items() if k != "cores"}
        rest = {k: v for k, v in asdict(self).items() if k not in ("job", "steady")}
        steady = self.steady
        return (
            rest
            | job
            | {
                "gb_per_s": perf.gb_per_s(self.job.bytes_per_cycle, context.ns_per_cycle),
                "steady_bytes_per_cycle": steady.bytes_per_cycle if steady else None,
                "steady_share_of_bus_limit": steady.bytes_per_cycle / self.bus_limit if steady else None,
                "steady_channel_utilisation": steady.channel_utilisation if steady else None,
                "steady_cycles": steady.cycles if steady else None,
            }
        )


def measure(
    drive: Drive,
    name: str,
    extents: Sequence[Extent],
    length: int,
    correct: Callable[[list[Piece]], bool],
    args: bytes = b"",
    cores: int = 0,
) -> tuple[OffloadFigures, list[Piece]]:
    """Runs an offload, looking at the drive's counters before, meanwhile and after; `correct` judges its output."""
    before = drive.perf()
    looks: list[ctypes.Structure] = []
    pieces = offloads.run(drive, name, extents, length, args=args, max_cores=cores, tick=lambda: looks.append(drive.perf()))
    window = perf.window(before, drive.perf())
    job = perf.job_figures(pieces)
    figures = OffloadFigures(
        name=name,
        cores=job.cores,
        bytes=length,
        correct=correct(pieces),
        job=job,
        steady=perf.steady(pieces, looks),
        bus_limit=window.bus_limit,
        channel_utilisation=window.channel_utilisation(job.cycles),
        firmware_cycles_per_page=window.firmware_cycles_per_page,
        # Every look but the last one is itself among the bytes moved to the host.
        pcie_bytes=window.pcie_bytes - (len(looks) + 1) * ctypes.sizeof(before),
    )
    return figures, pieces


def random_data(length: int, seed: int = 1) -> bytes:
    """Random bytes that every offload has something to do with."""
    return np.random.default_rng(seed).bytes(length)


def expected_filter(data: bytes) -> npt.NDArray[np.int32]:
    """What filter returns for `data` with FILTER_ARGS, computed on the host."""
    low, high, discount_low, discount_high, quantity = struct.unpack("<5i", FILTER_ARGS)
    rows = np.frombuffer(data[: len(data) // 32 * 32], "<i4").reshape(-1, 8)
    keep = (rows[:, 3] >= low) & (rows[:, 3] < high) & (rows[:, 6] >= discount_low) & (rows[:, 6] <= discount_high)
    return rows[keep & (rows[:, 4] < quantity)][:, [5, 6]]


def _correct(name: str, data: bytes) -> Callable[[list[Piece]], bool]:
    if name == "scan":
        return lambda pieces: offloads.scan_result(pieces) == offloads.expected_scan(data)
    if name == "stat":
        return lambda pieces: offloads.stat_result(pieces) == offloads.expected_stat(data)
    expected = expected_filter(data)
    return lambda pieces: bool(np.array_equal(offloads.filter_result(pieces), expected))


def bench_data(name: str, length: int) -> bytes:
    """The benchmark's input: random bytes; for filter the tuples' columns are drawn so that about 2 % of the rows qualify."""
    data = random_data(length)
    if name != "filter":
        return data
    rows = np.frombuffer(data, "<u4").reshape(-1, 8).copy()
    rows[:, 3] = 8036 + rows[:, 3] % 2526
    rows[:, 4] = 100 + rows[:, 4] % 50 * 100
    rows[:, 6] %= 11
    return rows.astype("<u4").tobytes()


def bench_offload(
    drive: Drive, name: str, data: bytes, lba: int, core_counts: Sequence[int], report: Callable[[int], None] | None = None
) -> list[OffloadFigures]:
    """Runs an offload over `data`, which lies in the drive from block `lba` on, once for every number of cores."""
    extents = [Extent(lba, -(-len(data) // drive.info.block_bytes))]
    judge = _correct(name, data)
    args = FILTER_ARGS if name == "filter" else b""
    out = []
    for cores in core_counts:
        if report:
            report(cores)
        figures, _ = measure(drive, name, extents, len(data), judge, args, cores)
        out.append(figures)
    return out


@dataclass(frozen=True)
class TransferFigures:
    """One sequential transfer over NVMe with 64 commands in flight."""

    name: str
    bytes: int
    cycles: int
    bytes_per_cycle: float
    correct: bool
    pcie_bytes: int
    bus_limit: float
    channel_utilisation: float

    def json(self, context: Context) -> dict[str, Any]:
        """Everything, with the throughput in the profile."""
        return asdict(self) | {"gb_per_s": perf.gb_per_s(self.bytes_per_cycle, context.ns_per_cycle)}


def transfer(drive: Drive, name: str, lba: int, data: bytes, progress: Progress | None = None) -> TransferFigures:
    """Writes `data` (name "write"), or reads it and compares (name "read"), between two looks at the drive's counters and clock."""
    before = drive.perf()
    start = drive.clock()
    if name == "write":
        drive.write(lba, data, progress)
        correct = True
    else:
        correct = drive.read(lba, len(data), progress) == data
    cycles = drive.clock() - start
    window = perf.window(before, drive.perf())
    return TransferFigures(
        name=name,
        bytes=len(data),
        cycles=cycles,
        bytes_per_cycle=len(data) / cycles,
        correct=correct,
        pcie_bytes=window.pcie_bytes,
        bus_limit=window.bus_limit,
        channel_utilisation=window.channel_utilisation(cycles),
    )
