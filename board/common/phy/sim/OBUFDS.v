// SPDX-License-Identifier: BSD-3-Clause
// Behaviour of OBUFDS (UG974, UG953).
module OBUFDS (
    input I,
    output O, OB
);
    assign O = I;
    assign OB = !I;
endmodule
