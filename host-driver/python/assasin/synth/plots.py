# SPDX-License-Identifier: BSD-3-Clause
"""The plots of `assasin bench efficiency`: ours as bars, the values that the paper's text states as marks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assasin.paper import Row

# Figure to title and (metrics, workload or None for all) of its panels.
FIGURES: dict[str, tuple[str, tuple[tuple[tuple[str, ...], str | None], ...]]] = {
    "table5": (
        "Power and area of eight tiles and crossbar, scaled to Table V's core and SRAM",
        ((("power",), "all"), (("area",), "all")),
    ),
    "fig20": (
        "Slowest paths into and out of a tile's data memories, ns without wires",
        ((("into", "out_of", "slowest", "period"), None),),
    ),
    "fig21": ("Speed-up over Baseline at the clock that the tiles' logic allows", ((("adjusted_speedup",), None),)),
    "fig22": (
        "Speed-up, power efficiency and area efficiency over Baseline",
        ((("speedup", "power_efficiency", "area_efficiency"), "geomean"),),
    ),
}


def plot(rows: Sequence[Row], folder: Path, note: str) -> list[Path]:
    """Writes FIGURE.png for every figure that has rows. `note`: where the rates are from, printed in each."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for figure, (title, panels) in FIGURES.items():
        mine = [r for r in rows if r.figure == figure and r.ours is not None]
        if not mine:
            continue
        drawing, axes = pyplot.subplots(len(panels), 1, figsize=(11, 4 * len(panels)), squeeze=False, layout="constrained")
        drawing.suptitle(f"{title}\n{note}", fontsize=10)
        for axis, (metrics, workload) in zip(axes[:, 0], panels, strict=True):
            shown = [r for r in mine if r.metric in metrics and workload in (None, r.workload)]
            _bars(axis, shown, by_metric=workload is not None)
        path = folder / f"{figure}.png"
        drawing.savefig(path, dpi=120)
        pyplot.close(drawing)
        made.append(path)
    return made


def _bars(axis: Any, rows: Sequence[Row], by_metric: bool) -> None:  # noqa: ANN401
    """A group of bars for every metric (or workload and metric), one bar a configuration."""

    def group(r: Row) -> str:
        return r.metric if by_metric else f"{r.workload}\n{r.metric}"

    groups = list(dict.fromkeys(group(r) for r in rows))
    configs = list(dict.fromkeys(r.config for r in rows))
    width = 0.8 / len(configs)
    for i, config in enumerate(configs):
        mine = [r for r in rows if r.config == config]
        at = [groups.index(group(r)) + (i - (len(configs) - 1) / 2) * width for r in mine]
        axis.bar(at, [r.ours for r in mine], width, label=config)
        stated = [(x, r.paper) for x, r in zip(at, mine, strict=True) if r.paper is not None]
        if stated:
            axis.plot(*zip(*stated, strict=True), "k_", markersize=12, markeredgewidth=2, label=f"{config}, paper")
    axis.set_xticks(range(len(groups)), groups, fontsize=8)
    axis.set_ylabel("over Baseline" if rows[0].unit == "1" else rows[0].unit)
    axis.legend(fontsize=7)
