/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The firmware's image for a Rocket tile, executed by spike, on the hardware model: code and data in DRAM_FIRMWARE,
 * registers and the rest of DRAM the model's, the interrupt by a PLIC.
 *
 * Spike executes in order, so a fence that is missing would not show. So the tile refuses a register access that has no
 * fence where hal/rocket/hal.h puts one.
 */
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <riscv/cfg.h>
#include <riscv/processor.h>
#include <riscv/simif.h>

#include "assasin_contract.h"
#include "tests/rocket/Plic.h"

namespace rocket {

class Tile final : public simif_t {
  public:
    /** Loads the ELF file `path` as the loader does. */
    explicit Tile(const std::string &path);

    /** From the entry to the main loop. */
    void boot(const drive_identity &identity);
    /** One round of it. */
    void step();

    char *addr_to_mem(reg_t address) override;
    bool mmio_load(reg_t address, size_t bytes, uint8_t *data) override;
    bool mmio_store(reg_t address, size_t bytes, const uint8_t *data) override;
    void proc_reset(unsigned) override {
    }
    const cfg_t &get_cfg() const override {
        return cfg_;
    }
    const std::map<size_t, processor_t *> &get_harts() const override {
        return harts_;
    }
    const char *get_symbol(uint64_t) override {
        return nullptr;
    }

  private:
    cfg_t cfg_;
    std::map<size_t, processor_t *> harts_;
    std::unique_ptr<processor_t> hart_;
    std::map<std::string, uint64_t> symbols_;
    Plic plic_;
    char *memory_;
    uint64_t entry_ = 0;
    uint64_t instructions_ = 0, told_ = 0;
    unsigned stale_ = 0;          ///< times in a row that WFI has ended for an interrupt that was over
    bool registerLoaded_ = false; ///< a load from a register, and no fence since
    bool ordered_ = false;        ///< a fence for a store to a register, in the same block of instructions

    template <typename Header, typename Segment, typename Section, typename Symbol>
    void load(const std::vector<char> &file, const std::string &path);
    uint64_t at(const std::string &name) const;
    void call(const char *function);
    void until(uint64_t end);
    void trapped();
    void execute();
    void sleep();
    void tell();
    void line();
    uint32_t word(uint64_t pc) const;
    void look(uint32_t instruction);
    void endBlock();
};

} // namespace rocket
