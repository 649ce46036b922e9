// SPDX-License-Identifier: BSD-3-Clause
// CoreMark's port to the core in co-simulation: ticks are cycles, the console is `tohost`. See ../../coremark.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HAS_FLOAT          0
#define HAS_TIME_H         0
#define USE_CLOCK          0
#define HAS_STDIO          0
#define HAS_PRINTF         0
#define MAIN_HAS_NOARGC    1
#define MAIN_HAS_NORETURN  0
#define SEED_METHOD        SEED_VOLATILE
#define MEM_METHOD         MEM_STATIC
#define MEM_LOCATION       "STATIC"
#define MULTITHREAD        1
#define USE_PTHREAD        0
#define USE_FORK           0
#define USE_SOCKET         0
#define COMPILER_VERSION   "GCC " __VERSION__
#define COMPILER_FLAGS     FLAGS_STR
#define align_mem(address) (void *)(((ee_ptr_int)(address) + 3) & ~(ee_ptr_int)3)

typedef int16_t ee_s16;
typedef uint16_t ee_u16;
typedef int32_t ee_s32;
typedef uint8_t ee_u8;
typedef uint32_t ee_u32;
typedef uintptr_t ee_ptr_int;
typedef size_t ee_size_t;
typedef uint32_t CORETIMETYPE;
typedef uint32_t CORE_TICKS;

typedef struct CORE_PORTABLE_S {
    ee_u8 portable_id;
} core_portable;

extern ee_u32 default_num_contexts;

void portable_init(core_portable *p, int *argc, char *argv[]);
void portable_fini(core_portable *p);
int ee_printf(const char *format, ...);

#if !defined(PROFILE_RUN) && !defined(PERFORMANCE_RUN) && !defined(VALIDATION_RUN)
#define PERFORMANCE_RUN 1
#endif
