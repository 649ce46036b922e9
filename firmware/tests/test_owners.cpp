// SPDX-License-Identifier: BSD-3-Clause
/* What belongs to whom: sessions, their functions, handles and parts of the drive, and what one tenant can do to
 * another. */
#include "tests/scomp.h"

#include <algorithm>

using namespace harness;
using namespace scomp;
using model::Geometry;
using model::Nand;

namespace {

Job reader(uint32_t blocks, uint32_t pieces = 1, uint32_t lba = 0) {
    Job j;
    for (uint32_t p = 0; p < pieces; p++) {
        j.pieces.push_back(Piece{{Stream{{{lba, blocks}}, blocks * 4096}}, {}});
    }
    return j;
}

Owner tenant(uint32_t who) {
    Owner o;
    o.secret[0] = 0x1000 + who;
    o.secret[1] = 0x9e3779b9 * who;
    return o;
}

/** Loads a function for `o`: the completion, with its name. */
model::Completion loadFor(Drive &d, const Owner &o, const std::vector<uint8_t> &file) {
    Buffer b = d.buffer(static_cast<uint32_t>(file.size()));
    d.put(b, file.data());
    Sqe s = Drive::sqe(SCOMP_OPCODE_ADMIN_FUNC_LOAD);
    Drive::setPrp(s, b);
    s[11] = static_cast<uint32_t>(file.size());
    return d.exec(0, Drive::from(o, s, true));
}

uint16_t nameFor(Drive &d, const Owner &o, model::Kernel kernel) {
    auto c = loadFor(d, o, kernelElf(kernel));
    CHECK_EQ(c.status, kOk);
    return static_cast<uint16_t>(c.dw0);
}

uint16_t unload(Drive &d, const Owner &o, uint16_t function) {
    Sqe s = Drive::sqe(SCOMP_OPCODE_ADMIN_FUNC_UNLOAD);
    s[10] = function;
    return d.exec(0, Drive::from(o, s, true)).status;
}

Sqe execSqe(Drive &d, const Owner &o, uint32_t handle, const Job &j) {
    auto request = encode(j);
    Buffer b = d.buffer(static_cast<uint32_t>(request.size()));
    d.put(b, request.data());
    Sqe s = Drive::sqe(SCOMP_OPCODE_IO_EXEC, 1);
    Drive::setPrp(s, b);
    s[10] = handle;
    s[12] = b.bytes;
    return Drive::from(o, s);
}

uint16_t close(Drive &d, const Owner &o, uint32_t q = 1) {
    Sqe s = Drive::sqe(SCOMP_OPCODE_IO_SESSION_CLOSE, 1);
    return d.exec(q, Drive::from(o, s, true)).status;
}

/** Run `j` for `o` and return the completion of its IO_EXEC. */
model::Completion runFor(Drive &d, const Owner &o, const Job &j, std::map<uint32_t, PieceResult> *results = nullptr,
                         uint32_t handle = 3) {
    auto c = d.wait(1, d.submit(1, execSqe(d, o, handle, j)));
    std::map<uint32_t, PieceResult> all;
    for (bool more = c.status == kOk; more;) {
        Buffer b = d.buffer(65536);
        auto r = d.exec(2, Drive::from(o, readSqe(b, handle)));
        CHECK_EQ(r.status, kOk);
        more = r.dw0 >> 31 == 0;
        parse(d.get(b), r.dw0 & 0x7fffffff, results != nullptr ? *results : all);
    }
    return c;
}

uint16_t statusFor(Drive &d, const Owner &o, uint16_t function, uint32_t handle = 3) {
    Job j = reader(1);
    j.func = function;
    return runFor(d, o, j, nullptr, handle).status;
}

uint16_t access(Drive &d, uint32_t number, const std::vector<std::array<uint64_t, 3>> &ranges, uint32_t limited = 1) {
    scomp_access a{};
    a.limited = limited;
    a.count = static_cast<uint32_t>(ranges.size());
    for (size_t i = 0; i < ranges.size() && i < SCOMP_ACCESS_RANGES; i++) {
        a.lba[i] = ranges[i][0];
        a.blocks[i] = ranges[i][1];
        a.rights[i] = static_cast<uint32_t>(ranges[i][2]);
    }
    Buffer b = d.buffer(sizeof a);
    d.put(b, reinterpret_cast<const uint8_t *>(&a));
    Sqe s = Drive::sqe(SCOMP_OPCODE_ADMIN_ACCESS);
    Drive::setPrp(s, b);
    s[10] = number;
    s[11] = sizeof a;
    return d.exec(0, s).status;
}

std::vector<scomp_session> sessions(Drive &d) {
    Buffer b = d.buffer(sizeof(scomp_session) * (SCOMP_MAX_SESSIONS + 1));
    std::vector<uint8_t> zeros(b.bytes);
    d.put(b, zeros.data());
    Sqe s = Drive::sqe(0x02);
    Drive::setPrp(s, b);
    s[10] = SCOMP_LOG_SESSIONS | (b.bytes / 4 - 1) << 16;
    CHECK_EQ(d.exec(0, s).status, kOk);
    auto data = d.get(b);
    std::vector<scomp_session> all(SCOMP_MAX_SESSIONS + 1);
    std::memcpy(all.data(), data.data(), data.size());
    while (all.size() > 1 && all.back().number == 0) {
        all.pop_back();
    }
    return all;
}

} // namespace

