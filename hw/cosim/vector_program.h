// SPDX-License-Identifier: BSD-3-Clause
// Random programs of vector instructions that end by themselves, for co-simulation against spike.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "isa_program.h"

namespace cosim {

/// Memory that vector instructions may access. Behind it, up to the page of kToHost, and below it there is none.
constexpr uint32_t kVectorBase = kSpadBase, kVectorBytes = 0x4000;

struct VectorProgram {
    uint64_t seed;
    std::vector<uint32_t> words; ///< at kImemBase; begins there
    uint32_t handler;            ///< trap handler's address; it and what follows it is no part of the body
    uint32_t end_pc;             ///< the program is over when this instruction retires
    std::vector<uint8_t> data;   ///< memory at the start
};

/// For which unit a program is made, bits: of a vector register, of a scalar register and an address (32 or 64), of the
/// largest element (32, or 64 with xlen 64).
struct VectorShape {
    unsigned vlen, xlen = 32, elen = 32;
};

VectorProgram random_vector_program(std::mt19937_64 &rng, uint64_t seed, const VectorShape &shape);

} // namespace cosim
