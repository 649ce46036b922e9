# SPDX-License-Identifier: BSD-3-Clause
"""
`assasin bench ftl`: what the flash translation layer costs and how even it is, beside what theory and the goals say.

Loads run on the native drive (build/native/assasin-ftl-bench), whose time is that of the packages. What depends on the firmware's
instructions is measured on a virtual board: cycles a page, throughput, and the time of a mount. For mounts the native board writes
an image, loses power, and the virtual board starts on the same image.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assasin import bench, offloads, perf, random_reads
from assasin.board import Board, BoardError, board_of
from assasin.drive import Drive, DriveError, Extent
from assasin.errors import AssasinError
from assasin.tree import BENCH_FOLDER, BUILD, ROOT, commit

PARTS = ("amplification", "wear", "latency", "firmware", "recovery")
"""What can be measured; the last two need a virtual board."""

NAME = "benchftl"
"""Of the boards that this starts."""

SUPERBLOCKS, PAGES = 1024, 32
"""Of the drive whose write amplification is measured: so many superblocks that those kept free are few beside the spare."""

SPARES = (0.07, 0.28)
CAPACITY = 0.93
"""Share of its sectors that the drive offers, beyond those that its log needs to go on."""

SKEW = "0.8,0.2"
"""The skewed load: this share of the writes goes to this share of the blocks."""

READ, PROGRAM, ERASE, BUS = 30_000, 300_000, 3_800_000, 4_200
"""The part `paper-mlc`, cycles of 1 ns."""

PROGRAM_TIMES = 5
"""A read may take so many program times in 999 cases of 1,000."""

CYCLES_WRITTEN, CYCLES_STREAMED = 700, 250
WRITE_CYCLES = 3_286 / 2
"""Of the drive for each page on 8x8, profile `paper`: half of what it took before collection was there."""

WRITES = 3
"""Of the same data, measured one after the other."""

TIB_SECONDS = 2.0
TIB = 1 << 40
BLOCK = 4096
MAP_ENTRIES = BLOCK // 4


class FtlBenchError(AssasinError):
    """Something that is measured with is not there, or has failed; the message says what to do."""


@dataclass(frozen=True)
class Row:
    """A figure. `goal`: what it may be at most; None: there is no goal for it."""

    name: str
    value: float
    unit: str
    goal: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None: there is none."""
        return None if self.goal is None else self.value <= self.goal


def greedy(share: float, pages: int) -> float:
    """
    Write amplification of greedy collection under uniform random writes, for superblocks of `pages` of which `share` is in use.

    The mean field: every collection empties a superblock, and H writes of the host follow. Meanwhile one superblock falls from i
    pages in use to i - 1, at each level i above that of the victims, m. As a share p of the superblocks at level i loses H p i /
    (share pages), p = share pages / (H i). A part q of those that reach m falls to m - 1 before it is chosen, so that H = pages -
    m + q. Both follow from the sum of all p, which is 1. For large superblocks that becomes share = (u - 1) / ln u, the victims'
    share u, and 1 / (1 - u). (B. Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid
    state drives", SIGMETRICS 2013; P. Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012.)
    """
    if not 0 < share < 1:
        raise ValueError(f"share {share}: a part of the pages must be in use, and not all")
    levels = 0.0
    for m in range(pages - 1, 0, -1):
        levels += 1 / (m + 1)
        slope = share * pages / m - 1
        if slope == 0:
            continue
        q = (pages - m - share * pages * levels) / slope
        if 0 <= q <= 1:
            return pages / (pages - m + q)
    # Not even a superblock with a page in use is ever chosen.
    return 1.0


