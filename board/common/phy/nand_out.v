// SPDX-License-Identifier: BSD-3-Clause
// An output of SAMPLES bits a clock, the lowest first, and its three-state control, in either family.
module nand_out #(
    parameter ULTRASCALE = 0,
    parameter IDLE = 1'b0,
    parameter SAMPLES = 8
) (
    input                clk,
    input                phy_clk,
    input                reset,
    input  [SAMPLES-1:0] word,
    input                t,
    output               oq,
    output               tq
);
    generate
        if (ULTRASCALE != 0) begin : ultrascale
            nand_out_ultrascale #(.SAMPLES(SAMPLES), .IDLE(IDLE)) pin (.clk(clk), .phy_clk(phy_clk), .reset(reset), .word(word), .t(t), .oq(oq), .tq(tq));
        end else begin : series7
            nand_out_7series #(.SAMPLES(SAMPLES), .IDLE(IDLE)) pin (.clk(clk), .phy_clk(phy_clk), .reset(reset), .word(word), .t(t), .oq(oq), .tq(tq));
        end
    endgenerate
endmodule
