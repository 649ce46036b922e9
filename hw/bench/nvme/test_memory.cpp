// SPDX-License-Identifier: BSD-3-Clause
// What the firmware and the XDMA see: memory map, register windows, system registers, console, timer.
#include "UncoreBench.h"
#include "assasin_contract.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace uncorebench;

namespace {

constexpr uint32_t event(unsigned shift) {
    return 1u << shift;
}

class Memory : public ::testing::Test {
  protected:
    Memory() : bench(seed()) {
        bench.release();
    }
    std::vector<uint8_t> random(unsigned n) {
        std::vector<uint8_t> v(n);
        for (uint8_t &b : v) {
            b = static_cast<uint8_t>(bench.rng());
        }
        return v;
    }
    UncoreBench bench;
};

// Bytes, halves and words anywhere in TCM and DRAM against a model; the XDMA reads and writes the same memory
// meanwhile. It does so when the firmware has had an access behind its stores, as it has before it rings a doorbell:
// until then they may be on their way.
TEST_F(Memory, FirmwareAndXdmaShareTcmAndDram) {
    auto &rng = bench.rng;
    for (const uint32_t base : {0u, 0x20000u, ASSASIN_TCM_SIZE - 4096, DramModel::BASE + 0x1000}) {
        const unsigned size = 4096;
        std::vector<uint8_t> model = random(size);
        bench.deviceWrite(base, model);
        for (unsigned n = 0; n < 600; n++) {
            const unsigned kind = rng() % 10;
            if (kind <= 1) {
                bench.load(ASSASIN_SYS_BASE + SYS_CACHE_FIRST);
            }
            if (kind == 0) {
                const unsigned at = rng() % size, bytes = 1 + rng() % std::min(600u, size - at);
                const auto data = random(bytes);
                std::copy(data.begin(), data.end(), model.begin() + at);
                bench.deviceWrite(base + at, data);
                ASSERT_EQ(bench.xdma.response, 0);
            } else if (kind == 1) {
                const unsigned at = rng() % size, bytes = 1 + rng() % std::min(600u, size - at);
                const auto data = bench.deviceRead(base + at, bytes);
                ASSERT_EQ(std::memcmp(data.data(), &model[at], bytes), 0);
                ASSERT_EQ(bench.xdma.response, 0);
            } else {
                const unsigned log2 = rng() % 3, at = (rng() % size) >> log2 << log2;
                const bool write = rng() % 2;
                const uint32_t data = rng();
                const auto r = bench.access(base + at, write, data, log2);
                ASSERT_FALSE(r.error);
                if (write) {
                    std::memcpy(&model[at], &data, 1u << log2);
                } else {
                    uint32_t expect = 0, got = r.data;
                    std::memcpy(&expect, &model[at], 1u << log2);
                    if (log2 < 2) {
                        got &= (1u << (8u << log2)) - 1;
                    }
                    ASSERT_EQ(got, expect) << "at " << std::hex << base + at;
                }
            }
        }
    }
}

TEST_F(Memory, TcmAnswersInOneCycle) {
    bench.store(0x100, 0x12345678);
    const auto r = bench.access(0x100, false, 0, 2);
    EXPECT_EQ(r.data, 0x12345678u);
    EXPECT_EQ(r.cycles, 1u);
}

TEST_F(Memory, InstructionPortReadsTcm) {
    for (uint32_t a = 0; a < 64; a += 4) {
        bench.store(a, 0xA0000000u | a);
    }
    for (unsigned n = 0; n < 64; n++) {
        const uint32_t a = bench.rng() % 16 * 4;
        bench.top.io_firmware_imem_addr = a;
        bench.tick();
        uint32_t data = 0;
        bench.tick([&] { data = bench.top.io_firmware_imem_data; });
        ASSERT_EQ(data, 0xA0000000u | a);
    }
}

TEST_F(Memory, UnmappedAddressesFault) {
    const uint32_t addresses[] = {ASSASIN_TCM_SIZE, 0x10000000, 0x1ffffffc, 0x20001000, 0x20040000, 0x20103000,
                                  0x20204000,       0x30000000, 0x30000800, 0x40000000, 0x7ffffffc};
    for (const uint32_t a : addresses) {
        EXPECT_TRUE(bench.access(a, false, 0, 2).error) << std::hex << a;
        EXPECT_TRUE(bench.access(a, true, 0, 2).error) << std::hex << a;
    }
    // Registers: words only.
    for (const uint32_t a :
         {ASSASIN_SYS_BASE, ASSASIN_NVME_BASE, ASSASIN_HDMA_BASE, 0x20030000u, 0x20100000u, 0x20200000u}) {
        EXPECT_TRUE(bench.access(a, false, 0, 0).error) << std::hex << a;
        EXPECT_TRUE(bench.access(a + 2, true, 0, 1).error) << std::hex << a;
        EXPECT_FALSE(bench.access(a, false, 0, 2).error) << std::hex << a;
    }
}

TEST_F(Memory, SlaveRefusesWhatIsNotThere) {
    for (const uint32_t a : {ASSASIN_TCM_SIZE, 0x20000000u, 0x30000400u, 0x30000880u, 0x30001000u, 0x7ffff000u}) {
        bench.deviceWrite(a, random(100));
        EXPECT_EQ(bench.xdma.response, 3) << std::hex << a;
        bench.deviceRead(a, 100);
        EXPECT_EQ(bench.xdma.response, 3) << std::hex << a;
    }
    bench.deviceWrite(0x3000'0800, random(16));
    EXPECT_EQ(bench.xdma.response, 3);
    bench.deviceRead(0x3000'0000, 64);
    EXPECT_EQ(bench.xdma.response, 3);
    bench.deviceWrite(0x0, random(8));
    EXPECT_EQ(bench.xdma.response, 0);
}

// What SYS.TCM_WRITE_FIRST and SYS.TCM_WRITE_END close answers SLVERR and does not change, beat by beat.
TEST_F(Memory, TcmIsWrittenOnlyWhereItIsOpen) {
    const unsigned size = 2048;
    for (unsigned n = 0; n < 60; n++) {
        const uint32_t base = bench.rng() % 2 ? 0 : ASSASIN_TCM_SIZE - size;
        bench.store(ASSASIN_SYS_BASE + SYS_TCM_WRITE_FIRST, 0);
        bench.store(ASSASIN_SYS_BASE + SYS_TCM_WRITE_END, 0xfffffff8);
        std::vector<uint8_t> model = random(size);
        bench.deviceWrite(base, model);
        ASSERT_EQ(bench.xdma.response, 0);
        const uint32_t first = bench.rng() % size & ~7u, end = first + (bench.rng() % (size - first) & ~7u);
        bench.store(ASSASIN_SYS_BASE + SYS_TCM_WRITE_FIRST, base + first);
        bench.store(ASSASIN_SYS_BASE + SYS_TCM_WRITE_END, base + end);
        ASSERT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_TCM_WRITE_FIRST), base + first);
        ASSERT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_TCM_WRITE_END), base + end);
        for (unsigned k = 0; k < 8; k++) {
            const unsigned at = bench.rng() % size, bytes = 1 + bench.rng() % std::min(300u, size - at);
            const auto data = random(bytes);
            bool closed = false;
            for (unsigned i = 0; i < bytes; i++) {
                const bool open = at + i >= first && at + i < end;
                closed |= !open;
                if (open) {
                    model[at + i] = data[i];
                }
            }
            bench.deviceWrite(base + at, data);
            ASSERT_EQ(bench.xdma.response, closed ? 2 : 0)
                << at << " + " << bytes << ", open " << first << " to " << end;
        }
        const auto got = bench.deviceRead(base, size);
        ASSERT_EQ(std::memcmp(got.data(), model.data(), size), 0);
        ASSERT_EQ(bench.xdma.response, 0);
    }
}

