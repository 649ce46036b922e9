# SPDX-License-Identifier: BSD-3-Clause
"""
`assasin bench varve`: the dissertation's figures of the vector unit (docs/varve/bench.md), ours beside its stated values.

varve_filters.py has figures 8.12 and 8.13, varve_workloads.py 8.10, varve_traffic.py 8.15, varve_datapath.py 8.16. Each form is
machine code that runs on the RTL of one tile, its data in the scratchpad. Results are compared with numpy's. A figure is twice what
N rows take beyond their first N / 2, so that the start and the end of a call are not in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from assasin import (
    terminal,
    varve_alignment,
    varve_analytic,
    varve_area,
    varve_baseline,
    varve_board,
    varve_counters,
    varve_datapath,
    varve_filters,
    varve_listing,
    varve_mnist,
    varve_port,
    varve_silicon,
    varve_summary,
    varve_task,
    varve_traffic,
    varve_workloads,
)
from assasin.tree import BENCH_FOLDER, commit
from assasin.varve_filters import FORMS, GROWING, RATIOS, compared
from assasin.varve_tile import CONFIG, Row, VarveBenchError, build

UNIT = {"vlen": 256, "dlen": 256, "g": 8}

Tell = Callable[[str], None]


FIGURES = (
    *RATIOS,
    varve_workloads.FIGURE,
    varve_traffic.FIGURE,
    varve_datapath.FIGURE,
    varve_mnist.FIGURE,
    varve_mnist.TABLE,
    varve_analytic.RAID,
    varve_analytic.GAN,
    varve_area.FIGURE,
    varve_analytic.ADDER,
    varve_listing.UNPACK,
    varve_listing.FILTER,
    varve_summary.SCALAR,
    varve_baseline.FIGURE,
    varve_board.NAME,
    varve_port.NAME,
    varve_summary.TOGETHER,
    varve_silicon.TABLE,
    varve_silicon.FIGURE,
)

NEEDS = {
    figure: (varve_workloads.FIGURE, *RATIOS, varve_mnist.FIGURE)
    for figure in (varve_summary.SCALAR, varve_baseline.FIGURE, varve_summary.TOGETHER)
} | {varve_summary.TOGETHER: (varve_workloads.FIGURE, *RATIOS, varve_mnist.FIGURE, varve_baseline.FIGURE)}
"""Figures that are means over what others measure: these are measured with them."""


def with_needs(figures: Sequence[str]) -> list[str]:
    """Figures, and those that they are made of."""
    return list(dict.fromkeys([*figures, *(need for figure in figures for need in NEEDS.get(figure, ()))]))


def run(
    figures: Sequence[str] | None,
    filters: Sequence[str] | None,
    quick: bool,
    seed: int,
    tell: Tell,
    builds: bool = False,
    board: str | None = None,
    core_pages: int | None = None,
) -> dict[str, Any]:
    """
    Measures for figures, default all or those of the filters named, and leaves build/bench/varve.json, whose content is
    returned. Raises VarveBenchError.

    `filters`: default all. `quick`: few rows, and by default few filters; the figures say little. `builds`: tiles of other data
    paths and slots, and the board, are built first. `board`: configuration of a virtual board on which 9.2 is measured too.
    `core_pages`: there, pages of a core's part of a column of bytes.
    """
    strange = [figure for figure in figures or () if figure not in FIGURES]
    if strange:
        raise VarveBenchError(f"there is no figure {', '.join(strange)}; there are {', '.join(FIGURES)}")
    figures = None if figures is None else with_needs(figures)
    rows: list[Row] = []

    def asked(*of: str, all_filters: bool = False) -> bool:
        """Whether one of the figures is to be measured; all_filters: by default only where no filters are named."""
        return (filters is None or not all_filters) if figures is None else bool(set(figures) & set(of))

    if asked(*RATIOS):
        rows += varve_filters.run(filters, quick, seed, tell)
    if asked(varve_workloads.FIGURE, all_filters=True):
        rows += varve_workloads.run(quick, seed, tell)
    if asked(varve_mnist.FIGURE, varve_mnist.TABLE, all_filters=True):
        rows += varve_mnist.run(quick, tell)
    if asked(varve_traffic.FIGURE):
        rows += varve_traffic.run(filters, quick, seed, tell)
    others = {varve_datapath.FIGURE: varve_datapath.SIZES, varve_alignment.FIGURE: varve_alignment.SIZES}
    for tile in [tile for figure, sizes in others.items() if builds and asked(figure) for tile in sizes.values()]:
        tell(f"building {tile.parent.name}, in up to an hour")
        build(tile)
    if asked(varve_datapath.FIGURE):
        rows += varve_datapath.run(filters, quick, seed, tell)
    if asked(varve_alignment.FIGURE):
        rows += varve_alignment.run(filters, quick, seed, tell)
    own = [r for r in rows if r.figure not in others]
    measured = {(r.workload, r.form, r.metric): r.ours for r in own if r.ours is not None}
    if asked(varve_analytic.RAID, varve_analytic.GAN, all_filters=True):
        rows += varve_analytic.run(measured, seed)
    if asked(varve_area.FIGURE, all_filters=True):
        rows += varve_area.unmeasured() if figures is None else varve_area.run(tell)
    if asked(varve_analytic.ADDER, all_filters=True):
        rows += varve_analytic.adders()
    if asked(varve_listing.UNPACK, varve_listing.FILTER, all_filters=True):
        rows += varve_listing.run(measured)
    growing = [f["name"] for f in varve_filters.description()["filters"] if f["grows"]]
    if asked(varve_summary.SCALAR, varve_summary.TOGETHER, all_filters=True):
        rows += varve_summary.run(measured, [name for name in growing if (name, "full", "cycles") in measured])
    on_board: dict[str, float] = {}
    if core_pages is not None and board is None:
        raise VarveBenchError("--pages is of a board: name its configuration too, for example --board " + varve_board.CONFIG)
    if board is None and figures is not None and varve_board.NAME in figures:
        raise VarveBenchError(f"figure {varve_board.NAME}: name a configuration, for example --board {varve_board.CONFIG}")
    if board is not None and asked(varve_board.NAME):
        named = varve_filters.chosen(varve_filters.description(), filters, quick)
        names = [*(name for name in named if name in growing), *varve_task.PROGRAMS]
        for of_board in varve_board.run(board, names, quick, seed, tell, builds, core_pages):
            rows += varve_board.rows_of(of_board, board)
            if of_board.cores == varve_baseline.CORES:
                on_board[of_board.name] = of_board.rate
            # A job on a large board takes minutes: what was measured stays when the next one is interrupted.
            store(rows, quick, seed)
    if asked(varve_baseline.FIGURE, varve_port.NAME, all_filters=True):
        taken = varve_filters.chosen(varve_filters.description(), filters, quick)
        rows += varve_port.run([*(name for name in growing if name in taken), *varve_task.PROGRAMS], quick, seed, tell)
    if asked(varve_baseline.FIGURE, all_filters=True):
        chosen = varve_filters.chosen(varve_filters.description(), filters, quick)
        rows += varve_baseline.run(measured, [name for name in growing if name in chosen], quick, seed, tell, on_board)
    if asked(varve_silicon.TABLE, varve_silicon.FIGURE, all_filters=True):
        if figures is None:
            rows += varve_silicon.unmeasured()
        else:
            over = next((r for r in rows if (r.figure, r.workload, r.form) == (varve_baseline.FIGURE, "geomean", "full")), None)
            rows += varve_silicon.run(over.ours if over else None, seed, tell)
    return store(rows, quick, seed)


def store(rows: Sequence[Row], quick: bool, seed: int) -> dict[str, Any]:
    """Writes build/bench/varve.json, whose content it returns."""
    result: dict[str, Any] = {"board": CONFIG, "commit": commit(), "quick": quick, "seed": seed, "unit": UNIT}
    result["rows"] = [asdict(r) for r in rows]
    BENCH_FOLDER.mkdir(parents=True, exist_ok=True)
    part = BENCH_FOLDER / "varve.json.part"
    part.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    part.replace(BENCH_FOLDER / "varve.json")
    return result


# -- for readers


def values(result: dict[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Rows of a result by workload, form and metric, but those of other data paths and of Baseline, which have the same names."""
    apart = (varve_datapath.FIGURE, varve_baseline.FIGURE, varve_summary.TOGETHER)
    return {(r["workload"], r["form"], r["metric"]): r for r in result["rows"] if r["figure"] not in apart}


