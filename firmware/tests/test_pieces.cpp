// SPDX-License-Identifier: BSD-3-Clause
/* Pieces beyond one function between flash and host: output under logical blocks, host-fed input, trees, channel-local
 * pages. */
#include "tests/scomp.h"

#include <algorithm>

using namespace harness;
using namespace scomp;
using model::Geometry;
using model::Nand;

namespace {

std::vector<uint8_t> randomBytes(std::mt19937 &rng, size_t n) {
    std::vector<uint8_t> v(n);
    for (auto &b : v) {
        b = static_cast<uint8_t>(rng());
    }
    return v;
}

std::vector<uint8_t> readAll(Drive &d, const std::vector<Extent> &list) {
    std::vector<uint8_t> all;
    for (const Extent &e : list) {
        for (uint32_t i = 0; i < e.count; i += 32) {
            std::vector<uint8_t> part;
            uint32_t n = std::min(32u, e.count - i);
            CHECK_EQ(d.read(e.lba + i, n, &part).status, kOk);
            all.insert(all.end(), part.begin(), part.end());
        }
    }
    return all;
}

std::vector<uint8_t> blocks(const std::vector<Extent> &list, uint32_t version) {
    std::vector<uint8_t> all;
    for (const Extent &e : list) {
        auto p = pattern(e.lba, version, e.count);
        all.insert(all.end(), p.begin(), p.end());
    }
    return all;
}

/** `data` written over `old`: zero padded to a page, what is behind stays. */
std::vector<uint8_t> over(std::vector<uint8_t> old, const std::vector<uint8_t> &data) {
    size_t pages = (data.size() + 4095) / 4096 * 4096;
    std::fill(old.begin(), old.begin() + static_cast<long>(pages), 0);
    std::copy(data.begin(), data.end(), old.begin());
    return old;
}

/** Kernel kWeave: outputs of one node. */
std::vector<std::vector<uint8_t>> weave(const std::vector<std::vector<uint8_t>> &in, size_t outs, uint8_t add) {
    std::vector<std::vector<uint8_t>> out(outs);
    std::vector<size_t> at(in.size());
    size_t n = 0;
    for (size_t turn = 0;; turn++) {
        size_t ended = 0;
        while (ended < in.size() && at[turn % in.size()] == in[turn % in.size()].size()) {
            turn++, ended++;
        }
        if (ended == in.size()) {
            return out;
        }
        size_t s = turn % in.size();
        if (outs > 0) {
            out[n++ % outs].push_back(static_cast<uint8_t>(in[s][at[s]] + add));
        }
        at[s]++;
    }
}

constexpr uint32_t kOutside = SCOMP_OUTSIDE;
scomp_node node(uint16_t func, uint32_t in, uint32_t out, uint32_t args = 0, uint32_t argBytes = 0) {
    return {func, static_cast<uint8_t>(in), static_cast<uint8_t>(out), 0xff, {}, args, argBytes};
}
scomp_edge edge(uint32_t from, uint32_t fs, uint32_t to, uint32_t ts) {
    return {static_cast<uint8_t>(from), static_cast<uint8_t>(fs), static_cast<uint8_t>(to), static_cast<uint8_t>(ts)};
}

} // namespace

TEST(pieces_flash_output) {
    Nand nand(Geometry{2, 2, 1, 1, 32, 32});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 400);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    for (uint32_t bytes : {1u, 13u, 4095u, 4096u, 4097u, 40u * 4096u - 77u, 60u * 4096u}) {
        Job j;
        j.flags = SCOMP_FLAG_OUT_TABLE;
        std::vector<std::vector<Extent>> outs = {{{200, 3}, {250, 50}, {210, 20}}, {{310, 1}, {320, 70}}};
        for (uint32_t p = 0; p < 2; p++) {
            fill(d, p == 0 ? 200 : 300, 100);
            j.pieces.push_back({{{{{p * 64, 1 + (bytes - 1) / 4096}}, bytes}}, {outs[p]}});
        }
        std::vector<std::vector<uint8_t>> want;
        for (uint32_t p = 0; p < 2; p++) {
            auto data = pattern(p * 64, 1, 1 + (bytes - 1) / 4096);
            data.resize(bytes);
            want.push_back(over(readAll(d, outs[p]), data));
        }
        uint32_t failed = 9;
        auto r = runJob(d, j, &failed);
        CHECK_EQ(failed, 0u);
        for (uint32_t p = 0; p < 2; p++) {
            CHECK_EQ(r[p].last.status, SCOMP_STATUS_OK);
            CHECK(r[p].out.empty());
            CHECK_EQ(r[p].report.bytes_out, bytes);
            CHECK(readAll(d, outs[p]) == want[p]);
        }
    }
    /* In place, and what a stream reads of what it wrote. */
    Job j;
    j.flags = SCOMP_FLAG_OUT_TABLE;
    fill(d, 0, 96);
    j.pieces = {Piece{{Stream{{{0, 64}}, 64 * 4096}}, {{{16, 64}}}}};
    runJob(d, j);
    auto want = blocks({{0, 16}}, 1);
    auto moved = blocks({{0, 64}}, 1);
    want.insert(want.end(), moved.begin(), moved.end());
    CHECK(readAll(d, {{0, 80}}) == want);
}

