# SPDX-License-Identifier: BSD-3-Clause
"""yosys and OpenSTA on designs whose results can be told by counting, or by another tool."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from assasin.synth import SynthError, clock, delays, gates, resources, sta, units, yosys
from assasin.synth.resources import Resources
from assasin.synth.rtl import Rtl


def test_resources_of_cells() -> None:
    cells = {"LUT6": 3, "INV": 1, "RAM32M": 2, "FDRE": 5, "FDSE": 1, "RAMB36E1": 2, "RAMB18E1": 1, "DSP48E1": 4, "CARRY4": 9}
    found = resources.of_cells(cells)
    assert found == Resources(lut=12, lut_memory=8, ff=6, bram36=2.5, uram=0, dsp=4)
    assert found.times(2) + found == found.times(3)
    with pytest.raises(ValueError, match="'Mystery'"):
        resources.of_cells({"Mystery": 1})


@pytest.mark.parametrize("family", units.FAMILIES)
def test_units_of_a_chip(small_chip: Path, own_cache: Path, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chip = Rtl(small_chip)
    said: list[str] = []
    found = units.netlists(chip, family, said.append)
    assert {unit: n for unit, (n, _) in found.items()} == {"AssasinSoc": 1, "Core": 2}
    assert resources.of_cells(found["AssasinSoc"][1].cells) == Resources()
    core = resources.of_cells(found["Core"][1].cells)
    # Two blocks hold 2048 x 32; the counter has 11 flip-flops, and yosys adds 32 + 1 for a read of a row that is written, which in
    # Verilog sees the new value; 16 x 8 is distributed memory.
    assert (core.bram36, core.ff, core.uram, core.dsp) == (2, 11 + 33, 0, 0)
    assert 0 < core.lut_memory < core.lut
    assert found["Core"][1].memories == {"big_ext": "block RAM", "small_ext": "LUT RAM"}
    assert len(said) == 2
    # The second time everything comes from the cache.
    monkeypatch.setattr(yosys, "run", lambda *_: pytest.fail("yosys was run again"))
    assert units.netlists(chip, family) == found


def test_yosys_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "wrong.v").write_text("module wrong(input a; endmodule\n")
    with pytest.raises(SynthError, match=r"yosys failed: .*ERROR.*; its log is .*log"):
        yosys.run(f"read_verilog {tmp_path / 'wrong.v'}\n", tmp_path / "log")


PATHS = """
module Paths(input clock, input [15:0] a, input [10:0] addr, input we, input [15:0] wdata, input [4:0] s, output [15:0] sum, q, p);
  reg [15:0] x, y, z, product, memory [0:2047], small [0:31];
  reg [10:0] row;
  always @(posedge clock) begin
    x <= a;
    y <= x + (y ^ q) + small[x[4:0]];
    z <= y & {16{x[3]}};
    row <= addr ^ y[10:0];
    if (we) memory[addr] <= wdata;
    if (we) small[s] <= z;
    product <= PRODUCT;
  end
  assign q = memory[row];
  assign sum = z;
  assign p = product;
