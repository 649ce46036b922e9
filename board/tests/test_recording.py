# SPDX-License-Identifier: BSD-3-Clause
"""The build's Tcl, run against stand-ins for Vivado's commands: what it asks for is what chip, top level and host expect."""

import re
from collections import Counter

import pytest
import recording
from assasin.boards.axi import Axi
from assasin.boards.platform import wrapper_ports
from assasin.boards.ports import Port, read_ports
from assasin.tree import ROOT


@pytest.fixture(scope="module")
def made(projects):
    return {name: recording.stage(project.folder, "project") for name, project in projects.items()}


@pytest.fixture
def calls(made, project):
    return made[project.board.name]


def properties(calls, target):
    return {c.args[0].removeprefix("CONFIG."): c.args[1] for c in calls if c.name == "set_property" and c.args[2:] == (target,)}


def test_platform_has_the_ports_that_the_top_level_uses(calls, project):
    ports: dict[str, Port] = {}
    for call in calls:
        if call.name == "create_bd_port":
            ports[call.args[-1]] = Port(call.args[-1], {"I": "input", "O": "output"}[call.option("-dir")], 1)
        if call.name == "create_bd_intf_port" and "aximm" in call.option("-vlnv"):
            name = call.args[-1]
            config = properties(calls, f"get_bd_intf_ports {name}")
            axi = Axi(
                config["PROTOCOL"] == "AXI4LITE",
                int(config["ADDR_WIDTH"]),
                int(config["DATA_WIDTH"]),
                int(config.get("ID_WIDTH", 0)),
            )
            master = call.option("-mode") == "Master"
            for signal in axi.signals():
                direction = "output" if signal.from_master == master else "input"
                ports[f"{name}_{signal.bd}"] = Port(f"{name}_{signal.bd}", direction, signal.width)
    expected = wrapper_ports(project.board, project.chip()["io_dram_aw_bits_id"].width)
    expected = {name: port for name, port in expected.items() if not name.startswith(("DDR_", "FIXED_IO_"))}
    assert ports == expected


def test_every_interface_and_clock_is_connected_once(calls):
    created = Counter(c.args[-1] for c in calls if c.name in ("create_bd_port", "create_bd_intf_port"))
    assert max(created.values()) == 1
    used = Counter()
    for call in calls:
        if call.name in ("connect_bd_net", "connect_bd_intf_net"):
            for end in call.args:
                kind, name = end.split()
                used[kind, name] += 1
    for call in calls:
        if call.name == "create_bd_intf_port":
            assert used["get_bd_intf_ports", call.args[-1]] == 1, call.args[-1]
        if call.name == "create_bd_port" and call.args[-1] != "xdma_resetn":
            assert used["get_bd_ports", call.args[-1]] >= 1, call.args[-1]
    # An input pin has one driver.
    for (kind, name), times in used.items():
        if kind == "get_bd_intf_pins" or name.endswith(("/aclk", "/aclk1", "/aresetn", "_aclk", "_ACLK", "/clk_in1", "/resetn")):
            assert times == 1, name


def test_interconnects_have_all_their_ports_connected(calls):
    pins = {
        end.split()[1] for c in calls if c.name == "connect_bd_intf_net" for end in c.args if end.startswith("get_bd_intf_pins")
    }
    cells = [c.args[-1] for c in calls if c.name == "create_bd_cell" and "smartconnect" in c.option("-vlnv")]
    assert cells
    for cell in cells:
        config = properties(calls, f"get_bd_cells {cell}")
        expected = {f"{cell}/S{i:02}_AXI" for i in range(int(config["NUM_SI"]))}
        expected |= {f"{cell}/M{i:02}_AXI" for i in range(int(config["NUM_MI"]))}
        assert {pin for pin in pins if pin.startswith(f"{cell}/")} == expected


