# SPDX-License-Identifier: BSD-3-Clause
"""
What the text of the ASSASIN paper states (Zou and Chien, MICRO 2022, sections III and VI). Bars that only its plots show are not
here. The paper's clock is 1 GHz: 1 GB/s is 1 byte a cycle.
"""

from __future__ import annotations

ARCHITECTURES = ("Baseline", "Prefetch", "AssasinSp", "AssasinSb", "AssasinSbCache", "AssasinSbX", "ChannelLocal")
"""In the order of the paper's Table IV; AssasinSbX goes past it, ChannelLocal is the alternative of its Figure 7."""

STATED: dict[tuple[str, str, str, str], float] = {
    # Section III-A: "the offloaded Filter function runs at 0.63 GB/s", one core.
    ("fig5", "Baseline", "filter", "bytes_per_cycle"): 0.63,
    # Section VI-F: AssasinSb improves "from 1.4-2.1x" over Baseline; the least compute-intensive function gains most.
    ("fig13", "AssasinSb", "stat", "speedup_over_baseline"): 2.1,
    ("fig13", "AssasinSb", "aes", "speedup_over_baseline"): 1.4,
    # Section VI-B: "AssassinSb further outperforms AssassinSp by 10% on these cases", the first three functions.
    ("fig13", "AssasinSb", "stat", "speedup_over_sp"): 1.1,
    ("fig13", "AssasinSb", "raid4", "speedup_over_sp"): 1.1,
    ("fig13", "AssasinSb", "raid6", "speedup_over_sp"): 1.1,
    # Section VI-B: "AssassinSb and AssassinSb$ achieve the same performance".
    ("fig13", "AssasinSbCache", "stat", "speedup_over_sb"): 1.0,
    ("fig13", "AssasinSbCache", "raid4", "speedup_over_sb"): 1.0,
    ("fig13", "AssasinSbCache", "raid6", "speedup_over_sb"): 1.0,
    ("fig13", "AssasinSbCache", "aes", "speedup_over_sb"): 1.0,
    # Section VI-C, geometric means over the queries: UDP 1.3x, Prefetch 15 %, AssasinSp as UDP, AssasinSb 18 % more.
    ("fig14", "UDP", "psf", "speedup_over_baseline"): 1.3,
    ("fig14", "Prefetch", "psf", "speedup_over_baseline"): 1.15,
    ("fig14", "AssasinSp", "psf", "speedup_over_baseline"): 1.3,
    ("fig14", "AssasinSb", "psf", "speedup_over_baseline"): 1.5,
    ("fig14", "AssasinSb", "psf", "speedup_over_sp"): 1.18,
    ("fig14", "AssasinSbCache", "psf", "speedup_over_sp"): 1.18,
    # Section VI-D: "a 1 GHz core achieves 1 GB/s", "linear scaling ... until bounded by flash array throughput (8GB/s in total)".
    ("fig16", "AssasinSb", "scan x 1", "bytes_per_cycle"): 1.0,
    ("fig16", "AssasinSb", "scan x 2", "bytes_per_cycle"): 2.0,
    ("fig16", "AssasinSb", "scan x 4", "bytes_per_cycle"): 4.0,
    ("fig16", "AssasinSb", "scan x 8", "bytes_per_cycle"): 8.0,
    # Section VI-D: "Cores have high utilization, more than 98%".
    **{("fig17", "AssasinSb", f"scan x {n}", "normalised_utilisation"): 0.98 for n in (1, 2, 4, 8)},
    # Section VI-E: compute-limited functions match "the even data layout scenario" through the crossbar.
    ("fig19", "AssasinSb", "raid6 at skew 1", "normalised_throughput"): 1.0,
    ("fig19", "AssasinSb", "aes at skew 1", "normalised_throughput"): 1.0,
    # Section III-A: twice the flash bandwidth: pages go into DRAM and are read from there.
    ("dram", "Baseline", "stat", "dram_bytes_per_flash_byte"): 2.0,
}
"""(figure, configuration without its size, workload, metric) to the stated value. Sizes are the paper's 8x8."""


def stated(figure: str, architecture: str, workload: str, metric: str) -> float | None:
    """The paper's value, None when its text has none."""
    return STATED.get((figure, architecture, workload, metric))
