// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <random>

namespace assasin {

/// When the host lets one channel of the IP's AXI4 port move: always, or with random waits between two transfers, most
/// of them short and a few of thousands of cycles. PCIe credits, root complex and clock crossings make such waits.
class HostPauses {
  public:
    /// Waits from now on, as `seed` has them.
    void begin(uint64_t seed) {
        random_.seed(seed);
        on_ = true;
        again();
    }

    /// The channel may move in this cycle.
    bool over() const {
        return left_ == 0;
    }

    /// Ends the cycle. `moved`: there was a transfer, the next wait begins.
    void sample(bool moved) {
        if (left_ > 0) {
            left_--;
        } else if (moved && on_) {
            again();
        }
    }

  private:
    void again() {
        const uint64_t kind = random_() % 256;
        left_ = uint32_t(kind == 0 ? random_() % 4000 : kind < 32 ? random_() % 40 : 0);
    }

    std::mt19937_64 random_;
    uint32_t left_ = 0; ///< cycles to wait
    bool on_ = false;
};

} // namespace assasin
