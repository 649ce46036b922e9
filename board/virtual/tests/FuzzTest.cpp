// SPDX-License-Identifier: BSD-3-Clause
// Random accesses to both BARs' models, configuration space and descriptor lists, for a bounded time. Whatever host
// software does, the board survives, the chip's own transfers get through, and after a reset all works.
//
// ASSASIN_FUZZ_SEED repeats a run, ASSASIN_FUZZ_SECONDS (default 5) bounds it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/XdmaBench.h"

namespace {

using namespace test;

double secondsAllowed() {
    const char *const text = std::getenv("ASSASIN_FUZZ_SECONDS");
    return text != nullptr ? std::atof(text) : 5.0;
}

uint64_t seed() {
    const char *const text = std::getenv("ASSASIN_FUZZ_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 0) : std::random_device()();
}

struct FuzzTest : XdmaBench {
    uint64_t pushed[2] = {0, 0};

    uint64_t pick(uint64_t n) {
        return random() % n;
    }

    uint32_t value() {
        switch (pick(5)) {
        case 0:
            return uint32_t(random());
        case 1:
            return 1u << pick(32);
        case 2:
            return ~0u;
        case 3:
            return uint32_t(HOST_BASE + pick(HOST_SIZE));
        default:
            return uint32_t(pick(8));
        }
    }

    /// A register of the IP: mostly one that exists.
    uint32_t offset() {
        static const uint32_t known[] = {0x04,   0x08,   0x0C,   0x40,   0x44,   0x48,   0x88,   0x8C,   0x90,
                                         0x94,   0x98,   0xC0,   0x2004, 0x2008, 0x200C, 0x2010, 0x2014, 0x2018,
                                         0x2080, 0x20A0, 0x4080, 0x4084, 0x4088, 0x408C, 0x6010, 0x6014, 0x6018,
                                         0x6020, 0x6024, 0x6028, 0x8000, 0x800C, 0x8FE0};
        const uint32_t at =
            pick(10) == 0 ? uint32_t(pick(BOARD_BAR2_SIZE) & ~3u) : known[pick(sizeof known / sizeof known[0])];
        // of either direction; the control registers of the chip's own channels are left to the chip
        const uint32_t direction = at < 0x2000 || (at >= 0x4000 && at < 0x6000) ? uint32_t(pick(2)) << 12 : 0;
        const uint32_t chosen = at ^ direction;
        const bool chips = chosen < 0x2000 && (chosen >> 8 & 0xF) == 1;
        return chips ? chosen & ~0x100u : chosen;
    }

    /// Writes a list of random descriptors and starts it.
    void startList() {
        const uint32_t direction = uint32_t(pick(2)) << 12;
        uint64_t at = pick(HOST_SIZE / 2 / 32) * 32 + HOST_SIZE / 2;
        const uint64_t first = at;
        const uint32_t adjacent = uint32_t(pick(4) == 0 ? pick(64) : 0);
        for (uint64_t n = 1 + pick(6); n > 0; n--) {
            const uint64_t next = pick(HOST_SIZE / 2 / 32) * 32 + HOST_SIZE / 2;
            const uint64_t host = HOST_BASE + (pick(20) == 0 ? HOST_SIZE - pick(100) : pick(HOST_SIZE / 4));
            const uint64_t device = pick(20) == 0 ? random() | uint64_t(1) << 33 : pick(DEVICE_SIZE / 2);
            const uint32_t len = pick(20) == 0 ? 0 : uint32_t(1 + pick(3000));
            const uint64_t src = direction != 0 ? device : host, dst = direction != 0 ? host : device;
            const uint32_t magic = pick(20) == 0 ? uint32_t(random()) : 0xAD4Bu << 16;
            const uint32_t control = n == 1 || pick(20) == 0 ? 3 : uint32_t(pick(32)) & ~1u;
            const uint32_t words[8] = {magic | uint32_t(pick(2)) << 8 | control,
                                       len,
                                       uint32_t(src),
                                       uint32_t(src >> 32),
                                       uint32_t(dst),
                                       uint32_t(dst >> 32),
                                       uint32_t(HOST_BASE + next),
                                       0};
            std::memcpy(memory.bytes() + at, words, sizeof words);
            at = next;
        }
        xdma.writeRegister(0x4080 + direction, uint32_t(HOST_BASE + first));
        xdma.writeRegister(0x4084 + direction, 0);
        xdma.writeRegister(0x4088 + direction, adjacent);
        xdma.writeRegister(0x0004 + direction, 1 | uint32_t(random()));
    }

    void step() {
        switch (pick(12)) {
        case 0:
        case 1:
        case 2:
            xdma.writeRegister(offset(), value());
            break;
        case 3:
        case 4:
            xdma.readRegister(offset());
            break;
        case 5:
            startList();
            break;
        case 6: {
            const bool up = pick(2) != 0;
            BypassWires &port = up ? xdma.c2hBypass : xdma.h2cBypass;
            if (!port.load) {
                const uint64_t host = HOST_BASE + pick(HOST_SIZE + 64), device = pick(DEVICE_SIZE - 2048);
                port.load = true;
                port.srcAddr = up ? device : host;
                port.dstAddr = up ? host : device;
                port.len = uint32_t(pick(2048));
                port.ctl = uint16_t(pick(32));
                pushed[up]++;
            }
            break;
        }
        case 7:
            if (pick(4) == 0) {
                function.configWrite(uint32_t(pick(300)), value(), 1u << pick(3));
            } else {
                function.configRead(uint32_t(pick(300)), 1u << pick(3));
            }
            break;
        case 8:
            xdma.irq.req = uint16_t(pick(8) == 0 ? random() : 0);
            break;
        case 9:
            if (pick(50) == 0) {
                function.reset();
                xdma.reset();
                run(true);
            }
            break;
        case 10:
            readResp = writeResp = pick(20) == 0 ? uint8_t(2 + pick(2)) : uint8_t(assasin::AXI_OKAY);
            break;
        default:
            stalls = pick(2) != 0;
            break;
        }
        for (uint64_t n = pick(200); n > 0; n--) {
            clock();
        }
    }

    /// A cycle in which the bypass ports' loads end when they are taken, as the chip's do.
    void clock() {
        xdma.drive();
        const bool down = xdma.h2cBypass.load && xdma.h2cBypass.ready;
        const bool up = xdma.c2hBypass.load && xdma.c2hBypass.ready;
        cycle();
        xdma.h2cBypass.load &= !down;
        xdma.c2hBypass.load &= !up;
        if ((xdma.h2cBypass.sts & 0x40) == 0 || (xdma.c2hBypass.sts & 0x40) == 0) {
            run(true); // as the firmware does when an error has stopped a channel
        }
    }
};

TEST_F(FuzzTest, RandomAccessesLeaveTheBoardWorking) {
    const uint64_t chosen = seed();
    std::printf("ASSASIN_FUZZ_SEED=%llu\n", static_cast<unsigned long long>(chosen));
    random.seed(chosen);
    run(true);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(secondsAllowed());
    uint64_t steps = 0;
    while (std::chrono::steady_clock::now() < end && !HasFailure()) {
        for (int i = 0; i < 500; i++) {
            step();
            steps++;
        }
        // the visitor leaves, another comes
        function.reset();
        xdma.reset();
        function.configWrite(BOARD_CFG_COMMAND, 6, 2);
        run(true);
        readResp = writeResp = assasin::AXI_OKAY;
        xdma.irq.req = 0;
        for (int i = 0; i < 300000 && (!xdma.idle() || xdma.h2cBypass.load || xdma.c2hBypass.load); i++) {
            clock();
        }
        ASSERT_TRUE(xdma.idle()) << "after " << steps << " steps";
        EXPECT_EQ(done[0], pushed[0]) << "each of the chip's transfers ends once";
        EXPECT_EQ(done[1], pushed[1]);
        memory.bytes()[0] = uint8_t(steps);
        push(xdma.h2cBypass, HOST_BASE, 0x1234, 1);
        pushed[0]++;
        drain();
        EXPECT_EQ(device.data()[0x1234], uint8_t(steps));
    }
    std::printf("%llu steps, %llu of the chip's transfers\n", static_cast<unsigned long long>(steps),
                static_cast<unsigned long long>(pushed[0] + pushed[1]));
}

} // namespace