def native(arguments: Sequence[str], policy: str = "") -> dict[str, Any]:
    """Runs a load on the native drive. `policy` greedy: with a firmware that chooses its victims so. Raises FtlBenchError."""
    folder = BUILD / "native"
    program, firmware = folder / "assasin-ftl-bench", folder / f"assasin-fw{'-' * bool(policy)}{policy}.so"
    for path in (program, firmware):
        if not path.exists():
            raise FtlBenchError(f"{path.relative_to(ROOT)} is not there: build it with scripts/build native")
    done = subprocess.run(
        [str(program), *arguments], env={**os.environ, "ASSASIN_FW_SO": str(firmware)}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise FtlBenchError(f"assasin-ftl-bench {' '.join(arguments)}: {done.stderr.strip()[-600:] or done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


Tell = Callable[[str], None]


def _amplification(quick: bool, seed: int, tell: Tell) -> tuple[list[Row], dict[str, Any]]:
    superblocks, settle, measure = (128, 1, 1) if quick else (SUPERBLOCKS, 4, 3)
    base = ["amplification", "--geometry", f"1x1x1x1x{superblocks}x{PAGES}", "--settle", str(settle), "--measure", str(measure)]
    runs = {}
    for spare in SPARES:
        span = ["--span", f"{(1 - spare) / CAPACITY:.6f}", "--seed", str(seed)]
        runs[f"uniform_{spare * 100:.0f}", ""] = [*base, *span]
        for policy in ("", "greedy"):
            runs[f"skewed_{spare * 100:.0f}", policy] = [*base, *span, "--hot", SKEW]
    tell(f"write amplification: {len(runs)} loads")
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        found = dict(zip(runs, pool.map(lambda run: native(runs[run], run[1]), runs), strict=True))
    rows = []
    for spare in SPARES:
        of = f"{spare * 100:.0f}"
        uniform = found[f"uniform_{of}", ""]
        theory = greedy(uniform["blocks"] / uniform["closed_sectors"], PAGES)
        rows += [
            Row(f"write_amplification_uniform_{of}", uniform["data"] + uniform["metadata"], "programs a write", 1.1 * theory),
            Row(f"write_amplification_uniform_{of}_analytical", theory, "programs a write"),
            Row(f"write_amplification_uniform_{of}_metadata", uniform["metadata"], "programs a write"),
        ]
        plain = found[f"skewed_{of}", "greedy"]
        plain = plain["data"] + plain["metadata"]
        skewed = found[f"skewed_{of}", ""]
        rows += [
            Row(f"write_amplification_80_20_{of}", skewed["data"] + skewed["metadata"], "programs a write", plain),
            Row(f"write_amplification_80_20_{of}_greedy", plain, "programs a write"),
        ]
    return rows, {f"{load}{'_' * bool(policy)}{policy}": result for (load, policy), result in found.items()}


def _wear(quick: bool, seed: int, tell: Tell) -> tuple[list[Row], dict[str, Any]]:
    tell("erase counts: half of the drive is written over, half is never")
    superblocks, times = (64, 4) if quick else (256, 60)
    load = ["amplification", "--geometry", f"1x1x1x1x{superblocks}x{PAGES}", "--settle", "0", "--measure", str(times)]
    found = native([*load, "--hot", "1,0.5", "--seed", str(seed)])
    mean = found["erases_mean"]
    return [
        Row("erase_spread", found["erases_most"] - found["erases_least"], "erases", max(20.0, 0.05 * mean)),
        Row("erase_mean", mean, "erases"),
    ], {"wear": found}


def _latency(quick: bool, seed: int, tell: Tell) -> tuple[list[Row], dict[str, Any]]:
    tell("latency of reads beside writes and collection")
    geometry, settle, measure = ("4x4x1x1x32x32", 0.5, 0.5) if quick else ("8x8x1x1x32x256", 0.5, 0.2)
    found = native(
        ["latency", "--geometry", geometry, "--times", f"{READ},{PROGRAM},{ERASE},{BUS}", "--reads", "0.7"]
        + ["--depth", "32", "--settle", str(settle), "--measure", str(measure), "--seed", str(seed)]
    )
    rows = []
    for kind in ("read", "write"):
        at = {round(share, 5): cycles for share, cycles in found[kind]}
        for share, name in ((0.5, "p50"), (0.99, "p99"), (0.999, "p99_9"), (0.9999, "p99_99")):
            goal = PROGRAM_TIMES * PROGRAM if (kind, name) == ("read", "p99_9") else None
            rows.append(Row(f"{kind}_latency_{name}", float(at[share]), "cycles", float(goal) if goal else None))
    return rows, {"latency": found | {"geometry": geometry}}


def plot(found: dict[str, Any], path: Path) -> None:
    """Draws the latencies over the share of commands that take longer."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawing, axis = pyplot.subplots(figsize=(9, 5), layout="constrained")
    for kind in ("read", "write"):
        shares, cycles = zip(*((1 - s, c) for s, c in found[kind] if s < 1), strict=True)
        axis.plot(shares, [c / PROGRAM for c in cycles], marker="o", label=f"{kind}s")
    axis.axhline(PROGRAM_TIMES, color="black", lw=1, ls="--", label=f"goal for reads at 0.001: {PROGRAM_TIMES} program times")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.invert_xaxis()
    axis.set_xlabel("share of commands that take longer")
    axis.set_ylabel(f"latency, program times of {PROGRAM / 1e6:g} ms")
    axis.set_title(f"4 KiB, 70 % reads, depth 32, {found['geometry']}, {found['data']:.1f} programs a write", fontsize=10)
    axis.legend()
    drawing.savefig(path, dpi=120)
    pyplot.close(drawing)


# -- on a virtual board


def _awake(drive: Drive) -> tuple[int, int]:
    """The drive's clock, and for how much of it its processor was awake."""
    look = random_reads.stages(drive)
    return look.time, look.time - look.fw_sleep


def _page_costs(config: str, profile: str, length: int, parity: bool, tell: Tell) -> list[Row]:
    """What a page costs that is written, and one that is streamed. Rows of drives with parity over dies end in `_parity`."""
    board = Board(NAME)
    name = "_parity" if parity else ""
    tell(f"starting {config}, profile {profile}, parity over dies {'on' if parity else 'off'}")
    status = board.start(config, profile, format=True, parity=parity)
    try:
        with Drive(board.address) as drive:
            data = bench.random_data(length)
            pages = length // BLOCK
            tell(f"writing {length >> 20} MiB {1 + WRITES} times")
            # The first time opens superblocks and makes pages of the map.
            drive.write(0, data)
            looks = [_awake(drive) for _ in range(4)]
            costs = []
            for _ in range(WRITES):
                drive.write(0, data)
                looks.append(_awake(drive))
                costs.append((looks[-1][0] - looks[-2][0], looks[-1][1] - looks[-2][1]))
            tell(f"streaming {length >> 20} MiB twice")
            # The first time runs beside the checkpoint that the writes have made due.
            for _ in range(2):
                figures, _ = bench.measure(
                    drive,
                    "scan",
                    [Extent(0, pages)],
                    length,
                    lambda pieces: offloads.scan_result(pieces) == offloads.expected_scan(data),
                )
    finally:
        board.stop()
    if not figures.correct:
        raise FtlBenchError("scan over what was written has another result than the host's")
    # The drive's clock goes on while the host does nothing, so the fewest cycles of a write are the drive's own. What a look costs
    # is taken off.
    looking = [min(b[i] - a[i] for a, b in itertools.pairwise(looks[:4])) for i in range(2)]
    cycles = (min(cost[0] for cost in costs) - looking[0]) / pages
    awake = (sum(cost[1] for cost in costs) / WRITES - looking[1]) / pages
    ns = float(status["ns_per_cycle"])
    goal = WRITE_CYCLES if (config, profile) == ("AssasinSb8x8", "paper") else None
    return [
        Row(f"firmware_cycles_written_page{name}", awake, "cycles", CYCLES_WRITTEN),
        Row(f"firmware_cycles_streamed_page{name}", figures.firmware_cycles_per_page, "cycles", CYCLES_STREAMED),
        Row(f"write_cycles_a_page{name}", cycles, "cycles", goal),
        Row(f"write_throughput{name}", perf.gb_per_s(BLOCK / cycles, ns), "GB/s"),
    ]


def _firmware(config: str, profile: str, length: int, tell: Tell) -> tuple[list[Row], dict[str, Any]]:
    rows = [row for parity in (False, True) for row in _page_costs(config, profile, length, parity, tell)]
    return rows, {"firmware": {"config": config, "profile": profile, "bytes": length}}


_BOOT = re.compile(r"boot: (\d+) cycles awake and asleep")
_BOUND = re.compile(r"ftl: up to (\d+) pages of log; a mount takes up to (\d+) ms")


@dataclass(frozen=True)
class Mount:
    """How long a mount took, and what drive it was."""

    cycles: int
    log_most: int
    """Most pages of log that a mount of this drive meets."""
    blocks: int
    ns: float


def _mount(config: str, profile: str, maps: int, log: int) -> Mount:
    """
    A mount of a drive with `maps` pages of map, evenly spread over its blocks.

    `log`: power is lost behind so many writes to these pages at random; 0: it was shut down.
    """
    writer, reader = board_of("native", f"{NAME}-image"), Board(f"{NAME}-mount")
    try:
        writer.start(config, profile, format=True)
        with Drive(writer.address) as drive:
            blocks = drive.info.blocks
            pages = np.linspace(0, blocks // MAP_ENTRIES - 1, maps).astype(int)
            for page in pages:
                drive.write(int(page) * MAP_ENTRIES, bytes(BLOCK))
        writer.stop()
        if log:
            writer.start(config, profile)
            drive = Drive(writer.address)
            try:
                random = np.random.default_rng(log)
                for page, entry in zip(random.choice(pages, log), random.integers(0, MAP_ENTRIES, log), strict=True):
                    drive.write(int(page) * MAP_ENTRIES + int(entry), bytes(BLOCK))
                writer.kill()
            finally:
                # Without power it cannot be shut down.
                with contextlib.suppress(DriveError):
                    drive.close()
        status = reader.start(config, profile, image=writer.paths.folder / f"image-{config}-{profile}")
        # It is there when its mount is over. What it does then, and a shutdown behind it, would take far longer.
        drive = Drive(reader.address)
        reader.kill()
        with contextlib.suppress(DriveError):
            drive.close()
        text = reader.paths.console_log.read_text(errors="replace")
        boots, bounds = _BOOT.findall(text), _BOUND.findall(text)
        if not boots or not bounds:
            raise FtlBenchError(f"the virtual board's console does not tell how long its mount took: {text[-400:]}")
        return Mount(int(boots[-1]), int(bounds[-1][0]), blocks, float(status["ns_per_cycle"]))
    finally:
        for board in (writer, reader):
            if board.pid() is not None:
                board.kill()
            board.erase()


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Slope and start of the straight line nearest to `points`."""
    slope, start = np.polyfit([x for x, _ in points], [y for _, y in points], 1)
    return float(slope), float(start)


def _recovery(config: str, profile: str, quick: bool, tell: Tell) -> tuple[list[Row], dict[str, Any]]:
    """Mounts after a power cut behind more and more log, and of more and more map; both lines give what a TiB takes."""
    logs, maps = ((64, 192), (8, 32)) if quick else ((2500, 4390, 7225), (64, 256, 1024))
    by_log, by_map = [], []
    for count in maps:
        tell(f"mount of {count} pages of map")
        by_map.append((float(count), float(_mount(config, profile, count, 0).cycles)))
    # At most eight pages of log come to a page of the map. Those behind the last summary are as many each time: a summary tells
    # of 945, and of 63 of parity.
    for pages in logs:
        tell(f"mount after a cut behind {pages} pages of log")
        mount = _mount(config, profile, maps[-1], pages)
        by_log.append((float(pages), float(mount.cycles)))
    a_page, start = line(by_log)
    a_map, _ = line(by_map)
    # A drive of a TiB of this kind has so many times this one's log.
    times = TIB / BLOCK / mount.blocks
    cycles = start - a_map * maps[-1] + a_page * mount.log_most * times + a_map * TIB / BLOCK / MAP_ENTRIES
    return [
        Row("recovery_cycles_a_page_of_log", a_page, "cycles"),
        Row("recovery_cycles_a_page_of_map", a_map, "cycles"),
        Row("recovery_measured", by_log[-1][1] * mount.ns / 1e9, "s"),
        Row("recovery_a_tib", cycles * mount.ns / 1e9, "s", TIB_SECONDS),
    ], {"recovery": {"config": config, "profile": profile, "log": by_log, "map": by_map, **asdict(mount)}}


def run(
    parts: Sequence[str], quick: bool, seed: int, config: str, profile: str, tell: Tell
) -> tuple[list[Row], dict[str, str], list[Path]]:
    """
    Measures `parts` of PARTS and leaves build/bench/ftl.json and ftl-latency.png.

    Returns the rows, why parts are missing, and what was drawn. `quick`: small drives and short loads, whose figures say little.
    """
    rows: list[Row] = []
    details: dict[str, Any] = {}
    missing: dict[str, str] = {}
    plots: list[Path] = []
    BENCH_FOLDER.mkdir(parents=True, exist_ok=True)
    length = (1 if quick else 16) << 20
    measures: dict[str, Callable[[], tuple[list[Row], dict[str, Any]]]] = {
        "amplification": lambda: _amplification(quick, seed, tell),
        "wear": lambda: _wear(quick, seed, tell),
        "latency": lambda: _latency(quick, seed, tell),
        "firmware": lambda: _firmware(config, profile, length, tell),
        "recovery": lambda: _recovery(config, profile, quick, tell),
    }
    for part in (p for p in PARTS if p in parts):
        try:
            found, more = measures[part]()
        except BoardError as e:
            missing[part] = str(e).splitlines()[0]
            continue
        rows += found
        details |= more
    if "latency" in details:
        plots.append(BENCH_FOLDER / "ftl-latency.png")
        plot(details["latency"], plots[-1])
    head = {"quick": quick, "seed": seed, "commit": commit(), "missing": missing}
    (BENCH_FOLDER / "ftl.json").write_text(
        json.dumps({"rows": [asdict(r) for r in rows]} | head | {"details": details}, indent=2) + "\n"
    )
    return rows, missing, plots
