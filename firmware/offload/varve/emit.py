# SPDX-License-Identifier: BSD-3-Clause
"""The C text of a filter in its four forms (docs/varve/bench.md 3.2)."""

from __future__ import annotations

import re

from description import AnyOf, Clause, Column, Equal, Filter, Test, tests

_VMAND, _VMOR = "__riscv_vmand({}, {}, vl)", "__riscv_vmor({}, {}, vl)"
_LEAST_HELD = 31
"""Results after which VARVE_MODEL gives a register to another value."""


def text(f: Filter) -> str:
    """The C file of a filter."""
    forms = (
        ("#if defined VARVE_SCALAR", _Scalar(f).body()),
        ("#elif defined VARVE_ZVE", _Zve(f).body()),
        ("#elif defined VARVE_PUP", _Streams(f, predicated=False).body()),
        ("#else", _Streams(f, predicated=True).body()),
    )
    lines = [
        "/* SPDX-License-Identifier: BSD-3-Clause */",
        f"/* Made by generate.py from tpch.toml: {f.name}, table {f.table}.",
        f"   where {_sql(f)}",
        *(f"   input {k}: {c.name}" for k, c in enumerate(f.inputs)),
        *(f"   output {k}: {c.name}" for k, c in enumerate(f.select)),
        f"   {_choice(f)} */",
        "#include <varve_filter.h>",
        "",
        f"uintptr_t {f.name}(const struct varve_filter_args *a);",
        f"uintptr_t {f.name}(const struct varve_filter_args *a) {{",
        "    const uintptr_t rows = a->rows;",
    ]
    for directive, body in forms:
        lines += [directive, *("    " + line for line in body)]
    lines += ["#endif", "}"]
    return "\n".join(lines) + "\n"


def _sql(f: Filter) -> str:
    """The predicate as a comment."""

    def test(t: Test) -> str:
        if isinstance(t, Equal):
            said = f"{t.column.name} in {', '.join(_named(t.column, v) for v in t.values)}"
        else:
            low = "" if t.low is None else f"{t.low} <= "
            said = f"{low}{t.column.name}" + ("" if t.high is None else f" <= {t.high}")
        return f"not ({said})" if t.negated else said

    def clause(c: Clause) -> str:
        if not isinstance(c, AnyOf):
            return test(c)
        return "one of (" + "; or ".join(" and ".join(map(test, a)) for a in c.alternatives) + ")"

    return ";\n   and ".join(map(clause, f.where))


def _named(column: Column, value: int) -> str:
    """A constant with its word."""
    if column.ascii and value in range(32, 127):
        return f"{value} ({chr(value)})"
    return f"{value} ({column.codes[value]})" if 0 <= value < len(column.codes) else str(value)


def _choice(f: Filter) -> str:
    """What a reader must know of push."""
    late = dict.fromkeys(t.column.name for c in f.where[1:] if not c.push for t in tests(c))
    return (
        f"VarVE-full reads for every row: {', '.join(late)}."
        if late
        else "VarVE-full reads later columns only for rows that are left."
    )


class _Form:
    """What the forms share: stream numbers of columns."""

    def __init__(self, f: Filter) -> None:
        self.f = f
        self.inputs = f.inputs

    def stream(self, column: Column) -> int:
        """The number of the input stream of a column."""
        return self.inputs.index(column)

    def pointers(self, byte: str, word: str) -> list[str]:
        """Local variables in0, ... and out0, ... over the streams."""
        lines = []
        for k, c in enumerate(self.inputs):
            kind = byte if c.pad == 8 else word
            lines.append(f"const {kind} *restrict in{k} = a->stream[{k}].base;")
        for k, c in enumerate(self.f.select):
            kind = byte if c.pad == 8 else word
            lines.append(f"{kind} *restrict out{k} = a->stream[{len(self.inputs) + k}].base;")
        return lines

    def found(self) -> str:
        """The number of rows stored, from the first output."""
        kind = "uint8_t" if self.f.select[0].pad == 8 else "int32_t"
        return f"return (uintptr_t)(out0 - ({kind} *)a->stream[{len(self.inputs)}].base);"


