// SPDX-License-Identifier: BSD-3-Clause
// The pipeline alone with the memories that random programs use.
#pragma once

#include <cstring>
#include <vector>

#include "core_bench.h"
#include "isa_program.h"

namespace cosim {

/// Instruction memory and data memory of the random programs; a store to kAcknowledge takes the interrupt away.
class ProgramMemory : public CoreMemory {
  public:
    explicit ProgramMemory(const std::vector<uint32_t> &program) : imem(kImemBytes / 4), dmem(kSpadBytes / 4) {
        std::memcpy(imem.data(), program.data(), program.size() * 4);
    }
    uint32_t fetch(uint32_t addr) override {
        return imem[(addr - kImemBase) / 4 % imem.size()];
    }
    bool read(uint32_t addr, uint32_t &word) override {
        if (addr < kSpadBase || addr >= kSpadBase + kSpadBytes)
            return false;
        word = dmem[(addr - kSpadBase) / 4];
        return true;
    }
    bool write(uint32_t addr, uint32_t data, unsigned lanes) override {
        if (addr < kSpadBase || addr >= kSpadBase + kSpadBytes)
            return false;
        uint32_t &word = dmem[(addr - kSpadBase) / 4];
        word = merge_lanes(word, data, lanes);
        if (addr == kAcknowledge)
            *irq = false;
        return true;
    }

    /// The word at `addr` of the data memory as it is.
    uint32_t &word(uint32_t addr) {
        return dmem[(addr - kSpadBase) / 4];
    }

    bool *irq = nullptr;

  private:
    std::vector<uint32_t> imem, dmem;
};

/// The pipeline with those memories.
class ProgramBench : private ProgramMemory, public CoreBench {
  public:
    ProgramBench(uint64_t seed, const std::vector<uint32_t> &program)
        : ProgramMemory(program), CoreBench(seed, *this, kImemBase) {
        ProgramMemory::irq = &(CoreBench::irq);
    }
    using CoreBench::irq;
    using ProgramMemory::fetch;
    using ProgramMemory::word;
};

} // namespace cosim
