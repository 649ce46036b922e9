# SPDX-License-Identifier: BSD-3-Clause
"""Paths of the tests, and a small chip whose resources can be told by counting."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "host-driver" / "python"))

if not (ROOT / "build" / "gen" / "python" / "assasin_contract.py").exists():
    subprocess.run([ROOT / "scripts" / "contract"], check=True)

# In firtool's manner: units AssasinSoc and Core (two of them), a counter below Core, a memory of 2048 x 32 and one of 16 x 8.
SMALL_CHIP = {
    "AssasinSoc": """module AssasinSoc(
  input         clock,
                reset,
  input  [31:0] io_a,
  output [31:0] io_x,
                io_y
);

  Core first (
    .clock (clock),
    .reset (reset),
    .io_a  (io_a),
    .io_q  (io_x)
  );
  Core second (
    .clock (clock),
    .reset (reset),
    .io_a  (io_x),
    .io_q  (io_y)
  );
endmodule
""",
    "Core": """module Core(
  input         clock,
                reset,
  input  [31:0] io_a,
  output [31:0] io_q
);

  wire [7:0] _low;
  wire [10:0] _row;
  Counter rows (
    .clock    (clock),
    .reset    (reset),
    .io_value (_row)
  );
  big_2048x32 big_ext (
    .R0_addr (_row),
    .R0_en   (1'h1),
    .R0_clk  (clock),
    .R0_data (io_q),
    .W0_addr (io_a[10:0]),
    .W0_en   (io_a[31]),
    .W0_clk  (clock),
    .W0_data (io_a ^ {24'h0, _low})
  );
  small_16x8 small_ext (
    .R0_addr (io_a[3:0]),
    .R0_en   (1'h1),
    .R0_clk  (clock),
    .R0_data (_low),
    .W0_addr (io_a[7:4]),
    .W0_en   (io_a[30]),
    .W0_clk  (clock),
    .W0_data (io_a[15:8])
  );
endmodule
""",
    "Counter": """module Counter(
  input         clock,
                reset,
  output [10:0] io_value
);

  reg [10:0] value;
  always @(posedge clock) begin
    if (reset)
      value <= 11'h0;
    else
      value <= value + 11'h1;
  end // always @(posedge)
  assign io_value = value;
endmodule
""",
    "big_2048x32": """module big_2048x32(
  input  [10:0] R0_addr,
  input         R0_en,
                R0_clk,
  output [31:0] R0_data,
  input  [10:0] W0_addr,
  input         W0_en,
                W0_clk,
  input  [31:0] W0_data
);

  reg [31:0] Memory[0:2047];
  reg        _R0_en_d0;
  reg [10:0] _R0_addr_d0;
  always @(posedge R0_clk) begin
    _R0_en_d0 <= R0_en;
    _R0_addr_d0 <= R0_addr;
  end // always @(posedge)
  always @(posedge W0_clk) begin
    if (W0_en)
      Memory[W0_addr] <= W0_data;
  end // always @(posedge)
  assign R0_data = _R0_en_d0 ? Memory[_R0_addr_d0] : 32'bx;
endmodule
""",
    "small_16x8": """module small_16x8(
  input  [3:0] R0_addr,
  input        R0_en,
               R0_clk,
  output [7:0] R0_data,
  input  [3:0] W0_addr,
  input        W0_en,
               W0_clk,
  input  [7:0] W0_data
);

  reg [7:0] Memory[0:15];
  always @(posedge W0_clk) begin
    if (W0_en)
      Memory[W0_addr] <= W0_data;
  end // always @(posedge)
  assign R0_data = R0_en ? Memory[R0_addr] : 8'bx;
endmodule
""",
}


def write_chip(folder: Path, texts: dict[str, str] = SMALL_CHIP) -> Path:
    """The chip's modules in a folder, a file each."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.sv").write_text(text)
    return folder


@pytest.fixture
def small_chip(tmp_path: Path) -> Path:
    return write_chip(tmp_path / "chip")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("ASSASIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "synth"
