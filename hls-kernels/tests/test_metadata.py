# SPDX-License-Identifier: BSD-3-Clause
"""kernel.toml: what is accepted, and what each mistake is told; and metadata against the C++ of the top function."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from assasin import kernel as functions
from assasin.hls import kernel as kernels
from assasin.hls import model, signature
from assasin.hls.kernel import KernelError, Scalar

Edited = Callable[..., Path]
ALL = kernels.names()


def test_the_issues_kernels_are_there() -> None:
    assert {"fgrep8", "saxpy", "fft1d", "aes128", "q6filter"} <= set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_every_kernel_agrees_with_its_source_and_with_the_driver(name: str) -> None:
    k = kernels.load(name)
    assert len(signature.check(k).parameters) == len(k.inputs) + 1 + len(k.scalars)
    other = functions.Kernel.described(k.folder / "kernel.toml")
    assert (other.name, other.version, other.inputs, other.scalars) == (k.name, k.version, len(k.inputs), len(k.scalars))
    assert k.id == zlib.crc32(f"{k.name}/{k.version}".encode()) != 0


def test_ids_differ() -> None:
    assert len({kernels.load(n).id for n in ALL}) == len(ALL)


def test_ii_may_be_a_fraction() -> None:
    k = kernels.load("fft1d")
    assert k.ii == Fraction(129, 128)
    assert k.bytes_per_cycle == pytest.approx(8 * 128 / 129)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "fgrep8"', 'name = "grep"', "folder is called fgrep8"),
        ('name = "fgrep8"', 'nam = "fgrep8"', "nam is unknown"),
        ('name = "fgrep8"', 'name = "Fgrep8"', "lower-case"),
        ('version = "1.0"', 'version = "one"', "numbers with dots"),
        ('version = "1.0"', "version = 1", 'write version = "..."'),
        ('sources = ["fgrep8.cpp"]', 'sources = ["grep8.cpp"]', "there is no file 'grep8.cpp'"),
        ('sources = ["fgrep8.cpp"]', 'sources = ["../fgrep8.cpp"]', "there is no file '../fgrep8.cpp'"),
        ('testbench = ["fgrep8_tb.cpp"]', "testbench = []", "at least one file"),
        ('inputs = ["data_in"]', 'inputs = ["a", "b", "c"]', "a slot has 1 or 2"),
        ('inputs = ["data_in"]', "inputs = []", "a slot has 1 or 2"),
        ('inputs = ["data_in"]', 'inputs = ["in"]', "would rename"),
        ('inputs = ["data_in"]', 'inputs = ["count_out"]', "same name"),
        ('type = "u32"', 'type = "u64"', "type u32 or i32 or f32"),
        ('ii = "1"', "ii = 1", "write cycles a beat"),
        ('ii = "1"', 'ii = "1/2"', "ii is at least 1"),
        ('ii = "1"', 'ii = "0"', "write cycles a beat"),
        ("latency = 5", "latency = 0", "from 1 to"),
        ("overlap = 7", "overlap = -1", "from 0 to"),
        ("overlap = 7", "record = 8\noverlap = 7", "one of them"),
        ("[timing]", "[timings]", "timings is unknown"),
        ("[timing]", "", "the section [timing] is missing"),
        ("[interface]", "", "the section [interface] is missing: write a line [interface]"),
        ('ii = "1"', "", "timing.ii is missing"),
        ("latency = 5", "", "timing.latency is missing"),
        ('top = "fgrep8"', "", 'top is missing: write top = "..."'),
        ('top = "fgrep8"', 'top = "main"', "top 'main': a word of C++"),
        ('output = "count_out"', "", "interface.output is missing"),
        ('inputs = ["data_in"]', 'inputs = ["beat_t"]', "a name that is taken"),
        ("[timing]", "[timing", "kernel.toml: "),
    ],
)
def test_a_mistake_is_named(edited: Edited, old: str, new: str, message: str) -> None:
    folder = edited("fgrep8", "kernel.toml", old, new)
    with pytest.raises(KernelError, match=r"fgrep8/kernel\.toml") as e:
        kernels.load(folder)
    assert message in str(e.value)


def test_too_many_scalars(edited: Edited) -> None:
    folder = edited("aes128", "kernel.toml", "scalars = [", 'scalars = [\n    { name = "extra", type = "u32" },')
    with pytest.raises(KernelError, match="at most 8"):
        kernels.load(folder)


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(KernelError, match=r"no kernel 'grep' \(there are: addword, aes128"):
        kernels.load("grep")


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        (("kernel.toml", 'name = "key_low"', 'name = "key"'), "only in kernel.toml: key; only in C++: key_low"),
        (("kernel.toml", 'top = "fgrep8"', 'top = "fgrep9"'), "no `void fgrep9(...)"),
        (("fgrep8.cpp", "ap_uint<32> key_high", "ap_int<32> key_high"), "key_high is u32 there, which is ap_uint<32> in C++"),
        (("fgrep8.cpp", "ap_uint<32> key_high", "ap_uint<64> key_high"), "a kernel's parameters are"),
        (("fgrep8.cpp", "hls::stream<beat_t> &count_out", "ap_uint<32> count_out"), "count_out is stream there"),
        (("fgrep8.cpp", "hls::stream<beat_t> &count_out", "hls::stream<beat_t> count_out"), "a kernel's parameters are"),
        (("fgrep8.cpp", "port = key_low", "port = key_lo"), "port key_low of fgrep8() is without a pragma"),
        (("fgrep8.cpp", "mode = axis port = data_in", "mode = m_axi port = data_in"), "port data_in of fgrep8() is m_axi"),
        (("fgrep8.cpp", "mode = s_axilite port = return", "mode = ap_ctrl_none port = return"), "mode=s_axilite port=return"),
        (
            ("fgrep8.cpp", "ap_uint<32> key_low, ap_uint<32> key_high", "ap_uint<32> key_high, ap_uint<32> key_low"),
            "the order of the control registers",
        ),
    ],
)
def test_metadata_that_disagrees_with_the_ports(edited: Edited, edits: tuple[str, str, str], message: str) -> None:
    k = kernels.load(edited("fgrep8", *edits))
    with pytest.raises(KernelError) as e:
        signature.check(k)
    assert message in str(e.value)


@pytest.mark.parametrize("port", ["sink", "source_0", "scalars", "run", "top"])
def test_ports_are_called_what_they_like(edited: Edited, port: str) -> None:
    """The wrapper's own names are none that a port can have."""
    folder = edited("addword")
    for path in folder.iterdir():
        path.write_text(path.read_text().replace("data_in", port))
    assert model.build(kernels.load(folder)).exists()