class _Scalar(_Form):
    """Plain C over arrays: a row at a time, the next clause only when the one before holds."""

    def body(self) -> list[str]:
        """Lines of the function."""
        loop = []
        for clause in self.f.where:
            loop += [f"if (!({self.clause(clause)}))", "    continue;"]
        loop += [f"*out{k}++ = in{self.stream(c)}[i];" for k, c in enumerate(self.f.select)]
        head = [*self.pointers("uint8_t", "int32_t"), "for (uintptr_t i = 0; i < rows; i++) {"]
        return [*head, *("    " + line for line in loop), "}", self.found()]

    def clause(self, clause: Clause) -> str:
        if not isinstance(clause, AnyOf):
            return self.test(clause)
        return " ||\n      ".join("(" + " && ".join(map(self.test, a)) + ")" for a in clause.alternatives)

    def test(self, t: Test) -> str:
        x = f"in{self.stream(t.column)}[i]"
        if isinstance(t, Equal):
            said = " || ".join(f"{x} == {v}" for v in t.values)
        else:
            ends = ([] if t.low is None else [f"{x} >= {_c(t.low)}"]) + ([] if t.high is None else [f"{x} <= {_c(t.high)}"])
            said = " && ".join(ends)
        return f"!({said})" if t.negated else f"({said})"


def _c(value: int) -> str:
    """A constant of C; the least 32-bit number has no literal."""
    return f"({value})" if value < 0 else str(value)


class _Zve(_Form):
    """RVV's Zve32x by intrinsics; VARVE_LMUL and VARVE_NARROW say how wide (varve_zve.h)."""

    def body(self) -> list[str]:
        """Lines of the function."""
        self.lines: list[str] = []
        self.loaded: set[Column] = set()
        self.keys: set[Column] = set()
        self.names = 0
        mask = ""
        for clause in self.f.where:
            for t in tests(clause):
                self.key(t.column)
            mask = self.mask(_both(_VMAND, mask, self.clause(clause)))
        self.lines.append(f"size_t d = __riscv_vcpop({mask}, vl);")
        for k, c in enumerate(self.f.select):
            self.load(c)
            self.lines.append(f"vz_store{c.pad}(out{k}, __riscv_vcompress(x{self.stream(c)}, {mask}, vl), d);")
        self.lines.append(", ".join(f"in{k} += vl" for k in range(len(self.inputs))) + ";")
        self.lines.append(", ".join(f"out{k} += d" for k in range(len(self.f.select))) + ";")
        head = [
            *self.pointers("uint8_t", "int32_t"),
            "for (size_t left = rows, vl; left; left -= vl) {",
            "    vl = vz_length(left);",
        ]
        return [*head, *("    " + line for line in self.lines), "}", self.found()]

    def mask(self, value: str) -> str:
        """Keeps a mask in a variable of its own."""
        self.names += 1
        self.lines.append(f"vzmask_t m{self.names} = {value};")
        return f"m{self.names}"

    def key(self, column: Column) -> None:
        """Loads a column that is compared."""
        self.load(column)
        if column.pad == 8 and column not in self.keys:
            k = self.stream(column)
            self.lines.append(f"vzkey8_t k{k} = vz_key8(x{k}, vl);")
        self.keys.add(column)

    def load(self, column: Column) -> None:
        if column not in self.loaded:
            self.loaded.add(column)
            k = self.stream(column)
            self.lines.append(f"vz{column.pad}_t x{k} = vz_load{column.pad}(in{k}, vl);")

    def clause(self, clause: Clause) -> str:
        if not isinstance(clause, AnyOf):
            return self.test(clause)
        joined = ""
        for alternative in clause.alternatives:
            inner = ""
            for t in alternative:
                inner = self.mask(_both(_VMAND, inner, self.test(t)))
            joined = self.mask(_both(_VMOR, joined, inner)) if joined else inner
        return joined

    def test(self, t: Test) -> str:
        x, pad = f"{'k' if t.column.pad == 8 else 'x'}{self.stream(t.column)}", t.column.pad
        if isinstance(t, Equal):
            joined = ""
            for v in t.values:
                one = f"__riscv_{'vmsne' if t.negated else 'vmseq'}({x}, {_c(v)}, vl)"
                joined = _both(_VMAND if t.negated else _VMOR, joined, one)
            return joined
        if t.low is None or t.high is None:
            above = (t.high is None) != t.negated
            bound = (t.low - 1) if t.low is not None else t.high
            return f"vz_{'gt' if above else 'le'}{pad}({x}, {_c(bound)}, vl)"
        return f"vz_{'outside' if t.negated else 'between'}{pad}({x}, {_c(t.low)}, {_c(t.high)}, vl)"


def _both(pattern: str, first: str, second: str) -> str:
    """`second`, or the pattern with both when there is a first."""
    return pattern.format(first, second) if first else second


