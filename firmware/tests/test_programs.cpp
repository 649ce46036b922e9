// SPDX-License-Identifier: BSD-3-Clause
/* Subsystem Local Memory and Computational Programs. */
#include "tests/admin.h"
#include "tests/scomp.h"

#include <algorithm>

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

namespace {

Sqe bytesAt(uint8_t opcode, uint32_t at, uint32_t bytes) {
    Sqe s = Drive::sqe(opcode, kMemory);
    s[10] = at;
    s[12] = bytes;
    return s;
}

std::vector<uint8_t> memoryRead(Drive &d, uint32_t at, uint32_t bytes) {
    Buffer b = d.buffer(bytes);
    Sqe s = bytesAt(0x02, at, bytes);
    Drive::setPrp(s, b);
    CHECK_EQ(d.exec(1, s).status, kOk);
    return d.get(b);
}

/** A source range of a copy: namespace, block or byte, blocks less one or bytes. */
struct Source {
    uint32_t nsid;
    uint64_t start;
    uint32_t length;
};
using Sources = std::vector<Source>;

std::vector<uint8_t> sources(const Sources &list) {
    std::vector<uint8_t> v(list.size() * 32);
    for (size_t i = 0; i < list.size(); i++) {
        std::memcpy(&v[i * 32], &list[i].nsid, 4);
        std::memcpy(&v[i * 32 + 8], &list[i].start, 8);
        std::memcpy(&v[i * 32 + 16], &list[i].length, 4);
    }
    return v;
}

Sqe copyCommand(uint32_t format, uint64_t to, uint64_t length, size_t count) {
    Sqe s = Drive::sqe(0x01, kMemory);
    s[2] = static_cast<uint32_t>(length);
    s[3] = static_cast<uint32_t>(length >> 32);
    s[10] = static_cast<uint32_t>(to);
    s[11] = static_cast<uint32_t>(to >> 32);
    s[12] = static_cast<uint32_t>(count - 1) | format << 8;
    return s;
}

model::Completion copy(Drive &d, uint32_t format, uint64_t to, uint64_t length, const Sources &list) {
    return give(d, 1, copyCommand(format, to, length, list.size()), sources(list));
}

struct Range {
    uint32_t nsid, bytes;
    uint64_t at, reserved[2];
};
static_assert(sizeof(Range) == 32);

std::vector<uint8_t> encoded(const std::vector<Range> &ranges) {
    std::vector<uint8_t> v(ranges.size() * sizeof(Range));
    std::memcpy(v.data(), ranges.data(), v.size());
    return v;
}

model::Completion loadProgram(Drive &d, uint32_t pind, const std::vector<uint8_t> &file, uint32_t part) {
    model::Completion c{};
    for (uint32_t at = 0; at < file.size() && c.status == kOk; at += part) {
        uint32_t n = std::min<uint32_t>(part, static_cast<uint32_t>(file.size()) - at);
        Sqe s = Drive::sqe(0x85, kCompute);
        s[10] = pind | 0xc0u << 16;
        s[11] = static_cast<uint32_t>(file.size());
        s[12] = 0x1234;
        s[14] = n;
        s[15] = at;
        c = give(d, 0, s, std::vector<uint8_t>(file.begin() + at, file.begin() + at + n));
    }
    return c;
}

uint16_t activate(Drive &d, uint32_t pind, bool on) {
    Sqe s = Drive::sqe(0x88, kCompute);
    s[10] = pind | (on ? 1u : 0) << 16;
    return d.exec(0, s).status;
}

} // namespace

