/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the firmware uses of a platform-level interrupt controller: one source, number 1, a level; one context.
 */
#pragma once

#include <cstdint>

namespace rocket {

class Plic {
  public:
    static constexpr uint32_t BASE = 0x0c000000, BYTES = 0x04000000;

    uint32_t read(uint32_t offset);
    void write(uint32_t offset, uint32_t value);
    /** The source's level: the gateway asks for an interrupt, unless the last one is not completed yet. */
    void level(bool high);
    /** The context's interrupt line. */
    bool interrupt() const;

  private:
    uint32_t priority_ = 0, enable_ = 0, threshold_ = 0;
    bool high_ = false, pending_ = false;
    bool serving_ = true; ///< claimed and not completed; a reset of the tile alone may leave it so
};

} // namespace rocket
