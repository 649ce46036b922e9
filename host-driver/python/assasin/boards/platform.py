# SPDX-License-Identifier: BSD-3-Clause
"""Interfaces between the top level and the block design with the processing system (board/common/tcl/platform.tcl)."""

from __future__ import annotations

from dataclasses import dataclass

from assasin.boards.axi import Axi
from assasin.boards.board import Board
from assasin.boards.ports import Port

HOST_ID_BITS = 4
"""Id width of the XDMA IP's AXI4 master."""


@dataclass(frozen=True)
class Interface:
    """One external AXI interface of the block design."""

    name: str
    axi: Axi
    master: bool
    """The block design is the master."""
    clock: str
    """Its clock: core_clk or xdma_clk."""

    def ports(self) -> list[Port]:
        """Its ports, as the wrapper of the block design has them."""
        return [
            Port(f"{self.name}_{s.bd}", "output" if s.from_master == self.master else "input", s.width) for s in self.axi.signals()
        ]


def address_bits(board: Board) -> int:
    """Address width of the processing system's ports."""
    return 32 if board.kind == "zynq7" else 40


def interfaces(board: Board, dram_id_bits: int) -> list[Interface]:
    """External interfaces of the block design of `board`. `dram_id_bits`: of the chip's DRAM port."""
    bits = address_bits(board)
    out = [
        Interface("S_AXI_HOST", Axi(False, 64, board.pcie.axi_bits, HOST_ID_BITS), False, "xdma_clk"),
        Interface("S_AXIL_HOST", Axi(True, 32, 32), False, "xdma_clk"),
        Interface("S_AXIL_REGS", Axi(True, 32, 32), False, "core_clk"),
        Interface("S_AXI_DRAM", Axi(False, bits, 64, dram_id_bits), False, "core_clk"),
        Interface("M_AXI_CHIP", Axi(False, bits, 64), True, "core_clk"),
        Interface("M_AXIL_BAR0", Axi(True, bits, 32), True, "core_clk"),
        Interface("M_AXIL_XDMA", Axi(True, 32, 32), True, "xdma_clk"),
    ]
    if board.nand.emulated:
        out += [Interface(f"S_AXI_STORE{n}", Axi(False, bits, 64), False, "core_clk") for n in range(board.nand.channels)]
    return out


def clock_ports(board: Board) -> list[Port]:
    """Clocks and resets of the block design."""
    ports = [
        Port("xdma_clk", "input", 1),
        Port("xdma_resetn", "input", 1),
        Port("core_clk", "output", 1),
        Port("core_resetn", "output", 1),
    ]
    if not board.nand.emulated:
        ports.append(Port("phy_clk", "output", 1))
    return ports


_ZYNQ7_PINS = (
    ("DDR_addr", 15),
    ("DDR_ba", 3),
    ("DDR_cas_n", 1),
    ("DDR_ck_n", 1),
    ("DDR_ck_p", 1),
    ("DDR_cke", 1),
    ("DDR_cs_n", 1),
    ("DDR_dm", 4),
    ("DDR_dq", 32),
    ("DDR_dqs_n", 4),
    ("DDR_dqs_p", 4),
    ("DDR_odt", 1),
    ("DDR_ras_n", 1),
    ("DDR_reset_n", 1),
    ("DDR_we_n", 1),
    ("FIXED_IO_ddr_vrn", 1),
    ("FIXED_IO_ddr_vrp", 1),
    ("FIXED_IO_mio", 54),
    ("FIXED_IO_ps_clk", 1),
    ("FIXED_IO_ps_porb", 1),
    ("FIXED_IO_ps_srstb", 1),
)


def fixed_ports(board: Board) -> list[Port]:
    """Pins of the processing system that Zynq-7000 has at the top level; its own IP constrains them."""
    return [Port(name, "inout", width) for name, width in _ZYNQ7_PINS] if board.kind == "zynq7" else []


def wrapper_ports(board: Board, dram_id_bits: int) -> dict[str, Port]:
    """All ports of platform_wrapper, by name."""
    ports = clock_ports(board) + [p for i in interfaces(board, dram_id_bits) for p in i.ports()] + fixed_ports(board)
    return {port.name: port for port in ports}