// What SYS.DRAM_CLOSED_FIRST and SYS.DRAM_CLOSED_END close of DRAM answers SLVERR and does not change, but for the
// buffers.
TEST_F(Memory, FirmwareInDramIsWrittenOnlyInItsBuffers) {
    const uint32_t sys = ASSASIN_SYS_BASE, base = ASSASIN_DRAM_BASE + 0x1000, size = 4096;
    for (unsigned n = 0; n < 60; n++) {
        bench.store(sys + SYS_DRAM_CLOSED_FIRST, 0);
        bench.store(sys + SYS_DRAM_CLOSED_END, 0);
        std::vector<uint8_t> model = random(size);
        bench.deviceWrite(base, model);
        ASSERT_EQ(bench.xdma.response, 0);
        const auto within = [&](uint32_t from, uint32_t to) {
            const uint32_t first = from + (bench.rng() % (to - from) & ~7u);
            return std::pair{first, first + (bench.rng() % (to - first + 8) & ~7u)};
        };
        const auto [first, end] = within(0, size);
        const auto [open, shut] = within(n % 2 ? first : 0, size);
        bench.store(sys + SYS_DRAM_CLOSED_FIRST, base + first);
        bench.store(sys + SYS_DRAM_CLOSED_END, base + end);
        bench.store(sys + SYS_TCM_WRITE_FIRST, base + open);
        bench.store(sys + SYS_TCM_WRITE_END, base + shut);
        ASSERT_EQ(bench.load(sys + SYS_DRAM_CLOSED_FIRST), base + first);
        ASSERT_EQ(bench.load(sys + SYS_DRAM_CLOSED_END), base + end);
        for (unsigned k = 0; k < 8; k++) {
            const unsigned at = bench.rng() % size, bytes = 1 + bench.rng() % std::min(900u, size - at);
            const auto data = random(bytes);
            bool refused = false;
            for (unsigned i = 0; i < bytes; i++) {
                const unsigned a = at + i;
                const bool closed = a >= first && a < end && !(a >= open && a < shut);
                refused |= closed;
                if (!closed) {
                    model[a] = data[i];
                }
            }
            bench.deviceWrite(base + at, data);
            ASSERT_EQ(bench.xdma.response, refused ? 2 : 0)
                << at << " + " << bytes << ", closed " << first << " to " << end << " but " << open << " to " << shut;
        }
        const auto got = bench.deviceRead(base, size);
        ASSERT_EQ(std::memcmp(got.data(), model.data(), size), 0);
        ASSERT_EQ(bench.xdma.response, 0);
    }
}

