// SPDX-License-Identifier: BSD-3-Clause
/* Random load against an oracle: many commands in flight, clean shutdowns, kills at idle, power cuts, failing programs
 * and erases. */
#include "tests/scomp.h"

#include <algorithm>
#include <cstdio>

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

/** What may be on the drive: for every block the versions that a read may still return, and those that a loss of power
 * may leave of it. Without a write cache these are the same. */
class Oracle {
  public:
    explicit Oracle(uint32_t blocks, bool withCache = false)
        : live(blocks, std::vector<Version>(1, Version{0, 0, 0, true})), left(live), cache(withCache) {
    }

    struct Version {
        uint32_t version;
        uint64_t submitted, completed; /**< completed: UINT64_MAX while in flight */
        bool won;                      /**< completed successfully: older ones are gone */
    };
    std::vector<std::vector<Version>> live, left;
    bool cache;
    std::vector<uint32_t> versions(uint32_t lba) const {
        std::vector<uint32_t> v;
        for (auto &x : live[lba]) {
            v.push_back(x.version);
        }
        return v;
    }
    void submit(uint32_t lba, uint32_t version, uint64_t now) {
        live[lba].push_back({version, now, UINT64_MAX, false});
        left[lba].push_back({version, now, UINT64_MAX, false});
    }
    /** @param durable not in a cache */
    void complete(uint32_t lba, uint32_t version, uint64_t now, bool ok, bool durable) {
        ended(live[lba], version, now, ok, ok);
        ended(left[lba], version, now, ok, ok && (durable || !cache));
    }
    /** A flush that was submitted at `at` has completed: what had completed by then is on the medium. */
    void flushed(uint64_t at) {
        for (auto &versions : left) {
            uint64_t newest = 0;
            for (auto &x : versions) {
                newest = x.won && x.completed < at ? std::max(newest, x.submitted) : newest;
            }
            std::erase_if(versions, [&](const Version &x) { return x.completed < newest; });
        }
    }
    /** Nothing is in flight, and the clock may begin again. */
    void restart() {
        for (auto *all : {&live, &left}) {
            for (auto &versions : *all) {
                for (auto &x : versions) {
                    x.submitted = x.completed = 0;
                }
            }
        }
    }
    /** Power is lost. */
    void cut() {
        live = left;
    }
    /** The cache is empty, and every block has been read. */
    void durable() {
        left = live;
    }
    /** A read saw `version` while nothing was in flight: it is the only one from now on. */
    void settle(uint32_t lba, uint32_t version) {
        std::erase_if(live[lba], [&](const Version &x) { return x.version != version; });
        for (auto &x : live[lba]) {
            x.submitted = 0;
        }
    }
    bool inFlight(uint32_t lba) const {
        return std::any_of(live[lba].begin(), live[lba].end(),
                           [](const Version &x) { return x.completed == UINT64_MAX; });
    }

  private:
    static void ended(std::vector<Version> &versions, uint32_t version, uint64_t now, bool ok, bool alone) {
        uint64_t submitted = 0;
        for (auto &x : versions) {
            if (x.version == version) {
                x.completed = now;
                x.won = ok;
                submitted = x.submitted;
            }
        }
        if (alone) {
            std::erase_if(versions, [&](const Version &x) { return x.completed < submitted; });
        }
    }
};

struct Command {
    enum { Read, Write, Trim, Zeroes, Flush } kind;
    uint32_t lba, blocks, version;
    uint64_t submitted;
    bool durable; /**< a write with FUA, a trim */
    Buffer buffer;
    /** Reads: what each block may return. */
    std::vector<std::vector<uint32_t>> allowed;
    std::vector<bool> calm; /**< no write to the block since the read was submitted */
};

struct Options {
    uint32_t lbas = 0; /**< blocks in use, 0: all */
    uint32_t depth = 32;
    uint32_t writes = 50, trims = 5, flushes = 2; /**< per cent */
};

constexpr uint32_t kFua = 1u << 30;

