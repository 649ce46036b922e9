// SPDX-License-Identifier: BSD-3-Clause
/* What offloads may do to others: how long one holds up host reads, what it finds of another's data, whose pages it
 * gets. */
#include "tests/scomp.h"

#include <algorithm>

using namespace harness;
using namespace scomp;
using model::Geometry;
using model::Nand;

namespace {

/** Cycles that a host read waits, at most, for an offload that does not take its pages. */
constexpr uint64_t kHeldUp = 65536;

/** Where block `lba` lies. */
uint32_t place(const Nand &nand, uint32_t lba) {
    for (const auto &[key, page] : nand.pages()) {
        if (page.oob0 == lba) {
            return key;
        }
    }
    throw Failure("block " + std::to_string(lba) + " is not on the medium");
}

Job reader(uint32_t blocks, uint32_t pieces = 1) {
    Job j;
    for (uint32_t p = 0; p < pieces; p++) {
        j.pieces.push_back(Piece{{Stream{{{0, blocks}}, blocks * 4096}}, {}});
    }
    return j;
}

/** CHANNEL_LOCAL: all pieces name the same extents. */
std::vector<uint8_t> local(Job j) {
    j.flags = SCOMP_FLAG_CHANNEL_LOCAL;
    auto request = encode(j);
    auto *streams = reinterpret_cast<scomp_stream *>(&request[sizeof(scomp_request) + j.args.size()]);
    for (uint32_t p = 1; p < j.pieces.size(); p++) {
        streams[p].first_extent = 0;
    }
    return request;
}

std::vector<uint8_t> kernel(uint32_t id) {
    scomp_kernel k{};
    k.magic = SCOMP_KERNEL_MAGIC;
    k.version = 1;
    k.inputs = 1;
    k.id = id;
    std::vector<uint8_t> v(sizeof k);
    std::memcpy(v.data(), &k, sizeof k);
    return v;
}

/** 64 reads of one block at once; the longest time one took. */
uint64_t longestRead(Drive &d) {
    uint64_t begin = d.dev.now, longest = 0;
    std::vector<uint16_t> cids;
    for (uint32_t i = 0; i < 64; i++) {
        Sqe s = Drive::sqe(0x02, 1);
        Drive::setPrp(s, d.buffer(4096));
        s[10] = 256 + i;
        cids.push_back(d.submit(2, s));
    }
    d.run([&] {
        std::erase_if(cids, [&](uint16_t cid) {
            auto c = d.take(2, cid);
            if (c) {
                CHECK_EQ(c->status, kOk);
                longest = std::max(longest, d.dev.now - begin);
            }
            return c.has_value();
        });
        return cids.empty();
    });
    return longest;
}

void stallBeside(Drive &d, const std::vector<uint8_t> &function, const std::vector<uint8_t> &request) {
    d.start();
    fill(d, 0, 512);
    CHECK_EQ(load(d, 0, function).status, kOk);
    uint64_t alone = longestRead(d);
    submitExec(d, 9, request);
    d.run([&] { return d.dev.streamPagesHeld >= 3; });
    for (uint32_t round = 0; round < 3; round++) {
        CHECK(longestRead(d) < alone + kHeldUp);
    }
    d.disable();
}

} // namespace

TEST(neighbours_stalled_offload) {
    Nand nand(Geometry{4, 4, 1, 1, 16, 32});
    for (uint32_t cores : {1u, 4u}) {
        Drive d(nand, cores, seed);
        Job j = reader(512, cores);
        j.watchdog = 1'000'000;
        stallBeside(d, kernelElf(model::kStall), encode(j));
    }
}

/** A function of two streams, the longer of which is read ahead of its ring. */
TEST(neighbours_stalled_streams) {
    Nand nand(Geometry{4, 4, 1, 1, 16, 32});
    for (uint32_t cores : {1u, 4u}) {
        Drive d(nand, cores, seed);
        Job j;
        for (uint32_t p = 0; p < cores; p++) {
            j.pieces.push_back(Piece{{Stream{{{0, 400}}, 400 * 4096}, Stream{{{400, 112}}, 112 * 4096}}, {}});
        }
        j.watchdog = 1'000'000;
        stallBeside(d, kernelElf(model::kStall), encode(j));
    }
}

