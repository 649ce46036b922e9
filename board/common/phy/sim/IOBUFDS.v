// SPDX-License-Identifier: BSD-3-Clause
// Behaviour of IOBUFDS (UG974, UG953). What it receives is the difference: two pins that are alike read low.
module IOBUFDS (
    input I, T,
    output O, inout IO, IOB
);
    assign IO = T ? 1'bz : I;
    assign IOB = T ? 1'bz : !I;
    assign O = IO && !IOB;
endmodule