TEST(pieces_flash_output_fails_whole) {
    Nand nand(Geometry{2, 2, 1, 1, 32, 32});
    std::optional<Drive> drive(std::in_place, nand, 2, seed);
    Drive &d = *drive;
    d.start();
    fill(d, 0, 128);
    fill(d, 200, 128);
    struct {
        uint32_t kernel, status, outs, watchdog;
    } cases[] = {{model::kExpand, SCOMP_STATUS_NO_ROOM, 40, 0},
                 {model::kCopy, SCOMP_STATUS_NO_ROOM, 1, 0},
                 {model::kTrap, SCOMP_STATUS_TRAP, 40, 0},
                 {model::kExit7, SCOMP_STATUS_EXIT_CODE, 40, 0},
                 {model::kLoop, SCOMP_STATUS_WATCHDOG, 40, 100}};
    for (auto &c : cases) {
        CHECK_EQ(load(d, 0, kernelElf(c.kernel)).status, kOk);
        Job j;
        j.flags = SCOMP_FLAG_OUT_TABLE;
        j.watchdog = c.watchdog;
        j.pieces = {Piece{{Stream{{{0, 30}}, 30 * 4096}}, {{{200, c.outs}}}}};
        uint32_t failed = 0;
        auto r = runJob(d, j, &failed);
        CHECK_EQ(failed, 1u);
        CHECK_EQ(r[0].last.status, c.status);
        CHECK(readAll(d, {{200, 128}}) == blocks({{200, 128}}, 1));
    }
    d.shutdown();
    drive.reset();
    /* A medium that fails, in the pages or in the checkpoint: a new one each time, because every failure costs a block.
     */
    uint32_t good = 0, bad = 0;
    for (uint32_t i = 0; i < 30; i++) {
        Nand failing(Geometry{2, 2, 1, 1, 32, 32});
        Drive other(failing, 2, seed + i);
        other.start();
        fill(other, 0, 128);
        CHECK_EQ(load(other, 0, kernelElf(model::kCopy)).status, kOk);
        Job j;
        j.flags = SCOMP_FLAG_OUT_TABLE;
        j.pieces = {Piece{{Stream{{{0, 30}}, 30 * 4096}}, {{{200, 30}}}}};
        CHECK_EQ(other.write(200, pattern(200, 1, 30)).status, kOk);
        /* Few failures are made up for by other blocks, many are not. */
        other.dev.faults.program = i % 2 == 0 ? 0.2 : 0.9;
        auto r = runJob(other, j);
        other.dev.faults.program = 0;
        bool ok = r[0].last.status == SCOMP_STATUS_OK;
        CHECK(ok || r[0].last.status == SCOMP_STATUS_MEDIA);
        CHECK(readAll(other, {{200, 30}}) == (ok ? blocks({{0, 30}}, 1) : blocks({{200, 30}}, 1)));
        (ok ? good : bad)++;
    }
    CHECK(good > 0);
    CHECK(bad > 0);
}

TEST(pieces_flash_output_capacity) {
    Nand nand(Geometry{2, 2, 1, 1, 16, 32});
    Drive d(nand, 2, seed);
    d.start();
    uint32_t cap = d.capacity();
    fill(d, 0, cap / 32 * 32);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    Job j;
    j.flags = SCOMP_FLAG_OUT_TABLE;
    uint32_t n = cap - 100;
    j.pieces = {Piece{{Stream{{{0, n}}, n * 4096ull}}, {{{100, n}}}}};
    auto r = runJob(d, j);
    CHECK_EQ(r[0].last.status, SCOMP_STATUS_CAPACITY);
    CHECK(readAll(d, {{0, 320}}) == blocks({{0, 320}}, 1));
    /* The pages come back: the drive can be emptied and written again. */
    CHECK_EQ(d.trim(0, cap).status, kOk);
    for (uint32_t round = 0; round < 6; round++) {
        fill(d, 0, 160);
        j.pieces = {Piece{{Stream{{{0, 100}}, 100 * 4096}}, {{{200, 100}}}}};
        r = runJob(d, j);
        CHECK_EQ(r[0].last.status, SCOMP_STATUS_OK);
        CHECK(readAll(d, {{200, 100}}) == blocks({{0, 100}}, 1));
    }
}

TEST(pieces_overlap) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 320);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    std::mt19937 rng(seed);
    uint32_t refused = 0;
    for (uint32_t round = 0; round < 300; round++) {
        Job j;
        j.flags = SCOMP_FLAG_OUT_TABLE;
        j.out = static_cast<uint8_t>(1 + rng() % 2);
        std::vector<int> in(320, -1), out(320, -1);
        bool overlap = false;
        uint32_t pieces = 1 + rng() % 3;
        for (uint32_t p = 0; p < pieces; p++) {
            Piece piece;
            for (uint32_t s = 0; s < j.out; s++) {
                uint32_t n = 1 + rng() % 4;
                uint32_t lba = rng() % (rng() % 4 == 0 ? 160 : 100) + 100 * (round & 1);
                for (uint32_t b = lba; b < lba + n; b++) {
                    in[b] = in[b] == -1 || in[b] == static_cast<int>(p) ? static_cast<int>(p) : 99;
                }
                piece.streams.push_back({{{lba, n}}, n * 4096});
            }
            for (uint32_t s = 0; s < j.out; s++) {
                std::vector<Extent> list;
                for (uint32_t e = 0; e < 1 + rng() % 2; e++) {
                    uint32_t n = 2 + rng() % 4;
                    uint32_t lba = rng() % (320 - n);
                    for (uint32_t b = lba; b < lba + n; b++) {
                        overlap |= out[b] != -1;
                        out[b] = static_cast<int>(p);
                    }
                    list.push_back({lba, n});
                }
                piece.outs.push_back(list);
            }
            j.pieces.push_back(piece);
        }
        for (uint32_t b = 0; b < 320; b++) {
            overlap |= out[b] != -1 && in[b] != -1 && in[b] != out[b];
        }
        auto c = d.wait(1, submitExec(d, 9, encode(j)));
        CHECK_EQ(c.status, overlap ? kOverlap : kOk);
        refused += overlap;
        if (!overlap) {
            collect(d, 9);
            auto list = readAll(d, {{0, 320}});
        }
    }
    CHECK(refused > 20 && refused < 290);
}

