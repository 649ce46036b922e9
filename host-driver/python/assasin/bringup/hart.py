# SPDX-License-Identifier: BSD-3-Clause
"""Harts behind the debug block (registers DEBUG of the contract): halting, stepping, registers, memory, breakpoints."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property

from assasin.bringup import rv32
from assasin.bringup.link import BringupError, Link, Operation
from assasin.tree import contract

BASE = contract.DEBUG_BASE
FIRMWARE = 16
"""Hart number of the firmware processor; the others are the numbers of ASSASIN cores."""

HALT_SECONDS = 20.0
_SPAN = 2048  # bytes that a load reaches on either side of its base
_RESULT: Operation = (BASE + contract.DEBUG_RESULT, None)


_MSTATUS = rv32.STANDARD_CSRS["mstatus"]
_VSTART, _VL, _VTYPE, _VLENB = (rv32.VECTOR_CSRS[name] for name in ("vstart", "vl", "vtype", "vlenb"))
_OF_VECTORS = frozenset((*rv32.VECTOR_CSRS.values(), *rv32.VARVE_CSRS.values(), contract.CSR_NUME))
"""Not to be accessed while mstatus.VS, or of VarVE MVARVE, is Off."""


class AccessError(BringupError):
    """Nothing answers at an address, or a register does not exist."""


class NotHaltedError(BringupError):
    """A hart was given an instruction while it was not halted."""


@dataclass(frozen=True)
class Status:
    """How a hart stands: `state` is CoreState; `cause` the mcause of the trap that stopped it; `waits` what it waits for."""

    state: int
    cause: int
    waits: str | None

    @property
    def running(self) -> bool:
        """Executes, waits, or is halted by a debugger only."""
        return self.state == contract.CORE_STATE_RUNNING

    def __str__(self) -> str:
        if self.waits:
            return f"running, waits for {self.waits}"
        text = str(contract.CORE_STATE[self.state]).lower() if self.state in contract.CORE_STATE else f"state {self.state}"
        if self.state == contract.CORE_STATE_TRAPPED:
            kind = "interrupt" if self.cause & 0x80 else rv32.CAUSES.get(self.cause, "unknown")
            text += f" (cause {self.cause & 0x7F}: {kind})"
        return text


class DebugBlock:
    """The debug block of one board."""

    def __init__(self, link: Link) -> None:
        self.link = link
        info = link.read(BASE + contract.DEBUG_INFO)
        version = info >> contract.DEBUG_INFO_VERSION_SHIFT & contract.DEBUG_INFO_VERSION_MASK
        if version != 1:
            raise BringupError(f"{link.name} has no debug block of version 1 at BAR0 + {BASE:#x} (INFO reads {info:08x})")
        self.cores = info >> contract.DEBUG_INFO_CORES_SHIFT & contract.DEBUG_INFO_CORES_MASK
        self.breakpoints = info >> contract.DEBUG_INFO_BREAKPOINTS_SHIFT & contract.DEBUG_INFO_BREAKPOINTS_MASK

    @property
    def harts(self) -> list[Hart]:
        """All of them: cores in order, then the firmware processor."""
        return [Hart(self, n) for n in (*range(self.cores), FIRMWARE)]

    def hart(self, number: int) -> Hart:
        """The core `number`, or FIRMWARE. Raises BringupError."""
        if number != FIRMWARE and not 0 <= number < self.cores:
            raise BringupError(f"core {number}: this board has cores 0 to {self.cores - 1}")
        return Hart(self, number)

    @property
    def firmware(self) -> Hart:
        """The firmware processor, which can address all of the device."""
        return Hart(self, FIRMWARE)

    def read(self, register: int) -> int:
        """A register of the block."""
        return self.link.read(BASE + register)

    def write(self, register: int, value: int) -> None:
        """A register of the block."""
        self.link.write(BASE + register, value)

    @property
    def held(self) -> bool:
        """Firmware processor and cores are held in reset."""
        return bool(self.link.read(contract.CTRL_BASE + contract.CTRL_RESET) & 1)


class Hart:
    """One processor. All but halting, status and pc_sample need it halted."""

    def __init__(self, block: DebugBlock, number: int) -> None:
        self.block = block
        self.link = block.link
        self.number = number
        self.bit = 1 << number

    @property
    def name(self) -> str:
        """For messages."""
        return "the firmware processor" if self.is_firmware else f"core {self.number}"

    @property
    def is_firmware(self) -> bool:
        """Not an ASSASIN core."""
        return self.number == FIRMWARE

    # ---- Running and halting ---------------------------------------------------------------------------------------------------

    @property
    def asked_to_halt(self) -> bool:
        """Somebody wants it halted, or a breakpoint has."""
        return bool(self.block.read(contract.DEBUG_HALT) & self.bit)

    @property
    def halted(self) -> bool:
        """It is."""
        return bool(self.block.read(contract.DEBUG_HALTED) & self.bit)

    def halt(self) -> None:
        """Halts the hart. Raises BringupError when it does not come to a halt."""
        if self.block.held:
            raise BringupError(f"{self.name} is held in reset: load a firmware first (assasin bringup load)")
        self.block.write(contract.DEBUG_HALT, self.bit)
        self._await_halt("halt")

    def _await_halt(self, what: str) -> None:
        deadline = time.monotonic() + HALT_SECONDS
        while not self.halted:
            if time.monotonic() > deadline:
                raise BringupError(
                    f"{self.name} did not {what} within {HALT_SECONDS:.0f} s, at PC {self.pc_sample():08x}: "
                    "it waits for a memory access which nothing answers"
                )

    def resume(self) -> None:
        """Lets it run again."""
        self.block.write(contract.DEBUG_RESUME, self.bit)

    def step(self) -> bool:
        """Executes one instruction; False when none was: the hart has stopped, or would have to wait for a stream."""
        if not self.status().running:
            return False
        look = [rv32.auipc(0), rv32.csrr(0, rv32.STANDARD_CSRS["minstret"])]
        try:
            before = self.run(look)
            self.block.write(contract.DEBUG_STEP, self.bit)
            self._await_halt("finish a step")
            after = self.run(look)
        except (AccessError, NotHaltedError):
            # What `look` executes fails only when the firmware has stopped the core since, or clears it for its next job.
            if not self.asked_to_halt:
                raise
            self._await_halt("come to a halt again")
            return False
        return before != after or not self.status().running

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Halts the hart for a while; one that was halted before stays so."""
        before = self.asked_to_halt
        self.halt()
        try:
            yield
        finally:
            if not before:
                self.resume()

    def status(self) -> Status:
        """How it stands, halted or not."""
        with self.link.locked():
            value = self.link.access([self._select, (BASE + contract.DEBUG_STATUS, None)])[0]
        waits = None
        stream = value >> contract.DEBUG_STATUS_STREAM_ID_SHIFT & contract.DEBUG_STATUS_STREAM_ID_MASK
        if value >> contract.DEBUG_STATUS_WAIT_IN_SHIFT & 1:
            waits = f"input of stream {stream}"
        elif value >> contract.DEBUG_STATUS_WAIT_OUT_SHIFT & 1:
            waits = f"room in output stream {stream}"
        state = value >> contract.DEBUG_STATUS_STATE_SHIFT & contract.DEBUG_STATUS_STATE_MASK
        cause = value >> contract.DEBUG_STATUS_CAUSE_SHIFT & contract.DEBUG_STATUS_CAUSE_MASK
        return Status(state, cause, waits)

    def pc_sample(self) -> int:
        """PC of its latest instruction, without halting it."""
        return self.block.read(contract.DEBUG_PC + 4 * self.number)

    # ---- Instructions ----------------------------------------------------------------------------------------------------------

    @property
    def _select(self) -> Operation:
        return (BASE + contract.DEBUG_SELECT, self.number)

    def run(self, instructions: Sequence[int]) -> list[int]:
        """Lets the halted hart execute instructions and returns what each computed. Raises BringupError when one fails."""
        operations: list[Operation] = []
        for instruction in instructions:
            operations += [(BASE + contract.DEBUG_INSN, instruction), _RESULT]
        return self._operate(operations)

    def run_quietly(self, instructions: Sequence[int]) -> None:
        """Likewise, without the results."""
        self._operate([(BASE + contract.DEBUG_INSN, instruction) for instruction in instructions])

    def _operate(self, operations: Sequence[Operation]) -> list[int]:
        with self.link.locked():
            *results, status = self.link.access([self._select, *operations, (BASE + contract.DEBUG_STATUS, None)])
            if status >> contract.DEBUG_STATUS_BUSY_SHIFT & 1:
                time.sleep(0.1)
                status = self.block.read(contract.DEBUG_STATUS)
        if status >> contract.DEBUG_STATUS_BUSY_SHIFT & 1:
            raise BringupError(
                f"{self.name} waits for a memory access which nothing answers, and executes nothing for the debugger"
            )
        if status >> contract.DEBUG_STATUS_ERROR_SHIFT & 1:
            if not self.halted:
                raise NotHaltedError(f"{self.name} is not halted")
            raise AccessError(f"{self.name}: nothing answers at that address, or it has no such register")
        return results

    # ---- Registers -------------------------------------------------------------------------------------------------------------

    def registers(self) -> list[int]:
        """x0 to x31."""
        return self.run([rv32.addi(0, n, 0) for n in range(32)])

    def register(self, n: int) -> int:
        """One of them."""
        return self.run([rv32.addi(0, n, 0)])[0]

    def set_register(self, n: int, value: int) -> None:
        """Writes xn; x0 stays 0."""
        if n:
            self.run_quietly(rv32.set_register(n, value))

    @property
    def pc(self) -> int:
        """PC of the instruction to come, or of the one that stopped it."""
        return self.run([rv32.auipc(0)])[0]

    def set_pc(self, value: int) -> None:
        """Where it goes on. Raises BringupError for an address that is not a multiple of 4."""
        if value % 4:
            raise BringupError(f"PC {value:#x}: instructions are at multiples of 4")
        with self._saved(1):
            self.run_quietly([*rv32.set_register(1, value), rv32.jalr(1, 0)])

    def csr(self, address: int) -> int:
        """A control and status register."""
        if address not in _OF_VECTORS:
            return self._read_csr(address)
        with self._vectors():
            return self._read_csr(address)

    def set_csr(self, address: int, value: int) -> None:
        """Writes one. vl and vtype are set as vsetvl sets them. Raises BringupError."""
        if address not in _OF_VECTORS:
            self._write_csr(address, value)
            return
        with self._vectors(writes=True):
            if address not in (_VL, _VTYPE):
                self._write_csr(address, value)
                return
            new = {_VL: self._read_csr(_VL), _VTYPE: self._read_csr(_VTYPE)} | {address: value}
            start = self._read_csr(_VSTART)
            with self._saved(1, 2):
                code = [*rv32.set_register(1, new[_VL]), *rv32.set_register(2, new[_VTYPE]), rv32.vsetvl(1, 2)]
                self.run_quietly(code)
            self._write_csr(_VSTART, start)
            found = self._read_csr(address)
        if found != value:
            raise BringupError(f"{self.name} cannot have {value:#x} there, and now has {found:#x}")

    def _read_csr(self, address: int) -> int:
        return self.run([rv32.csrr(0, address)])[0]

    def _write_csr(self, address: int, value: int) -> None:
        with self._saved(1):
            self.run_quietly([*rv32.set_register(1, value), rv32.csrw(address, 1)])

    # ---- Vector registers ------------------------------------------------------------------------------------------------------

    @cached_property
    def vector_bytes(self) -> int:
        """Bytes of a vector register, 0 without a vector unit."""
        if self.is_firmware:
            return 0
        with self.link.locked():
            status = self._read_csr(_MSTATUS)
            try:
                self._write_csr(_MSTATUS, status | rv32.MSTATUS_VS)
                return self._read_csr(_VLENB) if self._read_csr(_MSTATUS) & rv32.MSTATUS_VS else 0
            finally:
                self._write_csr(_MSTATUS, status)

    @cached_property
    def _has_varve(self) -> bool:
        with suppress(AccessError):
            self._read_csr(contract.CSR_MVARVE)
            return True
        return False

    @contextmanager
    def _vectors(self, writes: bool = False) -> Iterator[None]:
        """
        Lets vector CSRs be accessed also while mstatus.VS or MVARVE is Off. Both are as before afterwards, but for what `writes`
        vector state: then one that was not Off is Dirty.
        """
        states = {_MSTATUS: rv32.MSTATUS_VS} | ({contract.CSR_MVARVE: 3} if self._has_varve else {})
        with self.link.locked():
            before = {address: self._read_csr(address) for address in states}
            try:
                for address, field in states.items():
                    if not before[address] & field:
                        self._write_csr(address, before[address] | field)
                yield
            finally:
                for address, field in states.items():
                    dirty = field if writes and before[address] & field else 0
                    self._write_csr(address, before[address] | dirty)

    @contextmanager
    def _window(self, writes: bool = False) -> Iterator[None]:
        """VSSEL is the debugger's meanwhile."""
        with self._vectors(writes):
            select = self._read_csr(contract.CSR_VSSEL)
            try:
                yield
            finally:
                self._write_csr(contract.CSR_VSSEL, select)

    def vector(self, n: int) -> bytes:
        """A vector register, its lowest byte first."""
        code = rv32.set_register(1, rv32.WINDOW_DATA | n)
        operations: list[Operation] = [(BASE + contract.DEBUG_INSN, i) for i in code]
        words = self.vector_bytes // 4
        for _ in range(words):
            for instruction in (rv32.csrw(contract.CSR_VSSEL, 1), rv32.addi(1, 1, rv32.WINDOW_WORD)):
                operations.append((BASE + contract.DEBUG_INSN, instruction))
            operations += [(BASE + contract.DEBUG_INSN, rv32.csrr(0, contract.CSR_VSDAT)), _RESULT]
        with self._window(), self._saved(1):
            return struct.pack(f"<{words}I", *self._operate(operations))

    def window(self, selects: Sequence[int]) -> list[int]:
        """Words of vector state, by VSSEL (docs/varve/isa.md, 2.2)."""
        operations: list[Operation] = []
        for select in selects:
            for i in (*rv32.set_register(1, select), rv32.csrw(contract.CSR_VSSEL, 1), rv32.csrr(0, contract.CSR_VSDAT)):
                operations.append((BASE + contract.DEBUG_INSN, i))
            operations.append(_RESULT)
        with self._window(), self._saved(1):
            return self._operate(operations)

    def set_vector(self, n: int, data: bytes) -> None:
        """Writes one, all its bytes. One of VarVE-full keeps the widths of its elements, whose slots `data` are without gaps."""
        code = rv32.set_register(1, rv32.WINDOW_DATA | n)
        for (word,) in struct.iter_unpack("<I", data):
            code += [rv32.csrw(contract.CSR_VSSEL, 1), rv32.addi(1, 1, rv32.WINDOW_WORD)]
            code += [*rv32.set_register(2, word), rv32.csrw(contract.CSR_VSDAT, 2)]
        # A register of VarVE-full takes its data when the rest of it is written.
        code += [*rv32.set_register(1, rv32.WINDOW_REGISTER | n), rv32.csrw(contract.CSR_VSSEL, 1)]
        code += [rv32.csrr(2, contract.CSR_VSDAT), rv32.csrw(contract.CSR_VSDAT, 2)]
        with self._window(writes=True), self._saved(1, 2):
            self.run_quietly(code)

    @contextmanager
    def _saved(self, *numbers: int) -> Iterator[None]:
        """Registers that the debugger uses meanwhile."""
        with self.link.locked():
            values = self.run([rv32.addi(0, n, 0) for n in numbers])
            try:
                yield
            finally:
                for n, value in zip(numbers, values, strict=True):
                    self.set_register(n, value)

    @cached_property
    def csrs(self) -> dict[str, int]:
        """Names and addresses of the CSRs it has."""
        table = dict(rv32.STANDARD_CSRS)
        if self.is_firmware:
            return table
        with suppress(BringupError):
            self.csr(contract.CSR_SEPILOGUE)
            table["sepilogue"] = contract.CSR_SEPILOGUE
        with suppress(BringupError):
            self.csr(contract.CSR_SGRAIN)
            table["sgrain"] = contract.CSR_SGRAIN
        table |= rv32.stream_csrs(self.csr(contract.CSR_STREAMCFG) & rv32.STREAMCFG_STREAMS)
        if self.vector_bytes:
            table |= rv32.VECTOR_CSRS
            if self._has_varve:
                table |= {"mvarve": contract.CSR_MVARVE} | rv32.VARVE_CSRS
                with suppress(BringupError):
                    self.csr(contract.CSR_NUME)
                    table["nume"] = contract.CSR_NUME
        return table

    # ---- Memory ----------------------------------------------------------------------------------------------------------------

    def read_memory(self, address: int, count: int) -> bytes:
        """
        `count` bytes as its loads see them; of a core also its instruction memory. Raises BringupError.

        Whole words are read: reading registers may have effects beyond the bytes asked for.
        """
        if count <= 0:
            return b""
        _check_range(address, count)
        first = address & ~3
        words = -(-(address + count - first) // 4)
        imem = contract.CORE_IMEM_SIZE
        if self.is_firmware or first >= imem:
            data = self._read_words(first, words)
        else:
            data = self._fetch_words(first, min(words, (imem - first) // 4))
            if len(data) < 4 * words:
                data += self._read_words(imem, words - len(data) // 4)
        return data[address - first :][:count]

    def read_registers(self, addresses: Sequence[int]) -> list[int]:
        """The words at single addresses, each read once."""
        words: list[int] = []
        with self._saved(1):
            code: list[int] = []
            for address in addresses:
                low = (address & 0xFFF) - 0x1000 * (address >> 11 & 1)
                code += [rv32.lui(1, (address - low) & 0xFFFFFFFF), rv32.load(4, 0, 1, low)]
            words = self.run(code)[1::2]
        return words

    def write_memory(self, address: int, data: bytes) -> None:
        """Writes bytes; registers take whole aligned words only. Raises BringupError."""
        if not data:
            return
        _check_range(address, len(data))
        if not self.is_firmware and address < contract.CORE_IMEM_SIZE:
            raise BringupError(
                f"address {address:#x}: a core's instruction memory is written by the firmware, before it starts the core"
            )
        head = min(-address % 4, len(data))
        body = (len(data) - head) // 4
        with self._saved(1, 2), self._accessing(address, len(data)):
            self._store(1, address, list(data[:head]))
            self._store(4, address + head, list(struct.unpack_from(f"<{body}I", data, head)))
            self._store(1, address + head + 4 * body, list(data[head + 4 * body :]))

    def _store(self, width: int, address: int, values: Sequence[int]) -> None:
        per_base = 2 * _SPAN // width
        for start in range(0, len(values), per_base):
            code = rv32.set_register(1, (address + width * start + _SPAN) & 0xFFFFFFFF)
            for i, value in enumerate(values[start : start + per_base]):
                code += [*rv32.set_register(2, value), rv32.store(width, 2, 1, width * i - _SPAN)]
            self.run_quietly(code)

    def _read_words(self, address: int, count: int) -> bytes:
        words: list[int] = []
        per_base = 2 * _SPAN // 4
        with self._saved(1), self._accessing(address, 4 * count):
            for start in range(0, count, per_base):
                self.run_quietly(rv32.set_register(1, (address + 4 * start + _SPAN) & 0xFFFFFFFF))
                words += self.run([rv32.load(4, 0, 1, 4 * i - _SPAN) for i in range(min(count - start, per_base))])
        return struct.pack(f"<{count}I", *words)

    def _fetch_words(self, address: int, count: int) -> bytes:
        words: list[int] = []
        per_base = 2 * _SPAN // 4
        with self._saved(1):
            pc = self.pc
            try:
                for start in range(0, count, per_base):
                    operations: list[Operation] = [
                        (BASE + contract.DEBUG_INSN, i) for i in rv32.set_register(1, address + 4 * start + _SPAN)
                    ]
                    for i in range(min(count - start, per_base)):
                        operations += [
                            (BASE + contract.DEBUG_INSN, rv32.jalr(1, 4 * i - _SPAN)),
                            (BASE + contract.DEBUG_FETCH, 0),
                            _RESULT,
                        ]
                    words += self._operate(operations)
            finally:
                self.run_quietly([*rv32.set_register(1, pc), rv32.jalr(1, 0)])
        return struct.pack(f"<{count}I", *words)

    @contextmanager
    def _accessing(self, address: int, count: int) -> Iterator[None]:
        try:
            yield
        except AccessError as e:
            raise AccessError(f"{self.name}: at some address from {address:#x} to {address + count - 1:#x} nothing answers") from e

    # ---- Breakpoints -----------------------------------------------------------------------------------------------------------

    def set_breakpoint(self, address: int) -> None:
        """Halts it before the instruction at `address`. Raises BringupError when all breakpoint registers are in use."""
        with self.link.locked():
            free = None
            for k in range(self.block.breakpoints):
                harts = self.block.read(contract.DEBUG_BREAK_HARTS + 4 * k)
                if harts and self.block.read(contract.DEBUG_BREAK_ADDR + 4 * k) == address:
                    self.block.write(contract.DEBUG_BREAK_HARTS + 4 * k, harts | self.bit)
                    return
                if not harts and free is None:
                    free = k
            if free is None:
                raise BringupError(f"all {self.block.breakpoints} breakpoint registers of the board are in use: remove one")
            self.block.write(contract.DEBUG_BREAK_ADDR + 4 * free, address)
            self.block.write(contract.DEBUG_BREAK_HARTS + 4 * free, self.bit)

    def clear_breakpoint(self, address: int | None = None) -> None:
        """Removes its breakpoint at `address`, or all it has."""
        with self.link.locked():
            for k in range(self.block.breakpoints):
                harts = self.block.read(contract.DEBUG_BREAK_HARTS + 4 * k)
                at = self.block.read(contract.DEBUG_BREAK_ADDR + 4 * k)
                if harts & self.bit and address in (None, at):
                    self.block.write(contract.DEBUG_BREAK_HARTS + 4 * k, harts & ~self.bit)

    def catch(self, ebreak: bool = False, stops: bool = False, exits: bool = False) -> None:
        """What halts it besides: EBREAK, instead of trapping; stopping on a trap or hanging; exiting."""
        with self.link.locked():
            for register, on in (
                (contract.DEBUG_EBREAK, ebreak),
                (contract.DEBUG_STOPS, stops),
                (contract.DEBUG_EXITS, exits),
            ):
                harts = self.block.read(register)
                self.block.write(register, harts | self.bit if on else harts & ~self.bit)


def _check_range(address: int, count: int) -> None:
    if address < 0 or address + count > 1 << 32:
        raise BringupError(f"{address:#x} and {count} bytes: addresses have 32 bits")