def filters_of(result: dict[str, Any]) -> list[str]:
    """The filters of a result, and geomean where all of them are in it."""
    names = dict.fromkeys(r["workload"] for r in result["rows"] if r["figure"] in RATIOS)
    return [name for name in names if name != "geomean" or values(result)["geomean", "zve32x", "speedup_over_scalar"]["ours"]]


def print_table(result: dict[str, Any]) -> None:
    """Prints a line a filter, and ours beside what the dissertation states."""
    rows = values(result)

    def shown(workload: str, form: str, metric: str, form_of: str = ".2f") -> str:
        row = rows.get((workload, form, metric))
        return "" if row is None or row["ours"] is None else format(row["ours"], form_of)

    def program(workload: str, form: str) -> str:
        row = rows.get((workload, form, "cycles"))
        return "" if row is None else row["unit"].split(", ")[1]

    def stated(workload: str, form: str, metric: str) -> str:
        row = rows.get((workload, form, metric))
        return "" if row is None or row["paper"] is None else f"{row['paper']:g}"

    where = f"on the RTL of a {result['board']}, VLEN {UNIT['vlen']}, commit {result['commit'][:12]}" + (
        ", quick: the figures say little" if result["quick"] else ""
    )
    workloads = [w.name for w in varve_workloads.ALL if (w.name, "scalar", "cycles") in rows]
    if workloads:
        terminal.table(
            f"Bitpacking and RAID5 {where}",
            [
                "workload",
                "form",
                "program",
                "cycles a row",
                "instructions",
                "over scalar",
                "dissertation",
                "goal",
                "over zve32x",
                "over best",
            ],
            [
                [
                    name,
                    form,
                    program(name, form),
                    shown(name, form, "cycles_per_row", ".4f"),
                    shown(name, form, "instructions", ".0f"),
                    shown(name, form, "speedup_over_scalar"),
                    stated(name, form, "speedup_over_scalar"),
                    str(varve_workloads.GOALS.get(name, "")) if form == "pup-best" else "",
                    shown(name, form, "speedup_over_zve32x"),
                    shown(name, form, "speedup_over_zve32x_best"),
                ]
                for name in workloads
                for form in FORMS
                if (name, form, "speedup_over_scalar") in rows or form == "scalar"
            ],
            "Lanes of pup: 32 bits, LMUL 1; of pup-best: the fastest. zve32x packs bits in scalar code, as the dissertation says.",
        )
    _print_others(result)
    _print_mnist(result)
    _print_datapath(result)
    _print_traffic(result)
    _print_baseline(result)
    varve_board.print_table(result)
    varve_counters.print_table(result)
    if not filters_of(result):
        return
    terminal.table(
        f"TPC-H filters {where}",
        ["filter", "rows", "selected", "scalar", "zve32x", "best", "by", "pup", "best", "by"]
        + ["over scalar: zve32x", "best", "pup", "best", "over zve32x: pup", "over best: pup best", "instructions: zve32x", "pup"],
        [
            [
                name,
                shown(name, "scalar", "rows", ".0f"),
                shown(name, "scalar", "selected", ".0f"),
                shown(name, "scalar", "cycles_per_row"),
                shown(name, "zve32x", "cycles_per_row"),
                shown(name, "zve32x-best", "cycles_per_row"),
                program(name, "zve32x-best"),
                shown(name, "pup", "cycles_per_row"),
                shown(name, "pup-best", "cycles_per_row"),
                program(name, "pup-best"),
                *(shown(name, form, "speedup_over_scalar") for form in compared("scalar")),
                shown(name, "pup", "speedup_over_zve32x"),
                shown(name, "pup-best", "speedup_over_zve32x_best"),
                shown(name, "zve32x", "fewer_instructions_than_scalar"),
                shown(name, "pup", "fewer_instructions_than_scalar"),
            ]
            for name in filters_of(result)
        ],
        'Without "over": cycles a row. zve32x, pup: LMUL 1; best: the fastest of LMUL 1, 2, 4, 8. Instructions: of the scalar '
        "form, a row, over the form's.\nDecimals take 32 bits; the dissertation has 64.",
    )
    means = [
        [
            r["figure"],
            r["form"],
            r["metric"],
            "-" if r["ours"] is None else f"{r['ours']:.2f}",
            f"{r['paper']:g}",
            r["why"] or "",
        ]
        for r in result["rows"]
        if r["workload"] == "geomean" and r["paper"] is not None
    ]
    terminal.table(
        f"The dissertation's values, geometric mean over {GROWING} filters",
        ["figure", "form", "metric", "ours", "dissertation", "why none"],
        means,
        "each filter, where only a plot shows it: pup 1.2 to 7.5 and full 2.6 to 15 over scalar, full 1.3 to 5.4 over zve32x",
    )


