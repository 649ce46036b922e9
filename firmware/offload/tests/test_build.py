# SPDX-License-Identifier: BSD-3-Clause
"""Building an offload of one's own: what make takes, and what it says otherwise."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from native import ROOT


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
