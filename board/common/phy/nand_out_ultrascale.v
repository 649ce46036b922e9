// SPDX-License-Identifier: BSD-3-Clause
// An output of SAMPLES bits a clock, the lowest first, and its three-state control, one value a clock (OSERDESE3, UG571).
module nand_out_ultrascale #(
    parameter SAMPLES = 8,
    parameter IDLE = 1'b0
) (
    input                clk,
    input                phy_clk,
    input                reset,
    input  [SAMPLES-1:0] word,
    input                t,
    output               oq,
    output               tq
);
    OSERDESE3 #(
        .DATA_WIDTH        (SAMPLES),
        .INIT              (IDLE),
        .IS_CLKDIV_INVERTED(1'b0),
        .IS_CLK_INVERTED   (1'b0),
        .IS_RST_INVERTED   (1'b0),
        .ODDR_MODE         ("FALSE"),
        .OSERDES_D_BYPASS  ("FALSE"),
        .OSERDES_T_BYPASS  ("FALSE"),
        .SIM_DEVICE        ("ULTRASCALE_PLUS")
    ) serialiser (
        .CLK(phy_clk), .CLKDIV(clk), .RST(reset), .D({{(8 - SAMPLES) {1'b0}}, word}), .T(t), .OQ(oq), .T_OUT(tq)
    );
endmodule
