// SPDX-License-Identifier: BSD-3-Clause
/*
 * The drive's own firmware binary behind the interface of the firmware that is compiled for the host: its processor is
 * simulated, cycle by cycle as the pipeline spends them, its accesses go to the model. ASSASIN_FW_ELF names the binary.
 */
#include "bench/processor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include <elf.h>

#include "assasin_contract.h"

extern "C" {
#include "model/iss.h"

uint32_t model_read(uint32_t addr);
uint32_t model_cached(uint32_t addr);
void model_write(uint32_t addr, uint32_t value);
void model_wfi();
void model_spend(uint32_t cycles);
void model_tcm(void *memory);
}

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" __attribute__((visibility("default"))) drive_identity loader_identity;
drive_identity loader_identity;

namespace {

/*
 * Cycles of accesses beyond the TCM (hw/src/main/scala/assasin/mem/FirmwareBus.scala). A load waits for its answer; a
 * store goes on at once, and the next access waits for it. Stores to one line of DRAM gather (StoreGather.scala): they
 * leave together when something else is asked for, or so many cycles after the last of them.
 */
constexpr uint32_t kRegisterLoad = 1, kRegisterStore = 2, kDramLoad = 70, kDramStore = 66, kCachedLoad = 1;
constexpr uint32_t kLineBytes = 64, kPatience = 8;
constexpr uint32_t kDram = 0x80000000u;
constexpr uint32_t kTcmBytes = 384 * 1024;
/** Where a function that is called from here returns to: the entry, which nothing else leads to. */
constexpr uint32_t kReturn = 0;

class Processor {
  public:
    Processor() {
        const char *path = getenv("ASSASIN_FW_ELF");
        if (path == nullptr) {
            throw std::runtime_error("ASSASIN_FW_ELF is not set: it names the firmware, build/firmware/assasin-fw.elf");
        }
        std::ifstream in(path, std::ios::binary);
        std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
        load(file, path);
        core_.tcm = tcm_.data();
        core_.tcm_bytes = kTcmBytes;
        core_.spent = spent_.data();
        core_.runs = runs_.data();
        core_.outside = outside;
        core_.user = this;
    }

    void boot() {
        model_tcm(tcm_.data());
        const uint32_t identity = at("loader_identity") + offsetof(drive_identity, id);
        memcpy(&tcm_[identity], &loader_identity.id, sizeof loader_identity - offsetof(drive_identity, id));
        until(at("_start"), at("main"));
        core_.x[1] = kReturn;
        until(at("firmware_boot"), kReturn);
    }
    void step() {
        core_.x[1] = kReturn;
        until(at("firmware_step"), kReturn);
    }
    void reset() {
        std::fill(spent_.begin(), spent_.end(), 0);
        std::fill(runs_.begin(), runs_.end(), 0);
        loads_ = stores_ = dramLoads_ = dramStores_ = 0;
        begin_ = core_.cycles;
        beginInstructions_ = core_.instructions;
    }
    fw_cycles total() const {
        return {
            core_.cycles - begin_, core_.instructions - beginInstructions_, loads_, stores_, dramLoads_, dramStores_};
    }
    void functions(void (*row)(void *arg, const char *name, uint64_t cycles, uint64_t calls), void *arg) const {
        for (auto f = functions_.begin(); f != functions_.end(); ++f) {
            uint64_t cycles = 0;
            auto next = std::next(f);
            uint32_t end = next == functions_.end() ? kTcmBytes : next->first;
            for (uint32_t pc = f->first; pc < end; pc += 4) {
                cycles += spent_[pc / 4];
            }
            if (cycles > 0) {
                row(arg, f->second.c_str(), cycles, runs_[f->first / 4]);
            }
        }
    }
    void instructions(void (*row)(void *arg, uint32_t pc, uint64_t cycles, uint64_t runs), void *arg) const {
        for (uint32_t pc = 0; pc < kTcmBytes; pc += 4) {
            if (runs_[pc / 4] > 0) {
                row(arg, pc, spent_[pc / 4], runs_[pc / 4]);
            }
        }
    }

  private:
    iss_core core_{};
    std::vector<uint8_t> tcm_ = std::vector<uint8_t>(kTcmBytes, 0xa5);
    std::vector<uint64_t> spent_ = std::vector<uint64_t>(kTcmBytes / 4);
    std::vector<uint64_t> runs_ = std::vector<uint64_t>(kTcmBytes / 4);
    std::map<std::string, uint32_t> symbols_;
    std::map<uint32_t, std::string> functions_;
    uint64_t told_ = 0; /**< cycles that the model knows of */
    uint64_t storedTill_ =
        0; /**< the last store is done; of those that gather: when they were to leave by themselves */
    bool gathering_ = false;
    uint32_t gathered_ = 0; /**< the line of the stores that gather */
    uint64_t loads_ = 0, stores_ = 0, dramLoads_ = 0, dramStores_ = 0;
    uint64_t begin_ = 0, beginInstructions_ = 0;

    template <typename T> static const T *part(const std::vector<char> &file, size_t offset, const char *path) {
        if (offset + sizeof(T) > file.size()) {
            throw std::runtime_error(std::string(path) + " is no firmware binary: it is too short");
        }
        return reinterpret_cast<const T *>(&file[offset]);
    }