endmodule
"""


@pytest.mark.parametrize("product", ["16'h0", "q * x", "(x * z) + y"])
def test_timing_is_that_of_yosys(tmp_path: Path, product: str) -> None:
    """The slowest path of a design with adders, both kinds of memory and a multiplier."""
    (tmp_path / "paths.v").write_text(PATHS.replace("PRODUCT", product))
    netlist, log = tmp_path / "paths.json", tmp_path / "log"
    yosys.run(
        f"read_verilog -sv {tmp_path / 'paths.v'}\n"
        "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf -abc9 -top Paths\n"
        f"write_json {netlist}\nread_verilog -specify -lib +/xilinx/cells_sim.v\nsta\n",
        log,
    )
    reported = re.search(r"Latest arrival time in 'Paths' is (\d+)", log.read_text())
    assert reported
    graph = sta.Timing.of_file(netlist, "Paths")
    slowest = graph.slowest()
    assert slowest
    assert slowest.ps == int(reported[1])
    from_memory = graph.slowest(start=lambda name, kind: kind == "RAMB36E1")
    assert from_memory
    assert slowest.ps >= from_memory.ps > 2454
    assert graph.slowest(start=lambda name, kind: False) is None


def test_worst_paths_by_name(tmp_path: Path) -> None:
    """One path for each register or memory it leads into; with flip-flops at the ports also those that begin or end there."""
    (tmp_path / "paths.v").write_text(PATHS.replace("PRODUCT", "q * x"))
    netlist = tmp_path / "paths.json"
    command = "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf -abc9 -top Paths"
    yosys.run(f"read_verilog -sv {tmp_path / 'paths.v'}\n{command}\nwrite_json {netlist}\n", tmp_path / "log")
    inside = sta.Timing.of_file(netlist, "Paths").worst(99)
    assert [p.ps for p in inside] == sorted((p.ps for p in inside), reverse=True)
    ends = [p.end_net for p in inside]
    assert len(set(ends)) == len(ends)
    assert {"y", "z"} <= set(ends)
    assert sta.Timing.of_file(netlist, "Paths").slowest() == inside[0]
    (to_y,) = (p for p in inside if p.end_net == "y")
    assert to_y.ps > 2454  # out of the memory
    whole = {p.end_net: p for p in sta.Timing.of_file(netlist, "Paths", ports=True).worst(99)}
    assert whole["x"].start_net == "a"
    # From the memory to a port, where a flip-flop stands.
    setup = dict(delays.library()["FDRE"].setup)["D"]
    assert whole["q"].ps >= 2454 + setup
    assert "q" not in ends


def test_timing_of_a_unit(small_chip: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chip = Rtl(small_chip)
    found = clock.unit_timing(chip, "Core")
    assert 0 < len(found.worst) <= clock.WORST
    assert found.period == found.worst[0].ps > 303
    monkeypatch.setattr(yosys, "run", None)
    assert clock.unit_timing(chip, "Core") == found


def test_period_over_another(tmp_path: Path, own_cache: Path) -> None:
    """Of a sum and a product behind it over the sum alone, and the other way round."""
    for name, sum_ in (("Long", "(a + b) * c"), ("Short", "a + b"), ("AssasinSoc", "a")):
        (tmp_path / f"{name}.sv").write_text(
            f"module {name}(input [15:0] a, b, c, output [15:0] o);\n  assign o = {sum_};\nendmodule\n"
        )
    chip = Rtl(tmp_path)
    found = clock.period_over_fixed_width_unit(chip, ("Long", "Short"), "Short")
    assert found["Short"] == 1
    assert found["Long"] == clock.unit_timing(chip, "Long").period / clock.unit_timing(chip, "Short").period > 1
    assert clock.period_over_fixed_width_unit(chip, ("Short",), "Long")["Short"] == pytest.approx(1 / found["Long"])
    with pytest.raises(SynthError, match="no module AlignUnit"):
        clock.period_over_fixed_width_unit(chip, ("AlignUnit",), "Short")


def test_timing_needs_known_cells() -> None:
    cell = {"type": "Mystery", "parameters": {}, "connections": {}}
    with pytest.raises(SynthError, match="no timing of Mystery"):
        sta.Timing({"cells": {"a": cell}})
    lut = {"type": "LUT1", "parameters": {}, "connections": {"I0": [2], "O": [2]}}
    with pytest.raises(SynthError, match="a loop of logic"):
        sta.Timing({"cells": {"a": lut}})


def test_delays_of_the_library() -> None:
    library = delays.library()
    assert ("I0", "O", 407) in library["LUT3"].arcs
    assert ("CE", 109) in library["FDRE"].setup
    assert library["FDRE"].launch == [("Q", 303)]
    # Without output register.
    assert ("DOADO", 2454) in library["RAMB36E1"].launch


def test_gates(small_chip: Path, own_cache: Path) -> None:
    chip = Rtl(small_chip)
    found = gates.gates(chip, "Core")
    # The counter's flip-flops and those of 16 x 8, which is too small for an SRAM, as 2048 x 32 is not.
    assert found.flops == 11 + 16 * 8
    assert found.sram_bits == 2048 * 32
    assert found.cells > found.flops
    assert found.area > 0
    idle, per_activity = gates.power_model(found, "Core")
    assert idle > 0
    assert gates.power(found, "Core", 0.25).total == pytest.approx(idle + 0.25 * per_activity, rel=1e-3)
    assert gates.gates(chip, "AssasinSoc").cells == 0


def test_missing_tools(small_chip: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = gates.gates(Rtl(small_chip), "Core")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SynthError, match=r"OpenSTA .* is missing: run scripts/setup"):
        gates.power(found, "Core", 0.1)
    monkeypatch.setattr(gates, "LIBERTY", tmp_path / "none.lib")
    with pytest.raises(SynthError, match=r"none\.lib is missing: run scripts/setup"):
        gates.gates(Rtl(small_chip), "Core")
