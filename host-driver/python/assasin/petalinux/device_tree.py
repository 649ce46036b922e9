# SPDX-License-Identifier: BSD-3-Clause
"""Device tree fragments that are data of the board file: the drive's memory, the window onto the chip, sensors, overlay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from assasin.boards import Board, Sensor

WINDOW_BYTES = 0x10000
"""What the agent maps of BAR0: NVMe registers, CTRL and DEBUG."""

UIO = "assasin"
"""Name of the window's UIO device."""

IMAGE = "assasin.bin"
"""Under which name the agent stores the bitstream below /lib/firmware."""

_HEADER = "/* SPDX-License-Identifier: BSD-3-Clause */\n/* Of board/{board}/board.toml. */\n"

# ina226: Documentation/devicetree/bindings/hwmon/ti,ina2xx.yaml; ucd90120: .../hwmon/pmbus/ti,ucd90320.yaml and its driver's table
_COMPATIBLE = {"ina226": "ti,ina226", "pmbus": "ti,ucd90120"}
_MONITOR = {"zynq7": "adc", "zynqmp": "xilinx_ams"}
_MONITOR_PARTS = {"zynq7": (), "zynqmp": ("ams_ps", "ams_pl")}
# zynq7: bindings/clock/zynq-7000.txt; zynqmp: the vendor kernel's clock enabler on pl0_ref, clock 71 of xlnx,zynqmp-clk
_FABRIC_CLOCK = {
    "zynq7": "&clkc {\n\tfclk-enable = <0x1>;\n};\n",
    "zynqmp": '/ {\n\tfabric-clock {\n\t\tcompatible = "xlnx,fclk";\n\t\tclocks = <&zynqmp_clk 71>;\n\t};\n};\n',
}
_CELLS = {"zynq7": 1, "zynqmp": 2}


@dataclass(frozen=True)
class Region:
    """Physical memory that Linux keeps its hands off."""

    base: int
    bytes: int

    @property
    def end(self) -> int:
        """First byte behind it."""
        return self.base + self.bytes


def drive_memory(board: Board) -> list[Region]:
    """The drive's windows and its emulated NAND, neighbours joined, by address."""
    parts = [Region(w.physical, w.bytes) for w in board.dram.windows]
    if board.nand.store_base is not None and board.nand.store_bytes is not None:
        parts.append(Region(board.nand.store_base, board.nand.store_bytes))
    joined: list[Region] = []
    for part in sorted(parts, key=lambda r: r.base):
        if joined and joined[-1].end == part.base:
            joined[-1] = Region(joined[-1].base, joined[-1].bytes + part.bytes)
        else:
            joined.append(part)
    return joined


def _reg(board: Board, base: int, size: int) -> str:
    def cells(value: int) -> str:
        return " ".join(f"0x{value >> 32 * (n - 1) & 0xFFFFFFFF:x}" for n in range(_CELLS[board.kind], 0, -1))

    return f"<{cells(base)} {cells(size)}>"


def system(board: Board) -> str:
    """assasin.dtsi: reserved memory, the window, and the clock to the fabric, which no driver of Linux's would keep on."""
    assert board.ps is not None
    n = _CELLS[board.kind]
    reserved = "".join(
        f"\t\tdrive@{r.base:x} {{\n\t\t\treg = {_reg(board, r.base, r.bytes)};\n\t\t\tno-map;\n\t\t}};\n"
        for r in drive_memory(board)
    )
    return (
        _HEADER.format(board=board.name)
        + f"""
/ {{
	reserved-memory {{
		#address-cells = <{n}>;
		#size-cells = <{n}>;
		ranges;

{reserved}	}};

	{UIO}@{board.ps.regs_base:x} {{
		compatible = "assasin,bar0", "generic-uio";
		reg = {_reg(board, board.ps.regs_base, WINDOW_BYTES)};
		linux,uio-name = "{UIO}";
	}};
}};

{_FABRIC_CLOCK[board.kind]}"""
    )


def sensors(board: Board) -> str:
    """sensors.dtsi: a node a sensor whose label is the sensor's name, under the multiplexers that petalinux/board.dtsi has."""
    text = _HEADER.format(board=board.name)
    on_bus = [s for s in board.sensors if s.driver in _COMPATIBLE]

    def place(s: Sensor) -> tuple[int, int, int]:
        return (s.bus or 0, s.mux if s.mux is not None else -1, s.mux_port if s.mux_port is not None else -1)

    for (bus, mux, port), found in groupby(sorted(on_bus, key=place), place):
        if mux < 0:
            text += f"\n&i2c{bus} {{\n{_nodes(found, 1)}}};\n"
        else:
            text += f"\n&mux_{bus}_{mux:x} {{\n\ti2c@{port:x} {{\n\t\t#address-cells = <1>;\n\t\t#size-cells = <0>;\n"
            text += f"\t\treg = <{port}>;\n\n{_nodes(found, 2)}\t}};\n}};\n"
    for s in board.sensors:
        if s.driver == "ams":
            text += f'\n&{_MONITOR[board.kind]} {{\n\tstatus = "okay";\n\tlabel = "{s.name}";\n}};\n'
            text += "".join(f'\n&{part} {{\n\tstatus = "okay";\n}};\n' for part in _MONITOR_PARTS[board.kind])
    return text


def _nodes(found: Iterable[Sensor], depth: int) -> str:
    tabs = "\t" * depth
    text = ""
    for s in found:
        assert s.address is not None
        model = "ucd90120" if s.driver == "pmbus" else s.driver
        text += f"{tabs}{model}@{s.address:x} {{\n"
        text += f'{tabs}\tcompatible = "{_COMPATIBLE[s.driver]}";\n{tabs}\treg = <0x{s.address:x}>;\n{tabs}\tlabel = "{s.name}";\n'
        if s.shunt_uohm is not None:
            text += f"{tabs}\tshunt-resistor = <{s.shunt_uohm}>;\n"
        text += f"{tabs}}};\n"
    return text


def overlay(board: Board) -> str:
    """assasin.dts: has the kernel program the FPGA when it is applied."""
    return "/dts-v1/;\n/plugin/;\n" + _HEADER.format(board=board.name) + f'\n&fpga_full {{\n\tfirmware-name = "{IMAGE}";\n}};\n'


def agent_config(board: Board) -> str:
    """/etc/assasin-agent.conf."""
    text = f"# Of board/{board.name}/board.toml.\nboard {board.name}\nwindow uio {UIO}\n"
    for s in board.sensors:
        if s.driver in (*_COMPATIBLE, "ams"):
            pages = f" {s.pages or 1}" if s.driver == "pmbus" else ""
            text += f'sensor "{s.name}" "{s.rail}" {s.driver}{pages}\n'
    return text
