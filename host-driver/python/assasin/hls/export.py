# SPDX-License-Identifier: BSD-3-Clause
"""
A kernel as a Vitis HLS project: sources, test bench, a Tcl script for csynth, cosim and IP export; kernel.json for the board build.

Nobody has run this in Vitis HLS yet; names of ports and files below are those that AMD documents (UG1399).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assasin import programs
from assasin.hls import signature
from assasin.hls.kernel import OUT, SCALAR_BASE, SCALAR_STEP, Kernel, KernelError
from assasin.hls.toolchain import INCLUDE
from assasin.tree import ROOT

SCHEMA = 1
VENDOR, LIBRARY = "assasin", "hls"
CONTROL = "s_axi_control"
"""The name that the tool gives the one AXI4-Lite interface."""

TOOLS = ("vitis_hls", "vitis-run")
"""Front ends of the tool, the older one first."""


@dataclass(frozen=True)
class Target:
    """What the IP is made for."""

    part: str
    clock_ns: float


def target_of(board: str, part: str | None = None, clock_ns: float | None = None) -> Target:
    """The part and the core clock of a board, but for what is given. Raises KernelError."""
    if part is None or clock_ns is None:
        from assasin.boards import Board, BoardFileError

        try:
            wanted = Board.load(board)
        except BoardFileError as e:
            raise KernelError(str(e)) from e
        if wanted.part is None:
            raise KernelError(f"board '{board}' has no part to make an IP for: name a real board, or --part and --clock-ns")
        part = part or wanted.part.name
        clock_ns = clock_ns or 1000 / wanted.clock.core_mhz
    return Target(part, clock_ns)


def control_bits(kernel: Kernel) -> int:
    """Address bits of the control registers, which end with the last scalar's second word."""
    return max(4, (SCALAR_BASE + SCALAR_STEP * len(kernel.scalars) - 1).bit_length())


def description(kernel: Kernel, target: Target) -> dict[str, Any]:
    """kernel.json: what the board build has to know of the kernel. Paths are relative to its folder."""
    return {
        "schema": SCHEMA,
        "name": kernel.name,
        "version": kernel.version,
        "title": kernel.title,
        "id": kernel.id,
        "module": kernel.top,
        "vlnv": f"{VENDOR}:{LIBRARY}:{kernel.name}:{_ip_version(kernel)}",
        "part": target.part,
        "clock_ns": target.clock_ns,
        "inputs": list(kernel.inputs),
        "output": kernel.output,
        "control": CONTROL,
        "control_bits": control_bits(kernel),
        "scalars": [
            {"name": s.name, "type": s.type, "offset": SCALAR_BASE + SCALAR_STEP * i} for i, s in enumerate(kernel.scalars)
        ],
        "stated": {"ii": str(kernel.ii), "latency": kernel.latency},
        "repository": "vitis/solution/impl/ip",
        "verilog": "vitis/solution/syn/verilog",
        "sources": [f"src/{p.name}" for p in kernel.files()],
        "testbench": [f"tb/{t}" for t in kernel.testbench],
        "include": ["include/assasin_slot.h", "include/assasin_testbench.h"],
        "script": "run_hls.tcl",
        "measured_on_hardware": False,
    }


def _ip_version(kernel: Kernel) -> str:
    """Vivado wants major.minor."""
    return ".".join((*kernel.version.split("."), "0")[:2])


def script(kernel: Kernel, target: Target) -> str:
    """run_hls.tcl."""
    flags = '"-std=c++14 -Iinclude -Isrc"'
    sources = [f"add_files -cflags {flags} src/{s}" for s in kernel.sources]
    benches = [f"add_files -tb -cflags {flags} tb/{t}" for t in kernel.testbench]
    return "\n".join(
        [
            "# SPDX-License-Identifier: BSD-3-Clause",
            f"# {kernel.name} {kernel.version}: C simulation, synthesis, co-simulation, IP. Run it in this folder:",
            "#   vitis_hls -f run_hls.tcl          (before 2024.2)",
            "#   vitis-run --mode hls --tcl run_hls.tcl",
            '# Steps can be chosen by the environment: HLS_STEPS="csim csynth cosim export".',
            "set steps {csim csynth cosim export}",
            "if {[info exists ::env(HLS_STEPS)]} { set steps $::env(HLS_STEPS) }",
            "foreach step $steps {",
            "    if {$step ni {csim csynth cosim export}} {",
            "        puts stderr \"run_hls.tcl: HLS_STEPS has '$step': there are csim, csynth, cosim, export\"",
            "        exit 1",
            "    }",
            "}",
            "open_project -reset vitis",
            f"set_top {kernel.top}",
            *sources,
            *benches,
            "open_solution -reset -flow_target vivado solution",
            f"set_part {target.part}",
            f"create_clock -period {target.clock_ns:g} -name default",
            "# Active-low and synchronous: the slot's reset, inverted. State is cleared by it.",
            "config_rtl -reset state -reset_level low",
            'if {"csim" in $steps} { csim_design -clean }',
            'if {"csynth" in $steps} { csynth_design }',
            'if {"cosim" in $steps} { cosim_design -rtl verilog -trace_level none }',
            'if {"export" in $steps} {',
            f"    export_design -format ip_catalog -rtl verilog -vendor {VENDOR} -library {LIBRARY} -ipname {kernel.name} "
            f"-version {_ip_version(kernel)} -display_name {kernel.name}",
            "}",
            "close_project",
            "exit",
            "",
        ]
    )


def export(kernel: Kernel, target: Target, folder: Path | None = None) -> Path:
    """Writes the project to `folder`, build/hls/export/NAME by default, whole or not at all. Raises KernelError."""
    signature.check(kernel)
    if not target.part or target.clock_ns <= 0:
        raise KernelError(f"part '{target.part}' at {target.clock_ns:g} ns: a project needs a part and a period above 0")
    folder = folder or OUT / "export" / kernel.name
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        for name in ("src", "tb", "include"):
            (fresh / name).mkdir(parents=True)
        for path in kernel.files():
            shutil.copy(path, fresh / "src" / path.name)
        for name in kernel.testbench:
            shutil.copy(kernel.folder / name, fresh / "tb" / name)
        for name in ("assasin_slot.h", "assasin_testbench.h"):
            shutil.copy(INCLUDE / name, fresh / "include" / name)
        (fresh / "run_hls.tcl").write_text(script(kernel, target))
        (fresh / "kernel.json").write_text(json.dumps(description(kernel, target), indent=2) + "\n")
        if folder.exists():
            if not (folder / "kernel.json").exists():
                raise KernelError(f"{folder} is there and is no exported kernel: choose another folder with --out")
            shutil.rmtree(folder)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def find_tool() -> str:
    """Path of the HLS tool. Raises KernelError."""
    for name in TOOLS:
        path = shutil.which(name)
        if path:
            return path
    raise KernelError(
        f"neither {' nor '.join(TOOLS)} is on PATH: source the settings64.sh of a Vitis installation (2023.2 or later); "
        "without --run the project is only written"
    )


def synthesise(folder: Path) -> None:
    """Runs an exported project's script in Vitis HLS. Raises KernelError."""
    tool = find_tool()
    how = ["-f", "run_hls.tcl"] if Path(tool).name == "vitis_hls" else ["--mode", "hls", "--tcl", "run_hls.tcl"]
    log = folder / "run_hls.log"
    with log.open("wb") as out:
        code = programs.run([tool, *how], cwd=folder, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode
    if code:
        shown = log.relative_to(ROOT) if log.is_relative_to(ROOT) else log
        raise KernelError(f"{Path(tool).name} ended with exit code {code}: see {shown}")
