# SPDX-License-Identifier: BSD-3-Clause
"""
Makes the model of a hierarchical block (Verilator's --hierarchical) follow events: it is evaluated when an input has another value
than before, or its clock has an edge, and at an edge it leaves out what depends on inputs, which is up to date. As Verilator writes
it, it is evaluated whenever the logic around it is. The block must have registers and combinational logic only: a latch, or a clock
gate of its own, would have to see its inputs at an edge.

Usage: evaluate_on_change.py FOLDER BLOCK    changes FOLDER/BLOCK.cpp and the file in FOLDER with the block's eval()
Exit code 1: they are not as the Verilator in scripts/requirements.txt writes them; nothing is changed.
"""

import re
import sys
from pathlib import Path

SET = """\
#define ASSASIN_SET(INPUT, STATEMENT) \\
    { const auto before = INPUT; STATEMENT changed |= std::memcmp(&before, &INPUT, sizeof before) != 0; }
"""


class Source:
    """A C++ file that Verilator has written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text()

    def replace(self, pattern: str, by: str, within: str = r"\A[\s\S]*\Z", times: int | None = 1) -> None:
        """
        Replaces a pattern in the text that `within` matches. Raises SystemExit unless that is one text and the pattern is found so
        many times in it, or at least once for None.
        """
        found = 0

        def inner(part: re.Match[str]) -> str:
            nonlocal found
            text, found = re.subn(pattern, by, part[0], flags=re.MULTILINE)
            return text

        self.text, parts = re.subn(within, inner, self.text, count=1)
        if parts != 1 or found == 0 or (times is not None and found != times):
            sys.exit(f"evaluate_on_change: {self.path}: {found} places like '{pattern}', not {times or 'some'}: another Verilator?")


def change(folder: Path, block: str) -> None:
    """Changes the model of a block in the folder that Verilator has made for it."""
    flag = f"V{block}_inputs_changed"  # whether logic that depends on inputs is evaluated
    wrapper = Source(folder / f"{block}.cpp")
    update = rf"long long {block}_protectlib_combo_update[\s\S]*?\n    }}\n"
    edge = rf"long long {block}_protectlib_seq_update[\s\S]*?\n    }}\n"
    wrapper.replace(r"^ *handlep__V->(\w+) = \(\w+\);", r"ASSASIN_SET(handlep__V->\1, \g<0>)", update, None)
    wrapper.replace(r"^ *VL_SET_[A-Z]+_SVLV\(\d+, *(handlep__V->\w+), .*\);", r"ASSASIN_SET(\1, \g<0>)", update, None)
    wrapper.replace(
        r"^.*const handlep__V = .*", r"\g<0>\nbool changed = !handlep__V->settled;\nhandlep__V->settled = true;", update
    )
    wrapper.replace(r"handlep__V->eval\(\);", r"if (changed) \g<0>", update)
    wrapper.replace(r"handlep__V->eval\(\);", rf"{flag} = !handlep__V->settled; \g<0> {flag} = true;", edge)
    wrapper.replace(r"^.*long long m_seqnum;", r"\g<0>\nbool settled = false;")
    wrapper.replace(r"^// Container class", f"thread_local bool {flag} = true;\n" + SET.replace("\\", r"\\") + r"\n\g<0>")
    wrapper.replace(r"^#include <cstdlib>", r"\g<0>\n#include <cstring>")

    evaluates = rf"void V{block}___024root___eval\(V{block}___024root\* vlSelf\) {{[\s\S]*?\n}}\n"
    files = [source for source in map(Source, folder.glob(f"V{block}___024root__*.cpp")) if re.search(evaluates, source.text)]
    if len(files) != 1:
        sys.exit(f"evaluate_on_change: {folder}: {len(files)} files have the eval() of {block}, not 1: another Verilator?")
    files[0].replace(r"vlSelfRef\.__VicoFirstIteration = 1U;", f"vlSelfRef.__VicoFirstIteration = {flag};", evaluates)
    files[0].replace(r"\A// Verilated.*", rf"\g<0>\nextern thread_local bool {flag};")

    for source in [wrapper, *files]:
        source.path.write_text(source.text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: evaluate_on_change.py FOLDER BLOCK")
    change(Path(sys.argv[1]), sys.argv[2])