TEST(local_memory) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start(2, 6);
    auto data = pattern(1, 7, 32);
    CHECK_EQ(give(d, 1, bytesAt(0x05, 0x10000, 131072), data).status, kOk);
    CHECK(memoryRead(d, 0x10000, 131072) == data);
    /* Any multiples of four. */
    std::vector<uint8_t> odd(data.begin(), data.begin() + 780);
    CHECK_EQ(give(d, 1, bytesAt(0x05, 0x20004, 780), odd).status, kOk);
    std::copy(odd.begin(), odd.end(), data.begin() + 0x10004);
    CHECK(memoryRead(d, 0x10000, 131072) == data);
    std::vector<uint8_t> part(data.begin() + 1004, data.begin() + 1004 + 8);
    CHECK(memoryRead(d, 0x10000 + 1004, 8) == part);
    for (auto [at, bytes, value] :
         {std::array<uint32_t, 3>{0x10004, 3000, 0xa5}, {0x11000, 70000, 0}, {0x1f004, 12, 1}}) {
        Sqe s = bytesAt(0x04, at, bytes);
        s[13] = value;
        CHECK_EQ(d.exec(1, s).status, kOk);
        std::fill_n(data.begin() + at - 0x10000, bytes, static_cast<uint8_t>(value));
    }
    CHECK(memoryRead(d, 0x10000, 131072) == data);
    /* Outside the namespace, or off the multiples of four: a parameter that is not legal, no LBA. */
    Sqe far = bytesAt(0x05, 0, 4);
    far[11] = 1;
    CHECK_EQ(d.exec(1, far).status, kInvalidField);
    for (uint8_t opcode : {0x02, 0x04, 0x05}) {
        for (auto [at, bytes] : {std::array<uint32_t, 2>{0x3fffffc, 8}, {2, 4}, {4, 6}, {0x4000004, 0}}) {
            CHECK_EQ(d.exec(1, bytesAt(opcode, at, bytes)).status, kInvalidField);
        }
        CHECK_EQ(d.exec(1, bytesAt(opcode, 0x4000000, 0)).status, kOk);
    }
    CHECK_EQ(d.exec(1, bytesAt(0x02, 0, 131076)).status, kInvalidField);
    CHECK_EQ(d.exec(1, bytesAt(0x02, 0, 0)).status, kOk);
    CHECK_EQ(d.exec(1, bytesAt(0x03, 0, 4)).status, kInvalidOpcode);

    /* Reset while one is under way. */
    d.submit(1, bytesAt(0x04, 0, 0x100000));
    Sqe fill = bytesAt(0x04, 0, 0x100000);
    fill[13] = 1;
    d.submit(1, fill);
    for (uint32_t i = 0; i < 20; i++) {
        d.step();
    }
    d.disable();
    d.start(2, 6);
    CHECK_EQ(d.exec(1, bytesAt(0x04, 0, 64)).status, kOk);
}

TEST(memory_copy) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start(2, 6);
    CHECK_EQ(d.write(100, pattern(100, 3, 20)).status, kOk);
    /* Blocks, holes among them, to where the flash channels can write and to where they cannot. */
    for (uint32_t to : {0x40000u, 0x80004u, 0xc0020u}) {
        CHECK_EQ(d.exec(1, bytesAt(0x04, to - 4, 23 * 4096)).status, kOk);
        CHECK_EQ(copy(d, 2, to, 22 * 4096, {{1, 100, 19}, {1, 150, 1}}).status, kOk);
        CHECK(memoryRead(d, to, 20 * 4096) == pattern(100, 3, 20));
        CHECK(memoryRead(d, to + 20 * 4096, 2 * 4096) == pattern(0, 0, 2));
        CHECK(memoryRead(d, to - 4, 4) == std::vector<uint8_t>(4));
    }
    /* Bytes of the memory itself, one of the ranges empty. */
    CHECK_EQ(copy(d, 4, 0x100004, 5000 + 12, {{2, 0x40000 + 332, 5000}, {2, 7 * 4, 0}, {2, 0x40000, 12}}).status, kOk);
    auto expected = pattern(100, 3, 20);
    CHECK(memoryRead(d, 0x100004, 5000) == std::vector<uint8_t>(expected.begin() + 332, expected.begin() + 5332));
    CHECK(memoryRead(d, 0x100004 + 5000, 12) == std::vector<uint8_t>(expected.begin(), expected.begin() + 12));
    CHECK_EQ(copy(d, 4, 0x100000, 0, {{2, 0x100000, 0}}).status, kOk);
    /* A page that cannot be read. */
    d.dev.faults.read = 1;
    for (uint32_t to : {0x200000u, 0x200004u}) {
        CHECK_EQ(copy(d, 2, to, 2 * 4096, {{1, 100, 1}}).status, kReadError);
    }
    d.dev.faults.read = 0;
    /* Reset while blocks are on their way. */
    for (uint32_t to : {0x200000u, 0x200004u}) {
        for (uint32_t steps = 0; steps < 60; steps += 7) {
            Sqe s = copyCommand(2, to, 20 * 4096, 1);
            Buffer b = d.buffer(32);
            d.put(b, sources({{1, 100, 19}}).data());
            Drive::setPrp(s, b);
            d.submit(1, s);
            for (uint32_t i = 0; i < steps; i++) {
                d.step();
            }
            d.disable();
            d.start(2, 6);
        }
        CHECK_EQ(copy(d, 2, to, 20 * 4096, {{1, 100, 19}}).status, kOk);
        CHECK(memoryRead(d, to, 20 * 4096) == expected);
    }
}

