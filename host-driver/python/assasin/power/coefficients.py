# SPDX-License-Identifier: BSD-3-Clause
"""
What the papers say a part draws. Every number here is theirs; which of them are used where is said in models.py.

Sources: ASSASIN paper, Table V (dissertation: Table 7.4): 14 nm SAED library, Design Compiler and CACTI. XSSD dissertation,
Table 2.1
(memory technologies) and Table 3.2 (power model: 45 nm TSMC and data sheets).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Share = TypeVar("Share", float, "npt.NDArray[np.float64]")
"""A utilisation, 0..1, or one for each interval."""

# ---- ASSASIN, Table V: milliwatts ----

IBEX_MW = 0.241
L1_MW = 0.379
"""32 KiB, 8 ways."""
L2_MW = 1.136
"""256 KiB, 16 ways."""
SRAM_64K_MW = 0.145
CROSSBAR_MW = 0.439
TABLE_V_GHZ = 1.0
"""Clock of the paper's evaluation. The table itself names none."""


# ---- XSSD, Table 3.2: watts ----


@dataclass(frozen=True)
class Component:
    """A row of the power model: watts when idle and when active."""

    idle: float
    active: float

    def watts(self, utilisation: Share) -> Share:
        """Section 3.8: idle power x (1 - u) + active power x u."""
        return self.idle * (1 - utilisation) + self.active * utilisation


HOST = Component(60.0, 135.0)
DIMM = Component(1.0, 5.0)
"""4 GB DDR3."""
DIMM_BYTES = 4 << 30
PCIE = Component(0.12, 0.4)
SCHEDULER = Component(0.3, 1.3)
NETWORK = Component(0.03, 0.06)
MIPS = Component(0.078, 0.37)
DMA = Component(0.01, 0.09)
ACCELERATORS = {
    "fgrep": Component(0.013, 0.12),
    "saxpy": Component(0.06, 0.3),
    "fft": Component(0.029, 0.274),
}
"""By what the names of kernels begin with. The table has no others."""
MEDIUM_CONTROLLER = Component(0.24, 0.34)
"""PCM controller, one a channel."""
PCM_BACKGROUND_W = 264e-6
"""A die."""

IDLE_SHARE = MIPS.idle / MIPS.active
"""What a processor draws without work, of what it draws with it."""


# ---- XSSD, Tables 2.1 and 3.2: joules a bit ----


@dataclass(frozen=True)
class Medium:
    """Energy of a memory technology, joules a bit."""

    read: float
    write: float
    source: str


MEDIA = {
    "flash": Medium(250e-12, 250e-12, "XSSD Table 2.1"),
    "pcm": Medium(2.47e-12, 16.82e-12, "XSSD Table 3.2"),
    "sttm": Medium(0.33e-12, 10.0e-12, "XSSD Table 2.1"),
    "memristor": Medium(2e-12, 2e-12, "XSSD Table 2.1"),
}
DRAM_JOULES_PER_BIT = 2.4e-12
"""XSSD Table 2.1, reads and writes."""
