# SPDX-License-Identifier: BSD-3-Clause
"""What the agent finds on a board, in a folder: sysfs with hwmon, IIO and fpga_manager, device nodes, and the chip's console."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

Start = Callable[..., tuple[str, int]]
"""Starts the agent with a configuration; gives its address."""

CONFIG = """\
board zcu106
window uio assasin
sensor vccint VCCINT ina226
sensor ucd90120a "all monitored rails" pmbus 3
sensor ams die ams
"""

SYNC = bytes.fromhex("665599aa")


def bitstream(words: int = 2048) -> bytes:
    """Configuration data in the byte order of fpga_manager."""
    return b"\xff" * 64 + SYNC + bytes(range(256)) * (words * 4 // 256)


class Tree:
    """A root folder with /sys, /dev and /lib/firmware."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in (
            "sys/class/hwmon",
            "sys/class/uio",
            "sys/bus/iio/devices",
            "sys/class/fpga_manager/fpga0",
            "lib/firmware",
            "dev",
        ):
            (root / folder).mkdir(parents=True)
        self.state("operating")

    def put(self, path: str, text: str | bytes) -> Path:
        """A file with this content."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def state(self, state: str) -> None:
        """What fpga_manager says."""
        self.put("sys/class/fpga_manager/fpga0/state", state + "\n")

    def hwmon(self, number: int, name: str, label: str | None = None, **channels: int | str) -> Path:
        """An hwmon device; its label is in the device tree, with a NUL, as the kernel shows properties."""
        folder = f"sys/class/hwmon/hwmon{number}"
        self.put(f"{folder}/name", name + "\n")
        if label:
            self.put(f"{folder}/of_node/label", label.encode() + b"\0")
        for channel, value in channels.items():
            self.put(f"{folder}/{channel}", f"{value}\n")
        return self.root / folder

    def uio(self, name: str = "assasin") -> Path:
        """A UIO device whose registers are a file."""
        self.put("sys/class/uio/uio0/name", name + "\n")
        return self.put("dev/uio0", bytes(0x10000))


class FpgaManager(threading.Thread):
    """
    The kernel behind fpga0/firmware, a FIFO here: takes the name that is written, looks at the file under /lib/firmware as the
    Zynq's driver does (sync word, whole words) and sets the state.
    """

    def __init__(self, tree: Tree, outcome: str | None = None) -> None:
        super().__init__(daemon=True)
        self.tree, self.outcome = tree, outcome
        self.fifo = tree.root / "sys/class/fpga_manager/fpga0/firmware"
        self.taken: bytes | None = None
        self.flags = tree.put("sys/class/fpga_manager/fpga0/flags", "1\n")
        os.mkfifo(self.fifo)
        self.start()

    def run(self) -> None:
        """One bitstream. The agent's open of the FIFO waits for this one's, so the old state is gone by then."""
        self.tree.state("write init")
        with self.fifo.open("rb") as f:
            name = f.read().decode().strip()
        self.tree.state("write")
        time.sleep(0.05)
        self.taken = (self.tree.root / "lib/firmware" / name).read_bytes()
        good = SYNC in self.taken[:1024] and len(self.taken) % 4 == 0
        self.tree.state(self.outcome or ("operating" if good else "write error"))


class Overlay(threading.Thread):
    """The kernel behind one overlay of configfs (configfs.c makes its attributes): programs what the overlay is known to name."""

    def __init__(self, tree: Tree, overlay: Path, outcome: str = "operating") -> None:
        super().__init__(daemon=True)
        self.tree, self.path, self.outcome = tree, overlay / "path", outcome
        self.named = ""
        self.taken: bytes | None = None
        tree.state("unknown")
        if self.path.exists():
            self.path.write_text("")
        self.start()

    def run(self) -> None:
        """One bitstream."""
        while not (named := self._read()):
            time.sleep(0.002)
        self.named = named
        self.taken = (self.tree.root / "lib/firmware/assasin.bin").read_bytes()
        self.tree.state(self.outcome)

    def _read(self) -> str:
        """What the attribute says; nothing while there is no overlay: the agent removes the old one at any time."""
        try:
            return self.path.read_text()
        except FileNotFoundError:
            return ""


class Chip(threading.Thread):
    """
    The side entrance of a board (board/virtual/pciproxy/protocol.h) over a chip that is its console alone: a queue of what the
    firmware says, and the upper-casing echo of what it hears. CTRL.RESET is kept.
    """

    TX, RX, RESET = 0x800C, 0x8010, 0x8004

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.said: deque[int] = deque()
        self.resets: list[int] = []
        self.full_for = 0
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen(8)
        self.start()

    def run(self) -> None:
        """Until the test ends."""
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        """One client."""
        while request := connection.recv(40, socket.MSG_WAITALL):
            command, _, _, offset, value, _, _ = struct.unpack("<iIQQQIB3x", request)
            connection.sendall(struct.pack("<iIQQ", 1, 0, 8, self.write(offset, value) if command == 4 else self.read(offset)))

    def read(self, offset: int) -> int:
        """A register."""
        if offset == self.TX:
            return self.said.popleft() | 1 << 31 if self.said else 0
        if offset == self.RX:
            self.full_for = max(0, self.full_for - 1)
            return 1 << 31 if self.full_for else 0
        return 0x41535331 if offset == 0x8000 else 0xFFFFFFFF

    def write(self, offset: int, value: int) -> int:
        """A register."""
        if offset == self.RX:
            self.said.extend(bytes([value]).upper())
        if offset == self.RESET:
            self.resets.append(value)
        return 0
