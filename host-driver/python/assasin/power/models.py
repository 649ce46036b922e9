# SPDX-License-Identifier: BSD-3-Clause
"""
Power models over the virtual board's counters. Both give estimates for comparing runs and configurations, not a device's power.

`activity`: the drive alone. Cores, caches, stream buffers, scratchpads and crossbar have the powers of the ASSASIN paper's Table
V,
scaled by how much each was used; what Table V leaves out has the figures of the XSSD dissertation: flash array and DRAM energy a
bit
(Table 2.1), flash channels, PCIe and DRAM background (Table 3.2).

`xssd`: the XSSD dissertation's power model (section 3.8, Table 3.2), each component between its idle and its active power by the
utilisation that the counters show; memory energy a bit of the chosen technology.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assasin import later
from assasin.power import coefficients as c
from assasin.power.activity import ActivityLog
from assasin.power.trace import Floats, Trace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = later.module("numpy")

COMPUTE = "cores and their memories"
DEVICE = "rest of the drive"
HOST = "host"

_CACHED = ("Baseline", "Prefetch")
"""Architectures whose tiles are caches onto DRAM: neither stream buffers nor scratchpad."""


@dataclass(frozen=True)
class ModelOptions:
    """What a model cannot know from the counters."""

    medium: str = "flash"
    """A technology of coefficients.MEDIA: what the flash array's bits cost (model xssd)."""
    host_utilisation: float | None = None
    """Of the host's processor, 0..1. None: the host is left out (model xssd)."""


def _accelerator(kernel: str) -> c.Component | None:
    return next((a for name, a in c.ACCELERATORS.items() if kernel.startswith(name)), None)


class _Use:
    """Utilisations, 0..1, of what the counters tell, for each interval."""

    def __init__(self, log: ActivityLog) -> None:
        s = log.scale
        self.log = log
        self.cycles = np.maximum(log.cycles, 1).astype(np.float64)
        self.seconds = self.cycles * s.ns_per_cycle * 1e-9
        waits = log.cores("wait_in") + log.cores("wait_out") + log.cores("wait_mem")
        self.core = self._share((log.cores("cycles") - waits).sum(axis=1), s.cores)
        waits = log.slots("wait_in") + log.slots("wait_out")
        self.slots = np.clip((log.slots("cycles") - waits) / self.cycles[:, np.newaxis], 0.0, 1.0)
        flash_bytes = log.channels("data_bytes").sum(axis=1)
        self.channel = self._share(log.channels("bus_busy").sum(axis=1), s.channels)
        self.crossbar = self._share(flash_bytes / 8, s.channels)
        self.firmware = self._share(log.cycles - log.grown("firmware_sleep"), 1)
        self.l2 = self._share((log.cores("l1_misses").sum(axis=1) * 64 + flash_bytes) / 8, s.cores)
        pcie = np.maximum(log.grown("h2c_bytes"), log.grown("c2h_bytes"))
        self.pcie = self._share(pcie / s.pcie_bytes_per_cycle, 1)
        self.dram_bytes = log.grown("dram_read_bytes") + log.grown("dram_write_bytes")
        self.dram = self._share(self.dram_bytes / s.dram_bytes_per_cycle, 1)
        self.page_bits = 8 * s.raw_page_bytes

    def _share(self, busy: npt.NDArray[Any], parts: int) -> Floats:
        return np.clip(busy / (self.cycles * parts), 0.0, 1.0)

    def array_watts(self, medium: c.Medium) -> Floats:
        """Watts of the array operations that ended in each interval."""
        read = self.log.grown("array_reads") * self.page_bits * medium.read
        written = self.log.grown("array_programs") * self.page_bits * medium.write
        return (read + written) / self.seconds


class _Parts:
    """Collects a trace's components."""

    def __init__(self, log: ActivityLog) -> None:
        self.use = _Use(log)
        self._edges = log.edges
        self._watts: dict[str, Floats] = {}
        self._groups: dict[str, str] = {}

    def add(self, name: str, group: str, watts: Floats) -> None:
        """One more component."""
        self._watts[name] = watts
        self._groups[name] = group

    def add_kernels(self) -> None:
        """The kernels in the slots that Table 3.2 has a figure for."""
        for slot, kernel in enumerate(self.use.log.kernels):
            known = _accelerator(kernel)
            if known:
                self.add(f"slot {slot}, {kernel}", COMPUTE, known.watts(self.use.slots[:, slot]))

    def trace(self) -> Trace:
        """All of them."""
        return Trace(self._edges, self._watts, self._groups)


def _table_v(milliwatts: float, ns_per_cycle: float, utilisation: Floats) -> Floats:
    """
    A part of Table V: its figure when it is used every cycle of the table's clock; what switches scales with the clock, and the
    idle
    share (a processor's in Table 3.2, Table V has none) does not.
    """
    clock = 1 / ns_per_cycle / c.TABLE_V_GHZ
    return milliwatts * 1e-3 * (c.IDLE_SHARE + (1 - c.IDLE_SHARE) * utilisation * clock)


