// SPDX-License-Identifier: BSD-3-Clause
// The counters of a tile's vector unit (hw/regs/core.toml) by their names in benches' results.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <utility>

#include "bench.h"

namespace cosim {

/// Each is the low half of two registers.
inline constexpr std::pair<const char *, uint32_t> kCounters[] = {{"issued", CORE_VECTOR_ISSUED_LO},
                                                                  {"wait_issue", CORE_VECTOR_WAIT_ISSUE_LO},
                                                                  {"wait_result", CORE_VECTOR_WAIT_RESULT_LO},
                                                                  {"wait_input", CORE_VECTOR_WAIT_INPUT_LO},
                                                                  {"wait_output", CORE_VECTOR_WAIT_OUTPUT_LO},
                                                                  {"wait_strip", CORE_VECTOR_WAIT_STRIP_LO},
                                                                  {"wait_hazard", CORE_VECTOR_WAIT_HAZARD_LO},
                                                                  {"wait_memory", CORE_VECTOR_WAIT_MEMORY_LO},
                                                                  {"wait_unit", CORE_VECTOR_WAIT_UNIT_LO},
                                                                  {"strips", CORE_VECTOR_STRIPS_LO},
                                                                  {"elements", CORE_VECTOR_ELEMENTS_LO},
                                                                  {"unpack_waits", CORE_VECTOR_UNPACK_WAITS_LO},
                                                                  {"execute_waits", CORE_VECTOR_EXECUTE_WAITS_LO},
                                                                  {"execute_beats", CORE_VECTOR_EXECUTE_BEATS_LO},
                                                                  {"load_beats", CORE_VECTOR_LOAD_BEATS_LO},
                                                                  {"store_beats", CORE_VECTOR_STORE_BEATS_LO},
                                                                  {"unpack_beats", CORE_VECTOR_UNPACK_BEATS_LO},
                                                                  {"pack_beats", CORE_VECTOR_PACK_BEATS_LO}};

inline uint64_t counter(Bench &b, uint32_t low) {
    const uint64_t value = b.read(low);
    return value | static_cast<uint64_t>(b.read(low + 4)) << 32;
}

/// Prints `, "running": CYCLES, "counters": {...}`, the rest of an object in JSON.
inline void print_counters(Bench &b) {
    std::printf(", \"running\": %" PRIu64 ", \"counters\": {", counter(b, CORE_CYCLES_LO));
    for (const auto &[name, low] : kCounters)
        std::printf("%s\"%s\": %" PRIu64, low == kCounters[0].second ? "" : ", ", name, counter(b, low));
    std::printf("}}\n");
}

} // namespace cosim
