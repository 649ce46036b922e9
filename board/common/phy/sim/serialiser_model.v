// SPDX-License-Identifier: BSD-3-Clause
// A DDR serialiser: WIDTH bits a clkdiv, an edge of clk each, the lowest first; the three-state value changes with the first.
module serialiser_model #(
    parameter WIDTH = 8,
    parameter IDLE = 1'b0
) (
    input        clk,
    input        clkdiv,
    input        reset,
    input  [7:0] word,
    input        t,
    output       out,
    output reg   t_out
);
    reg [7:0] shift = {8{IDLE}};
    reg clkdiv_before = 1'b0;
    initial t_out = 1'b1;
    assign out = shift[0];
    always @(posedge clk or negedge clk) begin
        clkdiv_before <= clkdiv;
        if (clkdiv && !clkdiv_before) begin
            shift <= reset ? {8{IDLE}} : word;
            t_out <= reset || t;
        end else begin
            shift <= {shift[7], shift[7:1]};
        end
    end
    initial if (WIDTH != 4 && WIDTH != 8) $fatal(1, "DATA_WIDTH %0d is not modelled", WIDTH);
endmodule
