// SPDX-License-Identifier: BSD-3-Clause
// Serves the memory port of a core's vector unit (VectorCore) from the memory that its scalar port has.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "core_bench.h"

namespace cosim {

/// Without `fast` requests are taken, loads answered and stores done at random times.
class VectorBench : public CoreBench {
  public:
    VectorBench(uint64_t seed, CoreMemory &memory, uint32_t entry) : CoreBench(seed, memory, entry), memory(memory) {
    }

  protected:
    void drive() override {
        top.io_memory_load_ready = fast || rng() % 2 == 0;
        top.io_memory_store_ready = fast || rng() % 2 == 0;
        answers = !loads.empty() && (fast || rng() % 2 == 0);
        top.io_memory_loadAnswer_valid = answers;
        Group group;
        for (uint32_t &word : group)
            word = static_cast<uint32_t>(rng());
        if (answers)
            group = loads.front();
        // A port of 64 bits is an integer, a wider one an array of words.
        std::memcpy(&top.io_memory_loadAnswer_bits, group.data(), kBytes);
        done = stores != 0 && (fast || rng() % 2 == 0);
        top.io_memory_storeDone = done;
    }

    void sample() override {
        if (top.io_memory_check_valid)
            check();
        if (answers)
            loads.pop_front();
        if (done)
            stores--;
        if (top.io_memory_load_valid && top.io_memory_load_ready)
            load(top.io_memory_load_bits_addr, top.io_memory_load_bits_bytes);
        if (top.io_memory_store_valid && top.io_memory_store_ready)
            store(top.io_memory_store_bits_addr, top.io_memory_store_bits_mask);
    }

  private:
    static constexpr unsigned kBytes = sizeof(top.io_memory_loadAnswer_bits);
    using Group = std::array<uint32_t, kBytes / 4>;

    /// The answer comes in the same cycle, so the design is evaluated again with it.
    void check() {
        const uint32_t first = top.io_memory_check_first, last = top.io_memory_check_last;
        bool ok = first <= last;
        for (uint64_t at = first & ~3u; ok && at <= last; at += 4) {
            uint32_t word;
            ok = memory.read(static_cast<uint32_t>(at), word);
        }
        top.io_memory_check_ok = ok;
        top.io_memory_check_hold = 0;
        top.io_memory_check_cause = top.io_memory_check_write ? 7 : 5;
        top.eval();
    }

    void load(uint32_t addr, unsigned bytes) {
        Group group;
        for (uint32_t &word : group)
            word = static_cast<uint32_t>(rng());
        for (unsigned i = 0; i < bytes; i++) {
            uint32_t word = 0;
            overlaps += !memory.read((addr + i) & ~3u, word);
            const uint32_t byte = word >> 8 * ((addr + i) & 3) & 0xff;
            group[i / 4] = merge_lanes(group[i / 4], byte << 8 * (i & 3), 1u << (i & 3));
        }
        loads.push_back(group);
    }

    void store(uint32_t addr, uint64_t mask) {
        Group group;
        std::memcpy(group.data(), &top.io_memory_store_bits_data, kBytes);
        for (unsigned i = 0; i < kBytes; i++) {
            if (!(mask >> i & 1))
                continue;
            const uint32_t at = addr + i, byte = group[i / 4] >> 8 * (i & 3) & 0xff;
            overlaps += !memory.write(at & ~3u, byte << 8 * (at & 3), 1u << (at & 3));
        }
        stores++;
    }

    CoreMemory &memory;
    std::deque<Group> loads; ///< read, not yet answered
    unsigned stores = 0;     ///< written, not yet said to be done
    bool answers = false, done = false;
};

} // namespace cosim
