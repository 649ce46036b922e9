// SPDX-License-Identifier: BSD-3-Clause
// An input sampled SAMPLES times a clock, the earliest sample lowest (ISERDESE3, UG571: Q[0] is the earliest).
module nand_in_ultrascale #(
    parameter SAMPLES = 8
) (
    input                clk,
    input                phy_clk,
    input                reset,
    input                d,
    output [SAMPLES-1:0] word
);
    wire [7:0] q;
    ISERDESE3 #(
        .DATA_WIDTH       (SAMPLES),
        .FIFO_ENABLE      ("FALSE"),
        .FIFO_SYNC_MODE   ("FALSE"),
        .IDDR_MODE        ("FALSE"),
        .IS_CLK_B_INVERTED(1'b1),
        .IS_CLK_INVERTED  (1'b0),
        .IS_RST_INVERTED  (1'b0),
        .SIM_DEVICE       ("ULTRASCALE_PLUS")
    ) deserialiser (
        .CLK(phy_clk), .CLK_B(phy_clk), .CLKDIV(clk), .RST(reset), .D(d), .FIFO_RD_CLK(1'b0), .FIFO_RD_EN(1'b0), .FIFO_EMPTY(),
        .INTERNAL_DIVCLK(), .Q(q)
    );
    assign word = q[SAMPLES-1:0];
endmodule
