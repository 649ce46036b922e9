// SPDX-License-Identifier: BSD-3-Clause
// Reads bare-metal rv32 executables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cosim {

struct ElfSegment {
    uint32_t address;
    uint32_t size;              ///< in memory; what `bytes` does not reach is zero
    std::vector<uint8_t> bytes; ///< from the file
};

struct ElfFile {
    uint32_t entry = 0;
    std::vector<ElfSegment> segments;        ///< loadable ones, not empty
    std::map<std::string, uint32_t> symbols; ///< named symbols that are defined

    /// Throws std::runtime_error that says what is wrong with the file.
    static ElfFile read(const std::string &path);
};

} // namespace cosim
