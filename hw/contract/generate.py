#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Generate Scala, C, Python and Markdown from the contract under hw/isa and hw/regs.

Usage: generate.py OUTDIR.  Writes OUTDIR/scala/*.scala, OUTDIR/c/assasin_contract.h, OUTDIR/python/assasin_contract.py and
OUTDIR/docs/contract.md.  A file is rewritten only when its text changes, so that builds stay incremental.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from steps import StepError, StepTables

HW = Path(__file__).resolve().parent.parent
SCALARS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}


FIELDS = {
    "rd": (7, 5),
    "rs1": (15, 5),
    "rs1=stream": (15, 5),
    "rs2": (20, 5),
    "vd": (7, 5),
    "vs": (15, 5),
    "vs1": (15, 5),
    "vs2": (20, 5),
    "simm5": (15, 5),
    "step": (20, 5),
    "vm": (25, 1),
    "vm=mask": (20, 5),
    "smask": (20, 12),
}
"""Lowest bit and width of the operand fields; those of `id` differ by instruction."""


class ContractError(Exception):
    """The contract contradicts itself; the message names file, item and rule."""


@dataclass(frozen=True)
class Instruction:
    """One line of a riscv-opcodes table: name, operand fields (without and with what `=` says of them) and the fixed bits."""

    name: str
    fields: tuple[str, ...]
    match: int
    mask: int
    operands: tuple[str, ...] = ()

    @property
    def ident(self) -> str:
        """Upper-case identifier, e.g. STREAM_READI_BU."""
        return self.name.upper().replace(".", "_")

    def places(self) -> tuple[tuple[str, int, int], ...]:
        """(operand, lowest bit, width) of each operand, in the table's order.

        `id` takes the bits that no other operand and no fixed range has. Raises ContractError when operands overlap, or leave bits.
        """
        free = ~self.mask & 0xFFFFFFFF
        known = {o: FIELDS[o] for o in self.operands if o != "id"}
        for operand, (lsb, width) in known.items():
            bits = ((1 << width) - 1) << lsb
            if bits & ~free:
                raise ContractError(f"{self.name}: operand {operand} is not in free bits")
            free &= ~bits
        if "id" in self.operands:
            lsb = (free & -free).bit_length() - 1
            known["id"] = (lsb, (free >> lsb).bit_length())
            if free >> lsb not in (7, 15):
                raise ContractError(f"{self.name}: id is not three or four bits")
            free = 0
        if free:
            raise ContractError(f"{self.name}: bits {free:#010x} are neither fixed nor an operand")
        return tuple((o, *known[o]) for o in self.operands)


def parse_opcodes(path: Path) -> list[Instruction]:
    """Parse a riscv-opcodes table (name, operand names, `hi..lo=value` ranges)."""
    out = []
    for number, raw in enumerate(path.read_text().splitlines(), 1):
        line = raw.split("#")[0].split()
        if not line:
            continue
        match = mask = 0
        fields, operands = [], []
        for word in line[1:]:
            ranged = re.fullmatch(r"(\d+)\.\.(\d+)=(\w+)", word)
            if not ranged:
                fields.append(word.split("=")[0])
                operands.append(word)
                continue
            hi, lo, value = int(ranged[1]), int(ranged[2]), int(ranged[3], 0)
            bits = ((1 << (hi - lo + 1)) - 1) << lo
            if mask & bits or value << lo & ~bits:
                raise ContractError(f"{path.name}:{number}: {word} overlaps another range or does not fit")
            mask |= bits
            match |= value << lo
        out.append(Instruction(line[0], tuple(fields), match, mask, tuple(operands)))
    check_overlap(path.name, out)
    return out


def check_overlap(where: str, table: list[Instruction]) -> None:
    """Refuse two instructions that one word could be."""
    for i, a in enumerate(table):
        for b in table[i + 1 :]:
            if (a.match ^ b.match) & a.mask & b.mask == 0:
                raise ContractError(f"{where}: {a.name} and {b.name} have overlapping encodings")


def field_size(kind: str) -> tuple[str, int, int]:
    """Split `u32[6]` into scalar, count and size in bytes."""
    parsed = re.fullmatch(r"(u8|u16|u32|u64)(?:\[(\d+)\])?", kind)
    if not parsed:
        raise ContractError(f"unknown field type {kind!r}")
    count = int(parsed[2] or 0)
    return parsed[1], count, SCALARS[parsed[1]] * max(count, 1)


class CoreTable:
    """What each kind of core runs, by its CoreArch: lists as long as the greatest code, 0 where a code runs nothing."""

    def __init__(self, enums: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
        codes = {e["name"]: {name: value for name, value, _ in e["values"]} for e in enums}
        archs, variants = codes["CoreArch"], codes["ScompVariant"]
        self.rows = rows
        size = max(archs.values()) + 1
        self.runs, self.own, self.library = [0] * size, [0] * size, [0] * size
        for row in rows:
            where = f"cores {row['arch']}"
            if row["arch"] not in archs:
                raise ContractError(f"{where}: no such CoreArch")
            if unknown := [name for name in [*row["runs"], row["library"]] if name not in variants]:
                raise ContractError(f"{where}: no such ScompVariant: {', '.join(unknown)}")
            if row["library"] not in row["runs"]:
                raise ContractError(f"{where}: they do not run what is built for {row['library']}")
            code = archs[row["arch"]]
            if self.runs[code]:
                raise ContractError(f"{where} are named twice")
            self.runs[code] = sum(1 << variants[name] for name in set(row["runs"]))
            self.own[code] = variants[row["runs"][-1]]
            self.library[code] = variants[row["library"]]


class Contract:
    """All tables, loaded and checked."""

    def __init__(self) -> None:
        load = {p.stem: tomllib.loads(p.read_text()) for p in sorted((HW / "regs").glob("*.toml"))}
        csr = tomllib.loads((HW / "isa" / "csrs.toml").read_text())
        self.instructions = parse_opcodes(HW / "isa" / "rv_xassasin")
        self.varve = parse_opcodes(HW / "isa" / "rv_xvarve")
        self.csrs: list[dict[str, Any]] = csr["csr"]
        self.causes: list[dict[str, Any]] = csr["cause"]
        self.windows: list[dict[str, Any]] = load["map"]["window"]
        self.blocks = {d["block"]: d for d in load.values() if "block" in d}
        self.enums = [e for d in load.values() for e in d.get("enum", [])]
        self.consts = [c for d in load.values() for c in d.get("const", [])]
        self.structs = [s for d in load.values() for s in d.get("struct", [])]
        self.cores = CoreTable(self.enums, load["scomp"]["cores"])
        try:
            self.steps = StepTables(load["flash"]["reg"], load["flash"]["enum"], load["flash"])
        except StepError as err:
            raise ContractError(f"flash.toml: {err}") from err
        self.check()

    def check(self) -> None:
        """Reject overlapping instructions, CSRs, registers, fields and windows and structs whose size or alignment is off."""
        check_overlap("rv_xassasin, rv_xvarve", self.instructions + self.varve)
        for ins in self.instructions + self.varve:
            ins.places()
        addresses: dict[int, str] = {}
        for csr in self.csrs:
            for address in range(csr["address"], csr["address"] + csr.get("count", 1)):
                if address in addresses:
                    raise ContractError(f"csrs.toml: {csr['name']} and {addresses[address]} are both at {address:#x}")
                addresses[address] = csr["name"]
        for name, block in self.blocks.items():
            used: dict[int, str] = {}
            for reg in block["reg"]:
                for i in range(reg.get("count", 1)):
                    at = reg["offset"] + 4 * i
                    if at % 4 or at in used:
                        raise ContractError(f"{name}.{reg['name']}: offset {at:#x} is misaligned or taken by {used.get(at)}")
                    used[at] = reg["name"]
                taken = 0
                for fname, lsb, width, _ in reg.get("fields", []):
                    bits = ((1 << width) - 1) << lsb
                    if bits & taken or lsb + width > 32:
                        raise ContractError(f"{name}.{reg['name']}.{fname}: overlaps a field or passes bit 31")
                    taken |= bits
        spans = sorted(
            (w["base"] + w.get("stride", 0) * i, w["size"], w["name"])
            for w in self.windows
            if not w.get("local")
            for i in range(w.get("count", 1))
        )
        for (base, size, name), (following, _, other) in pairwise(spans):
            if base + size > following:
                raise ContractError(f"windows {name} and {other} overlap at {following:#x}")
        for struct in self.structs:
            offset = 0
            for fname, kind, _ in struct["fields"]:
                scalar, _, size = field_size(kind)
                if offset % SCALARS[scalar]:
                    raise ContractError(f"{struct['name']}.{fname}: offset {offset} is not aligned to {scalar}")
                offset += size
            if offset != struct["size"]:
                raise ContractError(f"{struct['name']}: fields take {offset} bytes, size says {struct['size']}")


def camel(name: str) -> str:
    """UPPER_SNAKE or lower_snake to UpperCamel."""
    return "".join(part.capitalize() for part in name.lower().split("_"))


def snake(name: str) -> str:
    """UpperCamel to UPPER_SNAKE."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


PYTHON_TABLES = '''
class Operand(NamedTuple):
    """An operand field of an instruction; `name` as in the table under hw/isa."""

    name: str
    lsb: int
    width: int


class Instruction(NamedTuple):
    """An instruction: a word is one when word & mask == match."""

    name: str
    operands: tuple[Operand, ...]
    match: int
    mask: int


class Field(NamedTuple):
    """Bits of a register."""

    name: str
    lsb: int
    width: int
    doc: str


class Register(NamedTuple):
    """A register, or `count` of them four bytes apart. `takes`: reading one changes something."""

    name: str
    offset: int
    count: int
    access: str
    takes: bool
    doc: str
    fields: tuple[Field, ...]


class Block(NamedTuple):
    """A register block."""

    title: str
    registers: tuple[Register, ...]

'''

BANNER = "Generated by hw/contract/generate.py from hw/isa and hw/regs. Do not edit."


def scala(c: Contract) -> dict[str, str]:
    """Scala objects in package assasin.contract."""
    head = f"// {BANNER}\npackage assasin.contract\n\n"
    out = {}
    tables = (("Stream", "Stream instructions", c.instructions), ("Varve", "Instructions of VarVE", c.varve))
    for name, title, instructions in tables:
        body = f"import chisel3.util.BitPat\n\n/** {title} as decode patterns. */\nobject {name}Instructions {{\n"
        for ins in instructions:
            bits = "".join(("1" if ins.match >> b & 1 else "0") if ins.mask >> b & 1 else "?" for b in range(31, -1, -1))
            body += f'  def {ins.ident}: BitPat = BitPat("b{bits}")\n'
        out[f"{name}Instructions.scala"] = head + body + "}\n"

    def addresses(unit: str) -> str:
        rows = [r for r in c.csrs if r.get("unit", "stream") == unit]
        return "".join(f"  /** {r['doc']} */\n  val {camel(r['name'])}: Int = {r['address']:#x}\n" for r in rows)

    out["VarveCsr.scala"] = head + "/** CSR addresses of VarVE. */\nobject VarveCsr {\n" + addresses("varve") + "}\n"
    body = "/** Stream CSR addresses (first of each group). */\nobject StreamCsr {\n" + addresses("stream") + "}\n\n"
    body += "/** Exception causes (mcause). */\nobject Cause {\n"
    body += "".join(f"  /** {r['doc']} */\n  val {camel(r['name'])}: Int = {r['code']}\n" for r in c.causes) + "}\n"
    out["StreamCsr.scala"] = head + body
    body = "/** Address map: base, size, stride and count of every window, bytes. */\nobject AddressMap {\n"
    for w in c.windows:
        n = camel(w["name"])
        body += f'  /** {w["doc"]} */\n  object {n} {{\n    val base: BigInt = BigInt("{w["base"]:x}", 16)\n'
        body += f'    val size: BigInt = BigInt("{w["size"]:x}", 16)\n    val stride: Int = {w.get("stride", 0):#x}\n'
        body += f"    val count: Int = {w.get('count', 1)}\n  }}\n"
    out["AddressMap.scala"] = head + body + "}\n"
    for name, block in c.blocks.items():
        obj = camel(name) + "Regs"
        body = f"/** {block['title']}: register byte offsets, reset values and fields (lsb, width). */\nobject {obj} {{\n"
        for reg in block["reg"]:
            r = camel(reg["name"])
            body += f"  /** {reg['doc'] or reg['name']} */\n  object {r} {{\n    val offset: Int = {reg['offset']:#x}\n"
            body += f'    val count: Int = {reg.get("count", 1)}\n    val reset: BigInt = BigInt("{reg.get("reset", 0):x}", 16)\n'
            for fname, lsb, width, doc in reg.get("fields", []):
                body += f"    /** {doc} */\n    object {camel(fname)} {{ val lsb: Int = {lsb}; val width: Int = {width} }}\n"
            body += "  }\n"
        out[f"{obj}.scala"] = head + body + "}\n"
    body = ""
    for e in c.enums:
        body += f"/** {e['doc']}. */\nobject {e['name']} {{\n"
        body += "".join(f"  /** {doc} */\n  val {camel(n)}: Int = {v:#x}\n" for n, v, doc in e["values"]) + "}\n\n"
    out["Enums.scala"] = head + body
    return out


def c_header(c: Contract) -> str:
    """One C11/C++17 header: constants, field macros, packed structs with static asserts."""
    o = [f"/* {BANNER} */", "#ifndef ASSASIN_CONTRACT_H", "#define ASSASIN_CONTRACT_H", ""]
    o += ["#ifndef __ASSEMBLER__", "#include <assert.h>", "#include <stddef.h>", "#include <stdint.h>", "#endif", ""]
    for ins in c.instructions:
        o += [f"#define ASSASIN_MATCH_{ins.ident} {ins.match:#010x}", f"#define ASSASIN_MASK_{ins.ident} {ins.mask:#010x}"]
    for ins in c.varve:
        o += [f"#define VARVE_MATCH_{ins.ident} {ins.match:#010x}", f"#define VARVE_MASK_{ins.ident} {ins.mask:#010x}"]
    o += [""] + [f"#define ASSASIN_CSR_{r['name']} {r['address']:#x} /* {r['doc']} */" for r in c.csrs]
    o += [""] + [f"#define ASSASIN_CAUSE_{r['name']} {r['code']} /* {r['doc']} */" for r in c.causes] + [""]
    for w in c.windows:
        o += [
            f"#define ASSASIN_{w['name']}_BASE {w['base']:#010x}u /* {w['doc']} */",
            f"#define ASSASIN_{w['name']}_SIZE {w['size']:#010x}u",
        ]
        if "stride" in w:
            o += [f"#define ASSASIN_{w['name']}_STRIDE {w['stride']:#x}u", f"#define ASSASIN_{w['name']}_COUNT {w['count']}u"]
    for name, block in c.blocks.items():
        o += ["", f"/* {block['title']} */"]
        if "base" in block:
            o += [f"#define ASSASIN_{name}_BASE {block['base']:#x}u"]
        for reg in block["reg"]:
            o += [f"#define {name}_{reg['name']} {reg['offset']:#x}u /* {reg['access']}: {reg['doc']} */"]
            for fname, lsb, width, doc in reg.get("fields", []):
                stem = f"{name}_{reg['name']}_{fname}"
                o += [f"#define {stem}_SHIFT {lsb} /* {doc} */", f"#define {stem}_MASK {(1 << width) - 1:#x}u"]
    for e in c.enums:
        o += ["", f"/* {e['doc']} */"]
        o += [f"#define {snake(e['name'])}_{n} {v:#x}u /* {doc} */" for n, v, doc in e["values"]]
    o += [""] + [f"#define {k['name']} {k['value']:#x}u /* {k['doc']} */" for k in c.consts]
    o += ["", "/* What every ONFI part takes: initialisers of tables with the words of FLASH_STEPS and FLASH_PHASES. */"]
    o += ["#define FLASH_DEFAULT_STEPS \\", "    { \\"]
    o += [
        f"        {word:#x}u, /* {i}: {name} */ \\" for i, (word, name) in enumerate(zip(c.steps.steps, c.steps.names, strict=True))
    ]
    o += ["    }", f"#define FLASH_DEFAULT_STEP_COUNT {len(c.steps.steps)}"]
    o += [f"#define FLASH_DEFAULT_PHASES {{ {', '.join(f'{word:#x}u' for word in c.steps.phases)} }}"]
    o += ["", "/* Initialisers of tables by CORE_ARCH_*. 0: no chip has it. Bits 1 << SCOMP_VARIANT_*: programs that they run. */"]
    o += [f"#define SCOMP_CORES_RUN {{ {', '.join(f'{bits:#x}u' for bits in c.cores.runs)} }}"]
    o += ["/* Their own SCOMP_VARIANT_*, and the one whose builds of this project's offloads they take. */"]
    o += [f"#define SCOMP_CORES_VARIANT {{ {', '.join(f'{v}u' for v in c.cores.own)} }}"]
    o += [f"#define SCOMP_CORES_LIBRARY {{ {', '.join(f'{v}u' for v in c.cores.library)} }}"]
    o += ["", "#ifndef __ASSEMBLER__"]
    for s in c.structs:
        o += ["", f"/** {s['doc']} */", f"struct {s['name']} {{"]
        for fname, kind, doc in s["fields"]:
            scalar, count, _ = field_size(kind)
            o += [f"    uint{SCALARS[scalar] * 8}_t {fname}{f'[{count}]' if count else ''}; /**< {doc} */"]
        o += ["};", f'static_assert(sizeof(struct {s["name"]}) == {s["size"]}, "{s["name"]} size");']
        offset = 0
        for fname, kind, _ in s["fields"]:
            o += [f'static_assert(offsetof(struct {s["name"]}, {fname}) == {offset}, "{s["name"]}.{fname} offset");']
            offset += field_size(kind)[2]
    return "\n".join(o + ["", "#endif", "", "#endif", ""])


def python(c: Contract) -> str:
    """One Python module: constants and ctypes structures."""
    o = [f'"""{BANNER}"""', "", "from __future__ import annotations", "", "import ctypes", "from typing import NamedTuple", ""]
    o += [PYTHON_TABLES]
    for ins in c.instructions:
        o += [f"MATCH_{ins.ident} = {ins.match:#010x}", f"MASK_{ins.ident} = {ins.mask:#010x}"]
    for ins in c.varve:
        o += [f"VARVE_MATCH_{ins.ident} = {ins.match:#010x}", f"VARVE_MASK_{ins.ident} = {ins.mask:#010x}"]
    o += ["INSTRUCTIONS = ("]
    for ins in c.instructions + c.varve:
        places = ", ".join(f"Operand({o!r}, {lsb}, {width})" for o, lsb, width in ins.places())
        o += [f"    Instruction({ins.name!r}, ({places},), {ins.match:#010x}, {ins.mask:#010x}),"]
    o += [")"]
    o += [f"CSR_{r['name']} = {r['address']:#x}" for r in c.csrs] + [f"CAUSE_{r['name']} = {r['code']}" for r in c.causes]
    for w in c.windows:
        o += [f"{w['name']}_BASE = {w['base']:#x}", f"{w['name']}_SIZE = {w['size']:#x}"]
    for name, block in c.blocks.items():
        if "base" in block:
            o += [f"{name}_BASE = {block['base']:#x}"]
        for reg in block["reg"]:
            o += [f"{name}_{reg['name']} = {reg['offset']:#x}"]
            for fname, lsb, width, _ in reg.get("fields", []):
                o += [f"{name}_{reg['name']}_{fname}_SHIFT = {lsb}", f"{name}_{reg['name']}_{fname}_MASK = {(1 << width) - 1:#x}"]
    for e in c.enums:
        o += [f"{snake(e['name'])}_{n} = {v:#x}" for n, v, _ in e["values"]]
        o += [f"{snake(e['name'])} = {{{', '.join(f'{v:#x}: {n!r}' for n, v, _ in e['values'])}}}"]
        o += [f"{snake(e['name'])}_DOC = {{{', '.join(f'{v:#x}: {d!r}' for _, v, d in e['values'])}}}"]
    o += [f"{k['name']} = {k['value']:#x}" for k in c.consts]
    o += [f"SCOMP_CORES_RUN = {tuple(c.cores.runs)!r}"]
    o += ["BLOCKS = {"]
    for name, block in c.blocks.items():
        o += [f"    {name!r}: Block({block['title']!r}, ("]
        for reg in block["reg"]:
            head = (reg["name"], reg["offset"], reg.get("count", 1), reg["access"], reg.get("takes", False), reg["doc"])
            fields = "".join(f"Field{tuple(f)!r}, " for f in reg.get("fields", []))
            o += [f"        Register(*{head!r}, ({fields})),"]
        o += ["    )),"]
    o += ["}"]
    for s in c.structs:
        o += ["", "", f"class {camel(s['name'])}(ctypes.LittleEndianStructure):", f'    """{s["doc"]}"""', "", "    _fields_ = ["]
        for fname, kind, _ in s["fields"]:
            scalar, count, _ = field_size(kind)
            ctype = f"ctypes.c_uint{SCALARS[scalar] * 8}"
            o += [f'        ("{fname}", {ctype}{f" * {count}" if count else ""}),']
        o += ["    ]", "", "", f"assert ctypes.sizeof({camel(s['name'])}) == {s['size']}"]
    return "\n".join(o) + "\n"


def markdown(c: Contract) -> str:
    """Reference tables."""
    o = [
        "# Contract reference",
        "",
        BANNER,
        "",
        "## Stream instructions",
        "",
        "| instruction | operands | match | mask |",
        "|---|---|---|---|",
    ]
    o += [f"| `{i.name}` | {', '.join(i.fields)} | `{i.match:08x}` | `{i.mask:08x}` |" for i in c.instructions]
    o += ["", "## Instructions of VarVE", "", "| instruction | operands | match | mask |", "|---|---|---|---|"]
    o += [f"| `{i.name}` | {', '.join(i.operands)} | `{i.match:08x}` | `{i.mask:08x}` |" for i in c.varve]
    o += ["", "## CSRs", "", "| CSR | address | access | meaning |", "|---|---|---|---|"]
    o += [f"| {r['name']} | {r['address']:#x}{'+s' if 'count' in r else ''} | {r['access']} | {r['doc']} |" for r in c.csrs]
    o += ["", "## Exception causes", "", "| cause | code | meaning |", "|---|---|---|"]
    o += [f"| {r['name']} | {r['code']} | {r['doc']} |" for r in c.causes]
    o += ["", "## Address map", "", "| window | base | size | meaning |", "|---|---|---|---|"]
    for w in c.windows:
        many = f" + n*{w['stride']:x}" if "stride" in w else ""
        o += [f"| {w['name']} | `{w['base']:08x}`{many} | `{w['size']:x}` | {w['doc']} |"]
    for name, block in c.blocks.items():
        o += ["", f"## {name}: {block['title']}", "", "| register | offset | access | meaning |", "|---|---|---|---|"]
        for reg in block["reg"]:
            many = f"[{reg['count']}]" if "count" in reg else ""
            fields = "".join(f"<br>[{lsb + w - 1}:{lsb}] {n}: {d}" for n, lsb, w, d in reg.get("fields", []))
            o += [f"| {reg['name']}{many} | {reg['offset']:#05x} | {reg['access']} | {reg['doc']}{fields} |"]
    o += ["", "## Default command steps of a flash channel", "", "| place | step | word |", "|---|---|---|"]
    o += [f"| {i} | {name} | {word:#x} |" for i, (word, name) in enumerate(zip(c.steps.steps, c.steps.names, strict=True))]
    for e in c.enums:
        o += ["", f"## {e['name']}", "", e["doc"], "", "| name | value | meaning |", "|---|---|---|"]
        o += [f"| {n} | {v:#x} | {d} |" for n, v, d in e["values"]]
    o += ["", "## What cores run", "", "| CoreArch | programs built for | offloads of this project built for |", "|---|---|---|"]
    o += [f"| {row['arch']} | {', '.join(row['runs'])} | {row['library']} |" for row in c.cores.rows]
    for s in c.structs:
        o += [
            "",
            f"## struct {s['name']} ({s['size']} bytes)",
            "",
            s["doc"],
            "",
            "| offset | field | type | meaning |",
            "|---|---|---|---|",
        ]
        offset = 0
        for fname, kind, doc in s["fields"]:
            o += [f"| {offset} | {fname} | {kind} | {doc} |"]
            offset += field_size(kind)[2]
    return "\n".join(o) + "\n"


def write(path: Path, text: str) -> None:
    """Write text unless the file already holds it."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main() -> int:
    """Entry point; exit status 1 and a message on a contradiction."""
    if len(sys.argv) != 2:
        print("usage: generate.py OUTDIR", file=sys.stderr)
        return 2
    out = Path(sys.argv[1])
    try:
        contract = Contract()
    except (ContractError, KeyError, tomllib.TOMLDecodeError) as err:
        print(f"contract: {err}", file=sys.stderr)
        return 1
    for name, text in scala(contract).items():
        write(out / "scala" / name, text)
    write(out / "c" / "assasin_contract.h", c_header(contract))
    write(out / "python" / "assasin_contract.py", python(contract))
    write(out / "docs" / "contract.md", markdown(contract))
    return 0


if __name__ == "__main__":
    sys.exit(main())