TEST(neighbours_stalled_local_offload) {
    Nand nand(Geometry{4, 4, 1, 1, 16, 32});
    Drive d(nand, 4, seed);
    d.dev.channelLocal = true;
    Job j = reader(512, 4);
    j.watchdog = 1'000'000;
    stallBeside(d, kernelElf(model::kStall), local(j));
}

TEST(neighbours_stalled_kernel) {
    Nand nand(Geometry{4, 4, 1, 1, 16, 32});
    Drive d(nand, 1, seed, 0, {{7, model::kStall, 1}});
    Job j = reader(512);
    j.watchdog = 1'000'000;
    stallBeside(d, kernel(7), encode(j));
}

/** How long host reads wait beside an offload that loops, one that takes all it can get, and one that stops reading. */
TEST(neighbours_host_reads) {
    for (auto [what, kernel] :
         {std::pair{"loops for ever", model::kLoop}, std::pair{"reads at full speed", model::kCount},
          std::pair{"stops reading", model::kStall}}) {
        Nand nand(Geometry{4, 4, 1, 1, 16, 32});
        Drive d(nand, 4, seed);
        d.start();
        fill(d, 0, 512);
        CHECK_EQ(load(d, 0, kernelElf(kernel)).status, kOk);
        uint64_t alone = longestRead(d), longest = 0;
        Job j = reader(512, 64);
        j.watchdog = SCOMP_WATCHDOG_MAX_KCYCLES;
        uint16_t cid = submitExec(d, 9, encode(j));
        uint64_t pages = d.dev.now + 100'000;
        d.run([&] { return d.dev.now >= pages || d.asleep(); });
        for (uint32_t round = 0; round < 8; round++) {
            longest = std::max(longest, longestRead(d));
        }
        CHECK(!d.take(1, cid).has_value());
        std::printf("    beside an offload that %s: 64 host reads in at most %llu cycles, alone in %llu\n", what,
                    static_cast<unsigned long long>(longest), static_cast<unsigned long long>(alone));
        CHECK(longest < alone + kHeldUp);
        d.disable();
    }
}

namespace {

/** Extents of the largest request: the rest of it takes the place of eight. */
constexpr uint32_t kExtents = (128u << 10) / sizeof(scomp_extent) - 8;

/** One stream of `n` blocks from the drive's last ones down. */
Job downwards(uint32_t n) {
    Job j = reader(1);
    j.pieces[0].streams[0] = {{}, n * 4096ull};
    for (uint32_t i = 0; i < n; i++) {
        j.pieces[0].streams[0].extents.push_back({2 * (n - i), 1});
    }
    return j;
}

} // namespace

/** The check of the longest tables does not hold up host reads: of extents out of order, of a session that may touch
 * eight ranges, and beside outputs under logical blocks. Each is refused for what is looked at last. */
