# SPDX-License-Identifier: BSD-3-Clause
"""The plot of `assasin bench varve`: a bar a filter and form, the dissertation's stated mean as a mark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assasin.varve_bench import FORMS, filters_of, values

PANELS = {
    "speedup_over_scalar": "Figure 8.12: scalar cycles over the form's",
    "fewer_instructions_than_scalar": "Figure 8.13: scalar instructions over the form's",
}


def plot(result: dict[str, Any], folder: Path) -> Path:
    """Writes varve-filters.png."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows, names = values(result), filters_of(result)
    forms = [form for form in FORMS if form != "scalar"]
    width = 0.8 / len(forms)
    drawing, axes = pyplot.subplots(len(PANELS), 1, figsize=(13, 8), layout="constrained")
    note = f"{result['board']}, commit {result['commit'][:12]}" + (", quick" if result["quick"] else "")
    drawing.suptitle(f"Filters of TPC-H on one core with a vector unit, {note}", fontsize=10)
    for axis, (metric, title) in zip(axes, PANELS.items(), strict=True):
        stated = False
        for i, form in enumerate(forms):
            at = [k + (i - (len(forms) - 1) / 2) * width for k in range(len(names))]
            axis.bar(at, [rows[name, form, metric]["ours"] for name in names], width, color=f"C{i}", label=form)
            for x, name in zip(at, names, strict=True):
                paper = rows[name, form, metric]["paper"]
                if paper is not None:
                    label = None if stated else "stated by the dissertation"
                    axis.plot([x - width / 2, x + width / 2], [paper, paper], color="black", lw=2, label=label)
                    stated = True
        axis.set_xticks(range(len(names)), names, rotation=60 if len(names) > 8 else 0, fontsize=8)
        axis.axhline(1, color="grey", lw=0.5)
        axis.set_ylabel("times")
        axis.set_title(title, fontsize=9)
        axis.legend(fontsize=8)
    path = folder / "varve-filters.png"
    drawing.savefig(path, dpi=120)
    pyplot.close(drawing)
    return path
