// SPDX-License-Identifier: BSD-3-Clause
// Memory of a bare-metal program: the blocks that its segments touch, the rest of the address space absent.
#pragma once

#include <map>
#include <memory>

#include "core_bench.h"
#include "elf_file.h"

namespace cosim {

class SparseMemory : public CoreMemory {
  public:
    static constexpr uint32_t kBlockBytes = 16u << 20;

    explicit SparseMemory(const ElfFile &elf) {
        for (const ElfSegment &segment : elf.segments) {
            for (uint64_t at = segment.address & ~(kBlockBytes - 1); at < uint64_t{segment.address} + segment.size;
                 at += kBlockBytes)
                add(static_cast<uint32_t>(at));
            for (size_t i = 0; i < segment.bytes.size(); i++) {
                const uint32_t addr = segment.address + static_cast<uint32_t>(i);
                store(addr & ~3u, uint32_t{segment.bytes[i]} << 8 * (addr & 3), 1u << (addr & 3));
            }
        }
    }

    /// Makes the block at `base` exist, filled with zeros.
    void add(uint32_t base) {
        if (!blocks[base / kBlockBytes])
            blocks[base / kBlockBytes].reset(new uint32_t[kBlockBytes / 4]());
    }

    /// Base addresses of the blocks, ascending.
    std::vector<uint32_t> bases() const {
        std::vector<uint32_t> out;
        for (uint32_t i = 0; i < kBlocks; i++)
            if (blocks[i])
                out.push_back(i * kBlockBytes);
        return out;
    }

    /// The aligned word that holds `addr`, 0 where no memory is.
    uint32_t word(uint32_t addr) const {
        const uint32_t *block = blocks[addr / kBlockBytes].get();
        return block ? block[addr % kBlockBytes / 4] : 0;
    }
    /// False where no memory is.
    bool store(uint32_t addr, uint32_t data, unsigned lanes) {
        uint32_t *block = blocks[addr / kBlockBytes].get();
        if (!block)
            return false;
        uint32_t &word = block[addr % kBlockBytes / 4];
        word = merge_lanes(word, data, lanes);
        return true;
    }

    uint32_t fetch(uint32_t addr) override {
        return word(addr);
    }
    bool read(uint32_t addr, uint32_t &value) override {
        value = word(addr);
        return blocks[addr / kBlockBytes] != nullptr;
    }
    bool write(uint32_t addr, uint32_t data, unsigned lanes) override {
        return store(addr, data, lanes);
    }

  private:
    static constexpr uint32_t kBlocks = static_cast<uint32_t>((uint64_t{1} << 32) / kBlockBytes);
    std::unique_ptr<uint32_t[]> blocks[kBlocks];
};

} // namespace cosim
