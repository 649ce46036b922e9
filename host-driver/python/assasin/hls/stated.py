# SPDX-License-Identifier: BSD-3-Clause
"""
What the XSSD dissertation states for the three forms (sections 4.1.4 and 4.2.3): speed-ups over host I/O.

Its machine: PCM of 21.6 GB/s behind eight controllers, 2 GB/s of PCIe, processors at 125 MHz that are helped by accelerators; its
saxpy-RPC multiplies and adds in hardware, and there is no saxpy-HW.
"""

from __future__ import annotations

from collections.abc import Mapping

KERNELS = ("fgrep8", "saxpy")
"""The functions of which it states them."""

SPEEDUP_OVER_IO: Mapping[tuple[str, str], float] = {("fgrep8", "core"): 8.91, ("fgrep8", "slot"): 15.7, ("saxpy", "core"): 4.0}
"""By kernel and form."""
