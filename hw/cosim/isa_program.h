// SPDX-License-Identifier: BSD-3-Clause
// Random programs of RV32IM + Zicsr, and the extensions if asked, that end by themselves, for co-simulation against
// spike.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace cosim {

constexpr uint32_t kImemBase = 0x80000000, kImemBytes = 0x8000;
constexpr uint32_t kSpadBase = 0x90000000, kSpadBytes = 0x10000;
/// Spike ends when a program stores here; programs never use this page otherwise.
constexpr uint32_t kToHost = kSpadBase + 0xfff0;

/// A store here by the interrupt handler takes the interrupt away.
constexpr uint32_t kAcknowledge = kSpadBase + 0xffe0;

struct Program {
    std::vector<uint32_t> words;
    uint32_t end_pc;                      ///< the program is over when this instruction retires (a jump to itself)
    uint32_t handler_first, handler_last; ///< trap handler, addresses
};

struct ProgramOptions {
    unsigned body = 7000;    ///< random instructions a round, about
    unsigned rounds = 12;    ///< times the body runs
    bool traps = true;       ///< traps, and accesses to the CSRs that a trap changes
    bool extensions = false; ///< instructions of Zba, Zbb, Zkne and Zknd among the others; without it only as traps
    bool interrupts = false; ///< enables the external interrupt; its handler leaves no trace in what the rest can see.
                             ///< Without `traps`.
    bool vector = false;     ///< vset*, vector CSRs and mstatus.VS among the others, no other vector instruction that
                             ///< exists
};

Program random_program(std::mt19937_64 &rng, const ProgramOptions &options);

} // namespace cosim
