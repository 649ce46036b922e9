# SPDX-License-Identifier: BSD-3-Clause
"""Activity, efficiency and the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from assasin import paper_workloads
from assasin.cli import bench, cli
from assasin.synth import SynthError, activity, efficiency, table5
from assasin.synth.activity import Activity
from assasin.synth.commands import efficiency as efficiency_command
from assasin.synth.commands import synth
from assasin.synth.efficiency import Scale, UnitUse
from assasin.synth.gates import Gates
from click.testing import CliRunner

SAIF = """(SAIFILE
(DURATION 10)
 (INSTANCE TOP
  (NET
   (other (T0 1) (T1 9) (TZ 0) (TX 0) (TB 0) (TC 99))
  )
  (INSTANCE StreamCore
   (NET
    (clock (T0 1) (T1 9) (TZ 0) (TX 0) (TB 0) (TC 20))
    (a\\[0\\] (T0 1) (T1 9) (TZ 0) (TX 0) (TB 0) (TC 4))
    (a\\[1\\] (T0 1) (T1 9) (TZ 0) (TX 0) (TB 0) (TC 2))
   )
   (INSTANCE core
    (NET
     (W0_clk (T0 1) (T1 9) (TZ 0) (TX 0) (TB 0) (TC 20))
     (b (T0 1) (T1 9) (TZ 0) (TX 0) (TB 0) (TC 5))
    )
    (INSTANCE alu
     (NET
      (c (T0 1) (T1 9) (TZ 0) (TX 0) (TB 0) (TC 1))
     )
    )
   )
  )
 )
)
"""


def test_saif() -> None:
    signals = activity.parse_saif(SAIF, "StreamCore")
    assert signals == {"": (6, 2), "core": (5, 1), "core.alu": (1, 1)}
    run = Activity(cycles=10, bytes_in=40, signals=signals)
    assert run.rate == 4
    assert run.of(["core", "core.alu"]) == pytest.approx(6 / (2 * 10))
    assert run.of(["nowhere"]) == 0
    with pytest.raises(SynthError, match="no signals of Mystery"):
        activity.parse_saif(SAIF, "Mystery")


def test_activity_of_a_tile() -> None:
    """A tile that runs Stat: the pipeline toggles, the drain, which has nothing to do but eight bytes, next to nothing."""
    run = activity.measure("AssasinSb", paper_workloads.STAT)
    assert run.bytes_in == activity.SIZES["stat"]
    assert 1.5 < run.rate < 4
    assert 0.02 < run.of(["core"]) < 0.5
    assert run.of(["drain"]) < 0.01 * run.of(["core"])


def _use(
    unit: str, area: float, idle: float, per_activity: float, sram_bits: int = 0, instances: tuple[str, ...] = ("core",)
) -> UnitUse:
    return UnitUse(unit, Gates(1, 1, area, sram_bits, "key"), idle, per_activity, instances)


def test_engine_in_the_papers_units() -> None:
    plain = _use("Core", 1000, 1e-3, 1e-2)
    scale = Scale.of(plain, 0.1)
    run = Activity(cycles=100, bytes_in=100, signals={"core": (100, 10), "": (0, 10)})
    half_a_scratchpad = 8 * 1024 * table5.SRAM_KIB // 2
    tile = [_use("StreamCore", 0, 0, 0, 12345), _use("Core_1", 2000, 2e-3, 2e-2, half_a_scratchpad)]
    crossbar = _use("Crossbar", 500, 5e-4, 1e-2)
    # Eight tiles at the rate they have alone.
    e = efficiency.engine(tile, crossbar, scale, {"w": run}, {"w": 8.0})
    area = 8 * (2 * table5.CORE.area + table5.SRAM.area / 2) + table5.CORE.area / 2
    assert e.total_area() == pytest.approx(area)
    power = 8 * (2 * table5.CORE.power + table5.SRAM.power / 2) + table5.CORE.power * 5e-4 / 2e-3
    assert e.total_power("w") == pytest.approx(power)
    # At half the rate they toggle half as much.
    slow = efficiency.engine(tile, crossbar, scale, {"w": run}, {"w": 4.0})
    assert slow.power["w"]["pipeline"] == pytest.approx(1.5 * table5.CORE.power)


def _result(rows: list[tuple[str, str, str, str, float]]) -> dict[str, Any]:
    keys = ("figure", "config", "workload", "metric", "ours")
    return {
        "board": "virtual (simulated)",
        "profile": "paper",
        "commit": "0" * 40,
        "rows": [dict(zip(keys, r, strict=True)) | {"paper": None, "unit": "B/cycle"} for r in rows],
    }


def test_rates(tmp_path: Path) -> None:
    path = tmp_path / "paper.json"
    rows = [
        ("fig13", "Baseline8x8", "stat", "bytes_per_cycle", 2.0),
        ("fig13", "AssasinSb8x8", "stat", "bytes_per_cycle", 5.0),
        ("fig13", "AssasinSb2x2", "aes", "bytes_per_cycle", 7.0),
        *[("fig14", f"{a}8x8", q, "bytes_per_cycle", r) for a, q, r in (("Baseline", "Q1 x", 1.0), ("AssasinSb", "Q1 x", 4.0))],
        *[("fig14", f"{a}8x8", q, "bytes_per_cycle", r) for a, q, r in (("Baseline", "Q2 x", 4.0), ("AssasinSb", "Q2 x", 9.0))],
        ("fig14", "AssasinSb8x8", "Q3 x", "bytes_per_cycle", 100.0),
    ]
    path.write_text(json.dumps(_result(rows)))
    rates, source = efficiency.read_rates(path)
    assert source["profile"] == "paper"
    assert efficiency.speedups(rates, "AssasinSb") == {"stat": 2.5, "psf": pytest.approx(3.0)}
    path.write_text(json.dumps(_result(rows[1:])))
    with pytest.raises(SynthError, match="no rates of Baseline8x8"):
        efficiency.read_rates(path)
    path.write_text('{"rows": 3}')
    with pytest.raises(SynthError, match="is no result of `assasin bench paper`"):
        efficiency.read_rates(path)
    with pytest.raises(SynthError, match="run `assasin bench paper`"):
        efficiency.read_rates(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["synth", "--board", "nonsense"], 1, "there is no board 'nonsense'"),
        (["synth", "--board", "virtual"], 1, "has no FPGA"),
        (["synth", "--config", "AssasinSb"], 2, "is not <architecture><cores>x<channels>"),
        (["synth", "--units"], 2, "add --board NAME"),
        (["bench", "efficiency", "--paper", "/nothing/paper.json"], 1, "run `assasin bench paper`"),
        (["bench", "efficiency", "--configs", "Mystery"], 2, "there is no 'Mystery'"),
    ],
)
def test_bad_input(arguments: list[str], code: int, message: str) -> None:
    cli.add_command(synth)
    bench.add_command(efficiency_command)
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code
    assert message in " ".join(result.output.split())
