// SPDX-License-Identifier: BSD-3-Clause
// A DDR deserialiser: the pin is sampled at every edge of clk; the last WIDTH samples show at clkdiv's rising edge, the earliest lowest.
module deserialiser_model #(
    parameter WIDTH = 8
) (
    input            clk,
    input            clkdiv,
    input            d,
    output reg [7:0] word
);
    reg [WIDTH-1:0] samples = 0;
    reg clkdiv_before = 1'b0;
    always @(posedge clk or negedge clk) begin
        clkdiv_before <= clkdiv;
        samples <= {d, samples[WIDTH-1:1]};
        if (clkdiv && !clkdiv_before) word <= {{(8 - WIDTH) {1'b0}}, samples};
    end
    initial if (WIDTH != 4 && WIDTH != 8) $fatal(1, "DATA_WIDTH %0d is not modelled", WIDTH);
endmodule
