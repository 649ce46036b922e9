// SPDX-License-Identifier: BSD-3-Clause
// Where the chip's DRAM addresses (0x80000000 and up) are in the processing system's memory. Windows are given in steps of 16 MiB, the
// first in the lowest bits of each parameter. An address in no window goes to NOWHERE, which the interconnect answers with DECERR.
module dram_map #(
    parameter WINDOWS = 1,
    parameter [8*WINDOWS-1:0] FIRST = 8'h80,     // address bits 31:24
    parameter [9*WINDOWS-1:0] COUNT = 9'h080,    // steps
    parameter [16*WINDOWS-1:0] PHYSICAL = 16'h0, // address bits 39:24
    parameter [15:0] NOWHERE = 16'hFFFF
) (
    input      [31:0] in,
    output reg [39:0] out
);
    integer i;
    reg [8:0] steps;
    always @* begin
        out = {NOWHERE, in[23:0]};
        for (i = 0; i < WINDOWS; i = i + 1) begin
            steps = {1'b0, in[31:24]} - {1'b0, FIRST[8*i+:8]};
            if (in[31:24] >= FIRST[8*i+:8] && steps < COUNT[9*i+:9]) out = {PHYSICAL[16*i+:16] + {7'b0, steps}, in[23:0]};
        end
    end
endmodule
