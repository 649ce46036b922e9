# SPDX-License-Identifier: BSD-3-Clause
"""`assasin hls`: what the commands print and how they end; the board's part is in test_board.py."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from assasin.hls import bench as benches
from assasin.hls import kernel as kernels
from assasin.hls import new
from assasin.hls.commands import hls
from assasin.hls.kernel import KernelError
from assasin.hls.run import Placed, cut, pieces_for, scalars_of, slots_for
from click.testing import CliRunner, Result

Edited = Callable[..., Path]
BLOCK = 4096


def invoke(*arguments: str) -> Result:
    return CliRunner(mix_stderr=False).invoke(hls, list(arguments))


def test_list() -> None:
    result = invoke("list", "--json")
    rows = {k["name"]: k for k in json.loads(result.stdout)["kernels"]}
    assert set(rows) == set(kernels.names())
    assert rows["saxpy"]["inputs"] == ["b_in", "c_in"]
    assert "nobody has synthesised" in invoke("list").stdout


def test_check_and_build() -> None:
    assert json.loads(invoke("check", "--json").stdout)["checked"] == kernels.names()
    (built,) = json.loads(invoke("build", "addword", "--json").stdout)["models"]
    assert built["file"] == "build/hls/addword/addword.so"


def test_csim_that_passes_and_csim_that_fails(edited: Edited) -> None:
    (good,) = json.loads(invoke("csim", "addword", "--json").stdout)["results"]
    assert good["ok"]
    result = invoke("csim", str(edited("addword", "addword.cpp", "+ addend", "- addend")), "--json")
    assert result.exit_code == 1
    assert "C simulation of addword failed" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("csim", "nothing"), "there is no kernel 'nothing'"),
        (("new", "Bad-Name"), "cannot be a kernel's name"),
        (("new", "fgrep8"), "hls-kernels/fgrep8 is there already"),
        (("new", "double"), "a word of C++, VHDL or Verilog"),
        (("new", "main"), "call it main_0"),
        (("run", "fgrep8", "--config", "AssasinSb2x2"), "has no slots for kernels: take a configuration such as"),
        (("bench", "--config", "AssasinSb2x2", "--no-build"), "has no slots for kernels"),
        (("new", "mine", "--from", "nothing"), "there is no kernel 'nothing'"),
        (("run", "fgrep8", "--scalar", "key=1"), "fgrep8 has key_low, key_high"),
        (("run", "fgrep8", "--scalar", "key_low=hello"), "is not an integer"),
        (("run", "fgrep8", "--input", __file__), "scalar key_low, key_high has no value"),
        (("run", "saxpy", "--input", __file__, "--scalar", "alpha=1"), "has 2 input streams (b_in, c_in), not 1"),
        (("run", "aes128", "--pieces", "2"), "takes at most 1"),
        (("run", "fgrep8", "--config", "2x2"), "is not <architecture>"),
        (("export", "fgrep8", "--board", "virtual"), "has no part"),
        (("export", "fgrep8", "--board", "nothing"), "nothing"),
        (("export", "fgrep8", "--part", "xc7z045ffg900-3", "--clock-ns", "10", "--run"), "source the settings64.sh"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "--run" in arguments:
        monkeypatch.setenv("PATH", "/nonexistent")
    result = invoke(*arguments)
    assert result.exit_code != 0
    assert message in " ".join((result.stdout + result.stderr).split())


@pytest.fixture
def made() -> Iterator[str]:
    name = "testkernel0"
    yield name
    shutil.rmtree(kernels.KERNELS / name, ignore_errors=True)


def test_a_new_kernel_works_at_once(made: str) -> None:
    """Its files are renamed throughout, and it passes its own test bench."""
    result = invoke("new", made, "--json")
    files = json.loads(result.stdout)["files"]
    assert set(files) == {f"{made}.cpp", f"{made}.h", f"{made}_tb.cpp", "kernel.toml", "reference.py"}
    for path in (kernels.KERNELS / made).iterdir():
        assert "addword" not in path.read_text().lower()
    (simulated,) = json.loads(invoke("csim", made, "--json").stdout)["results"]
    assert simulated["ok"]
    assert kernels.load(made).id != kernels.load("addword").id


def test_a_new_kernel_of_another_one(tmp_path: Path) -> None:
    k = new.create("findkey", "fgrep8", tmp_path)
    assert k.top == "findkey"
    assert (tmp_path / "findkey" / "findkey_tb.cpp").exists()
    with pytest.raises(KernelError, match="is there already"):
        new.create("findkey", "fgrep8", tmp_path)


@pytest.mark.parametrize("length", [0, 1, 4096, 5 * 4096 + 100, 1 << 20])
@pytest.mark.parametrize("pieces", [1, 2, 3, 8])
@pytest.mark.parametrize("name", ["fgrep8", "saxpy", "q6filter"])
def test_pieces_cover_the_stream_once(name: str, pieces: int, length: int) -> None:
    k = kernels.load(name)
    streams = [Placed(100 + 1000 * i, length) for i in range(len(k.inputs))]
    done = cut(k, streams, pieces, BLOCK)
    assert 1 <= len(done) <= pieces
    for i, s in enumerate(streams):
        at = s.lba
        for n, piece in enumerate(done):
            stream = piece[i]
            last = n == len(done) - 1
            own = stream.bytes - (0 if last else min(k.overlap, s.bytes - (at - s.lba) * BLOCK))
            if stream.extents:
                assert stream.extents[0].lba == at
                assert stream.extents[0].count == -(-stream.bytes // BLOCK)
            if not last:
                own = (done[n + 1][i].extents[0].lba - at) * BLOCK
                assert own % k.record == 0
                assert stream.bytes == min(own + k.overlap, s.bytes - (at - s.lba) * BLOCK)
                at += own // BLOCK
            else:
                assert (at - s.lba) * BLOCK + own == s.bytes


def test_streams_of_different_lengths_in_one_piece_only() -> None:
    k = kernels.load("saxpy")
    streams = [Placed(0, 8192), Placed(2, 100)]
    assert [s.bytes for s in cut(k, streams, 1, BLOCK)[0]] == [8192, 100]
    with pytest.raises(KernelError, match="--pieces 1"):
        cut(k, streams, 2, BLOCK)


def test_default_pieces() -> None:
    assert pieces_for(kernels.load("fgrep8"), 0) == 1
    assert pieces_for(kernels.load("fgrep8"), 5) == 5
    with pytest.raises(KernelError, match="at most 1"):
        pieces_for(kernels.load("aes128"), 2)


@pytest.mark.parametrize(("name", "limit", "slots"), [("fgrep8", 7.1, 1), ("fgrep8", 8.0, 1), ("fgrep8", 8.1, 2), ("saxpy", 16, 1)])
def test_slots_that_the_channels_can_feed(name: str, limit: float, slots: int) -> None:
    assert slots_for(kernels.load(name), limit) == slots


def test_scalars_of_the_example_can_be_replaced() -> None:
    k = kernels.load("q6filter")
    values = scalars_of(k, ["discount_low=-3"], dict.fromkeys((s.name for s in k.scalars), 1.0))
    assert values["discount_low"] == -3
    assert values["discount_high"] == 1


# ---- result.json ----


def measured(kernel: str, commit: str = "abc", **others: object) -> dict[str, object]:
    """A result of one kernel, as far as merged() looks at it."""
    same = {"schema": 1, "board": "b", "config": "c", "profile": "p", "ns_per_cycle": 1.0, "quick": False}
    rows = [{"kernel": kernel, "form": form, "cycles": len(commit)} for form in benches.FORMS]
    return {**same, "commit": commit, "kernels": [{"name": kernel}], "rows": rows, **others}


def held(result: dict[str, object]) -> list[str]:
    rows = result["rows"]
    assert isinstance(rows, list)
    return [r["kernel"] for r in rows]


def test_a_result_keeps_the_other_kernel() -> None:
    first = benches.merged({}, measured("saxpy"))
    assert held(first) == ["saxpy"] * 3
    assert first["missing"] == ["fgrep8"]
    both = benches.merged(first, measured("fgrep8"))
    assert held(both) == ["fgrep8"] * 3 + ["saxpy"] * 3
    assert [k["name"] for k in both["kernels"]] == ["fgrep8", "saxpy"]
    assert both["missing"] == []
    again = benches.merged(both, measured("saxpy"))
    assert held(again) == held(both)


@pytest.mark.parametrize(
    "other",
    [{"commit": "def"}, {"commit": "abc-dirty"}, {"commit": ""}, {"config": "d"}, {"profile": "q"}, {"quick": True}, {"schema": 2}],
)
def test_a_result_drops_what_was_measured_otherwise(other: dict[str, object]) -> None:
    old = benches.merged({}, measured("saxpy", **other))
    new = benches.merged(old, measured("fgrep8"))
    assert held(new) == ["fgrep8"] * 3
    assert new["missing"] == ["saxpy"]
    # Nobody knows what a changed tree was.
    if str(other.get("commit", "x")) in ("abc-dirty", ""):
        assert held(benches.merged(old, measured("fgrep8", **other))) == ["fgrep8"] * 3
