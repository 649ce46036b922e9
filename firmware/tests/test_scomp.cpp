// SPDX-License-Identifier: BSD-3-Clause
/* Stream functions: loading, running, results, errors. */
#include "tests/scomp.h"

#include <algorithm>

using namespace harness;
using namespace scomp;
using model::Geometry;
using model::Nand;

TEST(scomp_count) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 200);
    CHECK_EQ(load(d, 3, kernelElf(model::kCount)).status, kOk);
    Job j;
    j.func = 3;
    for (uint32_t p = 0; p < 5; p++) {
        j.pieces.push_back({{{{{p * 40, 17}, {p * 40 + 20, 20}}, 37 * 4096 - 1000 * p - 1}}});
    }
    uint32_t failed = 1;
    j.version = 1;
    runJob(d, j, &failed);
    CHECK_EQ(failed, 0u);
    j.version = 2;
    auto r = runJob(d, j, &failed);
    CHECK_EQ(failed, 0u);
    for (uint32_t p = 0; p < 5; p++) {
        auto in = pattern(p * 40, 1, 17);
        auto b = pattern(p * 40 + 20, 1, 20);
        in.insert(in.end(), b.begin(), b.end());
        auto [n, sum] = countSum(in, 37 * 4096 - 1000 * p - 1);
        CHECK_EQ(r[p].last.status, SCOMP_STATUS_OK);
        CHECK_EQ(word(r[p].out[0], 0), n);
        CHECK_EQ(word(r[p].out[0], 4), sum);
        CHECK_EQ(r[p].report.bytes_in, n);
        CHECK_EQ(r[p].report.bytes_out, 8u);
        CHECK_EQ(r[p].report.pages, 37u);
        CHECK(r[p].report.t_start < r[p].report.t_end);
        CHECK(r[p].report.t_first_page > 0 && r[p].report.t_first_page <= r[p].report.t_last_page);
    }
    /* The handle is free again. */
    CHECK_EQ(d.exec(1,
                    [] {
                        auto s = Drive::sqe(0xc0, 1);
                        s[10] = 9;
                        return s;
                    }())
                 .status,
             kBadHandle);
}

TEST(scomp_loads_everything) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    for (uint32_t align : {64u, 4u, 1u, 63u}) {
        CHECK_EQ(load(d, 0, kernelElf(model::kEcho, align)).status, kOk);
        Job j;
        j.args.resize(4096 - align);
        for (size_t i = 0; i < j.args.size(); i++) {
            j.args[i] = static_cast<uint8_t>(i * 7 + align);
        }
        j.pieces = {{{{{{7, 1}}, 100}}}, {{{{{8, 1}}, 4096}}}};
        auto r = runJob(d, j);
        for (uint32_t p = 0; p < 2; p++) {
            auto &o = r[p].out[0];
            CHECK_EQ(o.size(), 64 + j.args.size() + 128);
            scomp_task t;
            std::memcpy(&t, o.data(), sizeof t);
            CHECK_EQ(t.piece, p);
            CHECK_EQ(t.pieces, 2u);
            CHECK_EQ(t.args_bytes, j.args.size());
            CHECK_EQ(t.streams_in, 1u);
            CHECK_EQ(t.streams_out, 1u);
            CHECK_EQ(t.bytes[0], p == 0 ? 100u : 4096u);
            CHECK(std::equal(j.args.begin(), j.args.end(), o.begin() + 64));
            for (uint32_t i = 0; i < 64; i++) {
                CHECK_EQ(o[64 + j.args.size() + i], i < 45 ? i + 1 : 0);
                CHECK_EQ(o[64 + j.args.size() + 64 + i], 0);
            }
        }
    }
}

