// SPDX-License-Identifier: BSD-3-Clause
#include "tests/rocket/Tile.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include <elf.h>

extern "C" {
uint32_t model_read(uint32_t addr);
void model_write(uint32_t addr, uint32_t value);
void model_wfi();
void model_spend(uint32_t cycles);
void *model_dram(uint32_t addr, uint32_t bytes);
uint32_t model_interrupt();
}

namespace rocket {

namespace {

/* The contract with the chip, said once more: the image is checked against it. */
constexpr uint32_t FIRMWARE = 0xf4000000u, FIRMWARE_BYTES = 0x00100000u;
constexpr uint32_t REGISTERS = 0x20000000u, REGISTER_BYTES = 0x00400000u;
constexpr reg_t MEIP = 1 << 11;
/** An event that the firmware has handled without sleeping leaves an interrupt behind, now and then some in a row. */
constexpr unsigned STALE_LIMIT = 100;
/** Cycles that the model is told of at once, at most. */
constexpr uint64_t TELL_EVERY = 100'000;
/** Instructions that a trap takes at most, from its entry to its sleep. */
constexpr unsigned TRAP_INSTRUCTIONS = 100'000;

std::string hex(uint64_t v) {
    char text[24];
    snprintf(text, sizeof text, "%08llx", static_cast<unsigned long long>(v));
    return text;
}

template <typename T> const T *part(const std::vector<char> &file, size_t offset, const std::string &path) {
    if (offset + sizeof(T) > file.size()) {
        throw std::runtime_error(path + " is no firmware: it is too short");
    }
    return reinterpret_cast<const T *>(&file[offset]);
}

} // namespace

Tile::Tile(const std::string &path) : memory_(static_cast<char *>(model_dram(FIRMWARE, FIRMWARE_BYTES))) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
    if (file.size() < EI_NIDENT || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) {
        throw std::runtime_error(path + " is no ELF file");
    }
    const bool wide = file[EI_CLASS] == ELFCLASS64;
    if (wide) {
        load<Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr, Elf64_Sym>(file, path);
    } else {
        load<Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr, Elf32_Sym>(file, path);
    }
    cfg_.isa = wide ? "rv64imac_zicsr_zifencei_zicntr" : "rv32imac_zicsr_zifencei_zicntr";
    cfg_.priv = "m";
    cfg_.hartids = {0};
    hart_ = std::make_unique<processor_t>(cfg_.isa, cfg_.priv, &cfg_, this, 0, false, stderr, std::cerr);
    harts_[0] = hart_.get();
    /* Whoever jumps to the firmware has used the registers. */
    for (unsigned r = 1; r < NXPR; r++) {
        hart_->get_state()->XPR.write(r, sreg_t{int32_t(0xdeadbee0u + r)});
    }
    hart_->get_state()->pc = entry_;
}

template <typename Header, typename Segment, typename Section, typename Symbol>
void Tile::load(const std::vector<char> &file, const std::string &path) {
    const auto *head = part<Header>(file, 0, path);
    entry_ = head->e_entry;
    if (entry_ != FIRMWARE) {
        throw std::runtime_error(path + " starts at " + hex(entry_) + ", not at " + hex(FIRMWARE));
    }
    for (unsigned i = 0; i < head->e_phnum; i++) {
        const auto *segment = part<Segment>(file, head->e_phoff + i * sizeof(Segment), path);
        if (segment->p_type != PT_LOAD || segment->p_filesz == 0) {
            continue;
        }
        const uint64_t at = segment->p_paddr - FIRMWARE;
        if (at > FIRMWARE_BYTES || segment->p_filesz > FIRMWARE_BYTES - at ||
            segment->p_offset + segment->p_filesz > file.size()) {
            throw std::runtime_error(path + ": a segment at " + hex(segment->p_paddr) + " is outside DRAM_FIRMWARE");
        }
        std::memcpy(memory_ + at, &file[segment->p_offset], segment->p_filesz);
    }
    for (unsigned i = 0; i < head->e_shnum; i++) {
        const auto *section = part<Section>(file, head->e_shoff + i * sizeof(Section), path);
        if (section->sh_type != SHT_SYMTAB) {
            continue;
        }
        const auto *strings = part<Section>(file, head->e_shoff + section->sh_link * sizeof(Section), path);
        for (uint64_t at = 0; at < section->sh_size; at += sizeof(Symbol)) {
            const auto *s = part<Symbol>(file, section->sh_offset + at, path);
            symbols_[&file[strings->sh_offset + s->st_name]] = s->st_value;
        }
    }
}