/** Versions are unique over a test; a multiple of 1,000 means zeros. */
bool isZero(uint32_t version) {
    return version % 1000 == 0;
}

bool matches(const std::vector<uint8_t> &page, uint32_t lba, uint32_t version) {
    return page == pattern(lba, isZero(version) ? 0 : version);
}

class Load {
  public:
    Load(Drive &drive, Oracle &o, uint32_t &v, std::mt19937 &r, Options opt)
        : d(drive), oracle(o), version(v), rng(r), options(opt) {
        if (options.lbas == 0) {
            options.lbas = static_cast<uint32_t>(o.live.size());
        }
        oracle.restart();
    }
    uint64_t full = 0, ended = 0;
    std::function<void()> beside = [] {}; /**< what else goes on */

    /** Keep `depth` commands in flight until `total` were submitted, then wait for all; leave at time `stop` whatever
     * is in flight. */
    void run(uint32_t total, uint64_t stop = UINT64_MAX) {
        while ((total > 0 || !flying.empty()) && d.dev.now < stop) {
            while (total > 0 && flying.size() < options.depth) {
                submit();
                total--;
            }
            size_t before = flying.size();
            d.run([&] {
                poll();
                return flying.size() < before || d.dev.now >= stop;
            });
        }
    }

    void verify(uint32_t step = 1) {
        for (uint32_t lba = 0; lba < options.lbas; lba += 32 * step) {
            uint32_t n = std::min<uint32_t>(32, options.lbas - lba);
            start(Command::Read, lba, n);
            run(0);
        }
    }

    std::map<std::pair<uint32_t, uint16_t>, Command> flying;

  private:
    Drive &d;
    Oracle &oracle;
    uint32_t &version;
    std::mt19937 &rng;
    Options options;

    void submit() {
        uint32_t pick = static_cast<uint32_t>(rng() % 100);
        uint32_t blocks = 1 + static_cast<uint32_t>(rng() % 4 == 0 ? rng() % 32 : rng() % 4);
        blocks = std::min(blocks, options.lbas);
        uint32_t lba = static_cast<uint32_t>(rng() % (options.lbas - blocks + 1));
        if (pick < options.writes) {
            start(Command::Write, lba, blocks);
        } else if (pick < options.writes + options.trims) {
            start(rng() % 2 ? Command::Trim : Command::Zeroes, lba, blocks);
        } else if (pick < options.writes + options.trims + options.flushes) {
            start(Command::Flush, 0, 1);
        } else {
            start(Command::Read, lba, blocks);
        }
    }

    void start(decltype(Command::kind) kind, uint32_t lba, uint32_t blocks) {
        Command c{kind, lba, blocks, 0, d.dev.now, kind != Command::Write, {}, {}, {}};
        Sqe s{};
        uint32_t q = 1 + static_cast<uint32_t>(rng() % 2);
        switch (kind) {
        case Command::Read:
        case Command::Write:
            c.buffer =
                d.buffer(blocks * 4096, static_cast<uint32_t>(rng() % 3 == 0 ? rng() % 1024 * 4 : 0), rng() % 4 == 0);
            s = Drive::sqe(kind == Command::Read ? 0x02 : 0x01, 1);
            Drive::setPrp(s, c.buffer);
            s[10] = lba;
            s[12] = blocks - 1;
            if (rng() % 8 == 0) {
                s[12] |= kFua;
                c.durable = true;
            }
            break;
        case Command::Trim: {
            c.buffer = d.buffer(16);
            uint32_t range[4] = {0, blocks, lba, 0};
            d.put(c.buffer, reinterpret_cast<uint8_t *>(range));
            s = Drive::sqe(0x09, 1);
            Drive::setPrp(s, c.buffer);
            s[11] = 4;
            break;
        }
        case Command::Zeroes:
            s = Drive::sqe(0x08, 1);
            s[10] = lba;
            s[12] = blocks - 1;
            break;
        case Command::Flush:
            s = Drive::sqe(0x00, 1);
            break;
        }
        if (kind == Command::Write || kind == Command::Trim || kind == Command::Zeroes) {
            version++;
            if (isZero(version)) {
                version++;
            }
            c.version = kind == Command::Write ? version : (version = (version / 1000 + 1) * 1000);
            if (kind == Command::Write) {
                d.put(c.buffer, pattern(lba, c.version, blocks).data());
            }
            for (uint32_t i = 0; i < blocks; i++) {
                oracle.submit(lba + i, c.version, d.dev.now);
                for (auto &[id, r] : flying) {
                    if (r.kind == Command::Read && lba + i >= r.lba && lba + i < r.lba + r.blocks) {
                        r.allowed[lba + i - r.lba].push_back(c.version);
                        r.calm[lba + i - r.lba] = false;
                    }
                }
            }
        } else if (kind == Command::Read) {
            for (uint32_t i = 0; i < blocks; i++) {
                c.allowed.push_back(oracle.versions(lba + i));
                c.calm.push_back(!oracle.inFlight(lba + i));
            }
        }
        flying.insert({{q, d.submit(q, s)}, std::move(c)});
    }

