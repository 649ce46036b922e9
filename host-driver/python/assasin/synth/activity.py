# SPDX-License-Identifier: BSD-3-Clause
"""
Switching activity of a tile's signals: the tile's RTL runs an offload in Verilator (hw/synth/activity), fed as fast as it takes
data, and Verilator counts toggles (SAIF). Zero-delay: glitches are not in it.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache as memoise
from pathlib import Path
from typing import Any

import numpy as np

from assasin.bringup.elf import Elf
from assasin.paper_workloads import Workload
from assasin.synth import SynthError, cache, polite
from assasin.tree import BUILD, ROOT

SIZES = {"stat": 64 << 10, "raid4": 64 << 10, "raid6": 128 << 10, "aes": 8 << 10}
"""Input bytes of the functions of Figure 13, all streams together: enough that start and end do not show."""

_HARNESS = ROOT / "hw" / "synth" / "activity" / "tile_activity.cpp"
_COSIM = ROOT / "hw" / "cosim"
# Folders of build/cosim, and offloads' architectures (firmware/offload/README.md).
_TILES = {
    "AssasinSb": ("native", "sb"),
    "ChannelLocal": ("native", "sb"),
    "AssasinSbX": ("AssasinSbX", "sbx"),
    "AssasinSbCache": ("AssasinSbCache", "sb"),
    "AssasinSp": ("AssasinSp", "sp"),
    "Baseline": ("Baseline", "mem"),
    "Prefetch": ("Prefetch", "mem"),
    "AssasinVf": ("AssasinVf", "sb"),
}
_WITH_DRAM = ("AssasinSbCache", "Baseline", "Prefetch")


@dataclass(frozen=True)
class Activity:
    """What one run of a workload on one tile toggled. `signals`: instance to (toggles, bits), those of instances below it not
    included; the clock is none."""

    cycles: int
    bytes_in: int
    signals: dict[str, tuple[int, int]]

    @property
    def rate(self) -> float:
        """Input bytes a cycle of the tile alone, with input always there."""
        return self.bytes_in / self.cycles

    def of(self, instances: Iterable[str]) -> float:
        """Toggles a bit and cycle over the signals of these instances."""
        found = [self.signals[i] for i in instances if i in self.signals]
        bits = sum(b for _, b in found)
        return sum(t for t, _ in found) / (bits * self.cycles) if bits else 0.0


def parse_saif(text: str, top: str) -> dict[str, tuple[int, int]]:
    """
    (toggles, bits) of each instance below the module instance `top`, by dotted path; `top` itself is "". Signals named `clock`
    or ending in `_clk` do not count. Raises SynthError for a text that holds no such instance.
    """
    found: dict[str, list[int]] = {}
    stack: list[str] = []
    signal = re.compile(r"^\s*\((\S+) .*\(TC (\d+)\)")
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("(INSTANCE"):
            stack.append(stripped.split()[1])
        elif stripped == "(NET":
            stack.append("")
        elif stripped == ")" and stack:
            stack.pop()
        elif stack and not stack[-1] and top in stack and (match := signal.match(line)):
            name = match[1].split("\\")[0]
            if name == "clock" or name.endswith("_clk"):
                continue
            path = ".".join(s for s in stack[stack.index(top) + 1 :] if s)
            entry = found.setdefault(path, [0, 0])
            entry[0] += int(match[2])
            entry[1] += 1
    if not found:
        raise SynthError(f"the activity file has no signals of {top}")
    return {path: (toggles, bits) for path, (toggles, bits) in found.items()}


def measure(architecture: str, workload: Workload, say: Callable[[str], None] = lambda _: None) -> Activity:
    """Runs the workload on one tile; from the cache when nothing it depends on has changed. Raises SynthError."""
    if architecture not in _TILES:
        raise SynthError(f"architecture '{architecture}' has no tile to run; there are: {', '.join(_TILES)}")
    _emit()
    elf = _offload(_TILES[architecture][1], workload.offload)
    sources = [_model(architecture), _HARNESS, *sorted(_COSIM.glob("*.h"))]
    # Not the whole file: debug information names folders of this machine.
    program = [f"{address:x} {data.hex()}" for address, data in Elf(elf).segments]
    key = cache.digest(*(p.read_text() for p in sources), *program, workload.args.hex(), str(SIZES[workload.name]))
    kept = cache.load("activity", key)
    if kept is None:
        say(f"activity of {workload.name} on a tile of {architecture}")
        kept = _run(architecture, workload, elf)
        cache.store("activity", key, kept)
    return Activity(kept["cycles"], kept["bytes_in"], {path: (t, b) for path, (t, b) in kept["signals"].items()})


def of_program(
    architecture: str,
    name: str,
    elf: Path,
    args: bytes,
    streams_out: int,
    inputs: Sequence[bytes],
    say: Callable[[str], None] = lambda _: None,
) -> Activity:
    """Runs a program over its input streams on one tile; from the cache as `measure`. Raises SynthError."""
    if architecture not in _TILES:
        raise SynthError(f"architecture '{architecture}' has no tile to run; there are: {', '.join(_TILES)}")
    _emit()
    sources = [_model(architecture), _HARNESS, *sorted(_COSIM.glob("*.h"))]
    program = [f"{address:x} {data.hex()}" for address, data in Elf(elf).segments]
    key = cache.digest(*(p.read_text() for p in sources), *program, args.hex(), *(data.hex() for data in inputs))
    kept = cache.load("activity", key)
    if kept is None:
        say(f"activity of {name} on a tile of {architecture}")
        kept = _count(architecture, name, elf, args, streams_out, inputs)
        cache.store("activity", key, kept)
    return Activity(kept["cycles"], kept["bytes_in"], {path: (t, b) for path, (t, b) in kept["signals"].items()})


def _model(architecture: str) -> Path:
    return BUILD / "cosim" / _TILES[architecture][0] / "StreamCore.sv"


@memoise
def _emit() -> None:
    """The tiles' RTL, as the co-simulation has it."""
    _call(["bash", "-c", "set -euo pipefail; . scripts/env.sh; . hw/cosim/build.sh; emit core"], "the generator of the tiles", ROOT)


