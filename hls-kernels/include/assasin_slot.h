// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a kernel for the HLS slots includes: the type of its streams. Vitis HLS, the test benches and the virtual
/// board's models compile the same source; each finds its own ap_axi_sdata.h, ap_int.h and hls_stream.h.
#ifndef ASSASIN_SLOT_H
#define ASSASIN_SLOT_H

#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

/// A beat of a slot's stream: eight bytes, the stream's next byte in the low bits of `data`. `keep` is all ones but in
/// the beat with `last`, where it has as many ones from bit 0 on as bytes are left; an empty stream is one beat with
/// `last` and no `keep`. `strb` goes with `keep`.
typedef ap_axiu<64, 0, 0, 0> beat_t;

/// Bytes in a whole beat.
static const unsigned BEAT_BYTES = 8;

/// A beat with so many bytes, 0 to 8, in its low bits.
inline beat_t make_beat(ap_uint<64> data, unsigned bytes, bool last) {
#pragma HLS INLINE
    beat_t beat;
    beat.data = data;
    beat.keep = ap_uint<8>((1u << bytes) - 1);
    beat.strb = beat.keep;
    beat.last = last;
    return beat;
}

#endif
