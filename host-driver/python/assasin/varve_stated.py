# SPDX-License-Identifier: BSD-3-Clause
"""What the text of the ASSASIN dissertation states of figures of chapter 8 (docs/varve/bench.md 1.2), with its printed pages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stated:
    """A value, or the range that the text gives of values that only a plot shows."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    plotted: bool = False


EACH: dict[tuple[str, str, str], Stated] = {
    ("8.12", "zve32x", "speedup_over_scalar"): Stated(plotted=True),
    ("8.12", "pup", "speedup_over_scalar"): Stated(low=1.2, high=7.5, plotted=True),
    ("8.12", "full", "speedup_over_scalar"): Stated(low=2.6, high=15, plotted=True),
    ("8.12", "full", "speedup_over_zve32x"): Stated(low=1.3, high=5.4, plotted=True),
    ("8.13", "zve32x", "fewer_instructions_than_scalar"): Stated(plotted=True),
    ("8.13", "pup", "fewer_instructions_than_scalar"): Stated(plotted=True),
    ("8.13", "full", "fewer_instructions_than_scalar"): Stated(plotted=True),
}
"""Figure, form and metric of every filter."""

GEOMEAN: dict[tuple[str, str, str], Stated] = {
    # 5.7 over scalar and 2.1 over SVE, both for the full form.
    ("8.12", "zve32x", "speedup_over_scalar"): Stated(2.7),
    # 1.5 times SVE.
    ("8.12", "pup", "speedup_over_scalar"): Stated(4.1),
    ("8.12", "full", "speedup_over_scalar"): Stated(5.7),
    ("8.12", "pup", "speedup_over_zve32x"): Stated(1.5),
    ("8.12", "full", "speedup_over_zve32x"): Stated(2.1),
    # 10 of the full form over 3.4 of it against SVE.
    ("8.13", "zve32x", "fewer_instructions_than_scalar"): Stated(2.9),
    ("8.13", "full", "fewer_instructions_than_scalar"): Stated(10),
    ("8.13", "full", "fewer_instructions_than_zve32x"): Stated(3.4),
}
"""Figure, form and metric of the geometric mean."""

WORKLOADS: dict[tuple[str, str, str], Stated] = {
    ("bitpack5", "zve32x", "speedup_over_scalar"): Stated(1),
    ("bitpack5", "pup", "speedup_over_scalar"): Stated(78),
    ("bitpack5", "full", "speedup_over_scalar"): Stated(60),
    ("bitpack15", "zve32x", "speedup_over_scalar"): Stated(1),
    ("bitpack15", "pup", "speedup_over_scalar"): Stated(26),
    ("bitpack15", "full", "speedup_over_scalar"): Stated(38),
    ("raid5-encode", "zve32x", "speedup_over_scalar"): Stated(3.5),
    ("raid5-encode", "pup", "speedup_over_scalar"): Stated(3.5),
    ("raid5-encode", "full", "speedup_over_scalar"): Stated(13.1),
    ("raid5-encode", "full", "speedup_over_zve32x"): Stated(3.7),
    # "Roughly the same" as encoding.
    ("raid5-decode", "zve32x", "speedup_over_scalar"): Stated(3.5),
    ("raid5-decode", "pup", "speedup_over_scalar"): Stated(3.5),
    ("raid5-decode", "full", "speedup_over_scalar"): Stated(13.1),
}
"""Workload, form and metric of figure 8.10."""

TRAFFIC = Stated(low=1.3, high=4.3, plotted=True)
"""memory_traffic_reduction of figure 8.15, p.81."""

DATAPATH: dict[tuple[str, str], Stated] = {
    ("zve32x", "speedup_over_scalar"): Stated(plotted=True),
    ("pup", "speedup_over_scalar"): Stated(plotted=True),
    ("full", "speedup_over_scalar"): Stated(plotted=True),
    # "Robust", for each of the three sizes.
    ("full", "speedup_over_zve32x"): Stated(2.2),
}
"""Form and metric of the geometric mean of figure 8.16, p.82."""