class _Streams(_Form):
    """
    Text over varve.h's streams.

    predicated: VarVE-full; columns behind the first clause are read under the mask so far, and compares of them are predicated by
    it. Else VarVE-pup, whose compares under a mask are a compare and an `and`.
    """

    def __init__(self, f: Filter, predicated: bool) -> None:
        super().__init__(f)
        self.predicated = predicated

    def body(self) -> list[str]:
        """Lines of the function."""
        self.lines: list[str] = []
        self.masked: dict[Column, bool] = {}
        self.constants: dict[int, str] = {}
        self.names = 0
        mask = ""
        for clause in self.f.where:
            for t in tests(clause):
                self.unpack(t.column, mask if clause.push else "")
            mask = self.clause(clause, mask)
        for c in self.f.select:
            self.unpack(c, mask)
        self.lines += [f"vv_pack_m({mask}, x{self.stream(c)}, {k});" for k, c in enumerate(self.f.select)]
        # The next strip's are unpacked before this strip's masks and values have been packed.
        self.lines += [f"vv_keep(x{self.stream(c)});" for c, masked in self.masked.items() if not masked]
        if sum(len(re.findall(r"\bvv_(?!hold|keep|pack)\w+\(", line)) for line in self.lines) > _LEAST_HELD:
            self.lines = [part for line in self.lines for part in self.holding(line)]
        inputs, outputs = len(self.inputs), len(self.f.select)
        head = []
        for k, c in enumerate(self.inputs):
            head.append(f"VARVE_FILTER_IN({k}, rows, {_sign(c)});")
        for k, c in enumerate(self.f.select):
            head.append(f"VARVE_FILTER_OUT({k}, {inputs + k}, {_sign(c)});")
        head += [f"const intptr_t {name} = vv_number({_c(value)});" for value, name in self.constants.items()]
        head += ["VV_BEGIN();", f"VV_STRIPS({(1 << inputs) - 1}) {{"]
        ends = [f"VV_END_IN({k});" for k in range(inputs)] + [f"VV_END_OUT({k});" for k in range(1, outputs)]
        return [*head, *("    " + line for line in self.lines), "}", *ends, "return VV_END_OUT(0);"]

    def unpack(self, column: Column, mask: str) -> None:
        if column in self.masked:
            return
        self.masked[column] = bool(mask)
        k = self.stream(column)
        self.lines.append(f"vv_t x{k} = {f'vv_unpack_m({mask}, {k})' if mask else f'vv_unpack({k})'};")

    def constant(self, value: int) -> str:
        """A constant that an instruction can hold, or the variable that has it over the whole loop."""
        if -16 <= value <= 15:
            return _c(value)
        return self.constants.setdefault(value, f"c{len(self.constants)}")

    def holding(self, line: str) -> list[str]:
        """A line, and behind an unpack that its value is needed for longer."""
        found = re.match(r"vv_t (x\d+) = ", line)
        return [line, f"vv_hold({found[1]});"] if found else [line]

    def mask(self, value: str) -> str:
        """Keeps a mask in a variable of its own."""
        name = f"m{self.names}"
        self.names += 1
        self.lines.append(f"vvmask_t {name} = {value};")
        return name

    def clause(self, clause: Clause, mask: str) -> str:
        """The mask of the rows of `mask` for which the clause holds."""
        if not isinstance(clause, AnyOf):
            return self.mask(self.test(clause, mask))
        joined = ""
        for alternative in clause.alternatives:
            inner = mask if self.predicated else ""
            for t in alternative:
                inner = self.mask(self.test(t, inner, inside=True))
            joined = self.mask(f"vv_mask_or({joined}, {inner})") if joined else inner
        return joined if self.predicated or not mask else self.mask(f"vv_mask_and({mask}, {joined})")

    def test(self, t: Test, mask: str, inside: bool = False) -> str:
        """The mask of the rows of `mask` for which the test holds; inside: `mask` is an alternative's, not the clauses' before."""
        x = f"x{self.stream(t.column)}"
        # A zero that a mask left out must not be compared: it would hold, and take as many slots as the constant.
        under = bool(mask) and self.predicated and (self.masked[t.column] or inside)

        def compare(name: str, value: int) -> str:
            number = self.constant(value)
            return f"vv_{name}_xm({mask}, {x}, {number})" if under else f"vv_{name}_x({x}, {number})"

        if isinstance(t, Equal):
            joined = ""
            for v in t.values:
                joined = _both(
                    f"vv_mask_{'and' if t.negated else 'or'}({{}}, {{}})", joined, compare("ne" if t.negated else "eq", v)
                )
        elif t.low is None or t.high is None:
            above = (t.high is None) != t.negated
            joined = compare("gt" if above else "le", t.low - 1 if t.low is not None else t.high)
        elif t.negated:
            joined = f"vv_mask_or({compare('le', t.low - 1)}, {compare('gt', t.high)})"
        else:
            joined = f"vv_mask_and({compare('gt', t.low - 1)}, {compare('le', t.high)})"
        return joined if under or not mask else f"vv_mask_and({mask}, {joined})"


def _sign(column: Column) -> str:
    return "VV_UNSIGNED" if column.unsigned else "VV_SIGNED"
