// SPDX-License-Identifier: BSD-3-Clause
#include "pciproxy/PciFunction.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using assasin::PciFunction;

struct Fixture : testing::Test {
    PciFunction f;
    std::vector<std::pair<uint64_t, uint32_t>> messages;
    std::vector<bool> levels;

    Fixture() {
        f.onMessage = [this](uint64_t a, uint32_t d) { messages.emplace_back(a, d); };
        f.onIntx = [this](bool l) { levels.push_back(l); };
    }
    void enableMsix() {
        f.configWrite(BOARD_CFG_COMMAND, 0x6, 2);
        f.configWrite(BOARD_CFG_CAP_MSIX + 2, 0x8000, 2);
    }
    void setVector(unsigned v, uint64_t address, uint32_t data, bool masked) {
        f.msixWrite(BOARD_MSIX_TABLE + 16 * v, uint32_t(address));
        f.msixWrite(BOARD_MSIX_TABLE + 16 * v + 4, uint32_t(address >> 32));
        f.msixWrite(BOARD_MSIX_TABLE + 16 * v + 8, data);
        f.msixWrite(BOARD_MSIX_TABLE + 16 * v + 12, masked);
    }
};
using PciFunctionTest = Fixture;

TEST_F(PciFunctionTest, IdentityAndSizing) {
    EXPECT_EQ(f.configRead(0, 4), BOARD_PCI_DEVICE << 16 | BOARD_PCI_VENDOR);
    EXPECT_EQ(f.configRead(8, 4) >> 8, BOARD_PCI_CLASS);
    // Upper halves are 0 for one that sizes them before the first reset.
    for (const bool reset : {false, true}) {
        for (const uint32_t bar : {BOARD_CFG_BAR0, BOARD_CFG_BAR2}) {
            f.configWrite(bar, 0xFFFFFFFF, 4);
            f.configWrite(bar + 4, 0xFFFFFFFF, 4);
            const uint32_t size = bar == BOARD_CFG_BAR0 ? BOARD_BAR0_SIZE : BOARD_BAR2_SIZE;
            EXPECT_EQ(f.configRead(bar, 4), ~(size - 1) | 4) << "64-bit, not prefetchable";
            EXPECT_EQ(f.configRead(bar + 4, 4), reset ? 0xFFFFFFFF : 0u);
        }
        f.reset();
        EXPECT_EQ(f.configRead(BOARD_CFG_BAR0, 4), 4u);
        EXPECT_EQ(f.configRead(BOARD_CFG_BAR0 + 4, 4), 0u);
    }
    f.powerOn();
    f.configWrite(BOARD_CFG_BAR2 + 4, 0xFFFFFFFF, 4);
    EXPECT_EQ(f.configRead(BOARD_CFG_BAR2 + 4, 4), 0u);
    for (uint32_t offset = 0x20; offset <= 0x28; offset += 4) {
        f.configWrite(offset, 0xFFFFFFFF, 4);
        EXPECT_EQ(f.configRead(offset, 4), 0u) << offset;
    }
    f.configWrite(0, 0, 4);
    EXPECT_EQ(f.configRead(0, 2), BOARD_PCI_VENDOR);
    EXPECT_EQ(f.configRead(0x100, 4), 0xFFFFFFFF);
}

TEST_F(PciFunctionTest, CapabilityChain) {
    std::vector<uint32_t> ids, offsets;
    for (uint32_t at = f.configRead(0x34, 1); at != 0 && ids.size() < 8; at = f.configRead(at + 1, 1)) {
        ids.push_back(f.configRead(at, 1));
        offsets.push_back(at);
    }
    EXPECT_EQ(ids, (std::vector<uint32_t>{0x01, 0x11, 0x10}));
    EXPECT_EQ(offsets, (std::vector<uint32_t>{BOARD_CFG_CAP_PM, BOARD_CFG_CAP_MSIX, BOARD_CFG_CAP_PCIE}));
    EXPECT_EQ(f.configRead(BOARD_CFG_CAP_MSIX + 2, 2), BOARD_MSIX_VECTORS - 1);
    EXPECT_EQ(f.configRead(BOARD_CFG_CAP_MSIX + 4, 4), BOARD_MSIX_TABLE | BOARD_BAR_XDMA);
}