TEST(pieces_fed) {
    Nand nand(Geometry{2, 2, 1, 1, 32, 32});
    Drive d(nand, 2, seed);
    d.start();
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    std::mt19937 rng(seed);
    for (uint32_t round = 0; round < 12; round++) {
        Job j;
        Feeds feeds;
        uint32_t in = 1 + rng() % 3;
        j.out = static_cast<uint8_t>(in);
        bool flash = round % 2;
        j.flags = flash ? SCOMP_FLAG_OUT_TABLE : 0;
        std::map<std::pair<uint32_t, uint32_t>, std::vector<uint8_t>> want;
        for (uint32_t p = 0; p < 1 + rng() % 4; p++) {
            Piece piece;
            for (uint32_t s = 0; s < in; s++) {
                size_t n = rng() % 8 == 0 ? 0 : rng() % (rng() % 2 ? 10000 : 200000);
                feeds[{p, s}] = randomBytes(rng, n);
                piece.streams.push_back({{}, n});
                uint32_t lba = (p * 4 + s) * 50;
                if (flash) {
                    piece.outs.push_back({{lba, 50}});
                    want[{p, s}] = over(readAll(d, {{lba, 50}}), feeds[{p, s}]);
                }
            }
            j.pieces.push_back(piece);
        }
        Session session(d, j, feeds);
        session.maxFeed = round % 3 == 0 ? 3000 : 131072;
        session.run();
        CHECK_EQ(session.done.dw0, 0u);
        uint64_t total = 0;
        for (uint32_t p = 0; p < j.pieces.size(); p++) {
            CHECK_EQ(session.results[p].last.status, SCOMP_STATUS_OK);
            for (uint32_t s = 0; s < in; s++) {
                const auto &data = feeds[{p, s}];
                total += data.size();
                if (flash) {
                    CHECK((readAll(d, {{(p * 4 + s) * 50, 50}}) == want[{p, s}]));
                } else {
                    CHECK(session.results[p].out[s] == data);
                }
            }
        }
        CHECK_EQ(session.fed, total);
    }
}

TEST(pieces_feed_refused) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 0, 32);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    Buffer b = d.buffer(4096);
    auto feed = [&](uint16_t handle, uint32_t piece, uint32_t stream, uint32_t bytes) {
        Sqe s = feedSqe(b, handle, piece, stream);
        s[12] = bytes;
        return s;
    };
    CHECK_EQ(d.exec(1, feed(9, 0, 0, 100)).status, kBadHandle);
    Job j;
    j.out = 2;
    j.pieces = {Piece{{Stream{{}, 10000}, Stream{{{0, 2}}, 8192}}, {}}, Piece{{Stream{{}, 500}, Stream{{}, 20}}, {}}};
    uint16_t exec = submitExec(d, 9, encode(j));
    auto refuse = [&](const Sqe &s, uint16_t status, uint32_t why) {
        auto c = d.exec(1, s);
        CHECK_EQ(c.status, status);
        CHECK_EQ(c.dw0, why);
    };
    refuse(feed(9, 2, 0, 100), kBadFeed, SCOMP_FEED_ERROR_PIECE);
    refuse(feed(9, 65535, 0, 100), kBadFeed, SCOMP_FEED_ERROR_PIECE);
    refuse(feed(9, 0, 2, 100), kBadFeed, SCOMP_FEED_ERROR_STREAM);
    refuse(feed(9, 0, 255, 100), kBadFeed, SCOMP_FEED_ERROR_STREAM);
    refuse(feed(9, 0, 1, 100), kBadFeed, SCOMP_FEED_ERROR_STREAM);
    refuse(feed(9, 1, 1, 21), kBadFeed, SCOMP_FEED_ERROR_LENGTH);
    refuse(feed(9, 0, 0, 0), kInvalidField, 0);
    refuse(feed(9, 0, 0, 131073), kInvalidField, 0);
    Sqe s = feed(9, 0, 0, 100);
    s[13] = 1;
    refuse(s, kInvalidField, 0);
    s = feed(9, 0, 0, 100);
    s[11] |= 1 << 24;
    refuse(s, kInvalidField, 0);
    CHECK_EQ(d.exec(1, feed(9, 0, 0, 4096)).status, kOk);
    CHECK_EQ(d.exec(1, feed(9, 0, 0, 4096)).status, kOk);
    refuse(feed(9, 0, 0, 4096), kBadFeed, SCOMP_FEED_ERROR_LENGTH);
    /* Host memory that is not there: the stream goes on with the next feed. */
    s = feed(9, 0, 0, 100);
    s[6] = 0x1000, s[7] = 0x77;
    CHECK_EQ(d.exec(1, s).status, kDataTransfer);
    s[6] = 0x1001;
    CHECK_EQ(d.exec(1, s).status, kPrpOffset);
    /* A second piece's feeds wait for the core; then there are too many. */
    std::vector<uint16_t> waiting;
    for (uint32_t i = 0; i < SCOMP_MAX_FEEDS; i++) {
        waiting.push_back(d.submit(1, feed(9, 1, 0, 10)));
    }
    CHECK_EQ(d.exec(1, feed(9, 1, 0, 10)).status, kNoResources);
    /* Aborted by the host, one by one. */
    Sqe a = Drive::sqe(0x08);
    a[10] = 1 | static_cast<uint32_t>(waiting.back()) << 16;
    CHECK_EQ(d.exec(0, a).dw0, 0u);
    CHECK_EQ(d.wait(1, waiting.back()).status, kAborted);
    waiting.pop_back();
    CHECK_EQ(d.exec(1, feed(9, 0, 0, 10000 - 8192)).status, kOk);
    for (uint16_t cid : waiting) {
        CHECK_EQ(d.wait(1, cid).status, kOk);
    }
    CHECK_EQ(d.exec(1, feed(9, 1, 0, 500 - 230)).status, kOk);
    CHECK_EQ(d.exec(1, feed(9, 1, 1, 20)).status, kOk);
    CHECK_EQ(d.wait(1, exec).dw0, 0u);
    /* Feeds to pieces that have ended bring nothing. */
    auto c = d.exec(1, feed(9, 1, 1, 1000));
    CHECK_EQ(c.status, kOk);
    CHECK_EQ(c.dw0, 0u);
    auto r = collect(d, 9);
    CHECK_EQ(r[0].out[0].size(), 10000u);
    CHECK_EQ(r[1].out[0].size(), 500u);
    CHECK_EQ(d.exec(1, feed(9, 1, 1, 10)).status, kBadHandle);
}

