# SPDX-License-Identifier: BSD-3-Clause
"""`assasin offload`: new, check, run and profile, as a user calls them."""

from __future__ import annotations

import json
import os
import random
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from iss import ROOT

ASSASIN = ROOT / "scripts" / "bin" / "assasin"


def invoke(*args: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [ASSASIN, "offload", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, env=os.environ | environment, check=False)


def answer(*args: object, cwd: Path | None = None) -> dict[str, Any]:
    done = invoke(*args, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(words: str, *args: object, cwd: Path | None = None, **environment: str) -> str:
    done = invoke(*args, cwd=cwd, **environment)
    assert done.returncode in (1, 2), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    said = " ".join(done.stderr.replace("│", " ").split())
    assert words in said, said
    return said


def written(folder: Path, body: str, name: str = "mine", before: str = "") -> Path:
    path = folder / f"{name}.c"
    path.write_text(
        f"#include <assasin.h>\n{before}\nint compute(void) {{\n    ASSASIN_IN(0);\n    ASSASIN_OUT(0);\n{body}\n"
        "    ASSASIN_RETURN(0);\n}\n"
    )
    return path


COPY = "    for (;;)\n        ASSASIN_STORE_U8(0, ASSASIN_LOAD_U8(0, end));\nend:;"


def test_a_new_offload_passes_its_check_also_where_paths_have_spaces_and_umlauts(tmp_path: Path) -> None:
    folder = tmp_path / "meine Größen"
    folder.mkdir()
    made = answer("new", "lines", cwd=folder)
    assert sorted(made["files"]) == ["README.md", "lines.c", "test_lines.py"]
    report = answer("check", "lines", "--seed", 5, cwd=folder)
    assert (report["ok"], report["test"], report["seed"]) == (True, "passed", 5)
    assert [c["bytes_in"] for c in report["cases"]] == [0, 1, 77, 4096, 4099]
    assert (ROOT / report["elf"]).read_bytes()[:4] == b"\x7fELF"
    # Its own test is run: it notices what random data do not.
    source = folder / "lines" / "lines.c"
    source.write_text(source.read_text().replace("== '\\n'", "== '\\r'"))
    said = refused("lines is not right", "check", "lines", cwd=folder)
    assert "test_it_counts_bytes_and_lines" in said
    assert answer("run", "lines", "--bytes", 1000, "--seed", 1, cwd=folder)["bytes_out"] == [8]


@pytest.mark.parametrize("name", ["1st", "a-b", "größe", "x" * 32, "int", "lambda", "main", "", "../x"])
def test_names_that_are_none_are_refused(name: str, tmp_path: Path) -> None:
    said = refused(f"'{name}' cannot be an offload's name", "new", "--", name, tmp_path)
    assert said.count("assasin:") == 1
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_are_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    refused("mine is there already: choose another name or remove it", "new", "mine", tmp_path)
    refused("there is no folder", "new", "mine", tmp_path / "nowhere")
    refused("/proc/mine", "new", "mine", "/proc")
    assert not list((tmp_path / "mine").iterdir())


@pytest.mark.parametrize(
    ("before", "body", "line", "words"),
    [
        ("static uint32_t few[4];", "    few[assasin_task()->bytes[0] + 4] = 1;", 6, "out of bounds"),
        (
            "static volatile int32_t most = INT32_MAX;",
            "    ASSASIN_STORE_U32(0, most + 1);",
            6,
            "signed integer overflow",
        ),
        ("static volatile uint32_t go = 1;", "    while (go) {\n    }", 6, "endless loop"),
        ("", "    ASSASIN_STORE_U32(0, *(const uint32_t *)((const uint8_t *)assasin_args() + 1));", 6, "misaligned"),
        ("", "    ASSASIN_STORE_U8(0, ((const uint8_t *)assasin_args())[9]);", 6, "reads 1 bytes outside of an object"),
        ("", "    ASSASIN_STORE_U8(0, ASSASIN_TAKE_U8(0));", 0, "took what the stream does not have"),
    ],
)
def test_check_names_the_line_of_what_is_wrong(before: str, body: str, line: int, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, body, before=before)
    said = refused(words, "check", path, "--args", "0102030405060708", "--limit", 1)
    assert re.search(rf"mine\.c:{line}: [^(]*{words}" if line else words, said), said


def test_check_sees_a_read_of_arguments_where_there_are_none(tmp_path: Path) -> None:
    path = written(tmp_path, "    ASSASIN_STORE_U8(0, *(const volatile uint8_t *)assasin_args());")
    said = refused("mine.c:6", "check", path, "--bytes", 16)
    assert "assasin:" in said


def test_check_sees_memory_that_was_never_written(tmp_path: Path) -> None:
    path = written(tmp_path, "    ASSASIN_STORE_U32(0, somewhere());", before=(
        "__attribute__((noinline)) static uint32_t somewhere(void) {\n    volatile uint32_t on_the_stack[64];\n"
        "    return on_the_stack[7];\n}"
    ))  # fmt: skip
    said = refused("mine", "check", path)
    assert "disagree" in said or "uninitialized" in said, said


def test_what_passes_builds_for_the_card_and_what_does_not_build_fails(tmp_path: Path) -> None:
    # Right on the cores, where a pointer is as wide as the integer: the verdict is the same for both.
    cast = written(tmp_path, "    ASSASIN_STORE_U32(0, (uint32_t)(uintptr_t)&x - (uint32_t)&x);", "cast", "static int x;")
    assert answer("check", cast)["ok"]
    refused("broken.c:6:", "check", written(tmp_path, "    wrong", "broken"))
    two = "    uint32_t n = ASSASIN_LOAD_U8(0, end);\n    n += ASSASIN_LOAD_U8(0, other);\nend:\n    ASSASIN_RETURN(1);\nother:;"
    said = refused("different places", "check", written(tmp_path, two, "two"))
    assert "ASSASIN_KEEP" in said


def test_two_of_one_name_do_not_mix(tmp_path: Path) -> None:
    for n in (1, 2):
        (tmp_path / str(n)).mkdir()
        path = written(tmp_path / str(n), f"    ASSASIN_STORE_U8(0, {n});")
        out = tmp_path / f"out{n}"
        answer("run", path, "--bytes", 1, "--out", out)
        assert out.read_bytes() == bytes([n])


@pytest.mark.parametrize("arch", ["sb", "sbx", "sp", "mem", "v"])
def test_run_on_every_kind_of_core(arch: str, tmp_path: Path) -> None:
    data = random.Random(3).randbytes(100_001)
    (tmp_path / "in").write_bytes(data)
    result = answer("run", "crc32", tmp_path / "in", "--arch", arch, "--out", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == struct.pack("<I", zlib.crc32(data))
    assert result["exit_code"] == 0
    # A byte is more than its loads, and what the core does for it takes no longer than that of software pointers.
    assert 5 < result["cycles_per_byte"] < 25


def test_run_takes_a_file_for_each_stream(tmp_path: Path) -> None:
    a, b = random.Random(1).randbytes(4096), random.Random(2).randbytes(4096)
    for name, data in (("a", a), ("b", b)):
        (tmp_path / name).write_bytes(data)
    body = COPY.replace("ASSASIN_LOAD_U8(0, end)", "ASSASIN_LOAD_U8(0, end) ^ ASSASIN_LOAD_U8(1, end)")
    path = written(tmp_path, "    ASSASIN_IN(1);\n" + body)
    answer("run", path, tmp_path / "a", tmp_path / "b", "--out", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == bytes(x ^ y for x, y in zip(a, b, strict=True))
    refused("mine reads 2 streams: give 2 files, not 1", "run", path, tmp_path / "a")
    refused("name a file for each input stream, or say --bytes N", "run", path)


def test_run_says_where_a_trap_was(tmp_path: Path) -> None:
    path = written(tmp_path, "    *(volatile uint32_t *)at = 1;", before="static volatile uint32_t at = 16;")
    refused("mine.c:6: store to an address where there is no memory", "run", path, "--bytes", 0)


def test_the_profile_accounts_for_every_cycle_and_names_the_hot_line(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "    for (unsigned i = 0; i < 1000; i++)\n        sink += i * i;\n" + COPY,
        before="static volatile uint32_t sink;",
    )
    result = answer("profile", path, "--bytes", 10)
    assert sum(x["share"] for x in result["lines"]) == pytest.approx(1)
    # The jump to the end of the stream counts for no instruction.
    assert 0 <= result["cycles"] - sum(x["cycles"] for x in result["lines"]) < 10
    hot = [x for x in result["lines"] if x["line"] in (6, 7)]
    assert sum(x["cycles"] for x in hot) > 0.9 * result["cycles"]
    assert result["lines"][0]["text"] in ("sink += i * i;", "for (unsigned i = 0; i < 1000; i++)")


def test_debug_information_is_there_and_changes_no_code(tmp_path: Path) -> None:
    path = written(tmp_path, COPY)
    makefile = (ROOT / "firmware/offload/Makefile").read_text()
    target = re.search(r"^TARGET := (.* -g .*)$", makefile, re.MULTILINE)
    assert target, "offloads are built without -g"
    code = []
    for flags in (target[1], target[1].replace(" -g ", " -g0 ")):
        out = tmp_path / str(len(code))
        elf = out / "sb/mine.elf"
        command = ["make", "-s", "-C", ROOT / "firmware/offload", f"SRC={path}", f"OUT={out}", f"TARGET={flags}", elf]
        subprocess.run(command, check=True, env=os.environ | {"MAKEFLAGS": ""})
        subprocess.run(["riscv64-unknown-elf-objcopy", "-O", "binary", "-j", ".text", elf, out / "text"], check=True)
        code.append((out / "text").read_bytes())
    assert code[0]
    assert code[0] == code[1]


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, COPY)
    program = (
        "import sys\nfrom assasin.offload import build, source\n"
        "try:\n    build.build(source.find(sys.argv[1]))\nexcept build.BuildError as e:\n    print(e)\n"
    )
    (tmp_path / "bin").mkdir()
    for tool in ("make", "cc"):
        (tmp_path / "bin" / tool).symlink_to(f"/usr/bin/{tool}")
    environment = {**os.environ, "PATH": str(tmp_path / "bin"), "PYTHONPATH": str(ROOT / "host-driver/python")}
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, env=environment, check=True)
    expected = "the program riscv64-unknown-elf-gcc is not there: install the package gcc-riscv64-unknown-elf"
    assert expected in done.stdout


def test_what_is_no_offload_is_refused(tmp_path: Path) -> None:
    refused("there is no offload 'nothing' here", "check", "nothing")
    refused("there is no file nothing.c", "check", "nothing.c")
    (tmp_path / "a b.c").write_text("int compute(void) { return 0; }")
    refused("rename the file", "check", tmp_path / "a b.c")
    (tmp_path / "none.c").write_text("int x; /* compute(void) */")
    refused("has no function compute", "check", tmp_path / "none.c")
    refused("has no", "check", tmp_path)
