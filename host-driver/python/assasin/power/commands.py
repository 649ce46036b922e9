# SPDX-License-Identifier: BSD-3-Clause
"""`assasin power`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from assasin import interrupts, terminal
from assasin.boards import Board, BoardFileError
from assasin.cli import Command, json_option
from assasin.power import coefficients, measure
from assasin.power.activity import DEFAULT_EVERY
from assasin.power.errors import PowerError
from assasin.power.models import ModelOptions
from assasin.power.plot import plot
from assasin.power.sources import Options, SensorSource, Source, default, make
from assasin.tree import BUILD, ROOT

FOLDER = BUILD / "power"
_OFFLOADS_SHOWN = 10
_INTERRUPTED = {code for signum in interrupts.SIGNALS for code in (-signum, 128 + signum)}
"""Exit codes of a command that a signal has ended."""


class Offset(click.ParamType):
    """Seconds, or `auto`."""

    name = "seconds|auto"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """See click.ParamType."""
        if isinstance(value, float) or value == "auto":
            return value  # type: ignore[return-value]
        try:
            return float(str(value))
        except ValueError:
            self.fail(f"'{value}' is neither a number of seconds nor auto", param, ctx)


@click.command(cls=Command, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--board", "board_name", default="virtual", show_default=True, help="Which board: a folder of board/.")
@click.option("--name", default="virtual", show_default=True, envvar="ASSASIN_BOARD", help="Which running virtual board.")
@click.option(
    "--source",
    "texts",
    multiple=True,
    help="Where power comes from, by default the board's own sensors: activity, xssd (virtual board), hwmon, pmbus[:/dev/i2c-N], "
    "agent:HOST[:PORT], meter:FILE. May be repeated.",
)
@click.option(
    "--every", type=click.IntRange(min=100), default=DEFAULT_EVERY, show_default=True, help="Virtual board: cycles between samples."
)
@click.option(
    "--period",
    type=click.FloatRange(min=0.001, max=10),
    default=0.01,
    show_default=True,
    help="Sensors: seconds between readings.",
)
@click.option(
    "--idle",
    type=click.FloatRange(min=0, max=600),
    default=1.0,
    show_default=True,
    help="Sensors, meter: seconds of rest before the command.",
)
@click.option(
    "--meter-offset", type=Offset(), default=0.0, show_default=True, help="Added to the meter's times; auto: by the step of power."
)
@click.option(
    "--max-gap",
    type=click.FloatRange(min=0, min_open=True),
    help="Meter: seconds between readings that are no gap; default 5 usual ones.",
)
@click.option(
    "--medium",
    type=click.Choice(list(coefficients.MEDIA)),
    default="flash",
    show_default=True,
    help="Model xssd: technology of the storage array.",
)
@click.option("--host-utilisation", type=click.FloatRange(0, 1), help="Model xssd: count the host in, its processor so busy.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=FOLDER, help="Folder for result.json and power.png."
)
@click.option("--list", "listing", is_flag=True, help="Only read the sensors of the board, or of --source, once.")
@json_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def power(
    board_name: str,
    name: str,
    texts: tuple[str, ...],
    every: int,
    period: float,
    idle: float,
    meter_offset: float | str,
    max_gap: float | None,
    medium: str,
    host_utilisation: float | None,
    out: Path,
    listing: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """
    Run COMMAND and say what it cost in energy: in all, by phase, by byte and by offload.

    Write -- before the command. Phases come from marks that libassasin leaves (any program that uses it). On the virtual board
    time and
    power are simulated and modelled. Leaves result.json and power.png in build/power.
    """
    try:
        board = Board.load(board_name)
    except BoardFileError as e:
        raise PowerError(str(e)) from e
    options = Options(
        name=name,
        every=every,
        period=period,
        idle=idle,
        meter_offset=None if isinstance(meter_offset, str) else meter_offset,
        max_gap=max_gap,
        model=ModelOptions(medium, host_utilisation),
    )
    sources = make(board, texts or (default(board),), options)
    if listing:
        _list(sources, as_json)
        return
    if not command:
        raise click.UsageError("write the command after --, for example: assasin power -- assasin bench scan")
    report, watched = measure.run(board, sources, command, quiet=as_json)
    measure.save(report, out / "result.json")
    left = ["result.json"]
    # Who interrupts the command does not wait for a picture of it.
    if report["exit_code"] not in _INTERRUPTED:
        plot(watched, out / "power.png", f"{shlex.join(command)}\n{board.title}, commit {report['commit'][:12]}")
        left.append("power.png")
    if as_json:
        terminal.dump(report)
    else:
        for figures in report["sources"]:
            _print(board, figures)
        terminal.out.print(f"{out.relative_to(ROOT) if out.is_relative_to(ROOT) else out}: {', '.join(left)}")
    if report["exit_code"]:
        terminal.err.print(f"[bold red]assasin:[/] the command ended with exit code {report['exit_code']}", highlight=False)
        sys.exit(report["exit_code"] if report["exit_code"] > 0 else 128 - report["exit_code"])


def _list(sources: Sequence[Source], as_json: bool) -> None:
    found = []
    for source in sources:
        reader = source.reader if isinstance(source, SensorSource) else None
        if reader is None:
            raise PowerError("--list reads sensors: name a source that has them, hwmon, pmbus or agent:HOST")
        reading = reader.read()
        found += [asdict(v) | {"sensor": n, "error": None} for n, v in reading.values.items()]
        found += [{"sensor": n, "error": why} for n, why in reading.missing.items()]
        reader.close()
    if as_json:
        terminal.dump(found)
        return
    rows = [
        [f["sensor"], f.get("rail", "-"), *(f"{f[k]:.4g}" if f.get(k) is not None else "-" for k in ("volts", "amperes", "watts"))]
        + [f["error"] or ""]
        for f in found
    ]
    terminal.table("Sensors", ["", "rail", "V", "A", "W", ""], rows)


def _print(board: Board, f: dict[str, Any]) -> None:
    unit = "simulated s" if f["time"] == "simulated" else "s"
    where = f"{board.name}, {f['config']}, profile {f['profile']}" if "config" in f else board.title
    groups = [g["group"] for g in f["groups"]]
    columns = ["", unit, "J", "share", "mean W", "bytes", "nJ/byte", *(f"J, {g}" for g in groups)]
    whole = f | {"bytes": 0, "nj_per_byte": None, "groups": {g["group"]: g["joules"] for g in f["groups"]}}
    rows = [_row(s["phase"], s, f["joules"], groups) for s in f["phases"]]
    by = "" if f["phases_by"] == "marks" else "; phases by what the drive did"
    terminal.table(
        f"Energy by phase: {f['source']} ({f['kind']}) on {where}",
        columns,
        [*rows, _row("all", whole, f["joules"], groups)],
        f["method"] + by,
    )
    if f["offloads"]:
        shown = f["offloads"][:_OFFLOADS_SHOWN]
        more = f", the first {len(shown)} of {len(f['offloads'])}" if len(shown) < len(f["offloads"]) else ""
        rows = [_row(str(i), s, f["joules"], groups) for i, s in enumerate(shown)]
        terminal.table(f"Energy by offload: {f['source']}{more}", columns, rows)
    rows = [[r["rail"], *_parts(r, f["joules"])] for r in f["rails"]]
    rows += [[f"= {g['group']}", *_parts(g, f["joules"])] for g in f["groups"]]
    idle = "" if f["idle_w"] is None else f"idle {f['idle_w']:.4g} W; {f['joules_above_idle']:.4g} J above idle"
    terminal.table(f"Where it goes: {f['source']}", ["", "J", "share", "mean W"], rows, idle)
    if f["missing_seconds"] > 0:
        terminal.out.print(f"{f['missing_seconds']:.3g} s have no reading; power was interpolated over gaps", highlight=False)


def _parts(r: dict[str, Any], joules: float) -> list[str]:
    return [f"{r['joules']:.4g}", terminal.percent(r["joules"] / joules if joules else 0), f"{r['mean_w']:.4g}"]


def _row(what: str, s: dict[str, Any], joules: float, groups: list[str]) -> list[str]:
    per_byte = "-" if s["nj_per_byte"] is None else f"{s['nj_per_byte']:.4g}"
    mean = "-" if s["mean_w"] is None else f"{s['mean_w']:.4g}"
    size = f"{s['bytes']:,}" if s["bytes"] else "-"
    share = terminal.percent(s["joules"] / joules if joules else 0)
    return [
        what,
        f"{s['seconds']:.6g}",
        f"{s['joules']:.4g}",
        share,
        mean,
        size,
        per_byte,
        *(f"{s['groups'][g]:.4g}" for g in groups),
    ]
