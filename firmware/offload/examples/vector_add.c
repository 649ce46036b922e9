/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds 7 to every byte of input stream 0 with vector instructions, for the cores of AssasinV: bytes go from the stream
 * to the scratchpad, where the unit works on up to 256 of them an instruction. gcc 12 has no vector intrinsics, so the
 * instructions are written as assembly; a drive without the unit refuses the program.
 */
#include <assasin.h>

#define PART 16384u /* bytes in the scratchpad at a time */

static uint8_t part[PART];

/* data[0..bytes) += 7 */
static void add(uint8_t *data, uint32_t bytes) {
#ifdef ASSASIN_NATIVE
    for (uint32_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(data[i] + 7);
#else
    for (uint32_t done; bytes; bytes -= done, data += done)
        __asm__ volatile(".option push\n\t"
                         ".option arch, +zve32x\n\t"
                         "vsetvli %0, %1, e8, m8, ta, ma\n\t"
                         "vle8.v v8, (%2)\n\t"
                         "vadd.vi v8, v8, 7\n\t"
                         "vse8.v v8, (%2)\n\t"
                         ".option pop"
                         : "=&r"(done)
                         : "r"(bytes), "r"(data)
                         : "memory");
#endif
}

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    uint32_t bytes = 0;
#ifndef ASSASIN_NATIVE
    __asm__ volatile("csrs mstatus, %0" : : "r"(0x200)); /* mstatus.VS: the vector unit is on */
#endif
    for (;;) {
        uint32_t byte = ASSASIN_LOAD_U8(0, end);
        part[bytes++] = (uint8_t)byte;
        if (bytes == PART) {
            add(part, bytes);
            for (uint32_t i = 0; i < bytes; i++)
                ASSASIN_STORE_U8(0, part[i]);
            bytes = 0;
        }
    }
end:
    add(part, bytes);
    for (uint32_t i = 0; i < bytes; i++)
        ASSASIN_STORE_U8(0, part[i]);
    ASSASIN_RETURN(0);
}
