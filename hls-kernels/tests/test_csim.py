# SPDX-License-Identifier: BSD-3-Clause
"""C simulation: every kernel's test bench passes, and each way in which a kernel can be wrong is found and named."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from assasin.hls import csim, toolchain
from assasin.hls import kernel as kernels
from assasin.hls.kernel import KernelError

Edited = Callable[..., Path]


@pytest.mark.parametrize("name", kernels.names())
def test_every_test_bench_passes(name: str) -> None:
    result = csim.simulate(kernels.load(name))
    assert result.messages == ()
    assert result.ok
    assert result.passed > 40


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("addword", "+ addend", "- addend"),
        ("fgrep8", "(!first || end == 7)", "true"),  # counts what would stand before the stream
        ("fgrep8", "beat.keep[end] && ", ""),  # counts what would stand behind it
        ("saxpy", "there[3] ? 4 : 0", "0"),
        ("saxpy", "alpha * to_float(b.data.range(63, 32))", "alpha * to_float(b.data.range(31, 0))"),
        ("q6filter", "low <= discount_high", "low < discount_high"),
        ("q6filter", "beat.keep[7] && ", ""),
        ("aes128", "round == ROUNDS ? s[row] :", "round == ROUNDS + 1 ? s[row] :"),
        ("aes128", "counter++;", "counter += 2;"),
        ("fft1d", "-2.0 * 3.14159265358979323846", "2.0 * 3.14159265358979323846"),
        ("fft1d", "if (first)\n        ended = false;", ""),
    ],
)
def test_test_benches_notice(edited: Edited, name: str, old: str, new: str) -> None:
    result = csim.simulate(kernels.load(edited(name, f"{name}.cpp", old, new)))
    assert result.failed > 0
    assert not result.ok
    assert any("FAILED: " in m for m in result.messages)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("last = beat.last;", "last = false;", "reads a stream that is empty"),
        (
            "bool last;",
            "bool last;\n    int table[2] = {1, 2}, at = addend.to_int() | 2;\n    last = table[at] > 0;",
            "AddressSanitizer|runtime error",
        ),
        (
            "bool last;",
            "bool last;\n    int big = 2147483647;\n    last = big + int(addend.to_int() | 1) > 0;",
            "signed integer overflow",
        ),
        ("bool last;", "bool last;\n    while (addend.to_uint() != addend.to_uint() + 1) {\n    }", "has not ended within"),
        ("bool last;", "bool last;\n    if (addend == addend)\n        throw 42;", "throws an exception that nobody catches"),
        ("bool last;", "bool last;\n    *(volatile int *)8 = 1;", "SEGV on unknown address 0x000000000008"),
    ],
)
def test_what_sanitizers_and_streams_say(edited: Edited, old: str, new: str, message: str) -> None:
    result = csim.simulate(kernels.load(edited("addword", "addword.cpp", old, new)), limit=3)
    assert not result.ok
    assert any(any(part in m for part in message.split("|")) for m in result.messages), result.messages


def test_a_crash_is_placed(edited: Edited) -> None:
    """The line in the kernel, not the sanitizer's own."""
    folder = edited("addword", "addword.cpp", "bool last;", "bool last;\n    *(volatile int *)8 = 1;")
    line = (folder / "addword.cpp").read_text().splitlines().index("    *(volatile int *)8 = 1;") + 1
    assert any(f"in addword() at addword/addword.cpp:{line}" in m for m in csim.simulate(kernels.load(folder)).messages)


def test_input_that_is_left(edited: Edited) -> None:
    bench = ("addword_tb.cpp", 'Checks::check(in.empty(), what + ": input is left");', "in.write(make_beat(0, 8, false));")
    result = csim.simulate(kernels.load(edited("addword", *bench)))
    assert not result.ok
    assert "beats left that nobody read" in " ".join(result.messages)


def test_a_bench_that_checks_nothing(edited: Edited) -> None:
    folder = edited("addword", "addword_tb.cpp", "return Checks::report();", "return 0;")
    with pytest.raises(KernelError, match="end it with `return Checks::report"):
        csim.simulate(kernels.load(folder))


def test_source_that_does_not_compile(edited: Edited) -> None:
    folder = edited("addword", "addword.cpp", "bool last;", "bool last\n")
    with pytest.raises(KernelError, match=r"(?s)addword.cpp does not compile:.*expected ';'"):
        csim.simulate(kernels.load(folder))


def test_missing_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    toolchain.open_headers.cache_clear()
    monkeypatch.setenv("ASSASIN_HLS_HEADERS", str(tmp_path))
    with pytest.raises(KernelError, match="run scripts/setup"):
        toolchain.open_headers()
    toolchain.open_headers.cache_clear()


def test_the_bundled_headers_are_plain_c(tmp_path: Path) -> None:
    """assasin_kernel.h is for C too."""
    (tmp_path / "x.c").write_text('#include "assasin_kernel.h"\nint main(void) { return sizeof(struct assasin_kernel) == 0; }\n')
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{toolchain.INCLUDE}"]
    subprocess.run(["gcc", *flags, "-c", str(tmp_path / "x.c"), "-o", str(tmp_path / "x.o")], check=True)
