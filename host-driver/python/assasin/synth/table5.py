# SPDX-License-Identifier: BSD-3-Clause
"""
Power and area that the ASSASIN paper states (Zou and Chien, MICRO 2022, Table V and section VI-G; 14 nm, its clock 1 GHz).

The three totals are its own: 8 (core + L1 + L2) is Baseline's, 8 (core + 4 SRAM) UDP's; of sums of the parts only
8 (core + 3 L1 + SRAM) + crossbar comes within rounding of both of ASSASIN's.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """`power`: milliwatts; `area`: square millimetres."""

    power: float
    area: float


CORE = Cost(0.241, 0.039)
"""Ibex."""
L1 = Cost(0.379, 0.044)
"""32 KiB, 8 ways."""
L2 = Cost(1.136, 0.282)
"""256 KiB, 16 ways."""
SRAM = Cost(0.145, 0.030)
"""64 KiB: scratchpad, stream buffer."""
SRAM_KIB = 64
CROSSBAR = Cost(0.439, 0.005)
TOTALS = {"Baseline": Cost(14.048, 2.923), "UDP": Cost(14.333, 1.444), "AssasinSb": Cost(12.625, 1.625)}
"""Eight compute engines and what connects them."""

EFFICIENCY = {"AssasinSb": Cost(2.0, 3.2)}
"""Speed-up per power and per area over Baseline, as the text of section VI-G states them."""
CLOCK = {"AssasinSb": 1 / (1 - 0.11)}
"""Section VI-F: the period is 11 % shorter with a stream buffer in place of the data cache."""
