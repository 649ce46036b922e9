// SPDX-License-Identifier: BSD-3-Clause
#ifndef FGREP8_H
#define FGREP8_H

#include "assasin_slot.h"

/// Counts where in `data_in` the eight bytes of the key stand, at any offset; they may overlap. The key's first four
/// bytes are `key_low`, its last four `key_high`, both little-endian. Result: the count in 64 bits.
void fgrep8(hls::stream<beat_t> &data_in, hls::stream<beat_t> &count_out, ap_uint<32> key_low, ap_uint<32> key_high);

#endif