/** Commands that name no session, or one that is not theirs, are refused, and software without sessions learns why. */
TEST(owners_sessions) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 64);
    d.bare = true;
    Owner nobody;
    nobody.secret[0] = nobody.secret[1] = 0;
    CHECK_EQ(loadFor(d, nobody, kernelElf(model::kCopy)).status, kNoSession);
    CHECK_EQ(d.exec(1, execSqe(d, nobody, 7, reader(1))).status, kNoSession);
    CHECK_EQ(d.exec(1, readSqe(d.buffer(8192), 7)).status, kNoSession);
    CHECK_EQ(d.exec(1, feedSqe(d.buffer(64), 7, 0, 0)).status, kNoSession);
    CHECK_EQ(d.exec(1, abortSqe(7)).status, kNoSession);
    CHECK_EQ(d.open(nobody).status, kInvalidField);
    Sqe s = Drive::sqe(SCOMP_OPCODE_IO_SESSION_OPEN, 1);
    s[10] = SCOMP_INTERFACE + 1;
    s[14] = 5;
    auto c = d.exec(1, s);
    CHECK_EQ(c.status, kInterface);
    CHECK_EQ(c.dw1, SCOMP_INTERFACE);

    Owner a = tenant(1), b = tenant(2);
    CHECK_EQ(d.open(a).status, kOk);
    CHECK_EQ(d.open(b).status, kOk);
    CHECK(a.number != b.number && a.number != 0);
    uint16_t fa = nameFor(d, a, model::kCount), fb = nameFor(d, b, model::kCopy);
    CHECK_EQ(statusFor(d, a, fa), kOk);
    /* The other's function by its name, by its place, from a tree; its unloading. */
    CHECK_EQ(statusFor(d, a, fb), kReplaced);
    CHECK_EQ(statusFor(d, a, fb & 15), kBadFunction);
    Job tree = reader(1);
    tree.nodes = {{fb, 1, 1, 0xff, {}, 0, 0}};
    tree.edges = {{SCOMP_OUTSIDE, 0, 0, 0}, {0, 0, SCOMP_OUTSIDE, 0}};
    CHECK_EQ(runFor(d, a, tree).status, kReplaced);
    CHECK_EQ(unload(d, a, fb), kReplaced);
    /* The other's number with one's own secret, and a number too old. */
    Owner thief = a;
    thief.number = b.number;
    CHECK_EQ(statusFor(d, thief, fb), kNoSession);
    CHECK_EQ(close(d, thief), kNoSession);
    CHECK_EQ(statusFor(d, b, fb), kOk);
    CHECK_EQ(close(d, b), kOk);
    CHECK_EQ(close(d, b), kNoSession);
    CHECK_EQ(statusFor(d, b, fb), kNoSession);
    Owner next = tenant(2);
    CHECK_EQ(d.open(next).status, kOk);
    CHECK(next.number != b.number);
    CHECK_EQ(statusFor(d, next, fb), kReplaced);
    CHECK_EQ(statusFor(d, b, fb), kNoSession);
    CHECK_EQ(statusFor(d, a, fa), kOk);
}

/** The drive gives the places of functions; a session's own idle ones make room, nobody else's do. */
TEST(owners_functions) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 64);
    Owner a = tenant(1), b = tenant(2);
    d.open(a);
    d.open(b);
    uint16_t kept = nameFor(d, b, model::kCount);
    std::vector<uint16_t> names;
    for (uint32_t i = 0; i < 40; i++) {
        names.push_back(nameFor(d, a, model::kCopy));
        CHECK_EQ(statusFor(d, a, names.back()), kOk);
        CHECK((names.back() & 15) != (kept & 15) && names.back() >> 4 != 0);
    }
    CHECK_EQ(sessions(d)[1].functions, SCOMP_MAX_FUNCS / 2u);
    CHECK_EQ(statusFor(d, a, names[0]), kReplaced);
    CHECK_EQ(unload(d, a, names[0]), kReplaced);
    CHECK_EQ(statusFor(d, b, kept), kOk);
    /* Functions in use stay. */
    std::vector<uint16_t> busy, cids;
    for (uint32_t i = 0; i < SCOMP_MAX_FUNCS / 2; i++) {
        busy.push_back(nameFor(d, a, model::kLoop));
        Job j = reader(1);
        j.func = busy.back();
        j.watchdog = SCOMP_WATCHDOG_MAX_KCYCLES;
        cids.push_back(d.submit(1, execSqe(d, a, 100 + i, j)));
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(0, 1, &got).status, kOk);
    }
    CHECK_EQ(loadFor(d, a, kernelElf(model::kCopy)).status, kNoResources);
    CHECK_EQ(unload(d, a, busy[0]), kBadFunction);
    CHECK_EQ(statusFor(d, b, kept), kOk);
    /* The end of the session stops them all; a name that is left means nothing to whoever comes next. */
    CHECK_EQ(close(d, a), kOk);
    for (uint16_t cid : cids) {
        auto status = d.wait(1, cid).status;
        CHECK(status == kOk || status == kAborted);
    }
    d.settle();
    CHECK_EQ(sessions(d).size(), 2u);
    CHECK_EQ(statusFor(d, b, kept), kOk);
}

/** What a function's place held is gone before another session has it. */
TEST(owners_function_memory) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    Owner a = tenant(1), b = tenant(2);
    d.open(a);
    std::vector<uint8_t> secret(0x4000, 0x5e);
    uint32_t kernel = model::kCount;
    std::memcpy(secret.data(), &kernel, 4);
    for (uint32_t align : {64u, 4u}) {
        auto c = loadFor(d, a, elf({{0, secret, 0x4000}}, 0, align));
        CHECK_EQ(c.status, kOk);
        uint32_t at = 0x00400000u + (c.dw0 & 15) * 0x40000u;
        auto holds = [&] {
            for (uint32_t i = 0; i < 0x40000; i += 4) {
                if (d.dev.dramRead(ASSASIN_DRAM_BASE + at + i) == 0x5e5e5e5e) {
                    return true;
                }
            }
            return false;
        };
        CHECK(holds());
        CHECK_EQ(close(d, a), kOk);
        d.settle();
        CHECK(!holds());
        d.open(a);
    }
}

