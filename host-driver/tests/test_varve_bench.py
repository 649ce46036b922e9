# SPDX-License-Identifier: BSD-3-Clause
"""`assasin bench varve` on the tile's RTL: a short run leaves what its readers expect, and a wrong result ends it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from assasin import (
    varve_alignment,
    varve_baseline,
    varve_bench,
    varve_counters,
    varve_datapath,
    varve_filters,
    varve_listing,
    varve_mnist,
    varve_port,
    varve_summary,
    varve_task,
    varve_tile,
    varve_traffic,
    varve_workloads,
)
from assasin.cli import cli
from assasin.tree import BUILD, ROOT
from assasin.varve_data import Window, varwidth
from assasin.varve_filters import Call
from assasin.varve_tile import VarveBenchError
from click.testing import CliRunner, Result


def command(folder: Path, *words: str) -> Result:
    with pytest.MonkeyPatch.context() as m:
        m.setattr(varve_bench, "BENCH_FOLDER", folder)
        return CliRunner().invoke(cli, ["bench", "varve", *words])


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    subprocess.run(["make", "-s", "-C", ROOT / "firmware" / "offload", "filters", "workloads"], check=True)
    subprocess.run([ROOT / "hw" / "cosim" / "kernel-tile"], check=True)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    done = command(folder, "--quick")
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())  # the width of the page breaks lines anywhere
    assert "q06l" in words and "varve.json, varve-8.10.png, varve-filters.png" in words, done.output
    return folder


def test_a_short_run_leaves_rows_and_a_plot(left: Path) -> None:
    result: dict[str, Any] = json.loads((left / "varve.json").read_text())
    assert result["quick"] and result["unit"]["vlen"] == 256
    rows = {(r["figure"], r["workload"], r["form"], r["metric"]): r for r in result["rows"]}
    assert len(rows) == len(result["rows"]), "no row twice"
    for row in rows.values():
        # Either a value, or why there is none.
        assert (row["ours"] is None) == bool(row["why"])
        assert row["unit"] and row["config"]
    for name in varve_filters.QUICK_FILTERS:
        for form in varve_filters.FORMS:
            cycles, count = rows["8.12", name, form, "cycles"]["ours"], rows["8.13", name, form, "instructions"]["ours"]
            assert 0 < count <= cycles
            assert rows["8.12", name, form, "cycles_per_row"]["ours"] == cycles / rows["8.12", name, form, "rows"]["ours"]
        best = rows["8.12", name, "zve32x-best", "speedup_over_scalar"]["ours"]
        assert best >= rows["8.12", name, "zve32x", "speedup_over_scalar"]["ours"] > 1
        assert rows["8.13", name, "zve32x", "fewer_instructions_than_scalar"]["ours"] > 1
        for metric in ("speedup_over_scalar", "speedup_over_zve32x"):
            pup = rows["8.12", name, "pup", metric]["ours"]
            assert 1 < pup <= rows["8.12", name, "pup-best", metric]["ours"]
        assert rows["8.12", name, "pup-best", "speedup_over_zve32x_best"]["ours"] > 1
        assert ("8.12", name, "zve32x-best", "speedup_over_zve32x_best") not in rows
        full = rows["8.12", name, "full", "speedup_over_scalar"]
        assert (full["paper"], full["low"], full["high"]) == (None, 2.6, 15) and full["plotted"]
        assert full["ours"] > 1 and "VarVE-full" in full["config"]
    mean = rows["8.12", "geomean", "full", "speedup_over_zve32x"]
    assert (mean["ours"], mean["paper"]) == (None, 2.1)
    assert "of the 25 filters" in rows["8.12", "geomean", "zve32x", "speedup_over_scalar"]["why"]
    assert (left / "varve-filters.png").stat().st_size > 1000 and (left / "varve-8.10.png").stat().st_size > 1000
    for w in varve_workloads.ALL:
        for form in w.forms:
            assert 0 < rows["8.10", w.name, form, "instructions"]["ours"] <= 1.01 * rows["8.10", w.name, form, "cycles"]["ours"]
        best = rows["8.10", w.name, "pup-best", "speedup_over_scalar"]["ours"]
        assert best >= rows["8.10", w.name, "pup", "speedup_over_scalar"]["ours"] > 1
        assert rows["8.10", w.name, "full", "speedup_over_scalar"]["ours"] > 1
        assert "VarVE-full" in rows["8.10", w.name, "full", "cycles"]["config"]
    raid = rows["8.10", "raid5-encode", "full", "speedup_over_zve32x"]
    assert raid["ours"] > 1 and raid["paper"] == 3.7
    for name, goal in varve_workloads.GOALS.items():
        assert rows["8.10", name, "pup-best", "speedup_over_scalar"]["ours"] > goal
        assert rows["8.10", name, "zve32x", "speedup_over_scalar"]["ours"] == 1
        assert rows["8.10", f"{name}/unrolled", "scalar", "cycles"]["ours"] < rows["8.10", name, "scalar", "cycles"]["ours"]
    assert rows["8.10", "bitpack5", "pup", "speedup_over_scalar"]["paper"] == 78
    for name in varve_mnist.VARIANTS:
        for form in varve_mnist.FORMS:
            assert rows["8.14", name, form, "cycles"]["ours"] > 0
        assert rows["8.14", name, "full", "speedup_over_zve32x"]["ours"] > 1
        pup = rows["8.14", name, "pup", "cycles"]["ours"]
        assert pup <= rows["8.14", name, "zve32x", "cycles"]["ours"]
        assert 0.9 < rows["table8.2", name, "scalar", "accuracy"]["ours"] < 1
    assert rows["8.14", "mnist-pruned", "full", "speedup_over_zve32x"]["paper"] == 2.0
    assert rows["8.8", "q03c", "zve32x", "instructions_per_iteration"]["ours"] == 16
    iterations = rows["8.8", "q03c", "full", "rows_per_iteration"]["ours"]
    assert 16 < iterations <= 32
    # The same programs, Zve32x on the tile of the other.
    raid = rows["8.10", "raid5-encode", "full", "speedup_over_zve32x"]["ours"]
    assert rows["8.17", "raid5/a8", "full", "speedup_over_zve32x"]["ours"] == pytest.approx(raid, rel=0.05)
    assert rows["8.17", "q03c/a8", "full", "speedup_over_zve32x"]["ours"] > 1
    assert rows["table8.4", "adder", "full", "carry_variants"]["ours"] == 8
    assert rows["8.18", "gan/a1", "full-model", "speedup_over_scalar"]["ours"] > 1
    assert rows["8.5", "summary", "full", "speedup_over_scalar"]["why"].endswith("geomean")
    for name in (*varve_filters.QUICK_FILTERS, *varve_baseline.WORKLOADS, *varve_mnist.VARIANTS):
        scalar, full = (rows["9.2", name, form, "speedup_over_baseline"]["ours"] for form in ("scalar", "full"))
        assert 1 < scalar < full, name
    assert rows["9.2", "mnist/warm", "baseline", "cycles"]["ours"] < rows["9.2", "mnist", "baseline", "cycles"]["ours"]
    for name in ("q06l", "bitpack5"):
        assert 0 < rows["9.2", name, "full", "bytes_per_cycle_8_cores"]["ours"] <= 64
        infinite = rows["9.2", name, "full", "bytes_per_cycle_8_cores"]["ours"]
        assert rows["9.2", f"{name}/flash", "full", "bytes_per_cycle_8_cores"]["ours"] == min(infinite, 8)
        assert 0 < rows["9.2", f"{name}/port", "full", "bytes_per_cycle_8_cores"]["ours"] <= 64.5
    mean = rows["9.2", "geomean", "full", "speedup_over_baseline"]
    assert (mean["ours"], mean["paper"], mean["why"]) == (None, 17, "3 of the 25 filters were measured")
    assert rows["10.1", "geomean", "scalar", "speedup_over_baseline"]["paper"] == 1.9
    for name in (*varve_filters.QUICK_FILTERS, "bitpack5", "raid5-encode"):
        padded, mixed = (rows["8.15", w, "pup", "bytes"]["ours"] for w in (name, f"{name}/mixed"))
        assert mixed <= padded
        traffic = rows["8.15", f"{name}/mixed", "pup", "memory_traffic_reduction"]
        assert traffic["ours"] == padded / mixed
        assert (traffic["low"], traffic["high"]) == (1.3, 4.3) and traffic["plotted"]
        # Both forms read the same streams to their ends.
        for metric in ("bytes", "memory_traffic_reduction"):
            pup, full = (rows["8.15", f"{name}/varwidth", form, metric]["ours"] for form in ("pup", "full"))
            assert pup == full
    assert rows["8.15", "raid5-encode/varwidth", "pup", "input_traffic_reduction"]["ours"] > 2.5


def counters(rows: dict[tuple[str, str, str, str], dict[str, Any]], figure: str, name: str, form: str) -> dict[str, float]:
    """A workload's, by name."""
    return {n: rows[figure, name, form, n]["ours"] for n in varve_counters.NAMES}