TEST(neighbours_long_tables) {
    Nand nand(Geometry{4, 4, 1, 1, 48, 64});
    Drive d(nand, 4, seed);
    d.start();
    fill(d, 0, 512);
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
    uint64_t alone = longestRead(d);
    auto measure = [&](const char *what, const Job &j, uint16_t status) {
        uint64_t longest = 0, begin = d.dev.now;
        uint16_t cid = submitExec(d, 9, encode(j));
        std::optional<model::Completion> c;
        while (!(c = d.take(1, cid))) {
            longest = std::max(longest, longestRead(d));
        }
        std::printf("    %s: %llu cycles, 64 host reads in at most %llu, alone in %llu\n", what,
                    static_cast<unsigned long long>(d.dev.now - begin), static_cast<unsigned long long>(longest),
                    static_cast<unsigned long long>(alone));
        CHECK_EQ(c->status, status);
        CHECK(longest < alone + kHeldUp);
        return c->dw0;
    };
    /* The lowest two overlap: they leave the heap last. */
    Job j = downwards(kExtents);
    auto &extents = j.pieces[0].streams[0].extents;
    extents.back() = extents[kExtents - 2];
    measure("extents out of order", j, kOverlap);

    Job outputs;
    outputs.flags = SCOMP_FLAG_OUT_TABLE;
    for (uint32_t p = 0; p < 20; p++) {
        Piece piece{{Stream{{}, 300 * 4096}}, {{}}};
        for (uint32_t i = 0; i < 300; i++) {
            piece.streams[0].extents.push_back({2 * (p * 300 + i), 1});
        }
        for (uint32_t i = 0; i < 100; i++) {
            piece.outs[0].push_back({2 * ((19 - p) * 100 + 99 - i) + 1, 1});
        }
        outputs.pieces.push_back(piece);
    }
    outputs.pieces[19].streams[0].extents[299].count = 2;
    outputs.pieces[0].outs[0][0].lba = 2 * (19 * 300 + 299) + 1;
    measure("inputs beside outputs", outputs, kOverlap);

    /* Eight ranges, of which the last ones looked at have the blocks: but for the last extent's. */
    scomp_access a{};
    a.limited = 1;
    a.count = SCOMP_ACCESS_RANGES;
    uint32_t part = 2 * kExtents / SCOMP_ACCESS_RANGES;
    for (uint32_t i = 0; i < SCOMP_ACCESS_RANGES; i++) {
        a.lba[i] = (SCOMP_ACCESS_RANGES - 1 - i) * part;
        a.blocks[i] = part - (i == 0);
        a.rights[i] = SCOMP_ACCESS_READ;
    }
    Buffer b = d.buffer(sizeof a);
    d.put(b, reinterpret_cast<const uint8_t *>(&a));
    Sqe s = Drive::sqe(SCOMP_OPCODE_ADMIN_ACCESS);
    Drive::setPrp(s, b);
    s[10] = d.owner.number;
    s[11] = sizeof a;
    CHECK_EQ(d.exec(0, s).status, kOk);
    Job limited = reader(1);
    limited.pieces[0].streams[0] = {{}, (kExtents + 1) * 4096ull};
    for (uint32_t i = 0; i < kExtents; i++) {
        limited.pieces[0].streams[0].extents.push_back({2 * i, i + 1 < kExtents ? 1u : 2u});
    }
    CHECK_EQ(measure("a session with ranges", limited, kNoAccess), a.lba[0] + a.blocks[0]);
}

/** Nobody reads the results of a function that runs ahead of its ring. */
TEST(neighbours_unread_results) {
    Nand nand(Geometry{4, 4, 1, 1, 16, 32});
    Drive d(nand, 1, seed);
    Job j = reader(512);
    j.watchdog = SCOMP_WATCHDOG_MAX_KCYCLES;
    stallBeside(d, kernelElf(model::kExpand), encode(j));
}

/** A function that is slower than what is read ahead gets every page once, whatever was recalled and written since. */
TEST(neighbours_recalled_pages) {
    Nand nand(Geometry{4, 4, 1, 1, 16, 32});
    for (uint32_t kind = 0; kind < 2; kind++) {
        Drive d(nand, 4, seed);
        d.dev.channelLocal = kind == 1;
        d.start();
        fill(d, 0, 512);
        CHECK_EQ(load(d, 0, kernelElf(model::kSlow)).status, kOk);
        Job j = reader(64 * 4 - 1, kind == 1 ? 4 : 1);
        uint16_t cid = submitExec(d, 9, d.dev.channelLocal ? local(j) : encode(j));
        while (!d.take(1, cid)) {
            longestRead(d);
        }
        CHECK(d.dev.streamPagesDropped > 0);
        auto r = collect(d, 9);
        uint32_t bytes = 0, sum = 0;
        for (auto &[p, piece] : r) {
            CHECK_EQ(piece.last.status, SCOMP_STATUS_OK);
            bytes += word(piece.out[0], 0);
            sum += word(piece.out[0], 4);
        }
        auto in = pattern(0, 1, 255);
        auto [n, expected] = countSum(in, in.size());
        CHECK_EQ(bytes, n);
        CHECK_EQ(sum, expected);
    }
}

