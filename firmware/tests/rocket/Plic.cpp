// SPDX-License-Identifier: BSD-3-Clause
#include "tests/rocket/Plic.h"

#include <stdexcept>

namespace rocket {

namespace {
constexpr uint32_t PRIORITY_1 = 0x4, ENABLE = 0x2000, THRESHOLD = 0x200000, CLAIM = 0x200004;
constexpr uint32_t SOURCE = 1;

[[noreturn]] void unknown(uint32_t offset) {
    throw std::runtime_error("the firmware uses the interrupt controller's register " + std::to_string(offset));
}
} // namespace

uint32_t Plic::read(uint32_t offset) {
    if (offset != CLAIM) {
        unknown(offset);
    }
    if (!interrupt()) {
        return 0;
    }
    pending_ = false;
    serving_ = true;
    return SOURCE;
}

void Plic::write(uint32_t offset, uint32_t value) {
    switch (offset) {
    case PRIORITY_1:
        priority_ = value & 7;
        break;
    case ENABLE:
        enable_ = value & 1u << SOURCE;
        break;
    case THRESHOLD:
        threshold_ = value & 7;
        break;
    case CLAIM:
        /* Completions of sources that are not enabled are ignored. */
        if (value == SOURCE && enable_ != 0) {
            serving_ = false;
            level(high_);
        }
        break;
    default:
        unknown(offset);
    }
}

void Plic::level(bool high) {
    high_ = high;
    pending_ = pending_ || (high && !serving_);
}

bool Plic::interrupt() const {
    return pending_ && enable_ != 0 && priority_ > threshold_;
}

} // namespace rocket
