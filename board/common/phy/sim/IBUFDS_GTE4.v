// SPDX-License-Identifier: BSD-3-Clause
// Behaviour of IBUFDS_GTE4 (UG974, UG953).
module IBUFDS_GTE4 (
    input I, IB, CEB,
    output O, ODIV2
);
    assign O = I && !CEB;
    assign ODIV2 = I && !CEB;
endmodule
