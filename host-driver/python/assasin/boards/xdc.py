# SPDX-License-Identifier: BSD-3-Clause
"""Constraints of a board's top level as XDC, out of its board file and pins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assasin.boards.board import Board
from assasin.boards.pins import Pin
from assasin.boards.ports import Port
from assasin.errors import AssasinError

PCIE_REFCLK_NS = 10.0
"""PCIe's reference clock: 100 MHz."""

VCCO_MV = {
    "LVCMOS33": 3300,
    "LVCMOS25": 2500,
    "LVCMOS18": 1800,
    "LVCMOS15": 1500,
    "LVCMOS12": 1200,
    "SSTL18_I": 1800,
    "SSTL18_II": 1800,
    "DIFF_SSTL18_I": 1800,
    "DIFF_SSTL18_II": 1800,
}
"""Bank supply that a standard needs for outputs, millivolts."""

_OUTPUT_ONLY = ("SLEW", "DRIVE")


class PinError(AssasinError):
    """Pins and ports of a board do not fit together; the message names them."""


def signals(ports: Mapping[str, Port]) -> dict[str, Port]:
    """Every bit of `ports` by the name that pins.csv uses for it."""
    out = {}
    for port in ports.values():
        if port.width == 1 and not port.name.startswith(("pcie_rx_", "pcie_tx_")):
            out[port.name] = port
        else:
            out.update({f"{port.name}[{i}]": port for i in range(port.width)})
    return out


def check(board: Board, ports: Mapping[str, Port]) -> None:
    """
    Raises PinError unless every bit of `ports` has one pin and every pin a port, and the standards fit each bank's supply.

    Transceiver pins may be missing where the PCIe block's location fixes them.
    """
    bits = signals(ports)
    pins = {pin.signal: pin for pin in board.pins}
    for name in bits:
        if name not in pins and not name.startswith(("pcie_rx_", "pcie_tx_")):
            raise PinError(f"{board.name}: port {name} of the top level has no pin in pins.csv")
    for pin in board.pins:
        if pin.signal not in bits:
            raise PinError(f"{board.name}: pins.csv has {pin.signal}, which is no port of the top level")
    places: dict[str, str] = {}
    for pin in board.pins:
        if pin.pin and places.setdefault(pin.pin, pin.signal) != pin.signal:
            raise PinError(f"{board.name}: pin {pin.pin} is used by {places[pin.pin]} and {pin.signal}")
    _check_banks(board)


def _check_banks(board: Board) -> None:
    supplies: dict[int, Pin] = {}
    for pin in board.pins:
        if not pin.iostandard:
            if pin.signal.startswith("nand") or pin.signal == "pcie_perst_n":
                raise PinError(f"{board.name}: {pin.signal} has no I/O standard")
            continue
        if pin.iostandard not in VCCO_MV:
            raise PinError(
                f"{board.name}: {pin.signal}: I/O standard {pin.iostandard} is not known; there are: {', '.join(VCCO_MV)}"
            )
        supply = VCCO_MV[pin.iostandard]
        if pin.signal.startswith("nand") and supply != board.nand.vccio_mv:
            raise PinError(
                f"{board.name}: {pin.signal} has {pin.iostandard}, which needs {supply} mV; [nand] vccio_mv: {board.nand.vccio_mv}"
            )
        if pin.bank is not None:
            other = supplies.setdefault(pin.bank, pin)
            if VCCO_MV[other.iostandard] != supply:
                raise PinError(
                    f"{board.name}: bank {pin.bank} has {other.signal} with {other.iostandard} "
                    f"and {pin.signal} with {pin.iostandard}, which need different supplies"
                )
        differential = pin.iostandard.startswith("DIFF_")
        if differential != (pin.partner is not None):
            raise PinError(f"{board.name}: {pin.signal} with {pin.iostandard} is not one half of a pair")
        if pin.partner is not None:
            partner = next((p for p in board.pins if p.signal == pin.partner), None)
            if partner is None or partner.iostandard != pin.iostandard:
                raise PinError(f"{board.name}: {pin.signal} and {pin.partner} must both be there, with one I/O standard")


