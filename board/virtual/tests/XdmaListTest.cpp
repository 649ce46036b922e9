// SPDX-License-Identifier: BSD-3-Clause
// The XDMA endpoint's list channels as the vendor's driver uses them: descriptor lists in host memory, started by
// registers, ended by interrupt or write-back. The bypass channels work at the same time.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/XdmaBench.h"

namespace {

using namespace test;

constexpr uint32_t RUN = 1;
constexpr uint32_t IE_STOPPED = 1u << 1, IE_COMPLETED = 1u << 2, IE_MAGIC = 1u << 4, IE_IDLE = 1u << 6;
constexpr uint32_t IE_READ = 0x1Fu << 9, IE_WRITE = 0x1Fu << 14, IE_LIST = 0x1Fu << 19;
constexpr uint32_t FIXED = 1u << 25, WRITEBACK = 1u << 26;
constexpr uint32_t DRIVER = RUN | IE_STOPPED | IE_COMPLETED | IE_MAGIC | IE_READ | IE_LIST; ///< by interrupt
constexpr uint32_t STOP = 1, COMPLETED = 2;

constexpr uint64_t LISTS = HOST_SIZE - 0x40000; ///< offset in host memory
constexpr uint64_t WB = LISTS - 0x1000;         ///< of the write-back word
constexpr uint64_t DATA_SIZE = 0x80000;         ///< host memory [0, DATA_SIZE) and the device's are data

struct Item {
    uint64_t host; ///< offset in host memory
    uint64_t device;
    uint32_t len;
};

struct XdmaListTest : XdmaBench {
    static constexpr bool H2C = false, C2H = true;

    static uint32_t base(bool c2h) {
        return c2h ? 0x1000 : 0;
    }

    /// Writes descriptor `index` at offset `at`.
    void descriptor(uint64_t at, bool c2h, const Item &item, uint64_t next, uint32_t adjacent, uint32_t control,
                    uint32_t magic = 0xAD4B) {
        const uint64_t src = c2h ? item.device : HOST_BASE + item.host;
        const uint64_t dst = c2h ? HOST_BASE + item.host : item.device;
        const uint32_t words[8] = {magic << 16 | adjacent << 8 | control,
                                   item.len,
                                   uint32_t(src),
                                   uint32_t(src >> 32),
                                   uint32_t(dst),
                                   uint32_t(dst >> 32),
                                   uint32_t(next),
                                   uint32_t(next >> 32)};
        std::memcpy(memory.bytes() + at, words, sizeof words);
    }

    /// Lays a list out as the vendor's driver does: one array, blocks of up to 64 adjacent descriptors.
    uint32_t list(uint64_t at, bool c2h, const std::vector<Item> &items) {
        const auto adjacentTo = [&](size_t i) { // descriptors that follow i at once in its block
            const size_t left = items.size() - i - 1;
            return uint32_t(std::min<size_t>(63 - (at / 32 + i) % 64, left));
        };
        for (size_t i = 0; i < items.size(); i++) {
            const bool last = i + 1 == items.size();
            descriptor(at + 32 * i, c2h, items[i], last ? 0 : HOST_BASE + at + 32 * (i + 1),
                       last ? 0 : adjacentTo(i + 1), last ? STOP | COMPLETED : 0);
        }
        return adjacentTo(0);
    }

    void start(bool c2h, uint64_t at, uint32_t adjacent, uint32_t control = DRIVER) {
        xdma.writeRegister(0x4080 + base(c2h), uint32_t(HOST_BASE + at));
        xdma.writeRegister(0x4084 + base(c2h), uint32_t((HOST_BASE + at) >> 32));
        xdma.writeRegister(0x4088 + base(c2h), adjacent);
        xdma.writeRegister(0x0004 + base(c2h), control);
    }

    uint32_t status(bool c2h) {
        return xdma.readRegister(0x0040 + base(c2h));
    }
    uint32_t count(bool c2h) {
        return xdma.readRegister(0x0048 + base(c2h));
    }
    uint32_t written() {
        uint32_t word;
        std::memcpy(&word, memory.bytes() + WB, sizeof word);
        return word;
    }