    void load(const std::vector<char> &file, const char *path) {
        const auto *head = part<Elf32_Ehdr>(file, 0, path);
        if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_machine != EM_RISCV) {
            throw std::runtime_error(std::string(path) + " is no RISC-V ELF file");
        }
        for (unsigned i = 0; i < head->e_phnum; i++) {
            const auto *segment = part<Elf32_Phdr>(file, head->e_phoff + i * sizeof(Elf32_Phdr), path);
            if (segment->p_type != PT_LOAD || segment->p_filesz == 0) {
                continue;
            }
            if (segment->p_paddr > kTcmBytes || segment->p_filesz > kTcmBytes - segment->p_paddr ||
                segment->p_offset + segment->p_filesz > file.size()) {
                throw std::runtime_error(std::string(path) + ": does not fit the TCM");
            }
            memcpy(&tcm_[segment->p_paddr], &file[segment->p_offset], segment->p_filesz);
        }
        for (unsigned i = 0; i < head->e_shnum; i++) {
            const auto *section = part<Elf32_Shdr>(file, head->e_shoff + i * sizeof(Elf32_Shdr), path);
            if (section->sh_type != SHT_SYMTAB) {
                continue;
            }
            const auto *strings = part<Elf32_Shdr>(file, head->e_shoff + section->sh_link * sizeof(Elf32_Shdr), path);
            for (uint32_t at = 0; at < section->sh_size; at += sizeof(Elf32_Sym)) {
                const auto *s = part<Elf32_Sym>(file, section->sh_offset + at, path);
                std::string name = &file[strings->sh_offset + s->st_name];
                symbols_[name] = s->st_value;
                if (ELF32_ST_TYPE(s->st_info) == STT_FUNC) {
                    functions_[s->st_value] = name;
                }
            }
        }
    }

    uint32_t at(const char *name) const {
        auto found = symbols_.find(name);
        if (found == symbols_.end()) {
            throw std::runtime_error(std::string("the firmware has no ") + name);
        }
        return found->second;
    }

    /** Runs from `pc` to `end`. */
    void until(uint32_t pc, uint32_t end) {
        /* An instruction that is a jump to itself cannot be met otherwise. */
        uint32_t there;
        memcpy(&there, &tcm_[end], 4);
        const uint32_t ecall = 0x73;
        memcpy(&tcm_[end], &ecall, 4);
        core_.pc = pc;
        for (;;) {
            iss_status status = iss_core_run(&core_, 1'000'000);
            tell();
            if (status == ISS_EXITED && core_.pc == end) {
                break;
            }
            if (status == ISS_SLEEPS) {
                model_wfi();
            } else if (status != ISS_LIMIT) {
                char text[120];
                snprintf(text, sizeof text, "the firmware stops at %05x: status %d, cause %u, tval %08x", core_.pc,
                         static_cast<int>(status), core_.cause, core_.tval);
                throw std::runtime_error(text);
            }
        }
        memcpy(&tcm_[end], &there, 4);
    }

    /** The model's time follows. */
    void tell() {
        if (core_.cycles > told_) {
            model_spend(static_cast<uint32_t>(core_.cycles - told_));
            told_ = core_.cycles;
        }
    }

    static bool outside(iss_core *core, uint32_t address, bool write, uint32_t *value, uint32_t *stall) {
        auto &p = *static_cast<Processor *>(core->user);
        uint64_t now = core->cycles;
        bool cached = !write && model_cached(address) != 0;
        bool dram = (address & kDram) != 0;
        if (p.gathering_ && write && dram && address / kLineBytes == p.gathered_ && now < p.storedTill_) {
            p.storedTill_ = now + kPatience;
            p.dramStores_++;
            p.tell();
            model_write(address, *value);
            *stall = 0;
            return true;
        }
        if (p.gathering_ && !cached) {
            p.storedTill_ = std::min(now, p.storedTill_) + kDramStore;
            p.gathering_ = false;
        }
        uint64_t begin = cached ? now : std::max(now, p.storedTill_);
        *stall = static_cast<uint32_t>(begin - now);
        p.tell();
        if (write) {
            p.storedTill_ = begin + (dram ? kPatience : kRegisterStore);
            p.gathering_ = dram;
            p.gathered_ = address / kLineBytes;
            (dram ? p.dramStores_ : p.stores_)++;
            model_write(address, *value);
        } else {
            *stall += cached ? kCachedLoad : dram ? kDramLoad : kRegisterLoad;
            (cached ? p.loads_ : dram ? p.dramLoads_ : p.loads_)++;
            *value = model_read(address);
        }
        return true;
    }
};

std::unique_ptr<Processor> processor;

} // namespace

EXPORT void firmware_boot() {
    processor = std::make_unique<Processor>();
    processor->boot();
}

EXPORT void firmware_step() {
    processor->step();
}

EXPORT void fw_cycles_reset() {
    processor->reset();
}

EXPORT fw_cycles fw_cycles_total() {
    return processor->total();
}

EXPORT void fw_cycles_functions(void (*row)(void *, const char *, uint64_t, uint64_t), void *arg) {
    processor->functions(row, arg);
}

EXPORT void fw_cycles_instructions(void (*row)(void *, uint32_t, uint64_t, uint64_t), void *arg) {
    processor->instructions(row, arg);
}
