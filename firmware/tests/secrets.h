// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * User data that is found again on a medium that should not have it any more.
 */
#pragma once

#include "tests/harness.h"

#include <algorithm>

namespace secrets {

/** User data whose blocks all begin with the same bytes, and how many sectors of a medium hold such. */
inline constexpr uint8_t kMark[16] = {0xde, 0xad, 's', 'e', 'c', 'r', 'e', 't', 0xbe, 0xef, 1, 2, 3, 5, 7, 11};
inline std::vector<uint8_t> secret(uint32_t lba, uint32_t blocks) {
    auto v = harness::pattern(lba, 7, blocks);
    for (uint32_t i = 0; i < blocks; i++) {
        std::copy(std::begin(kMark), std::end(kMark), v.begin() + i * 4096);
    }
    return v;
}
inline uint32_t onMedium(const model::Nand &nand) {
    auto pages = nand.pages();
    return static_cast<uint32_t>(std::count_if(pages.begin(), pages.end(), [](const auto &p) {
        return std::equal(std::begin(kMark), std::end(kMark), p.second.data.begin());
    }));
}

/** A small drive, and how many of its blocks fill() writes, some more than once: there are stale sectors, too. */
inline const model::Geometry kSmall{2, 2, 1, 1, 16, 32};
inline constexpr uint32_t kBlocks = 640;
inline void fill(harness::Drive &d) {
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t lba = 0; lba < kBlocks - 200 * pass; lba += 32) {
            CHECK_EQ(d.write(lba, secret(lba, 32)).status, harness::kOk);
        }
    }
}

} // namespace secrets