TEST(memory_copy_refused) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start(2, 6);
    auto before = pattern(9, 9, 4);
    CHECK_EQ(give(d, 1, bytesAt(0x05, 0x10000, 4 * 4096), before).status, kOk);
    auto refused = [&](uint16_t status, uint32_t format, uint64_t to, uint64_t length, const Sources &list) {
        auto c = copy(d, format, to, length, list);
        CHECK_EQ(c.status, status);
        CHECK(c.dnr);
        /* Nothing was copied: not even what lies before the range that is refused. */
        CHECK(memoryRead(d, 0x10000, 4 * 4096) == before);
    };
    /* The length is that of the ranges, neither more nor less, and a multiple of four. */
    for (uint64_t length : {uint64_t{0}, uint64_t{4095}, uint64_t{4097}, uint64_t{8192}, uint64_t{1} << 40}) {
        refused(kInvalidField, 2, 0x10000, length, {{1, 0, 0}});
        refused(kInvalidField, 4, 0x10000, length, {{2, 0, 2048}, {2, 0, 2048}});
    }
    /* Source and destination may touch, and may not share a byte. */
    for (uint32_t from : {0x10000u - 4, 0x10000u, 0x10004u, 0x10000u + 4092, 0x10000u + 8188}) {
        refused(kOverlappingIo, 4, 0x10000, 8192, {{2, 0x40000, 4096}, {2, from, 8}, {2, 0x40000, 4088}});
    }
    CHECK_EQ(copy(d, 4, 0x20000, 8, {{2, 0x20000 - 8, 8}}).status, kOk);
    CHECK_EQ(copy(d, 4, 0x20000, 8, {{2, 0x20000 + 8, 8}}).status, kOk);
    /* Namespaces: there is none of that number; another than the format takes. */
    for (uint32_t nsid : {0u, 4u, kAll}) {
        refused(kInvalidNs, 2, 0x10000, 4096, {{nsid, 0, 0}});
        refused(kInvalidNs, 4, 0x10000, 4, {{nsid, 0, 4}});
    }
    refused(kIncompatibleNs, 2, 0x10000, 8192, {{1, 0, 0}, {2, 0, 0}});
    refused(kInvalidNs, 2, 0x10000, 4096, {{3, 0, 0}});
    refused(kInvalidNs, 4, 0x10000, 4, {{1, 0, 4}});
    refused(kInvalidNs, 4, 0x10000, 4, {{3, 0, 4}});
    /* Ranges outside their namespace, or off the multiples of four. */
    refused(kLbaRange, 2, 0x10000, 8192, {{1, 0, 0}, {1, d.capacity(), 0}});
    refused(kInvalidField, 4, 0x10000, 8192, {{2, 0, 4096}, {2, 0x4000000, 4096}});
    refused(kInvalidField, 4, 0x10000, 8, {{2, 2, 8}});
    refused(kInvalidField, 4, 0x10000, 8, {{2, 0, 6}, {2, 8, 2}});
    refused(kInvalidField, 4, 0x10002, 4, {{2, 0, 4}});
    refused(kInvalidField, 4, 0x3fffffc, 8, {{2, 0, 8}});
    refused(kInvalidField, 4, uint64_t{1} << 32, 8, {{2, 0, 8}});
    /* Formats, and how many ranges. */
    refused(kInvalidField, 3, 0x10000, 4096, {{1, 0, 0}});
    refused(kSizeLimit, 4, 0x10000, 129 * 4, Sources(129, {2, 0, 4}));
    CHECK_EQ(copy(d, 4, 0x20000, 128 * 4, Sources(128, {2, 0, 4})).status, kOk);
}