TEST(scomp_streams) {
    Nand nand(Geometry{});
    Drive d(nand, 3, seed);
    d.start();
    fill(d, 0, 320);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    CHECK_EQ(load(d, 1, kernelElf(model::kMerge)).status, kOk);
    CHECK_EQ(load(d, 2, kernelElf(model::kSkew)).status, kOk);
    for (uint32_t n : {1u, 2u, 3u, 4u, 8u}) {
        Job j;
        j.out = static_cast<uint8_t>(n);
        for (uint32_t p = 0; p < 4; p++) {
            Piece piece;
            for (uint32_t s = 0; s < n; s++) {
                uint32_t lba = p * 80 + s * 10;
                piece.streams.push_back({{{lba, 9}}, 9 * 4096 - 13 * s});
            }
            j.pieces.push_back(piece);
        }
        auto r = runJob(d, j);
        for (uint32_t p = 0; p < 4; p++) {
            for (uint32_t s = 0; s < n; s++) {
                auto in = pattern(p * 80 + s * 10, 1, 9);
                in.resize(9 * 4096 - 13 * s);
                CHECK(r[p].out[s] == in);
            }
        }
        /* One output, all streams at one pace, then one stream after the other: that needs the others' pages to stay
         * out of the way. */
        for (uint16_t f : {1, 2}) {
            j.func = f;
            j.out = 1;
            auto m = runJob(d, j);
            for (uint32_t p = 0; p < 4; p++) {
                CHECK_EQ(m[p].last.status, SCOMP_STATUS_OK);
                if (f == 2) {
                    auto [cnt, sum] = countSum(pattern(p * 80 + (n - 1) * 10, 1, 9), 9 * 4096 - 13 * (n - 1));
                    CHECK_EQ(word(m[p].out[0], 8 * (n - 1)), cnt);
                    CHECK_EQ(word(m[p].out[0], 8 * (n - 1) + 4), sum);
                }
            }
        }
    }
}

/** Streams of one piece that differ in length are read ahead of their rings. That must cost no function a page, nor its
 * end: those that take their streams in proportion, and those that leave some alone for long. */
TEST(scomp_uneven_streams) {
    for (uint32_t kernel : {model::kPace, model::kCount, model::kSlow, model::kSkew, model::kLurch}) {
        std::mt19937 random(seed + kernel);
        Nand nand(Geometry{4, 2, 1, 1, 48, 32});
        Drive d(nand, 3, seed);
        d.start();
        fill(d, 0, 700);
        CHECK_EQ(load(d, 0, kernelElf(kernel)).status, kOk);
        for (uint32_t round = 0; round < 3; round++) {
            Job j;
            j.out = 1;
            uint32_t n = 2 + static_cast<uint32_t>(random() % 4);
            for (uint32_t p = 0; p < 4; p++) {
                Piece piece;
                for (uint32_t s = 0; s < n; s++) {
                    /* The last round has one long stream, which is where reads go ahead the furthest. */
                    uint32_t pages = round == 2 ? (s == p % n ? 96 : 16) : 1 + static_cast<uint32_t>(random() % 64);
                    uint32_t cut = static_cast<uint32_t>(random() % 4096);
                    piece.streams.push_back(
                        {{{static_cast<uint32_t>(random() % (700 - pages)), pages}}, pages * 4096 - cut});
                }
                j.pieces.push_back(piece);
            }
            uint64_t held = d.dev.streamPagesHeld;
            auto r = runJob(d, j);
            for (uint32_t p = 0; p < 4; p++) {
                CHECK_EQ(r[p].last.status, SCOMP_STATUS_OK);
                for (uint32_t s = 0; s < n; s++) {
                    const auto &in = j.pieces[p].streams[s];
                    auto [count, sum] = countSum(pattern(in.extents[0].lba, 1, in.extents[0].count), in.bytes);
                    CHECK_EQ(word(r[p].out[0], 8 * s), count);
                    CHECK_EQ(word(r[p].out[0], 8 * s + 4), sum);
                }
            }
            /* Pages that lack room wait in the dies. */
            CHECK(round < 2 || kernel != model::kSlow || d.dev.streamPagesHeld > held);
        }
        CHECK(kernel != model::kLurch || d.dev.streamPagesDropped > 0);
        CHECK(kernel != model::kPace || d.dev.streamPagesDropped == 0);
    }
}

TEST(scomp_never_written) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 64, 16);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    CHECK_EQ(load(d, 1, kernelElf(model::kSlow)).status, kOk);
    Job j;
    j.pieces = {{{{{{0, 200}}, 200 * 4096 - 5}}}, {{{{{300, 50}}, 50 * 4096}}}};
    auto r = runJob(d, j);
    std::vector<uint8_t> want(200 * 4096);
    auto mid = pattern(64, 1, 16);
    std::copy(mid.begin(), mid.end(), want.begin() + 64 * 4096);
    want.resize(200 * 4096 - 5);
    CHECK(r[0].out[0] == want);
    CHECK(r[1].out[0] == std::vector<uint8_t>(50 * 4096));
    j.func = 1;
    r = runJob(d, j);
    CHECK_EQ(word(r[0].out[0], 0), 200u * 4096 - 5);
}