TEST_F(PciFunctionTest, DecodesOnlyWithMemorySpace) {
    uint32_t offset = 0;
    f.configWrite(BOARD_CFG_BAR0, 0xFE000000, 4);
    f.configWrite(BOARD_CFG_BAR2, 0xFE400000, 4);
    EXPECT_EQ(f.decode(0xFE000014, offset), -1);
    f.configWrite(BOARD_CFG_COMMAND, 2, 2);
    EXPECT_EQ(f.decode(0xFE000014, offset), 0);
    EXPECT_EQ(offset, 0x14u);
    EXPECT_EQ(f.decode(0xFE40FFFC, offset), 2);
    EXPECT_EQ(offset, 0xFFFCu);
    EXPECT_EQ(f.decode(0xFE410000, offset), -1);
}

TEST_F(PciFunctionTest, DecodesBeyond4GiB) {
    uint32_t offset = 0;
    f.reset();
    f.configWrite(BOARD_CFG_BAR0, 0xFE000000, 4);
    f.configWrite(BOARD_CFG_BAR0 + 4, 0x12, 4);
    f.configWrite(BOARD_CFG_BAR2, 0xFE400000, 4);
    f.configWrite(BOARD_CFG_COMMAND, 2, 2);
    EXPECT_EQ(f.decode(0x12FE3FFFFC, offset), 0);
    EXPECT_EQ(offset, 0x3FFFFCu);
    EXPECT_EQ(f.decode(0xFE000000, offset), -1);
    EXPECT_EQ(f.decode(0x12FE400000, offset), -1);
    EXPECT_EQ(f.decode(0xFE400000, offset), 2);
    EXPECT_EQ(offset, 0u);
}

TEST_F(PciFunctionTest, MsixSendsWhenUnmasked) {
    enableMsix();
    setVector(3, 0x1FEE00000, 0x41, false);
    f.raise(3);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0], std::make_pair(uint64_t(0x1FEE00000), 0x41u));
    EXPECT_EQ(f.msixRead(BOARD_MSIX_PBA), 0u);
    f.raise(BOARD_MSIX_VECTORS);
    EXPECT_EQ(messages.size(), 1u);
}

TEST_F(PciFunctionTest, MaskedVectorPends) {
    enableMsix();
    setVector(5, 0xFEE00000, 7, true);
    f.raise(5);
    f.raise(5);
    EXPECT_TRUE(messages.empty());
    EXPECT_EQ(f.msixRead(BOARD_MSIX_PBA), 1u << 5);
    f.msixWrite(BOARD_MSIX_TABLE + 16 * 5 + 12, 0);
    EXPECT_EQ(messages.size(), 1u);
    EXPECT_EQ(f.msixRead(BOARD_MSIX_PBA), 0u);
}

TEST_F(PciFunctionTest, FunctionMaskAndBusMasterHoldMessages) {
    enableMsix();
    setVector(0, 0xFEE00000, 1, false);
    f.configWrite(BOARD_CFG_CAP_MSIX + 2, 0xC000, 2);
    f.raise(0);
    EXPECT_TRUE(messages.empty());
    f.configWrite(BOARD_CFG_COMMAND, 0x2, 2);
    f.configWrite(BOARD_CFG_CAP_MSIX + 2, 0x8000, 2);
    EXPECT_TRUE(messages.empty());
    f.configWrite(BOARD_CFG_COMMAND, 0x6, 2);
    EXPECT_EQ(messages.size(), 1u);
}

TEST_F(PciFunctionTest, IntxFollowsDisableBitAndMsix) {
    f.setIntx(true);
    EXPECT_EQ(levels, std::vector<bool>{true});
    EXPECT_TRUE(f.configRead(6, 2) & 8);
    f.configWrite(BOARD_CFG_COMMAND, 0x400, 2);
    EXPECT_EQ(levels, (std::vector<bool>{true, false}));
    EXPECT_TRUE(f.configRead(6, 2) & 8); // the status bit is not gated
    f.configWrite(BOARD_CFG_COMMAND, 0, 2);
    EXPECT_EQ(levels, (std::vector<bool>{true, false, true}));
    f.configWrite(BOARD_CFG_CAP_MSIX + 2, 0x8000, 2);
    EXPECT_EQ(levels, (std::vector<bool>{true, false, true, false}));
}