/** A session owns its handles: the same number in another's name is another request, and results go to its owner. */
TEST(owners_handles) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 64);
    Owner a = tenant(1), b = tenant(2);
    d.open(a);
    d.open(b);
    Job ja = reader(3), jb = reader(5);
    ja.func = nameFor(d, a, model::kCount);
    jb.func = nameFor(d, b, model::kCount);
    uint16_t first = d.submit(1, execSqe(d, a, 7, ja));
    uint16_t second = d.submit(2, execSqe(d, b, 7, jb));
    CHECK_EQ(d.exec(1, execSqe(d, b, 7, jb)).status, kBadHandle);
    Owner thief = a;
    for (auto s :
         {readSqe(d.buffer(8192), b.number << 16 | 7), abortSqe(b.number << 16 | 7), feedSqe(d.buffer(64), 7, 0, 0)}) {
        s[10] = b.number << 16 | 7;
        CHECK_EQ(d.exec(2, Drive::from(thief, s)).status, kNoSession);
    }
    CHECK_EQ(d.wait(1, first).status, kOk);
    CHECK_EQ(d.wait(2, second).status, kOk);
    for (auto &[o, n] : {std::pair{a, 3u}, std::pair{b, 5u}}) {
        Buffer buffer = d.buffer(65536);
        auto c = d.exec(2, Drive::from(o, readSqe(buffer, 7)));
        CHECK_EQ(c.status, kOk);
        std::map<uint32_t, PieceResult> r;
        parse(d.get(buffer), c.dw0 & 0x7fffffff, r);
        CHECK_EQ(word(r[0].out[0], 0), n * 4096);
    }
}

/** A bound session is its queue's: no other queue names it, and it ends with the queue. */
TEST(owners_queue) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start(3);
    fill(d, 0, 64);
    Owner a = tenant(1), b = tenant(2);
    CHECK_EQ(d.open(a, 3, true).status, kOk);
    CHECK_EQ(d.open(b, 1, false).status, kOk);
    Job j = reader(1);
    j.func = nameFor(d, a, model::kLoop);
    uint16_t fb = nameFor(d, b, model::kCopy);
    j.watchdog = SCOMP_WATCHDOG_MAX_KCYCLES;
    CHECK_EQ(d.exec(1, execSqe(d, a, 1, j)).status, kNoSession);
    CHECK_EQ(close(d, a, 1), kNoSession);
    uint16_t running = d.submit(3, execSqe(d, a, 1, j));
    for (uint32_t i = 2; i <= SCOMP_QUEUE_SESSIONS; i++) {
        Owner more = tenant(10 + i);
        CHECK_EQ(d.open(more, 3, true).status, kOk);
    }
    Owner more = tenant(20);
    CHECK_EQ(d.open(more, 3, true).status, kNoResources);
    CHECK_EQ(d.open(more, 1, true).status, kOk);
    Sqe s = Drive::sqe(0x00);
    s[10] = 3;
    CHECK_EQ(d.exec(0, s).status, kOk);
    /* Its command has ended, or the queue went before it could say so. */
    d.take(3, running);
    d.settle();
    CHECK_EQ(sessions(d).size(), 3u);
    CHECK_EQ(statusFor(d, b, fb), kOk);
}

/** When there is no place, a session that nobody has named for long and that does nothing gives its own. */
TEST(owners_lease) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 64);
    std::vector<Owner> all;
    for (uint32_t i = 0; i < SCOMP_MAX_SESSIONS; i++) {
        all.push_back(tenant(i));
        /* The last place is for a queue that has none. */
        CHECK_EQ(d.open(all.back(), i + 1 < SCOMP_MAX_SESSIONS ? 1 : 2).status, kOk);
    }
    uint16_t kept = nameFor(d, all[0], model::kCopy);
    Owner late = tenant(100);
    CHECK_EQ(d.open(late).status, kNoResources);
    d.dev.now += uint64_t{SCOMP_LEASE_KCYCLES} * 1000;
    CHECK_EQ(statusFor(d, all[0], kept), kOk);
    CHECK_EQ(d.open(late).status, kOk);
    CHECK_EQ(statusFor(d, late, nameFor(d, late, model::kCopy)), kOk);
    CHECK_EQ(statusFor(d, all[0], kept), kOk);
    uint32_t ended = 0;
    for (uint32_t i = 1; i < SCOMP_MAX_SESSIONS; i++) {
        ended += loadFor(d, all[i], kernelElf(model::kCopy)).status == kNoSession;
    }
    CHECK_EQ(ended, 1u);
    /* The operator ends one without its secret. */
    Sqe s = Drive::sqe(SCOMP_OPCODE_ADMIN_SESSION_END);
    s[10] = late.number;
    CHECK_EQ(d.exec(0, s).status, kOk);
    CHECK_EQ(d.exec(0, s).status, kNoSession);
    CHECK_EQ(close(d, late), kNoSession);
}

