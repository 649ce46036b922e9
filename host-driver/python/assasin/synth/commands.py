# SPDX-License-Identifier: BSD-3-Clause
"""`assasin synth`, and what synthesis adds to `assasin bench`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click

from assasin import terminal
from assasin.boards import Board
from assasin.cli import Command, ConfigName, Listed, json_option
from assasin.paper_stated import ARCHITECTURES
from assasin.synth import rtl, utilisation
from assasin.tree import BENCH_FOLDER, ROOT


@click.command(cls=Command)
@click.option("--board", "boards", multiple=True, help="A board with an FPGA; may be given many times. Default: all.")
@click.option("--config", "configs", type=ConfigName(), multiple=True, help="May be given many times. Default: the board's table.")
@click.option("--units", is_flag=True, help="Show what each unit of the configuration takes, and what its memories became.")
@click.option("--without-codec", is_flag=True, help="Of chips whose flash channels have no page codec.")
@click.option(
    "--vector-bits",
    type=click.Choice(("64", "128", "256", "512")),
    help="Of a vector register, of configurations with vector units; default as the board is built, 256.",
)
@json_option
def synth(
    boards: tuple[str, ...],
    configs: tuple[str, ...],
    units: bool,
    without_codec: bool,
    vector_bits: str | None,
    as_json: bool,
) -> None:
    """
    Estimate what configurations take of the boards' FPGAs, with yosys; leaves build/synth/utilisation.json.

    A configuration fits when 15 % of LUTs and block RAM are left for what is not in it: XDMA, flash PHYs, DRAM path.
    """
    bits = None if vector_bits is None else int(vector_bits)
    if units:
        _show_units(boards, configs, not without_codec, bits, as_json)
        return
    with terminal.spinner("synthesis") as say:
        rows = utilisation.estimate(boards, configs, say, codec=not without_codec, vector_bits=bits)
    if as_json:
        terminal.dump([asdict(r) for r in rows])
        return
    columns, lines = utilisation.table(rows)
    caption = f"estimates of synthesis with yosys, without place and route; {utilisation.FILE.relative_to(ROOT)}"
    terminal.table(f"Utilisation of the boards' FPGAs{_but(not without_codec, bits)}", columns, lines, caption)


def _but(codec: bool, vector_bits: int | None) -> str:
    """What is not as the configurations are, for a title."""
    vectors = "" if vector_bits is None else f", vector registers of {vector_bits} bits"
    return vectors if codec else f", without the page codec{vectors}"


def _summary(memories: dict[str, str]) -> str:
    """How many arrays became what; those of flip-flops by name."""
    count = Counter(how for how in memories.values() if how != "flip-flops")
    names = [f"flip-flops: {path}" for path, how in memories.items() if how == "flip-flops"]
    return ", ".join([*(f"{n} {how}" for how, n in sorted(count.items())), *names])


def _show_units(boards: tuple[str, ...], configs: tuple[str, ...], codec: bool, vector_bits: int | None, as_json: bool) -> None:
    if len(boards) != 1:
        raise click.UsageError("--units shows one board: add --board NAME")
    board = Board.load(boards[0])
    family = utilisation.part_of(board).family
    result = {}
    with terminal.spinner("synthesis") as say:
        chips = [utilisation.chip_of(board, config, codec, vector_bits) for config in configs or [board.chip.config]]
        for chip, modules in rtl.load(chips, say).items():
            result[chip.config] = utilisation.unit_rows(modules, family, say)
    if as_json:
        terminal.dump({config: [asdict(r) for r in rows] for config, rows in result.items()})
        return
    columns = ["unit", "count", "LUT", "of these memory", "FF", "BRAM36", "URAM", "DSP", "arrays"]
    for config, rows in result.items():
        lines = [
            [r.unit, str(r.count), f"{r.each.lut:,}", f"{r.each.lut_memory:,}", f"{r.each.ff:,}", f"{r.each.bram36:g}"]
            + [str(r.each.uram), str(r.each.dsp), _summary(r.memories)]
            for r in rows
        ]
        all_ = utilisation.total(rows)
        lines.append(["all", "", f"{all_.lut:,}", f"{all_.lut_memory:,}", f"{all_.ff:,}", f"{all_.bram36:g}"])
        lines[-1] += [str(all_.uram), str(all_.dsp), ""]
        title = f"{config} for {board.name}{_but(codec, vector_bits)}: one of each unit"
        terminal.table(title, columns, lines, "estimates of synthesis with yosys")


@click.command("efficiency", cls=Command)
@click.option("--configs", type=Listed(ARCHITECTURES), help="Only these architectures and Baseline; default all that have rates.")
@click.option(
    "--paper",
    type=click.Path(dir_okay=False, path_type=Path),
    default=BENCH_FOLDER / "paper.json",
    help="Result of `assasin bench paper` that the rates are from; default build/bench/paper.json.",
)
@json_option
def efficiency(configs: tuple[str, ...] | None, paper: Path, as_json: bool) -> None:
    """
    Table V and Figures 20 to 22: power, area and clock of each architecture, and speed-up per watt and per area over Baseline.

    From gates, measured switching activity and the rates of `assasin bench paper`. Leaves build/bench/efficiency.json and plots.
    """
    from assasin.synth import efficiency as study
    from assasin.synth import plots

    with terminal.spinner("efficiency") as say:
        rows, source = study.rows(paper, configs or (), say)
    result = study.write(rows, source)
    note = f"synthesis estimates; rates: {source['board']}, profile {source['profile']}, 8x8, commit {str(source['commit'])[:12]}"
    made = plots.plot(rows, BENCH_FOLDER, note)
    if as_json:
        terminal.dump(result)
        return
    lines = [
        [r.figure, r.config, r.workload, r.metric, f"{r.ours:.3f}", "-" if r.paper is None else f"{r.paper:.3g}", r.unit]
        for r in rows
    ]
    caption = "paper: what its text states. All of it is estimated or simulated; nothing is measured on hardware"
    terminal.table("Efficiency and clock", ["figure", "configuration", "what", "metric", "ours", "paper", "unit"], lines, caption)
    terminal.out.print(f"{study.FILE.relative_to(ROOT)}, {', '.join(p.name for p in made)}; {note}", soft_wrap=True)
