# SPDX-License-Identifier: BSD-3-Clause
"""`assasin offload ...`: an offload of one's own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from assasin import outfile, terminal
from assasin.cli import Group, Hex, Size, json_option
from assasin.errors import AssasinError
from assasin.offload import both, build, machine, new, profile
from assasin.offload import check as checks
from assasin.offload import source as sources
from assasin.offload.native import Finding
from assasin.offload.source import Source, shown


class CheckError(AssasinError):
    """The offload does not do what it should."""


class SourceName(click.ParamType):
    """An offload's name, folder or C file."""

    name = "offload"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Source:
        """See click.ParamType."""
        if isinstance(value, Source):
            return value
        try:
            return sources.find(str(value))
        except sources.SourceError as e:
            self.fail(str(e), param, ctx)


input_files = click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
offload_argument = click.argument("source", metavar="OFFLOAD", type=SourceName())
args_option = click.option("--args", type=Hex(), default=b"", help="Arguments as hexadecimal bytes.")
outputs_option = click.option(
    "--outputs", type=click.IntRange(0, 8), help="Output streams; default those that the source declares."
)
size_option = click.option("--bytes", "size", type=Size(), help="Instead of files: so many random bytes a stream.")
seed_option = click.option(
    "--seed", type=click.IntRange(0), help="Of random data; default another one each time, which is printed."
)
arch_option = click.option(
    "--arch",
    type=click.Choice(build.ARCHITECTURES),
    default="sb",
    show_default=True,
    help="Kind of core: firmware/offload/README.md.",
)


def _seed(seed: int | None) -> int:
    return time.time_ns() // 1000 % 1_000_000 if seed is None else seed


def _inputs(source: Source, files: tuple[Path, ...], size: int | None, seed: int) -> list[bytes]:
    """The input streams."""
    wanted = max(1, source.inputs)
    if files and size is not None:
        raise click.UsageError("--bytes makes random data: leave out the files, or --bytes")
    if files:
        if len(files) != wanted:
            raise click.UsageError(f"{source.name} reads {wanted} streams: give {wanted} files, not {len(files)}")
        return [f.read_bytes() for f in files]
    if size is None:
        raise click.UsageError("name a file for each input stream, or say --bytes N for random data")
    return checks.data_for(source, (), size, seed)[0][1]


def _refuse(findings: tuple[Finding, ...]) -> None:
    if findings:
        raise CheckError("\n".join(map(str, findings)))


@click.group("offload", cls=Group)
def offload() -> None:
    """Functions of your own for the drive's cores: made, checked, run and profiled without a board (firmware/offload/README.md)."""


@offload.command("new")
@click.argument("name")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@json_option
def new_command(name: str, folder: Path, as_json: bool) -> None:
    """Make the offload NAME: a folder NAME in DIR with a source that works, its test and a README, all waiting to be edited."""
    files = new.create(name, folder)
    if as_json:
        terminal.dump({"offload": name, "folder": str(files[0].parent), "files": [p.name for p in files]})
    else:
        where = files[0].parent
        terminal.out.print(f"{where}: edit {name}.c, then: assasin offload check {where}", soft_wrap=True, highlight=False)


@offload.command("check")
@offload_argument
@click.option(
    "--data",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run it on this file instead of random data; once for each input stream.",
)
@size_option
@args_option
@seed_option
@click.option(
    "--limit", type=click.IntRange(1, 3600), default=both.SECONDS, show_default=True, help="Seconds after which a run is endless."
)
@json_option
def check_command(
    source: Source, files: tuple[Path, ...], size: int | None, args: bytes, seed: int | None, limit: int, as_json: bool
) -> None:
    """
    Build OFFLOAD and run it on data: here under the address and undefined-behaviour sanitizers, and its machine code on the
    simulator of a core, which must agree; then its own test, test_NAME.py beside it.

    Without --data: random data of 0, 1, 77, 4,096 and 4,099 bytes. What passes is built for the drive too.
    """
    chosen = _seed(seed)
    data = _inputs(source, files, size, chosen) if files else []
    with terminal.spinner(f"checking {source.name}"):
        report = checks.check(source, data, size, args, chosen, limit)
    if as_json:
        terminal.dump(_report_json(report))
    else:
        terminal.table(
            f"{source.name}: {report.seconds:.1f} s" + ("" if report.seed is None else f", seed {report.seed}"),
            ["data", "bytes out", "returned", "cycles", ""],
            [
                [c.data, f"{c.bytes_out:,}", str(c.exit_code), f"{c.cycles:,}", "WRONG" if c.findings else "well"]
                for c in report.cases
            ],
        )
        test = {None: "there is no test_" + source.name + ".py beside it", "": "its test passes"}.get(report.test, "its test FAILS")
        terminal.out.print(f"{test}; built: {shown(report.elf)}", soft_wrap=True, highlight=False, markup=False)
    if not report.ok:
        raise CheckError("\n".join([f"{source.name} is not right", *report.findings, *filter(None, [report.test])]))


def _report_json(report: checks.Report) -> dict[str, Any]:
    return {
        "offload": report.name,
        "ok": report.ok,
        "seed": report.seed,
        "seconds": round(report.seconds, 3),
        "elf": shown(report.elf),
        "test": {None: "none", "": "passed"}.get(report.test, "failed"),
        "cases": [vars(c) | {"findings": list(c.findings)} for c in report.cases],
    }


