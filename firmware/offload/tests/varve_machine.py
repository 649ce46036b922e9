# SPDX-License-Identifier: BSD-3-Clause
"""The functional model of VarVE in Python (hw/cosim/varve_c.h, built into build/offload/varve/model.so), and encoders of its words.

Encoders take their bits from the contract's table, so that the model's own decoding is checked against it.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import ClassVar

import assasin_contract as contract

LIBRARY = Path(__file__).resolve().parents[3] / "build" / "offload" / "varve" / "model.so"
DONE, WAIT, TRAP, NOT_MINE = range(4)
ILLEGAL, LOAD_FAULT, STORE_FAULT = 2, 5, 7
UNSIGNED, BUFFER = 0x80, 0x400
MB = {8: 0, 16: 0x100, 32: 0x200, 64: 0x300}
BASE, SIZE = 0x1000, 0x10000
"""Memory of a machine."""

_TABLE = {i.name: i for i in contract.INSTRUCTIONS}


def word(name: str, **operands: int) -> int:
    """A word of this name; operands as the table calls them, `mask` for vm=mask. vm is 1 where it is not given."""
    row = _TABLE[name]
    bits = row.match
    for field in row.operands:
        key = "mask" if field.name == "vm=mask" else field.name
        value = operands.pop(key, 1 if key == "vm" else 0)
        bits |= (value & ((1 << field.width) - 1)) << field.lsb
    assert not operands, f"{name} has no {', '.join(operands)}"
    return bits


class _Params(ctypes.Structure):
    _fields_: ClassVar = [
        (n, ctypes.c_uint32) for n in ("xlen", "vlen", "g", "mbmax", "z", "nin", "streams", "pup", "full", "meta_slots")
    ]


class _Outcome(ctypes.Structure):
    _fields_: ClassVar = [
        ("what", ctypes.c_uint32),
        ("cause", ctypes.c_uint32),
        ("tval", ctypes.c_uint64),
        ("value", ctypes.c_uint64),
        *((n, ctypes.c_uint32) for n in ("wen", "rd", "waits_output", "waits_for")),
    ]


_P, _U32, _U64, _U8, _BOOL = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint8, ctypes.c_bool
_FUNCTIONS = {
    "load": ctypes.CFUNCTYPE(_BOOL, _P, _U64, ctypes.POINTER(_U8)),
    "store": ctypes.CFUNCTYPE(_BOOL, _P, _U64, _U8),
    "storable": ctypes.CFUNCTYPE(_BOOL, _P, _U64),
    "head": ctypes.CFUNCTYPE(_U64, _P, _U32, _BOOL),
    "consumed": ctypes.CFUNCTYPE(None, _P, _U32, _U64),
    "stream_byte": ctypes.CFUNCTYPE(_U8, _P, _U32, _U64),
    "delivered": ctypes.CFUNCTYPE(_U64, _P, _U32),
    "end": ctypes.CFUNCTYPE(_BOOL, _P, _U32, ctypes.POINTER(_U64)),
    "room": ctypes.CFUNCTYPE(_U64, _P, _U32),
    "append": ctypes.CFUNCTYPE(None, _P, _U32, _U8),
}


class _World(ctypes.Structure):
    _fields_: ClassVar = [("user", _P), *_FUNCTIONS.items()]


class Trap(Exception):
    """An exception: cause and tval."""

    def __init__(self, cause: int, tval: int) -> None:
        super().__init__(f"trap, cause {cause}, tval {tval:#x}")
        self.cause, self.tval = cause, tval


class Waits(Exception):
    """A stream has too little data or room."""


class Machine:
    """A model with a memory and eight stream buffers each way."""

    def __init__(self, **params: int) -> None:
        defaults = {"xlen": 32, "vlen": 256, "g": 8, "mbmax": 64, "z": 1, "nin": 9, "streams": 8, "pup": 1, "full": 1}
        self.params = defaults | params
        self.emax = self.params["z"] * self.params["vlen"] // self.params["g"]
        self.memory = bytearray(SIZE)
        self.inputs = [bytearray() for _ in range(8)]
        """What has been delivered."""
        self.ends: list[int | None] = [None] * 8
        self.heads = [0] * 8
        self.outputs = [bytearray() for _ in range(8)]
        self.rooms = [1 << 20] * 8
        self._lib = ctypes.CDLL(str(LIBRARY))
        self._lib.varve_create.restype = _P
        self._lib.varve_same.restype = self._lib.varve_owns.restype = _BOOL
        self._keep = {name: kind(getattr(self, f"_{name}")) for name, kind in _FUNCTIONS.items()}
        world = _World(None, *self._keep.values())
        self._model = self._lib.varve_create(ctypes.byref(_Params(**self.params)), ctypes.byref(world))
        assert self._model, f"illegal parameters {self.params}"
        self.model = _P(self._model)

    def close(self) -> None:
        """Frees the model."""
        self._lib.varve_destroy(self.model)

    def _load(self, _user: int, address: int, byte: ctypes._Pointer[ctypes.c_uint8]) -> bool:
        if not BASE <= address < BASE + SIZE:
            return False
        byte[0] = self.memory[address - BASE]
        return True

    def _store(self, _user: int, address: int, byte: int) -> bool:
        if not BASE <= address < BASE + SIZE:
            return False
        self.memory[address - BASE] = byte
        return True

    def _storable(self, _user: int, address: int) -> bool:
        return BASE <= address < BASE + SIZE

    def _head(self, _user: int, stream: int, output: bool) -> int:
        return len(self.outputs[stream]) if output else self.heads[stream]

    def _consumed(self, _user: int, stream: int, position: int) -> None:
        assert position >= self.heads[stream], "IHEAD goes back"
        assert position <= len(self.inputs[stream]), "IHEAD passes ITAIL"
        self.heads[stream] = position

    def _stream_byte(self, _user: int, stream: int, position: int) -> int:
        assert self.heads[stream] <= position < len(self.inputs[stream]), "reads what is not there"
        return self.inputs[stream][position]

    def _delivered(self, _user: int, stream: int) -> int:
        return len(self.inputs[stream])

    def _end(self, _user: int, stream: int, position: ctypes._Pointer[ctypes.c_uint64]) -> bool:
        end = self.ends[stream]
        position[0] = end or 0
        return end is not None

    def _room(self, _user: int, stream: int) -> int:
        return self.rooms[stream]

    def _append(self, _user: int, stream: int, byte: int) -> None:
        assert len(self.outputs[stream]) < self.rooms[stream], "OHEAD passes OTAIL"
        self.outputs[stream].append(byte)

    def put(self, address: int, data: bytes) -> int:
        """Writes memory; returns the address."""
        self.memory[address - BASE : address - BASE + len(data)] = data
        return address

    def get(self, address: int, size: int) -> bytes:
        """Reads memory."""
        return bytes(self.memory[address - BASE : address - BASE + size])

    def raw(self, insn: int, rs1: int = 0, rs2: int = 0) -> _Outcome:
        """Executes a word."""
        out = _Outcome()
        self._lib.varve_step(self.model, _U32(insn), _U64(rs1), _U64(rs2), ctypes.byref(out))
        return out

    def step(self, name: str, rs1_value: int = 0, rs2_value: int = 0, **operands: int) -> int:
        """Executes an instruction; returns what rd gets. Raises Trap, Waits."""
        mask = (1 << self.params["xlen"]) - 1
        out = self.raw(word(name, **operands), rs1_value & mask, rs2_value & mask)
        if out.what == TRAP:
            raise Trap(out.cause, out.tval)
        if out.what == WAIT:
            raise Waits(f"{'output' if out.waits_output else 'input'} {out.waits_for}")
        assert out.what == DONE
        return int(out.value)

    def csr(self, number: int, value: int | None = None) -> int:
        """Reads a CSR, or writes it."""
        out = _Outcome()
        self._lib.varve_csr(self.model, _U32(number), _U32(1), _U64(value or 0), _BOOL(value is not None), ctypes.byref(out))
        if out.what != DONE:
            raise Trap(out.cause, out.tval)
        return int(out.value)

    def vs(self, state: int | None = None) -> int:
        """mstatus.VS; writes it."""
        if state is not None:
            self._lib.varve_set_vs(self.model, _U32(state))
        return int(self._lib.varve_vs(self.model))

    def declare(self, name: str, stream: int, base: int, count: int = 0, fmt: int = 0, aux: int = 0) -> None:
        """VSFMT, VSAUX and the declaration."""
        self.csr(contract.CSR_VSFMT, fmt)
        self.csr(contract.CSR_VSAUX, aux)
        self.step(name, base, count, id=stream)

    def setvl(self, avl: int, sew: int = 32, lmul: int = 0) -> int:
        """vsetvli a0, avl, e<sew>, LMUL 2^lmul, ta, ma."""
        vtype = 0xC0 | (sew // 8).bit_length() - 1 << 3 | lmul & 7
        return int(self.raw(vtype << 20 | 11 << 15 | 7 << 12 | 10 << 7 | 0x57, avl).value)

    def elements(self, register: int) -> tuple[list[int], list[int]] | None:
        """Values modulo 2^64 and widths of a VAR register; None: it is FIXED."""
        values, widths = (_U64 * 1024)(), (_U8 * 1024)()
        n = self._lib.varve_elements(self.model, _U32(register), values, widths, _U32(1024))
        return None if n < 0 else (list(values[:n]), list(widths[:n]))

    def bytes_of(self, register: int) -> bytes:
        """Contents of a register."""
        out = (_U8 * (self.params["vlen"] // 8))()
        self._lib.varve_raw(self.model, _U32(register), out)
        return bytes(out)

    def mask(self, register: int) -> int:
        """A mask register as a number."""
        return int.from_bytes(self.bytes_of(register), "little")

    def write(self, register: int, data: bytes) -> None:
        """Writes a register as an RVV instruction does."""
        self._lib.varve_write_raw(self.model, _U32(register), data.ljust(self.params["vlen"] // 8, b"\0"))

    def owns(self, stream: int, output: bool) -> bool:
        """Whether stream.* of custom-0 is illegal on a stream buffer."""
        return bool(self._lib.varve_owns(self.model, _U32(stream), _BOOL(output)))

    def difference(self, other: Machine) -> str:
        """What differs in the architectural state; empty: nothing."""
        text = ctypes.create_string_buffer(200)
        same = self._lib.varve_same(self.model, other.model, text, _U32(200))
        assert same == (not text.value)
        return text.value.decode()
