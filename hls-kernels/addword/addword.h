// SPDX-License-Identifier: BSD-3-Clause
#ifndef ADDWORD_H
#define ADDWORD_H

#include "assasin_slot.h"

/// Adds `addend` to every 32-bit word, modulo 2^32. Bytes behind the last whole word go through as they are. Small and
/// complete: what `assasin hls new` makes a new kernel of.
void addword(hls::stream<beat_t> &data_in, hls::stream<beat_t> &data_out, ap_uint<32> addend);

#endif
