# SPDX-License-Identifier: BSD-3-Clause
"""
The folder that a board's FPGA is built in: build/fpga/BOARD-CONFIG.

It holds the chip's SystemVerilog (rtl/), the generated top level and constraints, and settings.tcl for board/common/tcl. All paths
in it are relative to itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assasin import programs
from assasin.boards import top, xdc
from assasin.boards.board import Board
from assasin.boards.kernels import ExportedKernel
from assasin.boards.platform import address_bits
from assasin.boards.ports import Port, read_ports
from assasin.errors import AssasinError
from assasin.tree import BUILD, ROOT

COMMON = ROOT / "board" / "common"
_CHIP_SOURCES = (
    "hw/src/main",
    "hw/regs",
    "hw/isa",
    "hw/contract",
    "hw/build.sbt",
    "hw/project/build.properties",
    "hw/project/plugins.sbt",
)
_HIGH_DRAM = 0x800000000


class ProjectError(AssasinError):
    """A project cannot be made; the message says what to do."""


@dataclass(frozen=True)
class Project:
    """One board with one configuration of the chip."""

    board: Board
    config: str
    folder: Path
    kernels: tuple[ExportedKernel, ...] = ()

    @staticmethod
    def of(board: Board, config: str | None = None, kernels: Sequence[ExportedKernel] = ()) -> Project:
        """The project of `board` with `config`, by default the board file's. Raises ProjectError."""
        if board.is_virtual:
            raise ProjectError(f"'{board.name}' is no FPGA board: build it with scripts/build {config or board.chip.config}")
        name = config or board.chip.config
        match = re.fullmatch(r"[A-Za-z]+(\d+)x(\d+)", name)
        if not match:
            raise ProjectError(f"configuration '{name}' is not <Architecture><cores>x<channels>, for example {board.chip.config}")
        if int(match[2]) > board.nand.channels:
            raise ProjectError(f"configuration '{name}' has {match[2]} channels, {board.name} has {board.nand.channels}")
        return Project(board, name, BUILD / "fpga" / f"{board.name}-{name}", tuple(kernels))

    @property
    def rtl(self) -> Path:
        """The chip's SystemVerilog."""
        return self.folder / "rtl"

    @property
    def bitstream(self) -> Path:
        """What the last stage makes."""
        return self.folder / f"{self.board.name}.bit"

    def emit(self) -> None:
        """Elaborates the chip into rtl/, unless its sources are those of the last time. Raises ProjectError."""
        emit([self])

    def chip(self) -> dict[str, Port]:
        """Ports of the emitted chip."""
        return read_ports(self.rtl / "AssasinSoc.sv", "AssasinSoc")

    def generate(self) -> None:
        """Writes top level, constraints and settings, each only where it has changed. Raises TopError, PinError."""
        chip = self.chip()
        text = top.generate(self.board, chip, [k.slot_kernel() for k in self.kernels])
        _write(self.folder / "top.v", text)
        ports = read_ports(self.folder / "top.v", top.TOP)
        pinned = {name: port for name, port in ports.items() if not name.startswith(("DDR_", "FIXED_IO_"))}
        xdc.check(self.board, pinned)
        channels = sum(re.fullmatch(r"io_flash_\d+_ceN", name) is not None for name in chip)
        _write(self.folder / "pins.xdc", xdc.early(self.board, pinned, channels))
        _write(self.folder / "crossings.xdc", xdc.late(self.board))
        _write(self.folder / "settings.tcl", self.settings(chip["io_dram_aw_bits_id"].width))

    def sources(self) -> list[Path]:
        """All Verilog of the FPGA."""
        common = [*(COMMON / "rtl").glob("*.v")]
        if self.board.nand.emulated:
            common += (COMMON / "emulator").glob("*.v")
        else:
            common += (COMMON / "phy").glob("*.v")
        return sorted([*self.rtl.glob("*.sv"), *common, self.folder / "top.v"])

    def inputs_digest(self) -> str:
        """Content hash of everything that Vivado reads."""
        files = [*self.sources(), *(COMMON / "tcl").glob("*.tcl")]
        files += [self.folder / name for name in ("settings.tcl", "pins.xdc", "crossings.xdc")]
        files += [file for kernel in self.kernels for file in kernel.files]
        return _digest(sorted(files), "")

    def settings(self, dram_id_bits: int) -> str:
        """settings.tcl: the array `settings` that board/common/tcl works from."""
        board = self.board
        assert board.part is not None
        assert board.ps is not None
        seven = board.kind == "zynq7"
        stores = [f"S_AXI_STORE{n}" for n in range(board.nand.channels)] if board.nand.emulated else []
        relative = [os.path.relpath(path, self.folder) for path in self.sources()]
        high = any(w.physical >= _HIGH_DRAM for w in board.dram.windows)
        if seven:
            dram = ["ps/S_AXI_HP0/HP0_DDR_LOWOCM", "0x00000000", "1G"]
            store: list[str] = []
        else:
            dram = ["ps/SAXIGP2/HP0_DDR_HIGH", "0x800000000", "2G"] if high else ["ps/SAXIGP2/HP0_DDR_LOW", "0x00000000", "2G"]
            store = ["ps/SAXIGP3/HP1_DDR_LOW", "0x00000000", "2G"] if stores else []
        values: dict[str, object] = {
            "name": board.name,
            "kind": board.kind,
            "part": board.part.name,
            "board_part": board.ps.board_part,
            "top": top.TOP,
            "tcl": os.path.relpath(COMMON / "tcl", self.folder),
            "sources": relative,
            "constraints": ["pins.xdc", "crossings.xdc"],
            "late_constraints": "crossings.xdc",
            "ip_repositories": sorted({os.path.relpath(k.repository, self.folder) for k in self.kernels}),
            "kernels": [word for k in self.kernels for word in (k.module, k.vlnv)],
            "pcie_block": board.pcie.block,
            "pcie_lanes": board.pcie.lanes,
            "pcie_generation": board.pcie.generation,
            "axi_bits": board.pcie.axi_bits,
            "axi_mhz": board.pcie.axi_mhz,
            "vendor_id": f"{board.pcie.vendor_id:04X}",
            "device_id": f"{board.pcie.device_id:04X}",
            "subsystem_vendor_id": f"{board.pcie.subsystem_vendor_id:04X}",
            "subsystem_id": f"{board.pcie.subsystem_id:04X}",
            "class_code": f"{board.pcie.class_code:06X}",
            "core_mhz": board.clock.core_mhz,
            "phy_mhz": board.clock.phy_mhz or 0,
            "ps_mhz": board.clock.ps_mhz,
            "emulated": int(board.nand.emulated),
            "stores": stores,
            "address_bits": address_bits(board),
            "dram_id_bits": dram_id_bits,
            "memory_base": f"0x{board.ps.memory_base:X}",
            "regs_base": f"0x{board.ps.regs_base:X}",
            "dram_segments": dram,
            "store_segments": store,
            "ps_config": [word for item in board.ps.config for word in item.split("=", 1)],
            "ps_clock": "ps/FCLK_CLK0" if seven else "ps/pl_clk0",
            "ps_resetn": "ps/FCLK_RESET0_N" if seven else "ps/pl_resetn0",
            "ps_memory_master": "ps/M_AXI_GP0" if seven else "ps/M_AXI_HPM0_FPD",
            "ps_regs_master": "ps/M_AXI_GP1" if seven else "ps/M_AXI_HPM1_FPD",
            "ps_dram_slave": "ps/S_AXI_HP0" if seven else "ps/S_AXI_HP0_FPD",
            "ps_store_slave": "ps/S_AXI_HP1" if seven else "ps/S_AXI_HP1_FPD",
            "ps_data_space": "ps/Data",
            "ps_axi_clocks": _axi_clocks(seven, bool(stores)),
        }
        lines = [
            f"# Build of {board.title} with {self.config}. Generated from its board file: do not edit.",
            "array set settings {",
        ]
        lines += [f"    {name} {_word(value)}" for name, value in values.items()]
        return "\n".join([*lines, "}", ""])


