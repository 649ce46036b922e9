// SPDX-License-Identifier: BSD-3-Clause
/* What tells one drive from another: serial number, NQN, EUI64. */
#include "tests/admin.h"

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

namespace {

constexpr uint32_t kFormat = 1;

std::string text(const std::vector<uint8_t> &data, size_t at, size_t bytes) {
    return {data.begin() + static_cast<ptrdiff_t>(at), data.begin() + static_cast<ptrdiff_t>(at + bytes)};
}

/** The serial number of a drive that is enabled; what else is made of the identity agrees with it. */
std::string serialOf(Drive &d) {
    auto controller = identify(d, 1, 0);
    std::string serial = text(controller, 4, 20);
    CHECK(text(controller, 768, 256) == "nqn.2024-01.org.assasin:" + serial + std::string(256 - 24 - 20, '\0'));
    CHECK_EQ(controller[78] | controller[79] << 8, 1);
    uint64_t id = std::stoull(serial.substr(8), nullptr, 16);
    for (uint8_t nsid = 1; nsid <= 3; nsid++) {
        auto names = identify(d, 3, nsid);
        CHECK(names[0] == 1 && names[1] == 8 && names[4] == 2 && names[11] == nsid);
        uint64_t eui = 0;
        for (size_t i = 5; i < 11; i++) {
            eui = eui << 8 | names[i];
        }
        CHECK_EQ(eui, id);
    }
    auto space = identify(d, 0, 1);
    CHECK(std::equal(&space[120], &space[128], &identify(d, 3, 1)[4]));
    return serial;
}

std::string boot(Nand &nand, Loaded loaded, uint32_t bootArg = 0, bool orderly = false) {
    Drive d(nand, 2, 1, bootArg, {}, {}, {}, UINT64_MAX, loaded);
    d.enable(6);
    std::string serial = serialOf(d);
    if (orderly) {
        d.shutdown();
    }
    return serial;
}

} // namespace

TEST(identity_of_the_medium) {
    Nand one(Geometry{}), other(Geometry{});
    const Loaded first{0x0123456789ab, 0, 0}, second{0xffffffffffff, 0, 0};
    CHECK(boot(one, first) == "ASSASIN-0123456789AB");
    CHECK(boot(other, second) == "ASSASIN-FFFFFFFFFFFF");
    /* The power went as soon as a host had seen it; whatever a loader gives from now on, the medium has its own. */
    CHECK(boot(one, second) == "ASSASIN-0123456789AB");
    CHECK(boot(one, {}, 0, true) == "ASSASIN-0123456789AB");
    for (uint32_t cycle = 0; cycle < 3; cycle++) {
        Drive d(one, 2, 1, 0, {}, {}, {}, UINT64_MAX, second);
        d.start(2, 6);
        CHECK(serialOf(d) == "ASSASIN-0123456789AB");
        for (uint32_t i = 0; i < 64; i++) {
            CHECK_EQ(d.write(i * 8 + cycle, pattern(i * 8 + cycle, cycle + 1, 8)).status, kOk);
        }
        CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
    }
    CHECK(boot(one, {}) == "ASSASIN-0123456789AB");
    /* Only bits that the serial number shows count. */
    CHECK(boot(other, {0xabcd'0000'0000'0002, IDENTITY_FLAG_OVERRIDE}) == "ASSASIN-000000000002");
}

TEST(identity_replaced) {
    Nand nand(Geometry{});
    /* Nobody has given one: all such drives have the same, and the next loader may give one. */
    CHECK(boot(nand, {}) == "ASSASIN-000000000001");
    CHECK(boot(nand, {0x77, 0}) == "ASSASIN-000000000077");
    CHECK(boot(nand, {0x78, IDENTITY_FLAG_OVERRIDE}) == "ASSASIN-000000000078");
    CHECK(boot(nand, {0, IDENTITY_FLAG_OVERRIDE}) == "ASSASIN-000000000078");
    /* A medium formatted at boot is a fresh one; a loader that insists gives it the old identity. */
    CHECK(boot(nand, {0x78, IDENTITY_FLAG_OVERRIDE}, kFormat) == "ASSASIN-000000000078");
    CHECK(boot(nand, {}) == "ASSASIN-000000000078");
    CHECK(boot(nand, {0x79, 0}, kFormat) == "ASSASIN-000000000079");
    /* What was written stays readable across a change. */
    {
        Drive d(nand);
        d.start(2, 6);
        CHECK_EQ(d.write(5, pattern(5, 1, 4)).status, kOk);
    }
    CHECK(boot(nand, {0x80, IDENTITY_FLAG_OVERRIDE}) == "ASSASIN-000000000080");
    Drive d(nand);
    d.start(2, 6);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(5, 4, &got).status, kOk);
    CHECK(got == pattern(5, 1, 4));
}
