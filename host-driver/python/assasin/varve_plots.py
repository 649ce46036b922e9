# SPDX-License-Identifier: BSD-3-Clause
"""Plots of `assasin bench varve`: a bar a workload and form, what the dissertation states as a mark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assasin import varve_workloads
from assasin.varve_bench import filters_of, values
from assasin.varve_filters import FORMS

PANELS = {
    "speedup_over_scalar": "Figure 8.12: scalar cycles over the form's",
    "fewer_instructions_than_scalar": "Figure 8.13: scalar instructions over the form's",
}


def plots(result: dict[str, Any], folder: Path) -> list[Path]:
    """Writes varve-8.10.png and varve-filters.png, as far as they were measured."""
    rows = values(result)
    names = [w.name for w in varve_workloads.ALL if (w.name, "scalar", "cycles") in rows]
    drawn = []
    if names:
        panels = {"speedup_over_scalar": "Figure 8.10: scalar cycles over the form's"}
        drawn.append(_plot(result, folder / "varve-8.10.png", "Bitpacking and RAID5", names, panels, log=True))
    if filters_of(result):
        drawn.append(_plot(result, folder / "varve-filters.png", "Filters of TPC-H", filters_of(result), PANELS, log=False))
    return drawn


def _plot(result: dict[str, Any], path: Path, title: str, names: list[str], panels: dict[str, str], *, log: bool) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = values(result)
    forms = [form for form in FORMS if form != "scalar"]
    width = 0.8 / len(forms)
    drawing, axes = pyplot.subplots(len(panels), 1, figsize=(13, 4 * len(panels)), layout="constrained", squeeze=False)
    note = f"{result['board']}, commit {result['commit'][:12]}" + (", quick" if result["quick"] else "")
    drawing.suptitle(f"{title} on one core with a vector unit, {note}", fontsize=10)
    for axis, (metric, heading) in zip(axes[:, 0], panels.items(), strict=True):
        stated = False
        for i, form in enumerate(forms):
            at = [k + (i - (len(forms) - 1) / 2) * width for k in range(len(names))]
            has = [(x, rows[name, form, metric]) for x, name in zip(at, names, strict=True) if (name, form, metric) in rows]
            axis.bar([x for x, _ in has], [r["ours"] or 0 for _, r in has], width, color=f"C{i}", label=form)
            for x, r in has:
                paper = r["paper"]
                if paper is not None:
                    label = None if stated else "stated by the dissertation"
                    axis.plot([x - width / 2, x + width / 2], [paper, paper], color="black", lw=2, label=label)
                    stated = True
        axis.set_xticks(range(len(names)), names, rotation=60 if len(names) > 8 else 0, fontsize=8)
        axis.axhline(1, color="grey", lw=0.5)
        axis.set_ylabel("times")
        axis.set_title(heading, fontsize=9)
        if log:
            axis.set_yscale("log")
        axis.legend(fontsize=8)
    drawing.savefig(path, dpi=120)
    pyplot.close(drawing)
    return path
