// SPDX-License-Identifier: BSD-3-Clause
#include "NandTiming.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace assasin {

namespace {

/** Rounds up, forgiving the binary rounding of values such as 0.1. */
uint64_t roundUp(double cycles) {
    return static_cast<uint64_t>(std::ceil(cycles - 1e-6));
}

} // namespace

NandTiming::NandTiming(const PartFile &part, double nsPerCycle, unsigned phyBytes)
    : part_(part), nsPerCycle_(nsPerCycle), phyBytes_(phyBytes) {
    if (!(nsPerCycle > 0))
        throw std::runtime_error("ns_per_cycle is " + std::to_string(nsPerCycle) + ", choose a time above 0");
    if (phyBytes != 1 && phyBytes != 2 && phyBytes != 4)
        throw std::runtime_error("PHY bytes is " + std::to_string(phyBytes) + ", choose 1, 2 or 4");
}

uint64_t NandTiming::cycles(uint64_t ns) const {
    return roundUp(static_cast<double>(ns) / nsPerCycle_);
}

NandCycles NandTiming::convert(const NandBusTimes &t, unsigned beatBytes) const {
    auto c = [&](unsigned ns) { return static_cast<unsigned>(cycles(ns)); };
    NandCycles out{c(t.tWC), c(t.tCS), c(t.tWB), c(t.tRR), c(t.tRPRE), c(t.tPST), c(t.tWHR), c(t.tADL), c(t.tCCS), 0};
    out.beat = static_cast<unsigned>(roundUp(t.beatPs * beatBytes / 1000.0 / nsPerCycle_));
    return out;
}

} // namespace assasin
