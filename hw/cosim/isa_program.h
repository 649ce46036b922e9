// Random RV32IM + Zicsr programs that end by themselves, for co-simulation against spike.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace cosim {

constexpr uint32_t kImemBase = 0x80000000, kImemBytes = 0x8000;
constexpr uint32_t kSpadBase = 0x90000000, kSpadBytes = 0x10000;
/// Spike ends when a program stores here; programs never use this page otherwise.
constexpr uint32_t kToHost = kSpadBase + 0xfff0;

struct Program {
    std::vector<uint32_t> words;
    uint32_t end_pc;                   ///< the program is over when this instruction retires (a jump to itself)
    uint32_t handler_first, handler_last; ///< trap handler, addresses
};

struct ProgramOptions {
    unsigned body = 7000;   ///< random instructions a round, about
    unsigned rounds = 12;   ///< times the body runs
    bool traps = true;      ///< traps, and accesses to the CSRs that a trap changes
};

Program random_program(std::mt19937_64 &rng, const ProgramOptions &options);

} // namespace cosim
