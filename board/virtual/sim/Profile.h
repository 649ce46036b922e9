// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "dram/Dram.h"
#include "xdma/PcieParams.h"

namespace assasin {

/// What a cycle is worth and the models' timing: a file of board/virtual/profiles.
struct Profile {
    std::string name;        ///< file name without directory and suffix
    double nsPerCycle = 1.0; ///< of the SoC clock
    std::string partFile;    ///< path of the NAND part file
    DramParams dram;
    PcieParams pcie;
};

/// Reads profile file `path`; the part it names is looked up in ../parts beside it. Throws std::runtime_error naming
/// file, key, value and limit when something is missing, of the wrong type or out of range.
Profile loadProfile(const std::string &path);

} // namespace assasin