def architecture(config: str) -> str:
    """Memory architecture out of a configuration's name, for example AssasinSb of AssasinSb8x8."""
    return config.rstrip("0123456789x")


def activity_model(log: ActivityLog, _: ModelOptions) -> Trace:
    """Power of a drive by what its counters say; see the head of this file."""
    p, s, arch = _Parts(log), log.scale, architecture(log.scale.config)
    u = p.use

    def part(name: str, milliwatts: float, utilisation: Floats) -> None:
        p.add(name, COMPUTE, _table_v(milliwatts, s.ns_per_cycle, utilisation))

    part("cores", s.cores * c.IBEX_MW, u.core)
    if arch in _CACHED:
        part("L1 caches", s.cores * c.L1_MW, u.core)
        part("L2 caches", s.cores * c.L2_MW, u.l2)
    else:
        part("scratchpads", s.cores * c.SRAM_64K_MW, u.core)
        part("stream buffers", s.cores * 2 * c.SRAM_64K_MW, u.core)
    if arch == "AssasinSbCache":
        part("L1 caches", s.cores * c.L1_MW, u.core)
    if s.slots:
        part("slots' stream buffers", s.slots * 2 * c.SRAM_64K_MW, u.slots.mean(axis=1))
        p.add_kernels()
    part("crossbar", c.CROSSBAR_MW, u.crossbar)
    part("firmware processor and its memory", c.IBEX_MW + 4 * c.SRAM_64K_MW, u.firmware)
    p.add("flash channels", DEVICE, s.channels * c.MEDIUM_CONTROLLER.watts(u.channel))
    p.add("flash array", DEVICE, u.array_watts(c.MEDIA["flash"]))
    p.add("DRAM background", DEVICE, np.full_like(u.cycles, c.DIMM.idle * s.dram_bytes / c.DIMM_BYTES))
    p.add("DRAM transfers", DEVICE, u.dram_bytes * 8 * c.DRAM_JOULES_PER_BIT / u.seconds)
    p.add("PCIe", DEVICE, c.PCIE.watts(u.pcie))
    return p.trace()


def xssd_model(log: ActivityLog, options: ModelOptions) -> Trace:
    """The XSSD dissertation's power model over a drive's counters; see the head of this file."""
    p, s = _Parts(log), log.scale
    u = p.use
    add = p.add
    add("MIPS (cores)", COMPUTE, s.cores * c.MIPS.watts(u.core))
    p.add_kernels()
    # Every byte that a core gets is moved by its SPU's DMA controller, 8 bytes a cycle.
    moved = u.log.channels("data_bytes").sum(axis=1) / 8 / (u.cycles * s.cores)
    add("DMA controllers", COMPUTE, s.cores * c.DMA.watts(np.clip(moved, 0, 1)))
    add("scheduler (firmware)", DEVICE, c.SCHEDULER.watts(u.firmware))
    add("network (crossbar)", DEVICE, c.NETWORK.watts(u.crossbar))
    add("medium controllers (channels)", DEVICE, s.channels * c.MEDIUM_CONTROLLER.watts(u.channel))
    add(f"medium, {options.medium}", DEVICE, u.array_watts(c.MEDIA[options.medium]))
    if options.medium == "pcm":
        add("medium background", DEVICE, np.full_like(u.cycles, s.dies * c.PCM_BACKGROUND_W))
    add("PCIe", DEVICE, c.PCIE.watts(u.pcie))
    if options.host_utilisation is not None:
        add("host processor", HOST, np.full_like(u.cycles, c.HOST.watts(options.host_utilisation)))
        add("host DIMM", HOST, np.full_like(u.cycles, c.DIMM.watts(options.host_utilisation)))
    return p.trace()


MODELS = {"activity": activity_model, "xssd": xssd_model}

METHODS = {
    "activity": "modelled from the board's counters: ASSASIN Table V (cores, caches, SRAM, crossbar; 14 nm), XSSD Tables 2.1 "
    "(250 pJ a bit of flash array, 2.4 pJ a bit of DRAM) and 3.2 (channels, PCIe, DRAM background, idle share of a processor, "
    "accelerators); erases not modelled",
    "xssd": "modelled from the board's counters: XSSD section 3.8 and Table 3.2, medium {medium} ({source}), host {host}",
}


def method(model: str, log: ActivityLog, options: ModelOptions) -> str:
    """What a model does, in words, with its options and what it has no figures for."""
    unknown = [k for k in log.kernels if k and not _accelerator(k)]
    note = f"; no figure for the logic of {', '.join(unknown)}" if unknown else ""
    host = "left out" if options.host_utilisation is None else f"at a stated utilisation of {options.host_utilisation:g}"
    return METHODS[model].format(medium=options.medium, source=c.MEDIA[options.medium].source, host=host) + note


def idle_watts(model: str, log: ActivityLog, options: ModelOptions) -> float:
    """What the model says of a drive that sleeps."""
    return float(MODELS[model](log.asleep(), options).total[0])
