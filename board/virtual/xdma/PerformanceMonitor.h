// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace assasin {

/// A channel's performance counters (PG195, channel registers 0xC0 to 0xD0): cycles in which it is busy, and data
/// beats.
class PerformanceMonitor {
  public:
    uint32_t read(uint32_t offset) const {
        switch (offset) {
        case 0xC0:
            return control_;
        case 0xC4:
            return uint32_t(cycles_);
        case 0xC8:
            return uint32_t(cycles_ >> 32) & 0x3FF;
        case 0xCC:
            return uint32_t(bytes_ / BEAT_BYTES);
        case 0xD0:
            return uint32_t(bytes_ / BEAT_BYTES >> 32) & 0x3FF;
        default:
            return 0;
        }
    }

    void write(uint32_t offset, uint32_t value) {
        if (offset == 0xC0) {
            if ((value & CLEAR) != 0) {
                cycles_ = bytes_ = 0;
            }
            control_ = value & (RUN | AUTO);
            armed_ = (control_ & RUN) != 0;
        }
    }

    /// The channel's Run bit rose.
    void started() {
        if ((control_ & AUTO) != 0) {
            cycles_ = bytes_ = 0;
            armed_ = (control_ & RUN) != 0;
        }
    }
    /// A descriptor with its stop bit is done.
    void stopped() {
        if ((control_ & AUTO) != 0) {
            armed_ = false;
        }
    }

    void cycle() {
        cycles_ += armed_;
    }
    void moved(uint64_t bytes) {
        bytes_ += armed_ ? bytes : 0;
    }

    void reset() {
        *this = PerformanceMonitor();
    }

  private:
    enum : uint32_t { RUN = 1u << 0, CLEAR = 1u << 1, AUTO = 1u << 2 };
    static constexpr unsigned BEAT_BYTES = 8;

    uint32_t control_ = 0;
    bool armed_ = false;
    uint64_t cycles_ = 0;
    uint64_t bytes_ = 0;
};

} // namespace assasin
