# SPDX-License-Identifier: BSD-3-Clause
"""libassasin as installed: what a program outside the tree finds by pkg-config, by CMake, and in the manual."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import assasin
import pytest
from assasin.tree import ROOT

HEADER = ROOT / "host-driver/include/assasin/assasin.h"
EXAMPLE = ROOT / "host-driver/examples/stat.c"


def command(words: Sequence[str | Path], **environment: str) -> str:
    done = subprocess.run(words, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prefix with a space in its name, which people have in theirs."""
    folder = tmp_path_factory.mktemp("install") / "with space"
    command(["make", "-s", "-C", ROOT / "host-driver", "install", f"PREFIX={folder}"])
    return folder


def asks_for_a_board(program: Path, prefix: Path) -> None:
    """The program finds its library, and the library says that there is no board."""
    done = subprocess.run(
        [program, "virtual:/no/such/door", EXAMPLE, "1", "4096"],
        env=os.environ | {"LD_LIBRARY_PATH": str(prefix / "lib")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "/no/such/door" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("example", sorted(EXAMPLE.parent.glob("*.c")), ids=lambda p: p.stem)
def test_a_program_by_pkg_config(prefix: Path, tmp_path: Path, example: Path) -> None:
    where = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    assert command(["pkg-config", "--modversion", "assasin"], **where).strip() == assasin.__version__
    program = tmp_path / example.stem
    # eval, as a path may have spaces, which pkg-config escapes.
    command(["sh", "-c", f'eval cc -Wall -Wextra -Werror {example} -o {program} "$(pkg-config --cflags --libs assasin)"'], **where)
    asks_for_a_board(program, prefix)
    needed = command(["readelf", "-d", program])
    assert f"[libassasin.so.{assasin.__version__.split('.')[0]}]" in needed


@pytest.mark.parametrize("target", ["assasin::assasin", "assasin::static"])
def test_a_program_by_cmake(prefix: Path, tmp_path: Path, target: str) -> None:
    shutil.copy(EXAMPLE, tmp_path)
    minor = ".".join(assasin.__version__.split(".")[:2])
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user C)\n"
        f"find_package(assasin {minor} REQUIRED)\nadd_executable(stat stat.c)\ntarget_link_libraries(stat {target})\n"
    )
    command(["cmake", "-S", tmp_path, "-B", tmp_path / "out", f"-DCMAKE_PREFIX_PATH={prefix}"])
    command(["cmake", "--build", tmp_path / "out"])
    asks_for_a_board(tmp_path / "out/stat", prefix)


def test_cmake_refuses_a_version_that_is_not_there(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user C)\nfind_package(assasin 9.1 REQUIRED)\n"
    )
    done = subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "out", f"-DCMAKE_PREFIX_PATH={prefix}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode and f"version: {assasin.__version__}" in done.stderr


def test_every_function_has_a_page(prefix: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    declared = set(re.findall(r"^[a-z].*?\b(assasin_\w+)\(", text, re.M)) - {n for n in re.findall(r"\(\*(assasin_\w+)\)", text)}
    pages = {page.stem for page in (prefix / "share/man/man3").glob("*.3")}
    assert len(declared) > 40 and declared | {"libassasin"} == pages
    for page in (prefix / "share/man/man3").glob("*.3"):
        # Warnings of groff are requests or escapes that it does not know.
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", page], capture_output=True, text=True, check=True)
        assert not done.stderr, f"{page.name}: {done.stderr}"
        assert page.stem in done.stdout and "\\" not in done.stdout, page.name


def test_headers_compile_as_c_and_as_cplusplus(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "both.c"
    source.write_text("#include <assasin/assasin.h>\n#include <assasin/contract.h>\nint main(void) { return SCOMP_STATUS_OK; }\n")
    for compiler in (["cc", "-std=c11"], ["c++", "-std=c++17", "-x", "c++"]):
        command([*compiler, "-Wall", "-Wextra", "-Werror", f"-I{prefix}/include", "-fsyntax-only", source])
