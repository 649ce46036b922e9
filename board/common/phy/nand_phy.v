// SPDX-License-Identifier: BSD-3-Clause
// NAND PHY: nand_phy_core between the serialisers of its pins, 7-series or UltraScale+ (HP banks, native component mode). clk and phy_clk
// come from one MMCM, in phase; phy_clk carries two samples a period. Every output that has to keep its place to the strobes goes
// through a serialiser.
module nand_phy #(
    parameter ULTRASCALE = 0,
    parameter WAYS = 8,
    parameter SAMPLES = 8,
    parameter BYTE_SAMPLES = 4
) (
    input             clk,
    input             phy_clk,
    input             reset,
    input  [WAYS-1:0] ce_n,
    input             cle,
    input             ale,
    input             we,
    input             dq_out_valid,
    input  [     7:0] dq_out,
    input             re,
    input             wp_n,
    output            dq_in_valid,
    output [     7:0] dq_in,
    output [WAYS-1:0] rb_n,
    output [    31:0] margin,
    inout  [     7:0] nand_dq,
    output [WAYS-1:0] nand_ce_n,
    output            nand_cle,
    output            nand_ale,
    output            nand_we_n,
    output            nand_wp_n,
    output            nand_re_p,
    output            nand_re_n,
    inout             nand_dqs_p,
    inout             nand_dqs_n,
    input  [WAYS-1:0] nand_rb_n
);
    wire [WAYS-1:0] pin_ce_n;
    wire pin_cle, pin_ale, pin_dqs_t, pin_dq_t;
    wire [SAMPLES-1:0] pin_we_n, pin_re, pin_dqs, pin_dqs_in;
    wire [7:0] pin_dq;
    wire [8*SAMPLES-1:0] pin_dq_in;
    nand_phy_core #(
        .WAYS        (WAYS),
        .SAMPLES     (SAMPLES),
        .BYTE_SAMPLES(BYTE_SAMPLES)
    ) core (
        .clk         (clk),
        .reset       (reset),
        .ce_n        (ce_n),
        .cle         (cle),
        .ale         (ale),
        .we          (we),
        .dq_out_valid(dq_out_valid),
        .dq_out      (dq_out),
        .re          (re),
        .wp_n        (wp_n),
        .dq_in_valid (dq_in_valid),
        .dq_in       (dq_in),
        .rb_n        (rb_n),
        .margin      (margin),
        .pin_ce_n    (pin_ce_n),
        .pin_cle     (pin_cle),
        .pin_ale     (pin_ale),
        .pin_wp_n    (nand_wp_n),
        .pin_we_n    (pin_we_n),
        .pin_re      (pin_re),
        .pin_dqs     (pin_dqs),
        .pin_dqs_t   (pin_dqs_t),
        .pin_dq      (pin_dq),
        .pin_dq_t    (pin_dq_t),
        .pin_dqs_in  (pin_dqs_in),
        .pin_dq_in   (pin_dq_in),
        .pin_rb_n    (nand_rb_n)
    );

    // Three-state values pass the serialisers at once, while the words that came with them are taken a clock later and leave nearly another one
    // after (OSERDESE2 with DATA_RATE_TQ BUF: 3 of the 4 clocks of phy_clk in a clock, or 1 of 2; for OSERDESE3's T no latency is given). So they
    // wait for two clocks. What is left between the two is less than the hold time that HOLD_DDR has to spare.
    reg [1:0] dq_t, dqs_t;
    always @(posedge clk) begin
        dq_t  <= reset ? 2'b11 : {dq_t[0], pin_dq_t};
        dqs_t <= reset ? 2'b11 : {dqs_t[0], pin_dqs_t};
    end

    genvar i;
    generate
        for (i = 0; i < WAYS; i = i + 1) begin : ways
            nand_out #(.ULTRASCALE(ULTRASCALE), .SAMPLES(SAMPLES), .IDLE(1'b1)) ce (
                .clk(clk), .phy_clk(phy_clk), .reset(reset), .word({SAMPLES{pin_ce_n[i]}}), .t(1'b0), .oq(nand_ce_n[i]), .tq()
            );
        end
        for (i = 0; i < 8; i = i + 1) begin : data
            wire oq, tq, in;
            nand_out #(.ULTRASCALE(ULTRASCALE), .SAMPLES(SAMPLES)) out (
                .clk(clk), .phy_clk(phy_clk), .reset(reset), .word({SAMPLES{pin_dq[i]}}), .t(dq_t[1]), .oq(oq), .tq(tq)
            );
            IOBUF buffer (.I(oq), .T(tq), .O(in), .IO(nand_dq[i]));
            nand_in #(.ULTRASCALE(ULTRASCALE), .SAMPLES(SAMPLES)) sampler (
                .clk(clk), .phy_clk(phy_clk), .reset(reset), .d(in), .word(pin_dq_in[i*SAMPLES+:SAMPLES])
            );
        end
    endgenerate
    nand_out #(.ULTRASCALE(ULTRASCALE), .SAMPLES(SAMPLES)) cle_out (
        .clk(clk), .phy_clk(phy_clk), .reset(reset), .word({SAMPLES{pin_cle}}), .t(1'b0), .oq(nand_cle), .tq()
    );
    nand_out #(.ULTRASCALE(ULTRASCALE), .SAMPLES(SAMPLES)) ale_out (
        .clk(clk), .phy_clk(phy_clk), .reset(reset), .word({SAMPLES{pin_ale}}), .t(1'b0), .oq(nand_ale), .tq()
    );
    nand_out #(.ULTRASCALE(ULTRASCALE), .SAMPLES(SAMPLES), .IDLE(1'b1)) we_out (
        .clk(clk), .phy_clk(phy_clk), .reset(reset), .word(pin_we_n), .t(1'b0), .oq(nand_we_n), .tq()
    );
    wire re_out;
    nand_out #(.ULTRASCALE(ULTRASCALE), .SAMPLES(SAMPLES), .IDLE(1'b1)) re_serialiser (
        .clk(clk), .phy_clk(phy_clk), .reset(reset), .word(pin_re), .t(1'b0), .oq(re_out), .tq()
    );
    OBUFDS re_buffer (.I(re_out), .O(nand_re_p), .OB(nand_re_n));
    wire dqs_oq, dqs_tq, dqs_in;
    nand_out #(.ULTRASCALE(ULTRASCALE), .SAMPLES(SAMPLES)) dqs_serialiser (
        .clk(clk), .phy_clk(phy_clk), .reset(reset), .word(pin_dqs), .t(dqs_t[1]), .oq(dqs_oq), .tq(dqs_tq)
    );
    IOBUFDS dqs_buffer (.I(dqs_oq), .T(dqs_tq), .O(dqs_in), .IO(nand_dqs_p), .IOB(nand_dqs_n));
    nand_in #(.ULTRASCALE(ULTRASCALE), .SAMPLES(SAMPLES)) dqs_sampler (
        .clk(clk), .phy_clk(phy_clk), .reset(reset), .d(dqs_in), .word(pin_dqs_in)
    );
endmodule
