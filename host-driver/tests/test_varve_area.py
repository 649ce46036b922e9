# SPDX-License-Identifier: BSD-3-Clause
"""Section 8.4.2, table 9.1 and figure 9.3 of `assasin bench varve`: rows of what synthesis finds, without synthesis."""

from __future__ import annotations

from pathlib import Path

import pytest
from assasin import varve_area, varve_silicon
from assasin.synth import SynthError, clock, table5, units
from assasin.synth.activity import Activity
from assasin.synth.efficiency import Scale, UnitUse
from assasin.synth.gates import Gates
from assasin.synth.rtl import Rtl
from assasin.varve_silicon import Cost
from assasin.varve_tile import VarveBenchError


@pytest.fixture
def emitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of modules, of which yosys makes so many LUTs: a network has 10 and twice as many for each halving of a slot."""
    for folder in ("a8", "a4", "a2", "a1"):
        for module in ("SlotPrefix", "Squeeze", "ElementSizes", "AlignUnit", "WidthUnit", "SlotAdder", "IntegerUnit"):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{module}.sv").write_text(f"module {module}(\n);\nendmodule\n")

    def netlist(rtl: Rtl, module: str, family: str, say: object) -> units.Netlist:
        doublings = {"a8": 0, "a4": 1, "a2": 2, "a1": 3}[rtl.folder.name]
        return units.Netlist({"LUT6": (10 if module == "SlotPrefix" else 30) << doublings, "MUXF7": 99}, {})

    periods = {"ElementSizes": 3000, "AlignUnit": 2900, "WidthUnit": 2800, "SlotAdder": 1800, "IntegerUnit": 2000}
    monkeypatch.setattr(varve_area, "_emitted", lambda _: tmp_path)
    monkeypatch.setattr(units, "netlist", netlist)
    monkeypatch.setattr(clock, "unit_timing", lambda rtl, module, say: clock.UnitTiming(periods[module], []))
    return tmp_path


def test_rows_are_what_synthesis_finds(emitted: Path) -> None:
    rows = {(r.workload, r.metric): r for r in varve_area.run(lambda _: None)}
    assert rows["eau/a8", "prefix_sum_luts"].ours == 10 and rows["eau/a1", "multiplexers_luts"].ours == 240
    assert (rows["eau", "prefix_sum_area_a1_over_a8"].ours, rows["eau", "prefix_sum_area_a1_over_a8"].paper) == (8, 8)
    assert (rows["eau", "multiplexers_area_a1_over_a8"].ours, rows["eau", "multiplexers_area_a1_over_a8"].paper) == (8, 64)
    adder, eau = (rows[name, "period_over_fixed_width_unit"] for name in ("adder", "eau"))
    assert (adder.ours, eau.ours, eau.high) == (0.9, 1.5, 1.15) and "ElementSizes" in eau.unit
    # A run that does not name the figure has the same ratios, and says why there are none.
    left = {(r.workload, r.metric): r for r in varve_area.unmeasured()}
    assert set(left) == {key for key in rows if "/" not in key[0]}
    assert all(r.ours is None and "--figure 8.4.2" in (r.why or "") for r in left.values())


def test_a_missing_module_ends_the_bench(emitted: Path) -> None:
    (emitted / "a2" / "Squeeze.sv").unlink()
    with pytest.raises(VarveBenchError, match=r"8\.4\.2: .*a2 holds no Squeeze.sv"):
        list(varve_area.run(lambda _: None))
    with pytest.raises(SynthError, match=r"holds no AssasinSoc\.sv"):
        Rtl(emitted / "a1")


def unit_use(name: str, area: float, bits: int, idle: float) -> UnitUse:
    return UnitUse(name, Gates(1, 1, area, bits, ""), idle, 10.0, (name,))


def test_a_cost_is_of_logic_at_its_activity_and_of_memory() -> None:
    runs = [Activity(100, 100, {"a": (20, 1), "b": (0, 1)}), Activity(100, 100, {"a": (40, 1), "b": (0, 1)})]
    uses = [unit_use("a", 50, 0, 1.0), unit_use("b", 70, 8 * 64 * 1024, 2.0)]
    found = varve_silicon.cost(uses, Scale(0.01, 2.0), runs)
    # 0.3 toggles a bit and cycle on the mean; 64 KiB of SRAM.
    assert found.area == pytest.approx(1.2 + table5.SRAM.area) and found.power == pytest.approx((1 + 3 + 2) * 2 + table5.SRAM.power)
    # The tile's own SRAM is the instruction memory.
    assert varve_silicon.cost([unit_use("StreamCore", 0, 8 * 64 * 1024, 0.0)], Scale(0.01, 2.0), runs).area == 0


def test_efficiency_is_the_speedup_over_the_ratio() -> None:
    rows = {(r.workload, r.metric): r for r in varve_silicon.efficiencies(16.0, Cost(2.0, 8.0), Cost(4.0, 2.0))}
    assert (rows["geomean", "area_efficiency"].ours, rows["geomean", "area_efficiency"].paper) == (32, 32)
    assert (rows["geomean", "power_efficiency"].ours, rows["geomean", "power_efficiency"].paper) == (4, 4)
    missing = {r.metric: r for r in varve_silicon.efficiencies(None, Cost(2.0, 8.0), Cost(4.0, 2.0)) if r.workload == "geomean"}
    assert missing["area_efficiency"].ours is None and "9.2" in str(missing["area_efficiency"].why)