def test_counters_are_of_what_has_run(left: Path) -> None:
    rows = {(r["figure"], r["workload"], r["form"], r["metric"]): r for r in json.loads((left / "varve.json").read_text())["rows"]}
    described = {f["name"]: f for f in varve_filters.description()["filters"]}
    measured = [("8.12", name, form) for name in varve_filters.QUICK_FILTERS for form in ("zve32x", "pup", "full")]
    measured += [("8.10", "raid5-encode", form) for form in ("zve32x", "pup", "full")]
    for figure, name, form in measured:
        of, n = counters(rows, figure, name, form), rows[figure, name, form, "rows"]["ours"]
        assert sum(of[stage] for stage in varve_tile.STAGES) == rows[figure, name, form, "cycles"]["ours"], (name, form)
        streams = len(described[name]["inputs"]) if name in described else 4
        assert of["elements"] == {"zve32x": 0, "pup": streams * n, "full": n}[form], (name, form)
        assert (of["strips"] > 0) == (form == "full") and (of["load_beats"] > 0) == (form == "zve32x")
        assert (of["unpack_beats"] > 0) == (of["pack_beats"] > 0) == (form != "zve32x")
    assert ("8.12", "q03c", "scalar", "issued") not in rows
    # Four streams of words, 32 bytes a beat; a byte a value, 32 lanes a beat.
    raid, n = counters(rows, "8.10", "raid5-encode", "full"), rows["8.10", "raid5-encode", "full", "rows"]["ours"]
    assert raid["unpack_beats"] == 4 * 4 * n / 32 and raid["execute_beats"] == 3 * raid["strips"]
    assert 8 < rows["8.10", "raid5-encode", "full", "elements_per_strip"]["ours"] <= 32
    pack = counters(rows, "8.10", "bitpack5", "full")
    assert pack["unpack_beats"] == rows["8.10", "bitpack5", "full", "rows"]["ours"] / 32


