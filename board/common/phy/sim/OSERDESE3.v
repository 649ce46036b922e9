// SPDX-License-Identifier: BSD-3-Clause
// Behaviour of OSERDESE3 (UG571): as OSERDESE2, D[0] first. The guide gives no latency from T to T_OUT beside the one of D, so that
// T_OUT comes as early here as it can: in simulation the data are late by a whole CLKDIV.
module OSERDESE3 #(
    parameter DATA_WIDTH = 8,
    parameter INIT = 1'b0,
    parameter IS_CLKDIV_INVERTED = 1'b0,
    parameter IS_CLK_INVERTED = 1'b0,
    parameter IS_RST_INVERTED = 1'b0,
    parameter ODDR_MODE = "FALSE",
    parameter OSERDES_D_BYPASS = "FALSE",
    parameter OSERDES_T_BYPASS = "FALSE",
    parameter SIM_DEVICE = "ULTRASCALE"
) (
    input CLK, CLKDIV, RST, T,
    input [7:0] D,
    output OQ, T_OUT
);
    serialiser_model #(.WIDTH(DATA_WIDTH), .IDLE(INIT), .LATENCY(DATA_WIDTH / 2)) model (
        .clk(CLK), .clkdiv(CLKDIV), .reset(RST), .word(D), .t(T), .out(OQ), .t_out(T_OUT)
    );
endmodule
