// SPDX-License-Identifier: BSD-3-Clause
// Behaviour of IBUF (UG974, UG953).
module IBUF (
    input I,
    output O
);
    assign O = I;
endmodule
