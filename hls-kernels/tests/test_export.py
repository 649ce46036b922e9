# SPDX-License-Identifier: BSD-3-Clause
"""The Vitis project of a kernel: its script, run in tclsh against recording commands; its files; kernel.json."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from assasin.boards import kernels as board_kernels
from assasin.hls import export as exports
from assasin.hls import kernel as kernels
from assasin.hls import toolchain
from assasin.hls.export import Target
from assasin.hls.kernel import KernelError

Edited = Callable[..., Path]
TARGET = Target("xc7z045ffg900-3", 10.0)

# Commands of Vitis HLS with the options that UG1399 lists for them and that take a value (1) or none (0).
COMMANDS = {
    "open_project": {"-reset": 0, "-upgrade": 0},
    "set_top": {},
    "add_files": {"-cflags": 1, "-csimflags": 1, "-tb": 0, "-blackbox": 1},
    "open_solution": {"-flow_target": 1, "-reset": 0},
    "set_part": {},
    "create_clock": {"-name": 1, "-period": 1},
    "config_rtl": {"-reset": 1, "-reset_level": 1, "-reset_async": 0, "-module_prefix": 1},
    "csim_design": {"-clean": 0, "-argv": 1, "-O": 0},
    "csynth_design": {"-dump_cfg": 0},
    "cosim_design": {"-rtl": 1, "-trace_level": 1, "-tool": 1, "-argv": 1},
    "export_design": {
        **{n: 1 for n in ("-format", "-rtl", "-vendor", "-library", "-ipname", "-version", "-display_name", "-output")},
        "-flow": 1,
    },
    "close_project": {},
}


def recorded(folder: Path, tmp_path: Path, steps: str | None = None) -> tuple[int, list[list[str]], str]:
    """Runs the script with every Vitis command replaced by one that writes itself down. Exit code, commands, stderr."""
    log = tmp_path / "commands.log"
    log.unlink(missing_ok=True)
    stubs = "".join(f"proc {c} args {{ record {c} $args }}\n" for c in COMMANDS)
    prelude = (
        f'proc record {{name arguments}} {{ set f [open {{{log}}} a]; puts $f [join [concat $name $arguments] "\\t"]; close $f }}\n'
    )
    script = tmp_path / "stubs.tcl"
    script.write_text(prelude + stubs + "source run_hls.tcl\n")
    env = os.environ | ({"HLS_STEPS": steps} if steps is not None else {})
    done = subprocess.run(["tclsh", str(script)], cwd=folder, env=env, capture_output=True, text=True, check=False)
    lines = log.read_text().splitlines() if log.exists() else []
    return done.returncode, [line.split("\t") for line in lines], done.stderr


def arguments(command: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options and the others of a recorded command, refusing options that the tool does not have."""
    known = COMMANDS[command[0]]
    options, others, rest = {}, [], command[1:]
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            assert word in known, f"{command[0]} has no {word}"
            options[word] = rest.pop(0) if known[word] else ""
        else:
            others.append(word)
    return options, others


@pytest.mark.parametrize("name", kernels.names())
def test_the_script_makes_the_ip(name: str, tmp_path: Path) -> None:
    k = kernels.load(name)
    folder = exports.export(k, TARGET, tmp_path / "out")
    code, commands, errors = recorded(folder, tmp_path)
    assert (code, errors) == (0, "")
    order = [c[0] for c in commands]
    assert order[:2] == ["open_project", "set_top"]
    assert [c for c in order if c.endswith("_design")] == ["csim_design", "csynth_design", "cosim_design", "export_design"]
    by_name = {c[0]: arguments(c) for c in commands}
    assert by_name["set_top"][1] == [k.top]
    assert by_name["set_part"][1] == [TARGET.part]
    assert by_name["create_clock"][0]["-period"] == "10"
    assert by_name["open_solution"][0]["-flow_target"] == "vivado"
    description = json.loads((folder / "kernel.json").read_text())
    ip = by_name["export_design"][0]
    assert ":".join(ip[o] for o in ("-vendor", "-library", "-ipname", "-version")) == description["vlnv"]
    added = [arguments(c) for c in commands if c[0] == "add_files"]
    assert [o[1][0] for o in added if "-tb" in o[0]] == description["testbench"]
    assert {o[1][0] for o in added if "-tb" not in o[0]} == {f"src/{s}" for s in k.sources}
    for file in (*(o[1][0] for o in added), *description["sources"], *description["include"], description["script"]):
        assert (folder / file).is_file()


