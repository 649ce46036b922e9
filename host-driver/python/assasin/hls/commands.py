# SPDX-License-Identifier: BSD-3-Clause
"""`assasin hls ...`: kernels for the slots."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assasin import later, outfile, terminal
from assasin.board import PROFILES
from assasin.cli import ConfigName, Group, Size, json_option
from assasin.hls import csim as simulation
from assasin.hls import export as exports
from assasin.hls import kernel as kernels
from assasin.hls import model, new, signature
from assasin.hls import run as runs
from assasin.hls.kernel import Kernel, KernelError
from assasin.hls.stated import KERNELS
from assasin.tree import contract

if TYPE_CHECKING:
    from assasin.hls import bench as benches
else:
    benches = later.module("assasin.hls.bench")


class KernelName(click.ParamType):
    """A kernel's name or folder."""

    name = "kernel"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Kernel:
        """See click.ParamType."""
        if isinstance(value, Kernel):
            return value
        try:
            return kernels.load(str(value))
        except KernelError as e:
            self.fail(str(e), param, ctx)


name_option = click.option(
    "--name",
    default=runs.OWN_BOARD,
    show_default=True,
    help="Name of the board, which is started anew; a running one that `assasin hls` did not start is left alone.",
)
profile_option = click.option("--profile", default=PROFILES[0], show_default=True, help="What a cycle is worth.")


@click.group("hls", cls=Group)
def hls() -> None:
    """Kernels for the HLS slots: Vitis C++, simulated in C, run on the virtual board, exported to Vitis (hls-kernels/README.md)."""


@hls.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """The kernels that there are."""
    found = [kernels.load(n) for n in kernels.names()]
    if as_json:
        rows = [
            {
                "name": k.name,
                "version": k.version,
                "id": k.id,
                "title": k.title,
                "inputs": k.inputs,
                "output": k.output,
                "scalars": [asdict(s) for s in k.scalars],
                "ii": str(k.ii),
                "latency": k.latency,
            }
            for k in found
        ]
        terminal.dump({"kernels": rows})
        return
    terminal.table(
        "kernels",
        ["name", "id", "inputs", "scalars", "cycles a beat", "latency", "what"],
        [
            [
                f"{k.name}/{k.version}",
                f"{k.id:08x}",
                ", ".join(k.inputs),
                ", ".join(s.name for s in k.scalars),
                str(k.ii),
                str(k.latency),
                k.title,
            ]
            for k in found
        ],
        "cycles as stated in kernel.toml: nobody has synthesised the kernels yet",
    )


@hls.command("new")
@click.argument("name")
@click.option("--from", "template", default=new.TEMPLATE, show_default=True, help="Kernel to copy.")
@json_option
def new_command(name: str, template: str, as_json: bool) -> None:
    """Make the kernel NAME: a folder with source, test bench, metadata and reference that work and wait to be edited."""
    made = new.create(name, template)
    if as_json:
        terminal.dump(
            {"kernel": made.name, "folder": kernels.shown(made.folder), "files": sorted(p.name for p in made.folder.iterdir())}
        )
    else:
        terminal.out.print(f"{kernels.shown(made.folder)}: edit {made.sources[0]}, then: assasin hls csim {name}", soft_wrap=True)


@hls.command("csim")
@click.argument("wanted", metavar="KERNEL...", nargs=-1, required=True, type=KernelName())
@click.option(
    "--limit", type=click.FloatRange(min=1), default=simulation.LIMIT_SECONDS, show_default=True, help="Seconds a test may take."
)
@json_option
def csim_command(wanted: tuple[Kernel, ...], limit: float, as_json: bool) -> None:
    """Compile KERNEL with the open headers and run its test bench under the address and undefined-behaviour sanitizers."""
    results = []
    for k in wanted:
        with terminal.spinner(f"C simulation of {k.name}"):
            results.append(simulation.simulate(k, limit))
    if as_json:
        terminal.dump({"results": [asdict(r) | {"ok": r.ok} for r in results]})
    else:
        terminal.table(
            "C simulation",
            ["kernel", "passed", "failed", "compiled in", "ran"],
            [[r.kernel, str(r.passed), str(r.failed), f"{r.compile_seconds:.1f} s", f"{r.run_seconds:.1f} s"] for r in results],
        )
    bad = [r for r in results if not r.ok]
    if bad:
        raise KernelError(
            "\n".join([f"C simulation of {', '.join(r.kernel for r in bad)} failed", *(m for r in bad for m in r.messages)])
        )


