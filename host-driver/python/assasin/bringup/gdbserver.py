# SPDX-License-Identifier: BSD-3-Clause
"""GDB's remote serial protocol for one hart: `target remote` for a core or the firmware processor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from xml.sax.saxutils import quoteattr

from assasin.bringup import disassemble, rv32, varve_state
from assasin.bringup.hart import Hart, Status
from assasin.bringup.link import BringupError
from assasin.bringup.wire import Disconnected, Wire
from assasin.tree import contract

_GPRS_AND_PC = 33
_PC = 32
_CSR0 = 65
"""GDB's number of CSR 0."""
_V0 = _CSR0 + 4096
"""The server's number of v0."""

_PACKET = 0x2000
_MOST_LINES = 64
"""What `monitor disassemble` prints at once fits a packet."""
_POLL_SECONDS = 0.01
_SIGINT, _SIGILL, _SIGTRAP, _SIGSEGV, _SIGBUS = 2, 4, 5, 11, 7
_SIGNALS = {2: _SIGILL, 1: _SIGSEGV, 5: _SIGSEGV, 7: _SIGSEGV, 0: _SIGBUS, 4: _SIGBUS, 6: _SIGBUS}
_ECALL = 11


def _word(value: int) -> str:
    return value.to_bytes(4, "little").hex()


def _number(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text), "little")


def _vectors(length: int) -> str:
    """The feature of vector registers of `length` bytes, each a union of its elements of every width."""
    types = {"bytes": 8, "shorts": 16, "words": 32, "longs": 64}
    vectors = "".join(f"<vector id='{n}' type='uint{w}' count='{8 * length // w}'/>" for n, w in types.items())
    fields = "".join(f"<field name='{n[0]}' type='{n}'/>" for n in types)
    registers = "".join(
        f"<reg name='v{n}' bitsize='{8 * length}' type='riscv_vector' group='vector' regnum='{_V0 + n}'/>"
        for n in range(rv32.VECTOR_REGISTERS)
    )
    return f"<feature name='org.gnu.gdb.riscv.vector'>{vectors}<union id='riscv_vector'>{fields}</union>{registers}</feature>"


def target_description(csrs: dict[str, int], vector_bytes: int = 0) -> str:
    """GDB's XML of a hart with these CSRs, and with vector registers of `vector_bytes` unless that is 0."""
    pointers = ("sp", "gp", "tp", "fp")
    registers = "".join(
        f"<reg name={quoteattr(name)} bitsize='32' type='{'data_ptr' if name in pointers else 'int'}' regnum='{n}'/>"
        for n, name in enumerate(rv32.GPR_NAMES)
    )
    registers += f"<reg name='pc' bitsize='32' type='code_ptr' regnum='{_PC}'/>"
    control = "".join(
        f"<reg name={quoteattr(name)} bitsize='32' type='int' regnum='{_CSR0 + address}'/>" for name, address in csrs.items()
    )
    return (
        "<?xml version='1.0'?><!DOCTYPE target SYSTEM 'gdb-target.dtd'><target version='1.0'>"
        "<architecture>riscv:rv32</architecture>"
        # Bare metal: GDB steps by the hart's own single step, not by breakpoints where it thinks that the hart goes.
        "<osabi>none</osabi>"
        f"<feature name='org.gnu.gdb.riscv.cpu'>{registers}</feature>"
        f"<feature name='org.gnu.gdb.riscv.csr'>{control}</feature>"
        f"{_vectors(vector_bytes) if vector_bytes else ''}</target>"
    )


