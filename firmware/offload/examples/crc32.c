/* SPDX-License-Identifier: BSD-3-Clause */
/* crc32: the CRC-32 of a stream as zlib, Ethernet and PNG have it (reflected polynomial 0xEDB88320): one 32-bit word.
 */
#include <assasin.h>

#define POLYNOMIAL 0xEDB88320u

static uint32_t table[256];

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (unsigned bit = 0; bit < 8; bit++)
            v = v >> 1 ^ (v & 1 ? POLYNOMIAL : 0);
        table[i] = v;
    }
    uint32_t crc = ~0u;
    for (;;) {
        uint32_t c = ASSASIN_LOAD_U8(0, end);
        crc = table[(crc ^ c) & 0xff] ^ crc >> 8;
    }
end:
    ASSASIN_STORE_U32(0, ~crc);
    ASSASIN_RETURN(0);
}
