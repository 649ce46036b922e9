# SPDX-License-Identifier: BSD-3-Clause
"""
Compilers and headers of kernels' C++ on this machine.

ap_int.h and its kin are the open ones that come with hls4ml (Apache-2.0; scripts/setup installs them); ap_axi_sdata.h and the
models' hls_stream.h are in hls-kernels/include. Headers are compiled ahead; every object is kept under a hash of its inputs.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assasin import programs
from assasin.hls.kernel import KERNELS, OUT, KernelError

INCLUDE = KERNELS / "include"
STANDARD = "-std=c++14"
"""What Vitis HLS compiles kernels as."""

WARNINGS = ("-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Wno-unused-label")
NO_CONTRACTION = "-ffp-contract=off"
"""A product and a sum stay two operations, as the HLS tool makes them."""

COMPILE_SECONDS = 300.0


@functools.cache
def open_headers() -> Path:
    """The folder of the open ap_int.h. Raises KernelError."""
    folder = Path(os.environ.get("ASSASIN_HLS_HEADERS", "/nonexistent"))
    if not (folder / "ap_int.h").exists():
        raise KernelError("the open HLS headers are not there: run scripts/setup, then `. scripts/env.sh`")
    return folder


@functools.cache
def compiler() -> str:
    """The C++ compiler. Raises KernelError."""
    for name in (f"clang++-{os.environ.get('LLVM_VERSION', '19')}", "clang++"):
        if shutil.which(name):
            return name
    raise KernelError("no clang++ is on PATH: run scripts/setup, then `. scripts/env.sh`")


@functools.cache
def _compiler_version() -> str:
    return subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class Target:
    """A way to compile kernels."""

    name: str
    flags: tuple[str, ...]
    folders: tuple[str, ...]
    """Folders of hls-kernels/include whose headers come before the open ones."""
    header: str
    """The header of hls-kernels/include that is compiled ahead."""

    def command(self) -> list[str]:
        """Compiler and flags that all its files share."""
        includes = [f"-I{INCLUDE / f}" for f in self.folders] + [f"-I{INCLUDE}", "-isystem", str(open_headers())]
        return [compiler(), STANDARD, *WARNINGS, NO_CONTRACTION, "-fpch-instantiate-templates", *self.flags, *includes]


def _ignored() -> str:
    """The open headers shift negative numbers and read what is not set yet: only kernels and test benches are looked at."""
    path = OUT / "include" / "open-headers.ignore"
    text = f"src:{open_headers()}/*\n"
    if not path.exists() or path.read_text() != text:
        _write(path, text.encode())
    return str(path)


def csim_target() -> Target:
    """C simulation: the open hls_stream.h, under sanitizers."""
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-fsanitize-ignorelist={_ignored()}")
    return Target("csim", ("-O0", "-g1", *sanitizers), ("csim",), "assasin_testbench.h")


def model_target() -> Target:
    """Models for the virtual board: this project's hls_stream.h, optimised."""
    flags = ("-O1", "-fPIC", "-fvisibility=hidden")
    return Target("model", flags, ("model", "csim"), "model/assasin_model.h")


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_bytes(data)
    new.rename(path)


def _hash(*parts: str | bytes) -> str:
    h = hashlib.sha256()
    for p in parts:
        data = p.encode() if isinstance(p, str) else p
        h.update(len(data).to_bytes(8, "little") + data)
    return h.hexdigest()[:24]


def _headers(folder: Path) -> bytes:
    return b"".join(f"{p}:".encode() + p.read_bytes() for p in sorted(folder.rglob("*.h")))


def run(command: Sequence[str], what: str) -> None:
    """Runs a compiler. Raises KernelError with what it said."""
    try:
        done = programs.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS)
    except subprocess.TimeoutExpired as e:
        raise KernelError(f"{what} has not been compiled within {COMPILE_SECONDS:.0f} s") from e
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        shown = "\n".join(lines[:40]) + ("\n..." if len(lines) > 40 else "")
        raise KernelError(f"{what} does not compile:\n{shown}")


def compiled_ahead(target: Target) -> tuple[list[str], str]:
    """The flags that use the target's header, compiled ahead, and its hash."""
    command = target.command()
    key = _hash(" ".join(command), _compiler_version(), _headers(INCLUDE), target.header)
    pch = OUT / "include" / f"{target.name}-{key}.pch"
    if not pch.exists():
        pch.parent.mkdir(parents=True, exist_ok=True)
        for old in pch.parent.glob(f"{target.name}-*.pch"):
            old.unlink(missing_ok=True)
        new = pch.with_name(f"{pch.name}.{os.getpid()}")
        run([*command, "-x", "c++-header", str(INCLUDE / target.header), "-o", str(new)], target.header)
        new.rename(pch)
    return ["-include-pch", str(pch)], key


def compile_object(target: Target, source: Path, folder: Path, includes: Sequence[Path]) -> Path:
    """
    The object of a source file, in `folder`; compiled when a hash of the source, of the headers in `includes` or of the compiler's
    flags has changed. Raises KernelError.
    """
    ahead, key = compiled_ahead(target)
    headers = b"".join(_headers(i) for i in includes)
    key = _hash(key, source.read_bytes(), str(source), headers)
    out = folder / f"{target.name}-{source.stem}-{key}.o"
    if not out.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{target.name}-{source.stem}-*.o"):
            old.unlink(missing_ok=True)
        new = out.with_name(f"{out.name}.{os.getpid()}")
        run([*target.command(), *ahead, *(f"-I{i}" for i in includes), "-c", str(source), "-o", str(new)], source.name)
        new.rename(out)
    return out
