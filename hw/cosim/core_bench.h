// SPDX-License-Identifier: BSD-3-Clause
// Drives one Verilated pipeline (Core; with CORE_VECTOR defined VectorCore): clock, interrupt, and the memories behind
// its ports.
#pragma once

#include <cstdint>
#include <deque>
#include <random>

#ifdef CORE_VECTOR
#include "VVectorCore.h"
#else
#include "VCore.h"
#endif
#include "commit.h"

namespace cosim {

#ifdef CORE_VECTOR
using CoreModel = VVectorCore;
#else
using CoreModel = VCore;
#endif

/// What lies behind the memory ports of a core.
class CoreMemory {
  public:
    virtual ~CoreMemory() = default;

    /// The word at `addr` for the instruction port, which has no error answer.
    virtual uint32_t fetch(uint32_t addr) = 0;

    /// The aligned word that holds `addr`; false where nothing answers.
    virtual bool read(uint32_t addr, uint32_t &word) = 0;

    /// Writes the byte lanes in `lanes` (bit i: byte i of the aligned word); false where nothing answers.
    virtual bool write(uint32_t addr, uint32_t data, unsigned lanes) = 0;
};

class CoreBench {
  public:
    /// `seed` decides what undriven data looks like and, unless `fast`, how long the data memory takes.
    CoreBench(uint64_t seed, CoreMemory &memory, uint32_t entry) : rng(seed), memory(memory) {
        top.reset = 1;
        top.io_hartId = 0;
        top.io_run = 1;
        top.io_entry = entry;
        top.io_irqPending = 0;
        top.io_dmem_resp_valid = 0;
        for (int i = 0; i < 4; i++)
            tick();
        top.reset = 0;
    }

    virtual ~CoreBench() = default;

    void tick() {
        drive();
        top.io_irqPending = irq;
        top.io_imem_data = fetched;
        // Answer of an access taken in an earlier cycle.
        const bool answer = outstanding && (fast || rng() % 4 == 0);
        top.io_dmem_resp_valid = answer;
        top.io_dmem_resp_bits_rdata = answer ? rdata : static_cast<uint32_t>(rng());
        top.io_dmem_resp_bits_err = answer ? err : rng() & 1;
        top.io_dmem_req_ready = fast || rng() % 3 == 0;
        top.clock = 0;
        top.eval();
        sample();
        if (answer)
            outstanding = false;
        if (top.io_dmem_req_valid && top.io_dmem_req_ready)
            take();
        fetched = memory.fetch(top.io_imem_addr);
        if (top.io_trace_valid)
            commits.push_back({cycle, top.io_trace_pc, top.io_trace_insn, top.io_trace_wen != 0, top.io_trace_rd,
                               top.io_trace_wdata, top.io_trace_trap != 0, top.io_trace_cause, top.io_trace_tval,
                               top.io_trace_streamEnd != 0});
        top.clock = 1;
        top.eval();
        cycle++;
    }

    CoreModel top;
    std::mt19937_64 rng;
    std::deque<Commit> commits;
    uint64_t cycle = 0;
    bool irq = false;
    bool fast = false;     ///< memory always ready, answers in the next cycle
    unsigned overlaps = 0; ///< accesses that break the rules of the port

  protected:
    /// Sets further inputs before, and looks at further outputs in, a cycle.
    virtual void drive() {
    }
    virtual void sample() {
    }

  private:
    void take() {
        // One access at a time, never misaligned, lanes as the width says.
        const uint32_t addr = top.io_dmem_req_bits_addr, size = top.io_dmem_req_bits_size;
        const uint32_t lanes = (size == 2 ? 15u : size == 1 ? 3u : 1u) << (addr & 3);
        if (outstanding || size > 2 || addr % (1u << size) || top.io_dmem_req_bits_mask != lanes)
            overlaps++;
        outstanding = true;
        rdata = static_cast<uint32_t>(rng());
        if (top.io_dmem_req_bits_write)
            err = !memory.write(addr, top.io_dmem_req_bits_wdata, lanes);
        else
            err = !memory.read(addr, rdata);
    }

    CoreMemory &memory;
    uint32_t fetched = 0, rdata = 0;
    bool outstanding = false, err = false;
};

/// `word` with the byte lanes in `lanes` taken from `data`.
inline uint32_t merge_lanes(uint32_t word, uint32_t data, unsigned lanes) {
    for (unsigned i = 0; i < 4; i++)
        if (lanes >> i & 1)
            word = (word & ~(0xffu << 8 * i)) | (data & 0xffu << 8 * i);
    return word;
}

} // namespace cosim