TEST_F(PciFunctionTest, ResetRestoresPowerOn) {
    bool master = false;
    f.onBusMaster = [&](bool on) { master = on; };
    enableMsix();
    EXPECT_TRUE(master);
    f.configWrite(BOARD_CFG_BAR0, 0xFE000000, 4);
    setVector(1, 0x1000, 1, true);
    f.raise(1);
    f.reset();
    EXPECT_FALSE(master);
    EXPECT_FALSE(f.msixEnabled());
    EXPECT_EQ(f.configRead(BOARD_CFG_BAR0, 4), 4u);
    EXPECT_EQ(f.configRead(BOARD_CFG_COMMAND, 2), 0u);
    EXPECT_EQ(f.msixRead(BOARD_MSIX_PBA), 0u);
    EXPECT_EQ(f.msixRead(BOARD_MSIX_TABLE + 16 + 12), 1u);
}

TEST_F(PciFunctionTest, PoweredDownItAnswersConfigurationOnly) {
    uint32_t offset = 0;
    bool master = false;
    f.onBusMaster = [&](bool on) { master = on; };
    f.configWrite(BOARD_CFG_BAR0, 0xFE000000, 4);
    f.configWrite(BOARD_CFG_COMMAND, 6, 2);
    EXPECT_TRUE(master);
    f.configWrite(BOARD_CFG_CAP_PM + 4, 1, 2);
    EXPECT_EQ(f.configRead(BOARD_CFG_CAP_PM + 4, 2) & 3, 0u) << "there is no D1";
    f.configWrite(BOARD_CFG_CAP_PM + 4, 3, 2);
    EXPECT_EQ(f.configRead(BOARD_CFG_CAP_PM + 4, 2) & 3, 3u);
    EXPECT_EQ(f.decode(0xFE000014, offset), -1);
    EXPECT_FALSE(master);
    f.configWrite(BOARD_CFG_CAP_PM + 4, 2, 2);
    EXPECT_EQ(f.configRead(BOARD_CFG_CAP_PM + 4, 2) & 3, 3u);
    f.configWrite(BOARD_CFG_CAP_PM + 4, 0, 2);
    EXPECT_EQ(f.decode(0xFE000014, offset), 0) << "no soft reset: the BARs are kept";
    EXPECT_TRUE(master);
}

TEST_F(PciFunctionTest, FunctionLevelResetIsAskedForOnce) {
    EXPECT_NE(f.configRead(BOARD_CFG_CAP_PCIE + 4, 4) & 1u << 28, 0u);
    EXPECT_FALSE(f.takeResetRequest());
    f.configWrite(BOARD_CFG_CAP_PCIE + 8, 0xA810, 2);
    EXPECT_EQ(f.configRead(BOARD_CFG_CAP_PCIE + 8, 2), 0x2810u);
    EXPECT_TRUE(f.takeResetRequest());
    EXPECT_FALSE(f.takeResetRequest());
    EXPECT_EQ(f.maxReadRequest(), 2u);
}

TEST_F(PciFunctionTest, SmallerBarIsSeenInsideTheLargerOne) {
    uint32_t offset = 0;
    f.configWrite(BOARD_CFG_BAR0, 0xFE000000, 4);
    f.configWrite(BOARD_CFG_BAR2, 0xFE010000, 4);
    f.configWrite(BOARD_CFG_COMMAND, 2, 2);
    EXPECT_EQ(f.decode(0xFE012000, offset), 2);
    EXPECT_EQ(offset, 0x2000u);
    EXPECT_EQ(f.decode(0xFE3FFFFC, offset), 0);
    EXPECT_EQ(offset, BOARD_BAR0_SIZE - 4);
}

} // namespace