TEST(scomp_failures) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 128);
    struct {
        uint32_t kernel, status, bytes;
    } cases[] = {{model::kTrap, SCOMP_STATUS_TRAP, 5000},  {model::kExit7, SCOMP_STATUS_EXIT_CODE, 0},
                 {model::kLoop, SCOMP_STATUS_WATCHDOG, 0}, {model::kHang, SCOMP_STATUS_OK, 100 * 4096},
                 {model::kStop, SCOMP_STATUS_OK, 5000},    {0x13, SCOMP_STATUS_TRAP, 0}};
    for (auto &c : cases) {
        CHECK_EQ(load(d, 0, kernelElf(c.kernel)).status, kOk);
        Job j;
        j.watchdog = c.kernel == model::kLoop ? 200 : 0;
        for (uint32_t p = 0; p < 5; p++) {
            j.pieces.push_back({{{{{0, 100}}, 100 * 4096}}});
        }
        uint32_t failed = 99;
        auto r = runJob(d, j, &failed);
        CHECK_EQ(failed, c.status == SCOMP_STATUS_OK ? 0u : 5u);
        for (uint32_t p = 0; p < 5; p++) {
            CHECK_EQ(r[p].last.status, c.status);
            CHECK_EQ(r[p].report.bytes_in, c.bytes);
            if (c.kernel == model::kTrap) {
                CHECK_EQ(r[p].last.cause, 2u);
                CHECK_EQ(r[p].last.pc, 8u);
                CHECK_EQ(r[p].last.tval, 0xdeadbeefu);
            }
            if (c.kernel == model::kExit7) {
                CHECK_EQ(r[p].last.exit_code, 7u);
            }
        }
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(3, 32, &got).status, kOk);
        CHECK(got == pattern(3, 1, 32));
    }
    /* The cores still work. */
    CHECK_EQ(load(d, 1, kernelElf(model::kCount)).status, kOk);
    Job j;
    j.func = 1;
    j.pieces = {{{{{{0, 100}}, 100 * 4096}}}, {{{{{0, 100}}, 100 * 4096}}}, {{{{{0, 100}}, 100 * 4096}}}};
    uint32_t failed = 99;
    auto r = runJob(d, j, &failed);
    CHECK_EQ(failed, 0u);
    CHECK_EQ(word(r[2].out[0], 0), 100u * 4096);
    CHECK_EQ(word(r[2].out[0], 4), countSum(pattern(0, 1, 100), 409600).second);
}

TEST(scomp_media_error) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 128);
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
    d.dev.faults.read = 0.02;
    Job j;
    for (uint32_t p = 0; p < 8; p++) {
        j.pieces.push_back({{{{{0, 128}}, 128 * 4096}}});
    }
    /* Errors that come and go cost no piece its end. */
    uint32_t failed = 9;
    auto r = runJob(d, j, &failed);
    CHECK_EQ(failed, 0u);
    for (uint32_t p = 0; p < 8; p++) {
        CHECK_EQ(word(r[p].out[0], 0), 128u * 4096);
    }
    /* Those that stay do. */
    d.dev.faults.read = 1;
    r = runJob(d, j, &failed);
    CHECK_EQ(failed, 8u);
    for (uint32_t p = 0; p < 8; p++) {
        CHECK_EQ(r[p].last.status, SCOMP_STATUS_MEDIA);
    }
}

TEST(scomp_default_watchdog) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 0, 4);
    CHECK_EQ(load(d, 0, kernelElf(model::kLoop)).status, kOk);
    Job j;
    j.watchdog = 0;
    j.pieces = {{{{{{0, 4}}, 4 * 4096}}}};
    auto r = runJob(d, j);
    CHECK_EQ(r[0].last.status, SCOMP_STATUS_WATCHDOG);
    uint64_t limit = SCOMP_WATCHDOG_KCYCLES * 1000ull;
    CHECK_EQ(limit, 100'000'000u);
    uint64_t ran = r[0].report.t_end - r[0].report.t_start;
    CHECK(ran >= limit && ran < limit + limit / 100);
}

TEST(scomp_back_pressure) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 320);
    CHECK_EQ(load(d, 0, kernelElf(model::kExpand)).status, kOk);
    Job j;
    j.watchdog = SCOMP_WATCHDOG_MAX_KCYCLES;
    j.pieces = {{{{{{0, 320}}, 320 * 4096}}}, {{{{{0, 320}}, 320 * 4096}}}};
    uint16_t cid = submitExec(d, 9, encode(j));
    /* Nobody reads: the cores fill the results and stop; the drive goes on serving. */
    d.run([&] { return d.dev.now > 30'000'000; });
    CHECK(!d.take(1, cid).has_value());
    std::vector<uint8_t> got;
    for (uint32_t i = 0; i < 320; i += 32) {
        CHECK_EQ(d.read(i, 32, &got).status, kOk);
        CHECK(got == pattern(i, 1, 32));
    }
    auto r = collect(d, 9, 8192);
    CHECK_EQ(d.wait(1, cid).dw0, 0u);
    auto in = pattern(0, 1, 320);
    for (uint32_t p = 0; p < 2; p++) {
        CHECK_EQ(r[p].out[0].size(), in.size() * 8);
        for (size_t i = 0; i < in.size(); i++) {
            CHECK(r[p].out[0][i * 8] == in[i] && r[p].out[0][i * 8 + 7] == in[i]);
        }
    }
}