    void poll() {
        beside();
        for (auto it = flying.begin(); it != flying.end();) {
            auto done = d.take(it->first.first, it->first.second);
            if (!done) {
                ++it;
                continue;
            }
            finish(it->second, *done);
            it = flying.erase(it);
            ended++;
        }
    }

    void finish(const Command &c, const model::Completion &done) {
        if (c.kind == Command::Flush) {
            CHECK(done.status == kOk || (d.dev.faults.program > 0 && done.status == kWriteFault));
            if (done.status == kOk) {
                oracle.flushed(c.submitted);
            }
            return;
        }
        if (c.kind == Command::Read) {
            CHECK_EQ(done.status, kOk);
            auto got = d.get(c.buffer);
            for (uint32_t i = 0; i < c.blocks; i++) {
                std::vector<uint8_t> page(got.begin() + i * 4096, got.begin() + (i + 1) * 4096);
                bool ok = false;
                for (uint32_t v : c.allowed[i]) {
                    if (matches(page, c.lba + i, v)) {
                        ok = true;
                        if (c.calm[i] && !oracle.inFlight(c.lba + i)) {
                            oracle.settle(c.lba + i, v);
                        }
                        break;
                    }
                }
                if (!ok) {
                    throw Failure("block " + std::to_string(c.lba + i) + " holds none of the " +
                                  std::to_string(c.allowed[i].size()) + " versions it may hold");
                }
            }
            return;
        }
        bool ok = done.status == kOk;
        full += done.status == kReadOnly;
        CHECK(ok || done.status == kReadOnly || (d.dev.faults.program > 0 && done.status == kWriteFault));
        for (uint32_t i = 0; i < c.blocks; i++) {
            oracle.complete(c.lba + i, c.version, d.dev.now, ok, c.durable);
        }
    }
};

/** What was in flight stays possible. */
void lost(Load &load, Oracle &oracle, bool cut) {
    for (auto &[id, c] : load.flying) {
        if (c.version != 0) {
            for (uint32_t i = 0; i < c.blocks; i++) {
                oracle.complete(c.lba + i, c.version, 0, false, false);
            }
        }
    }
    if (cut) {
        oracle.cut();
    }
}

const Geometry kSmall{2, 2, 1, 1, 16, 32, 4096, 224};
/** Pages larger than the drive's, blocks that are no power of two, no block of times: what real modules are like. */
const Geometry kLarge{2, 2, 2, 2, 11, 16, 16384, 2208, false, 0x1f};
/** Pages of two planes that are programmed together, small ones. */
const Geometry kPlanes{2, 2, 1, 2, 16, 16, 4096, 224};
const Geometry kPlanesOfSectors{2, 2, 2, 2, 11, 16, 16384, 2208};
/** Two LUNs of a way, which work at the same time. */
const Geometry kLuns{2, 2, 2, 1, 16, 16, 4096, 224};
const Geometry kLunsOfPlanes{2, 1, 2, 2, 16, 16, 4096, 224};
/** Planes are programmed together where that takes longer than the data in of the channel's other pages. */
model::Times slowPrograms(uint32_t cycles) {
    model::Times times;
    times.program = cycles;
    return times;
}

