# SPDX-License-Identifier: BSD-3-Clause
"""
`assasin hls bench`: XSSD's three forms of fgrep-8 and saxpy on one virtual board, over the same data.

- io: the host reads the data over NVMe, computes (at no cost in cycles) and, for saxpy, writes the result.
- core: an offload on all ASSASIN cores (RPC in the dissertation).
- slot: the kernel's model in HLS slots at its stated initiation interval (HW), as many as the channels can feed,
  all of them where output goes to flash.

saxpy's result goes to flash in every form, and a flush ends it. Cycles are the drive's, from before the first command to behind
the last completion; figures from the first page on leave the first array read out. Every result is compared with the reference.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assasin import offloads, perf, programs, terminal
from assasin.bench import Context
from assasin.drive import Drive, Extent, Piece
from assasin.hls import kernel as kernels
from assasin.hls import model, reference
from assasin.hls.kernel import OUT, Kernel, KernelError
from assasin.hls.run import SLOTS, Placed, Say, board_with, check, function_of, job, place, slots_for, with_slots
from assasin.hls.stated import KERNELS, SPEEDUP_OVER_IO
from assasin.tree import ROOT

FORMS = ("io", "core", "slot")
RESULT = OUT / "result.json"
SCHEMA = 1

BYTES = {"fgrep8": 8 << 20, "saxpy": 2 << 20}
"""Input of all streams together. A core takes saxpy slowly, so it gets less."""
QUICK_BYTES = {"fgrep8": 256 << 10, "saxpy": 32 << 10}


@dataclass(frozen=True)
class Row:
    """One form of one kernel."""

    kernel: str
    form: str
    units: int
    """Cores or slots that took part; 0: the host."""
    bytes: int
    """Input, of all streams."""
    cycles: int
    bytes_per_cycle: float
    from_first_page: float | None
    """Bytes a cycle from the first page that a core or slot got to the stop of the last one."""
    steady: float | None
    """Page data a cycle over the channels while all that take part were fed; None where that is too short to measure."""
    channel_limit: float
    """Bytes a cycle that the flash channels can deliver."""
    pcie_bytes: int
    speedup_over_io: float
    dissertation: float | None
    correct: bool


class Bench:
    """A kernel's data in a drive."""

    def __init__(self, drive: Drive, kernel: Kernel, size: int, say: Say) -> None:
        self.drive, self.kernel, self.say = drive, kernel, say
        self.judge = reference.load(kernel)
        self.streams, self.scalars = self.judge.example(size, 1)
        self.wanted = self.judge.expected(self.streams, self.scalars)
        say(f"{kernel.name}: writing {terminal.human_bytes(size)}")
        self.placed = place(drive, self.streams)
        last = self.placed[-1]
        self.stored = len(kernel.inputs) > 1
        """The result goes to flash: it is as long as a stream."""
        self.target = Placed(last.lba + -(-last.bytes // drive.info.block_bytes), len(self.wanted))

    @property
    def _to(self) -> list[Extent] | None:
        blocks = -(-self.target.bytes // self.drive.info.block_bytes)
        return [Extent(self.target.lba, blocks)] if self.stored else None

    def _wipe(self) -> None:
        """So that a form that writes nothing cannot pass by what another one has left."""
        if self.stored:
            self.drive.write(self.target.lba, bytes(self.target.bytes))
            self.drive.flush()

    def _judged(self, outputs: list[bytes]) -> bool:
        got = self.drive.read(self.target.lba, self.target.bytes) if self.stored else self.judge.merge(outputs)
        return self.judge.equal(got, self.wanted)

    def measure(self, form: str) -> Row:
        """Runs one form; the function has been loaded before."""
        self._wipe()
        self.say(f"{self.kernel.name}: {form}")
        if form == "io":
            return self._timed(form, lambda _: ([], [self._by_host()]))
        function = offloads.load(self.drive, self.kernel.name) if form == "core" else function_of(self.kernel)
        counters = self.drive.perf()
        limit = counters.channels * counters.page_bytes / counters.bus_cycles_page
        # Output to flash waits for programs, piece by piece: there a second slot helps in any case.
        slots = SLOTS if self.stored else slots_for(self.kernel, limit)
        pieces = self.drive.info.cores if form == "core" else slots

        def work(tick: Callable[[], None]) -> tuple[list[Piece], list[bytes]]:
            # The offload's argument structures are the kernel's scalars in their order.
            work = job(self.drive, self.kernel, loaded, self.placed, self.scalars, pieces, self._to, tick)
            done = check(self.kernel, self.drive.run_job(work))
            return done, [p.outputs[0] for p in done if not self.stored]

        with self.drive.function(function) as loaded:
            return self._timed(form, work)

    def _timed(self, form: str, work: Callable[[Callable[[], None]], tuple[list[Piece], list[bytes]]]) -> Row:
        looks: list[ctypes.Structure] = []
        before = self.drive.perf()
        start = self.drive.clock()
        pieces, outputs = work(lambda: looks.append(self.drive.perf()))
        if self.stored:
            self.drive.flush()
        cycles = self.drive.clock() - start
        window = perf.window(before, self.drive.perf())
        steady = perf.steady(pieces, looks) if pieces else None
        size = sum(map(len, self.streams))
        return Row(
            kernel=self.kernel.name,
            form=form,
            units=len({p.report.core for p in pieces}),
            bytes=size,
            cycles=cycles,
            bytes_per_cycle=size / cycles,
            from_first_page=perf.stream_rate(pieces) if pieces else None,
            steady=steady.bytes_per_cycle if steady else None,
            channel_limit=window.bus_limit,
            # Every look but the last one is itself among the bytes moved to the host.
            pcie_bytes=window.pcie_bytes - (len(looks) + 1) * ctypes.sizeof(before),
            speedup_over_io=0.0,
            dissertation=SPEEDUP_OVER_IO.get((self.kernel.name, form)),
            correct=self._judged(outputs),
        )

    def _by_host(self) -> bytes:
        data = [self.drive.read(p.lba, p.bytes) for p in self.placed]
        result = self.judge.expected(data, self.scalars)
        if self.stored:
            self.drive.write(self.target.lba, result)
        return result


def compared(rows: Sequence[Row]) -> list[Row]:
    """The rows with their speed-ups over the io form of the same kernel."""
    io = {r.kernel: r.cycles for r in rows if r.form == "io"}
    return [Row(**(asdict(r) | {"speedup_over_io": io[r.kernel] / r.cycles})) for r in rows]


def run(wanted: Sequence[str], config: str, profile: str, quick: bool, build_board: bool, name: str, say: Say) -> dict[str, Any]:
    """
    Measures all forms of the kernels and leaves build/hls/result.json, complete after every kernel. What it holds of other kernels
    stays there when it was measured in the same way, at the same commit. Returns what is in it.
    """
    with_slots(config)
    if build_board:
        say(f"building {config}")
        command: list[str | Path] = [ROOT / "scripts" / "build", config, *(["--quick"] if quick else [])]
        built = programs.run(command, capture_output=True, text=True)
        if built.returncode:
            raise KernelError("\n".join([f"scripts/build {config} failed:", *built.stderr.strip().splitlines()[-5:]]))
    commit = _commit()
    result: dict[str, Any] = {}
    for k in [kernels.load(w) for w in wanted]:
        shared_object = model.build(k)
        with board_with([shared_object], name, config, profile, say) as (board, drive):
            context = Context.of(board)
            bench = Bench(drive, k, (QUICK_BYTES if quick else BYTES)[k.name], say)
            rows = [bench.measure(form) for form in FORMS]
        measured = {
            "schema": SCHEMA,
            **asdict(context),
            "quick": quick,
            "commit": commit,
            "measured_on_hardware": False,
            "kernels": [{"name": k.name, "version": k.version, "ii": str(k.ii), "latency": k.latency}],
            "rows": [asdict(r) for r in compared(rows)],
        }
        result = merged(_previous(RESULT), measured)
        _write(RESULT, json.dumps(result, indent=2) + "\n")
    return result


def _commit() -> str:
    """The tree's commit, with "-dirty" behind it when files have been changed since; empty where there is none."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    commit = git("rev-parse", "HEAD")
    return commit + ("-dirty" if commit and git("status", "--porcelain", "--untracked-files=no") else "")


def _previous(path: Path) -> dict[str, Any]:
    try:
        old = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return old if isinstance(old, dict) else {}


SAME = ("schema", "board", "config", "profile", "ns_per_cycle", "quick", "commit")
"""Results that agree in these can stand in one table."""


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """
    `new` with the kernels that only `old` has, when both were measured in the same way at the same commit of an unchanged tree.
    "missing": the kernels that nobody has measured so.
    """
    have = {k["name"] for k in new["kernels"]}
    clean = bool(new["commit"]) and not new["commit"].endswith("-dirty")
    parts = [old, new] if clean and all(old.get(key) == new[key] for key in SAME) else [new]
    entries = [k for p in parts for k in p["kernels"] if p is new or k["name"] not in have]
    rows = [r for p in parts for r in p["rows"] if p is new or r["kernel"] not in have]
    order = {name: i for i, name in enumerate(KERNELS)}
    return {
        **new,
        "kernels": sorted(entries, key=lambda k: order.get(k["name"], len(order))),
        "missing": [name for name in KERNELS if name not in {r["kernel"] for r in rows}],
        "rows": sorted(rows, key=lambda r: order.get(r["kernel"], len(order))),
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.rename(path)


def print_table(result: dict[str, Any]) -> None:
    """The forms side by side."""

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    terminal.table(
        f"XSSD's three forms on {result['board']}, {result['config']}, profile {result['profile']}",
        [
            "kernel",
            "form",
            "on",
            "bytes",
            "cycles",
            "B/cycle",
            "from first page",
            "steady",
            "of limit",
            "over PCIe",
            "over io",
            "dissertation",
            "result",
        ],
        [
            [
                r["kernel"],
                r["form"],
                f"{r['units']} {r['form']}s" if r["units"] else "host",
                f"{r['bytes']:,}",
                f"{r['cycles']:,}",
                number(r["bytes_per_cycle"]),
                number(r["from_first_page"]),
                number(r["steady"]),
                "-" if r["steady"] is None else terminal.percent(r["steady"] / r["channel_limit"]),
                f"{r['pcie_bytes']:,}",
                f"{r['speedup_over_io']:.2f}x",
                "-" if r["dissertation"] is None else f"{r['dissertation']:.1f}x",
                "correct" if r["correct"] else "WRONG",
            ]
            for r in result["rows"]
        ],
        "B/cycle: the whole job; the host computes at no cost. Simulated: slots at the initiation interval that kernel.toml states"
        + (f". Not measured at this commit: {', '.join(result['missing'])}" if result["missing"] else ""),
    )
