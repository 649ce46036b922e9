# SPDX-License-Identifier: BSD-3-Clause
"""`assasin offload check`: builds, runs on data under the sanitizers and as machine code, and runs the function's own test."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assasin.offload import both, build
from assasin.offload.source import Source
from assasin.tree import ROOT

SIZES = (0, 1, 77, 4096, 4099)
"""Bytes of the random inputs: nothing, one, odd, a page, and one that ends behind a page."""


@dataclass(frozen=True)
class Case:
    """A run: what on, what came out, what is wrong."""

    data: str
    bytes_in: int
    bytes_out: int
    exit_code: int | None
    cycles: int
    findings: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """`test`: what the function's own test said when it failed, "" when it passed, None when there is none."""

    name: str
    seed: int | None
    cases: tuple[Case, ...]
    test: str | None
    seconds: float
    elf: Path

    @property
    def ok(self) -> bool:
        """Nothing was found."""
        return not self.test and not any(c.findings for c in self.cases)

    @property
    def findings(self) -> list[str]:
        """Each finding once, with the data that showed it first."""
        first: dict[str, str] = {}
        for c in self.cases:
            for f in c.findings:
                first.setdefault(f, c.data)
        return [f"{f} (with {data})" for f, data in first.items()]


def _start_test(source: Source) -> subprocess.Popen[str] | None:
    if source.test is None:
        return None
    paths = [str(ROOT / "host-driver/python"), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "--color=no"]
    return subprocess.Popen(
        # Of no project's settings: the folder may be anywhere.
        [*command, "-c", os.devnull, f"--rootdir={source.path.parent}", source.test.name],
        cwd=source.path.parent,
        env=os.environ | {"PYTHONPATH": ":".join(filter(None, paths)), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def data_for(source: Source, files: Sequence[bytes], size: int | None, seed: int) -> list[tuple[str, list[bytes]]]:
    """The inputs to run on, each with its name: the files' contents, or random bytes of several sizes, or of one."""
    if files:
        return [("the files", list(files))]
    r = random.Random(seed)
    return [
        (f"{n:,} random bytes", [r.randbytes(n) for _ in range(max(1, source.inputs))])
        for n in (SIZES if size is None else (size,))
    ]


def check(
    source: Source,
    files: Sequence[bytes] = (),
    size: int | None = None,
    args: bytes = b"",
    seed: int = 1,
    seconds: int = both.SECONDS,
) -> Report:
    """
    `size`: of the random data, bytes; None: SIZES. `seconds`: what a run may take. A result other than 0 is no finding: it may be
    right for such data. Raises BuildError.
    """
    start = time.monotonic()
    build.build_simulator()
    elf = build.build(source, ("sb",), sanitized=True)["sb"]
    test = _start_test(source)
    try:
        cases = []
        for name, inputs in data_for(source, files, size, seed):
            pair = both.run_built(source, inputs, args, source.outputs, seconds)
            cases.append(
                Case(
                    name,
                    sum(map(len, inputs)),
                    sum(map(len, pair.machine.outputs)),
                    pair.native.exit_code,
                    pair.machine.cycles,
                    tuple(map(str, pair.findings)),
                )
            )
            if pair.native.exit_code is None and pair.findings:
                break
        said = None
        if test is not None:
            try:
                text, _ = test.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                text = "it has not ended within 60 s"
            said = text.strip() if test.returncode != 0 else ""
    finally:
        if test is not None and test.poll() is None:
            test.kill()
            test.wait()
    return Report(source.name, None if files else seed, tuple(cases), said, time.monotonic() - start, elf)