/** As many feeds as may wait, of a piece that has no core yet, leave the one with a core its lists of pages. */
TEST(pieces_feeds_wait_with_their_lists) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    constexpr uint32_t kBytes = 16384, kWaiting = SCOMP_MAX_FEEDS - 1;
    Buffer b = d.buffer(kBytes);
    Job j;
    j.pieces = {Piece{{Stream{{}, 2 * kBytes}}, {}}, Piece{{Stream{{}, kWaiting * kBytes}}, {}}};
    uint16_t exec = submitExec(d, 9, encode(j));
    CHECK_EQ(d.exec(1, feedSqe(b, 9, 0, 0)).status, kOk);
    std::vector<uint16_t> waiting;
    for (uint32_t i = 0; i < kWaiting; i++) {
        waiting.push_back(d.submit(1, feedSqe(b, 9, 1, 0)));
    }
    CHECK_EQ(d.exec(1, feedSqe(b, 9, 0, 0)).status, kOk);
    auto r = collect(d, 9);
    for (uint16_t cid : waiting) {
        CHECK_EQ(d.wait(1, cid).status, kOk);
    }
    CHECK_EQ(d.wait(1, exec).dw0, 0u);
    CHECK_EQ(r[0].out[0].size(), size_t{2 * kBytes});
    CHECK_EQ(r[1].out[0].size(), size_t{kWaiting} * kBytes);
}

TEST(pieces_feed_too_little) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 200, 32);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    auto feed = [&](uint32_t bytes) {
        Buffer b = d.buffer(bytes);
        return feedSqe(b, 9, 0, 0);
    };
    for (uint32_t round = 0; round < 6; round++) {
        Job j;
        j.flags = SCOMP_FLAG_OUT_TABLE;
        j.watchdog = round == 0 ? 3000 : 0;
        j.pieces = {Piece{{Stream{{}, 40000}}, {{{200, 32}}}}};
        uint16_t exec = submitExec(d, 9, encode(j));
        CHECK_EQ(d.exec(1, feed(round == 5 ? 40000 : 20001)).status, kOk);
        uint16_t more = round == 4 ? d.submit(1, feed(9000)) : 0;
        if (round == 1 || round == 4) {
            CHECK_EQ(d.exec(2, abortSqe(9)).status, kOk);
        } else if (round == 2) {
            d.disable();
            d.start();
            CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
            CHECK(readAll(d, {{200, 32}}) == blocks({{200, 32}}, 1));
            continue;
        } else if (round == 3) {
            Sqe del = Drive::sqe(0x00);
            del[10] = 1;
            CHECK_EQ(d.exec(0, del).status, kOk);
            CHECK_EQ(d.wait(1, exec).status, kOk);
            d.disable();
            d.start();
            CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
            CHECK(readAll(d, {{200, 32}}) == blocks({{200, 32}}, 1));
            continue;
        }
        uint32_t status = round == 0 ? SCOMP_STATUS_WATCHDOG : round == 5 ? SCOMP_STATUS_OK : SCOMP_STATUS_ABORTED;
        CHECK_EQ(d.wait(1, exec).dw0, status == SCOMP_STATUS_OK ? 0u : 1u);
        auto r = collect(d, 9);
        CHECK_EQ(r[0].last.status, status);
        if (more != 0) {
            CHECK_EQ(d.wait(1, more).status, kOk);
        }
        if (round != 5) {
            CHECK(readAll(d, {{200, 32}}) == blocks({{200, 32}}, 1));
        }
    }
}

TEST(pieces_tree) {
    Nand nand(Geometry{});
    Drive d(nand, 8, seed);
    d.start();
    fill(d, 0, 320);
    CHECK_EQ(load(d, 0, kernelElf(model::kFan)).status, kOk);
    CHECK_EQ(load(d, 1, kernelElf(model::kCopy)).status, kOk);
    CHECK_EQ(load(d, 2, kernelElf(model::kWeave)).status, kOk);
    /* A diamond: one reads, two copy, one weaves. */
    Job j;
    j.args.resize(65);
    j.args[64] = 3;
    j.nodes = {node(0, 1, 2), node(1, 1, 1), node(1, 1, 1), node(2, 2, 1, 64, 1)};
    j.edges = {edge(kOutside, 0, 0, 0), edge(0, 0, 1, 0), edge(0, 1, 2, 0),
               edge(1, 0, 3, 1),        edge(2, 0, 3, 0), edge(3, 0, kOutside, 0)};
    for (uint32_t p = 0; p < 5; p++) {
        j.pieces.push_back(Piece{{Stream{{{p * 60, 50}}, 50 * 4096 - p * 1111}}, {}});
    }
    uint32_t failed = 9;
    auto r = runJob(d, j, &failed);
    CHECK_EQ(failed, 0u);
    for (uint32_t p = 0; p < 5; p++) {
        auto in = pattern(p * 60, 1, 50);
        in.resize(50 * 4096 - p * 1111);
        CHECK(r[p].out[0] == weave({in, in}, 1, 3)[0]);
        CHECK_EQ(r[p].nodes.size(), 4u);
        CHECK_EQ(r[p].nodes[3].second.bytes_in, 2 * in.size());
        CHECK_EQ(r[p].nodes[0].second.bytes_out, 2 * in.size());
        CHECK_EQ(r[p].report.bytes_in, in.size());
        CHECK_EQ(r[p].report.bytes_out, 2 * in.size());
        uint64_t cycles = 0;
        for (auto &n : r[p].nodes) {
            CHECK_EQ(n.first.status, SCOMP_STATUS_OK);
            cycles += n.second.cycles;
            CHECK_EQ(n.second.wait_mem, n.second.cycles / 2);
            CHECK_EQ(n.second.l1_misses, n.second.cycles / 3);
            CHECK_EQ(n.second.l2_misses, n.second.cycles / 4);
            CHECK_EQ(n.second.prefetches, n.second.cycles / 5);
        }
        CHECK_EQ(r[p].report.cycles, cycles);
    }
}

