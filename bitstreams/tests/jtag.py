# SPDX-License-Identifier: BSD-3-Clause
"""A JTAG chain behind a Xilinx Virtual Cable socket: IEEE 1149.1 TAP controllers of a Zynq's fabric and of its ARM debug port."""

from __future__ import annotations

import socket
import threading

IDCODE_7Z045 = 0x23731093
IDCODE_ZU7EV = 0x14730093
ARM_7Z = 0x4BA00477

# state: (next with TMS 0, next with TMS 1)
_TAP = {
    "reset": ("idle", "reset"),
    "idle": ("idle", "select-dr"),
    "select-dr": ("capture-dr", "select-ir"),
    "capture-dr": ("shift-dr", "exit1-dr"),
    "shift-dr": ("shift-dr", "exit1-dr"),
    "exit1-dr": ("pause-dr", "update-dr"),
    "pause-dr": ("pause-dr", "exit2-dr"),
    "exit2-dr": ("shift-dr", "update-dr"),
    "update-dr": ("idle", "select-dr"),
    "select-ir": ("capture-ir", "reset"),
    "capture-ir": ("shift-ir", "exit1-ir"),
    "shift-ir": ("shift-ir", "exit1-ir"),
    "exit1-ir": ("pause-ir", "update-ir"),
    "pause-ir": ("pause-ir", "exit2-ir"),
    "exit2-ir": ("shift-ir", "update-ir"),
    "update-ir": ("idle", "select-dr"),
}


class Device:
    """One TAP: its registers are lists of bits, the first leaves first."""

    def __init__(self, idcode: int, ir_bits: int, idcode_instruction: int) -> None:
        self.idcode, self.ir_bits, self.idcode_instruction = idcode, ir_bits, idcode_instruction
        self.instruction = idcode_instruction
        self.shift: list[int] = []

    def reset(self) -> None:
        """Test-Logic-Reset."""
        self.instruction = self.idcode_instruction

    def capture_ir(self) -> None:
        """The two lowest bits are 01."""
        self.shift = [1] + [0] * (self.ir_bits - 1)

    def update_ir(self) -> None:
        """A new instruction."""
        self.instruction = sum(bit << i for i, bit in enumerate(self.shift))

    def capture_dr(self) -> None:
        """IDCODE, or one bit of bypass."""
        self.shift = [self.idcode >> i & 1 for i in range(32)] if self.instruction == self.idcode_instruction else [0]

    def clock(self, bit: int) -> int:
        """One shift."""
        self.shift.append(bit)
        return self.shift.pop(0)

    def update_dr(self) -> None:
        """Nothing to take."""


class Fabric(Device):
    """A 7-series or UltraScale+ configuration TAP (UG470, ch. 10): JPROGRAM clears, CFG_IN takes the bitstream, JSTART starts."""

    IDCODE, JPROGRAM, CFG_IN, JSTART = 0x09, 0x0B, 0x05, 0x0C

    def __init__(self, idcode: int) -> None:
        super().__init__(idcode, 6, self.IDCODE)
        self.taken: list[int] = []
        self.cleared = self.started = False

    def capture_ir(self) -> None:
        """Bit 4 is INIT, bit 5 DONE."""
        super().capture_ir()
        self.shift[4:] = [1, int(self.started)]

    def update_ir(self) -> None:
        """See Device."""
        super().update_ir()
        if self.instruction == self.JPROGRAM:
            self.taken, self.cleared, self.started = [], True, False
        self.started = self.started or (self.instruction == self.JSTART and bool(self.taken))

    def clock(self, bit: int) -> int:
        """See Device."""
        if self.instruction == self.CFG_IN and self.shift == [0]:
            self.taken.append(bit)
            return 0
        return super().clock(bit)

    def capture_dr(self) -> None:
        """See Device."""
        super().capture_dr()

    def holds(self, data: bytes) -> bool:
        """Whether it was configured with this data, most significant bit first."""
        bits = "".join(map(str, self.taken))
        return self.cleared and self.started and "".join(f"{byte:08b}" for byte in data) in bits


class Cable(threading.Thread):
    """The XVC server. `devices` from TDI to TDO."""

    def __init__(self, *devices: Device) -> None:
        super().__init__(daemon=True)
        self.devices = devices
        self.state = "reset"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self.listener.getsockname())
        self.start()

    def run(self) -> None:
        """One client after the other."""
        while True:
            connection, _ = self.listener.accept()
            with connection, connection.makefile("rb") as stream:
                self.serve(connection, stream)

    def serve(self, connection: socket.socket, stream) -> None:  # type: ignore[no-untyped-def]
        """Until the client leaves."""
        while command := stream.read(2):
            while not command.endswith(b":"):
                command += stream.read(1)
            if command == b"getinfo:":
                connection.sendall(b"xvcServer_v1.0:2048\n")
            elif command == b"settck:":
                connection.sendall(stream.read(4))
            else:
                assert command == b"shift:", command
                count = int.from_bytes(stream.read(4), "little")
                size = (count + 7) // 8
                tms, tdi = (int.from_bytes(stream.read(size), "little") for _ in range(2))
                connection.sendall(self.shift(count, tms, tdi).to_bytes(size, "little"))

    def shift(self, count: int, tms: int, tdi: int) -> int:
        """`count` clocks; gives TDO."""
        tdo = 0
        for i in range(count):
            tdo |= self.clock(tms >> i & 1, tdi >> i & 1) << i
        return tdo

    def clock(self, tms: int, bit: int) -> int:
        """One clock."""
        if self.state.startswith("shift"):
            for device in self.devices:
                bit = device.clock(bit)
        else:
            kind, _, register = self.state.partition("-")
            for device in self.devices:
                if kind == "reset":
                    device.reset()
                elif kind in ("capture", "update"):
                    getattr(device, f"{kind}_{register}")()
            bit = 0
        self.state = _TAP[self.state][tms]
        return bit