TEST(programs) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start(2, 6);
    auto file = scomp::kernelElf(model::kCopy);
    CHECK_EQ(activate(d, 2, true), kNoProgram);
    CHECK_EQ(activate(d, 16, true), 0x18f);
    CHECK_EQ(loadProgram(d, 2, file, 64).status, kOk);
    CHECK_EQ(loadProgram(d, 3, std::vector<uint8_t>(100, 1), 100).status, 0x18e);
    auto data = pattern(3, 1, 5);
    CHECK_EQ(give(d, 1, bytesAt(0x05, 0x1000, static_cast<uint32_t>(data.size())), data).status, kOk);

    Sqe create = Drive::sqe(0x89, kCompute);
    create[11] = 2;
    std::vector<Range> ranges = {{kMemory, 18000, 0x1000, {}}, {kMemory, 32768, 0x100000, {}}};
    auto set = give(d, 0, create, encoded(ranges));
    CHECK_EQ(set.status, kOk);
    CHECK(set.dw0 != 0);
    auto wrong = ranges;
    wrong[1].nsid = 1;
    CHECK_EQ(give(d, 0, create, encoded(wrong)).status, 0x18b);
    wrong = ranges;
    wrong[1].at = 0x1040;
    CHECK_EQ(give(d, 0, create, encoded(wrong)).status, 0x197);
    wrong[1].at = 0x4000000;
    CHECK_EQ(give(d, 0, create, encoded(wrong)).status, 0x18c);
    create[11] = 17;
    CHECK_EQ(give(d, 0, create, encoded(ranges)).status, 0x191);

    Sqe execute = Drive::sqe(0x01, kCompute);
    execute[2] = 2 | set.dw0 << 16;
    CHECK_EQ(d.exec(1, execute).status, kNotActivated);
    CHECK_EQ(activate(d, 2, true), kOk);
    CHECK_EQ(loadProgram(d, 2, file, 64).status, kProgramInUse);
    auto c = d.exec(1, execute);
    CHECK_EQ(c.status, kOk);
    CHECK_EQ(c.dw0, 18000u);
    CHECK_EQ(c.dw1, 0u);
    CHECK(memoryRead(d, 0x100000, 18000) == std::vector<uint8_t>(data.begin(), data.begin() + 18000));

    /* Ranges in the command's data, with and without its length in CDW4. */
    for (uint32_t dlen : {64u, 0u}) {
        Sqe s = Drive::sqe(0x01, kCompute);
        s[2] = 2;
        s[3] = 2;
        s[4] = dlen;
        std::vector<Range> own = {{kMemory, 5000, 0x1040, {}}, {kMemory, 8192, 0x200000 + dlen * 4096, {}}};
        c = give(d, 1, s, encoded(own));
        CHECK_EQ(c.status, kOk);
        CHECK_EQ(c.dw0, 5000u);
        CHECK(memoryRead(d, 0x200000 + dlen * 4096, 5000) ==
              std::vector<uint8_t>(data.begin() + 64, data.begin() + 5064));
    }
    /* An output that does not fit, and a range set that nobody made. */
    std::vector<Range> tight = {{kMemory, 5000, 0x1040, {}}, {kMemory, 4096, 0x200000, {}}};
    Sqe s = Drive::sqe(0x01, kCompute);
    s[2] = 2;
    s[3] = 2;
    c = give(d, 1, s, encoded(tight));
    CHECK_EQ(c.status, kProgramFailed);
    CHECK_EQ(c.dw0, static_cast<uint32_t>(SCOMP_STATUS_NO_ROOM));
    s[2] = 2 | 9 << 16;
    CHECK_EQ(d.exec(1, s).status, 0x18d);
    s[2] = 16;
    CHECK_EQ(d.exec(1, s).status, 0x18f);

    /* Arguments, with their length in CPARAM2 as on a kernel that clears CDW4. */
    CHECK_EQ(activate(d, 2, false), kOk);
    Sqe unload = Drive::sqe(0x85, kCompute);
    unload[10] = 2 | 1u << 24;
    CHECK_EQ(d.exec(0, unload).status, kOk);
    CHECK_EQ(d.exec(0, unload).status, kNoProgram);
    CHECK_EQ(loadProgram(d, 2, scomp::kernelElf(model::kWeave), 4096).status, kOk);
    CHECK_EQ(activate(d, 2, true), kOk);
    s = execute;
    s[10] = 1 | 1 << 8;
    s[12] = 64;
    c = give(d, 1, s, std::vector<uint8_t>(64, 3));
    CHECK_EQ(c.status, kOk);
    auto got = memoryRead(d, 0x100000, 18000);
    for (uint32_t i = 0; i < got.size(); i++) {
        CHECK_EQ(got[i], static_cast<uint8_t>(data[i] + 3));
    }
    auto programs = logPage(d, 0x82, 17 * 64);
    CHECK_EQ(get64(programs, 0), 16u);
    CHECK_EQ(programs[3 * 64], 5);
    CHECK_EQ(programs[3 * 64 + 1], 0xc0);
    CHECK_EQ(get64(programs, 3 * 64 + 8), 0x1234u);
    auto types = logPage(d, 0x83, 3 * 32);
    CHECK_EQ(get64(types, 0), 2u);
    CHECK(types[32] == 0xc0 && types[64] == 0xc1);
    auto sets = logPage(d, 0x84, 2 * 32);
    CHECK_EQ(get64(sets, 0), 1u);
    CHECK_EQ(get64(sets, 32), set.dw0 | 2u << 16);
    /* A program that never ends: the set is in use; a reset ends it, and everything of programs. */
    CHECK_EQ(activate(d, 2, false), kOk);
    CHECK_EQ(loadProgram(d, 2, scomp::kernelElf(model::kLoop), 4096).status, kOk);
    CHECK_EQ(activate(d, 2, true), kOk);
    d.submit(1, execute);
    /* Not much longer than it takes to start: with nothing else to come, time goes on to the watchdog. */
    for (uint32_t i = 0; i < 300 && d.dev.cores[0].state != CORE_STATE_RUNNING; i++) {
        d.step();
    }
    Sqe remove = Drive::sqe(0x89, kCompute);
    remove[10] = 1 | set.dw0 << 16;
    CHECK_EQ(d.exec(0, remove).status, 0x195);
    CHECK_EQ(activate(d, 2, false), kProgramInUse);
    d.disable();
    d.start(2, 6);
    CHECK_EQ(d.exec(0, remove).status, 0x18d);
    CHECK_EQ(activate(d, 2, true), kNoProgram);
}