OTHERS = (
    varve_analytic.RAID,
    varve_analytic.GAN,
    varve_area.FIGURE,
    varve_analytic.ADDER,
    varve_listing.UNPACK,
    varve_listing.FILTER,
    varve_summary.SCALAR,
    varve_summary.TOGETHER,
    varve_silicon.TABLE,
    varve_silicon.FIGURE,
)
"""Figures that have a line a row."""


def _print_others(result: dict[str, Any]) -> None:
    rows = [r for r in result["rows"] if r["figure"] in OTHERS]
    if rows:
        terminal.table(
            "Listings, the analytical model (full-model), and summaries",
            ["figure", "workload", "form", "metric", "ours", "dissertation", "why none"],
            [
                [
                    r["figure"],
                    r["workload"],
                    r["form"],
                    r["metric"],
                    "-" if r["ours"] is None else f"{r['ours']:.2f}",
                    "plot" if r["plotted"] else "" if r["paper"] is None else f"{r['paper']:g}",
                    r["why"] or "",
                ]
                for r in rows
            ],
            "a8, a4, a2, a1: widths are aligned to so many bits; full: on the RTL of a tile with such slots.",
        )


def _print_mnist(result: dict[str, Any]) -> None:
    rows = {(r["workload"], r["form"], r["metric"]): r for r in result["rows"] if r["figure"] == varve_mnist.FIGURE}
    if not rows:
        return

    def shown(name: str, form: str, metric: str) -> list[str]:
        row = rows.get((name, form, metric))
        return ["", ""] if row is None else [f"{row['ours']:.2f}", "" if row["paper"] is None else f"{row['paper']:g}"]

    table = {(r["workload"], r["metric"]): r for r in result["rows"] if r["figure"] == varve_mnist.TABLE}
    said = "; ".join(
        f"{name}: {table[name, 'accuracy']['ours']:.2%} of 5,000 digits in five folds, {table[name, 'zeros']['ours']:.0%} zeros "
        f"(dissertation {table[name, 'accuracy']['paper']:.2%} of 10,000)"
        for name in varve_mnist.VARIANTS
    )
    terminal.table(
        "Figure 8.14: a network for MNIST, convolution and dense layer, by the faster of two ways each",
        [
            "network",
            "form",
            "cycles",
            "dense layer",
            "by",
            "over scalar",
            "dissertation",
            "over zve32x",
            "dissertation",
            "over best",
        ],
        [
            [
                name,
                form,
                f"{rows[name, form, 'cycles']['ours']:,.0f}",
                f"{rows[name, form, 'cycles_dense']['ours']:,.0f}",
                rows[name, form, "cycles"]["unit"].split(": ")[1],
                *shown(name, form, "speedup_over_scalar"),
                *shown(name, form, "speedup_over_zve32x"),
                shown(name, form, "speedup_over_zve32x_best")[0],
            ]
            for name in varve_mnist.VARIANTS
            for form in varve_mnist.FORMS
        ],
        f"Over scalar code of the network that is not pruned. {said}.",
    )