TEST(scomp_abort) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 128);
    auto abortSqe = [](uint32_t handle) {
        auto s = Drive::sqe(0xc0, 1);
        s[10] = handle;
        return s;
    };
    for (uint32_t kernel : {model::kLoop, model::kSlow, model::kExpand}) {
        CHECK_EQ(load(d, 0, kernelElf(kernel)).status, kOk);
        for (uint32_t delay : {0u, 50u, 3000u}) {
            Job j;
            for (uint32_t p = 0; p < 6; p++) {
                j.pieces.push_back({{{{{0, 128}}, 128 * 4096}}});
            }
            uint16_t cid = submitExec(d, 5, encode(j));
            for (uint32_t i = 0; i < delay + 100; i++) {
                d.step();
            }
            auto c = d.exec(2, abortSqe(5));
            CHECK_EQ(c.status, kOk);
            auto done = d.wait(1, cid);
            CHECK_EQ(done.status, kOk);
            auto r = collect(d, 5);
            uint32_t failed = 0;
            for (auto &[p, x] : r) {
                failed += x.last.status != SCOMP_STATUS_OK;
            }
            CHECK_EQ(r.size(), 6u);
            CHECK_EQ(done.dw0, failed);
        }
    }
    /* Abort of an ended request drops its results. */
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
    Job j;
    j.pieces = {{{{{{0, 10}}, 40960}}}};
    uint16_t cid = submitExec(d, 5, encode(j));
    d.wait(1, cid);
    CHECK_EQ(d.exec(2, abortSqe(5)).status, kOk);
    CHECK_EQ(d.exec(2, abortSqe(5)).status, kBadHandle);
}

TEST(scomp_reset_and_queue_deletion) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    for (uint32_t round = 0; round < 30; round++) {
        d.start();
        if (round == 0) {
            fill(d, 0, 128);
        }
        CHECK_EQ(load(d, 0,
                      kernelElf(round % 3 == 0   ? model::kLoop
                                : round % 3 == 1 ? model::kExpand
                                                 : model::kSlow))
                     .status,
                 kOk);
        Job j;
        for (uint32_t p = 0; p < 4; p++) {
            j.pieces.push_back({{{{{0, 128}}, 128 * 4096}}});
        }
        submitExec(d, 5, encode(j), 1);
        submitExec(d, 6, encode(j), 2);
        for (uint32_t i = 0; i < round * 37; i++) {
            d.step();
        }
        Buffer b = d.buffer(65536);
        Sqe s = Drive::sqe(0xc2, 1);
        Drive::setPrp(s, b);
        s[10] = 6;
        s[12] = 65536;
        uint16_t reader = d.submit(2, s);
        if (round & 1) {
            Sqe del = Drive::sqe(0x00);
            del[10] = 1;
            CHECK_EQ(d.exec(0, del).status, kOk);
            del[10] = 2;
            CHECK_EQ(d.exec(0, del).status, kOk);
            auto c = d.take(2, reader);
            CHECK(!c || c->status == kSqDeleted || c->status == kOk || c->status == kAborted ||
                  c->status == kBadHandle);
            CHECK_EQ(d.exec(0, del).status, kQidInvalid);
        }
        d.disable();
    }
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 32, &got).status, kOk);
    CHECK(got == pattern(0, 1, 32));
    /* A reset forgets functions. */
    Job j;
    j.pieces = {{{{{{0, 1}}, 10}}}};
    d.owner.functions[0] = 0x12 << 4;
    CHECK_EQ(d.wait(1, submitExec(d, 1, encode(j))).status, kReplaced);
}