class GdbServer:
    """One session of GDB with one hart. The hart is halted when it begins and let go when it ends."""

    def __init__(self, hart: Hart, wire: Wire) -> None:
        self.hart = hart
        self._wire = wire
        self._planted: dict[int, bytes] = {}  # EBREAKs in memory, and what was there
        self._signal = _SIGTRAP
        self._stopped_state: Status | None = None
        self._gone = False

    def serve(self) -> None:
        """Until GDB detaches or goes. Raises BringupError when the hart cannot be halted."""
        hart = self.hart
        with self._wire.working():
            hart.halt()
            hart.catch(ebreak=True, stops=True)
            self._stopped_state = hart.status()
        try:
            while self._handle(self._wire.receive()):
                pass
        except Disconnected:
            pass
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._gone:
            return
        self._gone = True
        hart = self.hart
        if hart.block.held:
            hart.clear_breakpoint()
            hart.catch()
            return
        hart.halt()
        for address in list(self._planted):
            self._remove(address)
        hart.clear_breakpoint()
        hart.catch()
        hart.resume()

    # ---- Packets ---------------------------------------------------------------------------------------------------------------

    def _handle(self, packet: bytes) -> bool:
        """Answers one packet; False ends the session."""
        kind, rest = packet[:1].decode("latin-1"), packet[1:]
        if packet == b"\x03":  # the hart has stopped meanwhile
            return True
        if kind in ("D", "k"):
            self._let_go()
            if kind == "D":
                self._wire.send("OK")
            return False
        handlers: dict[str, Callable[[bytes], str | bytes]] = {
            "?": lambda _: self._stop_reply(),
            "g": lambda _: "".join(_word(v) for v in [*self.hart.registers(), self.hart.pc]),
            "G": self._write_all,
            "p": self._read_one,
            "P": self._write_one,
            "m": self._read_memory,
            "M": self._write_hex,
            "X": self._write_binary,
            "Z": lambda r: self._breakpoint(r, True),
            "z": lambda r: self._breakpoint(r, False),
            "c": lambda r: self._go(r, self._continue),
            "s": lambda r: self._go(r, self._step),
            "v": self._verbose,
            "q": self._query,
            "Q": self._set,
            "H": lambda _: "OK",
            "T": lambda _: "OK",
        }
        handler = handlers.get(kind)
        # GDB waits for a hart that runs as long as it runs.
        running = kind in ("c", "s") or packet.startswith(b"vCont;")
        try:
            with nullcontext() if running else self._wire.working():
                answer = handler(rest) if handler else ""
        except (ValueError, IndexError, UnicodeDecodeError):
            answer = "E16"  # EINVAL: what GDB sent is not as the protocol has it
        except BringupError as e:
            if kind not in "mMXpP":  # GDB probes memory and registers
                self._say(f"{e}\n")
            answer = "E0e"  # EFAULT
        self._wire.send(answer)
        if packet == b"QStartNoAckMode":
            self._wire.acknowledge = False
        return True

    def _say(self, text: str) -> None:
        self._wire.send("O" + text.encode().hex())

    def _query(self, rest: bytes) -> str | bytes:
        text = rest.decode()
        if text.startswith("Supported"):
            return f"PacketSize={_PACKET:x};qXfer:features:read+;QStartNoAckMode+;vContSupported+"
        if text.startswith("Xfer:features:read:target.xml:"):
            offset, length = (int(x, 16) for x in text.rpartition(":")[2].split(","))
            xml = target_description(self.hart.csrs, self.hart.vector_bytes).encode()
            part = xml[offset : offset + length]
            return (b"l" if offset + length >= len(xml) else b"m") + part
        fixed = {"Attached": "1", "C": "QC1", "fThreadInfo": "m1", "sThreadInfo": "l", "Offsets": "", "Symbol::": "OK"}
        if text.startswith("Rcmd,"):
            return self._monitor(bytes.fromhex(text[5:]).decode())
        if text.startswith("ThreadExtraInfo"):
            return f"{self.hart.name}: {self.hart.status()}".encode().hex()
        return fixed.get(text, "")

    def _set(self, rest: bytes) -> str:
        return "OK" if rest == b"StartNoAckMode" else ""

    def _verbose(self, rest: bytes) -> str:
        text = rest.decode()
        if text == "Cont?":
            return "vCont;c;C;s;S"
        if text.startswith("Cont;"):
            action = text[5:6]
            if action in ("c", "C"):
                return self._go(b"", self._continue)
            if action in ("s", "S"):
                return self._go(b"", self._step)
        return ""

    def _monitor(self, text: str) -> str:
        words = text.split()
        if words == ["status"]:
            self._say(f"{self.hart.name}: {self.hart.status()}\n")
        elif len(words) == 2 and words[0] == "exits" and words[1] in ("on", "off"):
            self.hart.catch(ebreak=True, stops=True, exits=words[1] == "on")
        elif words[:1] == ["disassemble"] and len(words) <= 3:
            self._say(self._disassemble(words[1:]))
        elif words == ["streams"]:
            self._say(varve_state.streams_text(self.hart))
        elif words[:1] == ["vectors"]:
            self._say_vectors(words[1:])
        else:
            self._say(
                "monitor status: how the hart stands\n"
                "monitor exits on|off: stop when a core's function ends (ECALL)\n"
                "monitor disassemble [ADDRESS [COUNT]]: COUNT (16) instructions, VarVE's and the streams' by name; from PC on\n"
                "monitor streams: the open streams of VarVE, their formats and positions\n"
                "monitor vectors [NUMBER...]: elements and widths of these vector registers, or of all that have some; NumE\n"
            )
        return "OK"

    def _say_vectors(self, words: list[str]) -> None:
        names = [w.removeprefix("$").removeprefix("v") for w in words]
        if not all(n.isdecimal() and int(n) < rv32.VECTOR_REGISTERS for n in names):
            self._say("monitor vectors: vector registers are v0 to v31\n")
            return
        # A line at a time: a packet has less room than all registers take.
        for line in varve_state.vectors_text(self.hart, [int(n) for n in names] or None).splitlines(keepends=True):
            self._say(line)

    def _disassemble(self, words: list[str]) -> str:
        try:
            address = int(words[0], 0) if words else self.hart.pc
            count = int(words[1], 0) if len(words) == 2 else 16
        except ValueError:
            return "monitor disassemble: ADDRESS and COUNT are numbers, for example 0x1c 8\n"
        if address % 4 or not 0 <= address < 1 << 32 or not 0 < count <= _MOST_LINES:
            return f"monitor disassemble: the address is a multiple of 4, and there are 1 to {_MOST_LINES} instructions\n"
        # As GDB reads it: without the breakpoints that are planted there.
        code = bytes.fromhex(self._read_memory(f"{address:x},{4 * count:x}".encode()))
        return disassemble.listing(code, address)

    # ---- Registers and memory --------------------------------------------------------------------------------------------------

    def _write_all(self, rest: bytes) -> str:
        text = rest.decode()
        values = [_number(text[8 * i : 8 * i + 8]) for i in range(min(len(text) // 8, _GPRS_AND_PC))]
        for n, value in enumerate(values[:32]):
            self.hart.set_register(n, value)
        if len(values) > _PC:
            self.hart.set_pc(values[_PC])
        return "OK"

    def _csr(self, number: int) -> int:
        if number - _CSR0 not in self.hart.csrs.values():
            raise BringupError(f"{self.hart.name} has no register {number}")
        return number - _CSR0

    def _vector(self, number: int) -> int | None:
        n = number - _V0
        return n if self.hart.vector_bytes and 0 <= n < rv32.VECTOR_REGISTERS else None

    def _read_one(self, rest: bytes) -> str:
        n = int(rest, 16)
        vector = self._vector(n)
        if vector is not None:
            return self.hart.vector(vector).hex()
        if n < _PC:
            return _word(self.hart.register(n))
        return _word(self.hart.pc if n == _PC else self.hart.csr(self._csr(n)))

    def _write_one(self, rest: bytes) -> str:
        number, _, text = rest.decode().partition("=")
        n, value = int(number, 16), _number(text)
        vector = self._vector(n)
        if vector is not None:
            self.hart.set_vector(vector, value.to_bytes(self.hart.vector_bytes, "little"))
            return "OK"
        if n < _PC:
            self.hart.set_register(n, value)
        elif n == _PC:
            self.hart.set_pc(value)
        else:
            self.hart.set_csr(self._csr(n), value)
        return "OK"

    def _read_memory(self, rest: bytes) -> str:
        address, count = (int(x, 16) for x in rest.split(b","))
        data = bytearray(self.hart.read_memory(address, min(count, _PACKET // 2 - 8)))
        for at, original in self._planted.items():
            for i, byte in enumerate(original):
                if 0 <= at + i - address < len(data):
                    data[at + i - address] = byte
        return data.hex()

    def _write_hex(self, rest: bytes) -> str:
        head, _, data = rest.partition(b":")
        return self._write_memory(head, bytes.fromhex(data.decode()))

    def _write_binary(self, rest: bytes) -> str:
        head, _, data = rest.partition(b":")
        return self._write_memory(head, data)

    def _write_memory(self, head: bytes, data: bytes) -> str:
        address, count = (int(x, 16) for x in head.split(b","))
        if len(data) != count:
            raise ValueError
        for at in [a for a in self._planted if a < address + count and address < a + 4]:
            self._remove(at)  # GDB writes code over a breakpoint of its own: what it writes is what shall be there
        self.hart.write_memory(address, data)
        return "OK"

    # ---- Breakpoints -----------------------------------------------------------------------------------------------------------

    def _breakpoint(self, rest: bytes, insert: bool) -> str:
        kind, at, _ = rest.decode().split(";")[0].split(",")
        address = int(at, 16)
        if kind not in ("0", "1") or address % 4:
            return "" if kind not in ("0", "1") else "E16"
        # A core's instruction memory takes no stores while the core runs, so its breakpoints are all registers.
        plant = kind == "0" and self.hart.is_firmware
        if not plant:
            if insert:
                self.hart.set_breakpoint(address)
            else:
                self.hart.clear_breakpoint(address)
        elif insert and address not in self._planted:
            original = self.hart.read_memory(address, 4)
            self.hart.write_memory(address, rv32.EBREAK.to_bytes(4, "little"))
            self._planted[address] = original
        elif not insert and address in self._planted:
            self._remove(address)
        return "OK"

    def _remove(self, address: int) -> None:
        self.hart.write_memory(address, self._planted.pop(address))

    # ---- Running ---------------------------------------------------------------------------------------------------------------

    def _stop_reply(self) -> str:
        return f"T{self._signal:02x}thread:1;"

    def _go(self, rest: bytes, how: Callable[[], int]) -> str:
        if rest:
            self.hart.set_pc(int(rest, 16))
        self._signal = how()
        self._stopped_state = self.hart.status()
        return self._stop_reply()

    def _step(self) -> int:
        """An instruction that waits for a stream is tried until it can be done."""
        while not self.hart.step():
            status = self.hart.status()
            if not status.running:
                self._say(f"{self.hart.name} has {status}: it executes nothing until it is started again\n")
                return self._signal_of(status)
            if self._wire.waiting(_POLL_SECONDS) and self._wire.interrupted():
                return _SIGINT
        status = self.hart.status()
        return _SIGTRAP if status.running else self._signal_of(status)

    def _continue(self) -> int:
        hart, before = self.hart, self._stopped_state
        if hart.is_firmware and before is not None and not before.running:
            self._say(f"{hart.name} has {before}: only a reset starts it again (assasin bringup load)\n")
            return self._signal_of(before)
        hart.resume()
        while not hart.halted:
            if self._wire.waiting(_POLL_SECONDS) and self._wire.interrupted():
                hart.halt()
                return _SIGINT
        return self._why()

    def _why(self) -> int:
        """The signal for a hart that has come to a halt. When the firmware has cleared RUN the CSRs tell."""
        hart = self.hart
        status = hart.status()
        if status.state == contract.CORE_STATE_IDLE:
            cause = hart.csr(rv32.STANDARD_CSRS["mcause"])
            state = contract.CORE_STATE_HUNG if cause == 0 else contract.CORE_STATE_TRAPPED
            status = Status(contract.CORE_STATE_EXITED if cause == _ECALL else state, cause, None)
        if not status.running:
            self._say(f"{hart.name}: {status}\n")
        return _SIGTRAP if status.running else self._signal_of(status)

    @staticmethod
    def _signal_of(status: Status) -> int:
        return _SIGNALS.get(status.cause, _SIGTRAP) if status.state == contract.CORE_STATE_TRAPPED else _SIGTRAP