def test_addresses_cover_the_windows(calls, project):
    placed = [c for c in calls if c.name == "assign_bd_address"]
    units = {"K": 10, "M": 20, "G": 30}

    def spans(master):
        out = []
        for call in placed:
            if call.option("-target_address_space") == f"get_bd_addr_spaces {master}":
                size = call.option("-range")
                out.append((int(call.option("-offset"), 0), int(size[:-1]) << units[size[-1]], call.args[-2]))
        return out

    def covered(spans, base, size):
        return any(start <= base and base + size <= start + length for start, length, _ in spans)

    for window in project.board.dram.windows:
        assert covered(spans("S_AXI_DRAM"), window.physical, window.bytes)
    # What lies in no window must meet no memory.
    assert not covered(spans("S_AXI_DRAM"), 0xFFFF000000 & (0xFFFFFFFF if project.board.kind == "zynq7" else 0xFFFFFFFFFF), 1)
    if project.board.nand.emulated:
        for n in range(project.board.nand.channels):
            assert covered(spans(f"S_AXI_STORE{n}"), project.board.nand.store_base, project.board.nand.store_bytes)
    assert spans("S_AXI_HOST") == [(0, 4 << 30, "get_bd_addr_segs M_AXI_CHIP/Reg")]
    ps = spans("ps/Data")
    assert covered(ps, project.board.ps.memory_base, 1 << 20)
    assert covered(ps, project.board.ps.regs_base, 4 << 20)
    # Ranges of the masters' address spaces: UG585 table 4-1, UG1085 table 10-1.
    memory, regs = ((0x40000000, 30), (0x80000000, 30)) if project.board.kind == "zynq7" else ((0x400000000, 32), (0xB0000000, 28))
    assert memory[0] <= project.board.ps.memory_base < memory[0] + (1 << memory[1])
    assert regs[0] <= project.board.ps.regs_base < regs[0] + (1 << regs[1])


def test_xdma_is_what_the_virtual_board_shows(calls, project):
    """The same function as board/virtual: identification, BARs, MSI-X, channels."""
    text = (ROOT / "board" / "virtual" / "pciproxy" / "protocol.h").read_text()
    virtual = {name: int(value, 0) for name, value in re.findall(r"#define (BOARD_\w+)\s+(0x[0-9A-Fa-f]+|\d+)u?\b", text)}
    config = properties(calls, "get_ips xdma_0")
    assert int(config["vendor_id"], 16) == virtual["BOARD_PCI_VENDOR"]
    assert int(config["pf0_class_code"], 16) == virtual["BOARD_PCI_CLASS"]
    parts = "".join(config[f"pf0_class_code_{part}"] for part in ("base", "sub", "interface"))
    assert parts == config["pf0_class_code"]
    scale = {"Megabytes": 1 << 20, "Kilobytes": 1 << 10}[config["axilite_master_scale"]]
    assert config["axilite_master_en"] == "true"
    assert int(config["axilite_master_size"]) * scale == virtual["BOARD_BAR0_SIZE"]
    assert int(config["pf0_msix_cap_table_size"], 16) + 1 == virtual["BOARD_MSIX_VECTORS"]
    assert int(config["pf0_msix_cap_table_offset"], 16) == virtual["BOARD_MSIX_TABLE"]
    assert int(config["pf0_msix_cap_pba_offset"], 16) == virtual["BOARD_MSIX_PBA"]
    engine = virtual["BOARD_BAR_XDMA"]
    assert config["pf0_msix_cap_table_bir"] == config["pf0_msix_cap_pba_bir"] == f"BAR_{engine + 1}:{engine}"
    # Each of two 64-bit BARs takes two: NVMe's registers BAR0 and BAR1, the IP's those behind.
    assert config["axil_master_64bit_en"] == config["xdma_pcie_64bit_en"] == "true"
    assert virtual["BOARD_CFG_BAR2"] == virtual["BOARD_CFG_BAR0"] + 4 * engine
    # Channel 0 descriptor lists, channel 1 bypass; a bit a channel, the highest first.
    assert config["xdma_rnum_chnl"] == config["xdma_wnum_chnl"] == "2"
    assert config["dsc_bypass_rd"] == config["dsc_bypass_wr"] == "0010"
    assert config["xdma_axilite_slave"] == config["xdma_sts_ports"] == "true"
    assert int(config["xdma_num_usr_irq"]) == 16
    assert config["pl_link_cap_max_link_width"] == f"X{project.board.pcie.lanes}"
    assert config["axi_data_width"] == f"{project.board.pcie.axi_bits}_bit"


def test_sources_are_there_and_relative(calls, project):
    added = [c for c in calls if c.name == "add_files"]
    files = [word for c in added for word in re.split(r"\s+", c.args[-1]) if not word.startswith("project/")]
    assert files
    for file in files:
        assert not file.startswith("/"), file
        assert (project.folder / file).exists(), file
    for call in calls:
        assert not any(word.startswith(str(ROOT)) for word in call.args), call