def emit(projects: Sequence[Project]) -> None:
    """Elaborates the chips of several projects at once, those whose sources are not those of the last time. Raises ProjectError."""
    sources = _digest(_files(_CHIP_SOURCES), "")
    stamps = {
        p.rtl / "stamp": (p, f"{sources} {p.config} {p.board.nand.ways} {p.board.nand.luns} {p.board.pcie.bar0_bits}\n")
        for p in projects
    }
    stale = {stamp: entry for stamp, entry in stamps.items() if not stamp.exists() or stamp.read_text() != entry[1]}
    if not stale:
        return
    commands = []
    for stamp, (project, _) in stale.items():
        project.rtl.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
        out = os.path.relpath(project.rtl, ROOT / "hw")
        nand = project.board.nand
        commands.append(
            f"runMain assasin.soc.Emit --config {project.config} --out {out} --board --ways {nand.ways} --luns {nand.luns} "
            f"--bar0-bits {project.board.pcie.bar0_bits}"
        )
    log = BUILD / "fpga" / "emit.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out_file:
        code = programs.run([ROOT / "scripts" / "contract"], stdout=out_file, stderr=subprocess.STDOUT).returncode
        if not code:
            sbt = ["sbt", "-error", *commands]
            code = programs.run(sbt, cwd=ROOT / "hw", stdout=out_file, stderr=subprocess.STDOUT).returncode
    if code:
        lines = [line for line in log.read_text().splitlines() if line.strip()]
        raise ProjectError("\n".join([*lines[-3:], f"the chip does not elaborate: see {log}"]))
    for stamp, (_, digest) in stale.items():
        stamp.write_text(digest)


def _axi_clocks(seven: bool, stores: bool) -> list[str]:
    pins = ["M_AXI_GP0_ACLK", "M_AXI_GP1_ACLK", "S_AXI_HP0_ACLK", "S_AXI_HP1_ACLK"] if seven else []
    pins = pins or ["maxihpm0_fpd_aclk", "maxihpm1_fpd_aclk", "saxihp0_fpd_aclk", "saxihp1_fpd_aclk"]
    return [f"ps/{pin}" for pin in (pins if stores else pins[:3])]


def _word(value: object) -> str:
    """A Tcl word; lists become Tcl lists."""
    if isinstance(value, list | tuple):
        return "{" + " ".join(_word(item) for item in value) + "}"
    text = str(value)
    if re.search(r"[{}\\]", text):
        raise ProjectError(f"'{text}' cannot be handed to Tcl: take braces and backslashes out of it")
    return text if re.fullmatch(r"[\w./:+-]+", text) else "{" + text + "}"


def _files(names: Iterable[str]) -> list[Path]:
    out = []
    for name in names:
        path = ROOT / name
        out += [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
    return sorted(out)


def _digest(files: Iterable[Path], more: str) -> str:
    whole = hashlib.sha256(more.encode())
    for file in files:
        whole.update(f"{os.path.relpath(file, ROOT)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        new = path.with_name(path.name + ".new")
        new.write_text(text)
        new.replace(path)


def write_json(path: Path, value: object) -> None:
    """Writes JSON, whole or not at all."""
    _write(path, json.dumps(value, indent=2) + "\n")
