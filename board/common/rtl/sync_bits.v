// SPDX-License-Identifier: BSD-3-Clause
// Levels into another clock domain, each bit for itself: two flip-flops.
module sync_bits #(
    parameter WIDTH = 1
) (
    input              clk,
    input  [WIDTH-1:0] in,
    output [WIDTH-1:0] out
);
    (* ASYNC_REG = "TRUE" *) reg [WIDTH-1:0] meta = 0;
    (* ASYNC_REG = "TRUE" *) reg [WIDTH-1:0] settled = 0;
    assign out = settled;
    always @(posedge clk) begin
        meta    <= in;
        settled <= meta;
    end
endmodule
