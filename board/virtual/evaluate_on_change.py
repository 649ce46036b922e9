# SPDX-License-Identifier: BSD-3-Clause
"""
Makes the model of a hierarchical block (Verilator's --hierarchical) follow events: it is evaluated when an input has another value
than before, or its clock has an edge, and at an edge it leaves out what depends on inputs, which is up to date. As Verilator writes
it, it is evaluated whenever the logic around it is. The block must have registers and combinational logic only: a latch, or a clock
gate of its own, would have to see its inputs at an edge.

The chip's model then compares and copies the block's ports itself. As Verilator writes it, it calls functions of DPI-C, for which
each port is converted, and back.

Usage: evaluate_on_change.py FOLDER TOP BLOCK    changes files of the models VTOP, in FOLDER, and VBLOCK, in FOLDER/VBLOCK
Exit code 1: they are not as the Verilator in scripts/requirements.txt writes them; nothing is changed.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

CONTAINER = """\
#pragma once
#include <cstring>
#include "V{block}.h"
extern thread_local bool V{block}_inputs_changed; // whether logic that depends on inputs is evaluated
class V{block}_container: public V{block} {{
  public:
    long long m_seqnum = 0;
    bool settled = false; // its outputs are those of its inputs
    V{block}_container(const char* scope): V{block}(scope) {{}}
    template <typename T> bool set(T &input, const T &value) {{
        if (std::memcmp(&input, &value, sizeof value) == 0) return false;
        input = value;
        return true;
    }}
    long long update(bool changed) {{
        if (changed || !settled) {{
            settled = true;
            eval();
        }}
        return m_seqnum++;
    }}
    long long edge(CData level) {{
        clock = level;
        V{block}_inputs_changed = !settled;
        eval();
        V{block}_inputs_changed = true;
        return m_seqnum++;
    }}
}};
"""


class Source:
    """A C++ file that Verilator has written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text()

    def replace(self, pattern: str, by: str | Callable[[re.Match[str]], str]) -> None:
        """Replaces a pattern that is found once; otherwise raises SystemExit."""
        self.text, found = re.subn(pattern, by, self.text, flags=re.MULTILINE)
        if found != 1:
            sys.exit(f"evaluate_on_change: {self.path}: {found} places like '{pattern}', not 1: another Verilator?")


def one(folder: Path, files: str, pattern: str) -> Source:
    """The one file of a folder that has a pattern. Raises SystemExit if there are more, or none."""
    found = [source for source in map(Source, folder.glob(files)) if re.search(pattern, source.text, flags=re.MULTILINE)]
    if len(found) != 1:
        sys.exit(f"evaluate_on_change: {folder}/{files}: {len(found)} files with '{pattern}', not 1: another Verilator?")
    return found[0]


def body(block: str, function: str, arguments: str) -> str:
    """
    What the chip's model does instead of a call of a function of DPI-C. Its arguments are the block's handle, the inputs by value,
    the outputs and, called Vfuncrtn, the result by reference.
    """
    found = re.findall(r"\w+(?:<\d+>)?/\*[^*]*\*/ (&?)(\w+)", arguments)
    (_, handle), ports = found[0], found[1:]
    inputs = [name for reference, name in ports if not reference]
    outputs = [name for reference, name in ports if reference]
    lines = [f"V{block}_container &model = *static_cast<V{block}_container *>(VL_CVT_Q_VP({handle}));"]
    if function == "combo_ignore":
        return ""
    result = outputs.pop()
    if not result.endswith("__Vfuncrtn"):
        sys.exit(f"evaluate_on_change: {block}: the last argument of {function} is {result}, not its result: another Verilator?")
    if function == "combo_update":
        lines += ["bool changed = false;", *(f"changed |= model.set(model.{name}, {name});" for name in inputs)]
        lines += [f"{result} = model.update(changed);"]
    else:
        lines += [f"{result} = model.edge({inputs[0]});"]
    return "".join(f"    {line}\n" for line in [*lines, *(f"{name} = model.{name};" for name in outputs)])


def change(folder: Path, top: str, block: str) -> None:
    """Changes the model of a block, and of the chip's use of it, in the folder that Verilator has made for the chip."""
    flag = f"V{block}_inputs_changed"
    own = folder / f"V{block}"
    wrapper = Source(own / f"{block}.cpp")
    wrapper.replace(
        rf"^class V{block}_container: public V{block} {{[\s\S]*?^}};\n",
        f'#include "V{block}_container.h"\nthread_local bool {flag} = true;\n',
    )

    evaluates = rf"(void V{block}___024root___eval\(V{block}___024root\* vlSelf\) {{[\s\S]*?vlSelfRef\.__VicoFirstIteration = )1U;"
    model = one(own, f"V{block}___024root__*.cpp", evaluates)
    model.replace(evaluates, rf"\g<1>{flag};")
    model.replace(r"\A// Verilated.*", rf"\g<0>\nextern thread_local bool {flag};")

    functions = ("combo_update", "seq_update", "combo_ignore")
    wrap = rf"^(void V{top}___024root____Vdpiimwrap_\w+__DOT__{block}_protectlib_%s_TOP\((.*)\) {{\n)[\s\S]*?^}}\n"
    chip = one(folder, f"V{top}___024root__*.cpp", wrap % functions[0])
    for function in functions:
        chip.replace(wrap % function, lambda found, of=function: found[1] + body(block, of, found[2]) + "}\n")
    chip.replace(r"\A// Verilated.*", rf'\g<0>\n#include "V{block}/V{block}_container.h"')

    (own / f"V{block}_container.h").write_text(CONTAINER.format(block=block))
    for source in (wrapper, model, chip):
        source.path.write_text(source.text)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: evaluate_on_change.py FOLDER TOP BLOCK")
    change(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
