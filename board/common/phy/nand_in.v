// SPDX-License-Identifier: BSD-3-Clause
// An input sampled SAMPLES times a clock, the earliest sample lowest, in either family.
module nand_in #(
    parameter ULTRASCALE = 0,
    parameter SAMPLES = 8
) (
    input                clk,
    input                phy_clk,
    input                reset,
    input                d,
    output [SAMPLES-1:0] word
);
    generate
        if (ULTRASCALE != 0) begin : ultrascale
            nand_in_ultrascale #(.SAMPLES(SAMPLES)) pin (.clk(clk), .phy_clk(phy_clk), .reset(reset), .d(d), .word(word));
        end else begin : series7
            nand_in_7series #(.SAMPLES(SAMPLES)) pin (.clk(clk), .phy_clk(phy_clk), .reset(reset), .d(d), .word(word));
        end
    endgenerate
endmodule