TEST(scomp_many_requests) {
    Nand nand(Geometry{});
    Drive d(nand, 4, seed);
    d.start();
    fill(d, 0, 320);
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
    CHECK_EQ(load(d, 1, kernelElf(model::kCopy)).status, kOk);
    std::vector<uint16_t> cids;
    for (uint16_t h = 0; h < 8; h++) {
        Job j;
        j.func = h & 1;
        j.maxCores = h % 3;
        for (uint32_t p = 0; p < 1u + h % 5; p++) {
            uint32_t lba = static_cast<uint32_t>(d.dev.rng() % 280);
            j.pieces.push_back({{{{{lba, 30}}, 30u * 4096u - h}}});
        }
        cids.push_back(submitExec(d, h, encode(j)));
    }
    Job one;
    one.pieces = {{{{{{0, 1}}, 10}}}};
    CHECK_EQ(d.wait(1, submitExec(d, 77, encode(one))).status, kNoResources);
    CHECK_EQ(d.wait(1, submitExec(d, 3, encode(one))).status, kBadHandle);
    /* A function in use cannot be unloaded. */
    Sqe u = Drive::sqe(SCOMP_OPCODE_ADMIN_FUNC_UNLOAD);
    u[10] = d.owner.functions[0];
    CHECK_EQ(d.exec(0, u).status, kBadFunction);
    for (uint16_t h = 0; h < 8; h++) {
        auto r = collect(d, h);
        CHECK_EQ(r.size(), 1u + h % 5);
        for (auto &[p, x] : r) {
            CHECK_EQ(x.last.status, SCOMP_STATUS_OK);
            CHECK_EQ(x.report.bytes_in, 30u * 4096 - h);
        }
        CHECK_EQ(d.wait(1, cids[h]).dw0, 0u);
    }
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
}

TEST(scomp_bad_elf) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    auto refuse = [&](std::vector<uint8_t> f, uint32_t why) {
        auto c = load(d, 0, f);
        CHECK_EQ(c.status, kBadElf);
        CHECK_EQ(c.dw0, why);
    };
    auto good = kernelElf(model::kCount);
    auto mod = [&](size_t at, uint8_t v) {
        auto f = good;
        f[at] = v;
        return f;
    };
    refuse(std::vector<uint8_t>(100, 0x5a), SCOMP_ELF_ERROR_NOT_ELF);
    refuse(std::vector<uint8_t>(good.begin(), good.begin() + 60), SCOMP_ELF_ERROR_NOT_ELF);
    refuse(mod(4, 2), SCOMP_ELF_ERROR_NOT_RV32);
    refuse(mod(5, 2), SCOMP_ELF_ERROR_NOT_RV32);
    refuse(mod(16, 3), SCOMP_ELF_ERROR_NOT_RV32);
    refuse(mod(18, 62), SCOMP_ELF_ERROR_NOT_RV32);
    refuse(mod(36, 1), SCOMP_ELF_ERROR_NOT_RV32);
    refuse(mod(36, 4), SCOMP_ELF_ERROR_NOT_RV32);
    refuse(mod(24, 2), SCOMP_ELF_ERROR_NO_ENTRY);
    refuse(mod(24, 64), SCOMP_ELF_ERROR_NO_ENTRY);
    refuse(elf({{0, std::vector<uint8_t>(32768, 1), 32772}}), SCOMP_ELF_ERROR_TOO_LARGE);
    refuse(
        elf({{0, std::vector<uint8_t>(64), 64}, {ASSASIN_CORE_SPAD_BASE + 0x2000, std::vector<uint8_t>(64), 0xf000}}),
        SCOMP_ELF_ERROR_TOO_LARGE);
    refuse(elf({{0, std::vector<uint8_t>(64), 64}, {ASSASIN_CORE_SPAD_BASE + 0x1000, std::vector<uint8_t>(64), 64}}),
           SCOMP_ELF_ERROR_BAD_SEGMENT);
    refuse(elf({{0x80000000, std::vector<uint8_t>(64), 64}}), SCOMP_ELF_ERROR_BAD_SEGMENT);
    refuse(elf({{0, std::vector<uint8_t>(64), 32}}), SCOMP_ELF_ERROR_BAD_SEGMENT);
    refuse(elf({{4, std::vector<uint8_t>(64), 64}}, 4), SCOMP_ELF_ERROR_BAD_SEGMENT);
    auto f = good;
    f[52 + 4] = 0xff, f[52 + 5] = 0xff, f[52 + 6] = 0xff, f[52 + 7] = 0xff;
    refuse(f, SCOMP_ELF_ERROR_BAD_SEGMENT);
    /* Built for other cores: the model's are SB. A note that is cut off, or somebody else's, says nothing. */
    auto noted = [&](uint32_t variant, uint32_t type = SCOMP_NOTE_VARIANT, uint32_t size = 24) {
        const uint32_t words[] = {8, 4, type, 0x41535341, 0x004e4953, variant};
        std::vector<uint8_t> note(size);
        std::memcpy(note.data(), words, size);
        auto file = elf({{0, std::vector<uint8_t>(64, 0x13), 64}, {64, note, size}});
        file[52 + 32] = 4;
        return file;
    };
    for (uint32_t variant : {SCOMP_VARIANT_SBX, SCOMP_VARIANT_SP, SCOMP_VARIANT_MEM, 0u, 9u}) {
        refuse(noted(variant), SCOMP_ELF_ERROR_OTHER_CORES);
    }
    CHECK_EQ(load(d, 0, noted(SCOMP_VARIANT_SB)).status, kOk);
    CHECK_EQ(load(d, 0, noted(SCOMP_VARIANT_MEM, 77)).status, kOk);
    /* Cores with a vector unit run what is built for SB, and for units that do not have more than theirs. */
    for (uint32_t arch : {CORE_ARCH_SB, CORE_ARCH_V, CORE_ARCH_VP, CORE_ARCH_VF}) {
        d.dev.arch = arch;
        for (uint32_t variant : {SCOMP_VARIANT_V, SCOMP_VARIANT_VP, SCOMP_VARIANT_VF}) {
            if ((variant == SCOMP_VARIANT_V && arch != CORE_ARCH_SB) ||
                (variant == SCOMP_VARIANT_VP && (arch == CORE_ARCH_VP || arch == CORE_ARCH_VF)) ||
                (variant == SCOMP_VARIANT_VF && arch == CORE_ARCH_VF)) {
                CHECK_EQ(load(d, 0, noted(variant)).status, kOk);
            } else {
                refuse(noted(variant), SCOMP_ELF_ERROR_OTHER_CORES);
            }
        }
        refuse(noted(SCOMP_VARIANT_SBX), SCOMP_ELF_ERROR_OTHER_CORES);
        CHECK_EQ(load(d, 0, noted(SCOMP_VARIANT_SB)).status, kOk);
    }
    d.dev.arch = CORE_ARCH_SB;
    CHECK_EQ(load(d, 0, noted(SCOMP_VARIANT_MEM, SCOMP_NOTE_VARIANT, 20)).status, kOk);
    Sqe u = Drive::sqe(0xc0);
    u[10] = d.owner.functions[0];
    CHECK_EQ(d.exec(0, u).status, kOk);
    CHECK_EQ(d.exec(0, u).status, kReplaced);
    /* The drive chooses the place. */
    Sqe s = Drive::sqe(0xc1);
    s[10] = 3;
    s[11] = 1000;
    CHECK_EQ(d.exec(0, s).status, kInvalidField);
    s[10] = 0;
    s[11] = SCOMP_MAX_ELF + 1;
    CHECK_EQ(d.exec(0, s).status, kBadElf);
    u[10] = 0;
    CHECK_EQ(d.exec(0, u).status, kBadFunction);
}