TEST(pieces_tree_failures) {
    Nand nand(Geometry{});
    Drive d(nand, 4, seed);
    d.start();
    fill(d, 0, 320);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    struct {
        uint32_t kernel, status;
    } cases[] = {{model::kTrap, SCOMP_STATUS_TRAP},
                 {model::kExit7, SCOMP_STATUS_EXIT_CODE},
                 {model::kLoop, SCOMP_STATUS_WATCHDOG},
                 {model::kStop, SCOMP_STATUS_OK}};
    for (auto &c : cases) {
        CHECK_EQ(load(d, 1, kernelElf(c.kernel)).status, kOk);
        for (uint32_t where = 0; where < 3; where++) {
            Job j;
            j.watchdog = c.kernel == model::kLoop ? 300 : 0;
            j.flags = SCOMP_FLAG_OUT_TABLE;
            for (uint32_t n = 0; n < 3; n++) {
                j.nodes.push_back(node(n == where, 1, 1));
            }
            j.edges = {edge(kOutside, 0, 0, 0), edge(0, 0, 1, 0), edge(1, 0, 2, 0), edge(2, 0, kOutside, 0)};
            for (uint32_t p = 0; p < 3; p++) {
                j.pieces.push_back(Piece{{Stream{{{0, 90}}, 90 * 4096}}, {{{100 + p * 50, 50}}}});
            }
            auto r = runJob(d, j);
            for (uint32_t p = 0; p < 3; p++) {
                CHECK_EQ(r[p].last.status, c.status);
                CHECK_EQ(r[p].nodes.size(), 3u);
                if (c.status != SCOMP_STATUS_OK) {
                    /* A loop starves the others, whose watchdogs may bark first. */
                    CHECK(r[p].report.node == where || c.kernel == model::kLoop);
                    CHECK_EQ(r[p].nodes[r[p].report.node].first.status, c.status);
                } else if (where == 2) {
                    /* What a node does not take any more is dropped: the others run to their end. */
                    CHECK_EQ(r[p].nodes[1].second.bytes_in, 90u * 4096);
                }
                CHECK(readAll(d, {{100 + p * 50, 50}}) == blocks({{100 + p * 50, 50}}, 1));
            }
        }
    }
}

TEST(pieces_bad_trees) {
    Nand nand(Geometry{});
    Drive d(nand, 3, seed);
    d.start();
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    Job good;
    good.args.resize(100);
    good.nodes = {node(0, 1, 1), node(0, 1, 1, 64, 36)};
    good.edges = {edge(kOutside, 0, 0, 0), edge(0, 0, 1, 0), edge(1, 0, kOutside, 0)};
    good.pieces = {Piece{{Stream{{{0, 2}}, 8192}}, {}}};
    runJob(d, good);
    const uint32_t nodes = 64 + 104, edges = nodes + 32;
    auto refuse = [&](const Job &j, uint16_t status, uint32_t where) {
        auto c = d.wait(1, submitExec(d, 1, encode(j)));
        CHECK_EQ(c.status, status);
        CHECK_EQ(c.dw0, where);
    };
    auto with = [&](auto change) {
        Job j = good;
        change(j);
        return j;
    };
    refuse(with([](Job &j) { j.nodes.resize(4, j.nodes[0]); }), kBadRequest, 36);
    refuse(with([](Job &j) { j.nodes.resize(9, j.nodes[0]); }), kBadRequest, 36);
    refuse(with([](Job &j) { j.edges.clear(); }), kBadRequest, 37);
    refuse(with([](Job &j) { j.version = 1; }), kBadRequest, 36);
    refuse(with([](Job &j) { j.func = 1; }), kBadRequest, 6);
    refuse(with([](Job &j) { j.sLog2 = 1; }), kBadRequest, 10);
    refuse(with([](Job &j) { j.maxCores = 1; }), kBadRequest, 28);
    refuse(with([](Job &j) { j.flags = SCOMP_FLAG_CHANNEL_LOCAL; }), kBadRequest, 12);
    refuse(with([](Job &j) { j.nodes[1].func = 1; }), kBadFunction, nodes + 16);
    refuse(with([](Job &j) { j.nodes[1].streams_in = 0; }), kBadRequest, nodes + 18);
    refuse(with([](Job &j) { j.nodes[1].streams_out = 9; }), kBadRequest, nodes + 19);
    refuse(with([](Job &j) { j.nodes[1].s_log2 = 4; }), kBadRequest, nodes + 20);
    refuse(with([](Job &j) { j.nodes[0].pad[1] = 4; }), kBadRequest, nodes + 5);
    refuse(with([](Job &j) { j.nodes[0].args_offset = 8; }), kBadRequest, nodes + 8);
    refuse(with([](Job &j) { j.nodes[0].args_offset = 128; }), kBadRequest, nodes + 8);
    refuse(with([](Job &j) { j.nodes[1].args_bytes = 37; }), kBadRequest, nodes + 28);
    refuse(with([](Job &j) { j.edges[1].from_node = 2; }), kBadRequest, edges + 4);
    refuse(with([](Job &j) { j.edges[1].from_stream = 1; }), kBadRequest, edges + 5);
    refuse(with([](Job &j) { j.edges[1].to_node = 2; }), kBadRequest, edges + 6);
    refuse(with([](Job &j) { j.edges[1].to_stream = 1; }), kBadRequest, edges + 7);
    refuse(with([](Job &j) { j.edges[2].from_node = 0; }), kBadRequest, edges + 9);
    refuse(with([](Job &j) { j.edges[1].to_node = 0; }), kBadRequest, edges + 7);
    refuse(with([](Job &j) { j.edges[0].to_node = 0xff; }), kBadRequest, edges + 2);
    refuse(with([](Job &j) { j.edges.pop_back(); }), kBadRequest, 37);
    refuse(with([](Job &j) { j.nodes[1].streams_in = 2; }), kBadRequest, 37);
    /* A circle beside the way through. */
    refuse(with([](Job &j) {
               j.nodes = {node(0, 1, 1), node(0, 1, 1), node(0, 1, 1)};
               j.edges = {edge(kOutside, 0, 0, 0), edge(0, 0, kOutside, 0), edge(1, 0, 2, 0), edge(2, 0, 1, 0)};
           }),
           kBadRequest, edges + 16 + 8 + 2);
    runJob(d, good);
}