def _print_datapath(result: dict[str, Any]) -> None:
    rows = [r for r in result["rows"] if r["figure"] == varve_datapath.FIGURE and r["metric"] != "cycles"]
    if rows:
        terminal.table(
            "Figure 8.16: the filters' tile with vectors and data path of 128 (d128), 256 and 512 (d512) bits",
            ["filters", "form", "metric", "ours", "dissertation", "why none"],
            [
                [
                    r["workload"],
                    r["form"],
                    r["metric"],
                    "-" if r["ours"] is None else f"{r['ours']:.2f}",
                    "plot" if r["paper"] is None else f"{r['paper']:g}",
                    r["why"] or "",
                ]
                for r in rows
                if r["workload"].startswith("geomean")
            ],
            "All forms run on the tile with VarVE-full; pup with LMUL 1.",
        )


def _print_baseline(result: dict[str, Any]) -> None:
    rows = {(r["workload"], r["form"], r["metric"]): r for r in result["rows"] if r["figure"] == varve_baseline.FIGURE}
    if not rows:
        return
    names = list(dict.fromkeys(name for name, _, metric in rows if metric == "speedup_over_baseline" or metric == "cycles"))

    def shown(name: str, form: str, metric: str) -> str:
        row = rows.get((name, form, metric))
        return "" if row is None or row["ours"] is None else f"{row['ours']:,.2f}"

    def said(name: str, key: str) -> str:
        row = rows.get((name, "full", "speedup_over_baseline"))
        return "" if row is None or row[key] is None else str(row[key])

    terminal.table(
        "Figure 9.2: VarVE-full over scalar code on Baseline",
        [
            "workload",
            "Baseline, cycles a row",
            "scalar over Baseline",
            "full over Baseline",
            "dissertation",
            "8 cores, B/cycle",
            "why none",
        ],
        [
            [
                name,
                shown(name, "baseline", "cycles_per_row"),
                shown(name, "scalar", "speedup_over_baseline"),
                shown(name, "full", "speedup_over_baseline"),
                said(name, "paper"),
                shown(name, "full", "bytes_per_cycle_8_cores"),
                said(name, "why"),
            ]
            for name in names
        ],
        "Data in DRAM behind L1 and L2 against data in the scratchpad; /warm: mnist's in L2. B/cycle: flash infinite, derived.",
    )


def _print_traffic(result: dict[str, Any]) -> None:
    found = {(r["workload"], r["metric"]): r["ours"] for r in result["rows"] if r["figure"] == varve_traffic.FIGURE and r["ours"]}
    names = list(dict.fromkeys(name.split("/")[0] for name, metric in found if metric == "bytes"))
    if names:
        metrics = ("memory_traffic_reduction", "input_traffic_reduction")
        terminal.table(
            "Figure 8.15: times fewer bytes with VarWidth input than with padded input",
            ["workload", "all", "of inputs", "mixed", "of inputs"],
            [[name, *(f"{found[f'{name}/{v}', m]:.2f}" for v in ("varwidth", "mixed") for m in metrics)] for name in names],
            "mixed: VarWidth only columns where that takes fewer bytes. The dissertation: 1.3 to 4.3.",
        )