def test_counters_that_do_not_add_up_are_found() -> None:
    counts = dict.fromkeys(varve_counters.NAMES, 0) | {"issued": 7, "wait_strip": 3}
    run = {"cycles": 9, "instructions": 7, "running": 10, "counters": counts}
    assert varve_tile.taken(run, "x").counts == counts
    with pytest.raises(VarveBenchError, match="x: the unit's counters add up to 11 cycles, the tile has run for 10"):
        varve_tile.taken(run | {"counters": counts | {"wait_unit": 1}}, "x")


@pytest.mark.parametrize("name", ["q06l", "raid5-encode"])
def test_streams_come_through_the_port_of_a_tile(name: str) -> None:
    of = varve_task.task(name, 2048, 14)
    soon, late = (varve_port.call(of, 2048, delay) for delay in (0, 3000))
    # And the greatest NumE, which VV_BEGIN reads.
    assert soon["counters"]["elements"] == late["counters"]["elements"] == 2048 + 32
    waited = late["counters"]["wait_input"] - soon["counters"]["wait_input"]
    assert 2500 < waited < 3100 and late["running"] - soon["running"] == pytest.approx(waited, abs=200)
    changed = [values.copy() for values in of.columns.values()]
    changed[-1][:] ^= 1
    with pytest.raises(VarveBenchError, match=f"{name} through the port of a tile: output 0 .* the result is wrong"):
        varve_port.call(replace(of, columns=dict(zip(of.columns, changed, strict=True))), 2048)


