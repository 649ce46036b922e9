# SPDX-License-Identifier: BSD-3-Clause
"""`assasin bench ftl`: a short run leaves what its readers expect, and the theory beside the figures is right."""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from assasin import ftl_bench, paper
from assasin.tree import BUILD, ROOT
from click.testing import CliRunner, Result

NATIVE = ("amplification", "wear", "latency")


def command(folder: Path, *words: str) -> Result:
    from assasin.cli import cli

    with pytest.MonkeyPatch.context() as m:
        m.setattr(ftl_bench, "BENCH_FOLDER", folder)
        return CliRunner().invoke(cli, ["bench", "ftl", *words])


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    done = command(folder, "--quick", "--part", ",".join(NATIVE))
    assert done.exit_code == 0, done.output
    return folder


def test_a_short_run_leaves_rows_and_a_plot(left: Path) -> None:
    found: dict[str, Any] = json.loads((left / "ftl.json").read_text())
    rows = {row["name"]: row for row in found["rows"]}
    assert len(rows) == len(found["rows"]), "no row twice"
    for row in rows.values():
        assert set(row) == {"name", "value", "unit", "goal"}
        assert math.isfinite(row["value"]) and row["unit"]
        assert row["goal"] is None or row["goal"] > 0
    for spare in (7, 28):
        assert rows[f"write_amplification_uniform_{spare}"]["value"] > 1
        assert rows[f"write_amplification_80_20_{spare}"]["goal"] == rows[f"write_amplification_80_20_{spare}_greedy"]["value"]
    assert rows["write_amplification_uniform_7"]["value"] > rows["write_amplification_uniform_28"]["value"]
    assert rows["erase_mean"]["value"] > 1
    times = [rows[f"read_latency_{p}"]["value"] for p in ("p50", "p99", "p99_9", "p99_99")]
    assert times == sorted(times) and times[0] >= ftl_bench.READ
    assert (left / "ftl-latency.png").stat().st_size > 1000


