# SPDX-License-Identifier: BSD-3-Clause
"""Instructions as text: RV32IM, Zicsr and machine mode from the table here, the project's own from the contract's.

Register operands have their ABI names, immediates are decimal (shifts, lui and auipc hexadecimal), targets are addresses; there
are no aliases. Operands of the stream ISA and VarVE: `s0` is stream 0, `v3` a vector register, `v0.t` a mask. Of RVV only
vsetvli and vsetivli are named. Any other word is `.word 0x...`.
"""

from __future__ import annotations

from assasin.bringup import rv32
from assasin.tree import contract

_REGISTERS = ["s0" if name == "fp" else name for name in rv32.GPR_NAMES]

_CSRS = {address: name for name, address in rv32.STANDARD_CSRS.items()}
_CSRS |= {0x008: "vstart", 0x009: "vxsat", 0x00A: "vxrm", 0x00F: "vcsr", 0xC20: "vl", 0xC21: "vtype", 0xC22: "vlenb"}
for _name in ("SEPILOGUE", "SGRAIN", "STREAMCFG", "VSFMT", "VSAUX", "VSSEL", "VSDAT", "NUME", "VVCFG", "MVARVE"):
    _CSRS[getattr(contract, f"CSR_{_name}")] = _name.lower()
for _name in ("IHEADW", "OHEADW", "IHEAD", "ITAIL", "OHEAD", "OTAIL", "IEND", "IWAIT", "OWAIT"):
    _CSRS |= {getattr(contract, f"CSR_{_name}") + s: f"{_name.lower()}{s}" for s in range(8)}

_OP = {
    0x000: "add",
    0x100: "sub",
    0x001: "sll",
    0x002: "slt",
    0x003: "sltu",
    0x004: "xor",
    0x005: "srl",
    0x105: "sra",
    0x006: "or",
    0x007: "and",
} | {0x008 | f: n for f, n in enumerate(("mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"))}
"""By funct7 bit 5, bit 0 and funct3: 256 * funct7[5] + 8 * funct7[0] + funct3."""
_BRANCH = {0: "beq", 1: "bne", 4: "blt", 5: "bge", 6: "bltu", 7: "bgeu"}
_LOAD = {0: "lb", 1: "lh", 2: "lw", 4: "lbu", 5: "lhu"}
_STORE = {0: "sb", 1: "sh", 2: "sw"}
_OP_IMM = {0: "addi", 2: "slti", 3: "sltiu", 4: "xori", 6: "ori", 7: "andi"}
_CSR_OP = {1: "csrrw", 2: "csrrs", 3: "csrrc", 5: "csrrwi", 6: "csrrsi", 7: "csrrci"}
_WHOLE = {0x73: "ecall", 0x100073: "ebreak", 0x30200073: "mret", 0x10500073: "wfi", 0x100F: "fence.i"}


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _vtype(value: int) -> str:
    lmul = _signed(value & 7, 3)
    group = f"m{1 << lmul}" if lmul >= 0 else f"mf{1 << -lmul}"
    tail, mask = "ta" if value & 0x40 else "tu", "ma" if value & 0x80 else "mu"
    return f"e{8 << (value >> 3 & 7)},{group},{tail},{mask}"


def _own(word: int) -> str | None:
    """An instruction of the contract's table."""
    for row in contract.INSTRUCTIONS:
        if word & row.mask == row.match:
            break
    else:
        return None
    shown = []
    masked = False
    for name, lsb, width in row.operands:
        value = word >> lsb & ((1 << width) - 1)
        if name in ("rd", "rs1", "rs2"):
            shown.append(_REGISTERS[value])
        elif name in ("vd", "vs", "vs1", "vs2"):
            shown.append(f"v{value}")
        elif name in ("id", "rs1=stream"):
            shown.append(f"s{value}")
        elif name == "simm5":
            unsigned = row.name in ("vv.asl.vi", "vv.asr.vi")
            shown.append(str(value if unsigned else _signed(value, 5)))
        elif name == "step":
            shown.append(str(_signed(value, 5)))
        elif name == "smask":
            shown.append("{" + " ".join(f"s{s}" for s in range(width) if value >> s & 1) + "}")
        elif name == "vm=mask":
            shown.append(f"v{value}.t")
        elif name == "vm":
            masked = not value
    if masked:
        shown.append("v0.t")
    return f"{row.name} {','.join(shown)}"


