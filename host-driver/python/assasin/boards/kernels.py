# SPDX-License-Identifier: BSD-3-Clause
"""HLS kernels for a board's slots, as `assasin hls export` leaves them in build/hls/export/NAME: kernel.json beside the IP."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path

from assasin.boards.top import SlotKernel
from assasin.errors import AssasinError
from assasin.tree import BUILD

EXPORTS = BUILD / "hls" / "export"


class KernelExportError(AssasinError):
    """A kernel is not exported, or its description is wrong; the message says what to do."""


@dataclass(frozen=True)
class ExportedKernel:
    """A kernel's IP, for one slot."""

    slot: int
    name: str
    version: str
    vlnv: str
    """Vendor, library, name and version of the IP."""
    repository: Path
    """Folder that Vivado finds the IP in."""
    inputs: tuple[str, ...]
    """Stream inputs: names of the ports."""
    output: str
    control: str
    """Name of the control interface."""
    control_bits: int
    """Its address width."""

    @property
    def id(self) -> int:
        """What the slot shows: CRC-32 of name/version."""
        return zlib.crc32(f"{self.name}/{self.version}".encode())

    @property
    def module(self) -> str:
        """Module that is made of the IP for this slot."""
        return f"slot{self.slot}_{self.name}"

    @property
    def files(self) -> list[Path]:
        """Files of the IP."""
        return sorted(path for path in self.repository.rglob("*") if path.is_file())

    def slot_kernel(self) -> SlotKernel:
        """As the top level needs it."""
        return SlotKernel(self.slot, self.name, self.id, self.module, self.inputs, self.output, self.control, self.control_bits)


def load(slot: int, name: str, exports: Path = EXPORTS) -> ExportedKernel:
    """The exported kernel `name` for `slot`. Raises KernelExportError."""
    path = exports / name / "kernel.json"
    if not path.exists():
        raise KernelExportError(f"kernel '{name}' is not exported: run assasin hls export {name}")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        repository = path.parent / data["repository"]
        kernel = ExportedKernel(
            slot,
            data["name"],
            data["version"],
            data["vlnv"],
            repository,
            tuple(data["inputs"]),
            data["output"],
            data["control"],
            int(data["control_bits"]),
        )
    except (ValueError, KeyError, TypeError) as e:
        raise KernelExportError(f"{path} is not what assasin hls export writes ({e}): export the kernel again") from e
    if kernel.name != name:
        raise KernelExportError(f"{path} describes kernel '{kernel.name}': export '{name}' again")
    if not any(repository.rglob("component.xml")):
        raise KernelExportError(f"{repository} holds no IP (component.xml): run Vitis HLS in it, see assasin hls export {name}")
    return kernel
