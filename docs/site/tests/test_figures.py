# SPDX-License-Identifier: BSD-3-Clause
"""Figures and plots: what is committed is what is drawn, and a plot shows no figure that the page it names does not state."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import charts
import figures
import pytest

ROOT = Path(__file__).resolve().parents[3]
RESULTS = charts.results(ROOT)


@pytest.mark.parametrize("name", figures.FIGURES)
def test_a_committed_figure_is_what_is_drawn(name: str) -> None:
    drawn = figures.FIGURES[name]()
    assert (ROOT / f"docs/figures/{name}.svg").read_text() == drawn, "scripts/docs --draw draws it again"
    assert ET.fromstring(drawn).tag.endswith("svg")


def test_the_committed_plot_is_what_is_drawn() -> None:
    result = next(r for r in RESULTS if r.name == "paper-speedup")
    assert (ROOT / "docs/figures/paper-speedup.svg").read_text() == charts.plot(result), "scripts/docs --draw draws it again"


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: r.name)
def test_every_figure_is_stated_where_it_says(result: charts.Result) -> None:
    stated = {float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", (ROOT / result.stated_in).read_text())}
    assert [v for values in result.series.values() for v in values if v is not None and v not in stated] == []
    assert {len(values) for values in result.series.values()} == {len(result.groups)}
    assert (
        re.match(r"[0-9a-f]{6,}", result.commit)
        and re.fullmatch(r"2026-\d\d-\d\d", result.date)
        and result.command
        and result.config
    )


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: r.name)
def test_a_plot_has_a_bar_for_each_figure(result: charts.Result) -> None:
    drawn = ET.fromstring(charts.plot(result))
    values = [v for series in result.series.values() for v in series if v is not None]
    bars = [r for r in drawn.iter("{http://www.w3.org/2000/svg}rect") if r.get("fill") in charts.COLOURS]
    assert len(bars) == len(values) + len(result.series)
    assert all(float(r.get("height", "0")) > 0 for r in bars)