/** The access table: inputs and outputs stay inside the ranges that the session has, and the status names the block. */
TEST(owners_access) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 96);
    Owner a = tenant(1), b = tenant(2);
    d.open(a);
    d.open(b);
    uint16_t fa = nameFor(d, a, model::kCopy), fb = nameFor(d, b, model::kCopy);
    uint32_t read = SCOMP_ACCESS_READ, write = SCOMP_ACCESS_WRITE;
    CHECK_EQ(access(d, a.number, {{16, 8, read}, {24, 8, read | write}, {40, 8, write}}), kOk);
    auto reading = [&](const Owner &o, uint16_t f, std::vector<Extent> extents) {
        Job j;
        uint64_t blocks = 0;
        for (auto &e : extents) {
            blocks += e.count;
        }
        j.pieces = {Piece{{Stream{extents, blocks * 4096}}, {}}};
        j.func = f;
        return runFor(d, o, j);
    };
    auto refused = [&](const model::Completion &c, uint32_t lba, uint32_t right) {
        CHECK_EQ(c.status, kNoAccess);
        CHECK_EQ(c.dw0, lba);
        CHECK_EQ(c.dw1, right);
    };
    CHECK_EQ(reading(a, fa, {{16, 16}}).status, kOk);
    CHECK_EQ(reading(a, fa, {{24, 8}, {16, 8}}).status, kOk);
    refused(reading(a, fa, {{16, 17}}), 32, read);
    refused(reading(a, fa, {{15, 4}}), 15, read);
    refused(reading(a, fa, {{40, 1}}), 40, read);
    refused(reading(a, fa, {{16, 8}, {0, 1}, {24, 8}}), 0, read);
    /* Of several streams and pieces only those count that the stream names. */
    Job j = reader(8, 3, 16);
    j.func = fa;
    CHECK_EQ(runFor(d, a, j).status, kOk);
    j.pieces[2].streams[0].extents[0].lba = 32;
    refused(runFor(d, a, j), 32, read);
    /* Outputs. */
    auto writing = [&](uint32_t lba, uint32_t count) {
        Job w = reader(4, 1, 16);
        w.func = fa;
        w.flags = SCOMP_FLAG_OUT_TABLE;
        w.pieces[0].outs = {{{lba, count}}};
        return runFor(d, a, w);
    };
    CHECK_EQ(writing(24, 4).status, kOk);
    CHECK_EQ(writing(40, 4).status, kOk);
    refused(writing(16, 4), 16, write);
    refused(writing(28, 8), 32, write);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(40, 4, &got).status, kOk);
    CHECK(got == pattern(16, 1, 4));
    CHECK_EQ(d.read(32, 4, &got).status, kOk);
    CHECK(got == pattern(32, 1, 4));
    /* Another session is not limited by that; who comes later is by what is set for those. */
    CHECK_EQ(reading(b, fb, {{0, 64}}).status, kOk);
    CHECK_EQ(access(d, 0, {{0, 4, read}}), kOk);
    Owner c = tenant(3);
    d.open(c);
    uint16_t fc = nameFor(d, c, model::kCopy);
    CHECK_EQ(reading(c, fc, {{0, 4}}).status, kOk);
    refused(reading(c, fc, {{4, 1}}), 4, read);
    auto log = sessions(d);
    CHECK_EQ(log.size(), 4u);
    CHECK_EQ(log[0].limited, 1u);
    CHECK_EQ(log[0].blocks[0], 4u);
    CHECK_EQ(log[1].count, 3u);
    CHECK_EQ(log[1].lba[2], 40u);
    CHECK_EQ(log[2].limited, 0u);
    /* No range at all, and all blocks again. */
    CHECK_EQ(access(d, c.number, {}), kOk);
    refused(reading(c, fc, {{0, 1}}), 0, read);
    CHECK_EQ(access(d, c.number, {}, 0), kOk);
    CHECK_EQ(reading(c, fc, {{4, 1}}).status, kOk);
    /* A reset does not lift what is set for those that come. */
    d.disable();
    d.start();
    d.open(c);
    fc = nameFor(d, c, model::kCopy);
    refused(reading(c, fc, {{4, 1}}), 4, read);
    /* Tables that make no sense. */
    uint32_t last = d.capacity();
    CHECK_EQ(access(d, 0, {{0, 0, read}}), kInvalidField);
    CHECK_EQ(access(d, 0, {{0, 1, 0}}), kInvalidField);
    CHECK_EQ(access(d, 0, {{0, 1, 4}}), kInvalidField);
    CHECK_EQ(access(d, 0, {{0, 1, read}}, 0), kInvalidField);
    CHECK_EQ(access(d, 0, {{0, 1, read}}, 2), kInvalidField);
    CHECK_EQ(access(d, 0, {{last, 1, read}}), kLbaRange);
    CHECK_EQ(access(d, 0, {{1, last, read}}), kLbaRange);
    CHECK_EQ(access(d, 0, {{0, UINT64_MAX, read}}), kLbaRange);
    CHECK_EQ(access(d, 0, std::vector<std::array<uint64_t, 3>>(SCOMP_ACCESS_RANGES + 1, {0, 1, read})), kInvalidField);
    CHECK_EQ(access(d, 12345, {{0, 1, read}}), kNoSession);
}

/** Nobody asks for more time than the cap. */
TEST(owners_watchdog_cap) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 0, 8);
    Owner a = tenant(1);
    d.open(a);
    Job j = reader(1);
    j.func = nameFor(d, a, model::kCopy);
    j.watchdog = SCOMP_WATCHDOG_MAX_KCYCLES;
    CHECK_EQ(runFor(d, a, j).status, kOk);
    j.watchdog++;
    auto c = runFor(d, a, j);
    CHECK_EQ(c.status, kBadRequest);
    CHECK_EQ(c.dw0, offsetof(scomp_request, watchdog_kcycles));
}

/* ---- two hostile tenants beside each other ---- */

namespace {

/** A tenant that does what it can to the other one: some 60 commands in flight, their ends not looked at but for what
 * may not succeed. */
class Hostile {
  public:
    Hostile(Drive &drive, const Owner &mine, const Owner &other, uint16_t function, uint32_t limit)
        : d(drive), me(mine), victim(other), loop(function), most(limit) {
    }

    /** Submit more, drop what has ended. */
    void act() {
        for (auto it = flying.begin(); it != flying.end();) {
            auto c = d.take(it->queue, it->cid);
            if (!c) {
                ++it;
                continue;
            }
            if (it->mustFail) {
                CHECK(c->status != kOk);
            }
            done++;
            unused.push_back(it->buffer);
            it = flying.erase(it);
        }
        while (flying.size() < most) {
            one();
        }
    }
    uint64_t done = 0;

