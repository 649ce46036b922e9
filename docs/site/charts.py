# SPDX-License-Identifier: BSD-3-Clause
"""Plots and pages of results: docs/results/NAME.json has figures that were measured, with configuration, command and commit."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from drawing import Drawing

COLOURS = ("#3557a8", "#e0902f", "#4a9a5c", "#9a5cab", "#8a8f99", "#c0504d")


@dataclass(frozen=True)
class Result:
    """A file of results. `values` has a list for each series, with None where there is no figure."""

    name: str
    page: str
    title: str
    unit: str
    config: str
    command: str
    commit: str
    date: str
    stated_in: str
    note: str
    groups: list[str]
    series: dict[str, list[float | None]]
    log: bool = False


def results(root: Path) -> list[Result]:
    """All of them, by name."""
    found = sorted((root / "docs/results").glob("*.json"))
    return [Result(name=p.stem, **json.loads(p.read_text(encoding="utf-8"))) for p in found]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def plot(result: Result) -> str:
    """Bars, a group beside the other, with their figures above them."""
    many = len(result.series)
    wide = max(24, min(40, 560 // (many * len(result.groups))))
    group = wide * many + 26
    left, top, height = 64, 74, 250
    width = max(left + group * len(result.groups) + 20, 560)
    d = Drawing(width, top + height + 74, result.title)
    d.text(width / 2, 22, result.title, 15, bold=True)
    d.text(width / 2, 40, f"{result.unit}; {result.config}", 11, colour="#556")
    flat = [v for values in result.series.values() for v in values if v is not None]
    high, low = max(flat), (10 ** math.floor(math.log10(min(flat))) if result.log else 0.0)

    def y(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if result.log else value / high
        return top + height * (1 - share)

    steps = [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)] if result.log else []
    if not result.log:
        step = 10 ** math.floor(math.log10(high))
        step = step / 2 if high / step < 3 else step
        steps = [i * step for i in range(math.floor(high / step) + 1)]
    for tick in steps:
        if low <= tick <= high:
            d.line([(left, y(tick)), (width - 12, y(tick))], "#dde", 1, "none")
            d.text(left - 6, y(tick) + 4, f"{tick:g}", 11, "end")
    for s, (name, values) in enumerate(result.series.items()):
        for g, value in enumerate(values):
            if value is None:
                continue
            x = left + 13 + g * group + s * wide
            tall = top + height - y(value)
            d.shapes.append(f"<rect x='{x + 2:g}' y='{y(value):.1f}' width='{wide - 4}' height='{tall:.1f}' fill='{COLOURS[s]}'/>")
            d.text(x + wide / 2, y(value) - 4, _number(value), 9.5)
        x = left + s * max(110, (width - left) // many)
        d.shapes.append(f"<rect x='{x:g}' y='{top + height + 52}' width='11' height='11' fill='{COLOURS[s]}'/>")
        d.text(x + 16, top + height + 62, name, 11.5, "start")
    d.line([(left, top + height), (width - 12, top + height)], arrow="none")
    for g, name in enumerate(result.groups):
        d.text(left + g * group + group / 2, top + height + 16, name, 11)
    return d.svg()


def page(title: str, found: list[Result]) -> str:
    """The page of results with plots, tables, and the command that makes each."""
    out = [
        f"# {title}",
        "Each figure was measured as said below it, on simulated or emulated hardware. None was measured on an FPGA. "
        "The page named at *stated in* says more, and under which conditions a figure holds.",
    ]
    for r in found:
        head = " | ".join(["", *r.series])
        rows = [
            " | ".join([g.replace("\n", " "), *("" if v[i] is None else f"{v[i]:g}" for v in r.series.values())])
            for i, g in enumerate(r.groups)
        ]
        out += [
            f"## {r.title}",
            f"![{r.title}](plots/{r.name}.svg)",
            f"| {head} |\n|{'---|' * (len(r.series) + 1)}\n" + "\n".join(f"| {row} |" for row in rows),
            r.note,
            f"- unit: {r.unit}\n- configuration: {r.config}\n- command: `{r.command}`\n- commit {r.commit}, {r.date}\n"
            f"- stated in [{r.stated_in}](../{r.stated_in})",
        ]
    return "\n\n".join(x for x in out if x) + "\n"
