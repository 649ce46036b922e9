/* SPDX-License-Identifier: BSD-3-Clause */
/* wal: the committed pages of an SQLite write-ahead log (the WAL file format, sqlite.org/fileformat2.html#walformat).
 * Transactions are of any size, so the log comes twice: stream 0 is checked to find the last commit that recovery would
 * accept, then stream 1, the same file, gives the pages up to there. Output: struct wal_result, then a struct wal_page
 * and the page for each frame, in the order of the log. */
#include <assasin.h>
#include <offloads.h>
#include <stdbool.h>

#define MAGIC        0x377f0682u /* + 1: checksums of big-endian words */
#define VERSION      3007000u
#define HEADER_WORDS 8
#define FRAME_WORDS  6 /* of a frame's header */

static uint32_t swapped(uint32_t v) {
    return v << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24;
}

#define SUM(a, b)                                                                                                      \
    s0 += (a) + s1;                                                                                                    \
    s1 += (b) + s0;
/* Eight words of a page into the checksum; CONVERT makes a word of the file a number. */
#define SUM8(CONVERT)                                                                                                  \
    {                                                                                                                  \
        uint32_t a = ASSASIN_LOAD_U32(0, end), b = ASSASIN_LOAD_U32(0, end);                                           \
        uint32_t c = ASSASIN_LOAD_U32(0, end), d = ASSASIN_LOAD_U32(0, end);                                           \
        SUM(CONVERT(a), CONVERT(b))                                                                                    \
        SUM(CONVERT(c), CONVERT(d))                                                                                    \
        a = ASSASIN_LOAD_U32(0, end), b = ASSASIN_LOAD_U32(0, end);                                                    \
        c = ASSASIN_LOAD_U32(0, end), d = ASSASIN_LOAD_U32(0, end);                                                    \
        SUM(CONVERT(a), CONVERT(b))                                                                                    \
        SUM(CONVERT(c), CONVERT(d))                                                                                    \
    }
#define AS_IS(v)  (v)
#define NUMBER(v) (big ? swapped(v) : (v))
#define SKIP(n)                                                                                                        \
    for (uint32_t skipped = 0; skipped < (n); skipped++)                                                               \
        (void)ASSASIN_TAKE_U32(1);
#define KEEP_RESULT                                                                                                    \
    ASSASIN_KEEP(page_bytes);                                                                                          \
    ASSASIN_KEEP(committed);                                                                                           \
    ASSASIN_KEEP(database_pages);

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_IN(1);
    ASSASIN_OUT(0);
    const struct scomp_task *task = assasin_task();
    if (task->streams_in != 2 || task->bytes[0] != task->bytes[1])
        ASSASIN_RETURN(WAL_BAD_ARGUMENTS);

    uint32_t page_bytes = 0, committed = 0, database_pages = 0;
    KEEP_RESULT
    uint32_t magic = swapped(ASSASIN_LOAD_U32(0, end)), version = ASSASIN_LOAD_U32(0, end);
    uint32_t size = ASSASIN_LOAD_U32(0, end), sequence = ASSASIN_LOAD_U32(0, end);
    uint32_t salt0 = ASSASIN_LOAD_U32(0, end), salt1 = ASSASIN_LOAD_U32(0, end);
    uint32_t sum0 = ASSASIN_LOAD_U32(0, end), sum1 = ASSASIN_LOAD_U32(0, end);
    bool big = magic & 1;
    uint32_t s0 = 0, s1 = 0, bytes = swapped(size);
    SUM(NUMBER(swapped(magic)), NUMBER(version))
    SUM(NUMBER(size), NUMBER(sequence))
    SUM(NUMBER(salt0), NUMBER(salt1))
    if ((magic & ~1u) != MAGIC || swapped(version) != VERSION || bytes < 512 || bytes > 65536 ||
        (bytes & (bytes - 1)) || s0 != swapped(sum0) || s1 != swapped(sum1))
        ASSASIN_RETURN(WAL_NO_HEADER);
    page_bytes = bytes;
    KEEP_RESULT
    for (uint32_t frames = 1;; frames++) {
        uint32_t page = ASSASIN_LOAD_U32(0, end), pages = ASSASIN_LOAD_U32(0, end);
        uint32_t its0 = ASSASIN_LOAD_U32(0, end), its1 = ASSASIN_LOAD_U32(0, end);
        sum0 = ASSASIN_LOAD_U32(0, end), sum1 = ASSASIN_LOAD_U32(0, end);
        SUM(NUMBER(page), NUMBER(pages))
        if (its0 != salt0 || its1 != salt1 || page == 0)
            break;
        if (big)
            for (uint32_t left = bytes; left; left -= 32)
                SUM8(swapped)
        else
            for (uint32_t left = bytes; left; left -= 32)
                SUM8(AS_IS)
        if (s0 != swapped(sum0) || s1 != swapped(sum1))
            break;
        if (pages) { /* a commit */
            committed = frames;
            database_pages = swapped(pages);
            KEEP_RESULT
        }
    }
end:;
    ASSASIN_STORE_U32(0, page_bytes);
    ASSASIN_STORE_U32(0, committed);
    ASSASIN_STORE_U32(0, database_pages);
    ASSASIN_STORE_U32(0, 0);
    /* Stream 1 has every byte that stream 0 had. */
    if (committed)
        SKIP(HEADER_WORDS)
    for (; committed; committed--) {
        uint32_t page = ASSASIN_TAKE_U32(1);
        SKIP(FRAME_WORDS - 1)
        ASSASIN_STORE_U32(0, swapped(page));
        for (uint32_t left = page_bytes; left; left -= 32) {
            uint32_t a = ASSASIN_TAKE_U32(1), b = ASSASIN_TAKE_U32(1), c = ASSASIN_TAKE_U32(1), d = ASSASIN_TAKE_U32(1);
            uint32_t e = ASSASIN_TAKE_U32(1), f = ASSASIN_TAKE_U32(1), g = ASSASIN_TAKE_U32(1), h = ASSASIN_TAKE_U32(1);
            ASSASIN_STORE_U32(0, a);
            ASSASIN_STORE_U32(0, b);
            ASSASIN_STORE_U32(0, c);
            ASSASIN_STORE_U32(0, d);
            ASSASIN_STORE_U32(0, e);
            ASSASIN_STORE_U32(0, f);
            ASSASIN_STORE_U32(0, g);
            ASSASIN_STORE_U32(0, h);
        }
    }
    ASSASIN_RETURN(0);
}