TEST_F(Memory, RegisterWindowsReachTheirBlocks) {
    for (unsigned n = 0; n < 200; n++) {
        const unsigned block = bench.rng() % (CHANNELS + CORES);
        const uint32_t base = block < CHANNELS ? ASSASIN_FLASH_BASE + block * ASSASIN_FLASH_STRIDE
                                               : ASSASIN_CORE_BASE + (block - CHANNELS) * ASSASIN_CORE_STRIDE;
        const uint32_t offset = bench.rng() % 1024 * 4;
        if (bench.rng() % 2) {
            const uint32_t data = bench.rng();
            bench.store(base + offset, data);
            ASSERT_TRUE(bench.until([&] { return !bench.regAccesses.empty(); }, 50));
            ASSERT_TRUE(bench.regAccesses.back().write);
            ASSERT_EQ(bench.regAccesses.back().data, data);
        } else {
            ASSERT_EQ(bench.load(base + offset), block << 16 | offset);
            ASSERT_FALSE(bench.regAccesses.back().write);
        }
        ASSERT_EQ(bench.regAccesses.size(), 1u);
        ASSERT_EQ(bench.regAccesses.back().block, block);
        ASSERT_EQ(bench.regAccesses.back().addr, offset);
        bench.regAccesses.clear();
    }
}

TEST_F(Memory, XdmaWindow) {
    for (unsigned n = 0; n < 100; n++) {
        const unsigned i = bench.rng() % 64;
        const uint32_t data = bench.rng();
        bench.store(ASSASIN_XDMA_BASE + 4 * i, data);
        ASSERT_EQ(bench.xdmaRegs[i], data);
        ASSERT_EQ(bench.load(ASSASIN_XDMA_BASE + 4 * i), data);
    }
    EXPECT_TRUE(bench.access(ASSASIN_XDMA_BASE + 0x4000, false, 0, 2).error);
    EXPECT_TRUE(bench.access(ASSASIN_XDMA_BASE + 0x4000, true, 0, 2).error);
}