  private:
    struct Flying {
        uint32_t queue;
        uint16_t cid;
        bool mustFail;
        Buffer buffer;
    };
    Drive &d;
    Owner me, victim;
    uint16_t loop;
    size_t most;
    std::vector<Flying> flying;

    void send(Sqe s, bool mustFail, const Buffer &b) {
        flying.push_back({3, d.submit(3, s), mustFail, b});
    }
    void exec(const Owner &as, uint32_t handle, const Job &j, bool mustFail, const Buffer &b) {
        auto request = encode(j);
        CHECK(request.size() <= b.bytes);
        uint32_t bytes = static_cast<uint32_t>(request.size());
        request.resize(b.bytes);
        d.put(b, request.data());
        Sqe s = Drive::sqe(SCOMP_OPCODE_IO_EXEC, 1);
        Drive::setPrp(s, b);
        s[10] = handle;
        s[12] = bytes;
        send(Drive::from(as, s), mustFail, b);
    }
    uint32_t random(uint32_t n) {
        return static_cast<uint32_t>(d.dev.rng() % n);
    }
    /** Its own session's handle or function, or the victim's, by the victim's number or by a guess. */
    void one() {
        uint32_t handle = random(20);
        Owner as = me;
        bool others = random(3) == 0;
        if (others) {
            as.number = victim.number;
        }
        Buffer b = page();
        switch (random(8)) {
        case 0: {
            /* All cores, for ever. */
            Job j = reader(1 + random(8), 1 + random(16));
            j.func = loop;
            j.watchdog = 2000;
            j.func = random(4) == 0 ? static_cast<uint16_t>(random(0x10000)) : loop;
            if (j.func != loop && (j.func & 15) == (loop & 15)) {
                j.func = 0;
            }
            exec(as, handle, j, others || j.func != loop, b);
            break;
        }
        case 1:
        case 2:
            send(Drive::from(as, readSqe(b, static_cast<uint16_t>(handle))), others, b);
            break;
        case 3:
            send(Drive::from(as, feedSqe(b, static_cast<uint16_t>(handle), random(4), random(3))), others, b);
            break;
        case 4:
            send(Drive::from(as, abortSqe(handle)), others, b);
            break;
        case 5: {
            /* A block that it may not read, or not write. */
            Job j = reader(1, 1, random(2) == 0 ? 200 : 64);
            j.func = loop;
            if (j.pieces[0].streams[0].extents[0].lba == 64) {
                j.flags = SCOMP_FLAG_OUT_TABLE;
                j.pieces[0].outs = {{{200, 1}}};
            }
            exec(me, handle, j, true, b);
            break;
        }
        case 6: {
            Sqe s = Drive::sqe(SCOMP_OPCODE_IO_SESSION_CLOSE, 1);
            as.number = victim.number;
            send(Drive::from(as, s, true), true, b);
            break;
        }
        default: {
            /* Every session that there is. */
            Owner more = tenant(1000 + random(1000));
            Sqe s = Drive::sqe(SCOMP_OPCODE_IO_SESSION_OPEN, 1);
            s[10] = SCOMP_INTERFACE;
            s[11] = random(2);
            s[14] = more.secret[0];
            s[15] = more.secret[1];
            send(s, false, b);
            break;
        }
        }
    }
    Buffer page() {
        if (unused.empty()) {
            return d.buffer(random(2) == 0 ? 8192 : 16384);
        }
        Buffer b = unused.back();
        unused.pop_back();
        return b;
    }
    std::vector<Buffer> unused;
};

} // namespace

/**
 * The victim's jobs end with the right results while the other tenant takes all that it can get, and no later than with
 * as many cores less, and the watchdog of what ran when it came. Its host reads go on.
 */
