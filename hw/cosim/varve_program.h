// SPDX-License-Identifier: BSD-3-Clause
// Random programs of VarVE's and RVV's instructions, for co-simulation of the vector unit against the model.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace cosim {

/// Memory that programs may access. Around it there is none.
constexpr uint32_t kVarveBase = 0x20000000, kVarveBytes = 0x2000;
constexpr unsigned kBuffers = 8;

/// An instruction for the unit with its scalar operands, or what scalar code does before one.
struct VarveItem {
    enum Kind { Insn, Set, Format, Start, Enable } kind;
    /// Insn: word, rs1, rs2. Set: vtype, vl. Format: VSFMT, VSAUX. Start: vstart. Enable: bit 0 mstatus.VS is on, bit 1
    /// MVARVE is.
    uint32_t word = 0, a = 0, b = 0;
};

/// An input stream buffer's stream: where it begins, how long it is, its bytes and some behind its end.
struct VarveInput {
    uint64_t start;
    size_t length;
    std::vector<uint8_t> bytes;
};

struct VarveProgram {
    uint64_t seed;
    std::vector<VarveItem> items;
    std::vector<uint8_t> memory; ///< at the start
    std::array<VarveInput, kBuffers> in;
    std::array<uint64_t, kBuffers> out; ///< where the output streams begin
    unsigned log_streams, log_ring;     ///< log2 of the number of streams, and of a ring in bytes
    /// Room for output comes a byte at a time, when an instruction can do nothing but wait for it.
    bool tight = false;
};

/// Kinds of streams that programs may declare: a bit each.
enum : unsigned { kFixedStreams = 1, kVariableStreams = 2, kHuffmanStreams = 4 };

/// `vlen`: bits of a vector register. `full`: with instructions of VarVE-full, `slot`: bits of its slot. The first four
/// instructions fill all registers. In a program of VarVE-full RVV uses v0 to v15 alone, and vectors of elements of any
/// width lie above them: what RVV makes of one is not said.
VarveProgram random_varve_program(uint64_t seed, unsigned vlen, unsigned kinds, bool full, unsigned slot);

/// A program of VarVE-full in which guesses fail (docs/varve/unit.md 6.3) while as many as possible are under way; the
/// seed decides the data alone.
VarveProgram crowded_varve_program(uint64_t seed, unsigned vlen, unsigned slot);

/// The same, whose strips have the same number for a while, which is then guessed, and then another one.
VarveProgram steady_varve_program(uint64_t seed, unsigned vlen, unsigned slot);

/// The same, whose packs to VarWidth and Huffman streams have too little room for their elements, then just enough.
VarveProgram tight_varve_program(uint64_t seed, unsigned vlen, unsigned slot);

} // namespace cosim