def calls(name: str = "q03c", rows: int = 64) -> tuple[Call, Call]:
    found = varve_filters.description()
    f = next(f for f in found["filters"] if f["name"] == name)
    window = Window(f["table"], rows)
    half, whole = (varve_filters.call(f, found["columns"], window, n) for n in (rows // 2, rows))
    return half, whole


def broken(c: Call, column: int, row: int, value: int) -> Call:
    """The same, but the tile reads another value than the one from which numpy's result is."""
    inputs = [values.copy() for values in c.inputs]
    inputs[column][row] = value
    return replace(c, inputs=inputs)


@pytest.mark.parametrize("program", ["scalar", "zve32x-m1", "zve32x-m8", "pup", "pup-m8", "full"])
def test_a_wrong_result_is_found(program: str) -> None:
    half, whole = calls()
    assert varve_filters.measure(program, half, whole).cycles > 0
    selected = np.flatnonzero(whole.inputs[0] == 1)
    other = int(np.flatnonzero(whole.inputs[0] != 1)[0])
    with pytest.raises(VarveBenchError, match=rf"q03c as {program} over 64 rows finds {whole.found + 1} rows, numpy {whole.found}"):
        varve_filters.measure(program, half, broken(whole, 0, other, 1))
    last = len(selected) - 1
    with pytest.raises(VarveBenchError, match=f"row {last} of c_custkey is 123456789, numpy says .*: the result is wrong"):
        varve_filters.measure(program, half, broken(whole, 1, int(selected[-1]), 123_456_789))
    # Rows are moved and none is lost.
    moved = broken(broken(whole, 0, int(selected[0]), 0), 0, other, 1)
    with pytest.raises(VarveBenchError, match="the result is wrong"):
        varve_filters.measure(program, half, moved)


@pytest.mark.parametrize("program", ["scalar", "zve32x-m8", "pup-e32-m8", "full"])
@pytest.mark.parametrize("name", ["bitpack15", "raid5-decode"])
def test_a_wrong_result_of_a_workload_is_found(name: str, program: str) -> None:
    w = next(w for w in varve_workloads.ALL if w.name == name)

    def data(rows: int, seed: int) -> tuple[list[varve_tile.Values], varve_tile.Values]:
        inputs, output = w.data(rows, seed)
        inputs[-1][rows - 1] ^= 1 if rows == 128 else 0
        return inputs, output

    with pytest.raises(VarveBenchError, match=f"{name} as {program}, 128 rows: byte .*: the result is wrong"):
        varve_workloads.measure(replace(w, data=data), program, 128, 14)


def width(value: int, unsigned: bool) -> int:
    """By the definition of docs/varve/isa.md 4.1."""
    if unsigned or value == 0:
        return next(w for w in range(33) if value < 2**w)
    return next(w for w in range(1, 34) if -(2 ** (w - 1)) <= value < 2 ** (w - 1))


@pytest.mark.parametrize("unsigned", [True, False])
def test_varwidth_streams_are_what_the_format_says(unsigned: bool) -> None:
    edges = [(1 << k) + d for k in range(31) for d in (-1, 0, 1)] + [2**31 - 1]
    values = edges + [2**32 - 1] if unsigned else edges + [-v for v in edges] + [-(2**31)]
    coded = varwidth(np.array(values, np.int64), unsigned)
    assert coded.widths.tolist() == [width(v, unsigned) for v in values]
    stream, at = int.from_bytes(coded.data.tobytes(), "little"), 0
    for v, w in zip(values, coded.widths.tolist(), strict=True):
        assert (stream >> at) % (1 << w) == v % (1 << w)
        at += w
    assert len(coded.data) == (at + 7) // 8 and stream >> at == 0
    with pytest.raises(ValueError, match="below 0"):
        varwidth(np.array([1, -1]), True)


def test_traffic_that_is_not_the_streams_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    w = next(w for w in varve_workloads.ALL if w.name == "raid5-encode")
    c = varve_traffic._workload_call(w, 64, 14)
    right = varve_traffic.count("raid5", c, [True, False, False, True])
    assert right.stored == 256 and 512 + 128 < right.read < 512 + 128 + 64
    with pytest.raises(VarveBenchError, match="the result is wrong"):
        varve_traffic.count("raid5", replace(c, outputs=[c.outputs[0] ^ 1]), [False] * 4)
    with pytest.raises(VarveBenchError, match="the streams moved"):
        # A stream that goes on behind what is read of it.
        longer = [varve_traffic.Column(np.append(c.columns[0].values, np.uint32(1)), True), *c.columns[1:]]
        varve_traffic.count("raid5", replace(c, columns=longer), [True, False, False, False])


def test_values_are_packed_bit_0_first() -> None:
    assert varve_workloads.packed(np.array([0x11, 0x02, 0x1F], "u1"), 5).tolist() == [0x51, 0x7C]


def test_a_loop_is_found_in_a_listing() -> None:
    found = varve_listing.loop(varve_tile.WORKLOADS / "full.elf", "bitpack5")
    # Three strips, as the branch is on the number of the one before the last: unpack, pack, VRCNUM and a branch each.
    assert len(found.words) == 12 and found.count((0x707F, 0x105B)) == 3
    with pytest.raises(VarveBenchError, match="no_such has no loop"):
        varve_listing.loop(varve_tile.WORKLOADS / "full.elf", "no_such")


def test_pages_are_of_a_board() -> None:
    with pytest.raises(VarveBenchError, match="--pages is of a board: name its configuration too, for example --board"):
        varve_bench.run(["8.10"], None, True, 14, lambda _: None, core_pages=8)


def test_a_summary_is_the_geometric_mean() -> None:
    ratios = dict(zip(varve_summary.MEMBERS, (2.0, 4.0, 8.0, 1.0, 16.0, 0.5), strict=True))
    measured = {(name, "full", "speedup_over_scalar"): ratio for name, ratio in ratios.items()}
    rows = {(r.figure, r.workload): r for r in varve_summary.run(measured, [])}
    assert rows["8.5", "summary"].ours == rows["10.1", "geomean"].ours == pytest.approx(2 ** (9 / 6))
    assert (rows["8.5", "summary-all"].ours, rows["8.5", "summary-all"].why) == (None, "not measured in this run: 25 filters")
    del measured["mnist", "full", "speedup_over_scalar"]
    assert next(iter(varve_summary.run(measured, []))).why == "not measured in this run: mnist"


def test_means_over_baseline() -> None:
    filters = [f"f{k}" for k in range(varve_filters.GROWING)]
    over = {(name, "full"): 2.0 for name in (*varve_baseline.WORKLOADS, *filters)}
    over |= {
        ("mnist", "full"): 8.0,
        ("mnist-pruned", "full"): 32.0,
        ("mnist/warm", "full"): 2.0,
        ("mnist-pruned/warm", "full"): 2.0,
    }
    over[filters[0], "full"], over[filters[1], "full"] = 8.0, 0.5
    found = {(r.workload, r.metric): r.ours for r in varve_baseline.summary(over, filters) if r.form == "full"}
    assert found["filters", "speedup_over_baseline"] == pytest.approx(2 ** ((23 + 3 - 1) / 25))
    assert (found["filters", "least_speedup_over_baseline"], found["filters", "greatest_speedup_over_baseline"]) == (0.5, 8.0)
    over[filters[0], "full"], over[filters[1], "full"] = 2.0, 2.0
    rows = {(r.workload, r.form): r for r in varve_baseline.summary(over, filters)}
    assert rows["geomean", "full"].ours == pytest.approx(2 ** ((3 + 1 + 3 + 5) / 6))
    assert rows["geomean-all", "full"].ours == pytest.approx(2 ** ((3 + 25 + 3 + 5) / 30))
    assert rows["geomean/warm", "full"].ours == pytest.approx(2)
    assert rows["geomean", "full"].paper == 17 and (rows["geomean", "scalar"].ours, rows["geomean", "scalar"].paper) == (None, 1.9)
    del over["mnist-pruned", "full"]
    found = {(r.workload, r.form): r for r in varve_baseline.summary(over, filters)}
    assert found["geomean", "full"].why == "not measured in this run: mnist-pruned"


def test_eight_cores_take_what_their_ports_give() -> None:
    assert varve_baseline.bytes_per_cycle(800, 10, 400) == 16
    assert varve_baseline.bytes_per_cycle(800, 10, 1) == 64
    assert varve_baseline.bytes_per_cycle(800, 1600, 1) == 32


@pytest.mark.parametrize("program", varve_baseline.PROGRAMS)
def test_a_wrong_result_on_baseline_is_found(program: str) -> None:
    half, whole = calls()
    slow = varve_filters.measure(program, half, whole, varve_tile.BASELINE_TILE)
    fast = varve_filters.measure(program.replace("baseline", "scalar"), half, whole)
    # The same instructions, but for the misses in the caches.
    assert slow.instructions == fast.instructions and slow.cycles > fast.cycles
    other = int(np.flatnonzero(whole.inputs[0] != 1)[0])
    with pytest.raises(VarveBenchError, match=rf"q03c as {program} over 64 rows finds {whole.found + 1} rows, numpy {whole.found}"):
        varve_filters.measure(program, half, broken(whole, 0, other, 1), varve_tile.BASELINE_TILE)


def test_a_program_for_another_start_traps_on_baseline() -> None:
    # Its start writes a CSR of stream instructions, which Baseline has not.
    with pytest.raises(VarveBenchError, match="q03c as scalar over 32 rows does not end well"):
        varve_filters.measure("scalar", *calls(), varve_tile.BASELINE_TILE)


def test_each_size_of_the_datapath(monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run([ROOT / "hw" / "cosim" / "kernel-tile", "AssasinVf-d128"], check=True)
    missing = varve_tile.TILES / "nothing" / "kernel_tile"
    monkeypatch.setitem(varve_datapath.SIZES, 512, missing)
    rows = {(r.workload, r.form, r.metric): r for r in varve_datapath.run(("q03c",), True, 14, lambda _: None)}
    # Scalar code does not see the data path; vectors of twice the size take about half of the cycles.
    assert rows["q03c/d128", "scalar", "cycles"].ours == rows["q03c", "scalar", "cycles"].ours
    for form in ("zve32x", "pup", "full"):
        narrow, wide = (rows[name, form, "cycles"].ours for name in ("q03c/d128", "q03c"))
        assert narrow is not None and wide is not None and 1.6 < narrow / wide < 2.4
    assert rows["geomean/d128", "full", "speedup_over_zve32x"].why == "1 of the 25 filters were measured"
    assert rows["geomean/d512", "full", "speedup_over_zve32x"].why == (
        "build/cosim/nothing/kernel_tile is not there: build it with hw/cosim/kernel-tile nothing"
    )
    with pytest.raises(VarveBenchError, match="the result is wrong"):
        half, whole = calls()
        varve_filters.measure(
            "full", half, broken(whole, 1, int(np.flatnonzero(whole.inputs[0] == 1)[0]), 9), varve_datapath.SIZES[128]
        )


def row(figure: str, name: str, form: str, metric: str, ours: float) -> varve_tile.Row:
    return varve_tile.Row(figure, name, form, metric, ours, None, "1")


def test_means_are_measured_with_what_they_are_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for figure 9.2 alone: full is 8 times scalar, and that twice Baseline, but the networks are four times as fast."""
    growing = [f["name"] for f in varve_filters.description()["filters"] if f["grows"]]

    def measured(figure: str, names: list[str], scale: float) -> list[varve_tile.Row]:
        return [row(figure, n, form, "cycles", c / scale) for n in names for form, c in (("scalar", 800.0), ("full", 100.0))]

    monkeypatch.setattr(varve_bench, "BENCH_FOLDER", tmp_path)
    monkeypatch.setattr(varve_filters, "run", lambda *_: measured("8.12", growing, 1))
    monkeypatch.setattr(varve_workloads, "run", lambda *_: measured("8.10", list(varve_baseline.WORKLOADS), 1))
    monkeypatch.setattr(varve_mnist, "run", lambda *_: measured("8.14", list(varve_mnist.VARIANTS), 4))
    taken = varve_tile.Measured("baseline", 1600, 100, 0)
    monkeypatch.setattr(varve_filters, "measure", lambda *_: taken)
    monkeypatch.setattr(varve_workloads, "measure", lambda *_, **__: taken)
    monkeypatch.setattr(varve_baseline, "_network", lambda *_: taken)
    result = varve_bench.run(["9.2"], None, False, 14, lambda _: None)
    rows = {(r["figure"], r["workload"], r["form"], r["metric"]): r["ours"] for r in result["rows"]}
    assert rows["9.2", "geomean", "full", "speedup_over_baseline"] == pytest.approx(16 * 4 ** (2 / 6))
    assert rows["9.2", "geomean-all", "full", "speedup_over_baseline"] == pytest.approx(16 * 4 ** (2 / 30))
    assert rows["10.1", "geomean", "scalar", "speedup_over_baseline"] == pytest.approx(2 * 4 ** (2 / 6))
    assert rows["9.2", "filters", "full", "speedup_over_baseline"] == pytest.approx(16)


def test_slots_of_each_size(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = varve_tile.TILES / "nothing" / "kernel_tile"
    monkeypatch.setattr(varve_alignment, "SIZES", {8: varve_alignment.SIZES[8], 4: missing})
    rows = {(r.workload, r.form, r.metric): r for r in varve_alignment.run(None, True, 14, lambda _: None)}
    for name in ("raid5", *varve_alignment.FILTERS):
        slow, fast = (rows[f"{name}/a8", form, "cycles"].ours for form in ("zve32x", "full"))
        assert slow is not None and fast is not None
        assert rows[f"{name}/a8", "full", "speedup_over_zve32x"].ours == slow / fast > 1
        assert rows[f"{name}/a4", "full", "speedup_over_zve32x"].why == (
            "build/cosim/nothing/kernel_tile is not there: build it with hw/cosim/kernel-tile nothing"
        )
    # A tile that computes something else ends the bench.
    make = varve_filters.call
    monkeypatch.setattr(varve_filters, "call", lambda *words: broken(make(*words), 1, 0, 7) if words[3] > 64 else make(*words))
    with pytest.raises(VarveBenchError, match="the result is wrong"):
        list(varve_alignment.run(["q22c"], True, 14, lambda _: None))


def test_tiles_are_built_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    monkeypatch.setattr(varve_bench, "BENCH_FOLDER", tmp_path)
    monkeypatch.setattr(varve_bench, "build", lambda tile: built.append(tile.parent.name))
    for module in (varve_alignment, varve_datapath):
        monkeypatch.setattr(module, "run", lambda *_: iter(()))
    varve_bench.run(["8.16"], None, True, 14, lambda _: None, builds=True)
    assert built == ["AssasinVf-d128", "AssasinVf", "AssasinVf-d512"]
    built.clear()
    varve_bench.run(["8.17"], None, True, 14, lambda _: None, builds=True)
    assert built == ["AssasinVf", "AssasinVf-a4", "AssasinVf-a2", "AssasinVf-a1"]
    built.clear()
    varve_bench.run(["8.17"], None, True, 14, lambda _: None)
    assert built == []
    with pytest.raises(VarveBenchError, match=r"kernel-tile AssasinVf-x: .*there is no tile AssasinVf-x"):
        varve_tile.build(varve_tile.TILES / "AssasinVf-x" / "kernel_tile")


def test_a_wrong_result_ends_the_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = varve_filters.call
    monkeypatch.setattr(varve_filters, "call", lambda *words: broken(make(*words), 1, 0, 7) if words[3] > 64 else make(*words))
    done = command(tmp_path, "--quick", "--filters", "q22c")
    assert done.exit_code != 0
    assert "q22c as scalar over 128 rows" in done.output and "the result is wrong" in done.output
    assert not (tmp_path / "varve.json").exists()


def test_what_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = command(tmp_path, "--filters", "q06l,q99x")
    assert done.exit_code != 0 and "there is no filter q99x; there are q01l," in done.output
    missing = BUILD / "cosim" / "nothing"
    monkeypatch.setattr(varve_tile, "TILE", missing)
    monkeypatch.setattr(varve_tile, "BUILDS", {missing: "hw/cosim/kernel-tile"})
    done = command(tmp_path, "--quick", "--filters", "q06l")
    assert "build/cosim/nothing is not there: build it with hw/cosim/kernel-tile" in done.output
    assert command(tmp_path, "--seed", "-1").exit_code == 2
    assert "there is no figure 8.99; there are 8.12," in command(tmp_path, "--figure", "8.10,8.99").output


def test_columns_are_what_the_description_says() -> None:
    found = varve_filters.description()
    tables = {f["inputs"][0][:2]: f["table"] for f in found["filters"]}
    for name, column in found["columns"].items():
        for window in range(2):
            values = Window(tables[name[:2]], 5000, window=window, windows=2).column(name)
            assert len(values) == 5000
            assert column["min"] <= values.min() and values.max() <= column["max"], name
    # Whatever is made first, and however many rows: the same values.
    late = Window("lineitem", 500)
    late.column("l_extendedprice")
    assert (late.column("l_receiptdate") == Window("lineitem", 500).column("l_receiptdate")).all()
    assert (late.column("l_receiptdate") != Window("lineitem", 500, seed=15).column("l_receiptdate")).any()


def test_selectivities() -> None:
    """Shares of rows from docs/varve/bench.md 2.3, which are of SF 10."""
    found = varve_filters.description()
    shares = {"q01l": 98.64, "q02p": 0.36, "q03c": 19.72, "q03o": 48.37, "q03l": 54.06, "q04o": 3.87, "q05o": 15.28, "q06l": 1.93}
    shares |= {"q07l": 30.0, "q08p": 0.73, "q09p": 5.52, "q10l": 24.65, "q12l": 4.37, "q14l": 1.18, "q15l": 3.77, "q16p": 14.83}
    shares |= {"q19l": 2.21, "q19p": 0.21, "q20p": 1.11, "q20l": 15.31, "q21o": 48.6, "q22c": 90.87, "q07n": 8.0, "q02r": 20.0}
    n = 50_000
    for name, share in shares.items():
        f = next(f for f in found["filters"] if f["name"] == name)
        ours = varve_filters.call(f, found["columns"], Window(f["table"], n, window=3, windows=8), n).found / n
        # Lines of an order have its date, so they are fewer draws than rows.
        assert abs(ours - share / 100) < 8 * (share / 100 * (1 - share / 100) / n) ** 0.5 + 0.001, f"{name}: {100 * ours:.2f} %"


def test_rows_fit_the_scratchpad() -> None:
    found = varve_filters.description()
    for f in found["filters"]:
        rows = varve_filters.rows_of(f, found["columns"], quick=False)
        assert rows == {"nation": 1600, "region": 320}.get(f["table"], 1024)