TEST(scomp_elf_fuzz) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 0, 4);
    std::mt19937 rng(seed);
    Job j;
    j.watchdog = 100;
    j.pieces = {{{{{{0, 4}}, 4 * 4096}}}};
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < 300; i++) {
        auto f = kernelElf(model::kCount, static_cast<uint32_t>(rng()));
        for (uint32_t n = rng() % 4; n > 0; n--) {
            f[rng() % 128] = static_cast<uint8_t>(rng() % 3 == 0 ? 0xff : rng());
        }
        if (rng() % 8 == 0) {
            f.resize(52 + rng() % (f.size() - 52));
        }
        auto c = load(d, 0, f);
        CHECK(c.status == kOk || c.status == kBadElf);
        if (c.status == kOk) {
            accepted++;
            runJob(d, j);
        }
    }
    CHECK(accepted > 10);
}

TEST(scomp_bad_requests) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    uint32_t cap = d.capacity();
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
    Job j;
    j.args.resize(20);
    j.pieces = {{{{{{0, 4}, {8, 4}}, 7 * 4096}}}};
    auto good = encode(j);
    auto refuse = [&](std::vector<uint8_t> r, uint32_t status, uint32_t where) {
        auto c = d.wait(1, submitExec(d, 1, r));
        CHECK_EQ(c.status, status);
        if (where != UINT32_MAX) {
            CHECK_EQ(c.dw0, where);
        }
    };
    auto put = [&](size_t at, uint64_t v, int n) {
        auto r = good;
        for (int i = 0; i < n; i++) {
            r[at + i] = static_cast<uint8_t>(v >> (8 * i));
        }
        return r;
    };
    const uint32_t streams = 64 + 24, extents = streams + 16;
    refuse(put(0, 0, 4), kBadRequest, 0);
    refuse(put(4, 3, 2), kBadRequest, 4);
    refuse(put(6, 1, 2), kBadFunction, 6);
    refuse(put(6, 16, 2), kReplaced, 6);
    refuse(put(8, 0, 1), kBadRequest, 8);
    refuse(put(8, 9, 1), kBadRequest, 8);
    refuse(put(9, 9, 1), kBadRequest, 9);
    refuse(put(10, 4, 1), kBadRequest, 10);
    refuse(put(9, 2, 2), kBadRequest, 10);
    refuse(put(11, 1, 1), kBadRequest, 11);
    refuse(put(12, 4, 4), kBadRequest, 12);
    refuse(put(16, 0, 4), kBadRequest, 16);
    refuse(put(16, 1025, 4), kBadRequest, 16);
    refuse(put(16, 1024, 4), kBadRequest, 16);
    refuse(put(20, 0, 4), kBadRequest, 20);
    refuse(put(20, 0xffffffff, 4), kBadRequest, 20);
    refuse(put(20, 3, 4), kBadRequest, 20);
    refuse(put(24, 4097, 4), kBadRequest, 24);
    refuse(put(36, 1, 1), kBadRequest, 37);
    refuse(put(36, 2, 1), kBadRequest, 36);
    refuse(put(37, 1, 1), kBadRequest, 37);
    refuse(put(38, 1, 2), kBadRequest, 38);
    refuse(put(40, 1, 4), kBadRequest, 40);
    refuse(put(60, 1, 4), kBadRequest, 60);
    refuse(put(streams, 2, 4), kBadRequest, streams);
    refuse(put(streams, 0xffffffff, 4), kBadRequest, streams);
    auto old = put(streams + 4, 0, 4);
    old[4] = 1;
    refuse(old, kBadRequest, streams + 4);
    refuse(put(streams, 1, 8), kBadRequest, streams);
    refuse(put(streams + 4, 3, 4), kBadRequest, streams + 4);
    refuse(put(streams + 4, 0xffffffff, 4), kBadRequest, streams + 4);
    refuse(put(streams + 8, 0, 8), kBadRequest, streams + 8);
    refuse(put(streams + 8, 4 * 4096, 8), kBadRequest, streams + 8);
    refuse(put(streams + 8, 8 * 4096 + 1, 8), kBadRequest, streams + 8);
    refuse(put(streams + 8, UINT64_MAX, 8), kBadRequest, streams + 8);
    refuse(put(extents, cap, 8), kLbaRange, extents);
    refuse(put(extents, UINT64_MAX, 8), kLbaRange, extents);
    refuse(put(extents, cap - 3, 8), kLbaRange, extents);
    refuse(put(extents + 8, 0, 4), kBadRequest, extents + 8 - 8);
    refuse(put(extents + 12, 1, 4), kBadRequest, extents + 12);
    refuse(std::vector<uint8_t>(good.begin(), good.end() - 16), kBadRequest, UINT32_MAX);
    Sqe s = Drive::sqe(0xc1, 1);
    s[12] = 32;
    CHECK_EQ(d.exec(1, s).status, kInvalidField);
    s[12] = 0xffffffff;
    CHECK_EQ(d.exec(1, s).status, kInvalidField);
    s[12] = 4096;
    s[13] = 1;
    CHECK_EQ(d.exec(1, s).status, kInvalidField);
    s = Drive::sqe(0xc2, 1);
    s[12] = 4096;
    CHECK_EQ(d.exec(1, s).status, kInvalidField);
    s[12] = 8192;
    s[10] = 3;
    CHECK_EQ(d.exec(1, s).status, kBadHandle);
    s[1] = 2;
    CHECK_EQ(d.exec(1, s).status, kInvalidNs);
    runJob(d, j);
}

