/* SPDX-License-Identifier: BSD-3-Clause */
/** \file Checks for unit tests: a failed one prints where and ends the test program with exit code 1. */
#ifndef ASSASIN_TESTS_CHECK_H
#define ASSASIN_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define RUN(test)                                                                                                      \
    do {                                                                                                               \
        test();                                                                                                        \
        printf("ok %s\n", #test);                                                                                      \
    } while (0)

#endif
