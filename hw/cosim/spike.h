// SPDX-License-Identifier: BSD-3-Clause
// The independent reference: runs a program in spike and reads its commit log.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace cosim {

/// One retired instruction of the reference. Traps do not appear; their effects show in the handler's CSR reads.
struct SpikeCommit {
    uint32_t pc, insn;
    bool wen;
    unsigned rd;
    uint64_t wdata;
    std::string effects; ///< what the log says behind the instruction word: registers, CSRs, memory
};

constexpr char kBaseIsa[] = "rv32im_zicsr_zicntr_zifencei";
constexpr char kExtendedIsa[] = "rv32im_zicsr_zicntr_zifencei_zba_zbb_zkne_zknd";
constexpr char kVectorIsa[] = "rv32im_zicsr_zicntr_zifencei_zve32x_zvl256b";

struct SpikeOptions {
    std::string isa;    ///< one of the above, or any other; rv64... gets an ELF file of 64 bits
    std::string elf;    ///< program file
    std::string errors; ///< file for what spike says
    uint32_t entry;     ///< commits before this PC are the boot ROM's
    std::vector<std::pair<uint32_t, uint32_t>> memory; ///< base and size, bytes
};

class Spike {
  public:
    /// Starts spike. Throws std::runtime_error.
    explicit Spike(const SpikeOptions &options);
    /// Writes an ELF image into `folder` and starts spike on it, with the memories of the random programs or with
    /// others. Throws std::runtime_error.
    Spike(const std::string &folder, const std::vector<uint32_t> &words, const std::string &isa);
    Spike(const std::string &folder, const std::vector<uint32_t> &words, const std::string &isa,
          const std::vector<std::pair<uint32_t, uint32_t>> &memory);
    ~Spike();
    Spike(const Spike &) = delete;
    Spike &operator=(const Spike &) = delete;

    /// Next commit inside the program (the boot ROM's are skipped); false when spike has ended.
    bool next(SpikeCommit &commit);

  private:
    FILE *commits = nullptr; ///< what spike prints
    pid_t process = -1;
    std::string errors;
    uint32_t entry;
    bool started = false;
    char *line = nullptr; ///< buffer of getline
    size_t line_size = 0;
};

} // namespace cosim
