// SPDX-License-Identifier: BSD-3-Clause
/* What the PHY adds to the package's times. */
#include "tests/harness.h"

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

#define FIELD_OF(reg, f, v) ((v) >> reg##_##f##_SHIFT & reg##_##f##_MASK)

uint32_t margin(uint32_t pst, uint32_t cs, uint32_t wb) {
    return pst << FLASH_PHY_MARGIN_TPST_SHIFT | cs << FLASH_PHY_MARGIN_TCS_SHIFT | wb << FLASH_PHY_MARGIN_TWB_SHIFT;
}

} // namespace

TEST(phy_margin_is_added) {
    Nand plain(Geometry{}), slow(Geometry{});
    slow.phyMargin = margin(1, 6, 15);
    /* One after the other: they are the same firmware. */
    std::array<std::array<uint32_t, 3>, 2> without;
    {
        Drive before(plain);
        without = {before.dev.timing(0), before.dev.timing(1)};
    }
    Drive after(slow);
    for (uint32_t ch = 0; ch < 2; ch++) {
        const auto &a = without[ch], &b = after.dev.timing(ch);
        CHECK_EQ(FIELD_OF(FLASH_TIMING0, TPST, b[0]), FIELD_OF(FLASH_TIMING0, TPST, a[0]) + 1);
        CHECK_EQ(FIELD_OF(FLASH_TIMING0, TCS, b[0]), FIELD_OF(FLASH_TIMING0, TCS, a[0]) + 6);
        CHECK_EQ(FIELD_OF(FLASH_TIMING1, TWB, b[1]), FIELD_OF(FLASH_TIMING1, TWB, a[1]) + 15);
        uint32_t rest0 =
            ~(FLASH_TIMING0_TPST_MASK << FLASH_TIMING0_TPST_SHIFT | FLASH_TIMING0_TCS_MASK << FLASH_TIMING0_TCS_SHIFT);
        CHECK_EQ(a[0] & rest0, b[0] & rest0);
        uint32_t rest1 = ~(FLASH_TIMING1_TWB_MASK << FLASH_TIMING1_TWB_SHIFT);
        CHECK_EQ(a[1] & rest1, b[1] & rest1);
        CHECK_EQ(a[2], b[2]);
    }
}

TEST(phy_margin_that_does_not_fit_is_refused) {
    Nand nand(Geometry{});
    nand.phyMargin = margin(1, 250, 15);
    Drive d(nand);
    CHECK(d.dev.console.find("a time of 20 ns is 270 cycles; the channel counts to 255") != std::string::npos);
    CHECK(d.dev.console.find("timing not supported") != std::string::npos);
}