void full(const Geometry &geometry, uint32_t writes, uint32_t seed, const model::Times &times = {}) {
    Nand nand(geometry);
    std::mt19937 rng(seed);
    uint32_t version = 0;
    std::optional<Oracle> oracle;
    uint64_t full = 0;
    for (uint32_t life = 0; life < 6; life++) {
        Drive d(nand, 1, static_cast<uint32_t>(rng()), 0, {}, times);
        d.start();
        if (!oracle) {
            oracle.emplace(d.capacity(), geometry.pageBytes > 4096);
        }
        Load load(d, *oracle, version, rng, {.writes = 80, .trims = 4, .flushes = 1});
        load.verify();
        oracle->durable();
        load.run(writes);
        load.verify(3);
        full += load.full;
        if (rng() % 2) {
            d.shutdown();
        } else {
            lost(load, *oracle, true);
        }
    }
    CHECK_EQ(full, 0u);
    /* Emptied, it takes data again. */
    Drive d(nand, 1, seed);
    d.start();
    uint32_t cap = d.capacity();
    CHECK_EQ(d.trim(0, cap).status, kOk);
    std::vector<uint8_t> got;
    CHECK_EQ(d.write(17, pattern(17, 5, 32)).status, kOk);
    CHECK_EQ(d.read(17, 32, &got).status, kOk);
    CHECK(got == pattern(17, 5, 32));
    CHECK_EQ(d.read(500, 32, &got).status, kOk);
    CHECK(got == pattern(0, 0, 32));
}

void powerCuts(const Geometry &geometry, uint32_t variants, uint32_t seed, const model::Times &times = {}) {
    for (uint32_t variant = 0; variant < variants; variant++) {
        Nand nand(geometry);
        std::mt19937 rng(seed * 3 + variant);
        uint32_t version = 0;
        std::optional<Oracle> oracle;
        for (uint32_t life = 0; life < 15; life++) {
            std::optional<Drive> d;
            std::optional<Load> load;
            try {
                d.emplace(nand, 1, static_cast<uint32_t>(rng()), 0u, std::vector<model::Slot>{}, times);
                d->start();
                if (!oracle) {
                    oracle.emplace(d->capacity(), geometry.pageBytes > 4096);
                }
                load.emplace(*d, *oracle, version, rng, Options{.lbas = 300, .depth = 16});
                load->verify();
                oracle->durable();
                d->dev.cutAt = d->dev.now + rng() % 2'000'000;
                load->run(5000);
            } catch (const model::PowerCut &) {
                d->dev.tearInFlight();
                lost(*load, *oracle, true);
            }
        }
    }
}

/** Programs and erases that fail. */
void failures(const Geometry &geometry, uint32_t seed, const model::Times &times = {}) {
    Nand nand(geometry);
    std::mt19937 rng(seed);
    uint32_t version = 0;
    std::optional<Oracle> oracle;
    for (uint32_t life = 0; life < 8; life++) {
        Drive d(nand, 1, static_cast<uint32_t>(rng()), 0, {}, times);
        d.start();
        if (!oracle) {
            oracle.emplace(d.capacity());
        }
        Load load(d, *oracle, version, rng, {.lbas = 300});
        load.verify();
        d.dev.faults.program = 0.005;
        d.dev.faults.erase = 0.002;
        load.run(300);
        d.dev.faults = {};
        load.verify();
        if (rng() % 2) {
            d.shutdown();
        }
    }
}

} // namespace