TEST(scomp_overlapping_extents) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    uint32_t cap = d.capacity();
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
    std::mt19937 rng(seed);
    uint32_t refused = 0, accepted = 0;
    for (uint32_t round = 0; round < 300; round++) {
        Job j;
        std::vector<Extent> all;
        bool overlap = false;
        /* Shuffled pieces of the drive; sometimes one extent reaches into its neighbour. */
        std::vector<uint32_t> starts;
        uint32_t n = 1 + rng() % 24;
        for (uint32_t i = 0; i < n; i++) {
            starts.push_back(i * 4);
        }
        if (round % 3 != 0) {
            std::shuffle(starts.begin(), starts.end(), rng);
        }
        for (uint32_t p = 0; p < 1 + round % 2; p++) {
            Stream s{{}, 0};
            for (uint32_t start : starts) {
                s.extents.push_back({start, static_cast<uint32_t>(1 + rng() % (rng() % 40 == 0 ? 6 : 4))});
                s.bytes += s.extents.back().count * 4096ull;
            }
            for (size_t a = 0; a < s.extents.size(); a++) {
                for (size_t b = a + 1; b < s.extents.size(); b++) {
                    overlap |= s.extents[a].lba < s.extents[b].lba + s.extents[b].count &&
                               s.extents[b].lba < s.extents[a].lba + s.extents[a].count;
                }
            }
            /* The same blocks in another piece are no overlap. */
            j.pieces.push_back({{s}});
            all.insert(all.end(), s.extents.begin(), s.extents.end());
        }
        if (overlap) {
            auto c = d.wait(1, submitExec(d, 1, encode(j)));
            CHECK_EQ(c.status, kOverlap);
            size_t table = 64 + 16 * j.pieces.size();
            CHECK(c.dw0 >= table && (c.dw0 - table) % 16 == 0);
            Extent bad = all.at((c.dw0 - table) / 16);
            bool reached = false;
            for (const Extent &e : all) {
                reached |= e.lba < bad.lba && e.lba + e.count > bad.lba;
            }
            CHECK(reached);
            refused++;
        } else {
            runJob(d, j);
            accepted++;
        }
    }
    CHECK(refused > 20 && accepted > 20);
    /* The same extent twice, extents that reach the last block, a table of pieces that share one window. */
    Job j;
    j.pieces = {{{{{{5, 1}, {5, 1}}, 8192}}}};
    auto c = d.wait(1, submitExec(d, 1, encode(j)));
    CHECK_EQ(c.status, kOverlap);
    j.pieces = {{{{{{cap - 1, 1}, {cap - 2, 1}}, 8192}}}};
    runJob(d, j);
    scomp_request r{};
    r.magic = SCOMP_MAGIC;
    r.version = SCOMP_VERSION;
    r.streams_in = 1;
    r.streams_out = 1;
    r.s_log2 = 0xff;
    for (bool alternate : {false, true}) {
        /* 1,000 pieces that read all of a descending table are fine when it is the same table each time; a stranger
         * pattern costs the drive too much to check. */
        r.pieces = 1000;
        r.extents = 64;
        r.watchdog_kcycles = 5000;
        std::vector<uint8_t> v(reinterpret_cast<uint8_t *>(&r), reinterpret_cast<uint8_t *>(&r) + sizeof r);
        auto append = [&](auto x) {
            v.insert(v.end(), reinterpret_cast<uint8_t *>(&x), reinterpret_cast<uint8_t *>(&x) + sizeof x);
        };
        for (uint32_t p = 0; p < r.pieces; p++) {
            uint32_t count = alternate && p % 2 != 0 ? 63 : 64;
            append(scomp_stream{0, count, count * 4096ull});
        }
        for (uint32_t i = 0; i < r.extents; i++) {
            append(scomp_extent{64 - i, 1, 0});
        }
        uint16_t cid = submitExec(d, 1, v);
        if (alternate) {
            c = d.wait(1, cid);
            CHECK_EQ(c.status, kBadRequest);
            CHECK_EQ(c.dw0, 64u + 129 * 16 + 4);
        } else {
            CHECK_EQ(collect(d, 1).size(), 1000u);
            CHECK_EQ(d.wait(1, cid).dw0, 0u);
        }
    }
}