/** A reset forgets a program of which a part is on its way: its place is free again when that has come. */
TEST(programs_forgotten_while_they_load) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start(2, 6);
    auto file = scomp::kernelElf(model::kCopy);
    file.resize(32768);
    for (uint32_t i = 0; i < 4 * SCOMP_MAX_FUNCS; i++) {
        Buffer from = d.buffer(32768);
        d.put(from, file.data());
        Sqe s = Drive::sqe(0x85, kCompute);
        Drive::setPrp(s, from);
        s[10] = i % SCOMP_MAX_FUNCS | 0xc0u << 16;
        s[11] = s[14] = 32768;
        d.submit(0, s);
        for (uint32_t steps = i; steps > 0; steps--) {
            d.step();
        }
        d.disable();
        d.start(2, 6);
    }
    /* Half of the places can be one owner's. */
    for (uint32_t pind = 0; pind < SCOMP_MAX_FUNCS / 2; pind++) {
        CHECK_EQ(loadProgram(d, pind, file, 32768).status, kOk);
    }
}

TEST(programs_in_parts) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start(2, 6);
    auto limits = identify(d, 5, kCompute, 4);
    /* Granularities are powers of two: memory ranges on 64 bytes, parts of a program of any length. */
    CHECK_EQ(limits[4] | limits[5] << 8, 6);
    CHECK_EQ(limits[16], 0);
    auto file = scomp::kernelElf(model::kCopy);
    for (uint32_t part : {1001u, 101u, 64u}) {
        CHECK_EQ(loadProgram(d, 2, file, part).status, kOk);
        CHECK_EQ(activate(d, 2, true), kOk);
        CHECK_EQ(activate(d, 2, false), kOk);
    }
    Sqe unload = Drive::sqe(0x85, kCompute);
    unload[10] = 2 | 1u << 24;
    CHECK_EQ(d.exec(0, unload).status, kOk);
    CHECK_EQ(d.exec(0, unload).status, kNoProgram);
    /* Of a program the first part is there: it is no program yet, and can be unloaded. */
    Sqe s = Drive::sqe(0x85, kCompute);
    s[10] = 2 | 0xc0u << 16;
    s[11] = static_cast<uint32_t>(file.size());
    s[14] = 64;
    CHECK_EQ(give(d, 0, s, std::vector<uint8_t>(file.begin(), file.begin() + 64)).status, kOk);
    CHECK_EQ(activate(d, 2, true), kNoProgram);
    CHECK_EQ(d.exec(0, unload).status, kOk);
    CHECK_EQ(d.exec(0, unload).status, kNoProgram);
    CHECK_EQ(loadProgram(d, 2, file, 4096).status, kOk);
    CHECK_EQ(get64(logPage(d, 0x84, 32), 0), 0u);
    /* Commands for a namespace of another kind. */
    for (uint8_t opcode : {0x85, 0x88, 0x89}) {
        CHECK_EQ(d.exec(0, Drive::sqe(opcode, 1)).status, kInvalidNs);
        CHECK_EQ(d.exec(0, Drive::sqe(opcode, kMemory)).status, kInvalidNs);
        CHECK_EQ(d.exec(0, Drive::sqe(opcode, 4)).status, kInvalidNs);
    }
    CHECK_EQ(d.exec(0, Drive::sqe(0x80, kMemory)).status, kInvalidNs);
    CHECK_EQ(d.exec(0, Drive::sqe(0x80, kCompute)).status, kInvalidNs);
}