@memoise
def _offload(arch: str, name: str) -> Path:
    elf = BUILD / "offload" / arch / f"{name}.elf"
    _call(["make", "-s", "-C", str(ROOT / "firmware" / "offload"), str(elf)], f"the build of offload {name} for {arch}", ROOT)
    return elf


@memoise
def _build(architecture: str) -> Path:
    """The simulator of one architecture's tile."""
    out = BUILD / "synth" / "activity" / architecture
    out.mkdir(parents=True, exist_ok=True)
    defines = "-DTILE_DRAM" if architecture in _WITH_DRAM else ""
    command = ["verilator", "--cc", "--exe", "--build", "-j", "1", "-O3", "--x-assign", "fast", "--trace-saif", "-Wno-fatal"]
    command += [
        "--top-module",
        "StreamCore",
        "--prefix",
        "VStreamCore",
        "--Mdir",
        str(out / "obj"),
        "-MAKEFLAGS",
        "OBJCACHE=ccache",
    ]
    command += ["-CFLAGS", f"-std=c++17 -O1 -I{BUILD / 'gen' / 'c'} -I{_COSIM} {defines}", "-o", str(out / "tile_activity")]
    command += [str(_model(architecture)), str(_HARNESS), str(_COSIM / "elf_file.cpp")]
    _call(command, f"the build of {architecture}'s tile", ROOT)
    return out / "tile_activity"


def _run(architecture: str, workload: Workload, elf: Path) -> dict[str, Any]:
    """One run, as it is kept in the cache."""
    data = workload.shape(np.random.default_rng(1).bytes(SIZES[workload.name]))
    share = len(data) // workload.streams_in
    inputs = [data[i * share : (i + 1) * share] for i in range(workload.streams_in)]
    return _count(architecture, workload.name, elf, workload.args, workload.streams_out, inputs)


def _count(architecture: str, name: str, elf: Path, args: bytes, streams_out: int, inputs: Sequence[bytes]) -> dict[str, Any]:
    binary = _build(architecture)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"input{i}" for i in range(len(inputs))]
        for path, data in zip(paths, inputs, strict=True):
            path.write_bytes(data)
        saif = Path(folder) / "activity.saif"
        arguments = [str(elf), args.hex() or "-", str(streams_out), str(saif), *map(str, paths)]
        printed = _call([str(binary), *arguments], f"{name} on a tile of {architecture}", ROOT)
        return json.loads(printed) | {"signals": parse_saif(saif.read_text(), "StreamCore")}


def _call(command: list[str], what: str, cwd: Path) -> str:
    done = polite.run(command, cwd)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise SynthError(f"{what} failed: " + ("\n".join(lines[-5:]) or "it printed nothing"))
    return done.stdout
