// SPDX-License-Identifier: BSD-3-Clause
#ifndef AES128_H
#define AES128_H

#include "assasin_slot.h"

/// AES-128 in counter mode (FIPS 197, SP 800-38A section 6.5), which encrypts and decrypts. Key and first counter block
/// are 16 bytes each, four little-endian words from the first byte on; the counter is a big-endian number modulo 2^128.
/// Result: as long as the input, which may have any length.
void aes128(hls::stream<beat_t> &data_in, hls::stream<beat_t> &data_out, ap_uint<32> key_0, ap_uint<32> key_1,
            ap_uint<32> key_2, ap_uint<32> key_3, ap_uint<32> counter_0, ap_uint<32> counter_1, ap_uint<32> counter_2,
            ap_uint<32> counter_3);

#endif