TEST(scomp_request_fuzz) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
    std::mt19937 rng(seed);
    for (uint32_t i = 0; i < 400; i++) {
        Job j;
        j.watchdog = 5000;
        j.args.resize(rng() % 64);
        uint32_t in = 1 + rng() % 8;
        for (uint32_t p = 1 + rng() % 4; p > 0; p--) {
            Piece piece;
            for (uint32_t s = 0; s < in; s++) {
                piece.streams.push_back({{{rng() % 300, 1 + static_cast<uint32_t>(rng() % 4)}}, 1 + rng() % 4096});
            }
            j.pieces.push_back(piece);
        }
        auto r = encode(j);
        for (uint32_t n = rng() % 3; n > 0; n--) {
            size_t at = rng() % 3 == 0 ? rng() % r.size() : rng() % 64;
            r[at] = static_cast<uint8_t>(rng() % 2 ? 0xff : rng());
        }
        uint16_t cid = submitExec(d, 1, r);
        std::optional<model::Completion> c;
        for (uint32_t k = 0; k < 2000 && !c; k++) {
            d.step();
            c = d.take(1, cid);
        }
        if (!c || c->status == kOk) {
            auto res = collect(d, 1);
            if (!c) {
                c = d.wait(1, cid);
            }
            CHECK_EQ(c->status, kOk);
        }
        d.freeHost();
    }
}
