# SPDX-License-Identifier: BSD-3-Clause
"""Power over time as a picture: rails stacked, phases shaded, a panel for each source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assasin import later
from assasin.power.phases import OTHER, flatten
from assasin.power.sources import Watched
from assasin.power.trace import Floats, Trace

if TYPE_CHECKING:
    import numpy as np
else:
    np = later.module("numpy")

_SHADES = {"offload": "tab:green", "write": "tab:orange", "read": "tab:blue"}
_MOST_STEPS = 400
"""Intervals drawn: more are put together."""


def steps(trace: Trace, begin: float, end: float) -> tuple[Floats, dict[str, Floats]]:
    """Edges and mean powers of at most _MOST_STEPS intervals; time that is shorter than a step keeps its energy."""
    inside = trace.edges[(trace.edges > begin) & (trace.edges < end)]
    edges = np.concatenate(([begin], inside, [end]))
    if len(edges) > _MOST_STEPS + 1:
        edges = np.linspace(begin, end, _MOST_STEPS + 1)
    edges = np.unique(edges)
    at = trace.edges
    means = {}
    for rail, watts in trace.watts.items():
        energy = np.concatenate(([0.0], np.cumsum(watts * np.diff(at))))
        means[rail] = np.diff(np.interp(edges, at, energy)) / np.diff(edges)
    return edges, means


def plot(watched: Sequence[Watched], path: Path, note: str) -> None:
    """Writes the picture. `note`: the command and what it ran on."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(watched), 1, figsize=(11, 4.2 * len(watched)), squeeze=False, layout="constrained")
    figure.suptitle(note, fontsize=9)
    for axis, w in zip(axes[:, 0], watched, strict=True):
        edges, means = steps(w.trace, w.begin, w.end)
        unit, scale = ("ms", 1e3) if w.end - w.begin < 1 else ("s", 1.0)
        x = np.repeat((edges - w.begin) * scale, 2)[1:-1]
        largest = sorted(means, key=lambda rail: -float(np.mean(means[rail])))
        axis.stackplot(x, *[np.repeat(means[rail], 2) for rail in largest], labels=largest, step=None, linewidth=0)
        for span in flatten(w.spans, w.begin, w.end):
            if span.what != OTHER:
                axis.axvspan(
                    (span.begin - w.begin) * scale, (span.end - w.begin) * scale, ymin=0.97, color=_SHADES[span.what], lw=0
                )
        if w.idle_w is not None:
            axis.axhline(w.idle_w, color="black", linestyle=":", linewidth=0.8, label="idle")
        axis.set(xlabel=f"{w.time} time, {unit}", ylabel="W", title=f"{w.source} ({w.kind})", ylim=(0, None))
        axis.margins(x=0)
        handles, labels = axis.get_legend_handles_labels()
        shown = {s.what for s in w.spans}
        handles += [pyplot.Rectangle((0, 0), 1, 1, color=_SHADES[what]) for what in _SHADES if what in shown]
        labels += [f"phase {what}" for what in _SHADES if what in shown]
        axis.legend(handles, labels, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    new = path.with_suffix(".new.png")
    figure.savefig(new, dpi=120)
    pyplot.close(figure)
    new.replace(path)
