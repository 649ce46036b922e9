/* SPDX-License-Identifier: BSD-3-Clause */
/* What raid4, raid5 and raid6 share. */
#ifndef ASSASIN_OFFLOAD_RAID_H
#define ASSASIN_OFFLOAD_RAID_H

#include <assasin.h>
#include <offloads.h>

#define RAID_IN_ALL                                                                                                    \
    ASSASIN_IN(0);                                                                                                     \
    ASSASIN_IN(1);                                                                                                     \
    ASSASIN_IN(2);                                                                                                     \
    ASSASIN_IN(3);                                                                                                     \
    ASSASIN_IN(4);                                                                                                     \
    ASSASIN_IN(5);                                                                                                     \
    ASSASIN_IN(6);                                                                                                     \
    ASSASIN_IN(7)

/* `each`(s) for the streams s = 1 to n - 1. */
#define RAID_IF(n, stream, each)                                                                                       \
    if ((stream) < (n)) {                                                                                              \
        each(stream)                                                                                                   \
    }
#define RAID_OTHERS(n, each)                                                                                           \
    RAID_IF(n, 1, each)                                                                                                \
    RAID_IF(n, 2, each)                                                                                                \
    RAID_IF(n, 3, each)                                                                                                \
    RAID_IF(n, 4, each)                                                                                                \
    RAID_IF(n, 5, each)                                                                                                \
    RAID_IF(n, 6, each)                                                                                                \
    RAID_IF(n, 7, each)

/* Behind a load that has found the end of one of the n streams: `length` is their common length; when they have none,
 * compute ends with RAID_UNEQUAL. */
#define RAID_KNOWN(stream)                                                                                             \
    if (ASSASIN_IN_END(stream) != UINT32_MAX)                                                                          \
        raid_length = ASSASIN_IN_END(stream);
#define RAID_SAME(stream) raid_same &= ASSASIN_ENDS_AT(stream, raid_length);
#define RAID_LENGTH(n, length)                                                                                         \
    {                                                                                                                  \
        uint32_t raid_length = ASSASIN_IN_END(0);                                                                      \
        RAID_OTHERS(n, RAID_KNOWN)                                                                                     \
        int raid_same = ASSASIN_ENDS_AT(0, raid_length);                                                               \
        RAID_OTHERS(n, RAID_SAME)                                                                                      \
        if (!raid_same)                                                                                                \
            ASSASIN_RETURN(RAID_UNEQUAL);                                                                              \
        length = raid_length;                                                                                          \
    }

#endif
