// SPDX-License-Identifier: BSD-3-Clause
#ifndef SAXPY_H
#define SAXPY_H

#include "assasin_slot.h"

/// A = alpha * B + C over vectors of IEEE 754 single precision, little-endian, each operation rounded to nearest even.
/// Ends with the shorter vector; a value that is cut off is ignored. In hardware subnormal numbers count as zero.
void saxpy(hls::stream<beat_t> &b_in, hls::stream<beat_t> &c_in, hls::stream<beat_t> &a_out, float alpha);

#endif
