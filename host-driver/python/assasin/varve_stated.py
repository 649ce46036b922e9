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
