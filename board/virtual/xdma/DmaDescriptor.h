// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace assasin {

/// One transfer as a channel carries it out (PG195, "Descriptor Format", without the fields of the list).
struct DmaDescriptor {
    /// Bits of `control`.
    enum : uint8_t { STOP = 1u << 0, COMPLETED = 1u << 1, END_OF_PACKET = 1u << 4 };

    uint64_t src;
    uint64_t dst;
    uint32_t len; ///< bytes, 28 bits
    uint8_t control;
};

} // namespace assasin
