# SPDX-License-Identifier: BSD-3-Clause
"""Building an offload of one's own: what make takes, and what it says otherwise."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import assasin_contract as contract
import pytest
from native import ROOT


def variant(elf: Path) -> int:
    """The ScompVariant in the note that is the file's only segment of notes."""
    data = elf.read_bytes()
    offset, size, count = struct.unpack_from("<I", data, 28)[0], *struct.unpack_from("<HH", data, 42)
    headers = [struct.unpack_from("<8I", data, offset + i * size) for i in range(count)]
    ((_, at, *_),) = (h for h in headers if h[0] == 4)
    *head, name, number = struct.unpack_from("<3I8sI", data, at)
    assert head == [8, 4, contract.SCOMP_NOTE_VARIANT]
    assert name == b"ASSASIN\0"
    return number


def make(source: Path | str, out: Path, target: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "-s", "-C", str(ROOT / "firmware/offload"), target, f"SRC={source}", f"OUT={out}", "ARCHS=sb"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "MAKEFLAGS": ""})


def test_a_path_that_make_cannot_take_is_named(tmp_path: Path) -> None:
    source = tmp_path / "a b" / "x.c"
    source.parent.mkdir()
    source.write_text("int compute(void) { return 0; }")
    for given, missing in ((source, str(tmp_path / "a")), ("mine.c", "mine.c")):
        done = make(given, tmp_path / "out", "native")
        assert done.returncode == 2
        assert f"SRC: there is no file {missing}. Give the whole path" in done.stderr
        assert "space" in done.stderr


def test_a_cast_that_is_right_on_the_cores_does_not_stop_the_native_build(tmp_path: Path) -> None:
    (tmp_path / "cast.c").write_text(
        "#include <assasin.h>\nstatic int x;\nint compute(void) { ASSASIN_OUT(0);\n"
        "    ASSASIN_STORE_U32(0, (uint32_t)&x); ASSASIN_RETURN(0); }\n"
    )
    done = make(tmp_path / "cast.c", tmp_path / "out", "native")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "native" / "cast.so").exists()


@pytest.mark.parametrize(
    ("file", "built_for"),
    [
        *((f"{arch}/scan", arch) for arch in ("sb", "sbx", "sp", "mem")),
        *((file, "v") for file in ("v/vector_add", "vector_add", "varve/filters/zve32x-m1", "varve/filters/zve32x-m8")),
        *((f"varve/filters/{form}", "sb") for form in ("scalar", "scalar-clang")),
        *(
            (f"{kernels}/{form}", kind)
            for kernels in ("varve", "varve/filters", "varve/shapes", "vector/limit")
            for form, kind in (("scalar", "sb"), ("pup", "vp"), ("full", "vf"), ("published", "vf"))
        ),
    ],
)
def test_a_program_names_the_cores_that_it_needs(file: str, built_for: str) -> None:
    assert variant(ROOT / f"build/offload/{file}.elf") == getattr(contract, f"SCOMP_VARIANT_{built_for.upper()}")
