# SPDX-License-Identifier: BSD-3-Clause
"""Tcl and constraints against Vivado's command set; the whole FPGA's Verilog elaborated with Verilator."""

import subprocess

import pytest
from assasin.boards.platform import wrapper_ports
from assasin.boards.ports import Port
from assasin.boards.top import SlotKernel, generate
from assasin.tree import ROOT

COMMON = ROOT / "board" / "common"
TCL_LINT = ROOT / "board" / "tests" / "tcl-lint"

# Ports of the XDMA IP as board/common/tcl/xdma.tcl configures it (PG195, "Port Descriptions"); {n}: data bits, {l}: lanes.
XDMA_INPUTS = """
    sys_clk sys_rst_n pci_exp_rxp:{l} pci_exp_rxn:{l} usr_irq_req:16
    m_axi_awready m_axi_wready m_axi_bid:4 m_axi_bresp:2 m_axi_bvalid m_axi_arready m_axi_rid:4 m_axi_rdata:{n} m_axi_rresp:2
    m_axi_rlast m_axi_rvalid m_axil_awready m_axil_wready m_axil_bvalid m_axil_bresp:2 m_axil_arready m_axil_rdata:32 m_axil_rresp:2
    m_axil_rvalid s_axil_awaddr:32 s_axil_awprot:3 s_axil_awvalid
    s_axil_wdata:32 s_axil_wstrb:4 s_axil_wvalid s_axil_bready s_axil_araddr:32
    s_axil_arprot:3 s_axil_arvalid s_axil_rready
    h2c_dsc_byp_src_addr_1:64 h2c_dsc_byp_dst_addr_1:64 h2c_dsc_byp_len_1:28 h2c_dsc_byp_ctl_1:16 h2c_dsc_byp_load_1
    c2h_dsc_byp_src_addr_1:64 c2h_dsc_byp_dst_addr_1:64 c2h_dsc_byp_len_1:28 c2h_dsc_byp_ctl_1:16 c2h_dsc_byp_load_1
"""
XDMA_OUTPUTS = """
    pci_exp_txp:{l} pci_exp_txn:{l} axi_aclk axi_aresetn user_lnk_up usr_irq_ack:16 msi_enable msix_enable msi_vector_width:3
    m_axi_awid:4 m_axi_awaddr:64 m_axi_awlen:8 m_axi_awsize:3 m_axi_awburst:2 m_axi_awprot:3 m_axi_awvalid m_axi_awlock
    m_axi_awcache:4 m_axi_wdata:{n}
    m_axi_wstrb:{s} m_axi_wlast m_axi_wvalid m_axi_bready m_axi_arid:4 m_axi_araddr:64 m_axi_arlen:8 m_axi_arsize:3
    m_axi_arburst:2 m_axi_arprot:3 m_axi_arvalid m_axi_arlock m_axi_arcache:4 m_axi_rready
    m_axil_awaddr:32 m_axil_awprot:3 m_axil_awvalid m_axil_wdata:32 m_axil_wstrb:4 m_axil_wvalid m_axil_bready m_axil_araddr:32
    m_axil_arprot:3 m_axil_arvalid m_axil_rready
    s_axil_awready s_axil_wready s_axil_bvalid s_axil_bresp:2 s_axil_arready s_axil_rdata:32 s_axil_rresp:2 s_axil_rvalid
    h2c_dsc_byp_ready_1 c2h_dsc_byp_ready_1 h2c_sts_0:8 h2c_sts_1:8 c2h_sts_0:8 c2h_sts_1:8
"""


