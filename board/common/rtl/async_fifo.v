// SPDX-License-Identifier: BSD-3-Clause
// A queue between two clock domains. Gray-coded pointers; the entry at its head shows while out_valid. Both sides are to be reset
// together: each reset must last longer than three cycles of the other clock.
module async_fifo #(
    parameter WIDTH = 8,
    parameter LOG2 = 3
) (
    input              in_clk,
    input              in_reset,
    input              in_valid,
    output             in_ready,
    input  [WIDTH-1:0] in_data,
    input              out_clk,
    input              out_reset,
    output             out_valid,
    input              out_ready,
    output [WIDTH-1:0] out_data
);
    reg [WIDTH-1:0] entries[0:(1<<LOG2)-1];
    reg [LOG2:0] head = 0, head_gray = 0;
    reg [LOG2:0] tail = 0, tail_gray = 0;
    wire [LOG2:0] head_seen, tail_seen;
    sync_bits #(.WIDTH(LOG2 + 1)) sync_head (.clk(in_clk), .in(head_gray), .out(head_seen));
    sync_bits #(.WIDTH(LOG2 + 1)) sync_tail (.clk(out_clk), .in(tail_gray), .out(tail_seen));

    // Full: the pointers differ in the two upper bits of their Gray codes alone.
    assign in_ready = tail_gray != (head_seen ^ {2'b11, {(LOG2 - 1) {1'b0}}});
    wire [LOG2:0] tail_next = tail + 1'b1;
    always @(posedge in_clk) begin
        if (in_reset) begin
            tail      <= 0;
            tail_gray <= 0;
        end else if (in_valid && in_ready) begin
            entries[tail[LOG2-1:0]] <= in_data;
            tail      <= tail_next;
            tail_gray <= tail_next ^ (tail_next >> 1);
        end
    end

    assign out_valid = head_gray != tail_seen;
    assign out_data  = entries[head[LOG2-1:0]];
    wire [LOG2:0] head_next = head + 1'b1;
    always @(posedge out_clk) begin
        if (out_reset) begin
            head      <= 0;
            head_gray <= 0;
        end else if (out_valid && out_ready) begin
            head      <= head_next;
            head_gray <= head_next ^ (head_next >> 1);
        end
    end
endmodule