TEST(owners_hostile_neighbour) {
    Nand nand(Geometry{4, 4, 1, 1, 16, 32});
    Drive d(nand, 4, seed);
    d.start(3);
    fill(d, 0, 256);
    Owner victim = tenant(1), hostile = tenant(2);
    d.open(victim, 2);
    d.open(hostile, 3);
    CHECK_EQ(access(d, hostile.number, {{0, 128, SCOMP_ACCESS_READ | SCOMP_ACCESS_WRITE}}), kOk);
    uint16_t count = nameFor(d, victim, model::kCount);
    uint16_t loop = nameFor(d, hostile, model::kLoop);
    CHECK_EQ(loadFor(d, hostile, std::vector<uint8_t>(200, 1)).status, kBadElf);
    Job j = reader(56, 8, 200);
    j.func = count;
    auto check = [&](std::map<uint32_t, PieceResult> &r) {
        auto [n, sum] = countSum(pattern(200, 1, 56), 56 * 4096);
        for (uint32_t p = 0; p < 8; p++) {
            CHECK(r[p].ended);
            CHECK_EQ(r[p].last.status, SCOMP_STATUS_OK);
            CHECK_EQ(word(r[p].out[0], 0), n);
            CHECK_EQ(word(r[p].out[0], 4), sum);
        }
    };
    uint64_t begin = d.dev.now;
    {
        std::map<uint32_t, PieceResult> r;
        CHECK_EQ(runFor(d, victim, j, &r).status, kOk);
        check(r);
    }
    uint64_t alone = d.dev.now - begin, worst = 0, slowest = 0;
    Hostile h(d, hostile, victim, loop, 60);
    h.act();
    for (uint32_t round = 0; round < 12; round++) {
        begin = d.dev.now;
        uint16_t exec = d.submit(2, execSqe(d, victim, 3, j));
        std::map<uint32_t, PieceResult> r;
        std::optional<model::Completion> end;
        bool last = false;
        uint16_t reading = 0;
        Buffer b = d.buffer(65536);
        uint64_t since = 0;
        uint16_t read = 0;
        d.run([&] {
            h.act();
            if (!end) {
                end = d.take(2, exec);
            }
            if (reading == 0 && !last) {
                reading = d.submit(2, Drive::from(victim, readSqe(b, 3)));
            } else if (auto c = last ? std::nullopt : d.take(2, reading)) {
                CHECK_EQ(c->status, kOk);
                parse(d.get(b), c->dw0 & 0x7fffffff, r);
                last = c->dw0 >> 31;
                reading = 0;
            }
            if (read == 0) {
                Sqe s = Drive::sqe(0x02, 1);
                Drive::setPrp(s, d.buffer(4096));
                s[10] = 100;
                since = d.dev.now;
                read = d.submit(1, s);
            } else if (auto c = d.take(1, read)) {
                CHECK_EQ(c->status, kOk);
                slowest = std::max(slowest, d.dev.now - since);
                read = 0;
            }
            return end.has_value() && last;
        });
        CHECK_EQ(end->status, kOk);
        CHECK_EQ(end->dw0, 0u);
        check(r);
        worst = std::max(worst, d.dev.now - begin);
        if (read != 0) {
            CHECK_EQ(d.wait(1, read).status, kOk);
        }
    }
    std::printf(
        "    seed %u: alone %llu cycles, beside a hostile tenant at most %llu, a host read at most %llu; it had "
        "%llu commands\n",
        seed, static_cast<unsigned long long>(alone), static_cast<unsigned long long>(worst),
        static_cast<unsigned long long>(slowest), static_cast<unsigned long long>(h.done));
    CHECK(h.done > 100);
    /* One watchdog of 2,000,000 cycles until the first core is free; then at least one core of four. */
    CHECK(worst < 2'000'000 + 8 * alone + 500'000);
    CHECK(slowest < 300'000);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(200, 32, &got).status, kOk);
    CHECK(got == pattern(200, 1, 32));
}

namespace {

/** Waits for commands beside a host that reads one block after the other: so there is always something to come before
 * the watchdog of what loops, to which time would jump. */
class Patience {
  public:
    explicit Patience(Drive &drive, uint64_t most) : d(drive), limit(most) {
    }
    uint64_t longest = 0;

    model::Completion exec(uint32_t q, const Sqe &s) {
        return wait(q, d.submit(q, s));
    }
    model::Completion wait(uint32_t q, uint16_t cid) {
        std::optional<model::Completion> c;
        uint64_t begin = d.dev.now;
        d.run([&] {
            if (auto r = reading ? d.take(1, *reading) : std::nullopt) {
                CHECK_EQ(r->status, kOk);
                reading.reset();
            }
            if (!reading) {
                Sqe s = Drive::sqe(0x02, 1);
                Drive::setPrp(s, to);
                reading = d.submit(1, s);
            }
            return (c = d.take(q, cid)).has_value() || d.dev.now - begin > limit;
        });
        CHECK(c.has_value() && d.dev.now - begin <= limit);
        longest = std::max(longest, d.dev.now - begin);
        return *c;
    }

  private:
    Drive &d;
    uint64_t limit;
    Buffer to = d.buffer(4096);
    std::optional<uint16_t> reading;
};

/** What a tenant that nobody disturbs may expect beside any hostile one: a session, a function, its job's results, and
 * a read of blocks, each within `limit` cycles. Returns the longest. */
uint64_t served(Drive &d, uint32_t queue, uint64_t limit) {
    Patience patience(d, limit);
    Owner o = tenant(77);
    Sqe s = Drive::sqe(SCOMP_OPCODE_IO_SESSION_OPEN, 1);
    s[10] = SCOMP_INTERFACE;
    s[14] = o.secret[0];
    s[15] = o.secret[1];
    auto c = patience.exec(queue, s);
    CHECK_EQ(c.status, kOk);
    o.number = c.dw0;
    auto file = kernelElf(model::kCount);
    Buffer b = d.buffer(static_cast<uint32_t>(file.size()));
    d.put(b, file.data());
    s = Drive::sqe(SCOMP_OPCODE_ADMIN_FUNC_LOAD);
    Drive::setPrp(s, b);
    s[11] = static_cast<uint32_t>(file.size());
    c = patience.exec(0, Drive::from(o, s, true));
    CHECK_EQ(c.status, kOk);
    Job j = reader(24, 2, 200);
    j.func = static_cast<uint16_t>(c.dw0);
    uint16_t exec = d.submit(queue, execSqe(d, o, 3, j));
    std::map<uint32_t, PieceResult> r;
    for (bool more = true; more;) {
        Buffer to = d.buffer(65536);
        c = patience.exec(queue, Drive::from(o, readSqe(to, 3)));
        CHECK_EQ(c.status, kOk);
        more = c.dw0 >> 31 == 0;
        parse(d.get(to), c.dw0 & 0x7fffffff, r);
    }
    CHECK_EQ(patience.wait(queue, exec).status, kOk);
    auto [n, sum] = countSum(pattern(200, 1, 24), 24 * 4096);
    for (uint32_t p = 0; p < 2; p++) {
        CHECK_EQ(r[p].last.status, SCOMP_STATUS_OK);
        CHECK_EQ(word(r[p].out[0], 0), n);
        CHECK_EQ(word(r[p].out[0], 4), sum);
    }
    Buffer to = d.buffer(32 * 4096);
    s = Drive::sqe(0x02, 1);
    Drive::setPrp(s, to);
    s[10] = 100;
    s[12] = 31;
    CHECK_EQ(patience.exec(1, s).status, kOk);
    CHECK(d.get(to) == pattern(100, 1, 32));
    CHECK_EQ(patience.exec(queue, Drive::from(o, Drive::sqe(SCOMP_OPCODE_IO_SESSION_CLOSE, 1), true)).status, kOk);
    return patience.longest;
}

} // namespace

/** Who is there first and opens all sessions that it gets leaves one for every other queue. */
TEST(owners_hostile_sessions) {
    for (bool late : {false, true}) {
        Nand nand(Geometry{});
        Drive d(nand, 2, seed);
        d.start(late ? 1 : 3);
        fill(d, 0, 256);
        uint32_t got = 0;
        for (uint32_t i = 0; i < 20; i++) {
            Owner o = tenant(10 + i);
            got += d.open(o, 1, i % 3 == 0).status == kOk;
        }
        CHECK(got >= SCOMP_QUEUE_SESSIONS && got < SCOMP_MAX_SESSIONS);
        if (late) {
            Sqe s = Drive::sqe(0x05);
            s[6] = 0x20000;
            s[10] = 2 | 63 << 16;
            s[11] = 1 | 1 << 1 | 2 << 16;
            CHECK_EQ(d.exec(0, s).status, kOk);
            s = Drive::sqe(0x01);
            s[6] = 0x28000;
            s[10] = 2 | 63 << 16;
            s[11] = 1 | 2 << 16;
            CHECK_EQ(d.exec(0, s).status, kOk);
        }
        for (uint32_t q = 2; q <= (late ? 2u : 3u); q++) {
            served(d, q, 1'000'000);
            /* Not what the victim has left, either. */
            Owner o = tenant(50);
            CHECK_EQ(d.open(o, 1).status, kNoResources);
            Owner idle = tenant(60 + q);
            CHECK_EQ(d.open(idle, q).status, kOk);
        }
        /* Nor in the place of one that says nothing for long, while it has some itself. */
        d.dev.now += uint64_t{SCOMP_LEASE_KCYCLES} * 1000;
        for (uint32_t i = 0; i < 20; i++) {
            Owner o = tenant(80 + i);
            d.open(o, 1);
        }
        uint32_t mine = 0;
        for (auto &s : sessions(d)) {
            mine += s.number != 0 && s.idle_kcycles >= SCOMP_LEASE_KCYCLES && s.queue == 0;
        }
        CHECK_EQ(mine, late ? 1u : 2u);
    }
}

/** Who is there first and has all cores with more in line leaves one, once what runs has come to its watchdog. */
TEST(owners_hostile_cores) {
    Nand nand(Geometry{4, 4, 1, 1, 16, 32});
    Drive d(nand, 4, seed);
    d.start(3);
    fill(d, 0, 256);
    Owner hostile = tenant(2);
    d.open(hostile, 3);
    Job j = reader(4, 16);
    j.func = nameFor(d, hostile, model::kLoop);
    j.watchdog = 2000;
    for (uint32_t i = 0; i < 12; i++) {
        d.submit(3, execSqe(d, hostile, i, j));
    }
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 1, &got).status, kOk);
    uint64_t most = served(d, 2, 2'000'000 + 500'000);
    std::printf("    seed %u: at most %llu cycles\n", seed, static_cast<unsigned long long>(most));
}

/** As many sessions as there are cores, each with a request of many pieces that loop, take turns with who comes later.
 */
TEST(owners_hostile_pieces) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start(3);
    fill(d, 0, 256);
    Job j = reader(4, 64);
    j.watchdog = 2000;
    for (uint32_t i = 0; i < 3; i++) {
        Owner hostile = tenant(2 + i);
        CHECK_EQ(d.open(hostile, 3).status, kOk);
        j.func = nameFor(d, hostile, model::kLoop);
        d.submit(3, execSqe(d, hostile, 1, j));
    }
    /* Two pieces, each behind those of the others at the two cores. */
    uint64_t most = served(d, 2, 3 * 2'000'000 + 500'000);
    std::printf("    seed %u: at most %llu cycles\n", seed, static_cast<unsigned long long>(most));
}

/** Reads of results that never come hold lists of pages and commands, loads that wait for lists too: others' commands
 * still have both. */
TEST(owners_hostile_lists) {
    Nand nand(Geometry{});
    Drive d(nand, 4, seed);
    d.enable();
    d.createQueues(3, 256);
    fill(d, 0, 256);
    Owner hostile = tenant(2);
    d.open(hostile, 3);
    Job j = reader(4);
    j.func = nameFor(d, hostile, model::kLoop);
    j.watchdog = SCOMP_WATCHDOG_MAX_KCYCLES;
    uint16_t running = d.submit(3, execSqe(d, hostile, 1, j));
    std::vector<uint16_t> reads;
    Buffer b = d.buffer(65536);
    for (uint32_t i = 0; i < 200; i++) {
        reads.push_back(d.submit(3, Drive::from(hostile, readSqe(b, 1))));
    }
    served(d, 2, 1'000'000);
    served(d, 2, 1'000'000);
    /* Loads by the admin queue, as many as it takes at a time. */
    auto file = kernelElf(model::kCopy);
    file.resize(SCOMP_MAX_ELF);
    Buffer from = d.buffer(SCOMP_MAX_ELF);
    d.put(from, file.data());
    std::vector<uint16_t> loads;
    Patience pause(d, 1'000'000);
    for (uint32_t i = 0; i < 240; i++) {
        Sqe s = Drive::sqe(SCOMP_OPCODE_ADMIN_FUNC_LOAD);
        Drive::setPrp(s, from);
        s[11] = SCOMP_MAX_ELF;
        loads.push_back(d.submit(0, Drive::from(hostile, s, true)));
        if (i % 24 == 23) {
            Sqe read = Drive::sqe(0x02, 1);
            Drive::setPrp(read, b);
            CHECK_EQ(pause.exec(1, read).status, kOk);
        }
    }
    served(d, 2, 4'000'000);
    CHECK_EQ(close(d, hostile, 3), kOk);
    for (uint16_t cid : reads) {
        CHECK(d.wait(3, cid).status != kOk);
    }
    for (uint16_t cid : loads) {
        d.wait(0, cid);
    }
    auto end = d.wait(3, running);
    CHECK(end.status == kAborted || end.status == kOk);
    d.settle();
    CHECK_EQ(sessions(d).size(), 1u);
    served(d, 3, 1'000'000);
}

/** Seven sessions take all requests, reads and feeds that they get, each with a list of pages: the eighth still runs a
 * job that is fed and read by lists, whatever the others wait for. */
TEST(owners_hostile_lists_of_all) {
    Nand nand(Geometry{});
    Drive d(nand, 8, seed);
    d.enable();
    d.createQueues(3, 256);
    fill(d, 0, 256);
    std::vector<Owner> all;
    for (uint32_t i = 0; i < SCOMP_MAX_SESSIONS - 1; i++) {
        all.push_back(tenant(10 + i));
        CHECK_EQ(d.open(all.back(), i == 0 ? 1 : 3).status, kOk);
    }
    std::vector<uint16_t> names;
    for (const Owner &o : all) {
        names.push_back(nameFor(d, o, model::kLoop));
    }
    Owner o = tenant(77);
    CHECK_EQ(d.open(o, 2).status, kOk);
    Job own;
    own.func = nameFor(d, o, model::kCopy);
    /* Many pieces, so that the request needs a list of pages, and the last one is fed what never leaves host memory. */
    Job j;
    j.watchdog = SCOMP_WATCHDOG_MAX_KCYCLES;
    j.pieces.assign(256, Piece{{Stream{{{0, 1}}, 4096}, Stream{{}, 1 << 24}}, {}});
    CHECK(encode(j).size() > 2 * 4096);
    Buffer b = d.buffer(65536);
    Patience pause(d, 1'000'000);
    Sqe look = Drive::sqe(0x02, 1);
    Drive::setPrp(look, d.buffer(4096));
    std::vector<std::pair<uint32_t, uint16_t>> theirs;
    for (uint32_t handle = 1; handle <= 8; handle++) {
        for (uint32_t i = 0; i < all.size(); i++) {
            uint32_t q = i == 0 ? 1 : 3;
            j.func = names[i];
            theirs.push_back({q, d.submit(q, execSqe(d, all[i], handle, j))});
            for (uint32_t n = 0; n < 3; n++) {
                theirs.push_back({q, d.submit(q, Drive::from(all[i], readSqe(b, handle)))});
                theirs.push_back(
                    {q, d.submit(q, Drive::from(all[i], feedSqe(b, static_cast<uint16_t>(handle), 255, 1)))});
            }
            CHECK_EQ(pause.exec(1, look).status, kOk);
        }
    }
    for (uint32_t p = 0; p < 512; p++) {
        own.pieces.push_back(Piece{{Stream{{}, p == 0 ? 4 * 65536u : 64u}}, {}});
    }
    CHECK(encode(own).size() > 2 * 4096);
    Patience patience(d, 1'000'000);
    uint16_t exec = d.submit(2, execSqe(d, o, 3, own));
    std::vector<uint16_t> reads;
    for (uint32_t i = 0; i < 2; i++) {
        reads.push_back(d.submit(2, Drive::from(o, readSqe(d.buffer(65536), 3))));
    }
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(patience.exec(2, Drive::from(o, feedSqe(b, 3, 0, 0))).status, kOk);
        if (i % 2 == 1) {
            for (uint16_t &cid : reads) {
                CHECK_EQ(patience.wait(2, cid).status, kOk);
                cid = d.submit(2, Drive::from(o, readSqe(d.buffer(65536), 3)));
            }
        }
    }
    CHECK_EQ(close(d, o, 2), kOk);
    CHECK_EQ(patience.wait(2, exec).status, kOk);
    for (uint16_t cid : reads) {
        patience.wait(2, cid);
    }
    for (uint32_t i = 0; i < all.size(); i++) {
        CHECK_EQ(close(d, all[i], i == 0 ? 1 : 3), kOk);
    }
    for (auto [q, cid] : theirs) {
        d.wait(q, cid);
    }
    d.settle();
    CHECK_EQ(sessions(d).size(), 1u);
    served(d, 3, 1'000'000);
}

