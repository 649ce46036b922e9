# SPDX-License-Identifier: BSD-3-Clause
"""GDB on a core with a vector unit: a debug block with a model of a halted hart behind it, and the real GDB."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from assasin.bringup import dump, varve_state
from assasin.bringup.gdbserver import GdbServer, target_description
from assasin.bringup.hart import BASE, AccessError, DebugBlock, Hart
from assasin.bringup.link import BringupError, Link, Operation
from assasin.bringup.rv32 import STANDARD_CSRS, VECTOR_CSRS
from assasin.bringup.wire import Wire
from assasin.tree import contract

GDB = "gdb-multiarch"
GDB_SECONDS = 120
VILL = 1 << 31
E32M1 = 2 << 3
MSTATUS = STANDARD_CSRS["mstatus"]
VSTART, VL, VTYPE, VLENB = (VECTOR_CSRS[n] for n in ("vstart", "vl", "vtype", "vlenb"))


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


class Model(Link):
    """A debug block with one core, which is halted: what it executes is what the debugger gives it."""

    def __init__(self, lock: Path, vlen: int = 256, varve: bool = False) -> None:
        super().__init__("model", lock)
        self.vlen = vlen
        self.varve = varve
        self.x = [0] * 32
        self.pc = 0x100
        self.csrs = dict.fromkeys(STANDARD_CSRS.values(), 0) | {contract.CSR_SEPILOGUE: 0, contract.CSR_STREAMCFG: 0}
        if vlen:
            self.csrs |= dict.fromkeys(VECTOR_CSRS.values(), 0) | {VTYPE: VILL, VLENB: vlen // 8, contract.CSR_VSSEL: 0}
        if varve:
            own = (contract.CSR_VSFMT, contract.CSR_VSAUX, contract.CSR_VVCFG, contract.CSR_NUME)
            self.csrs |= dict.fromkeys(own, 0) | {contract.CSR_MVARVE: 1}
        self.words: dict[int, int] = {}
        """Words of the window by VSSEL, besides those of class 1."""
        self.v = [bytearray(random.Random(n).randbytes(vlen // 8)) for n in range(32)]
        self.written: list[int] = []
        self.result = 0
        self.error = False

    def close(self) -> None:
        pass

    def access(self, operations: Sequence[Operation]) -> list[int]:
        return [word for offset, value in operations if (word := self._one(offset - BASE, value)) is not None]

    def _one(self, register: int, value: int | None) -> int | None:
        if value is None:
            return {
                contract.DEBUG_INFO: 1 << 24 | 4 << 8 | 1,
                contract.DEBUG_HALTED: 1,
                contract.DEBUG_HALT: 1,
                contract.DEBUG_STATUS: self.error << 1 | contract.CORE_STATE_RUNNING << 4,
                contract.DEBUG_RESULT: self.result,
            }.get(register, 0)
        if register == contract.DEBUG_SELECT:
            self.error = False
        elif register == contract.DEBUG_INSN:
            self._execute(value)
        elif register == contract.DEBUG_FETCH:
            self.result = 0x13
        return None

    # ---- The hart --------------------------------------------------------------------------------------------------------------

    def _execute(self, insn: int) -> None:
        opcode, rd, funct3 = insn & 0x7F, insn >> 7 & 31, insn >> 12 & 7
        rs1, rs2, imm = insn >> 15 & 31, insn >> 20 & 31, _signed(insn >> 20, 12)
        if opcode == 0x37:
            value = insn & 0xFFFFF000
        elif opcode == 0x17:
            value = self.pc
        elif opcode == 0x13 and funct3 == 0:
            value = self.x[rs1] + imm & 0xFFFFFFFF
        elif opcode == 0x67:
            self.pc = self.x[rs1] + imm & 0xFFFFFFFF
            return
        elif opcode == 0x57 and funct3 == 7 and insn >> 25 == 0x40 and self.csrs.get(MSTATUS, 0) & 0x600:
            value = self._vsetvl(self.x[rs1], self.x[rs2])
        elif opcode == 0x73 and funct3 in (1, 2) and (old := self._csr(insn >> 20, funct3 == 1)) is not None:
            value = old
            if funct3 == 1:
                self._write_csr(insn >> 20, self.x[rs1])
        else:
            self.error = True
            return
        self.result = value
        if rd:
            self.x[rd] = value

    def _csr(self, number: int, write: bool) -> int | None:
        """None: illegal."""
        of_varve = contract.CSR_VSFMT <= number <= contract.CSR_VVCFG
        on = self.csrs[contract.CSR_MVARVE] if self.varve and of_varve else self.csrs[MSTATUS] & 0x600
        if ((of_varve or number in VECTOR_CSRS.values()) and not on) or (write and number >> 10 == 3):
            return None
        if number == contract.CSR_VSDAT and self.vlen:
            place = self._place()
            if place is None:
                return self.words.get(self.csrs[contract.CSR_VSSEL], 0)
            return int.from_bytes(place[0][place[1] : place[1] + 4], "little")
        return self.csrs.get(number)

    def _place(self) -> tuple[bytearray, int] | None:
        select = self.csrs[contract.CSR_VSSEL]
        reg, index = select & 0xFF, select >> 8 & 0xFFF
        return (self.v[reg], 4 * index) if select >> 28 == 1 and reg < 32 and index < self.vlen // 32 else None

    def _write_csr(self, number: int, value: int) -> None:
        if number == MSTATUS:
            self.csrs[MSTATUS] = value & (0x600 if self.vlen else 0) | 0x1800
            return
        if number == contract.CSR_VSDAT:
            place = self._place()
            if place:
                place[0][place[1] : place[1] + 4] = value.to_bytes(4, "little")
            elif self.csrs[contract.CSR_VSSEL] in self.words:
                self.words[self.csrs[contract.CSR_VSSEL]] = value
                self.written.append(self.csrs[contract.CSR_VSSEL])
        else:
            self.csrs[number] = value
        if self.varve and contract.CSR_VSFMT <= number <= contract.CSR_VVCFG:
            self.csrs[contract.CSR_MVARVE] = 3
        if number in VECTOR_CSRS.values() or number in (contract.CSR_VSDAT, contract.CSR_NUME):
            self.csrs[MSTATUS] |= 0x600

    def _vsetvl(self, avl: int, vtype: int) -> int:
        sew, lmul = 8 << (vtype >> 3 & 7), _signed(vtype & 7, 3)
        legal = vtype < 0x100 and sew <= 32 and lmul >= 0
        self.csrs[VTYPE] = vtype if legal else VILL
        self.csrs[VL] = min(avl, self.vlen * (1 << lmul) // sew) if legal else 0
        self.csrs[VSTART] = 0
        self.csrs[MSTATUS] |= 0x600
        return self.csrs[VL]


def core(tmp_path: Path, vlen: int = 256, varve: bool = False) -> tuple[Model, Hart]:
    model = Model(tmp_path / "lock", vlen, varve)
    return model, DebugBlock(model).hart(0)


def set_states(model: Model, vs: int, mvarve: int) -> None:
    model.csrs[MSTATUS] = vs << 9 | 0x1800
    if model.varve:
        model.csrs[contract.CSR_MVARVE] = mvarve


@pytest.mark.parametrize("varve", [False, True])
@pytest.mark.parametrize("vlen", [64, 128, 256, 512])
def test_vector_registers(tmp_path: Path, vlen: int, varve: bool) -> None:
    model, hart = core(tmp_path, vlen, varve)
    assert hart.vector_bytes == vlen // 8
    for vs in range(4):
        for mvarve in range(4):
            set_states(model, vs, mvarve)
            model.csrs[contract.CSR_VSSEL] = 0x40001234
            before = [0, *(0x11111111 * n & 0xFFFFFFFF for n in range(1, 32))]
            model.x = list(before)
            old = dict(model.csrs)
            for n in (0, 1, 17, 31):
                assert hart.vector(n) == model.v[n]
            assert model.csrs == old, "looking changes nothing"
            data = random.Random(vs).randbytes(vlen // 8)
            hart.set_vector(5, data)
            assert model.v[5] == data
            assert model.x == before
            assert model.csrs[contract.CSR_VSSEL] == 0x40001234
            assert model.csrs[MSTATUS] >> 9 & 3 == (3 if vs else 0)
            if varve:
                assert model.csrs[contract.CSR_MVARVE] == (3 if mvarve else 0)


def test_vector_csrs(tmp_path: Path) -> None:
    model, hart = core(tmp_path)
    assert hart.csr(VTYPE) == VILL
    assert model.csrs[MSTATUS] & 0x600 == 0
    set_states(model, 1, 1)
    hart.set_csr(VTYPE, E32M1)
    model.csrs[VSTART] = 3
    hart.set_csr(VL, 5)
    assert (model.csrs[VL], model.csrs[VTYPE], model.csrs[VSTART]) == (5, E32M1, 3)
    assert model.csrs[MSTATUS] & 0x600 == 0x600
    hart.set_csr(VTYPE, E32M1 | 1)
    assert (hart.csr(VL), hart.csr(VTYPE)) == (5, E32M1 | 1)
    with pytest.raises(BringupError, match="0x10"):
        hart.set_csr(VL, 17)
    with pytest.raises(BringupError, match="cannot have"):
        hart.set_csr(VTYPE, 7 << 3)
    with pytest.raises(AccessError):
        hart.set_csr(VLENB, 64)
    hart.set_csr(VECTOR_CSRS["vxrm"], 2)
    assert hart.csr(VECTOR_CSRS["vxrm"]) == 2
    assert set(VECTOR_CSRS) < set(dump.hart(hart)["csrs"])


def test_a_core_without_vectors(tmp_path: Path) -> None:
    model, hart = core(tmp_path, vlen=0)
    assert hart.vector_bytes == 0
    assert not set(VECTOR_CSRS) & set(hart.csrs)
    assert "riscv.vector" not in target_description(hart.csrs, hart.vector_bytes)
    assert model.csrs[MSTATUS] & 0x600 == 0


def test_varve_csrs(tmp_path: Path) -> None:
    model, hart = core(tmp_path, varve=True)
    assert {"mvarve", "vsfmt", "vsaux", "vssel", "vsdat", "vvcfg", "nume"} < set(hart.csrs)
    set_states(model, 0, 0)
    hart.set_csr(contract.CSR_VSFMT, 0x123)
    assert hart.csr(contract.CSR_VSFMT) == 0x123
    assert model.csrs[contract.CSR_MVARVE] == 0


def test_the_description_is_xml(tmp_path: Path) -> None:
    _, hart = core(tmp_path)
    root = ElementTree.fromstring(target_description(hart.csrs, hart.vector_bytes))
    numbers = [r.get("regnum") for r in root.iter("reg")]
    assert len(set(numbers)) == len(numbers)
    feature = next(f for f in root.iter("feature") if f.get("name") == "org.gnu.gdb.riscv.vector")
    assert [(r.get("name"), r.get("bitsize")) for r in feature.iter("reg")] == [(f"v{n}", "256") for n in range(32)]


def gdb(hart: Hart, commands: list[str]) -> str:
    """What GDB says; it is connected to a server for `hart`."""
    if shutil.which(GDB) is None:
        pytest.fail(f"{GDB} is missing: scripts/setup installs it")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                GdbServer(hart, Wire(connection.fileno(), connection.fileno())).serve()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        script = ["set pagination off", f"target remote 127.0.0.1:{listener.getsockname()[1]}", *commands, "detach"]
        run = subprocess.run(
            [GDB, "-q", "-nx", "-batch", *(x for c in script for x in ("-ex", c))],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=GDB_SECONDS,
        )
        thread.join(10)
    assert run.returncode == 0, run.stderr
    return run.stdout + run.stderr


@pytest.mark.parametrize("varve", [False, True])
def test_gdb(tmp_path: Path, varve: bool) -> None:
    model, hart = core(tmp_path, varve=varve)
    model.v[3][:] = bytes(range(32))
    said = gdb(
        hart,
        [
            "print/x $v3.w[1]",
            "print/x $v3.b[31]",
            "info registers v3",
            "print $vlenb",
            "print $vl",
            "set $v4.w[7] = 0x12345678",
            "print/x $v4.s[15]",
            "set $vtype = 16",
            "set $vl = 6",
            "set $vxrm = 2",
            "print $vl * 100 + $vxrm",
            "info registers vector",
            "print $a0",
        ],
    )
    assert "$1 = 0x7060504" in said
    assert "$2 = 0x1f" in said
    assert "v3             {b = {0x0, 0x1" in said
    assert "$3 = 32\n$4 = 0\n$5 = 0x1234" in said
    assert "$6 = 602" in said
    assert "v31 " in said
    assert model.v[4][28:] == bytes.fromhex("78563412")
    assert (model.csrs[VL], model.csrs[VTYPE]) == (6, E32M1)


def with_elements(model: Model) -> None:
    """v3 holds 1, -2, 300 and 0 as signed elements; v9 is a mask of 4 elements; NumE is 4. Input 1 and output 0 are open."""
    model.v[3][:] = bytes([1, 0xFE, 300 & 255, 300 >> 8]).ljust(32, b"\0")
    model.csrs[contract.CSR_VVCFG] = 3 | 3 << 4 | 64 << 8 | 32 << 16
    model.csrs[contract.CSR_NUME] = 4 | 1 << 31
    state = varve_state.select
    model.words = {state(3, n): 32 << 16 for n in range(32)} | {state(3, 3): 1 | 2 << 2 | 4 << 16, state(3, 9): 4 << 16}
    model.words |= {state(2, 3, i): width for i, width in enumerate((2, 2, 10, 0))}
    model.words |= {state(0, 1): 1 | (11 | 1 << 7 | 1 << 8 | 1 << 10) << 4, state(0, 1, 1): 0x44, state(0, 1, 3): 5}
    model.words |= {state(0, 1, 6): 0xFFFFFFFF, state(0, 1, 8): 49}
    model.words |= {state(0, 16): 1 | 1 << 1 | (2 << 8) << 4 | 6 << 24, state(0, 16, 1): 0x900, state(0, 16, 4): 0x700}


def test_elements_and_streams(tmp_path: Path) -> None:
    model, hart = core(tmp_path, varve=True)
    with_elements(model)
    set_states(model, 1, 1)
    model.x = list(range(32))
    old = dict(model.csrs)
    v3 = varve_state.vector(hart, 3)
    assert v3.elements(8) == [1, -2, 300, 0]
    assert varve_state.vector(hart, 9).text(8).startswith("v9: fixed width, mask length 4: ")
    assert varve_state.vectors_text(hart) == (
        "NumE 4, PACKED\nv3: 4 elements, signed, up to 32 bits\n  1 (2 bits), -2 (2 bits), 300 (10 bits), 0 (0 bits)\n"
    )
    assert varve_state.streams_text(hart) == (
        "input s1: fixed width 11 bits, unsigned, up to 16 bits, stream buffer, at byte 0x44 bit 5, 49 elements done,"
        " to the stream's end\n"
        "output s0: VarWidth, signed, up to 32 bits, memory, at byte 0x900 bit 0, next width at 0x700, 0 elements done,"
        " pending error 6\n"
    )
    assert (model.csrs, model.x) == (old, list(range(32))), "looking changes nothing"
    hart.set_vector(3, bytes([5]).ljust(32, b"\0"))
    assert model.written == [varve_state.select(3, 3)], "the data count when the rest is written"
    assert varve_state.vector(hart, 3).elements(8)[0] == 5


def test_harts_without(tmp_path: Path) -> None:
    _, plain = core(tmp_path)
    assert varve_state.streams_text(plain) == "core 0 has no VarVE\n"
    assert "has no VarVE-full" in varve_state.vectors_text(plain)
    _, pup = core(tmp_path, varve=True)
    assert varve_state.streams_text(pup) == "no stream is open\n"


def test_gdb_shows_elements(tmp_path: Path) -> None:
    model, hart = core(tmp_path, varve=True)
    with_elements(model)
    said = gdb(hart, ["monitor vectors", "monitor vectors v9 $v3", "monitor vectors v32", "monitor streams"])
    assert said.count("300 (10 bits)") == 2
    assert "v9: fixed width, mask length 4" in said
    assert "vector registers are v0 to v31" in said
    assert "input s1: fixed width 11 bits" in said
