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

constexpr uint32_t kDifferential = 1u << FLASH_PHY_MARGIN_DIFFERENTIAL_SHIFT;

/** A PHY of a board: its shortest byte in eighths of a cycle. */
uint32_t boardPhy(uint32_t byte) {
    return margin(1, 6, 15) | byte << FLASH_PHY_MARGIN_BYTE_SHIFT | kDifferential;
}

uint32_t clockOf(uint32_t mhz) {
    return mhz << SYS_BOOT_ARG_CLOCK_MHZ_SHIFT;
}

/** A small part without the block of times, which offers these modes. */
Geometry offering(uint32_t modes) {
    return {2, 2, 1, 1, 16, 32, 4096, 224, false, modes};
}

bool says(const Drive &d, const std::string &text) {
    return d.dev.console.find(text) != std::string::npos;
}

void use(Drive &d) {
    d.start();
    CHECK_EQ(d.write(0, pattern(0, 1, 32)).status, kOk);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 32, &got).status, kOk);
    CHECK(got == pattern(0, 1, 32));
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

/* ONFI's complementary signals are off after RESET. The PHYs of boards receive DQS differentially. */
TEST(phy_differential_dqs_is_turned_on) {
    Nand nand(Geometry{});
    nand.phyMargin = boardPhy(8);
    Drive d(nand);
    for (uint32_t ch = 0; ch < 2; ch++) {
        for (uint32_t w = 0; w < 2; w++) {
            CHECK_EQ(d.dev.busFeatures(ch, w).second, 0x06u);
        }
    }
    use(d);
}

TEST(phy_differential_dqs_of_hynix) {
    Geometry g;
    g.maker = 0xad;
    Nand nand(g);
    Drive d(nand);
    CHECK_EQ(d.dev.busFeatures(0, 0).second, 0x06u);
    use(d);
}

TEST(phy_single_ended_leaves_feature_02h_alone) {
    Geometry g;
    g.differential = false;
    Nand nand(g);
    nand.phyMargin = margin(1, 6, 15);
    Drive d(nand);
    CHECK_EQ(d.dev.busFeatures(1, 1).second, 0u);
    use(d);
}

TEST(phy_differential_refuses_a_part_without_dqs_c) {
    Geometry g;
    g.differential = false;
    Nand nand(g);
    Drive d(nand);
    CHECK(says(d, "MODEL has no DQS_c, which the PHY needs"));
    CHECK(says(d, "data interface not supported"));
}

/* From mode 4 on, 200 MT/s, a part may need the external reference; below it is left off. */
TEST(phy_external_reference_where_the_part_needs_it) {
    for (uint32_t modes : {0x0fu, 0x1fu}) {
        Geometry g = offering(modes);
        g.externalVref = true;
        Nand nand(g);
        Drive d(nand);
        CHECK_EQ(d.dev.busFeatures(0, 0).second, modes == 0x1f ? 0x07u : 0x06u);
        use(d);
    }
}

/* What the bus runs at: the slower of part and PHY, and the slowest mode of the part that allows it. */
TEST(phy_and_part_the_slower_one_counts) {
    const struct {
        uint32_t mhz, byte, modes, rate, mode, pst;
    } cases[] = {
        {100, 4, 0x1f, 1, 4, 6},    /* cosmosplus: 200 MT/s, a byte a cycle */
        {100, 4, 0x7ff, 1, 4, 6},   /* a part that would be faster */
        {200, 16, 0x1f, 2, 2, 11},  /* daisyplus: 100 MT/s; 25 + 10 + 15 ns and a cycle */
        {200, 16, 0x7ff, 2, 2, 12}, /* a nanosecond is rounded up twice */
        {200, 16, 0x03, 0, 0, 0},   /* 12.5 ns a byte are too slow for it */
        {200, 16, 0x13, 2, 4, 11},  /* no mode 2 or 3 */
        {100, 8, 0x1f, 1, 2, 6},    /* half of what the part can */
        {150, 16, 0x1f, 2, 1, 10},  /* 13.3 ns a byte, rounded up to 14 */
        {133, 6, 0x1f, 1, 4, 8},    /* 5.6 ns a byte */
        {133, 6, 0x0f, 0, 0, 0},    /* 6 ns are too slow for it */
    };
    for (const auto &c : cases) {
        Nand nand(offering(c.modes));
        nand.phyMargin = boardPhy(c.byte);
        Drive d(nand, 2, seed, clockOf(c.mhz));
        CHECK_EQ(says(d, "a byte of MODEL takes"), c.rate == 0);
        CHECK_EQ(says(d, "data interface not supported"), c.rate == 0);
        if (c.rate == 0) {
            continue;
        }
        CHECK_EQ(d.dev.dataRate(0), c.rate);
        CHECK_EQ(d.dev.busFeatures(1, 1).first, 0x20u | c.mode);
        CHECK_EQ(FIELD_OF(FLASH_TIMING0, TPST, d.dev.timing(0)[0]), c.pst);
        use(d);
    }
}
