# SPDX-License-Identifier: BSD-3-Clause
"""`assasin build` with a vivado that runs the real scripts in tclsh against the stand-ins."""

import json
import os
import shutil
import subprocess
from dataclasses import replace

import pytest
import recording
from assasin.boards import build as flow
from assasin.boards import kernels, top
from assasin.boards.board import Board
from assasin.boards.ports import Port
from assasin.boards.project import ProjectError

STAND_IN = """#!/bin/sh
# vivado -version, or vivado -mode batch -nojournal -log LOG -source SCRIPT -tclargs STAGE
[ "$1" != -version ] || { echo "Vivado v2023.2 (64-bit)"; exit 0; }
printf 'source %s\\nset argv %s\\nsource %s\\n' "$STAND_IN_TCL" "$9" "$7" | tclsh 2>"$5"
status=$?
[ ! -s "$5" ] && exit $status
exit 1
"""


@pytest.fixture
def vivado(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "vivado"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN_TCL", str(recording.HERE / "vivado.tcl"))
    for name, value in recording.environment(tmp_path).items():
        if name.startswith("VIVADO_"):
            monkeypatch.setenv(name, value)
    return program


@pytest.fixture
def copy(projects):
    """A project of its own beside the shared one, so that paths relative to it stay right."""
    shared = projects["cosmosplus"]
    folder = shared.folder.with_name(shared.folder.name + "-test")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(shared.folder, folder, ignore=lambda _, names: [n for n in names if n.endswith((".stamp", ".dcp", ".bit"))])
    yield replace(shared, folder=folder)
    shutil.rmtree(folder)


def test_stages_run_once_and_resume(vivado, copy, monkeypatch):
    said = []
    assert flow.run(copy, "synth", said.append) == ["project", "synth"]
    assert flow.run(copy, "synth", said.append) == []
    assert flow.run(copy, "bitstream", said.append) == ["place", "route", "bitstream"]
    assert said == list(flow.STAGES)
    # What is lost is made again, with what follows from it.
    (copy.folder / "route.dcp").unlink()
    assert flow.run(copy, "bitstream", said.append) == ["route", "bitstream"]
    # A change of what Vivado reads starts over.
    with (copy.folder / "pins.xdc").open("a") as file:
        file.write("# changed\n")
    assert flow.run(copy, "project", said.append) == ["project"]
    assert not flow.done(copy, "synth", f"{copy.inputs_digest()} 2023.2\n")


def test_a_failing_stage_says_why_and_is_not_done(vivado, copy, monkeypatch):
    monkeypatch.setenv("VIVADO_FAILS", "module 'StreamCore' not found")
    with pytest.raises(ProjectError, match=r"fails in stage synth:\nERROR: \[Synth 8-1\] module 'StreamCore' not found"):
        flow.run(copy, "bitstream", lambda _: None)
    monkeypatch.delenv("VIVADO_FAILS")
    assert flow.run(copy, "synth", lambda _: None) == ["synth"]


def test_facts_for_the_manifest(vivado, copy):
    flow.run(copy, "bitstream", lambda _: None)
    assert flow.facts(copy) == {
        "tool": {"vivado": "2023.2"},
        "timing": {"wns_ns": 0.123, "clock_mhz": 100},
        "utilisation": {"lut": 101234, "ff": 87654, "bram36": 312.5, "uram": 0, "dsp": 20},
        "kernels": [],
    }


def test_without_vivado(copy, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProjectError, match="vivado is not on PATH: source its settings64"):
        flow.run(copy, "synth", lambda _: None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--board", "zc706"], "there is no board 'zc706'"),
        (["--board", "virtual"], "is no FPGA board: build it with scripts/build"),
        (["--board", "cosmosplus", "--config", "AssasinSb4x16"], "has 16 channels, cosmosplus has 8"),
        (["--board", "cosmosplus", "--config", "fast"], "is not <architecture><cores>x<channels>"),
        (["--board", "cosmosplus", "--kernel", "fgrep8"], "is not SLOT=KERNEL"),
        (["--board", "cosmosplus", "--kernel", "0=nosuch"], "kernel 'nosuch' is not exported: run assasin hls export nosuch"),
    ],
)
def test_bad_commands(arguments, says):
    assasin = recording.HERE.parents[1] / "scripts" / "bin" / "assasin"
    result = subprocess.run([assasin, "build", *arguments, "--stage", "sources"], capture_output=True, text=True)
    assert result.returncode != 0
    assert says in result.stderr


def test_slots_and_what_does_not_fit(projects):
    board = Board.load("cosmosplus")
    chip = dict(projects["cosmosplus"].chip())
    with pytest.raises(top.TopError, match=r"has 16 ways a channel, cosmosplus has 8: emit it with --ways 8"):
        top.generate(board, chip | {"io_flash_0_ceN": Port("io_flash_0_ceN", "output", 16)})
    with pytest.raises(top.TopError, match="port io_new of the chip is not known"):
        top.generate(board, chip | {"io_new": Port("io_new", "output", 1)})
    with pytest.raises(top.TopError, match="no port io_irq_msix"):
        top.generate(board, {name: port for name, port in chip.items() if name != "io_irq_msix"})
    kernel = top.SlotKernel(0, "fgrep8", 0x12345678, "slot0_fgrep8", ("in0",), "out")
    with pytest.raises(top.TopError, match="kernel fgrep8 is for slot 0; the chip has 0 slots"):
        top.generate(board, chip, [kernel])


def test_exported_kernels(tmp_path):
    (tmp_path / "k" / "ip").mkdir(parents=True)
    description = tmp_path / "k" / "kernel.json"
    description.write_text("{}")
    with pytest.raises(kernels.KernelExportError, match="is not what assasin hls export writes"):
        kernels.load(0, "k", tmp_path)
    exported = {
        "name": "k",
        "version": "1.0",
        "vlnv": "xilinx.com:hls:k:1.0",
        "repository": "ip",
        "inputs": ["in0"],
        "output": "out",
    }
    description.write_text(json.dumps(exported | {"control": "s_axi_control", "control_bits": 5}))
    with pytest.raises(kernels.KernelExportError, match="holds no IP"):
        kernels.load(0, "k", tmp_path)
    (tmp_path / "k" / "ip" / "component.xml").touch()
    assert kernels.load(1, "k", tmp_path).slot_kernel() == top.SlotKernel(
        1, "k", 0xD8E6B80E, "slot1_k", ("in0",), "out", "s_axi_control", 5
    )