MNIST: dict[tuple[str, str, str], Stated] = {
    # 2.7 of the pup form, which is 3 % over SVE.
    ("mnist", "zve32x", "speedup_over_scalar"): Stated(2.6),
    ("mnist", "pup", "speedup_over_scalar"): Stated(2.7),
    ("mnist", "full", "speedup_over_scalar"): Stated(3.7),
    ("mnist", "full", "speedup_over_zve32x"): Stated(1.4),
    # Both "don't change".
    ("mnist-pruned", "zve32x", "speedup_over_scalar"): Stated(2.6),
    ("mnist-pruned", "pup", "speedup_over_scalar"): Stated(2.7),
    ("mnist-pruned", "full", "speedup_over_scalar"): Stated(5.1),
    ("mnist-pruned", "full", "speedup_over_zve32x"): Stated(2.0),
}
"""Network, form and metric of figure 8.14, p.79-80; over scalar code of the network that is not pruned."""


@dataclass(frozen=True)
class StatedNetwork:
    """What table 8.2 says of a network."""

    accuracy: float
    zeros: float | None


NETWORKS = {"mnist": StatedNetwork(0.977, None), "mnist-pruned": StatedNetwork(0.9758, 0.80)}
"""p.79."""

ALIGNMENT: dict[tuple[str, str, str], Stated] = {
    # "Very close to the simulated" 3.7.
    ("raid5/a8", "full-model", "speedup_over_zve32x"): Stated(3.7),
    ("raid5/a4", "full-model", "speedup_over_zve32x"): Stated(plotted=True),
    ("raid5/a2", "full-model", "speedup_over_zve32x"): Stated(plotted=True),
    ("raid5/a1", "full-model", "speedup_over_zve32x"): Stated(15),
    ("raid5/a1", "full-model", "speedup_over_scalar"): Stated(53),
    # "Roughly the same" as SVE.
    ("gan/a8", "full-model", "speedup_over_zve32x"): Stated(1),
    ("gan/a4", "full-model", "speedup_over_zve32x"): Stated(plotted=True),
    ("gan/a2", "full-model", "speedup_over_zve32x"): Stated(plotted=True),
    ("gan/a1", "full-model", "speedup_over_zve32x"): Stated(3),
    ("gan/a1", "full-model", "speedup_over_scalar"): Stated(28),
}
"""Workload, form and metric of figures 8.17, p.84, and 8.18, p.85."""

AREA = {
    ("eau", "prefix_sum_area_a1_over_a8"): Stated(8),
    ("eau", "multiplexers_area_a1_over_a8"): Stated(64),
    # All at 1 GHz; the goal is at most 1.15.
    ("eau", "period_over_fixed_width_unit"): Stated(1.0, high=1.15),
    ("adder", "period_over_fixed_width_unit"): Stated(1.0, high=1.15),
}
"""Part and metric of section 8.4.2, p.87."""

CARRIES = {"zve32x": 4, "full": 8}
"""Form and cases of table 8.4, p.90; SVE has elements of up to 64 bits."""

LISTINGS: dict[tuple[str, str, str], float] = {
    # "About 10" of SVE.
    ("unpack", "zve32x", "instructions_per_vector"): 10,
    ("unpack", "pup", "instructions_per_vector"): 1,
}
"""Workload, form and metric of figure 8.4, p.67; of 8.8 nothing is stated but the listing."""

SILICON: dict[tuple[str, str, str], float] = {
    ("table9.1", "core", "area_mm2"): 0.203,
    ("table9.1", "core", "power_mw"): 22,
    ("table9.1", "unit", "area_mm2"): 0.303,
    ("table9.1", "unit", "power_mw"): 103.111,
    ("table9.1", "eight", "area_mm2"): 4.1,
    ("table9.1", "eight", "power_mw"): 1000.9,
    ("9.3", "geomean", "speedup"): 17,
    ("9.3", "geomean", "power_efficiency"): 4,
    ("9.3", "geomean", "area_efficiency"): 32,
}
"""Figure, part or workload, and metric of table 9.1, and of figure 9.3, over Baseline, p.92-94."""

SUMMARY: dict[tuple[str, str, str], Stated] = {
    # Over 64-bit scalar code, p.90-91.
    ("8.5", "summary", "speedup_over_scalar"): Stated(6, low=3, high=15),
    # P.92-94.
    ("9.2", "geomean", "speedup_over_baseline"): Stated(17),
    # ASSASIN's part in the 17 times, p.97; scalar code on both.
    ("10.1", "geomean", "speedup_over_baseline"): Stated(1.9),
    # The part of VarVE in the 17 times; the other 1.9 is ASSASIN's, p.97.
    ("10.1", "geomean", "speedup_over_scalar_on_the_same_core"): Stated(8.9),
}
"""Figure, workload and metric of the full form over all workloads."""