def test_what_was_not_measured_is_left_out_and_said(tmp_path: Path) -> None:
    done = command(tmp_path, "--part", "firmware", "--config", "AssasinSb3x3")
    assert done.exit_code == 0
    assert "firmware was not measured" in done.output
    found = json.loads((tmp_path / "ftl.json").read_text())
    assert found["rows"] == [] and list(found["missing"]) == ["firmware"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--part", "speed"), "speed"),
        (("--seed", "-1"), "-1 is not in the range"),
        (("--config", "nonsense"), "nonsense"),
    ],
)
def test_bad_options(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = command(tmp_path, *words)
    assert done.exit_code == 2 and says in done.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("idle",), "usage: assasin-ftl-bench"),
        (("latency", "--geometry", "2x2"), "--geometry 2x2: takes 6 numbers with 'x' between"),
        (("latency", "--geometry", "2x2x1x1x0x8"), "each is at least 1"),
        (("latency", "--reads", "many"), "'many' is not a number"),
        (("amplification", "--hot", "0.8,1.5"), "a share is at most 1"),
        (("amplification", "--speed", "3"), "unknown option --speed"),
        (("amplification", "--span"), "--span takes a value"),
    ],
)
def test_bad_arguments_of_the_program(words: tuple[str, ...], says: str) -> None:
    done = subprocess.run([BUILD / "native" / "assasin-ftl-bench", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and says in done.stderr
    with pytest.raises(ftl_bench.FtlBenchError, match="assasin-ftl-bench"):
        ftl_bench.native(words)


@pytest.fixture(scope="module")
def elf() -> Path:
    """The drive's own firmware."""
    subprocess.run(["make", "-s", "-C", ROOT / "firmware"], check=True)
    return BUILD / "firmware" / "assasin-fw.elf"


@pytest.mark.parametrize(("parity", "count"), [(0, 4000), (1, 3000)])
def test_a_mount_at_the_worst_moment_keeps_its_bound(elf: Path, parity: int, count: int) -> None:
    """The drive's own firmware, cycle by cycle, behind as much log as there may be: a checkpoint is due soon. Of four sectors on
    two channels of two ways one is of parity."""
    program = BUILD / "native" / "assasin-ftl-bench"
    environment = os.environ | {"ASSASIN_FW_SO": str(BUILD / "native" / "assasin-fw-cycles.so"), "ASSASIN_FW_ELF": str(elf)}
    words = ["mount", "--geometry", "2x2x1x1x64x256", "--times", "30000,300000,3800000,4200", "--depth", "8", "--random", "1"]
    words += ["--maps", "39", "--count", str(count), "--parity", str(parity)]
    done = subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=True)
    console = done.stderr
    bound = re.search(r"ftl: up to (\d+) pages of log; a mount takes up to (\d+) ms", console)
    log = re.search(r"ftl: recovered (\d+) pages", console)
    assert bound and log, console
    assert int(log[1]) >= count
    assert count * (1 + parity / 3) > 0.95 * int(bound[1])
    found = json.loads(done.stdout)
    assert found["drive_cycles"] < int(bound[2]) * 1e6
    # Twice what was measured is promised of the processor: 250 to 490 cycles for each sector that a summary tells of.
    spent = {name: cycles for name, cycles, _ in found["functions"]}
    assert 0 < spent["map_replay"] < 500 * int(log[1])


def test_greedy_is_that_of_large_superblocks() -> None:
    for victims in (0.5, 0.8, 0.9):
        share = (victims - 1) / math.log(victims)
        assert ftl_bench.greedy(share, 4096) == pytest.approx(1 / (1 - victims), rel=0.01)


@pytest.mark.parametrize("share", [0.75, 0.9])
def test_greedy_is_what_a_drive_does(share: float) -> None:
    """A drive of lists: superblocks of 16 pages, of which the one with fewest pages in use is emptied."""
    pages, superblocks = 16, 300
    rng = random.Random(1)
    blocks = int(share * superblocks * pages)
    where = [-1] * blocks
    holds: list[list[int]] = [[] for _ in range(superblocks + 3)]
    live = [0] * len(holds)
    free, closed = list(range(len(holds))), set[int]()
    current = free.pop()
    programs = 0

    def put(block: int) -> None:
        nonlocal current, programs
        if len(holds[current]) == pages:
            closed.add(current)
            current = free.pop()
            holds[current] = []
            live[current] = 0
        where[block] = current
        holds[current].append(block)
        live[current] += 1
        programs += 1

    def write(block: int) -> None:
        if where[block] >= 0:
            live[where[block]] -= 1
        where[block] = -1
        put(block)
        while len(free) < 2:
            victim = min(closed, key=live.__getitem__)
            closed.discard(victim)
            for held in dict.fromkeys(holds[victim]):
                if where[held] == victim:
                    put(held)
            free.append(victim)

    for block in range(blocks):
        write(block)
    for _ in range(2 * blocks):
        write(rng.randrange(blocks))
    programs = 0
    for _ in range(4 * blocks):
        write(rng.randrange(blocks))
    assert ftl_bench.greedy(share, pages) == pytest.approx(programs / (4 * blocks), rel=0.06)


def test_the_line_through_points() -> None:
    slope, start = ftl_bench.line([(1, 12), (2, 14), (4, 18)])
    assert (slope, start) == (pytest.approx(2), pytest.approx(10))


def test_results_lie_beside_those_of_the_paper() -> None:
    assert ftl_bench.BENCH_FOLDER == paper.BENCH_FOLDER == BUILD / "bench"


def load(*words: str) -> dict[str, Any]:
    """A load on a small drive with the times of the firmware's tests: reads 1,500 cycles, programs 3,000, erases 6,000, bus 250."""
    return ftl_bench.native([*words, "--times", "1500,3000,6000,250", "--seed", "1"])


def test_no_write_waits_for_many_victims() -> None:
    found = load("latency", "--geometry", "2x2x1x1x32x256", "--reads", "0", "--depth", "8", "--settle", "1", "--measure", "1")
    longest = max(cycles for _, cycles in found["write"])
    # To empty a superblock takes as long as a die's pages, which are read and programmed.
    victim = 256 * (1500 + 3000 + 2 * 250)
    assert longest < 4 * victim


def test_checkpoints_cost_little_beside_what_is_written() -> None:
    found = load("amplification", "--geometry", "1x1x1x1x512x32", "--settle", "1", "--measure", "0.5")
    # Two root records for each superblock of 32 sectors, and some for the map.
    assert found["metadata"] < found["data"] * (2 / 32 + 0.04)
