// SPDX-License-Identifier: BSD-3-Clause
// An input sampled SAMPLES times a clock, the earliest sample lowest (ISERDESE2, UG471: Q1 is the latest).
module nand_in_7series #(
    parameter SAMPLES = 8
) (
    input                clk,
    input                phy_clk,
    input                reset,
    input                d,
    output [SAMPLES-1:0] word
);
    wire [7:0] q; // q[0] = Q1
    ISERDESE2 #(
        .DATA_RATE     ("DDR"),
        .DATA_WIDTH    (SAMPLES),
        .INTERFACE_TYPE("NETWORKING"),
        .IOBDELAY      ("NONE"),
        .NUM_CE        (1),
        .OFB_USED      ("FALSE"),
        .SERDES_MODE   ("MASTER")
    ) deserialiser (
        .CLK(phy_clk), .CLKB(!phy_clk), .CLKDIV(clk), .CLKDIVP(1'b0), .OCLK(1'b0), .OCLKB(1'b0), .RST(reset), .CE1(1'b1), .CE2(1'b1),
        .BITSLIP(1'b0), .D(d), .DDLY(1'b0), .DYNCLKDIVSEL(1'b0), .DYNCLKSEL(1'b0), .OFB(1'b0), .SHIFTIN1(1'b0), .SHIFTIN2(1'b0),
        .O(), .SHIFTOUT1(), .SHIFTOUT2(),
        .Q1(q[0]), .Q2(q[1]), .Q3(q[2]), .Q4(q[3]), .Q5(q[4]), .Q6(q[5]), .Q7(q[6]), .Q8(q[7])
    );
    genvar i;
    generate
        for (i = 0; i < SAMPLES; i = i + 1) begin : order
            assign word[i] = q[SAMPLES-1-i];
        end
    endgenerate
endmodule