// Unknown registers read 0.
TEST_F(Memory, IdentifiesItself) {
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_ID), 0x41535331u);
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_CONFIG), 0x01040304u);
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_CONFIG2), 12u);
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_ID), 0x41535331u);
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_CONFIG), 0x01040304u);
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + 0xffc), 0u);
}

TEST_F(Memory, BootArgument) {
    bench.hostWrite(BAR_CTRL + CTRL_BOOT_ARG, 0x11223344);
    bench.hostWrite(BAR_CTRL + CTRL_BOOT_ARG, 0xffffffff, 0x4);
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_BOOT_ARG), 0x11ff3344u);
}

TEST_F(Memory, TimerWakes) {
    const uint32_t sys = ASSASIN_SYS_BASE;
    EXPECT_EQ(bench.top.io_board_wakeAt, ~0ull);
    const uint64_t at = (bench.now = 0x7fffff00ull) + 0x300;
    bench.store(sys + SYS_MTIMECMP_LO, static_cast<uint32_t>(at));
    bench.store(sys + SYS_MTIMECMP_HI, static_cast<uint32_t>(at >> 32));
    bench.store(sys + SYS_EVENT_ENABLE, event(SYS_EVENT_TIMER_SHIFT));
    bench.top.io_firmware_sleeping = 1;
    bench.ticks(20);
    EXPECT_EQ(bench.top.io_board_wakeAt, at);
    EXPECT_TRUE(bench.top.io_board_asleep);
    EXPECT_FALSE(bench.top.io_firmware_irq);
    // The clock stops; the timebase goes on.
    bench.now = at - 1;
    bench.tick();
    EXPECT_FALSE(bench.top.io_firmware_irq);
    EXPECT_TRUE(bench.top.io_board_asleep);
    bench.tick();
    EXPECT_TRUE(bench.top.io_firmware_irq);
    EXPECT_FALSE(bench.top.io_board_asleep);
    bench.top.io_firmware_sleeping = 0;
    bench.tick();
    // Sleep counts in the timebase.
    const uint32_t sleep = bench.load(sys + SYS_SLEEP_CYCLES_LO);
    EXPECT_GT(sleep, 0x200u);
    EXPECT_LT(sleep, 0x310u);
    EXPECT_EQ(bench.load(sys + SYS_EVENT), event(SYS_EVENT_TIMER_SHIFT));
    const uint32_t low = bench.load(sys + SYS_MTIME_LO);
    EXPECT_EQ(bench.load(sys + SYS_MTIME_HI), static_cast<uint32_t>(at >> 32));
    EXPECT_GE(low, static_cast<uint32_t>(at));
}

TEST_F(Memory, EventsFromCoresAndChannels) {
    bench.top.io_channels_1_pending = 1;
    bench.top.io_cores_3_event = 1;
    bench.ticks(2);
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_FLASH_PENDING), 2u);
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_CORE_PENDING), 8u);
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_EVENT), event(SYS_EVENT_FLASH_SHIFT) | event(SYS_EVENT_CORE_SHIFT));
    EXPECT_FALSE(bench.top.io_firmware_irq);
    bench.store(ASSASIN_SYS_BASE + SYS_EVENT_ENABLE, event(SYS_EVENT_CORE_SHIFT));
    bench.ticks(4);
    EXPECT_TRUE(bench.top.io_firmware_irq);
    bench.top.io_cores_3_event = 0;
    bench.ticks(2);
    EXPECT_FALSE(bench.top.io_firmware_irq);
}