def early(board: Board, ports: Mapping[str, Port], used_channels: int) -> str:
    """Pins, standards and clocks of the top level. `used_channels`: flash channels that the chip has; the others stay idle."""
    bits = signals(ports)
    lines = [f"# Pins and clocks of {board.title}. Generated from its board file: do not edit."]
    for pin in board.pins:
        port = f"[get_ports {{{pin.signal}}}]"
        if pin.pin:
            lines.append(f"set_property PACKAGE_PIN {pin.pin} {port}")
        if pin.iostandard:
            lines.append(f"set_property IOSTANDARD {pin.iostandard} {port}")
        for name, value in pin.attrs:
            # Inputs have neither slew nor drive, differential standards no drive.
            if name in _OUTPUT_ONLY and bits[pin.signal].direction == "input":
                continue
            lines.append(f"set_property {name} {value} {port}")
    vref = [p.pin for p in board.pins if p.iostandard.startswith("SSTL") and p.pin and bits[p.signal].direction == "input"]
    if vref:
        lines.append("# Single-ended SSTL inputs compare with half the supply, made inside the device.")
        lines.append(f"set_property INTERNAL_VREF 0.9 [get_iobanks -of_objects [get_package_pins {{{' '.join(vref)}}}]]")
    elif board.nand.phy == "ultrascale":
        vref = [p.pin for p in board.pins if p.signal.startswith("nand") and p.iostandard.startswith("DIFF_SSTL") and p.pin]
        lines.append(f"set_property INTERNAL_VREF 0.9 [get_iobanks -of_objects [get_package_pins {{{' '.join(vref)}}}]]")
    lines += [
        f"create_clock -name pcie_refclk -period {PCIE_REFCLK_NS:.3f} [get_ports pcie_refclk_p]",
        "set_false_path -from [get_ports pcie_perst_n]",
        "set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]",
    ]
    if board.kind == "zynq7":
        lines.append("set_property BITSTREAM.CONFIG.UNUSEDPIN PULLUP [current_design]")
    if not board.nand.emulated:
        lines.append("# Ready/busy is synchronised; chip enables and write protect change far from every strobe.")
        for channel in range(board.nand.channels):
            lines.append(f"set_false_path -from [get_ports {{nand{channel}_rb_n[*]}}]")
            lines.append(f"set_false_path -to [get_ports {{nand{channel}_ce_n[*] nand{channel}_wp_n}}]")
        lines.append("# Data and strobes leave from, and are sampled in, I/O serialisers: nothing inside the device to constrain.")
        for channel in range(used_channels):
            lines.append(f"set_false_path -from [get_ports {{nand{channel}_dq[*] nand{channel}_dqs_p}}]")
            lines.append(
                f"set_false_path -to [get_ports {{nand{channel}_dq[*] nand{channel}_dqs_p nand{channel}_re_p "
                f"nand{channel}_cle nand{channel}_ale nand{channel}_we_n}}]"
            )
    return "\n".join(lines) + "\n"


def late(board: Board) -> str:
    """Crossings between the chip's clock and PCIe's, once the IP's clocks are there."""
    core = "[get_clocks -of_objects [get_pins platform/platform_i/clocks/clk_out1]]"
    host = "[get_clocks -of_objects [get_pins xdma/axi_aclk]]"
    core_ns, host_ns = 1000 / board.clock.core_mhz, 1000 / board.pcie.axi_mhz
    lines: Sequence[str] = [
        "# Clock crossings: Gray-coded pointers, levels and data that stands still. Generated: do not edit.",
        f"set_max_delay -datapath_only -from {core} -to {host} {min(core_ns, host_ns):.3f}",
        f"set_max_delay -datapath_only -from {host} -to {core} {min(core_ns, host_ns):.3f}",
    ]
    return "\n".join(lines) + "\n"
