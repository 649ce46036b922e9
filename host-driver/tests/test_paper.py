# SPDX-License-Identifier: BSD-3-Clause
"""
`assasin bench paper` at a small size on the 2x2 board of every architecture: all results are right, every figure is there, and the
architectures differ the way they must whatever the size.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from assasin import paper, paper_plots, paper_stated
from assasin.tree import ROOT

CONFIGS = [f"{a}2x2" for a in paper_stated.ARCHITECTURES]
MISSING = [c for c in CONFIGS if not (ROOT / "build" / "board" / c / "assasin-board").exists()]

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(bool(MISSING), reason=f"needs scripts/build-board {' '.join(MISSING)}"),
]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as m:
        m.setattr(paper, "BENCH_FOLDER", folder)
        made = paper.run(CONFIGS, paper.FIGURES, "test", quick=True, build_boards=False)
    assert json.loads((folder / "paper.json").read_text()) == made
    return made


@pytest.fixture(scope="module")
def value(result: dict[str, Any]) -> dict[tuple[str, str, str, str], float]:
    rows = paper.rows_of(result)
    keys = {(r.figure, paper.architecture(r.config), r.workload, r.metric): r.ours for r in rows if r.ours is not None}
    assert len(keys) == sum(r.ours is not None for r in rows), "no row twice"
    return keys


def test_every_figure_covers_its_architectures(result: dict[str, Any]) -> None:
    rows = paper.rows_of(result)
    for config in CONFIGS:
        for figure in paper.needed(config, paper.FIGURES):
            assert any(r.figure == figure and r.config == config for r in rows), (figure, config)
    assert result["geometry"]["cores"] == result["geometry"]["channels"] == 2
    assert result["profile"] == "test"


def test_streams_beat_caches(value: dict[tuple[str, str, str, str], float]) -> None:
    for workload in ("stat", "raid4", "raid6"):
        assert value["fig13", "AssasinSb", workload, "speedup_over_baseline"] > 1.3, workload
        assert value["fig13", "AssasinSb", workload, "speedup_over_sp"] > 1.05, workload
        assert value["fig13", "AssasinSbCache", workload, "speedup_over_sb"] == pytest.approx(1, abs=0.05), workload
    assert value["fig14", "AssasinSb", "psf", "speedup_over_baseline"] > 1.3
    assert value["fig13", "AssasinSbX", "aes", "speedup_over_sb"] > 2
    assert value["fig5", "Baseline", "filter", "share_memory"] > 0.2
    assert value["fig13", "Prefetch", "stat", "share_memory"] < value["fig13", "Baseline", "stat", "share_memory"]


def test_only_caches_take_pages_through_dram(value: dict[tuple[str, str, str, str], float]) -> None:
    for arch in ("Baseline", "Prefetch"):
        assert value["dram", arch, "stat", "dram_bytes_per_flash_byte"] >= 2
    for arch in ("AssasinSp", "AssasinSb", "AssasinSbCache"):
        assert value["dram", arch, "stat", "dram_bytes_per_flash_byte"] < 0.05


def test_the_crossbar_pools_cores_when_the_layout_is_skewed(value: dict[tuple[str, str, str, str], float]) -> None:
    assert value["fig19", "AssasinSb", "aes at skew 1", "normalised_throughput"] > 0.9
    assert value["fig19", "ChannelLocal", "aes at skew 1", "normalised_throughput"] < 0.65
    assert value["fig19", "AssasinSb", "aes at skew 1", "crossbar_over_channel_local"] > 1.5


def test_load_is_even_over_the_channels(value: dict[tuple[str, str, str, str], float]) -> None:
    for channel in range(2):
        assert value["fig18", "AssasinSb", f"channel {channel}", "share_of_load"] == pytest.approx(0.5, abs=0.05)


def test_a_plot_for_every_figure(result: dict[str, Any], tmp_path: Path) -> None:
    made = paper_plots.plot(paper.rows_of(result), tmp_path, "a test")
    assert [p.stem for p in made] == list(paper.FIGURES)
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in made)


@pytest.mark.parametrize(("skew", "counts"), [(0, [8] * 8), (0.25, [22] + [6] * 7), (1, [64] + [0] * 7)])
def test_skew_as_the_paper_defines_it(skew: float, counts: list[int]) -> None:
    assert paper.skewed_counts(skew, 64, 8) == counts