namespace {

/** A random tree with its inputs and what comes out. */
struct RandomTree {
    Job job;
    Feeds feeds;
    std::vector<std::vector<std::vector<uint8_t>>> want; /**< by piece and external output */
    std::map<std::pair<uint32_t, uint32_t>, std::vector<Extent>> flash;

    RandomTree(std::mt19937 &rng, uint32_t cores, uint32_t maxBytes) {
        uint32_t count = 1 + rng() % std::min(cores, SCOMP_MAX_NODES);
        /* No two ways between two nodes, which may deadlock by themselves: each node has one edge to an earlier one. */
        struct End {
            uint32_t node, stream;
        };
        std::vector<uint32_t> ins(count, 0), outs(count, 0);
        std::vector<std::array<uint32_t, 4>> inner;
        uint32_t extIn = 0, extOut = 0;
        for (uint32_t n = 1; n < count; n++) {
            uint32_t other = rng() % n;
            /* Producers have smaller numbers half of the time: numbering says nothing. */
            bool down = rng() % 2;
            uint32_t from = down ? other : n, to = down ? n : other;
            if (outs[from] == 8 || ins[to] == 8) {
                std::swap(from, to);
            }
            inner.push_back({from, outs[from]++, to, ins[to]++});
        }
        for (auto &e : inner) {
            job.edges.push_back(edge(e[0], e[1], e[2], e[3]));
        }
        for (uint32_t n = 0; n < count; n++) {
            while (ins[n] < 8 && extIn < 8 && (ins[n] == 0 || rng() % 3 == 0)) {
                job.edges.push_back(edge(kOutside, extIn++, n, ins[n]++));
            }
            while (outs[n] < 8 && extOut < 8 && ((outs[n] == 0 && rng() % 4 != 0) || rng() % 4 == 0)) {
                job.edges.push_back(edge(n, outs[n]++, kOutside, extOut++));
            }
        }
        std::shuffle(job.edges.begin(), job.edges.end(), rng);
        job.args.resize(64 * count);
        job.out = static_cast<uint8_t>(extOut);
        job.flags = rng() % 2 ? SCOMP_FLAG_OUT_TABLE : 0;
        for (uint32_t n = 0; n < count; n++) {
            job.args[64 * n] = static_cast<uint8_t>(rng());
            job.nodes.push_back(node(0, ins[n], outs[n], 64 * n, rng() % 2 ? 1 : 0));
        }
        uint32_t lba = 400;
        for (uint32_t p = 0; p < 1 + rng() % 3; p++) {
            Piece piece;
            std::vector<std::vector<uint8_t>> data;
            uint64_t total = 0;
            for (uint32_t s = 0; s < extIn; s++) {
                size_t n = 1 + rng() % maxBytes;
                total += n;
                if (rng() % 2) {
                    data.push_back(randomBytes(rng, rng() % 8 == 0 ? 0 : n));
                    feeds[{p, s}] = data.back();
                    piece.streams.push_back({{}, data.back().size()});
                } else {
                    uint32_t blocks = static_cast<uint32_t>((n + 4095) / 4096);
                    uint32_t at = static_cast<uint32_t>(rng() % (330 - blocks));
                    data.push_back(pattern(at, 1, blocks));
                    data.back().resize(n);
                    piece.streams.push_back({{{at, blocks}}, n});
                }
            }
            want.push_back(evaluate(data, ins, outs, extOut));
            if (job.flags) {
                for (uint32_t s = 0; s < extOut; s++) {
                    std::vector<Extent> list;
                    if (rng() % 2) {
                        uint32_t n = static_cast<uint32_t>(want[p][s].size() + 4095) / 4096;
                        for (uint32_t left = std::max(n, 1u); left > 0;) {
                            uint32_t k = 1 + rng() % left;
                            list.push_back({lba, k});
                            lba += k + rng() % 3;
                            left -= k;
                        }
                        std::shuffle(list.begin(), list.end(), rng);
                        flash[{p, s}] = list;
                    }
                    piece.outs.push_back(list);
                }
            }
            job.pieces.push_back(piece);
        }
        lbaEnd = lba;
    }
    uint32_t lbaEnd = 0;

  private:
    std::vector<std::vector<uint8_t>> evaluate(const std::vector<std::vector<uint8_t>> &external,
                                               const std::vector<uint32_t> &ins, const std::vector<uint32_t> &outs,
                                               uint32_t extOut) const {
        size_t count = ins.size();
        std::vector<std::map<uint32_t, std::vector<uint8_t>>> in(count);
        std::vector<bool> done(count);
        std::vector<std::vector<uint8_t>> result(extOut);
        for (auto &e : job.edges) {
            if (e.from_node == kOutside) {
                in[e.to_node][e.to_stream] = external[e.from_stream];
            }
        }
        for (size_t round = 0; round < count; round++) {
            for (size_t n = 0; n < count; n++) {
                if (done[n] || in[n].size() < ins[n]) {
                    continue;
                }
                done[n] = true;
                std::vector<std::vector<uint8_t>> streams;
                for (auto &[s, v] : in[n]) {
                    streams.push_back(v);
                }
                auto out = weave(streams, outs[n], job.nodes[n].args_bytes ? job.args[64 * n] : 0);
                for (auto &e : job.edges) {
                    if (e.from_node == n && e.to_node == kOutside) {
                        result[e.to_stream] = out[e.from_stream];
                    } else if (e.from_node == n) {
                        in[e.to_node][e.to_stream] = out[e.from_stream];
                    }
                }
            }
        }
        return result;
    }
};

} // namespace

