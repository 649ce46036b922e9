// SPDX-License-Identifier: BSD-3-Clause
// Behaviour of ISERDESE2 (UG471) at DDR, networking mode: Q1 is the latest sample.
module ISERDESE2 #(
    parameter DATA_RATE = "DDR",
    parameter DATA_WIDTH = 8,
    parameter INTERFACE_TYPE = "NETWORKING",
    parameter IOBDELAY = "NONE",
    parameter NUM_CE = 1,
    parameter OFB_USED = "FALSE",
    parameter SERDES_MODE = "MASTER"
) (
    input CLK, CLKB, CLKDIV, CLKDIVP, OCLK, OCLKB, RST, CE1, CE2, BITSLIP, D, DDLY, DYNCLKDIVSEL, DYNCLKSEL, OFB, SHIFTIN1, SHIFTIN2,
    output O, SHIFTOUT1, SHIFTOUT2, Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8
);
    wire [7:0] word;
    deserialiser_model #(.WIDTH(DATA_WIDTH)) model (.clk(CLK), .clkdiv(CLKDIV), .d(D), .word(word));
    assign {Q8, Q7, Q6, Q5, Q4, Q3, Q2, Q1} = DATA_WIDTH == 8
        ? {word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7]} : {4'b0, word[0], word[1], word[2], word[3]};
    assign O = D;
    assign {SHIFTOUT1, SHIFTOUT2} = 2'b0;
endmodule