@hls.command("check")
@click.argument("wanted", metavar="[KERNEL]...", nargs=-1, type=KernelName())
@json_option
def check_command(wanted: tuple[Kernel, ...], as_json: bool) -> None:
    """Compare KERNEL's metadata with the ports and pragmas of its C++; all kernels when none is named."""
    checked = list(wanted) or [kernels.load(n) for n in kernels.names()]
    for k in checked:
        signature.check(k)
    if as_json:
        terminal.dump({"checked": [k.name for k in checked]})
    else:
        terminal.out.print(f"metadata and C++ agree: {', '.join(k.name for k in checked)}", soft_wrap=True)


@hls.command("build")
@click.argument("wanted", metavar="KERNEL...", nargs=-1, required=True, type=KernelName())
@json_option
def build_command(wanted: tuple[Kernel, ...], as_json: bool) -> None:
    """Compile KERNEL's model for the virtual board: build/hls/KERNEL/KERNEL.so, for `assasin flash virtual --kernel SLOT=FILE`."""
    with terminal.spinner("compiling") as say:
        built = []
        for k in wanted:
            say(f"compiling {k.name}")
            built.append(model.build(k))
    if as_json:
        terminal.dump(
            {"models": [{"kernel": k.name, "id": k.id, "file": kernels.shown(p)} for k, p in zip(wanted, built, strict=True)]}
        )
    else:
        for p in built:
            terminal.out.print(kernels.shown(p), soft_wrap=True)


@hls.command("run")
@click.argument("kernel", type=KernelName())
@click.option("--bytes", "size", type=Size(), default="256K", show_default=True, help="Size of the example's input.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the example.")
@click.option(
    "--input",
    "files",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="Use a file instead of the example; once for each input stream.",
)
@click.option("--scalar", "scalars", metavar="NAME=VALUE", multiple=True, help="Value of a scalar argument.")
@click.option("--pieces", type=click.IntRange(1, 1024), default=None, help="Pieces of the job; default 1.")
@click.option(
    "--limit-kcycles",
    type=click.IntRange(1, contract.SCOMP_WATCHDOG_MAX_KCYCLES),
    default=None,
    help="1,000 cycles that a piece may take; default by the amount of data.",
)
@click.option("--config", type=ConfigName(), default=runs.DEFAULT_CONFIG, show_default=True, help="A configuration with slots.")
@profile_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File for the output.")
@click.option("--keep", is_flag=True, help="Leave the board running.")
@name_option
@json_option
def run_command(
    kernel: Kernel,
    size: int,
    seed: int,
    files: tuple[Path, ...],
    scalars: tuple[str, ...],
    pieces: int | None,
    limit_kcycles: int | None,
    config: str,
    profile: str,
    out: Path | None,
    keep: bool,
    name: str,
    as_json: bool,
) -> None:
    """
    Run KERNEL's model in the slots of the virtual board, at its stated initiation interval, through NVMe, firmware and flash.

    The result is compared with the kernel's reference on the host. The chip is not built anew.
    """
    if out is not None:
        outfile.require(out)
    inputs = [f.read_bytes() for f in files] if files else None
    with terminal.spinner(f"compiling {kernel.name}") as say:
        result, output = runs.run(
            kernel, inputs, scalars, size, seed, pieces or 0, name, config, profile, keep, say, limit_kcycles or 0
        )
    if out is not None:
        with outfile.whole(out) as f:
            f.write(output)
    if as_json:
        terminal.dump(result.json())
    else:
        r = result
        terminal.pairs(
            f"{r.kernel}/{r.version} on {r.board}, {r.config}, profile {r.profile}",
            [
                ("input, output", f"{r.bytes_in:,} bytes, {r.bytes_out:,} bytes, {r.pieces} pieces"),
                ("result", "correct" if r.correct else "WRONG"),
                ("job", f"{r.cycles:,} cycles, {r.bytes_per_cycle:.2f} bytes a cycle"),
                ("from the first page on", f"{r.steady_bytes_per_cycle:.2f} bytes a cycle"),
                ("channels' limit", f"{r.channel_limit:.2f} bytes a cycle"),
                ("kernel's limit", f"{r.stated_bytes_per_cycle:.2f} bytes a cycle at the stated initiation interval"),
                ("time", f"model {r.build_seconds:.1f} s, board {r.boot_seconds:.1f} s, data and run {r.run_seconds:.1f} s"),
            ],
        )
    if not result.correct:
        raise KernelError(f"{kernel.name} returned something else than its reference.py expects")