TEST(torture_shutdown_and_kill) {
    Nand nand(kSmall);
    std::mt19937 rng(seed);
    uint32_t version = 0;
    std::optional<Oracle> oracle;
    for (uint32_t life = 0; life < 12; life++) {
        Drive d(nand, 1, static_cast<uint32_t>(rng()));
        d.start();
        if (!oracle) {
            oracle.emplace(d.capacity());
        }
        Load load(d, *oracle, version, rng, {.lbas = 400});
        load.verify();
        load.run(static_cast<uint32_t>(rng() % 400));
        load.verify();
        if (rng() % 2) {
            d.shutdown();
            CHECK(d.dev.console.find("failed") == std::string::npos);
        }
    }
}

TEST(torture_full) {
    full(kSmall, 1200, seed);
}

TEST(torture_full_large_pages) {
    full(kLarge, 4800, seed);
}

TEST(torture_full_planes) {
    full(kPlanes, 1200, seed, slowPrograms(20'000));
}

TEST(torture_full_luns) {
    full(kLuns, 1200, seed);
    full(kLunsOfPlanes, 1200, seed, slowPrograms(20'000));
}

TEST(torture_overwrite_reclaims) {
    /* Far more written than the medium holds, always the same blocks: superblocks that hold nothing come back. */
    Nand nand(kSmall);
    std::mt19937 rng(seed);
    uint32_t version = 0;
    Drive d(nand, 1, seed);
    d.start();
    Oracle oracle(64);
    Load load(d, oracle, version, rng, {.lbas = 64, .writes = 90, .trims = 2, .flushes = 0});
    load.run(2500);
    load.verify();
    CHECK_EQ(load.full, 0u);
    CHECK(nand.programs > 16u * 128u);
}

TEST(torture_deep_queue) {
    Nand nand(Geometry{4, 2, 2, 2, 16, 16});
    std::mt19937 rng(seed);
    uint32_t version = 0;
    Drive d(nand, 1, seed);
    d.start();
    Oracle oracle(200);
    /* More than the firmware holds at once, all on few blocks. */
    Load load(d, oracle, version, rng, {.lbas = 200, .depth = 250, .flushes = 1});
    load.run(1500);
    load.verify();
}

TEST(torture_power_cut) {
    powerCuts(kSmall, 3, seed);
}

TEST(torture_power_cut_large_pages) {
    powerCuts(kLarge, 2, seed);
}

TEST(torture_power_cuts_planes) {
    powerCuts(kPlanes, 1, seed, slowPrograms(20'000));
    powerCuts(kPlanesOfSectors, 1, seed, slowPrograms(200'000));
}

TEST(torture_power_cuts_luns) {
    powerCuts(kLuns, 1, seed);
    powerCuts(kLunsOfPlanes, 1, seed, slowPrograms(20'000));
}

TEST(torture_faults) {
    failures(Geometry{2, 2, 1, 1, 64, 32}, seed);
}

TEST(torture_faults_luns) {
    failures(Geometry{2, 1, 2, 2, 32, 32}, seed, slowPrograms(20'000));
}

TEST(torture_reset) {
    Nand nand(kSmall);
    std::mt19937 rng(seed);
    uint32_t version = 0;
    Drive d(nand, 1, seed);
    Oracle oracle(300);
    for (uint32_t round = 0; round < 25; round++) {
        d.start();
        Load load(d, oracle, version, rng, {.lbas = 300});
        if (round % 5 == 0) {
            load.verify();
        }
        load.run(static_cast<uint32_t>(rng() % 60));
        /* A reset with commands in flight. */
        load.run(200, d.dev.now + rng() % 60'000);
        lost(load, oracle, false);
        d.dev.hostWriteCc(0);
        if (round % 3 == 0) {
            /* Enabled again before the firmware looked. */
            d.dev.hostWriteAdmin(model::Device::kHostBase, model::Device::kHostBase + 4096, 31 | 31 << 16);
            d.dev.hostWriteCc(0x00460001);
            d.run([&] { return (d.dev.hostCsts() & 1) != 0; });
            d.dev.hostWriteCc(0);
        }
        d.disable();
    }
    d.start();
    Load load(d, oracle, version, rng, {.lbas = 300});
    load.verify();
}

namespace {

/** Pieces that write to flash beside host I/O, on a medium that superblocks have to come back on. */
void pieces(const Geometry &geometry, uint32_t seed) {
    using namespace scomp;
    Nand nand(geometry);
    std::mt19937 rng(seed);
    uint32_t version = 0, mark = 0, mapped = 0, cuts = 0;
    std::optional<Oracle> oracle;
    constexpr uint32_t kBase = 400, kBlocks = 70;
    std::vector<uint32_t> may = {0};
    for (uint32_t life = 0; life < 14; life++) {
        std::optional<Drive> d;
        std::optional<Load> load;
        try {
            d.emplace(nand, 2, static_cast<uint32_t>(rng()));
            d->start();
            if (!oracle) {
                oracle.emplace(300, geometry.pageBytes > 4096);
            }
            load.emplace(*d, *oracle, version, rng, Options{.lbas = 300, .depth = 16});
            load->verify();
            oracle->durable();
            std::vector<uint8_t> now;
            for (uint32_t i = 0; i < kBlocks; i += 10) {
                std::vector<uint8_t> part;
                CHECK_EQ(d->read(kBase + i, 10, &part).status, kOk);
                now.insert(now.end(), part.begin(), part.end());
            }
            std::erase_if(may, [&](uint32_t v) { return now != pattern(kBase, v, kBlocks); });
            CHECK_EQ(may.size(), 1u);
            CHECK_EQ(scomp::load(*d, 0, kernelElf(model::kCopy)).status, kOk);
            std::optional<Session> session;
            uint64_t abortAt = 0;
            load->beside = [&] {
                if (!session) {
                    Job j;
                    j.flags = SCOMP_FLAG_OUT_TABLE;
                    j.pieces = {Piece{{Stream{{}, kBlocks * 4096}}, {{{kBase + 30, kBlocks - 30}, {kBase, 30}}}}};
                    Feeds feeds;
                    auto data = pattern(kBase, ++mark, kBlocks);
                    std::rotate(data.begin(), data.begin() + 30 * 4096, data.end());
                    feeds[{0, 0}] = data;
                    may.push_back(mark);
                    session.emplace(*d, j, feeds);
                    abortAt = rng() % 4 == 0 ? d->dev.now + rng() % 300'000 : UINT64_MAX;
                }
                if (d->dev.now >= abortAt) {
                    d->submit(2, abortSqe(9));
                    abortAt = UINT64_MAX;
                }
                if (session->poll()) {
                    uint32_t status = session->results[0].last.status;
                    CHECK(status == SCOMP_STATUS_OK || status == SCOMP_STATUS_ABORTED ||
                          status == SCOMP_STATUS_CAPACITY);
                    if (status == SCOMP_STATUS_OK) {
                        may = {mark};
                        mapped++;
                    } else {
                        may.pop_back();
                    }
                    session.reset();
                }
            };
            if (rng() % 3 != 0) {
                d->dev.cutAt = d->dev.now + rng() % 3'000'000;
            }
            load->run(700);
            if (session) {
                d->run([&] {
                    load->beside();
                    return !session || session->results[0].ended;
                });
            }
            if (rng() % 2) {
                d->shutdown();
            } else {
                lost(*load, *oracle, true);
            }
        } catch (const model::PowerCut &) {
            cuts++;
            d->dev.tearInFlight();
            lost(*load, *oracle, true);
        }
    }
    CHECK(cuts > 2 && mapped > 20);
}

} // namespace

TEST(torture_pieces) {
    pieces(Geometry{2, 2, 1, 1, 64, 16}, seed);
}

TEST(torture_pieces_large_pages) {
    pieces(Geometry{2, 2, 1, 1, 32, 8, 16384, 2208}, seed);
}
