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
#ifdef ASSASIN_LITTLE_UNROLLING
#define BLOCKS BLOCK
#else
#define BLOCKS BLOCK BLOCK BLOCK BLOCK BLOCK BLOCK BLOCK BLOCK
#endif

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    uint32_t checksum = 0;
    for (;;) {
        BLOCKS
    }
end:
    ASSASIN_STORE_U32(0, ASSASIN_IN_HEAD(0));
    ASSASIN_STORE_U32(0, checksum);
    ASSASIN_RETURN(0);
}
