# SPDX-License-Identifier: BSD-3-Clause
"""What a board file holds. One class a table of board.toml; the meaning of every item is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from assasin.boards.record import Choice, Range, Tables

KINDS = ("virtual", "zynq7", "zynqmp")


@dataclass(frozen=True)
class Part:
    """[part]: the FPGA and what it holds in all."""

    name: str
    """Ordering name, as Vivado takes it."""
    family: Annotated[str, Choice("xc7", "xcup")]
    """Name of the family in yosys."""
    luts: Annotated[int, Range(1, 10_000_000)]
    ffs: Annotated[int, Range(1, 20_000_000)]
    bram36: Annotated[int, Range(0, 10_000)]
    """Block RAMs of 36 Kibit."""
    uram: Annotated[int, Range(0, 10_000)]
    """UltraRAMs of 288 Kibit."""
    dsp: Annotated[int, Range(0, 20_000)]


@dataclass(frozen=True)
class Pcie:
    """[pcie]: the link, and the function as the host sees it."""

    generation: Annotated[int, Range(1, 5)]
    lanes: Annotated[int, Range(1, 16)]
    vendor_id: Annotated[int, Range(0, 0xFFFF)]
    device_id: Annotated[int, Range(0, 0xFFFF)]
    subsystem_vendor_id: Annotated[int, Range(0, 0xFFFF)]
    subsystem_id: Annotated[int, Range(0, 0xFFFF)]
    class_code: Annotated[int, Range(0, 0xFFFFFF)]
    """Class, subclass and programming interface: 010802 is an NVMe controller."""
    block: str = ""
    """Site of the hard PCIe block, such as X0Y0; empty on the virtual board."""
    axi_bits: Annotated[int, Range(64, 512)] = 64
    """Data width of the XDMA IP's AXI side."""
    axi_mhz: Annotated[int, Range(1, 500)] = 250
    """Its clock."""
    bar0_bits: Annotated[int, Range(32, 64)] = 32
    """Widest access to BAR0 that reaches the chip, 32 or 64: 32 through the XDMA IP's AXI4-Lite master. With 64 the chip has a
    controller memory buffer."""


@dataclass(frozen=True)
class Clock:
    """[clock]: frequencies in MHz."""

    core_mhz: Annotated[int, Range(1, 2000)]
    """The chip's one clock."""
    phy_mhz: Annotated[int | None, Range(100, 800)] = None
    """Clock of the NAND PHY's serialisers: 2 or 4 times core_mhz; two samples a period. Absent where NAND is emulated."""
    ps_mhz: Annotated[int, Range(10, 300)] = 100
    """Clock that the processing system gives the fabric, from which the others are made."""


@dataclass(frozen=True)
class DramWindow:
    """[[dram.window]]: a piece of the chip's DRAM window (0x80000000, 2 GiB) that physical memory backs."""

    offset: Annotated[int, Range(0, 0x7FFFFFFF)]
    """First byte, from 0x80000000."""
    bytes: Annotated[int, Range(1, 0x80000000)]
    physical: Annotated[int, Range(0, 0xFFFFFFFFFF)]
    """Where the processing system has it."""


@dataclass(frozen=True)
class Dram:
    """[dram]: the drive's memory."""

    kind: Annotated[str, Choice("ps", "model")]
    """ps: behind a port of the processing system, which shares it with Linux; model: the simulator's."""
    bytes: Annotated[int, Range(1, 1 << 40)]
    """Size of the device, Linux's part included."""
    ps_mts: Annotated[int | None, Range(1, 10_000)] = None
    """Transfers a second and pin, in millions."""
    ps_width: Annotated[int | None, Range(16, 64)] = None
    """Data pins."""
    linux_bytes: Annotated[int, Range(0, 1 << 40)] = 0
    """What Linux on the board may use, from the start of memory."""
    windows: Annotated[tuple[DramWindow, ...], Tables("window")] = ()


@dataclass(frozen=True)
class Ps:
    """[ps]: the processing system, which runs Linux and the board agent."""

    regs_base: Annotated[int, Range(0, 0xFFFFFFFFFF)]
    """Where Linux on the board sees BAR0: 4 MiB."""
    memory_base: Annotated[int, Range(0, 0xFFFFFFFFFF)]
    """Where it sees the chip's address 0 (firmware memory): 1 MiB."""
    board_part: str = ""
    """Vivado's board part, which brings the settings of DRAM and pins with it."""
    config: tuple[str, ...] = ()
    """Settings of the processing system's IP, NAME=VALUE, where no board part has them."""


@dataclass(frozen=True)
class Nand:
    """[nand]: the flash behind the channels."""

    channels: Annotated[int, Range(1, 16)]
    ways: Annotated[int, Range(1, 16)]
    """Chip enables a channel."""
    mts: Annotated[int, Range(1, 2400)]
    """Transfers (bytes) a second and channel, in millions."""
    modules: tuple[str, ...]
    """Modules the board takes."""
    module: str
    """The one that pins.csv and the timing are for."""
    emulated: bool
    """No NAND: contents are in DRAM (store_base, store_bytes), or in the simulator's model."""
    luns: Annotated[int, Range(1, 2)] = 2
    """LUNs of a chip enable that the chip lets work at the same time; 1 makes its channels smaller."""
    phy: Annotated[str | None, Choice("7series", "ultrascale")] = None
    """Variant of the PHY in board/common/phy; absent where NAND is emulated."""
    vccio_mv: Annotated[int | None, Range(1200, 3300)] = None
    """Supply of the NAND banks."""
    store_base: Annotated[int | None, Range(0, 0xFFFFFFFFFF)] = None
    store_bytes: Annotated[int | None, Range(1 << 20, 1 << 40)] = None


@dataclass(frozen=True)
class Chip:
    """[chip]: what is built for this board unless asked otherwise."""

    config: str
    """<Architecture><cores>x<channels>."""
    slots: Annotated[int, Range(0, 8)] = 0
    """Slots for HLS kernels."""


@dataclass(frozen=True)
class Sensor:
    """[[sensors]]: where power and temperature can be read."""

    name: str
    driver: Annotated[str, Choice("ina226", "pmbus", "ams", "none", "model", "meter")]
    """ams: monitor inside the FPGA; model: the virtual board's; meter: a logged external meter."""
    rail: str
    bus: Annotated[int | None, Range(0, 31)] = None
    """Number of the I2C controller."""
    mux: Annotated[int | None, Range(0x03, 0x77)] = None
    """I2C address of the multiplexer in front."""
    mux_port: Annotated[int | None, Range(0, 7)] = None
    address: Annotated[int | None, Range(0x03, 0x77)] = None
    """I2C address."""
    shunt_uohm: Annotated[int | None, Range(1, 10_000_000)] = None
    """Shunt in microohms."""
    pages: Annotated[int | None, Range(1, 256)] = None
    """PMBus pages."""


@dataclass(frozen=True)
class Program:
    """[program]: how a bitstream gets onto the board."""

    tool: Annotated[str, Choice("openfpgaloader", "vivado", "virtual")]
    cable: str | None = None
    """openFPGALoader's name of the JTAG cable."""
    fpga_part: str | None = None
    """openFPGALoader's name of the part."""
    target: str | None = None
    """Name of the device in Vivado's hardware manager."""
