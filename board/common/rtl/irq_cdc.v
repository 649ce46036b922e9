// SPDX-License-Identifier: BSD-3-Clause
// User interrupts of the XDMA IP (PG195, "Interrupts"): requests are levels, each acknowledge is a pulse. msix is a level.
module irq_cdc #(
    parameter WIDTH = 16
) (
    input              clk,
    input              reset,
    input  [WIDTH-1:0] req,
    output [WIDTH-1:0] ack,
    output             msix,

    input              xdma_clk,
    input              xdma_reset,
    output [WIDTH-1:0] xdma_req,
    input  [WIDTH-1:0] xdma_ack,
    input              xdma_msix
);
    sync_bits #(.WIDTH(WIDTH)) sync_req (.clk(xdma_clk), .in(req), .out(xdma_req));
    sync_bits #(.WIDTH(1)) sync_msix (.clk(clk), .in(xdma_msix), .out(msix));
    genvar i;
    generate
        for (i = 0; i < WIDTH; i = i + 1) begin : acknowledge
            pulse_cdc #(.BITS(3)) cdc (
                .from_clk  (xdma_clk),
                .from_reset(xdma_reset),
                .from_pulse(xdma_ack[i]),
                .to_clk    (clk),
                .to_reset  (reset),
                .to_pulse  (ack[i])
            );
        end
    endgenerate
endmodule
