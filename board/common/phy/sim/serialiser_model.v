// SPDX-License-Identifier: BSD-3-Clause
// A DDR serialiser: WIDTH bits a clkdiv, an edge of clk each, the lowest first. The first one leaves LATENCY clocks of clk after the word was
// taken. The three-state value passes at once: it does not wait for the word that came with it.
module serialiser_model #(
    parameter WIDTH = 8,
    parameter IDLE = 1'b0,
    parameter LATENCY = 3
) (
    input        clk,
    input        clkdiv,
    input        reset,
    input  [7:0] word,
    input        t,
    output       out,
    output       t_out
);
    reg [7:0] shift = {8{IDLE}};
    reg [2*LATENCY-1:0] late = {2 * LATENCY{IDLE}};
    reg clkdiv_before = 1'b0;
    assign out = late[2*LATENCY-1];
    assign t_out = reset || t;
    always @(posedge clk or negedge clk) begin
        clkdiv_before <= clkdiv;
        late <= {late[2*LATENCY-2:0], shift[0]};
        if (clkdiv && !clkdiv_before) shift <= reset ? {8{IDLE}} : word;
        else shift <= {shift[7], shift[7:1]};
    end
    initial if (WIDTH != 4 && WIDTH != 8) $fatal(1, "DATA_WIDTH %0d is not modelled", WIDTH);
endmodule
