// SPDX-License-Identifier: BSD-3-Clause
// Descriptor bypass of one XDMA channel (PG195, "Descriptor Bypass" and the status ports) between the chip's clock and the IP's.
// sts[3] pulses for each descriptor completed; the other bits are levels.
module bypass_cdc (
    input         clk,
    input         reset,
    output        ready,
    input         load,
    input  [63:0] src_addr,
    input  [63:0] dst_addr,
    input  [27:0] len,
    input  [15:0] ctl,
    output [ 7:0] sts,

    input         xdma_clk,
    input         xdma_reset,
    input         xdma_ready,
    output        xdma_load,
    output [63:0] xdma_src_addr,
    output [63:0] xdma_dst_addr,
    output [27:0] xdma_len,
    output [15:0] xdma_ctl,
    input  [ 7:0] xdma_sts
);
    wire waiting;
    assign xdma_load = waiting && xdma_ready;
    async_fifo #(
        .WIDTH(172),
        .LOG2 (3)
    ) descriptors (
        .in_clk   (clk),
        .in_reset (reset),
        .in_valid (load),
        .in_ready (ready),
        .in_data  ({ctl, len, dst_addr, src_addr}),
        .out_clk  (xdma_clk),
        .out_reset(xdma_reset),
        .out_valid(waiting),
        .out_ready(xdma_ready),
        .out_data ({xdma_ctl, xdma_len, xdma_dst_addr, xdma_src_addr})
    );

    wire [6:0] levels;
    wire completed;
    sync_bits #(.WIDTH(7)) sync (.clk(clk), .in({xdma_sts[7:4], xdma_sts[2:0]}), .out(levels));
    pulse_cdc #(.BITS(8)) completions (
        .from_clk  (xdma_clk),
        .from_reset(xdma_reset),
        .from_pulse(xdma_sts[3]),
        .to_clk    (clk),
        .to_reset  (reset),
        .to_pulse  (completed)
    );
    assign sts = {levels[6:3], completed, levels[2:0]};
endmodule