@hls.command("export")
@click.argument("kernel", type=KernelName())
@click.option("--board", default="cosmosplus", show_default=True, help="Board whose part and clock the IP is made for.")
@click.option("--part", help="Part instead of the board's.")
@click.option("--clock-ns", type=click.FloatRange(min=0, min_open=True), help="Clock period instead of the board's.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder instead of build/hls/export/KERNEL.")
@click.option("--run", "synthesise", is_flag=True, help="Run it in Vitis HLS: C simulation, synthesis, co-simulation, IP.")
@json_option
def export_command(
    kernel: Kernel, board: str, part: str | None, clock_ns: float | None, out: Path | None, synthesise: bool, as_json: bool
) -> None:
    """Write KERNEL as a Vitis HLS project with kernel.json, by which `assasin build --board` finds it."""
    target = exports.target_of(board, part, clock_ns)
    if synthesise:
        exports.find_tool()
    folder = exports.export(kernel, target, out)
    if synthesise:
        with terminal.spinner(f"Vitis HLS: {kernel.name}"):
            exports.synthesise(folder)
    if as_json:
        terminal.dump(
            {
                "kernel": kernel.name,
                "folder": kernels.shown(folder),
                "part": target.part,
                "clock_ns": target.clock_ns,
                "synthesised": synthesise,
            }
        )
    else:
        terminal.out.print(f"{kernels.shown(folder)} for {target.part} at {target.clock_ns:g} ns", soft_wrap=True)


@hls.command("bench")
@click.option("--kernel", "wanted", type=click.Choice(KERNELS), multiple=True, help="Only these; default both.")
@click.option("--quick", is_flag=True, help="2x2 board, profile test, small inputs: for tests.")
@click.option("--config", type=ConfigName(), help="A configuration with slots; default AssasinSbHls8x8, with --quick 2x2.")
@click.option("--profile", help="What a cycle is worth; default paper, with --quick test.")
@click.option("--build/--no-build", "build_board", default=True, show_default=True, help="Build the board first.")
@name_option
@json_option
def bench_command(
    wanted: tuple[str, ...], quick: bool, config: str | None, profile: str | None, build_board: bool, name: str, as_json: bool
) -> None:
    """
    XSSD's three forms side by side: fgrep8 and saxpy by host I/O, on the cores (RPC), in the slots (HW); beside the dissertation's.

    Leaves build/hls/result.json, in which the other kernel's figures stay when they are of the same configuration and commit.
    """
    config = config or ("AssasinSbHls2x2" if quick else "AssasinSbHls8x8")
    profile = profile or ("test" if quick else "paper")
    with terminal.spinner("three forms") as say:
        result = benches.run(wanted or KERNELS, config, profile, quick, build_board, name, say)
    if as_json:
        terminal.dump(result)
    else:
        benches.print_table(result)
        terminal.out.print(kernels.shown(benches.RESULT))
    bad = [f"{r['kernel']} ({r['form']})" for r in result["rows"] if not r["correct"]]
    if bad:
        raise KernelError(f"wrong result: {', '.join(bad)}")