TEST(neighbours_misdirected_page) {
    for (uint32_t kind = 0; kind < 4; kind++) {
        /* The packages decode the address wrongly, or the map names another block's page. */
        bool package = kind / 2 == 0;
        Nand nand(Geometry{4, 4, 1, 1, 16, 32});
        /* With parity such pages are rebuilt. */
        Drive d(nand, 4, seed, 0, {}, {}, {}, UINT64_MAX, {0, IDENTITY_FLAG_PARITY_OFF});
        d.dev.channelLocal = kind % 2 == 1;
        d.start();
        fill(d, 0, 64);
        CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
        auto run = [&](Job j) {
            uint16_t cid = submitExec(d, 9, d.dev.channelLocal ? local(j) : encode(j));
            auto r = collect(d, 9);
            CHECK_EQ(d.wait(1, cid).status, kOk);
            return r;
        };
        uint32_t pieces = d.dev.channelLocal ? 4 : 1;
        for (auto &[p, piece] : run(reader(64, pieces))) {
            CHECK_EQ(piece.last.status, SCOMP_STATUS_OK);
        }
        /* Two pages of the stream change places: the map and the sum of all bytes would not tell. */
        uint32_t a = place(nand, 10), b = place(nand, 37);
        auto exchange = [&, one = nand.page(a), other = nand.page(b)](bool back) {
            nand.put(a, back ? one : other);
            nand.put(b, back ? other : one);
        };
        if (package) {
            d.dev.misdirected = {{a, b}, {b, a}};
        } else {
            exchange(false);
        }
        uint32_t failed = 0;
        for (auto &[p, piece] : run(reader(64, pieces))) {
            if (piece.last.status != SCOMP_STATUS_OK) {
                CHECK_EQ(piece.last.status, SCOMP_STATUS_MEDIA);
                CHECK_EQ(piece.last.cause, package ? FLASH_STATUS_MISMATCH : FLASH_STATUS_MISDIRECTED);
                CHECK(piece.last.tval == 10 || piece.last.tval == 37);
                failed++;
            }
        }
        CHECK(failed > 0);
        d.dev.misdirected.clear();
        exchange(true);
        for (auto &[p, piece] : run(reader(64, pieces))) {
            CHECK_EQ(piece.last.status, SCOMP_STATUS_OK);
        }
        d.disable();
    }
}

/** CHANNEL_LOCAL requests run one behind the other whatever the log is busy with when one gives up its pages. */
TEST(neighbours_local_beside_flushes) {
    Nand nand(Geometry{4, 4, 1, 1, 16, 32});
    Drive d(nand, 4, seed);
    d.dev.channelLocal = true;
    d.start();
    fill(d, 0, 64);
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
    for (uint32_t i = 0; i < 16; i++) {
        uint16_t request = submitExec(d, 9, local(reader(64, 4)));
        CHECK_EQ(d.wait(1, request).status, kOk);
        std::vector<uint16_t> cids;
        for (uint32_t k = 0; k < 24; k++) {
            Sqe s = Drive::sqe(k % 2 == 0 ? 0x01 : 0x00, 1);
            Drive::setPrp(s, d.buffer(4096));
            s[10] = 64 + k;
            cids.push_back(d.submit(2, s));
        }
        /* The end of the results is also the request's. */
        collect(d, 9);
        request = submitExec(d, 9, local(reader(64, 4)));
        CHECK_EQ(d.wait(1, request).status, kOk);
        collect(d, 9);
        for (uint16_t cid : cids) {
            CHECK_EQ(d.wait(2, cid).status, kOk);
        }
    }
}