    void fill() {
        for (size_t i = 0; i < DATA_SIZE; i++) {
            memory.bytes()[i] = uint8_t(random());
            device.data()[i] = uint8_t(random());
        }
    }

    /// Enables MSI-X with vector v's message data 100 + v, and maps engine i to vector i.
    void messagesOn() {
        function.configWrite(BOARD_CFG_CAP_MSIX + 2, 0x8000, 2);
        for (uint32_t v = 0; v < BOARD_MSIX_VECTORS; v++) {
            function.msixWrite(BOARD_MSIX_TABLE + 16 * v, 0xFEE00000);
            function.msixWrite(BOARD_MSIX_TABLE + 16 * v + 8, 100 + v);
            function.msixWrite(BOARD_MSIX_TABLE + 16 * v + 12, 0);
        }
        xdma.writeRegister(0x20A0, 0x03020100);
        xdma.writeRegister(0x2014, 0xF);
    }
};

TEST_F(XdmaListTest, MovesListsOfAnyAlignmentBothWays) {
    fill();
    stalls = true;
    std::vector<uint8_t> host(memory.bytes(), memory.bytes() + DATA_SIZE);
    std::vector<uint8_t> chip(device.data(), device.data() + DATA_SIZE);
    std::vector<Item> down, up;
    const uint64_t half = DATA_SIZE / 2;
    for (int i = 0; i < 150; i++) { // several blocks, and page borders in the list
        const uint32_t len = uint32_t(1 + random() % (i % 3 == 0 ? 17 : 3000));
        down.push_back({random() % (half - len), random() % (half - len), len});
        up.push_back({half + random() % (half - len), half + random() % (half - len), len});
    }
    for (const Item &i : down) {
        std::memcpy(&chip[i.device], &host[i.host], i.len);
    }
    for (const Item &i : up) {
        std::memcpy(&host[i.host], &chip[i.device], i.len);
    }
    const uint32_t downAdjacent = list(LISTS + 32 * 50, H2C, down);
    const uint32_t upAdjacent = list(LISTS + 0x8000, C2H, up);
    start(H2C, LISTS + 32 * 50, downAdjacent);
    start(C2H, LISTS + 0x8000, upAdjacent);
    EXPECT_EQ(status(H2C) & 1, 1u);
    drain();
    for (const bool c2h : {H2C, C2H}) {
        EXPECT_EQ(count(c2h), 150u);
        EXPECT_EQ(status(c2h), IE_STOPPED | IE_COMPLETED);
        EXPECT_EQ(xdma.readRegister(0x0004 + base(c2h)) & RUN, RUN) << "a stop descriptor leaves Run set";
    }
    EXPECT_EQ(std::memcmp(memory.bytes(), host.data(), DATA_SIZE), 0);
    EXPECT_EQ(std::memcmp(device.data(), chip.data(), DATA_SIZE), 0);
    EXPECT_EQ(this->XdmaBench::host.faults(), 0u);
}

TEST_F(XdmaListTest, ListAndBypassChannelsShareThePort) {
    fill();
    run(true);
    std::vector<Item> items;
    for (uint32_t i = 0; i < 32; i++) {
        items.push_back({4096 * i, 4096 * i, 4096});
    }
    start(H2C, LISTS, list(LISTS, H2C, items));
    const uint64_t begin = now;
    for (uint32_t i = 0; i < 32; i++) {
        push(xdma.h2cBypass, HOST_BASE + 4096 * (32 + i), 4096 * (32 + i), 4096);
    }
    drain();
    EXPECT_EQ(done[0], 32u) << "pulses are the bypass channel's alone";
    EXPECT_EQ(count(H2C), 32u);
    EXPECT_EQ(xdma.readRegister(0x0148), 32u);
    EXPECT_EQ(std::memcmp(memory.bytes(), device.data(), 64 * 4096), 0);
    EXPECT_GE(now - begin, 64u * 4096 / 8) << "they share the link's bandwidth";
}

TEST_F(XdmaListTest, InterruptsAsTheDriverHandlesThem) {
    messagesOn();
    const uint32_t mask = IE_STOPPED | IE_COMPLETED | IE_MAGIC | IE_READ | IE_LIST;
    xdma.writeRegister(0x0090, mask);
    xdma.writeRegister(0x1090, mask);
    for (int round = 0; round < 2; round++) {
        messages.clear();
        start(C2H, LISTS, list(LISTS, C2H, {{0, 0, 100}, {200, 200, 100}}));
        drain();
        ASSERT_EQ(messages.size(), 1u);
        EXPECT_EQ(messages[0].second, 102u) << "C2H channel 0 is engine 2";
        EXPECT_EQ(xdma.readRegister(0x2044), 1u << 2);
        // the handler masks the engine, its work reads and clears the status, stops the engine and unmasks it
        xdma.writeRegister(0x1098, mask);
        cycle();
        EXPECT_EQ(xdma.readRegister(0x204C), 0u);
        EXPECT_EQ(xdma.readRegister(0x1044), IE_STOPPED | IE_COMPLETED);
        xdma.writeRegister(0x1004, DRIVER & ~RUN);
        EXPECT_EQ(count(C2H), 2u);
        xdma.writeRegister(0x1094, mask);
        for (int i = 0; i < 10; i++) {
            cycle();
        }
        EXPECT_EQ(messages.size(), 1u);
        EXPECT_EQ(xdma.readRegister(0x2044), 0u);
    }
}

TEST_F(XdmaListTest, InterruptByIntxUntilTheStatusIsRead) {
    std::vector<bool> levels;
    function.onIntx = [&](bool l) { levels.push_back(l); };
    xdma.writeRegister(0x2014, 0xF);
    xdma.writeRegister(0x0090, IE_STOPPED);
    start(H2C, LISTS, list(LISTS, H2C, {{0, 0, 8}}));
    drain();
    for (int i = 0; i < 10; i++) {
        cycle();
    }
    EXPECT_EQ(levels, std::vector<bool>{true});
    xdma.readRegister(0x0044);
    cycle();
    EXPECT_EQ(levels, (std::vector<bool>{true, false}));
}

TEST_F(XdmaListTest, PollModeWritesTheCountBack) {
    xdma.writeRegister(0x0088, uint32_t(HOST_BASE + WB));
    xdma.writeRegister(0x008C, 0);
    const uint32_t adjacent = list(LISTS, H2C, {{0, 0, 4096}, {4096, 4096, 4096}, {8192, 8192, 1}});
    start(H2C, LISTS, adjacent, RUN | IE_MAGIC | IE_READ | IE_LIST | WRITEBACK);
    for (int i = 0; i < 100000 && written() == 0; i++) {
        cycle();
    }
    EXPECT_EQ(written(), 3u);
    EXPECT_EQ(status(H2C), 0u) << "nothing is logged that the control register does not enable, and it is idle";
    EXPECT_EQ(std::memcmp(memory.bytes(), device.data(), 8193), 0) << "the data was there first";
}

TEST_F(XdmaListTest, BadMagicEndsTheRunAfterWhatCameBefore) {
    xdma.writeRegister(0x0088, uint32_t(HOST_BASE + WB));
    descriptor(LISTS, H2C, {0, 0, 64}, HOST_BASE + LISTS + 32, 0, 0);
    descriptor(LISTS + 32, H2C, {64, 64, 64}, 0, 0, STOP, 0xAD4C);
    std::memset(memory.bytes(), 0x77, 128);
    start(H2C, LISTS, 1, DRIVER | WRITEBACK);
    drain();
    EXPECT_EQ(status(H2C), IE_MAGIC);
    EXPECT_EQ(count(H2C), 1u);
    EXPECT_EQ(device.data()[63], 0x77);
    EXPECT_EQ(device.data()[64], 0);
    EXPECT_EQ(written(), 1u << 31 | 1u);
    // a new run clears the status
    start(H2C, LISTS, list(LISTS, H2C, {{0, 64, 64}}));
    EXPECT_EQ(status(H2C), 1u);
    drain();
    EXPECT_EQ(count(H2C), 1u);
    EXPECT_EQ(device.data()[64], 0x77);
}

TEST_F(XdmaListTest, ErrorsStopAtTheFaultyDescriptor) {
    const auto expect = [&](bool c2h, uint32_t bits, uint32_t completed) {
        drain();
        EXPECT_EQ(status(c2h), bits);
        EXPECT_EQ(count(c2h), completed);
        xdma.writeRegister(0x0004 + base(c2h), 0);
    };
    // a list outside of host memory
    xdma.writeRegister(0x4080, 0x1000);
    xdma.writeRegister(0x4084, 0);
    xdma.writeRegister(0x0004, DRIVER);
    expect(H2C, 1u << 19, 0);
    // a list that runs out of host memory: descriptors before that are carried out
    descriptor(LISTS, H2C, {0, 0, 8}, 0x1000, 0, 0);
    start(H2C, LISTS, 0);
    expect(H2C, 1u << 19, 1);
    // source data outside of host memory, in the middle of a list
    start(H2C, LISTS, list(LISTS, H2C, {{0, 0, 8}, {HOST_SIZE - 100, 4096, 5000}, {0, 16384, 8}}));
    std::memset(memory.bytes(), 0x31, 8);
    std::memset(device.data() + 16384, 0, 8);
    expect(H2C, 1u << 9, 1);
    EXPECT_EQ(device.data()[16384], 0) << "nothing after the faulty descriptor";
    // device addresses above its 4 GiB
    start(H2C, LISTS, list(LISTS, H2C, {{0, 0, 8}, {0, (uint64_t(1) << 32) - 4, 8}}), DRIVER | IE_WRITE);
    expect(H2C, 1u << 14, 1);
    start(C2H, LISTS, list(LISTS, C2H, {{0, 0, 8}, {0, uint64_t(7) << 32, 8}}));
    expect(C2H, 1u << 9, 1);
    // device addresses where nothing answers, or where the chip refuses
    readResp = assasin::AXI_DECERR;
    start(C2H, LISTS, list(LISTS, C2H, {{0, 0, 8}, {128, 0, 8}}));
    expect(C2H, 1u << 9, 0);
    readResp = assasin::AXI_SLVERR;
    start(C2H, LISTS, list(LISTS, C2H, {{0, 0, 8}, {128, 0, 8}}));
    expect(C2H, 1u << 10, 0);
    writeResp = assasin::AXI_SLVERR;
    start(H2C, LISTS, list(LISTS, H2C, {{0, 0, 8}, {128, 0, 8}}), DRIVER | IE_WRITE);
    expect(H2C, 1u << 15, 0);
    start(H2C, LISTS, list(LISTS, H2C, {{0, 0, 8}, {128, 0, 8}}), DRIVER);
    drain();
    EXPECT_EQ(status(H2C), IE_STOPPED | IE_COMPLETED)
        << "an error that is not enabled is neither logged nor does it stop";
}

TEST_F(XdmaListTest, ClearingRunFinishesTheDescriptorInWork) {
    std::vector<Item> items(100, Item{0, 0, 4096});
    start(C2H, LISTS, list(LISTS, C2H, items), DRIVER | IE_IDLE);
    for (int i = 0; i < 2000; i++) {
        cycle();
    }
    EXPECT_EQ(status(C2H) & 1, 1u);
    xdma.writeRegister(0x100C, RUN);
    drain();
    EXPECT_EQ(status(C2H), IE_IDLE);
    EXPECT_GE(count(C2H), 1u);
    EXPECT_LT(count(C2H), 100u);
}

TEST_F(XdmaListTest, RestartedWhileItStops) {
    std::vector<Item> items(100, Item{0, 0x10000, 4096});
    std::memset(memory.bytes(), 0x42, 8192);
    start(H2C, LISTS, list(LISTS, H2C, items));
    for (int i = 0; i < 1000; i++) {
        cycle();
    }
    xdma.writeRegister(0x000C, RUN);
    start(H2C, LISTS + 0x4000, list(LISTS + 0x4000, H2C, {{4096, 0x30000, 4096}}));
    drain();
    EXPECT_EQ(count(H2C), 1u);
    EXPECT_EQ(status(H2C), IE_STOPPED | IE_COMPLETED);
    EXPECT_EQ(device.data()[0x30FFF], 0x42);
}

TEST_F(XdmaListTest, FixedAddressGoesToOneWord) {
    for (int i = 0; i < 64; i++) {
        memory.bytes()[i] = uint8_t(i);
    }
    start(H2C, LISTS, list(LISTS, H2C, {{0, 0x800, 64}}), DRIVER | FIXED);
    drain();
    EXPECT_EQ(device.data()[0x800], 56);
    EXPECT_EQ(device.data()[0x807], 63);
    EXPECT_EQ(device.data()[0x808], 0);
}

TEST_F(XdmaListTest, CreditsAndHaltHoldTheFetch) {
    xdma.writeRegister(0x6010, 1);
    start(H2C, LISTS, list(LISTS, H2C, {{0, 0, 8}, {8, 8, 8}, {16, 16, 8}}));
    for (int i = 0; i < 2000; i++) {
        cycle();
    }
    EXPECT_TRUE(xdma.idle()) << "the clock may stop while nothing can happen";
    EXPECT_EQ(status(H2C), 1u);
    xdma.writeRegister(0x6024, 1);
    xdma.writeRegister(0x408C, 2);
    xdma.writeRegister(0x6018, 1);
    drain();
    EXPECT_EQ(count(H2C), 2u);
    EXPECT_EQ(xdma.readRegister(0x408C), 0u);
    xdma.writeRegister(0x408C, 5);
    drain();
    EXPECT_EQ(count(H2C), 3u);
    EXPECT_EQ(xdma.readRegister(0x6020), 1u);
    EXPECT_EQ(status(H2C), IE_STOPPED | IE_COMPLETED);
}

TEST_F(XdmaListTest, PerformanceCountersStopWithTheList) {
    xdma.writeRegister(0x00C0, 2);
    xdma.writeRegister(0x00C0, 5);
    start(H2C, LISTS, list(LISTS, H2C, {{0, 0, 32768}}));
    drain();
    const uint32_t cycles = xdma.readRegister(0x00C4);
    EXPECT_EQ(xdma.readRegister(0x00CC), 32768u / 8);
    EXPECT_GE(cycles, 32768u / 8);
    EXPECT_LE(cycles, 32768u / 8 + 1000);
    for (int i = 0; i < 100; i++) {
        cycle();
    }
    EXPECT_EQ(xdma.readRegister(0x00C4), cycles);
}

TEST_F(XdmaListTest, ResetDropsListsAndKeepsTheChipsChannels) {
    run(true);
    messagesOn();
    std::vector<Item> items(100, Item{0, 0, 4096});
    start(H2C, LISTS, list(LISTS, H2C, items));
    push(xdma.h2cBypass, HOST_BASE, 0x20000, 4096);
    for (int i = 0; i < 300; i++) {
        cycle();
    }
    xdma.reset();
    drain();
    EXPECT_EQ(status(H2C), 0u);
    EXPECT_EQ(count(H2C), 0u);
    EXPECT_EQ(xdma.readRegister(0x0004), 0u);
    EXPECT_EQ(xdma.readRegister(0x4080), 0u);
    EXPECT_EQ(xdma.readRegister(0x2010), 0u);
    EXPECT_EQ(done[0], 1u);
    EXPECT_TRUE(messages.empty());
    xdma.drive();
    EXPECT_TRUE(xdma.h2cBypass.ready);
    start(H2C, LISTS, list(LISTS, H2C, {{0, 0, 8}}));
    drain();
    EXPECT_EQ(count(H2C), 1u);
}

} // namespace