def test_the_compiler_has_the_last_word(edited: Edited) -> None:
    """A declaration in the header that differs from the definition that the check has read."""
    folder = edited("addword", "addword.h", "ap_uint<32> addend", "ap_uint<16> addend")
    with pytest.raises(KernelError, match="does not compile"):
        model.build(kernels.load(folder))


@pytest.mark.parametrize(
    ("kind", "value", "word"),
    [("u32", 2**32 - 1, 2**32 - 1), ("i32", -1, 2**32 - 1), ("f32", 1.5, 0x3FC00000), ("u32", 7.0, 7)],
)
def test_scalars_become_words(kind: str, value: float, word: int) -> None:
    assert Scalar("x", kind).word(value) == word


@pytest.mark.parametrize(("kind", "value"), [("u32", 2**32), ("u32", -1), ("i32", 2**31), ("f32", 1e39)])
def test_scalars_that_do_not_fit(kind: str, value: float) -> None:
    with pytest.raises(KernelError, match=r"scalar x = .* does not fit: it takes"):
        Scalar("x", kind).word(value)


def test_scalars_in_words() -> None:
    assert Scalar("x", "u32").parse("0x10") == 16
    with pytest.raises(KernelError, match="is not an integer"):
        Scalar("x", "i32").parse("1.5")
