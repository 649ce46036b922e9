// SPDX-License-Identifier: BSD-3-Clause
// An output of SAMPLES bits a clock, the lowest first, and its three-state control, one value a clock (OSERDESE2, UG471).
module nand_out_7series #(
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
    wire [7:0] d = {{(8 - SAMPLES) {1'b0}}, word};
    OSERDESE2 #(
        .DATA_RATE_OQ  ("DDR"),
        .DATA_RATE_TQ  ("BUF"),
        .DATA_WIDTH    (SAMPLES),
        .INIT_OQ       (IDLE),
        .INIT_TQ       (1'b1),
        .SERDES_MODE   ("MASTER"),
        .SRVAL_OQ      (IDLE),
        .SRVAL_TQ      (1'b1),
        .TBYTE_CTL     ("FALSE"),
        .TBYTE_SRC     ("FALSE"),
        .TRISTATE_WIDTH(1)
    ) serialiser (
        .CLK(phy_clk), .CLKDIV(clk), .RST(reset), .OCE(1'b1), .TCE(1'b1),
        .D1(d[0]), .D2(d[1]), .D3(d[2]), .D4(d[3]), .D5(d[4]), .D6(d[5]), .D7(d[6]), .D8(d[7]),
        .T1(t), .T2(1'b0), .T3(1'b0), .T4(1'b0), .TBYTEIN(1'b0), .TBYTEOUT(), .SHIFTIN1(1'b0), .SHIFTIN2(1'b0),
        .SHIFTOUT1(), .SHIFTOUT2(), .OFB(), .TFB(), .OQ(oq), .TQ(tq)
    );
endmodule