/** Loads of the largest files without a pause, by as many sessions as one queue gets. */
TEST(owners_hostile_loads) {
    Nand nand(Geometry{});
    Drive d(nand, 4, seed);
    d.start(3);
    fill(d, 0, 256);
    std::vector<Owner> all;
    for (uint32_t i = 0; i < SCOMP_MAX_SESSIONS; i++) {
        all.push_back(tenant(10 + i));
        if (d.open(all.back(), 3).status != kOk) {
            all.pop_back();
        }
    }
    auto file = kernelElf(model::kCopy);
    file.resize(SCOMP_MAX_ELF);
    Buffer from = d.buffer(SCOMP_MAX_ELF);
    d.put(from, file.data());
    uint64_t most = 0;
    for (uint32_t round = 0; round < 4; round++) {
        std::vector<uint16_t> loads;
        for (uint32_t i = 0; i < 28; i++) {
            Sqe s = Drive::sqe(SCOMP_OPCODE_ADMIN_FUNC_LOAD);
            Drive::setPrp(s, from);
            s[11] = SCOMP_MAX_ELF;
            loads.push_back(d.submit(0, Drive::from(all[d.dev.rng() % all.size()], s, true)));
        }
        most = std::max(most, served(d, 2, 10'000'000));
        uint32_t good = 0;
        for (uint16_t cid : loads) {
            auto c = d.wait(0, cid);
            CHECK(c.status == kOk || c.status == kNoResources);
            good += c.status == kOk;
        }
        CHECK(good > 0);
    }
    std::printf("    seed %u: at most %llu cycles\n", seed, static_cast<unsigned long long>(most));
}
