# SPDX-License-Identifier: BSD-3-Clause
"""Kernels in the slots of the virtual board, through NVMe, firmware and flash. scripts/test builds the board."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from assasin.hls import bench as benches
from assasin.hls import kernel as kernels
from assasin.hls import model, reference
from assasin.hls.commands import hls
from assasin.hls.kernel import KernelError
from assasin.hls.run import DEFAULT_CONFIG, board_with, check, function_of, job, place
from assasin.tree import BUILD
from click.testing import CliRunner

pytestmark = pytest.mark.skipif(
    not (BUILD / "board" / DEFAULT_CONFIG / "assasin-board").exists(), reason=f"scripts/build {DEFAULT_CONFIG} first"
)
Edited = Callable[..., Path]
BOARD = "hlstest"


def quiet(_: str) -> None:
    pass


@pytest.mark.parametrize("pair", [("fgrep8", "saxpy"), ("q6filter", "aes128"), ("fft1d", "addword")])
def test_two_kernels_side_by_side(pair: tuple[str, str]) -> None:
    """Each runs in its own slot only, over data of odd length and none."""
    loaded = [kernels.load(n) for n in pair]
    with board_with([model.build(k) for k in loaded], BOARD, DEFAULT_CONFIG, "test", quiet) as (_, drive):
        assert drive.slots() == [k.id for k in loaded]
        for number, k in enumerate(loaded):
            judge = reference.load(k)
            for size in (40_008, 0):
                inputs, scalars = judge.example(size, 1)
                with drive.function(function_of(k)) as name:
                    done = check(k, drive.run_job(job(drive, k, name, place(drive, inputs), scalars, 1)))
                assert judge.equal(done[0].outputs[0], judge.expected(inputs, scalars))
                assert done[0].report.core == drive.info.cores + number


def test_a_kernel_that_never_finishes_costs_its_job_only(edited: Edited) -> None:
    endless = kernels.load(edited("addword", "addword.cpp", "last = beat.last;", "last = false;\n        beat.last = 0;"))
    good = kernels.load("fgrep8")
    judge = reference.load(good)
    with board_with([model.build(endless), model.build(good)], BOARD, DEFAULT_CONFIG, "test", quiet) as (_, drive):
        placed = place(drive, [bytes(8192)])
        with drive.function(function_of(endless)) as name:
            work = job(drive, endless, name, placed, {"addend": 1}, 1)
            work.watchdog_kcycles = 500
            with pytest.raises(KernelError, match=r"1 of 1 pieces of addword failed; piece 0: .*watchdog"):
                check(endless, drive.run_job(work))
        inputs, scalars = judge.example(20_000, 2)
        with drive.function(function_of(good)) as name:
            done = check(good, drive.run_job(job(drive, good, name, place(drive, inputs), scalars, 1)))
        assert done[0].outputs[0] == judge.expected(inputs, scalars)


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        (
            "last = beat.last;",
            "last = false;\n        beat.last = 0;",
            ["watchdog", "behind the beat with last", "--limit-kcycles"],
        ),
        (
            "bool last;",
            "bool last;\n    if (addend == addend)\n        throw 42;",
            ["TLAST", "throws an exception, which hardware has not"],
        ),
        ("bool last;", "bool last;\n    hls::stream<int> none;\n    if (none.read())\n        return;", ["while it is empty"]),
        ("bool last;", "bool last;\n    *(volatile int *)8 = 1;", ["board's process ended", "assasin hls csim addword"]),
    ],
)
def test_a_run_that_fails_says_why(edited: Edited, old: str, new: str, messages: list[str]) -> None:
    folder = edited("addword", "addword.cpp", old, new)
    start = time.monotonic()
    result = CliRunner().invoke(hls, ["run", str(folder), "--bytes", "8K", "--profile", "test", "--name", BOARD])
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    for message in messages:
        assert message in said
    assert time.monotonic() - start < 60


def test_a_reference_that_raises(edited: Edited) -> None:
    folder = edited("addword", "reference.py", "def expected(", "def expected(*_):\n    return 1 // 0\n\n\ndef was(")
    result = CliRunner().invoke(hls, ["run", str(folder), "--profile", "test", "--name", BOARD])
    assert result.exit_code == 1
    assert "expected() raises ZeroDivisionError" in " ".join(result.output.split())


def test_the_command(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"needles, needles" * 1000)
    low, high = (int.from_bytes(b"needles,"[i : i + 4], "little") for i in (0, 4))
    out = tmp_path / "count"
    arguments = ["--input", str(text), "--scalar", f"key_low={low}", "--scalar", f"key_high={high}", "--out", str(out)]
    result = CliRunner(mix_stderr=False).invoke(
        hls, ["run", "fgrep8", *arguments, "--pieces", "2", "--profile", "test", "--name", BOARD, "--json"]
    )
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["correct"]
    assert figures["pieces"] == 2
    assert figures["bytes_out"] == 8
    assert int.from_bytes(out.read_bytes(), "little") == 1000


def test_the_three_forms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(benches, "RESULT", tmp_path / "result.json")
    monkeypatch.setattr(benches, "QUICK_BYTES", {"fgrep8": 128 << 10, "saxpy": 16 << 10})
    result = benches.run(benches.KERNELS, DEFAULT_CONFIG, "test", True, False, BOARD, quiet)
    assert json.loads((tmp_path / "result.json").read_text()) == result
    rows = {(r["kernel"], r["form"]): r for r in result["rows"]}
    assert set(rows) == {(k, f) for k in benches.KERNELS for f in benches.FORMS}
    assert all(r["correct"] for r in rows.values())
    grep = {f: rows["fgrep8", f] for f in benches.FORMS}
    # The data crosses PCIe for the host only, and a slot is the fastest place.
    assert grep["io"]["pcie_bytes"] >= 128 << 10
    assert max(grep["core"]["pcie_bytes"], grep["slot"]["pcie_bytes"]) < 16 << 10
    assert grep["slot"]["from_first_page"] > grep["core"]["from_first_page"]
    assert grep["slot"]["from_first_page"] > 0.9 * grep["slot"]["channel_limit"]
    assert rows["saxpy", "slot"]["from_first_page"] > 5 * rows["saxpy", "core"]["from_first_page"]
