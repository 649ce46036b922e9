# SPDX-License-Identifier: BSD-3-Clause
"""RV32 as far as a debugger needs it: encoders of the instructions it lets a hart execute, names of registers."""

from __future__ import annotations

from assasin.tree import contract

EBREAK = 0x00100073

GPR_NAMES = (
    ["zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1"]
    + [f"a{i}" for i in range(8)]
    + [f"s{i}" for i in range(2, 12)]
    + [f"t{i}" for i in range(3, 7)]
)

STANDARD_CSRS = {
    "mstatus": 0x300,
    "misa": 0x301,
    "mie": 0x304,
    "mtvec": 0x305,
    "mscratch": 0x340,
    "mepc": 0x341,
    "mcause": 0x342,
    "mtval": 0x343,
    "mip": 0x344,
    "mcycle": 0xB00,
    "minstret": 0xB02,
    "mcycleh": 0xB80,
    "minstreth": 0xB82,
    "mhartid": 0xF14,
}
"""CSRs that every hart has."""

VECTOR_CSRS = {"vstart": 0x008, "vxsat": 0x009, "vxrm": 0x00A, "vcsr": 0x00F, "vl": 0xC20, "vtype": 0xC21, "vlenb": 0xC22}
"""Those of a hart with a vector unit; illegal while mstatus.VS is Off."""

VARVE_CSRS = {n.lower(): getattr(contract, f"CSR_{n}") for n in ("VSFMT", "VSAUX", "VSSEL", "VSDAT", "VVCFG")}
"""Those of a hart whose vector unit has VarVE, besides MVARVE; illegal while MVARVE is Off."""

MSTATUS_VS = 3 << 9
VECTOR_REGISTERS = 32
WINDOW_DATA = 1 << 28
"""VSSEL: class of vector registers' words."""
WINDOW_REGISTER = 3 << 28
"""VSSEL: class of what else a vector register has."""
WINDOW_WORD = 1 << 8
"""VSSEL: from one word to the next."""

CAUSES = {
    0: "misaligned instruction",
    1: "instruction access fault",
    2: "illegal instruction",
    3: "EBREAK",
    4: "misaligned load",
    5: "load access fault",
    6: "misaligned store",
    7: "store access fault",
    11: "ECALL",
    contract.CAUSE_STREAM_RANGE: "stream range",
}
"""mcause in words."""

_STREAM_GROUPS = ("IHEAD", "ITAIL", "OHEAD", "OTAIL", "IEND")
STREAMCFG_STREAMS = 0xF


def stream_csrs(streams: int) -> dict[str, int]:
    """Names and addresses of the pointers of the first `streams` streams."""
    table = {"streamcfg": contract.CSR_STREAMCFG}
    for group in _STREAM_GROUPS:
        table |= {f"{group.lower()}{s}": getattr(contract, f"CSR_{group}") + s for s in range(streams)}
    return table


def _signed(imm: int) -> int:
    if not -2048 <= imm <= 2047:
        raise ValueError(f"immediate {imm}: 12 bits hold -2048 to 2047")
    return imm & 0xFFF


def lui(rd: int, value: int) -> int:
    """Upper 20 bits of `value` to rd."""
    return (value & 0xFFFFF000) | rd << 7 | 0x37


def auipc(rd: int) -> int:
    """PC to rd."""
    return rd << 7 | 0x17


def addi(rd: int, rs1: int, imm: int) -> int:
    """Sum."""
    return _signed(imm) << 20 | rs1 << 15 | rd << 7 | 0x13


def jalr(rs1: int, imm: int) -> int:
    """Jump without a link."""
    return _signed(imm) << 20 | rs1 << 15 | 0x67


def load(width: int, rd: int, rs1: int, imm: int) -> int:
    """LBU, LHU or LW: `width` bytes."""
    funct3 = {1: 4, 2: 5, 4: 2}[width]
    return _signed(imm) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x03


def store(width: int, rs2: int, rs1: int, imm: int) -> int:
    """SB, SH or SW: `width` bytes."""
    funct3 = {1: 0, 2: 1, 4: 2}[width]
    i = _signed(imm)
    return (i >> 5) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (i & 0x1F) << 7 | 0x23


def csrr(rd: int, csr: int) -> int:
    """CSR to rd."""
    return csr << 20 | 2 << 12 | rd << 7 | 0x73


def csrw(csr: int, rs1: int) -> int:
    """rs1 to CSR."""
    return csr << 20 | rs1 << 15 | 1 << 12 | 0x73


def vsetvl(rs1: int, rs2: int) -> int:
    """vl from rs1 and vtype from rs2."""
    return 0x40 << 25 | rs2 << 20 | rs1 << 15 | 7 << 12 | 0x57


def set_register(rd: int, value: int) -> list[int]:
    """Instructions that put `value` into rd."""
    low = (value & 0xFFF) - 0x1000 * (value >> 11 & 1)
    return [lui(rd, (value - low) & 0xFFFFFFFF), addi(rd, rd, low)]
