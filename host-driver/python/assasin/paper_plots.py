# SPDX-License-Identifier: BSD-3-Clause
"""The plots of `assasin bench paper`: one for each of the paper's figures, ours as bars, the paper's stated values as marks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assasin.paper import FIGURES, Row

# The metrics that a figure shows, a panel each.
PANELS: dict[str, tuple[str, ...]] = {
    "fig5": ("share_",),
    "fig13": ("bytes_per_cycle", "speedup_over_baseline"),
    "fig14": ("bytes_per_cycle", "speedup_over_baseline"),
    "fig16": ("bytes_per_cycle",),
    "fig17": ("utilisation", "normalised_utilisation"),
    "fig18": ("share_of_load",),
    "fig19": ("normalised_throughput",),
    "dram": ("dram_bytes_per_flash_byte",),
}
TITLES = {
    "fig5": "Cycle decomposition of Filter on one core",
    "fig13": "Throughput of standalone functions",
    "fig14": "Throughput of Parse-Select-Filter by query",
    "fig16": "Throughput by cores, scan",
    "fig17": "Core utilisation, scan",
    "fig18": "Load by flash channel, scan on all cores",
    "fig19": "Throughput by skew of the layout",
    "dram": "DRAM bytes per flash byte",
}


def plot(rows: Sequence[Row], folder: Path, note: str) -> list[Path]:
    """Writes FIGURE.png for every figure that has rows. `note`: what it was measured on, printed in each."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = []
    for figure in FIGURES:
        mine = [r for r in rows if r.figure == figure and r.ours is not None]
        panels = [m for m in PANELS[figure] if any(_shown(r, m) for r in mine)]
        if not panels:
            continue
        drawing, axes = pyplot.subplots(len(panels), 1, figsize=(11, 4 * len(panels)), squeeze=False, layout="constrained")
        drawing.suptitle(f"{TITLES[figure]}\n{note}", fontsize=10)
        for axis, metric in zip(axes[:, 0], panels, strict=True):
            _bars(axis, [r for r in mine if _shown(r, metric)], metric)
        path = folder / f"{figure}.png"
        drawing.savefig(path, dpi=120)
        pyplot.close(drawing)
        made.append(path)
    return made


def _shown(row: Row, metric: str) -> bool:
    return row.metric.startswith(metric) if metric.endswith("_") else row.metric == metric


def _bars(axis: object, rows: Sequence[Row], metric: str) -> None:
    """A group of bars for every workload (every share, where a metric has several), one bar a configuration."""
    shares = metric.endswith("_")
    groups = list(dict.fromkeys(r.metric.removeprefix(metric) if shares else r.workload for r in rows))
    configs = list(dict.fromkeys(r.config for r in rows))
    width = 0.8 / len(configs)
    for i, config in enumerate(configs):
        for r in (r for r in rows if r.config == config):
            at = groups.index(r.metric.removeprefix(metric) if shares else r.workload) + (i - (len(configs) - 1) / 2) * width
            axis.bar(at, r.ours, width, color=f"C{i}")  # type: ignore[attr-defined]
            if r.paper is not None:
                axis.plot([at - width / 2, at + width / 2], [r.paper, r.paper], color="black", lw=2)  # type: ignore[attr-defined]
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[object] = [Patch(color=f"C{i}", label=c) for i, c in enumerate(configs)]
    if any(r.paper is not None for r in rows):
        keys.append(Line2D([], [], color="black", lw=2, label="stated by the paper"))
    axis.legend(handles=keys, fontsize=8)  # type: ignore[attr-defined]
    axis.set_xticks(range(len(groups)), groups, rotation=30 if len(groups) > 8 else 0, fontsize=8)  # type: ignore[attr-defined]
    unit = next(r.unit for r in rows)
    axis.set_ylabel(f"{metric.rstrip('_')} [{unit}]")  # type: ignore[attr-defined]
