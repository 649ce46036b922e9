// SPDX-License-Identifier: BSD-3-Clause
// Reference model of a core with streams, written from the instruction semantics: executes one instruction a call and
// says whether what the core did is allowed. What depends on time (how far a Tail has moved) comes in as a set of
// allowed values.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench.h"

namespace cosim {

/// What the outside world has done to a stream by a certain cycle; `low` is certain, `high` is possible.
struct StreamBounds {
    uint32_t tail_low, tail_high;   ///< ITAIL, not clipped; moves in whole pages
    uint32_t otail_low, otail_high; ///< OTAIL
    bool end_known_low, end_known_high;
    uint32_t end;
    uint32_t sent_high; ///< input bytes from the page holding this position on have not been sent at all
};

class StreamModel {
  public:
    StreamModel(unsigned s_log2, unsigned page_log2, std::vector<uint32_t> program, uint32_t entry);

    /// Bounds of a stream at the cycle of the commit being checked.
    std::function<StreamBounds(unsigned stream)> bounds;
    /// Byte of an input stream.
    std::function<uint8_t(unsigned stream, uint32_t pos)> input;

    /// Executes the next instruction and compares; an empty string if the commit is right.
    std::string check(const Commit &commit);

    /// Could the next instruction have completed by now?
    bool ready() const;

    bool stopped = false; ///< exited, trapped or hung: no further commits
    unsigned state = CORE_STATE_RUNNING;
    uint32_t pc;
    std::array<uint32_t, 32> x{};
    std::array<uint32_t, 8> ihead{}, ohead{};
    std::array<std::vector<uint8_t>, 8> output; ///< every byte stored so far

    struct {
        uint64_t loads, unaligned, stores, read_i, read_o, range_traps, ends, waits;
    } count{};

  private:
    struct Outcome {
        bool trap;
        uint32_t cause, tval, value;
    };
    std::vector<uint32_t> tails(unsigned s) const;

    uint32_t ring, page;
    unsigned streams, s_log2;
    std::vector<uint32_t> program;
    uint32_t mtvec = 0, mepc = 0, mcause = 0, mtval = 0, mscratch = 0, sepilogue = 0;
};

} // namespace cosim
