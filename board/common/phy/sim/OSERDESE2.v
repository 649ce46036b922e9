// SPDX-License-Identifier: BSD-3-Clause
// Behaviour of OSERDESE2 (UG471) at DDR, one three-state bit: a word is taken at the rising edge of CLKDIV and leaves 3 clocks of CLK later, 1
// at four bits ("OSERDESE2 Latencies"). With DATA_RATE_TQ BUF, TQ is T1, without a clock.
module OSERDESE2 #(
    parameter DATA_RATE_OQ = "DDR",
    parameter DATA_RATE_TQ = "BUF",
    parameter DATA_WIDTH = 8,
    parameter INIT_OQ = 1'b0,
    parameter INIT_TQ = 1'b0,
    parameter SERDES_MODE = "MASTER",
    parameter SRVAL_OQ = 1'b0,
    parameter SRVAL_TQ = 1'b0,
    parameter TBYTE_CTL = "FALSE",
    parameter TBYTE_SRC = "FALSE",
    parameter TRISTATE_WIDTH = 1
) (
    input CLK, CLKDIV, RST, OCE, TCE, D1, D2, D3, D4, D5, D6, D7, D8, T1, T2, T3, T4, TBYTEIN, SHIFTIN1, SHIFTIN2,
    output TBYTEOUT, SHIFTOUT1, SHIFTOUT2, OFB, TFB,
    output OQ, TQ
);
    serialiser_model #(.WIDTH(DATA_WIDTH), .IDLE(INIT_OQ), .LATENCY(DATA_WIDTH == 8 ? 3 : 1)) model (
        .clk(CLK), .clkdiv(CLKDIV), .reset(RST), .word({D8, D7, D6, D5, D4, D3, D2, D1}), .t(T1), .out(OQ), .t_out(TQ)
    );
    initial if (DATA_RATE_TQ != "BUF") $fatal(1, "DATA_RATE_TQ %s is not modelled", DATA_RATE_TQ);
    assign {TBYTEOUT, SHIFTOUT1, SHIFTOUT2} = 3'b0;
    assign OFB = OQ;
    assign TFB = TQ;
endmodule
