# SPDX-License-Identifier: BSD-3-Clause
"""
A hierarchical block that evaluate_on_change.py has changed, beside the same logic in the model around it: with random inputs, over
a gated clock, both show the same in every half of a cycle. With a mistake in the change they do not.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "board" / "virtual" / "evaluate_on_change.py"
CYCLES = 20000

LOGIC = """
module {name}(input clock, input reset, input write, input [3:0] addr, input [71:0] data, input [39:0] mixed,
              output [71:0] read, output [39:0] sum, output [6:0] low);
  reg [71:0] rows[0:15];
  reg [3:0] at;
  reg [39:0] total;
  always @(posedge clock) begin
    at <= addr;
    if (write) rows[addr] <= data;
    if (reset) total <= 0; else total <= total + mixed;
  end
  assign read = rows[at];
  assign sum = total + {{36'h0, addr}};
  assign low = total[6:0] ^ mixed[6:0];
endmodule
"""
TOP = """
module Gate(input in, input en, output out);
  reg passes;
  always_latch if (!in) passes = en;
  assign out = in & passes;
endmodule
module Top(input clock, input reset, input active, input write, input [3:0] addr, input [71:0] data, input [39:0] more,
           output differs);
  wire gated;
  Gate gate(clock, active | reset, gated);
  wire [71:0] read, read2;
  wire [39:0] sum, sum2;
  wire [6:0] low, low2;
  // An input that hangs on an output of the block.
  Block block(gated, reset, write, addr, data, more ^ {read[39:4], 4'h0}, read, sum, low);
  Plain plain(gated, reset, write, addr, data, more ^ {read2[39:4], 4'h0}, read2, sum2, low2);
  assign differs = {read, sum, low} != {read2, sum2, low2};
endmodule
"""
MAIN = """
#include <cstdio>
#include <cstdlib>
#include <random>
#include "VTop.h"
int main(int, char **argv) {
    std::mt19937_64 random(std::strtoull(argv[1], nullptr, 10));
    VTop top;
    unsigned long differences = 0;
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        top.clock = 0;
        top.reset = cycle < 2;
        // Most inputs keep their values from one cycle to the next.
        if (random() % 4 == 0) top.active = random() % 2;
        if (random() % 4 == 0) top.write = random() % 2;
        if (random() % 4 == 0) top.addr = random() % 16;
        if (random() % 4 == 0) top.more = random() & 0xFFFFFFFFFF;
        if (cycle < 40 || random() % 4 == 0) {
            for (int i = 0; i < 3; i++) top.data[i] = unsigned(random()) & (i == 2 ? 0xFF : ~0u);
        }
        if (cycle < 40) top.active = top.write = 1, top.addr = cycle % 16; // all rows have values
        top.eval();
        differences += cycle > 40 && top.differs;
        top.clock = 1;
        top.eval();
        differences += cycle > 40 && top.differs;
    }
    std::printf("%lu\\n", differences);
}
"""


def differences(folder: Path, mistake: str = "") -> int:
    """Half cycles in which block and plain logic differ. `mistake`: a pattern to cut out of what the script has written."""
    (folder / "top.sv").write_text(TOP + LOGIC.format(name="Block") + LOGIC.format(name="Plain"))
    (folder / "main.cpp").write_text(MAIN)
    (folder / "blocks.vlt").write_text('`verilator_config\nhier_block -module "Block"\n')
    model = folder / "model"
    options = ["--top-module", "Top", "--prefix", "VTop", "--Mdir", model, "-O3", "--x-assign", "fast", "--x-initial", "fast"]
    verilator = ["verilator", "--cc", "--hierarchical", folder / "blocks.vlt", *options, "-Wno-fatal", "top.sv"]
    subprocess.run([str(part) for part in verilator], cwd=folder, check=True, capture_output=True)
    subprocess.run([sys.executable, SCRIPT, model, "Top", "Block"], check=True)
    if mistake:
        wrong = 0
        for source in [*model.glob("VTop___024root__*.cpp"), *model.glob("VBlock/*.h")]:
            text, found = re.subn(mistake, "", source.read_text())
            wrong += found
            source.write_text(text)
        assert wrong == 1, f"{wrong} places like '{mistake}'"
    compiler = f"clang++-{os.environ['LLVM_VERSION']}"
    archives = ["VBlock/libBlock.a", "libVTop.a", "libverilated.a"]
    make = ["make", "-s", "-f", "VTop.mk", f"CXX={compiler}", "CFG_CXXFLAGS_PCH_I=-include-pch", "CFG_GCH_IF_CLANG=.gch", *archives]
    subprocess.run(make, cwd=model, check=True, capture_output=True)
    found = re.search(r"^VERILATOR_ROOT = (.*)", (model / "VTop.mk").read_text(), flags=re.MULTILINE)
    assert found
    include = Path(found[1]) / "include"
    flags = ["-std=c++17", f"-DCYCLES={CYCLES}", "-I", model, "-isystem", include, "-isystem", include / "vltstd"]
    link = [compiler, *flags, folder / "main.cpp", *(model / name for name in archives), "-lpthread", "-o", folder / "run"]
    subprocess.run([str(part) for part in link], check=True)
    seed = os.urandom(4)
    print(f"seed {int.from_bytes(seed)}")
    run = subprocess.run([folder / "run", str(int.from_bytes(seed))], check=True, capture_output=True, text=True)
    return int(run.stdout)


def test_a_changed_block_shows_the_same(tmp_path: Path) -> None:
    assert differences(tmp_path) == 0


@pytest.mark.parametrize(
    "mistake",
    [
        r"changed \|= (?=model\.set\(model\.addr,)",  # a changed input that has nothing evaluated
        r"changed \|= model\.set\(model\.data, data\);",  # an input that is not handed on
        r"clock = level;",  # an edge that the block does not see
    ],
)
def test_a_mistake_is_seen(tmp_path: Path, mistake: str) -> None:
    assert differences(tmp_path, mistake) > 0
