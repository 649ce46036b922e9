// SPDX-License-Identifier: BSD-3-Clause
// Behaviour of ISERDESE3 (UG571) without its FIFO: Q[0] is the earliest sample.
module ISERDESE3 #(
    parameter DATA_WIDTH = 8,
    parameter FIFO_ENABLE = "FALSE",
    parameter FIFO_SYNC_MODE = "FALSE",
    parameter IDDR_MODE = "FALSE",
    parameter IS_CLK_B_INVERTED = 1'b0,
    parameter IS_CLK_INVERTED = 1'b0,
    parameter IS_RST_INVERTED = 1'b0,
    parameter SIM_DEVICE = "ULTRASCALE"
) (
    input CLK, CLK_B, CLKDIV, RST, D, FIFO_RD_CLK, FIFO_RD_EN,
    output FIFO_EMPTY, INTERNAL_DIVCLK,
    output [7:0] Q
);
    deserialiser_model #(.WIDTH(DATA_WIDTH)) model (.clk(CLK), .clkdiv(CLKDIV), .d(D), .word(Q));
    assign FIFO_EMPTY = 1'b1;
    assign INTERNAL_DIVCLK = CLKDIV;
endmodule
