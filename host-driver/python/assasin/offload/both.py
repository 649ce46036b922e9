# SPDX-License-Identifier: BSD-3-Clause
"""One piece on this machine and on the simulator of a core, and where the two differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assasin.offload import build, machine, native
from assasin.offload.native import Finding
from assasin.offload.source import Source

SECONDS = 5
"""What a native run may take."""


@dataclass(frozen=True)
class Pair:
    """Both results; `findings`: theirs, or the difference between them."""

    native: native.Result
    machine: machine.Result
    findings: tuple[Finding, ...]


def difference(a: Sequence[bytes], b: Sequence[bytes]) -> str | None:
    """Where streams differ first, in words."""
    for s, (x, y) in enumerate(zip(a, b, strict=True)):
        if x != y:
            at = next((i for i, (p, q) in enumerate(zip(x, y, strict=False)) if p != q), min(len(x), len(y)))
            return f"output {s} differs from byte {at} on ({len(x):,} and {len(y):,} bytes)"
    return None


def run(source: Source, inputs: Sequence[bytes], args: bytes, outputs: int, seconds: int = SECONDS) -> Pair:
    """Builds what is not up to date, and runs it, on a core with stream instructions. Raises BuildError."""
    build.build(source, ("sb",), sanitized=True)
    return run_built(source, inputs, args, outputs, seconds)


def run_built(source: Source, inputs: Sequence[bytes], args: bytes, outputs: int, seconds: int = SECONDS) -> Pair:
    """The same with the programs as they are."""
    programs = build.files_of(source, ("sb",), sanitized=True)
    here = native.run(programs["sanitized"], source.path, inputs, args, outputs, seconds)
    # What never ends here needs no long look there.
    limit = machine.LIMIT if here.exit_code is not None else 20_000_000
    there = machine.run(programs["sb"], "sb", inputs, args, outputs, limit)
    found = [*here.findings, *there.findings]
    if not found and here.exit_code is not None:
        assert there.exit_code is not None
        if here.exit_code != there.exit_code:
            found.append(Finding(f"compute returns {here.exit_code} on this machine, {there.exit_code} on a core"))
        elif (where := difference(here.outputs, there.outputs)) is not None:
            found.append(Finding(f"this machine and a core disagree: {where}; does it use memory that it has not written?"))
    return Pair(here, there, tuple(found))
