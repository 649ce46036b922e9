// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assasin {

/// What the board tells about itself, as a JSON file.
struct Status {
    std::string state;   ///< booting, serving, stopped, failed, violation
    std::string message; ///< why, when failed or violation
    std::string config;  ///< e.g. AssasinSb8x8
    std::string cpu;     ///< core, rocket or rocket64: what the firmware is for
    std::string profile;
    std::string profileFile;
    std::string part;
    std::string image;
    std::string firmware;
    std::string socket;
    double nsPerCycle = 0;
    int pid = 0;
    unsigned channels = 0;
    unsigned ways = 0;
    uint64_t timebase = 0;     ///< cycles since power-on, slept ones included
    uint64_t cycles = 0;       ///< cycles simulated
    uint64_t asleepCycles = 0; ///< cycles skipped while the chip slept
    double hostSeconds = 0;    ///< since start, waiting excluded
    double waitSeconds = 0;    ///< waiting for the visitor or a timer
    double khz = 0;            ///< cycles simulated a host millisecond, waiting excluded
    bool visited = false;
    int visitorPid = 0; ///< process that is connected to the door; 0: none
    uint64_t visits = 0;
    uint64_t dmaFaults = 0;
    uint64_t h2cBytes = 0;
    uint64_t c2hBytes = 0;
    uint64_t flashReadBytes = 0;    ///< page data read in the arrays, spare bytes excluded
    uint64_t flashProgramBytes = 0; ///< likewise programmed
    uint64_t nandBitErrors = 0;     ///< raw, that reads brought
    uint64_t nandProgramFailures = 0;
    uint64_t nandEraseFailures = 0;
    uint64_t nandCutOperations = 0; ///< that a loss of power or a RESET met
    uint64_t dramReadBytes = 0;
    uint64_t dramWriteBytes = 0;
    uint64_t interrupts = 0;
    bool firmwareTrapped = false;
    uint32_t firmwareCause = 0;
    uint32_t firmwarePc = 0;
    unsigned violations = 0;
    std::vector<std::string> slots; ///< "name/version" of the kernel in each slot; empty: none

    std::string json() const;
};

/// Replaces file `path` by `text` in one step. Throws std::runtime_error when it cannot.
void replaceFile(const std::string &path, const std::string &text);

} // namespace assasin