@pytest.mark.parametrize("name", ["saxpy", "aes128"])
def test_the_exported_sources_stand_alone(name: str, tmp_path: Path) -> None:
    """Vitis sees src, tb and include only: they compile with nothing else but the tool's own headers."""
    k = kernels.load(name)
    folder = exports.export(k, TARGET, tmp_path / "out")
    headers = [f"-I{toolchain.INCLUDE / 'csim'}", "-isystem", str(toolchain.open_headers())]
    files = [f"src/{s}" for s in k.sources] + [f"tb/{t}" for t in k.testbench]
    command = [toolchain.compiler(), "-std=c++14", "-fsyntax-only", "-Iinclude", "-Isrc", *headers, *files]
    shutil.copytree(folder, tmp_path / "moved")
    shutil.rmtree(folder)
    subprocess.run(command, cwd=tmp_path / "moved", check=True, capture_output=True)


def test_steps_can_be_chosen(tmp_path: Path) -> None:
    folder = exports.export(kernels.load("addword"), TARGET, tmp_path / "out")
    _, commands, _ = recorded(folder, tmp_path, "csynth export")
    assert [c[0] for c in commands if c[0].endswith("_design")] == ["csynth_design", "export_design"]
    code, commands, errors = recorded(folder, tmp_path, "synth")
    assert code == 1
    assert commands == []
    assert "HLS_STEPS has 'synth'" in errors


def test_kernel_json(tmp_path: Path) -> None:
    k = kernels.load("saxpy")
    d = json.loads((exports.export(k, TARGET, tmp_path / "out") / "kernel.json").read_text())
    assert (d["name"], d["id"], d["module"], d["inputs"], d["output"]) == ("saxpy", k.id, "saxpy", ["b_in", "c_in"], "a_out")
    assert d["scalars"] == [{"name": "alpha", "type": "f32", "offset": 0x10}]
    assert d["stated"] == {"ii": "1", "latency": 20}
    assert d["measured_on_hardware"] is False


@pytest.mark.parametrize("name", ["fgrep8", "saxpy"])
def test_the_board_build_finds_it(name: str, tmp_path: Path) -> None:
    k = kernels.load(name)
    folder = exports.export(k, TARGET, tmp_path / name)
    with pytest.raises(board_kernels.KernelExportError, match="run Vitis HLS"):
        board_kernels.load(1, name, tmp_path)
    ip = folder / "vitis" / "solution" / "impl" / "ip"  # where the tool leaves it
    ip.mkdir(parents=True)
    (ip / "component.xml").write_text("<component/>")
    found = board_kernels.load(1, name, tmp_path)
    assert (found.id, found.inputs, found.output) == (k.id, k.inputs, k.output)
    assert found.repository == ip


@pytest.mark.parametrize(("name", "bits"), [("addword", 5), ("fgrep8", 5), ("q6filter", 6), ("aes128", 7)])
def test_control_registers_address_bits(name: str, bits: int) -> None:
    assert exports.control_bits(kernels.load(name)) == bits


def test_an_export_replaces_an_export_only(tmp_path: Path) -> None:
    k = kernels.load("addword")
    folder = exports.export(k, TARGET, tmp_path / "out")
    (folder / "old").write_text("x")
    exports.export(k, TARGET, folder)
    assert not (folder / "old").exists()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("x")
    with pytest.raises(KernelError, match="no exported kernel"):
        exports.export(k, TARGET, mine)
    assert (mine / "thesis.tex").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "out"]


def test_a_kernel_that_disagrees_is_not_exported(edited: Edited, tmp_path: Path) -> None:
    k = kernels.load(edited("addword", "addword.cpp", "port = addend", "port = other"))
    with pytest.raises(KernelError, match="port addend"):
        exports.export(k, TARGET, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_vitis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(KernelError, match=r"source the settings64\.sh"):
        exports.find_tool()


def test_vitis_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    tool = tools / "vitis_hls"
    tool.write_text('#!/bin/sh\necho "$@" > called\necho "ERROR: [HLS 200-101]"\nexit 3\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    folder = exports.export(kernels.load("addword"), TARGET, tmp_path / "out")
    with pytest.raises(KernelError, match=r"vitis_hls ended with exit code 3: see .*run_hls.log"):
        exports.synthesise(folder)
    assert (folder / "called").read_text() == "-f run_hls.tcl\n"
    assert "HLS 200-101" in (folder / "run_hls.log").read_text()
