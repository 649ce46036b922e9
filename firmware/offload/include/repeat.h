/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * EACHn(DO): DO(0) DO(1) ... DO(n - 1), n from 1 to 8. An offload has one loop for every number of columns or
 * dimensions, so that a whole tuple stays in registers.
 */
#ifndef ASSASIN_OFFLOAD_REPEAT_H
#define ASSASIN_OFFLOAD_REPEAT_H

#define EACH1(do)                                                                                                      \
    do                                                                                                                 \
    (0)
#define EACH2(do) EACH1(do) do(1)
#define EACH3(do) EACH2(do) do(2)
#define EACH4(do) EACH3(do) do(3)
#define EACH5(do) EACH4(do) do(4)
#define EACH6(do) EACH5(do) do(5)
#define EACH7(do) EACH6(do) do(6)
#define EACH8(do) EACH7(do) do(7)

#endif
