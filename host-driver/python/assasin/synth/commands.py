# SPDX-License-Identifier: BSD-3-Clause
"""`assasin synth`, and what synthesis adds to `assasin bench`."""

from __future__ import annotations

from dataclasses import asdict
from typing import NoReturn

import click

from assasin import terminal
from assasin.boards import Board, BoardFileError
from assasin.cli import Command, ConfigName, fail, json_option
from assasin.synth import SynthError, rtl, utilisation
from assasin.tree import ROOT


class SynthCommand(Command):
    """A command whose expected errors become a message and exit code 1."""

    def invoke(self, ctx: click.Context) -> object:
        """See click.Command."""
        try:
            return super().invoke(ctx)
        except (SynthError, BoardFileError) as e:
            _fail(e, ctx)


def _fail(e: Exception, ctx: click.Context) -> NoReturn:
    fail(e, bool(ctx.params.get("as_json")))


@click.command(cls=SynthCommand)
@click.option("--board", "boards", multiple=True, help="A board with an FPGA; may be given many times. Default: all.")
@click.option("--config", "configs", type=ConfigName(), multiple=True, help="May be given many times. Default: the board's table.")
@click.option("--units", is_flag=True, help="Show what each unit of the configuration takes, and what its memories became.")
@json_option
def synth(boards: tuple[str, ...], configs: tuple[str, ...], units: bool, as_json: bool) -> None:
    """
    Estimate what configurations take of the boards' FPGAs, with yosys; leaves build/synth/utilisation.json.

    A configuration fits when 15 % of LUTs and block RAM are left for what is not in it: XDMA, flash PHYs, DRAM path.
    """
    if units:
        _show_units(boards, configs, as_json)
        return
    with terminal.spinner("synthesis") as say:
        rows = utilisation.estimate(boards, configs, say)
    if as_json:
        terminal.dump([asdict(r) for r in rows])
        return
    columns, lines = utilisation.table(rows)
    caption = f"estimates of synthesis with yosys, without place and route; {utilisation.FILE.relative_to(ROOT)}"
    terminal.table("Utilisation of the boards' FPGAs", columns, lines, caption)


def _show_units(boards: tuple[str, ...], configs: tuple[str, ...], as_json: bool) -> None:
    if len(boards) != 1:
        raise click.UsageError("--units shows one board: add --board NAME")
    board = Board.load(boards[0])
    family = utilisation.part_of(board).family
    result = {}
    with terminal.spinner("synthesis") as say:
        loaded = rtl.load(configs or [board.chip.config], say)
        for config, modules in loaded.items():
            result[config] = utilisation.unit_rows(modules, family, say)
    if as_json:
        terminal.dump({config: [asdict(r) for r in rows] for config, rows in result.items()})
        return
    columns = ["unit", "count", "LUT", "of these memory", "FF", "BRAM36", "URAM", "DSP", "arrays"]
    for config, rows in result.items():
        lines = [
            [r.unit, str(r.count), f"{r.each.lut:,}", f"{r.each.lut_memory:,}", f"{r.each.ff:,}", f"{r.each.bram36:g}"]
            + [str(r.each.uram), str(r.each.dsp), ", ".join(r.memories)]
            for r in rows
        ]
        all_ = utilisation.total(rows)
        lines.append(["all", "", f"{all_.lut:,}", f"{all_.lut_memory:,}", f"{all_.ff:,}", f"{all_.bram36:g}"])
        lines[-1] += [str(all_.uram), str(all_.dsp), ""]
        terminal.table(f"{config} for {board.name}: one of each unit", columns, lines, "estimates of synthesis with yosys")