/** Another function finds zeros wherever it has put nothing, on every memory architecture. */
TEST(neighbours_memories_are_wiped) {
    for (uint32_t arch : {CORE_ARCH_SB, CORE_ARCH_SP, CORE_ARCH_BASELINE, CORE_ARCH_PREFETCH, CORE_ARCH_SB_CACHE}) {
        Nand nand(Geometry{});
        Drive d(nand, 2, seed);
        d.dev.arch = arch;
        d.start();
        fill(d, 0, 64);
        /* The long code of one function, and the input rings, hold what the next must not see. */
        std::vector<uint8_t> code(0x4000, 0x77);
        uint32_t first = model::kDump;
        std::memcpy(code.data(), &first, 4);
        CHECK_EQ(load(d, 0, elf({{0, code, 0x4000}})).status, kOk);
        Job j = reader(32, 2);
        j.args.assign(4096, 0x5e);
        runJob(d, j);
        for (uint32_t c = 0; c < 2; c++) {
            d.dev.dramWrite(ASSASIN_DRAM_TILES_BASE + c * ASSASIN_DRAM_TILES_STRIDE + 0x28000, 0x5e5e5e5e);
            d.dev.dramWrite(ASSASIN_DRAM_TILES_BASE + (c + 1) * ASSASIN_DRAM_TILES_STRIDE - 4, 0x5e5e5e5e);
        }
        CHECK_EQ(load(d, 1, kernelElf(model::kDump)).status, kOk);
        j = reader(1, 2);
        j.func = 1;
        auto r = runJob(d, j);
        bool in_dram = arch == CORE_ARCH_BASELINE || arch == CORE_ARCH_PREFETCH;
        for (uint32_t c = 0; c < 2; c++) {
            auto &dump = r[c].out[0];
            CHECK_EQ(dump.size(), 0x10000u);
            /* Behind the task: nothing but the function's own 45 bytes. The model's scratchpad is not in DRAM. */
            for (size_t i = SCOMP_SPAD_ARGS; i < dump.size() && !in_dram; i++) {
                size_t own = i - SCOMP_SPAD_DATA;
                CHECK_EQ(static_cast<uint32_t>(dump[i]), own < 45 ? own + 1 : 0);
            }
            auto &core = d.dev.cores[c];
            CHECK(std::all_of(core.imem.begin() + 32, core.imem.end(), [](uint8_t b) { return b == 0; }));
            if (arch == CORE_ARCH_SP) {
                auto &ring = core.in[0].ring;
                CHECK(std::all_of(ring.begin() + 4096, ring.end(), [](uint8_t b) { return b == 0; }));
            }
            if (in_dram || arch == CORE_ARCH_SB_CACHE) {
                uint32_t tile = ASSASIN_DRAM_TILES_BASE + c * ASSASIN_DRAM_TILES_STRIDE;
                CHECK_EQ(d.dev.dramRead(tile + 0x28000), 0u);
                CHECK_EQ(d.dev.dramRead(tile + ASSASIN_DRAM_TILES_STRIDE - 4), 0u);
            }
        }
    }
}

/** What lies between the end of a chunk's data and the next chunk is zeros, not what somebody's results were. */
TEST(neighbours_padding_of_results) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 0, 64);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    for (uint32_t bytes = 1; bytes < 200; bytes += 3) {
        Job j;
        j.pieces = {{{{{{bytes % 60, 1}}, bytes}}}};
        uint16_t cid = submitExec(d, 9, encode(j));
        CHECK_EQ(d.wait(1, cid).status, kOk);
        Buffer b = d.buffer(8192);
        CHECK_EQ(d.exec(2, readSqe(b, 9)).status, kOk);
        auto got = d.get(b);
        for (uint32_t i = bytes; i < (bytes + 63) / 64 * 64; i++) {
            CHECK_EQ(static_cast<uint32_t>(got[sizeof(scomp_chunk) + i]), 0u);
        }
    }
}

/** A read of results that its host gives up leaves its place to others. */
TEST(neighbours_aborted_reads) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 0, 8);
    CHECK_EQ(load(d, 0, kernelElf(model::kLoop)).status, kOk);
    /* The watchdog may end it between a look and the abort, which then finds no report: let it be late. */
    Job job = reader(1);
    job.watchdog = SCOMP_WATCHDOG_MAX_KCYCLES;
    uint16_t running = submitExec(d, 7, encode(job));
    /* More than may wait at a time. */
    for (uint32_t aborted = 0; aborted < 40;) {
        uint16_t cid = d.submit(2, readSqe(d.buffer(8192), 7));
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(0, 1, &got).status, kOk);
        Sqe abort = Drive::sqe(0x08);
        abort[10] = 2 | static_cast<uint32_t>(cid) << 16;
        bool wasAborted = d.exec(0, abort).dw0 == 0;
        CHECK_EQ(d.wait(2, cid).status, wasAborted ? kAborted : kOk);
        aborted += wasAborted;
        if (!wasAborted) {
            /* The watchdog came first: the read has had the report. */
            CHECK_EQ(d.wait(1, running).status, kOk);
            running = submitExec(d, 7, encode(job));
        }
    }
    CHECK_EQ(d.exec(1, abortSqe(7)).status, kOk);
    CHECK_EQ(d.wait(1, running).status, kOk);
    collect(d, 7);
}
