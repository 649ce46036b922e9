#!/usr/bin/env python3
"""Print the FPGA resources in the output of yosys's `stat -json`.  Usage: report.py FILE TOP [MODULE...]"""

import json
import sys
from collections import Counter

# LUTs that a cell of distributed memory or a shift register takes.
MEMORY_LUTS = {
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "SRL16E": 1,
    "SRLC32E": 1,
}


def cells_of(modules: dict[str, Counter[str]], name: str, known: dict[str, Counter[str]]) -> Counter[str]:
    """Primitive cells of a module, those of its instances included."""
    if name not in known:
        total: Counter[str] = Counter()
        for cell, count in modules[name].items():
            inside = cells_of(modules, cell, known) if cell in modules else Counter({cell: 1})
            for primitive, n in inside.items():
                total[primitive] += n * count
        known[name] = total
    return known[name]


def row(name: str, cells: Counter[str]) -> str:
    """One line of the table."""
    logic = sum(n for cell, n in cells.items() if cell.startswith("LUT"))
    memory = sum(n * MEMORY_LUTS.get(cell, 0) for cell, n in cells.items())
    flops = sum(n for cell, n in cells.items() if cell.startswith(("FD", "LD")))
    blocks = cells["RAMB36E1"] + cells["RAMB18E1"] / 2
    return f"{name:24}{logic + memory:8}{logic:8}{memory:8}{flops:8}{cells['DSP48E1']:6}{blocks:8.1f}"


def main() -> int:
    """Print the table; 2 if a module named is not there."""
    path, top, *names = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    # Behind this object some versions of yosys write a tree that is no JSON.
    start = text.index("{", text.index('"modules"'))
    stat, _ = json.JSONDecoder().raw_decode(text, start)
    modules = {name.lstrip("\\"): Counter(module["num_cells_by_type"]) for name, module in stat.items()}
    wanted = names or [top] + [name for name in ("StreamCore", "Core") if name in modules and name != top]
    missing = [name for name in wanted if name not in modules]
    if missing:
        print(f"no module {', '.join(missing)}; there are {', '.join(sorted(modules))}", file=sys.stderr)
        return 2
    known: dict[str, Counter[str]] = {}
    print(f"{'module':24}{'LUTs':>8}{'logic':>8}{'memory':>8}{'FFs':>8}{'DSPs':>6}{'BRAM36':>8}")
    for name in wanted:
        print(row(name, cells_of(modules, name, known)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