TEST_F(Memory, SleepsOnlyWhenAllIsQuiet) {
    bench.ticks(20);
    EXPECT_FALSE(bench.top.io_board_asleep);
    bench.top.io_firmware_sleeping = 1;
    bench.ticks(20);
    EXPECT_TRUE(bench.top.io_board_asleep);
    bench.top.io_cores_2_running = 1;
    bench.tick();
    EXPECT_FALSE(bench.top.io_board_asleep);
    bench.top.io_cores_2_running = 0;
    bench.ticks(20);
    EXPECT_TRUE(bench.top.io_board_asleep);
    bench.top.io_channels_0_asleep = 0;
    bench.tick();
    EXPECT_FALSE(bench.top.io_board_asleep);
    bench.top.io_channels_0_asleep = 1;
    bench.ticks(20);
    EXPECT_TRUE(bench.top.io_board_asleep);
    // A trap of the firmware shows.
    bench.top.io_firmware_sleeping = 0;
    bench.top.io_firmware_status_state = 3;
    bench.top.io_firmware_status_cause = 7;
    bench.top.io_firmware_status_pc = 0x1234;
    bench.ticks(20);
    EXPECT_TRUE(bench.top.io_board_asleep);
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_FW_STATE), 0x702u);
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_FW_PC), 0x1234u);
}

// A processor that the drive does not look into says itself that it has stopped; a reset ends that.
TEST_F(Memory, FirmwareTellsItsTrap) {
    bench.store(ASSASIN_SYS_BASE + SYS_TRAP_PC, 0xf4001234);
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_FW_STATE) & 0xff02, 0u);
    bench.store(ASSASIN_SYS_BASE + SYS_TRAP, 0x501);
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_TRAP), 0x501u);
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_FW_STATE) & 0xff02, 0x502u);
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_FW_PC), 0xf4001234u);
    bench.hostWrite(BAR_CTRL + CTRL_RESET, 1);
    bench.ticks(50);
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_FW_STATE) & 0xff02, 0u);
    bench.hostWrite(BAR_CTRL + CTRL_RESET, 0);
    bench.ticks(50);
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_FW_STATE) & 0xff02, 0u);
}

TEST_F(Memory, ConsoleBothWays) {
    const uint32_t sys = ASSASIN_SYS_BASE;
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_CONSOLE_TX), 0u);
    EXPECT_EQ(bench.load(sys + SYS_CONSOLE_TX), 1024u);
    for (const char c : std::string("drive")) {
        bench.store(sys + SYS_CONSOLE_TX, static_cast<uint8_t>(c));
    }
    std::string text;
    for (uint32_t v; (v = bench.hostRead(BAR_CTRL + CTRL_CONSOLE_TX)) >> 31;) {
        text += static_cast<char>(v);
    }
    EXPECT_EQ(text, "drive");
    // The oldest characters go when it overflows; one more is held outside the memory.
    for (unsigned i = 0; i < 1500; i++) {
        bench.store(sys + SYS_CONSOLE_TX, i & 0xff);
    }
    EXPECT_EQ(bench.load(sys + SYS_CONSOLE_TX), 0u);
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_CONSOLE_TX), 0x80000000u);
    for (unsigned i = 1500 - 1024; i < 1500; i++) {
        ASSERT_EQ(bench.hostRead(BAR_CTRL + CTRL_CONSOLE_TX), 0x80000000u | (i & 0xff));
    }
    EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_CONSOLE_TX), 0u);

    for (unsigned i = 0; i < 17; i++) {
        EXPECT_EQ(bench.hostRead(BAR_CTRL + CTRL_CONSOLE_RX), i == 16 ? 0x80000000u : 0);
        bench.hostWrite(BAR_CTRL + CTRL_CONSOLE_RX, 'a' + i);
    }
    EXPECT_EQ(bench.load(sys + SYS_EVENT), event(SYS_EVENT_CONSOLE_RX_SHIFT));
    for (unsigned i = 0; i < 16; i++) {
        ASSERT_EQ(bench.load(sys + SYS_CONSOLE_RX), 0x80000000u | ('a' + i));
    }
    EXPECT_EQ(bench.load(sys + SYS_CONSOLE_RX), 0u);
    EXPECT_EQ(bench.load(sys + SYS_EVENT), 0u);
}

} // namespace
