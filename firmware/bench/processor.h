/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What assasin-fw-cycles.so exports beside firmware_boot, firmware_step and loader_identity, each under the name of its
 * type without `_fn`. Counts are those since the last fw_cycles_reset.
 */
#pragma once

#include <cstdint>

/** What the firmware's processor has spent, asleep not counted, and how often it went beyond the TCM. */
struct fw_cycles {
    uint64_t cycles, instructions;
    uint64_t registerLoads, registerStores, dramLoads, dramStores;
};

using fw_cycles_reset_fn = void();
using fw_cycles_total_fn = fw_cycles();
/** Tells `row` of every function that took time, without those that it calls. */
using fw_cycles_functions_fn = void(void (*row)(void *arg, const char *name, uint64_t cycles, uint64_t calls),
                                    void *arg);
/** Likewise of every instruction. */
using fw_cycles_instructions_fn = void(void (*row)(void *arg, uint32_t pc, uint64_t cycles, uint64_t runs), void *arg);