def test_constraints(project):
    """Every port constrained exactly once: one pin (a pair may have one), one standard, no pin twice."""
    calls = recording.run(project.folder, "source pins.xdc\nsource crossings.xdc")
    ports = read_ports(project.folder / "top.v", "assasin_top")
    bits = {}
    for port in ports.values():
        wide = port.width > 1 or port.name.startswith(("pcie_rx", "pcie_tx"))
        for name in [f"{port.name}[{i}]" for i in range(port.width)] if wide else [port.name]:
            bits[name] = port
    pins, standards = {}, {}
    for call in calls:
        if call.name != "set_property" or not call.args[-1].startswith("get_ports "):
            continue
        signal = call.args[-1].removeprefix("get_ports ").strip("{}")
        assert signal in bits, f"{signal} is no port"
        if call.args[0] == "PACKAGE_PIN":
            assert signal not in pins, f"{signal} has two pins"
            assert call.args[1] not in pins.values(), f"pin {call.args[1]} is used twice"
            pins[signal] = call.args[1]
        if call.args[0] == "IOSTANDARD":
            assert signal not in standards, f"{signal} has two standards"
            standards[signal] = call.args[1]
        if call.args[0] in ("SLEW", "DRIVE"):
            assert bits[signal].direction != "input", f"{signal} is an input"
    for signal in bits:
        if signal.startswith(("DDR_", "FIXED_IO_", "pcie_rx", "pcie_tx")):
            continue
        other = re.sub(r"_([pn])$", lambda m: "_n" if m[1] == "p" else "_p", signal)
        assert signal in pins or other in pins, f"{signal} has no pin"
        if not signal.startswith("pcie_refclk"):
            assert signal in standards, f"{signal} has no I/O standard"
    assert [c.option("-period") for c in calls if c.name == "create_clock"] == ["10.000"]


def test_stages_hand_over_by_checkpoints(project):
    for stage, takes, leaves in (
        ("synth", "open_project", "synth.dcp"),
        ("place", "synth.dcp", "place.dcp"),
        ("route", "place.dcp", "route.dcp"),
        ("bitstream", "route.dcp", f"{project.board.name}.bit"),
    ):
        calls = recording.stage(project.folder, stage)
        assert any(takes in (call.name, *call.args) for call in calls), stage
        assert (project.folder / leaves).exists()


@pytest.mark.parametrize(
    ("slacks", "says"),
    [
        ("-0.2 0.01 0.2", r"worst setup slack -0\.2 ns; "),
        ("0.1 -0.003 0.2", r"worst hold slack -0\.003 ns; "),
        ("0.1 0.01 -0.09", r"worst pulse width slack -0\.09 ns; "),
        ("-1 -2 -3", r"worst setup slack -1 ns, worst hold slack -2 ns, worst pulse width slack -3 ns; "),
    ],
)
def test_bitstream_needs_timing(project, monkeypatch, slacks, says):
    (project.folder / "route.dcp").touch()
    for earlier in project.folder.glob("*.bit"):
        earlier.unlink()
    monkeypatch.setattr(recording, "environment", lambda folder, **more: _slacks(folder, slacks))
    with pytest.raises(recording.TclFailed, match=f"timing is not met: {says}"):
        recording.stage(project.folder, "bitstream")
    assert not list(project.folder.glob("*.bit"))


@pytest.mark.parametrize("slacks", ["0 0 0", "0.1 NA 0.2", "NA NA NA", "inf 0.1 0.2"])
def test_bitstream_where_timing_is_met(project, monkeypatch, slacks):
    (project.folder / "route.dcp").touch()
    monkeypatch.setattr(recording, "environment", lambda folder, **more: _slacks(folder, slacks))
    assert any(call.name == "write_bitstream" for call in recording.stage(project.folder, "bitstream"))


def test_a_timing_summary_of_another_form_makes_no_bitstream(project, monkeypatch, tmp_path):
    (project.folder / "route.dcp").touch()
    sample = (recording.REPORTS / "timing_route.rpt").read_text()
    for other, says in (
        (sample.replace("WPWS(ns)", "WPW (ns)"), r"no column WPWS\(ns\)"),
        ("Timing Summary Report\n", "no table of WNS"),
    ):
        (tmp_path / "timing_route.rpt").write_text(other)
        monkeypatch.setattr(
            recording, "environment", lambda folder, **more: _slacks(folder, "0.1 0.1 0.1") | {"VIVADO_REPORTS": str(tmp_path)}
        )
        with pytest.raises(recording.TclFailed, match=says):
            recording.stage(project.folder, "bitstream")


def _slacks(folder, value, original=recording.environment):
    return original(folder) | {"VIVADO_SLACKS": value}


def test_a_wrong_stage_is_refused(project):
    with pytest.raises(recording.TclFailed, match="stage 'sinth' is unknown"):
        recording.stage(project.folder, "sinth")