uint64_t Tile::at(const std::string &name) const {
    auto found = symbols_.find(name);
    if (found == symbols_.end()) {
        throw std::runtime_error("the firmware has no " + name);
    }
    return found->second;
}

void Tile::boot(const drive_identity &identity) {
    constexpr size_t SKIP = offsetof(drive_identity, id);
    std::memcpy(memory_ + (at("loader_identity") - FIRMWARE) + SKIP, &identity.id, sizeof identity - SKIP);
    until(at("main"));
    call("firmware_boot");
}

void Tile::step() {
    call("firmware_step");
}

/** Returns to the entry, which nothing else leads to. */
void Tile::call(const char *function) {
    state_t &state = *hart_->get_state();
    const auto sign = hart_->get_xlen() == 32 ? sreg_t{int32_t(FIRMWARE)} : sreg_t{FIRMWARE};
    state.XPR.write(1, sign);
    state.pc = at(function);
    until(FIRMWARE);
}

void Tile::until(uint64_t end) {
    const uint64_t trap = at("trap_entry");
    const uint64_t mask = hart_->get_xlen() == 32 ? UINT32_MAX : UINT64_MAX;
    const state_t &state = *hart_->get_state();
    do {
        /* Before crt0 has set mtvec a trap leads elsewhere. */
        if ((state.pc & mask) == trap || (state.pc & mask) - FIRMWARE >= FIRMWARE_BYTES) {
            trapped();
            throw std::runtime_error("the firmware traps at " + hex(state.mepc->read()) + ": cause " +
                                     std::to_string(state.mcause->read()) + ", tval " + hex(state.mtval->read()));
        }
        execute();
    } while ((state.pc & mask) != end);
    tell();
}

/** A trap of the firmware: it tells the drive by SYS.TRAP, then sleeps. */
void Tile::trapped() {
    const state_t &state = *hart_->get_state();
    const uint64_t mask = hart_->get_xlen() == 32 ? UINT32_MAX : UINT64_MAX;
    if ((state.pc & mask) != at("trap_entry")) {
        return;
    }
    const uint32_t cause = uint32_t(state.mcause->read()), pc = uint32_t(state.mepc->read());
    for (unsigned n = 0; n < TRAP_INSTRUCTIONS && (state.pc & mask) != at("trap_end"); n++) {
        execute();
    }
    const uint32_t told = model_read(ASSASIN_SYS_BASE + SYS_TRAP), toldPc = model_read(ASSASIN_SYS_BASE + SYS_TRAP_PC);
    if ((state.pc & mask) != at("trap_end") || told != (1 | cause << 8) || toldPc != pc) {
        throw std::runtime_error("the firmware traps at " + hex(pc) + ", cause " + std::to_string(cause) +
                                 ", and tells SYS.TRAP " + hex(told) + ", SYS.TRAP_PC " + hex(toldPc));
    }
}

void Tile::execute() {
    const uint64_t pc = hart_->get_state()->pc;
    const uint32_t instruction = word(pc);
    look(instruction);
    hart_->step(1);
    instructions_++;
    if (hart_->get_state()->pc != pc + ((instruction & 3) == 3 ? 4 : 2)) {
        endBlock();
    }
    if (instructions_ - told_ >= TELL_EVERY) {
        tell();
    }
    if (hart_->is_waiting_for_interrupt()) {
        sleep();
    }
}

void Tile::sleep() {
    tell();
    line();
    if (!plic_.interrupt()) {
        stale_ = 0;
        model_wfi();
        line();
    } else if (model_interrupt() == 0 && ++stale_ > STALE_LIMIT) {
        throw std::runtime_error("the firmware does not sleep: an interrupt that is over is still claimed by nobody");
    }
    if (model_interrupt() != 0 && (hart_->get_state()->mip->read() & hart_->get_state()->mie->read()) == 0) {
        throw std::runtime_error("the firmware would sleep for ever: its interrupt is not completed, or not enabled");
    }
    /* Without an interrupt a tile stays where it is; the test's host goes on here. */
    hart_->clear_waiting_for_interrupt();
}

/** The model's time follows. */
void Tile::tell() {
    if (instructions_ > told_) {
        model_spend(static_cast<uint32_t>(instructions_ - told_));
        told_ = instructions_;
    }
}

void Tile::line() {
    plic_.level(model_interrupt() != 0);
    hart_->get_state()->mip->backdoor_write_with_mask(MEIP, plic_.interrupt() ? MEIP : 0);
}

