/* SPDX-License-Identifier: BSD-3-Clause */
/* scan: reads a stream byte by byte, every byte by an instruction of its own, and returns how many there were and a
 * checksum that costs one addition a block (struct scan_result). The loop is unrolled so that a core consumes nearly a
 * byte a cycle. */
#include <assasin.h>
#include <offloads.h>

#define SKIP1  (void)ASSASIN_LOAD_U8(0, end);
#define SKIP3  SKIP1 SKIP1 SKIP1
#define SKIP15 SKIP3 SKIP3 SKIP3 SKIP3 SKIP3
#define SKIP63 SKIP15 SKIP15 SKIP15 SKIP15 SKIP3
#define BLOCK                                                                                                          \
    checksum += ASSASIN_LOAD_U8(0, end);                                                                               \
    SKIP63
#define BLOCKS4 BLOCK BLOCK BLOCK BLOCK

int compute(void) {
    uint32_t checksum = 0;
    for (;;) {
        BLOCKS4 BLOCKS4
    }
end:
    ASSASIN_STORE_U32(0, ASSASIN_IN_HEAD(0));
    ASSASIN_STORE_U32(0, checksum);
    return 0;
}