def _base(word: int, pc: int) -> str | None:
    """An instruction of RV32IM, Zicsr or machine mode."""
    if word in _WHOLE:
        return _WHOLE[word]
    opcode, f3, f7 = word & 0x7F, word >> 12 & 7, word >> 25
    rd, rs1, rs2 = (_REGISTERS[word >> at & 31] for at in (7, 15, 20))
    imm = _signed(word >> 20, 12)
    if opcode in (0x37, 0x17):
        return f"{'lui' if opcode == 0x37 else 'auipc'} {rd},{word >> 12:#x}"
    if opcode == 0x6F:
        target = word >> 31 << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1
        return f"jal {rd},{pc + _signed(target, 21) & 0xFFFFFFFF:x}"
    if opcode == 0x67 and f3 == 0:
        return f"jalr {rd},{imm}({rs1})"
    if opcode == 0x63 and f3 in _BRANCH:
        target = word >> 31 << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 0x3F) << 5 | (word >> 8 & 15) << 1
        return f"{_BRANCH[f3]} {rs1},{rs2},{pc + _signed(target, 13) & 0xFFFFFFFF:x}"
    if opcode == 0x03 and f3 in _LOAD:
        return f"{_LOAD[f3]} {rd},{imm}({rs1})"
    if opcode == 0x23 and f3 in _STORE:
        return f"{_STORE[f3]} {rs2},{_signed(f7 << 5 | word >> 7 & 31, 12)}({rs1})"
    if opcode == 0x13:
        if f3 in _OP_IMM:
            return f"{_OP_IMM[f3]} {rd},{rs1},{imm}"
        name = {(1, 0): "slli", (5, 0): "srli", (5, 0x20): "srai"}.get((f3, f7))
        return f"{name} {rd},{rs1},{word >> 20 & 31:#x}" if name else None
    if opcode == 0x33 and f7 in (0, 1, 0x20):
        name = _OP.get((f7 >> 5) << 8 | (f7 & 1) << 3 | f3)
        return f"{name} {rd},{rs1},{rs2}" if name else None
    if opcode == 0x0F and f3 == 0 and word & 0xF00FFF80 == 0:
        sets = ["".join(c for i, c in enumerate("iorw") if word >> at & 8 >> i) or "unknown" for at in (24, 20)]
        return f"fence {sets[0]},{sets[1]}"
    if opcode == 0x73 and f3 in _CSR_OP:
        csr = _CSRS.get(word >> 20, f"{word >> 20:#x}")
        return f"{_CSR_OP[f3]} {rd},{csr},{word >> 15 & 31 if f3 & 4 else rs1}"
    if opcode == 0x57 and f3 == 7 and word >> 31 == 0:
        return f"vsetvli {rd},{rs1},{_vtype(word >> 20 & 0x7FF)}"
    if opcode == 0x57 and f3 == 7 and word >> 30 == 3:
        return f"vsetivli {rd},{word >> 15 & 31},{_vtype(word >> 20 & 0x3FF)}"
    return None


def text(word: int, pc: int) -> str:
    """The instruction at `pc` in words; `.word 0x...` when there is none."""
    word &= 0xFFFFFFFF
    return _base(word, pc) or _own(word) or f".word {word:#010x}"


def listing(code: bytes, address: int) -> str:
    """A line for each word of `code`, little-endian, that lies at `address`."""
    words = (int.from_bytes(code[i : i + 4], "little") for i in range(0, len(code) - 3, 4))
    return "".join(f"{address + 4 * i:8x}:  {w:08x}  {text(w, address + 4 * i)}\n" for i, w in enumerate(words))