def xdma_ports(project):
    board = project.board
    sizes = {"n": board.pcie.axi_bits, "s": board.pcie.axi_bits // 8, "l": board.pcie.lanes}
    inputs = XDMA_INPUTS + ("" if board.kind == "zynq7" else " sys_clk_gt")
    ports = []
    for direction, text in (("input", inputs), ("output", XDMA_OUTPUTS)):
        for word in text.format(**sizes).split():
            name, _, width = word.partition(":")
            ports.append(Port(name, direction, int(width or 1)))
    return ports


def black_box(name, ports):
    """A module with ports and nothing in it."""
    lines = ",\n".join(f"    {p.direction} {p.range}{p.name}" for p in ports)
    outputs = "\n".join(f"    assign {p.name} = 0;" for p in ports if p.direction == "output")
    return f"module {name} (\n{lines}\n);\n{outputs}\nendmodule\n"


def test_tcl_and_constraints(projects):
    files = [*(COMMON / "tcl").glob("*.tcl")]
    for project in projects.values():
        files += [project.folder / name for name in ("pins.xdc", "crossings.xdc", "settings.tcl")]
    result = subprocess.run([TCL_LINT, *files], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_lint_notices(tmp_path):
    wrong = tmp_path / "wrong.tcl"
    wrong.write_text("create_bd_cell -type ip -vlnw x ps\ncreate_clock -name a [get_ports b]\nroute_design -directive\n")
    result = subprocess.run([TCL_LINT, wrong], capture_output=True, text=True)
    assert result.returncode != 0
    for text in ("-vlnw", "-period", "-directive"):
        assert text in result.stdout


def test_the_whole_fpga_elaborates(project, tmp_path):
    """Every port of chip, XDMA IP, block design, PHY and emulator connected once, with its width."""
    boxes = tmp_path / "boxes.v"
    wrapper = wrapper_ports(project.board, project.chip()["io_dram_aw_bits_id"].width)
    boxes.write_text(black_box("xdma_0", xdma_ports(project)) + black_box("platform_wrapper", wrapper.values()))
    # Widths, and instances named as a signal within them, count in the top level alone; the chip's own are firtool's.
    quiet = tmp_path / "chip.vlt"
    quiet.write_text(
        "`verilator_config\n"
        + "".join(f'lint_off -rule {r} -file "*.sv"\n' for r in ("WIDTH", "UNUSED", "DECLFILENAME", "VARHIDDEN"))
    )
    command = ["verilator", "--lint-only", "-Wall", "--top-module", "assasin_top", "-y", COMMON / "phy" / "sim", quiet, boxes]
    for rule in (
        "PINCONNECTEMPTY",
        "UNUSEDSIGNAL",
        "UNUSEDPARAM",
        "DECLFILENAME",
        "PROCASSINIT",
        "GENUNNAMED",
        "WIDTHEXPAND",
        "UNDRIVEN",
    ):
        command.append(f"-Wno-{rule}")
    result = subprocess.run([*command, *project.sources()], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr[:4000]


def elaborate(project, top_file, boxes):
    command = ["verilator", "--lint-only", "-Wno-WIDTH", "-y", COMMON / "phy" / "sim", "--top-module", "assasin_top"]
    sources = [source for source in project.sources() if source.name != "top.v"]
    return subprocess.run([*command, boxes, top_file, *sources], capture_output=True, text=True, cwd=boxes.parent)


def test_a_kernel_in_a_slot(projects, tmp_path):
    """Pins of an IP of Vitis HLS (UG1399: ap_ctrl_hs on AXI4-Lite, axis with TKEEP, TSTRB and TLAST), each connected once."""
    project = projects["daisyplus"]
    kernel = SlotKernel(1, "saxpy", 0x1234ABCD, "slot1_saxpy", ("x", "y"), "out", "s_axi_control", 5)
    top_file = tmp_path / "top.v"
    top_file.write_text(generate(project.board, project.chip(), [kernel]))
    ports = [Port("ap_clk", "input", 1), Port("ap_rst_n", "input", 1), Port("interrupt", "output", 1)]
    for name, to_kernel in (("x", True), ("y", True), ("out", False)):
        forward, back = ("input", "output") if to_kernel else ("output", "input")
        widths = (("TDATA", 64), ("TKEEP", 8), ("TSTRB", 8), ("TLAST", 1), ("TVALID", 1))
        ports += [Port(f"{name}_{signal}", forward, width) for signal, width in widths]
        ports.append(Port(f"{name}_TREADY", back, 1))
    inputs = (
        ("AWADDR", 5),
        ("AWVALID", 1),
        ("WDATA", 32),
        ("WSTRB", 4),
        ("WVALID", 1),
        ("BREADY", 1),
        ("ARADDR", 5),
        ("ARVALID", 1),
    )
    outputs = (
        ("AWREADY", 1),
        ("WREADY", 1),
        ("BRESP", 2),
        ("BVALID", 1),
        ("ARREADY", 1),
        ("RDATA", 32),
        ("RRESP", 2),
        ("RVALID", 1),
    )
    ports += [Port(f"s_axi_control_{name}", "input", width) for name, width in (*inputs, ("RREADY", 1))]
    ports += [Port(f"s_axi_control_{name}", "output", width) for name, width in outputs]
    boxes = tmp_path / "boxes.v"
    wrapper = wrapper_ports(project.board, project.chip()["io_dram_aw_bits_id"].width)
    parts = (("xdma_0", xdma_ports(project)), ("platform_wrapper", wrapper.values()), ("slot1_saxpy", ports))
    boxes.write_text("".join(black_box(*part) for part in parts))
    result = elaborate(project, top_file, boxes)
    assert result.returncode == 0, result.stderr[:4000]
    assert "32'h1234ABCD" in top_file.read_text()


@pytest.mark.parametrize("cut", [".ready(io_h2c_ready)", ".axi_aclk(xdma_clk)", ".core_clk(core_clk)"])
def test_a_missing_connection_is_noticed(projects, tmp_path, cut):
    project = projects["cosmosplus"]
    text = (project.folder / "top.v").read_text()
    assert text.count(cut) == 1
    broken = tmp_path / "top.v"
    broken.write_text(text.replace(cut + ",\n", "").replace(",\n        " + cut, ""))
    boxes = tmp_path / "boxes.v"
    wrapper = wrapper_ports(project.board, project.chip()["io_dram_aw_bits_id"].width)
    boxes.write_text(black_box("xdma_0", xdma_ports(project)) + black_box("platform_wrapper", wrapper.values()))
    result = elaborate(project, broken, boxes)
    assert result.returncode != 0
    assert "PINMISSING" in result.stderr
