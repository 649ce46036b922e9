# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of varve.h (tests/varve/kernels.c) on the RTL of a tile with VarVE-pup, against their definition in Python.

Not among the tests of firmware/offload/test, as it builds the tile: the suite `varve` of scripts/test runs it.
"""

from __future__ import annotations

import random
import subprocess

import numpy as np
import pytest
import test_varve_forms
import varve_forms
from assasin import varve_tile
from assasin.tree import BUILD, ROOT
from varve_forms import Case, Out

KERNELS = ("bitpack", "narrow", "widen")
LENGTHS = (0, 1, 7, 8, 9, 31, 33, 100, 257)


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    subprocess.run(["make", "-s", "-C", ROOT / "firmware" / "offload", "varve"], check=True)
    subprocess.run([ROOT / "hw" / "cosim" / "kernel-tile"], check=True)


def script(case: Case) -> varve_tile.Script:
    """A call of main.c's program; it reads the outputs in their order, and then the job."""
    s = varve_tile.Script()
    arguments = []
    for argument in case.arguments:
        if isinstance(argument, int):
            arguments.append(argument)
        elif isinstance(argument, Out):
            arguments.append(s.output(np.full(argument.size, 0xA5, np.uint8), argument.size))
        else:
            arguments.append(s.input(np.frombuffer(argument or b"\0", np.uint8)))
    s.arguments([varve_forms.NUMBERS[case.kernel], case.n, *(arguments + [0] * 6)[:6], 0])
    s.read(varve_tile.ARGS, varve_forms.JOB.size)
    return s


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_on_the_tile(kernel: str) -> None:
    cases = [test_varve_forms.case(kernel, n) for n in LENGTHS]
    done = varve_tile.answers(BUILD / "offload" / "varve" / "pup.elf", kernel, [script(c) for c in cases])
    for case, (run, *reads) in zip(cases, done, strict=True):
        what = f"{kernel} of {case.n} values, SEED={test_varve_forms.SEED}"
        varve_tile.ended(run, what)
        value, outputs = test_varve_forms.expected(case)
        job = bytes.fromhex(reads[-1]["bytes"])
        assert varve_forms.JOB.unpack(job)[8] == value, f"{what}: value"
        for i, (got, want) in enumerate(zip(reads, outputs, strict=False)):
            data = bytes.fromhex(got["bytes"])
            assert data[: len(want)] == want, f"{what}: output {i}"
            assert set(data[len(want) :]) <= {0xA5}, f"{what}: writes behind output {i}"


def test_huffman_streams_on_the_tile() -> None:
    """Bytes whose codes are of 1 to 15 bits are encoded and decoded; prints the cycles of each."""
    cases = [c for n in (*LENGTHS, 1024, 2048) for c in varve_forms.huffman(n, random.Random(f"{test_varve_forms.SEED} {n}"))]
    scripts = []
    for c in cases:
        s = varve_tile.Script()
        places = [s.input(np.frombuffer(part or b"\0", np.uint8)) for part in (c.source, c.table)]
        places.append(s.output(np.full(len(c.want) + 1, 0xA5, np.uint8), len(c.want) + 1))
        s.arguments([c.kernel, c.n, *places, 0, 0, 0, 0])
        s.read(varve_tile.ARGS, varve_forms.JOB.size)
        scripts.append(s)
    done = varve_tile.answers(BUILD / "offload" / "varve" / "huffman.elf", "huffman", scripts)
    for c, (run, *reads) in zip(cases, done, strict=True):
        what = f"{('decode', 'encode')[c.kernel]} of {c.n} values, {c.bits} bits, SEED={test_varve_forms.SEED}"
        varve_tile.ended(run, what)
        assert varve_forms.JOB.unpack(bytes.fromhex(reads[-1]["bytes"]))[8] == c.n, f"{what}: value"
        data = bytes.fromhex(reads[0]["bytes"])
        assert data[: len(c.want)] == c.want, f"{what}: output"
        assert set(data[len(c.want) :]) <= {0xA5}, f"{what}: writes behind the output"
        print(f"{what}: {run['cycles']} cycles")