TEST(pieces_random_trees) {
    Nand nand(Geometry{2, 4, 1, 1, 64, 32});
    std::mt19937 rng(seed);
    Drive d(nand, 5, seed);
    d.start();
    fill(d, 0, 352);
    CHECK_EQ(load(d, 0, kernelElf(model::kWeave)).status, kOk);
    for (uint32_t round = 0; round < 25; round++) {
        RandomTree t(rng, 5, round % 5 == 0 ? 300000 : 60000);
        CHECK(t.lbaEnd < d.capacity());
        std::map<std::pair<uint32_t, uint32_t>, std::vector<uint8_t>> old;
        for (auto &[key, list] : t.flash) {
            old[key] = readAll(d, list);
        }
        Session session(d, t.job, t.feeds);
        session.run(80'000'000);
        CHECK_EQ(session.done.status, kOk);
        CHECK_EQ(session.done.dw0, 0u);
        for (uint32_t p = 0; p < t.job.pieces.size(); p++) {
            CHECK_EQ(session.results[p].last.status, SCOMP_STATUS_OK);
            CHECK_EQ(session.results[p].nodes.size(), t.job.nodes.size());
            for (uint32_t s = 0; s < t.job.out; s++) {
                if (t.flash.count({p, s})) {
                    CHECK((readAll(d, t.flash[{p, s}]) == over(old[{p, s}], t.want[p][s])));
                } else {
                    CHECK(session.results[p].out[s] == t.want[p][s]);
                }
            }
        }
        d.freeHost();
    }
}

TEST(pieces_random_aborts) {
    Nand nand(Geometry{2, 4, 1, 1, 64, 32});
    std::mt19937 rng(seed);
    Drive d(nand, 5, seed);
    d.start();
    fill(d, 0, 352);
    for (uint32_t round = 0; round < 40; round++) {
        CHECK_EQ(load(d, 0, kernelElf(model::kWeave)).status, kOk);
        RandomTree t(rng, 5, 60000);
        std::map<std::pair<uint32_t, uint32_t>, std::vector<uint8_t>> old;
        for (auto &[key, list] : t.flash) {
            old[key] = readAll(d, list);
        }
        {
            Session session(d, t.job, t.feeds);
            uint64_t steps = rng() % 3000;
            for (uint64_t i = 0; i < steps && !session.poll(); i++) {
                d.step();
            }
            switch (rng() % 3) {
            case 0: {
                auto c = d.exec(2, abortSqe(9));
                CHECK(c.status == kOk || c.status == kBadHandle);
                if (c.status == kOk) {
                    session.run();
                }
                break;
            }
            case 1:
                d.disable();
                d.start();
                break;
            default: {
                Sqe del = Drive::sqe(0x00);
                del[10] = 1 + rng() % 2;
                CHECK_EQ(d.exec(0, del).status, kOk);
                d.disable();
                d.start();
                break;
            }
            }
        }
        /* All outputs of a piece, or none. */
        for (uint32_t p = 0; p < t.job.pieces.size(); p++) {
            uint32_t taken = 0, kept = 0;
            for (uint32_t s = 0; s < t.job.out; s++) {
                if (t.flash.count({p, s}) && !t.want[p][s].empty()) {
                    auto now = readAll(d, t.flash[{p, s}]);
                    bool is = now == over(old[{p, s}], t.want[p][s]);
                    CHECK((is || now == old[{p, s}]));
                    (is ? taken : kept)++;
                }
            }
            CHECK(taken == 0 || kept == 0);
        }
        d.disable();
        d.start();
        d.freeHost();
    }
}

TEST(pieces_power_cut) {
    for (uint32_t variant = 0; variant < 3; variant++) {
        Nand nand(Geometry{2, 2, 1, 1, 32, 32});
        std::mt19937 rng(seed * 3 + variant);
        constexpr uint32_t kSlots = 6, kBlocks = 40;
        /* Versions that every slot of blocks may hold: one, or two when power went while it was written. */
        std::vector<std::vector<uint32_t>> may(kSlots, {0});
        uint32_t version = 0;
        uint32_t cuts = 0, completed = 0;
        for (uint32_t life = 0; life < 25; life++) {
            std::optional<Drive> d;
            uint32_t slot = 0;
            try {
                d.emplace(nand, 2, static_cast<uint32_t>(rng()));
                d->start();
                for (uint32_t s = 0; s < kSlots; s++) {
                    auto now = readAll(*d, {{100 * s, kBlocks}});
                    std::erase_if(may[s], [&](uint32_t v) { return now != pattern(1000 + s, v, kBlocks); });
                    CHECK_EQ(may[s].size(), 1u);
                }
                CHECK_EQ(load(*d, 0, kernelElf(model::kCopy)).status, kOk);
                if (rng() % 5 != 0) {
                    d->dev.cutAt = d->dev.now + rng() % 900'000;
                }
                for (uint32_t i = 0; i < 6; i++) {
                    slot = rng() % kSlots;
                    version++;
                    if (rng() % 4 == 0) {
                        /* Host writes in between, which a checkpoint need not have seen. */
                        may[slot] = {};
                        auto data = pattern(1000 + slot, version, kBlocks);
                        for (uint32_t b = 0; b < kBlocks; b += 20) {
                            std::vector<uint8_t> part(data.begin() + b * 4096, data.begin() + (b + 20) * 4096);
                            CHECK_EQ(d->write(100 * slot + b, part).status, kOk);
                        }
                        may[slot] = {version};
                        continue;
                    }
                    Job j;
                    j.flags = SCOMP_FLAG_OUT_TABLE;
                    j.pieces = {Piece{{Stream{{}, kBlocks * 4096}}, {{{100 * slot, kBlocks}}}}};
                    may[slot].push_back(version);
                    Feeds feeds;
                    feeds[{0, 0}] = pattern(1000 + slot, version, kBlocks);
                    Session session(*d, j, feeds);
                    bool aborted = rng() % 4 == 0;
                    for (uint32_t n = rng() % 2000; aborted && n > 0; n--) {
                        session.poll();
                        d->step();
                    }
                    if (aborted) {
                        d->exec(2, abortSqe(9));
                    }
                    session.run();
                    CHECK(aborted || session.results[0].last.status == SCOMP_STATUS_OK);
                    if (session.results[0].last.status == SCOMP_STATUS_OK) {
                        may[slot] = {version};
                        completed++;
                    } else {
                        may[slot].pop_back();
                    }
                }
                if (rng() % 2) {
                    d->shutdown();
                }
            } catch (const model::PowerCut &) {
                d->dev.tearInFlight();
                cuts++;
                d.reset();
                if (may[slot].empty()) {
                    /* Torn by the host's own two writes: written anew. */
                    Drive fresh(nand, 2, static_cast<uint32_t>(rng()));
                    fresh.start();
                    auto data = pattern(1000 + slot, ++version, kBlocks);
                    for (uint32_t b = 0; b < kBlocks; b += 20) {
                        std::vector<uint8_t> part(data.begin() + b * 4096, data.begin() + (b + 20) * 4096);
                        CHECK_EQ(fresh.write(100 * slot + b, part).status, kOk);
                    }
                    may[slot] = {version};
                }
            }
        }
        CHECK(cuts > 3 && completed > 10);
    }
}

