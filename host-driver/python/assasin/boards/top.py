# SPDX-License-Identifier: BSD-3-Clause
"""
The top level of an FPGA as Verilog.

It holds the chip, the XDMA IP (`xdma_0`), the block design with the processing system (`platform_wrapper`), a PHY or an emulator a
flash channel, and what crosses between the clocks of chip and PCIe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assasin.boards import emulated
from assasin.boards.board import Board
from assasin.boards.platform import Interface, clock_ports, fixed_ports, interfaces
from assasin.boards.ports import Port
from assasin.errors import AssasinError

TOP = "assasin_top"
"""Name of the module."""

IDLE_OUTPUTS = ("io_asleep", "io_wakeAt")
"""Outputs of the chip that no board uses: its clock always runs."""

_FLASH = (
    ("ce_n", "ceN"),
    ("cle", "cle"),
    ("ale", "ale"),
    ("we", "we"),
    ("dq_out_valid", "dqOutValid"),
    ("dq_out", "dqOut"),
    ("re", "re"),
    ("wp_n", "wpN"),
    ("dq_in_valid", "dqInValid"),
    ("dq_in", "dqIn"),
    ("rb_n", "rbN"),
    ("margin", "margin"),
)


class TopError(AssasinError):
    """Chip and board do not fit together; the message says why."""


@dataclass(frozen=True)
class SlotKernel:
    """A kernel exported as IP for one slot."""

    slot: int
    name: str
    id: int
    """CRC-32 of name/version."""
    module: str
    """Module that the IP makes."""
    inputs: tuple[str, ...]
    """Stream inputs, by name of their ports without _TDATA."""
    output: str
    control: str = "s_axi_control"
    control_bits: int = 6
    """Address width of the control interface."""


def generate(board: Board, chip: Mapping[str, Port], kernels: Sequence[SlotKernel] = ()) -> str:
    """
    Verilog of the top level of `board` around a chip with the ports `chip`.

    Raises TopError when the chip does not fit the board, or has a port that the top level knows nothing about.
    """
    top = _Top(board, chip)
    top.clocks()
    top.host()
    top.dram()
    for channel in range(top.channels):
        top.flash(channel)
    for channel in range(top.channels, board.nand.channels):
        top.unused_channel(channel)
    for slot in range(top.slots):
        top.slot(slot, next((k for k in kernels if k.slot == slot), None))
    for kernel in kernels:
        if kernel.slot >= top.slots:
            raise TopError(f"kernel {kernel.name} is for slot {kernel.slot}; the chip has {top.slots} slots")
    return top.text()


def _count(chip: Mapping[str, Port], pattern: str) -> int:
    return 1 + max((int(m[1]) for m in (re.match(pattern, name) for name in chip) if m), default=-1)


class _Top:
    """Collects the parts of the module."""

    def __init__(self, board: Board, chip: Mapping[str, Port]) -> None:
        self.board = board
        self.chip = chip
        self.ports: list[Port] = []
        self.body: list[str] = []
        self.connected: dict[str, str] = {}
        self.channels = _count(chip, r"io_flash_(\d+)_ceN")
        self.slots = _count(chip, r"io_slot_(\d+)_id")
        if self.channels == 0 or self.channels > board.nand.channels:
            raise TopError(f"the chip has {self.channels} flash channels, {board.name} has 1 to {board.nand.channels}")
        ways = chip["io_flash_0_ceN"].width
        if ways != board.nand.ways:
            raise TopError(
                f"the chip has {ways} ways a channel, {board.name} has {board.nand.ways}: emit it with --ways {board.nand.ways}"
            )
        if chip["io_flash_0_dqOut"].width != 8:
            raise TopError(f"the chip moves {chip['io_flash_0_dqOut'].width // 8} bytes a cycle on a channel; the PHYs here move 1")
        ids = chip["io_dram_aw_bits_id"].width
        self.interfaces = {i.name: i for i in interfaces(board, ids)}
        self.xdma: dict[str, str] = {}
        self.platform: dict[str, str] = {}

    # ---- pieces of text

    def say(self, text: str = "") -> None:
        """Appends lines to the module's body."""
        self.body += text.splitlines() or [""]

    def wire(self, name: str, width: int = 1) -> str:
        """Declares a wire."""
        self.body.append(f"    wire {Port(name, '', width).range}{name};")
        return name

    def instance(self, module: str, name: str, pins: Mapping[str, str], parameters: Mapping[str, str] | None = None) -> None:
        """Appends an instance."""
        head = f"    {module} "
        if parameters:
            head += "#(\n" + ",\n".join(f"        .{k}({v})" for k, v in parameters.items()) + "\n    ) "
        self.say(f"{head}{name} (\n" + ",\n".join(f"        .{k}({v})" for k, v in pins.items()) + "\n    );")

    def use(self, port: str, wire: str) -> None:
        """Connects a port of the chip."""
        if port not in self.chip:
            raise TopError(f"the chip has no port {port}")
        if port in self.connected:
            raise TopError(f"port {port} of the chip is connected twice")
        self.connected[port] = wire

    def chip_wire(self, port: str) -> str:
        """A wire of the port's width, connected to it."""
        self.use(port, port)
        return self.wire(port, self.chip[port].width)

    def join(self, interface: Interface, prefix: str, skip: Iterable[str] = ()) -> None:
        """Wires an interface of the block design to the chip's ports `prefix`; `skip`: signals that the caller connects."""
        for signal in interface.axi.signals():
            name = interface.axi.chip_name(prefix, signal)
            if signal.bd in skip:
                continue
            have = self.chip[name].width
            if have < signal.width and self.chip[name].direction == "input":
                wide = self.wire(f"{interface.name}_{signal.bd}", signal.width)
                self.use(name, f"{wide}[{have - 1}:0]")
                self.platform[wide] = wide
                continue
            if have > signal.width:
                raise TopError(f"port {name} of the chip has {have} bits, {interface.name} {signal.width}")
            wire = self.chip_wire(name)
            self.platform[f"{interface.name}_{signal.bd}"] = (
                wire if have == signal.width else f"{{{signal.width - have}'d0, {wire}}}"
            )
        # Ids that the interconnect does not carry.
        for channel in ("aw", "b", "ar", "r"):
            name = f"{prefix}_{channel}_bits_id"
            if not interface.axi.lite and not interface.axi.id_bits and name in self.chip:
                self.use(name, "4'd0" if self.chip[name].direction == "input" else "")

    # ---- parts of the design

    def clocks(self) -> None:
        """Clocks, resets and the timebase."""
        self.say("    // Clocks and resets. The timebase counts from configuration on.")
        for port in clock_ports(self.board):
            self.platform[port.name] = self.wire(port.name)
        self.say("    reg [63:0] timebase = 64'd0;")
        self.say("    always @(posedge core_clk) timebase <= timebase + 64'd1;")
        self.say("    wire core_reset = !core_resetn;")
        self.say("    // Either side's reset empties what crosses between them.")
        self.wire("link_down")
        self.wire("chip_down")
        self.say("    sync_bits #(.WIDTH(1)) sync_link (.clk(core_clk), .in(!xdma_resetn), .out(link_down));")
        self.say("    sync_bits #(.WIDTH(1)) sync_chip (.clk(xdma_clk), .in(core_reset), .out(chip_down));")
        self.use("clock", "core_clk")
        self.use("reset", "core_reset")
        self.use("io_timebase", "timebase")
        for name in IDLE_OUTPUTS:
            self.use(name, "")

    def host(self) -> None:
        """XDMA IP, its registers, memory and interrupts."""
        lanes = self.board.pcie.lanes
        self.say("\n    // PCIe: the XDMA IP's channel 0 takes descriptor lists, channel 1 is in descriptor bypass for the chip.")
        for name, direction, width in (
            ("pcie_refclk_p", "input", 1),
            ("pcie_refclk_n", "input", 1),
            ("pcie_perst_n", "input", 1),
            ("pcie_rx_p", "input", lanes),
            ("pcie_rx_n", "input", lanes),
            ("pcie_tx_p", "output", lanes),
            ("pcie_tx_n", "output", lanes),
        ):
            self.ports.append(Port(name, direction, width))
        self.wire("pcie_refclk")
        self.wire("pcie_perst_buffered_n")
        self.say("    IBUF perst_buffer (.I(pcie_perst_n), .O(pcie_perst_buffered_n));")
        if self.board.kind == "zynq7":
            self.say(
                "    IBUFDS_GTE2 refclk_buffer (.I(pcie_refclk_p), .IB(pcie_refclk_n), .CEB(1'b0), .O(pcie_refclk), .ODIV2());"
            )
            self.xdma["sys_clk"] = "pcie_refclk"
        else:
            self.wire("pcie_refclk_gt")
            self.say(
                "    IBUFDS_GTE4 refclk_buffer (.I(pcie_refclk_p), .IB(pcie_refclk_n), .CEB(1'b0), .O(pcie_refclk_gt),\n"
                "        .ODIV2(pcie_refclk));"
            )
            self.xdma.update(sys_clk="pcie_refclk", sys_clk_gt="pcie_refclk_gt")
        self.xdma.update(
            sys_rst_n="pcie_perst_buffered_n",
            pci_exp_rxp="pcie_rx_p",
            pci_exp_rxn="pcie_rx_n",
            pci_exp_txp="pcie_tx_p",
            pci_exp_txn="pcie_tx_n",
            axi_aclk="xdma_clk",
            axi_aresetn="xdma_resetn",
            user_lnk_up="",
            msi_enable="",
            msi_vector_width="",
        )
        for axi, ip in (("S_AXI_HOST", "m_axi"), ("S_AXIL_HOST", "m_axil"), ("M_AXIL_XDMA", "s_axil")):
            interface = self.interfaces[axi]
            for port, signal in zip(interface.ports(), interface.axi.signals(), strict=True):
                self.platform[port.name] = self.wire(port.name, port.width)
                self.xdma[f"{ip}_{signal.bd}"] = port.name
        # Signals of the IP that the interconnect does without.
        for name in ("awcache", "awprot", "awlock", "arcache", "arprot", "arlock"):
            self.xdma[f"m_axi_{name}"] = ""
        self.xdma.update(m_axil_awprot="", m_axil_arprot="", s_axil_awprot="3'd0", s_axil_arprot="3'd0")
        self.join(self.interfaces["S_AXIL_REGS"], "io_xdmaRegs")
        self.join(self.interfaces["M_AXIL_BAR0"], "io_bar0")
        self.memory()
        self.bypass()
        self.interrupts()
        self.instance("xdma_0", "xdma", self.xdma)

    def memory(self) -> None:
        """The chip's AXI4 slave: host and processing system. The latter sees the chip's address 0 at ps.memory_base."""
        interface = self.interfaces["M_AXI_CHIP"]
        self.join(interface, "io_xdma", skip=("awaddr", "araddr"))
        for channel in ("aw", "ar"):
            wire = self.wire(f"M_AXI_CHIP_{channel}addr", interface.axi.addr_bits)
            self.platform[wire] = wire
            fold = f"{{{wire}[31] && {wire}[30] ? 2'b11 : {{{wire}[31], 1'b0}}, {wire}[29:0]}}"
            # Zynq-7000 has no addresses above 4 GiB: its window is where the chip has nothing.
            self.use(f"io_xdma_{channel}_bits_addr", fold if self.board.kind == "zynq7" else f"{wire}[31:0]")

    def bypass(self) -> None:
        """Descriptor bypass of channel 1."""
        fields = (
            ("src_addr", "srcAddr", 64),
            ("dst_addr", "dstAddr", 64),
            ("len", "len", 28),
            ("ctl", "ctl", 16),
            ("load", "load", 1),
        )
        for way in ("h2c", "c2h"):
            pins = {
                "clk": "core_clk",
                "reset": "core_reset || link_down",
                "xdma_clk": "xdma_clk",
                "xdma_reset": "!xdma_resetn || chip_down",
            }
            for name, port, width in fields:
                pins[name] = self.chip_wire(f"io_{way}_{port}")
                pins[f"xdma_{name}"] = self.xdma[f"{way}_dsc_byp_{name}_1"] = self.wire(f"{way}_dsc_byp_{name}", width)
            pins["ready"] = self.chip_wire(f"io_{way}_ready")
            pins["sts"] = self.chip_wire(f"io_{way}_sts")
            pins["xdma_ready"] = self.xdma[f"{way}_dsc_byp_ready_1"] = self.wire(f"{way}_dsc_byp_ready")
            pins["xdma_sts"] = self.xdma[f"{way}_sts_1"] = self.wire(f"{way}_sts", 8)
            self.xdma[f"{way}_sts_0"] = ""
            self.instance("bypass_cdc", f"{way}_bypass", pins)

    def interrupts(self) -> None:
        """User interrupts."""
        for name in ("usr_irq_req", "usr_irq_ack"):
            self.xdma[name] = self.wire(name, 16)
        self.xdma["msix_enable"] = self.wire("msix_enable")
        pins = {
            "clk": "core_clk",
            "reset": "core_reset || link_down",
            "xdma_clk": "xdma_clk",
            "xdma_reset": "!xdma_resetn || chip_down",
        }
        pins |= {"req": self.chip_wire("io_irq_req"), "ack": self.chip_wire("io_irq_ack"), "msix": self.chip_wire("io_irq_msix")}
        pins |= {"xdma_req": "usr_irq_req", "xdma_ack": "usr_irq_ack", "xdma_msix": "msix_enable"}
        self.instance("irq_cdc", "interrupts", pins)

    def dram(self) -> None:
        """The chip's memory, behind a port of the processing system."""
        self.say("\n    // DRAM")
        interface = self.interfaces["S_AXI_DRAM"]
        self.join(interface, "io_dram", skip=("awaddr", "araddr"))
        windows = self.board.dram.windows
        step = 16 << 20

        def packed(width: int, values: Iterable[int]) -> str:
            return "{" + ", ".join(f"{width}'h{value:X}" for value in reversed(list(values))) + "}"

        parameters = {
            "WINDOWS": str(len(windows)),
            "FIRST": packed(8, ((0x80000000 + w.offset) // step for w in windows)),
            "COUNT": packed(9, (w.bytes // step for w in windows)),
            "PHYSICAL": packed(16, (w.physical // step for w in windows)),
        }
        for channel in ("aw", "ar"):
            chip = self.chip_wire(f"io_dram_{channel}_bits_addr")
            mapped = self.wire(f"dram_{channel}addr", 40)
            self.platform[f"S_AXI_DRAM_{channel}addr"] = mapped if interface.axi.addr_bits == 40 else f"{mapped}[31:0]"
            self.instance("dram_map", f"dram_map_{channel}", {"in": chip, "out": mapped}, parameters)

    def flash(self, channel: int) -> None:
        """PHY, or emulator, of one channel."""
        self.say(f"\n    // Flash channel {channel}")
        pins = {"clk": "core_clk", "reset": "core_reset"}
        pins |= {pin: self.chip_wire(f"io_flash_{channel}_{port}") for pin, port in _FLASH}
        nand, clock = self.board.nand, self.board.clock
        if nand.emulated:
            assert nand.store_base is not None
            assert nand.store_bytes is not None
            interface = self.interfaces[f"S_AXI_STORE{channel}"]
            for port, signal in zip(interface.ports(), interface.axi.signals(), strict=True):
                self.platform[port.name] = self.wire(port.name, port.width)
                pins[f"m_{signal.bd}"] = port.name
            part = emulated.load_part(self.board.folder / f"{nand.module}.toml")
            share = emulated.store_bytes(part, 1, nand.ways)
            if share * nand.channels > nand.store_bytes:
                needed = share * nand.channels
                raise TopError(
                    f"{self.board.name}: [nand] store_bytes is 0x{nand.store_bytes:X}, {nand.module}.toml needs 0x{needed:X}"
                )
            parameters = {"WAYS": str(nand.ways), "BASE": f"40'h{nand.store_base + channel * share:X}"}
            self.instance("nand_emulator", f"nand{channel}", pins, parameters | emulated.parameters(part, clock.core_mhz))
            return
        assert clock.phy_mhz is not None
        for name, direction, width in nand_pins(nand.ways):
            port = Port(f"nand{channel}_{name}", direction, width)
            self.ports.append(port)
            pins[f"nand_{name}"] = port.name
        pins["phy_clk"] = "phy_clk"
        samples = 2 * clock.phy_mhz // clock.core_mhz
        family = str(int(nand.phy == "ultrascale"))
        parameters = {
            "ULTRASCALE": family,
            "WAYS": str(nand.ways),
            "SAMPLES": str(samples),
            "BYTE_SAMPLES": str(2 * clock.phy_mhz // nand.mts),
        }
        self.instance("nand_phy", f"nand{channel}", pins, parameters)

    def unused_channel(self, channel: int) -> None:
        """A channel of the board that the chip has none for: packages deselected and protected."""
        self.say(f"\n    // Flash channel {channel} is not used.")
        if self.board.nand.emulated:
            interface = self.interfaces[f"S_AXI_STORE{channel}"]
            for port in interface.ports():
                self.platform[port.name] = f"{port.width}'d0" if port.direction == "input" else ""
            return
        for name, direction, width in nand_pins(self.board.nand.ways):
            port = Port(f"nand{channel}_{name}", direction, width)
            self.ports.append(port)
            if direction == "output" and name not in ("re_p", "re_n"):
                value = "1'b0" if name in ("cle", "ale", "wp_n") else f"{{{width}{{1'b1}}}}"
                self.say(f"    assign {port.name} = {value};")
        self.say(f"    OBUFDS nand{channel}_re (.I(1'b1), .O(nand{channel}_re_p), .OB(nand{channel}_re_n));")
        self.say(f"    IOBUFDS nand{channel}_dqs (.I(1'b0), .T(1'b1), .O(), .IO(nand{channel}_dqs_p), .IOB(nand{channel}_dqs_n));")
        self.say(f"    assign nand{channel}_dq = 8'bz;")

    def slot(self, slot: int, kernel: SlotKernel | None) -> None:
        """A slot for an HLS kernel: its IP, or nothing."""
        prefix = f"io_slot_{slot}_"
        names = [name for name in self.chip if name.startswith(prefix)]
        if kernel is None:
            self.say(f"\n    // Slot {slot} is empty.")
            for name in names:
                self.use(name, "" if self.chip[name].direction == "output" else f"{self.chip[name].width}'d0")
            return
        self.say(f"\n    // Slot {slot}: kernel {kernel.name}")
        pins = {"ap_clk": "core_clk"}
        for name in names:
            if name == f"{prefix}id":
                self.use(name, f"32'h{kernel.id:08X}")
            else:
                self.chip_wire(name)
        pins["ap_rst_n"] = f"!{prefix}reset"
        pins["interrupt"] = f"{prefix}interrupt"
        streams = [(port, f"{prefix}in_{k}_") for k, port in enumerate(kernel.inputs)] + [(kernel.output, f"{prefix}out_")]
        for port, chip in streams:
            for signal in ("tvalid", "tready", "tdata", "tkeep", "tlast"):
                pins[f"{port}_{signal.upper()}"] = chip + signal
            pins[f"{port}_TSTRB"] = "" if chip.endswith("out_") else f"{chip}tkeep"
        for k in range(len(kernel.inputs), 2):
            # Nothing takes from an input that the kernel does not have.
            self.say(f"    assign {prefix}in_{k}_tready = 1'b0;")
        for channel, short in (("awaddr", "AW"), ("wdata", "W"), ("bresp", "B"), ("araddr", "AR"), ("rdata", "R")):
            pins[f"{kernel.control}_{short}VALID"] = f"{prefix}ctrl_{channel}_valid"
            pins[f"{kernel.control}_{short}READY"] = f"{prefix}ctrl_{channel}_ready"
        bits = f"[{kernel.control_bits - 1}:0]"
        pins[f"{kernel.control}_AWADDR"] = f"{prefix}ctrl_awaddr_bits{bits}"
        pins[f"{kernel.control}_ARADDR"] = f"{prefix}ctrl_araddr_bits{bits}"
        pins[f"{kernel.control}_WDATA"] = f"{prefix}ctrl_wdata_bits_data"
        pins[f"{kernel.control}_WSTRB"] = f"{prefix}ctrl_wdata_bits_strb"
        pins[f"{kernel.control}_BRESP"] = f"{prefix}ctrl_bresp_bits"
        pins[f"{kernel.control}_RDATA"] = f"{prefix}ctrl_rdata_bits_data"
        pins[f"{kernel.control}_RRESP"] = f"{prefix}ctrl_rdata_bits_resp"
        self.instance(kernel.module, f"slot{slot}", pins)

    def text(self) -> str:
        """The whole module."""
        missing = [name for name in self.chip if name not in self.connected]
        if missing:
            raise TopError(f"port {missing[0]} of the chip is not known here: {__file__.rpartition('/')[2]} has to connect it")
        for port in fixed_ports(self.board):
            self.ports.append(port)
            self.platform[port.name] = port.name
        self.say()
        self.instance("AssasinSoc", "chip", self.connected)
        self.say()
        self.instance("platform_wrapper", "platform", self.platform)
        ports = ",\n".join(f"    {p.direction} {p.range}{p.name}" for p in self.ports)
        head = f"// Top level of {self.board.title}. Generated from its board file and the chip's ports: do not edit.\n"
        return (
            f"{head}`default_nettype none\nmodule {TOP} (\n{ports}\n);\n"
            + "\n".join(self.body)
            + "\nendmodule\n`default_nettype wire\n"
        )


def nand_pins(ways: int) -> tuple[tuple[str, str, int], ...]:
    """Pins of one NAND channel at the top level: name, direction, width."""
    return (
        ("dq", "inout", 8),
        ("ce_n", "output", ways),
        ("cle", "output", 1),
        ("ale", "output", 1),
        ("we_n", "output", 1),
        ("wp_n", "output", 1),
        ("re_p", "output", 1),
        ("re_n", "output", 1),
        ("dqs_p", "inout", 1),
        ("dqs_n", "inout", 1),
        ("rb_n", "input", ways),
    )
