// SPDX-License-Identifier: BSD-3-Clause
// Behaviour of IOBUF (UG974, UG953).
module IOBUF (
    input I, T,
    output O, inout IO
);
    assign IO = T ? 1'bz : I;
    assign O = IO;
endmodule
