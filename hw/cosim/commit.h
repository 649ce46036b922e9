// SPDX-License-Identifier: BSD-3-Clause
// What the trace port of a core shows.
#pragma once

#include <cstdint>

namespace cosim {

/// A retired instruction or a trap, as the trace port shows it.
struct Commit {
    uint64_t cycle;
    uint32_t pc, insn;
    bool wen;
    unsigned rd;
    uint32_t wdata;
    bool trap;
    uint32_t cause, tval;
    bool stream_end;
};

} // namespace cosim