uint32_t Tile::word(uint64_t pc) const {
    const auto offset = static_cast<uint32_t>(pc) - FIRMWARE;
    uint32_t instruction = 0;
    if (offset < FIRMWARE_BYTES - 4) {
        std::memcpy(&instruction, memory_ + offset, 4);
    }
    return instruction;
}

/** Fences in the order of the program. */
void Tile::look(uint32_t instruction) {
    constexpr uint32_t MISC_MEM = 0x0f, OPCODE_AND_FUNCTION = 0x707f;
    constexpr uint32_t I = 8, O = 4, R = 2, W = 1;
    if ((instruction & OPCODE_AND_FUNCTION) != MISC_MEM) {
        return;
    }
    const uint32_t before = instruction >> 24 & 15, after = instruction >> 20 & 15;
    if ((before & (R | W)) == (R | W) && (after & O) != 0) {
        ordered_ = true;
    }
    if ((before & I) != 0 && (after & (R | W)) == (R | W)) {
        registerLoaded_ = false;
    }
}

/** A jump, or the next access to a register. The compiler moves accesses to DRAM that the program has on one side of a
 * fence into the gap between the fence and the register's access, which is harmless. */
void Tile::endBlock() {
    if (registerLoaded_) {
        throw std::runtime_error("no fence behind the load from a register before " + hex(hart_->get_state()->pc));
    }
    ordered_ = false;
}

char *Tile::addr_to_mem(reg_t address) {
    const reg_t offset = address - FIRMWARE;
    return offset < FIRMWARE_BYTES ? memory_ + offset : nullptr;
}

bool Tile::mmio_load(reg_t address, size_t bytes, uint8_t *data) {
    const auto a = static_cast<uint32_t>(address);
    tell();
    if (address >= ASSASIN_DRAM_BASE && address <= UINT32_MAX) {
        for (size_t i = 0; i < bytes; i += 4) {
            const uint32_t value = model_read((a + static_cast<uint32_t>(i)) & ~3u) >> (a & 3) * 8;
            std::memcpy(data + i, &value, std::min<size_t>(bytes - i, 4));
        }
        return true;
    }
    if (bytes != 4) {
        return false;
    }
    endBlock();
    uint32_t value;
    if (a - Plic::BASE < Plic::BYTES) {
        plic_.level(model_interrupt() != 0);
        value = plic_.read(a - Plic::BASE);
    } else if (a - REGISTERS < REGISTER_BYTES) {
        value = model_read(a);
    } else {
        return false;
    }
    registerLoaded_ = true;
    std::memcpy(data, &value, 4);
    return true;
}

bool Tile::mmio_store(reg_t address, size_t bytes, const uint8_t *data) {
    const auto a = static_cast<uint32_t>(address);
    tell();
    if (address >= ASSASIN_DRAM_BASE && address <= UINT32_MAX) {
        for (size_t i = 0; i < bytes; i += 4) {
            const uint32_t at = (a + static_cast<uint32_t>(i)) & ~3u;
            uint32_t value = 0;
            if (bytes < 4) {
                value = model_read(at);
            }
            std::memcpy(reinterpret_cast<uint8_t *>(&value) + (a & 3), data + i, std::min<size_t>(bytes - i, 4));
            model_write(at, value);
        }
        return true;
    }
    if (bytes != 4) {
        return false;
    }
    uint32_t value;
    std::memcpy(&value, data, 4);
    if (a - Plic::BASE < Plic::BYTES) {
        plic_.write(a - Plic::BASE, value);
        line();
        return true;
    }
    if (a - REGISTERS >= REGISTER_BYTES) {
        return false;
    }
    if (!ordered_) {
        throw std::runtime_error("no fence before the store to register " + hex(a));
    }
    endBlock();
    model_write(a, value);
    return true;
}

} // namespace rocket

namespace {
std::unique_ptr<rocket::Tile> tile;
}

/* The interface of the firmware that is compiled for the host. ASSASIN_FW_ELF names the image. */
extern "C" {
__attribute__((visibility("default"))) drive_identity loader_identity;

__attribute__((visibility("default"))) void firmware_boot() {
    const char *path = getenv("ASSASIN_FW_ELF");
    if (path == nullptr) {
        throw std::runtime_error("ASSASIN_FW_ELF is not set: it names the image");
    }
    tile = std::make_unique<rocket::Tile>(path);
    tile->boot(loader_identity);
}

__attribute__((visibility("default"))) void firmware_step() {
    tile->step();
}
}
