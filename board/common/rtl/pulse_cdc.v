// SPDX-License-Identifier: BSD-3-Clause
// Pulses of one cycle into another clock domain, none lost and none merged: counted in Gray code on one side and given out one a
// cycle on the other. At most 2^BITS - 1 pulses may be on their way.
module pulse_cdc #(
    parameter BITS = 8
) (
    input  from_clk,
    input  from_reset,
    input  from_pulse,
    input  to_clk,
    input  to_reset,
    output to_pulse
);
    reg  [BITS-1:0] counted = 0;
    reg  [BITS-1:0] gray = 0;
    wire [BITS-1:0] next = counted + 1'b1;
    always @(posedge from_clk) begin
        if (from_reset) begin
            counted <= 0;
            gray    <= 0;
        end else if (from_pulse) begin
            counted <= next;
            gray    <= next ^ (next >> 1);
        end
    end

    wire [BITS-1:0] arrived;
    sync_bits #(.WIDTH(BITS)) sync (.clk(to_clk), .in(gray), .out(arrived));
    reg [BITS-1:0] given = 0;
    assign to_pulse = (given ^ (given >> 1)) != arrived;
    always @(posedge to_clk) begin
        if (to_reset) given <= 0;
        else if (to_pulse) given <= given + 1'b1;
    end
endmodule
