# SPDX-License-Identifier: BSD-3-Clause
"""The board as a PCI function of this machine: out of the way before its FPGA loses its contents, back afterwards."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from assasin.bitstreams.errors import BitstreamError

SYS = Path("/sys")
MOUNTS = Path("/proc/self/mounts")


@dataclass(frozen=True)
class Function:
    """One PCI function; `path` is its folder in sysfs."""

    path: Path

    @property
    def address(self) -> str:
        """0000:01:00.0."""
        return self.path.name

    @property
    def driver(self) -> str | None:
        """The kernel driver that is bound."""
        link = self.path / "driver"
        return os.readlink(link).rpartition("/")[2] if link.is_symlink() else None

    def mounted(self, mounts: Path = MOUNTS) -> list[str]:
        """Where file systems on its NVMe namespaces are mounted."""
        controllers = [p.name for p in (self.path / "nvme").glob("nvme*")]
        lines = [line.split() for line in mounts.read_text().splitlines()]
        return [where for device, where, *_ in lines if any(device.startswith(f"/dev/{c}n") for c in controllers)]

    def remove(self) -> None:
        """Takes it off the bus. Raises BitstreamError."""
        _write(self.path / "remove")


def functions(vendor: int, device: int, sys: Path = SYS) -> list[Function]:
    """Those of this machine with that vendor and device number."""

    def number(path: Path) -> int:
        return int(path.read_text(), 16)

    found = sorted((sys / "bus" / "pci" / "devices").glob("*"))
    return [Function(p) for p in found if number(p / "vendor") == vendor and number(p / "device") == device]


def rescan(sys: Path = SYS) -> None:
    """Looks for functions that have appeared. Raises BitstreamError."""
    _write(sys / "bus" / "pci" / "rescan")


def _write(path: Path) -> None:
    try:
        path.write_text("1")
    except OSError as e:
        raise BitstreamError(f"{path}: {e.strerror}; run as root") from e