TEST(pieces_channel_local) {
    for (uint32_t channels : {1u, 2u, 4u}) {
        Nand nand(Geometry{channels, 2, 1, 1, 32, 32});
        Drive d(nand, channels, seed);
        d.dev.channelLocal = channels != 2;
        d.start();
        std::mt19937 rng(seed);
        fill(d, 0, 160);
        CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
        for (uint32_t round = 0; round < 6; round++) {
            for (uint32_t i = 0; i < 20; i++) {
                uint32_t lba = rng() % 160;
                CHECK_EQ(d.write(lba, pattern(lba, 1)).status, kOk);
            }
            Job j;
            j.flags = SCOMP_FLAG_CHANNEL_LOCAL;
            std::vector<Extent> list = {{100, 50}, {0, 60}, {158, 20}};
            uint32_t n = 110 + rng() % 20;
            uint32_t bytes = n * 4096 - rng() % 4096;
            for (uint32_t p = 0; p < channels; p++) {
                j.pieces.push_back(Piece{{Stream{list, bytes}}, {}});
            }
            if (n <= 110) {
                continue;
            }
            /* All pieces name the same extents. */
            auto request = encode(j);
            auto *streams = reinterpret_cast<scomp_stream *>(&request[64]);
            for (uint32_t p = 1; p < channels; p++) {
                streams[p].first_extent = 0;
            }
            uint16_t cid = submitExec(d, 9, request);
            auto r = collect(d, 9);
            CHECK_EQ(d.wait(1, cid).dw0, 0u);
            std::vector<size_t> at(channels);
            /* Every page is in exactly one piece, in order: walk through them with what the medium holds. */
            uint32_t index = 0;
            for (const Extent &e : list) {
                for (uint32_t i = 0; i < e.count && index < n; i++, index++) {
                    auto page = e.lba + i < 160 ? pattern(e.lba + i, 1) : std::vector<uint8_t>(4096);
                    page.resize(index + 1 == n ? bytes - (n - 1) * 4096 : 4096);
                    uint32_t found = 0;
                    for (uint32_t c = 0; c < channels && found == 0; c++) {
                        auto &o = r[c].out[0];
                        if (o.size() >= at[c] + page.size() &&
                            std::equal(page.begin(), page.end(), o.begin() + static_cast<long>(at[c])) &&
                            (e.lba + i < 160 || c == index % channels)) {
                            at[c] += page.size();
                            found++;
                        }
                    }
                    CHECK_EQ(found, 1u);
                }
            }
            for (uint32_t c = 0; c < channels; c++) {
                CHECK_EQ(at[c], r[c].out[0].size());
                CHECK_EQ(r[c].report.core, c);
                CHECK_EQ(r[c].report.bytes_in, at[c]);
            }
        }
        Job j;
        j.pieces.push_back(Piece{{Stream{{{0, 4}}, 4 * 4096}}, {}});
        if (d.dev.channelLocal) {
            auto c = d.wait(1, submitExec(d, 9, encode(j)));
            CHECK_EQ(c.status, kBadRequest);
            CHECK_EQ(c.dw0, 12u);
        } else {
            runJob(d, j);
        }
        j.pieces.clear();
        j.flags = SCOMP_FLAG_CHANNEL_LOCAL;
        for (uint32_t p = 0; p < channels + 1; p++) {
            j.pieces.push_back(Piece{{Stream{{{0, 4}}, 4 * 4096}}, {}});
        }
        CHECK_EQ(d.wait(1, submitExec(d, 9, encode(j))).dw0, 16u);
        if (channels > 1) {
            j.pieces.pop_back();
            auto c = d.wait(1, submitExec(d, 9, encode(j)));
            CHECK_EQ(c.status, kBadRequest);
            CHECK_EQ(c.dw0, 64u + 16u);
        }
    }
}

TEST(pieces_request_fuzz) {
    Nand nand(Geometry{2, 4, 1, 1, 64, 32});
    Drive d(nand, 4, seed);
    d.start();
    CHECK_EQ(load(d, 0, kernelElf(model::kWeave)).status, kOk);
    std::mt19937 rng(seed);
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < 400; i++) {
        RandomTree t(rng, 4, 9000);
        t.job.watchdog = 2000;
        auto r = encode(t.job);
        size_t tables = 64 + t.job.args.size();
        for (uint32_t n = rng() % 3; n > 0; n--) {
            size_t at = rng() % 3 == 0 ? rng() % 64 : tables + rng() % (r.size() - tables);
            r[at] = static_cast<uint8_t>(rng() % 2 ? 0xff : rng() % 16);
        }
        uint16_t cid = submitExec(d, 1, r);
        for (auto &[key, data] : t.feeds) {
            uint32_t n = static_cast<uint32_t>(std::min<size_t>(data.size(), 4096));
            if (n > 0) {
                d.submit(1, feedSqe(d.buffer(n), 1, key.first, key.second));
            }
        }
        std::optional<model::Completion> c;
        for (uint32_t k = 0; k < 3000 && !c; k++) {
            d.step();
            c = d.take(1, cid);
        }
        if (!c || c->status == kOk) {
            accepted++;
            if (rng() % 2) {
                d.exec(2, abortSqe(1));
            }
            auto s = d.exec(2, readSqe(d.buffer(65536), 1));
            while (s.status == kOk && s.dw0 >> 31 == 0) {
                s = d.exec(2, readSqe(d.buffer(65536), 1));
            }
            if (!c) {
                c = d.wait(1, cid);
            }
            CHECK_EQ(c->status, kOk);
        }
        d.freeHost();
    }
    CHECK(accepted > 30);
}
