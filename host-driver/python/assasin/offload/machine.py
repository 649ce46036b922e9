# SPDX-License-Identifier: BSD-3-Clause
"""Runs an offload's machine code on the simulator of a core, and says in words and source lines what went wrong."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assasin.errors import AssasinError
from assasin.offload import build
from assasin.offload.native import Finding
from assasin.offload.simulator import Core, OutputFullError, Trap
from assasin.offload.source import Source
from assasin.tree import contract

LIMIT = 2_000_000_000
"""Instructions after which a run counts as endless."""
VLEN = 128
"""Bits of a vector register where the core has a vector unit."""
CAUSES = {
    1: "it jumps to an address without code",
    2: "illegal instruction, or a stream that the request does not have",
    4: "misaligned load: addresses of words are multiples of 4, of halfwords of 2",
    5: "load from an address where there is no memory",
    6: "misaligned store: addresses of words are multiples of 4, of halfwords of 2",
    7: "store to an address where there is no memory",
    int(contract.CAUSE_STREAM_RANGE): "a peek further back than the ring reaches",
}


@dataclass(frozen=True)
class Result:
    """`exit_code` is None when the piece did not end by itself; then `findings` say why."""

    exit_code: int | None
    outputs: list[bytes]
    instructions: int
    cycles: int
    findings: tuple[Finding, ...]
    core: Core


def lines_of(elf: Path, addresses: Iterable[int]) -> dict[int, tuple[str, str, int]]:
    """Function, file and line of each address, by the debug information; "??" and 0 where there is none. Raises BuildError."""
    wanted = sorted(set(addresses))
    command = ["riscv64-unknown-elf-addr2line", "-f", "-e", str(elf)]
    try:
        done = subprocess.run(command, input="".join(f"{a:#x}\n" for a in wanted), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        raise build.BuildError(f"{command[0]} does not work: install the package binutils-riscv64-unknown-elf: {e}") from e
    answers = done.stdout.splitlines()
    places = {}
    for address, function, place in zip(wanted, answers[::2], answers[1::2], strict=True):
        path, _, line = place.split(" (")[0].rpartition(":")
        places[address] = (function, path, int(line) if line.isdecimal() else 0)
    return places


def _finding(elf: Path, what: str, pc: int) -> Finding:
    _, path, line = lines_of(elf, [pc])[pc]
    return Finding(f"{what} (on the core, at {pc:#x})", Path(path).name if line else "", line)


def run(
    elf: Path, arch: str, inputs: Sequence[bytes], args: bytes, outputs: int, limit: int = LIMIT, counted: bool = False
) -> Result:
    """Runs one piece. `limit`: instructions; `counted`: see Core. Raises AssasinError when the arguments or streams do not fit."""
    if len(inputs) > contract.SCOMP_MAX_STREAMS or outputs > contract.SCOMP_MAX_STREAMS:
        raise AssasinError(f"a piece has at most {contract.SCOMP_MAX_STREAMS} input and as many output streams")
    if len(args) > contract.SCOMP_MAX_ARGS:
        raise AssasinError(f"{len(args):,} bytes of arguments: at most {contract.SCOMP_MAX_ARGS:,}")
    build.build_simulator()
    room = (1 << 22) + 64 * sum(map(len, inputs))
    core = Core(
        elf,
        list(inputs),
        args,
        outputs,
        software=arch in build.SOFTWARE,
        room=room,
        vlen=VLEN if arch == "v" else 0,
        counted=counted,
    )
    code, found = None, []
    try:
        code = core.run(limit)
        if code is None:
            found.append(_finding(elf, "it waits for a stream for ever", core.pc))
    except Trap as e:
        found.append(_finding(elf, CAUSES.get(e.cause, f"trap, cause {e.cause}"), e.pc))
    except TimeoutError:
        found.append(_finding(elf, f"still running after {limit:,} instructions: an endless loop? It is here", core.pc))
    except OutputFullError as e:
        found.append(_finding(elf, str(e), core.pc))
    return Result(code, core.out, core.instructions, core.cycles, tuple(found), core)


def built(source: Source, arch: str) -> Path:
    """The program for cores of this kind. Raises BuildError."""
    return build.build(source, (arch,))[arch]
