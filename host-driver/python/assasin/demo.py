# SPDX-License-Identifier: BSD-3-Clause
"""
The demonstration: TPC-H lineitem is written to the drive through NVMe, read back in part, worked on by three offloads inside it.
DuckDB answers the same questions from its own table. For comparison the same data is also read to the host.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assasin import bench, offloads, perf, terminal, tpch
from assasin.bench import Context, OffloadFigures, TransferFigures
from assasin.board import Board
from assasin.drive import Drive, Extent, Piece
from assasin.terminal import human_bytes, percent
from assasin.tree import BUILD, ROOT

READ_BACK_BYTES = 256 * 1024


@dataclass(frozen=True)
class Table:
    """Bytes in the drive."""

    name: str
    lba: int
    data: bytes

    def extents(self, block: int) -> list[Extent]:
        """Where they are."""
        return [Extent(self.lba, -(-len(self.data) // block))]


@dataclass(frozen=True)
class Step:
    """One offload over one table, and how DuckDB's answer is compared."""

    offload: str
    table: Table
    args: bytes
    correct: Callable[[list[Piece]], bool]


def _steps(lineitem: tpch.Lineitem, column: Table, tuples: Table) -> list[Step]:
    q6 = tpch.Q6()
    scan = lineitem.tuples_scan()
    count, total, low, high = lineitem.column_stat()
    rows = lineitem.q6_rows(q6)
    revenue = lineitem.q6_revenue()

    def same_rows(pieces: list[Piece]) -> bool:
        found = offloads.filter_result(pieces)
        return np.array_equal(found, rows) and int((found[:, 0].astype(np.int64) * found[:, 1]).sum()) == revenue

    return [
        Step("scan", tuples, b"", lambda p: offloads.scan_result(p) == offloads.ScanResult(*scan)),
        Step("stat", column, b"", lambda p: offloads.stat_result(p) == offloads.StatResult(count, total, low, high)),
        Step("filter", tuples, q6.args(), same_rows),
    ]


def run(sf: float, config: str, profile: str, keep: bool = False) -> dict[str, Any]:
    """Runs the demonstration and prints its table. Returns what it also writes to build/demo/result.json."""
    began = time.monotonic()
    with terminal.spinner(f"making TPC-H lineitem at scale factor {sf:g} with DuckDB"):
        lineitem = tpch.Lineitem(sf)
        column_data, tuple_data = lineitem.column().tobytes(), lineitem.tuples().tobytes()
    board = Board("demo")
    with terminal.spinner(f"starting the virtual board {config}") as say:
        board.start(config, profile, format=True, tick=lambda state: say(f"starting the virtual board {config}: {state}"))
    try:
        with Drive(board.address) as drive:
            block = drive.info.block_bytes
            column = Table("l_extendedprice", 0, column_data)
            tuples = Table("lineitem", -(-len(column_data) // block), tuple_data)
            _write(drive, column, tuples)
            read_back = _read_back(drive, column, tuples)
            figures, reads = _run_steps(drive, _steps(lineitem, column, tuples))
        context = Context.of(board)
    finally:
        status = board.status()
        if not keep:
            board.stop()
            status = board.status()
    result = _result(context, status, sf, lineitem.rows, read_back, figures, reads, time.monotonic() - began)
    path = BUILD / "demo" / "result.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")
    _print(context, result, figures, reads)
    terminal.out.print(f"{path.relative_to(ROOT)} written; {result['seconds']:.0f} s")
    return result


def _write(drive: Drive, *tables: Table) -> None:
    for t in tables:
        with terminal.bytes_bar(f"writing {t.name} through NVMe", len(t.data)) as progress:
            drive.write(t.lba, t.data, progress)
    drive.flush()


def _read_back(drive: Drive, *tables: Table) -> bool:
    same = True
    for t in tables:
        length = min(len(t.data), READ_BACK_BYTES)
        with terminal.bytes_bar(f"reading back the start of {t.name}", length) as progress:
            same &= drive.read(t.lba, length, progress) == t.data[:length]
    return same


def _run_steps(drive: Drive, steps: list[Step]) -> tuple[list[OffloadFigures], dict[str, TransferFigures]]:
    figures, reads = [], {}
    for step in steps:
        t = step.table
        with terminal.spinner(f"{step.offload} over {t.name}, {human_bytes(len(t.data))}"):
            f, _ = bench.measure(drive, step.offload, t.extents(drive.info.block_bytes), len(t.data), step.correct, step.args)
        figures.append(f)
    for t in {s.table.name: s.table for s in steps}.values():
        with terminal.bytes_bar(f"the other way: reading {t.name} to the host", len(t.data)) as progress:
            reads[t.name] = bench.transfer(drive, "read", t.lba, t.data, progress)
    return figures, {s.offload: reads[s.table.name] for s in steps}


def _result(
    context: Context,
    status: dict[str, Any],
    sf: float,
    rows: int,
    read_back: bool,
    figures: list[OffloadFigures],
    reads: dict[str, TransferFigures],
    seconds: float,
) -> dict[str, Any]:
    pages = sum(-(-f.bytes // 4096) for f in figures)
    offload_list = []
    for f in figures:
        host = reads[f.name]
        offload_list.append(
            f.json(context)
            | {
                "correct": f.correct,
                "host_read": {"pcie_bytes": host.pcie_bytes, "cycles": host.cycles, "bytes_per_cycle": host.bytes_per_cycle},
            }
        )
    return {
        "board": context.board,
        "config": context.config,
        "profile": context.profile,
        "sim_khz": status["khz"],
        "firmware_cycles_per_page": sum(f.firmware_cycles_per_page * -(-f.bytes // 4096) for f in figures) / pages,
        "offloads": offload_list,
        "sf": sf,
        "rows": rows,
        "read_back_correct": read_back,
        "correct": read_back and all(f.correct for f in figures) and all(r.correct for r in reads.values()),
        "seconds": seconds,
    }


def _print(context: Context, result: dict[str, Any], figures: list[OffloadFigures], reads: dict[str, TransferFigures]) -> None:
    columns = [
        "offload",
        "bytes in",
        "over PCIe",
        "cycles",
        "B/cycle",
        "GB/s",
        "steady B/cycle",
        "channels",
        "cores",
        "vs DuckDB",
        "host read: PCIe",
        "cycles",
    ]
    rows = []
    for f in figures:
        host = reads[f.name]
        rows.append(
            [
                f.name,
                f"{f.bytes:,}",
                f"{f.pcie_bytes:,}",
                f"{f.job.cycles:,}",
                f"{f.job.bytes_per_cycle:.2f}",
                f"{perf.gb_per_s(f.job.bytes_per_cycle, context.ns_per_cycle):.2f}",
                f"{f.steady.bytes_per_cycle:.2f}" if f.steady else "too short",
                percent(f.channel_utilisation),
                percent(f.job.core_utilisation),
                "same" if f.correct else "DIFFERENT",
                f"{host.pcie_bytes:,}",
                f"{host.cycles:,}",
            ]
        )
    limit = figures[0].bus_limit
    terminal.table(
        f"TPC-H lineitem, {result['rows']:,} rows, on {context.board}, {context.config}, profile {context.profile}",
        columns,
        rows,
        f"channels' limit {limit:.2f} B/cycle; firmware {result['firmware_cycles_per_page']:.0f} cycles a page; "
        f"simulated at {result['sim_khz']:.0f} kHz; read back: {'same' if result['read_back_correct'] else 'DIFFERENT'}",
    )
