/* SPDX-License-Identifier: BSD-3-Clause */
/* 32-bit values of input stream 0, limited to 0..255, as bytes to output stream 0; and those of input stream 1, of 11
   bits without gaps, to output stream 1 as 5 bits. Streams are the core's stream buffers. */
#include <varve.h>

int compute(void);
int compute(void) {
    VV_IN_FR(0, 0, 32, VV_TO_END, VV_SIGNED | VV_BUFFER);
    VV_OUT_FW(0, 0, 8, VV_UNSIGNED | VV_BUFFER);
    VV_BEGIN();
    VV_STRIPS(1) {
        vv_pack(vv_min_x(vv_max_x(vv_unpack(0), 0), 255), 0);
    }
    uintptr_t read = VV_END_IN(0), written = VV_END_OUT(0);
    VV_IN_FR(1, 0, 11, VV_TO_END, VV_UNSIGNED | VV_BUFFER);
    VV_OUT_FW(1, 0, 5, VV_UNSIGNED | VV_BUFFER);
    VV_BEGIN();
    VV_STRIPS(2) {
        vv_pack(vv_and_x(vv_asr_x(vv_unpack(1), 6), 31), 1);
    }
    read += VV_END_IN(1), written += VV_END_OUT(1);
    return read == written ? 0 : 1;
}