def piece_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What run and profile take: the offload, and the piece that it runs on."""
    for option in (arch_option, outputs_option, args_option, seed_option, size_option, input_files, offload_argument):
        command = option(command)
    return command


@offload.command("run")
@piece_options
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File for the output; stream N > 0 goes to FILE.N.")
@click.option("--board", is_flag=True, help="Run it on the started board too, and compare.")
@click.option("--name", default="virtual", show_default=True, envvar="ASSASIN_BOARD", show_envvar=True, help="Which board.")
@json_option
def run_command(
    source: Source,
    files: tuple[Path, ...],
    size: int | None,
    seed: int | None,
    args: bytes,
    outputs: int | None,
    arch: str,
    out: Path | None,
    board: bool,
    name: str,
    as_json: bool,
) -> None:
    """
    Run OFFLOAD's machine code on the simulator of a core, a FILE for each input stream, and say what it costs.

    Cycles are those of the core's pipeline, without waiting for pages and without cache misses.
    """
    chosen = _seed(seed)
    inputs = _inputs(source, files, size, chosen)
    if out is not None:
        outfile.require(out)
    streams = source.outputs if outputs is None else outputs
    with terminal.spinner(f"building {source.name}") as say:
        elf = machine.built(source, arch)
        build.build_simulator()
        say(f"running {source.name}")
        start = time.monotonic()
        result = machine.run(elf, arch, inputs, args, streams)
        seconds = time.monotonic() - start
    _refuse(result.findings)
    for s, data in enumerate(result.outputs if out is not None else []):
        assert out is not None
        with outfile.whole(out if s == 0 else out.with_name(f"{out.name}.{s}")) as f:
            f.write(data)
    total = sum(map(len, inputs))
    figures: dict[str, Any] = {
        "offload": source.name,
        "arch": arch,
        "exit_code": result.exit_code,
        "bytes_in": total,
        "bytes_out": [len(o) for o in result.outputs],
        "instructions": result.instructions,
        "cycles": result.cycles,
        "cycles_per_byte": result.cycles / total if total else None,
        "seconds": round(seconds, 4),
        "seed": None if files else chosen,
    }
    rows = [
        ("returned", str(result.exit_code)),
        ("input, output", f"{total:,} bytes, {', '.join(f'{len(o):,}' for o in result.outputs) or 'no'} bytes"),
        ("core", f"{result.cycles:,} cycles" + (f", {result.cycles / total:.2f} a byte" if total else "")),
        ("simulator", f"{result.instructions:,} instructions in {seconds:.2f} s, {total / 1e6 / seconds:.1f} MB/s"),
    ]
    if not files:
        rows.append(("seed", str(chosen)))
    if out is None and result.outputs and result.outputs[0]:
        first = result.outputs[0]
        rows.append(
            (
                "output 0",
                first[:64].hex(" ", 4) + (f" ... ({len(first):,} bytes; --out FILE keeps them)" if len(first) > 64 else ""),
            )
        )
    wrong = None
    if board:
        from assasin.cli import open_drive
        from assasin.offload import onboard

        _, drive = open_drive(name)
        with drive, terminal.spinner(f"running {source.name} on {name}"):
            code, there, ending, cycles = onboard.run(drive, source, inputs, args, streams)
        wrong = ending if code != result.exit_code else both.difference(result.outputs, there)
        figures["board"] = {"name": name, "exit_code": code, "cycles": cycles, "same": wrong is None}
        rows.append((f"board {name}", f"{cycles:,} cycles, " + ("the same output" if wrong is None else "ANOTHER OUTPUT")))
    if as_json:
        terminal.dump(figures)
    else:
        terminal.pairs(f"{source.name} on a core of kind {arch}", rows)
    if wrong is not None:
        raise CheckError(f"the board does something else than the simulator: {wrong}")


@offload.command("profile")
@piece_options
@click.option("--lines", "count", type=click.IntRange(1), default=15, show_default=True, help="How many lines to show.")
@json_option
def profile_command(
    source: Source,
    files: tuple[Path, ...],
    size: int | None,
    seed: int | None,
    args: bytes,
    outputs: int | None,
    arch: str,
    count: int,
    as_json: bool,
) -> None:
    """Show the source lines on which OFFLOAD spends its cycles, on the simulator of a core; a FILE for each input stream."""
    chosen = _seed(seed)
    inputs = _inputs(source, files, size, chosen)
    with terminal.spinner(f"profiling {source.name}"):
        elf = machine.built(source, arch)
        result = machine.run(elf, arch, inputs, args, source.outputs if outputs is None else outputs, counted=True)
        found = profile.lines(elf, result.core.spent, result.core.runs)
    _refuse(result.findings)
    total = sum(map(len, inputs))
    if as_json:
        terminal.dump(
            {
                "offload": source.name,
                "arch": arch,
                "bytes_in": total,
                "cycles": result.cycles,
                "seed": None if files else chosen,
                "lines": [vars(x) for x in found],
            }
        )
        return
    terminal.table(
        f"{source.name} on a core of kind {arch}: {result.cycles:,} cycles"
        + (f", {result.cycles / total:.2f} a byte" if total else "")
        + ("" if files else f", seed {chosen}"),
        ["line", "cycles", "share", "instructions", "source"],
        [[f"{x.file}:{x.line}", f"{x.cycles:,}", terminal.percent(x.share), f"{x.runs:,}", x.text] for x in found[:count]],
    )
