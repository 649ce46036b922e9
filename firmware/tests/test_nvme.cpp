// SPDX-License-Identifier: BSD-3-Clause
/* Admin commands, queues, features, log pages, PRPs, hostile commands. */
#include "tests/scomp.h"

#include <algorithm>

using namespace harness;
using model::Device;
using model::Geometry;
using model::Nand;

namespace {

std::vector<uint8_t> fetch(Drive &d, Sqe s, uint32_t bytes, uint16_t status = kOk) {
    Buffer b = d.buffer(bytes);
    Drive::setPrp(s, b);
    CHECK_EQ(d.exec(0, s).status, status);
    return d.get(b);
}

Sqe getLog(uint32_t lid, uint32_t bytes, uint64_t offset = 0) {
    Sqe s = Drive::sqe(0x02, 0xffffffff);
    s[10] = lid | (bytes / 4 - 1) << 16;
    s[12] = static_cast<uint32_t>(offset);
    s[13] = static_cast<uint32_t>(offset >> 32);
    return s;
}

Sqe feature(bool set, uint32_t id, uint32_t v = 0, uint32_t select = 0) {
    Sqe s = Drive::sqe(set ? 0x09 : 0x0a);
    s[10] = id | select << 8;
    s[11] = v;
    return s;
}

uint64_t get64(const std::vector<uint8_t> &v, size_t at) {
    uint64_t x;
    std::memcpy(&x, &v[at], 8);
    return x;
}

} // namespace

/* A host may be there, read CAP and enable the controller while the drive boots. */
TEST(capabilities_are_known_from_the_start) {
    Nand nand(Geometry{});
    Drive d(nand);
    CHECK_EQ(d.dev.capHi, 0x830u);
    CHECK_EQ(d.dev.capLo & 0xffffffu, 0x100ffu);
    /* A tile clears its bss first; the flash, which takes longest, comes behind. */
    CHECK(d.dev.capPromised < d.dev.now / 2);
}

TEST(identify) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.enable();
    auto identify = [&](uint32_t cns, uint32_t nsid, uint16_t status = kOk) {
        Sqe s = Drive::sqe(0x06, nsid);
        s[10] = cns;
        return fetch(d, s, 4096, status);
    };
    auto c = identify(1, 0);
    CHECK(std::string(c.begin() + 24, c.begin() + 31) == "ASSASIN");
    CHECK_EQ(c[77], 5);
    CHECK_EQ(c[512], 0x66);
    CHECK_EQ(c[513], 0x44);
    CHECK_EQ(c[516], 1);
    CHECK_EQ(c[525], 6);
    auto n = identify(0, 1);
    CHECK(get64(n, 0) > 0 && get64(n, 0) == get64(n, 8));
    CHECK_EQ(n[130], 12);
    identify(0, 2, kInvalidNs);
    identify(0, 0, kInvalidNs);
    CHECK_EQ(get64(identify(2, 0), 0), 1u);
    CHECK_EQ(get64(identify(2, 1), 0), 0u);
    identify(2, 0xffffffff, kInvalidNs);
    CHECK_EQ(identify(3, 1)[1], 8);
    identify(3, 2, kInvalidNs);
    for (uint32_t cns : {0x04u, 0x10u, 0x1cu, 0xffu}) {
        identify(cns, 1, kInvalidField);
    }
}

TEST(queues) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.enable();
    auto create = [&](bool cq, uint32_t qid, uint32_t size, uint32_t cdw11, uint32_t prp = 0x10000) {
        Sqe s = Drive::sqe(cq ? 0x05 : 0x01);
        s[6] = prp;
        s[10] = qid | size << 16;
        s[11] = cdw11;
        return d.exec(0, s).status;
    };
    auto remove = [&](bool cq, uint32_t qid) {
        Sqe s = Drive::sqe(cq ? 0x04 : 0x00);
        s[10] = qid;
        return d.exec(0, s).status;
    };
    CHECK_EQ(create(false, 1, 31, 1 | 1 << 16), kCqInvalid);
    CHECK_EQ(create(true, 0, 31, 1), kQidInvalid);
    CHECK_EQ(create(true, 9, 31, 1), kQidInvalid);
    CHECK_EQ(create(true, 1, 0, 1), kQueueSize);
    CHECK_EQ(create(true, 1, 256, 1), kQueueSize);
    CHECK_EQ(create(true, 1, 31, 0), kInvalidField);
    CHECK_EQ(create(true, 1, 31, 1, 0x10010), kPrpOffset);
    CHECK_EQ(create(true, 1, 31, 3 | 16 << 16), kVectorInvalid);
    CHECK_EQ(create(true, 1, 31, 3 | 15 << 16), kOk);
    CHECK_EQ(create(true, 1, 31, 1), kQidInvalid);
    CHECK_EQ(create(false, 1, 31, 1 | 0 << 16), kQidInvalid);
    CHECK_EQ(create(false, 1, 31, 1 | 9 << 16), kQidInvalid);
    CHECK_EQ(create(false, 1, 0, 1 | 1 << 16), kQueueSize);
    CHECK_EQ(create(false, 1, 31, 0 | 1 << 16), kInvalidField);
    CHECK_EQ(create(false, 1, 31, 1 | 1 << 16, 0x123), kPrpOffset);
    CHECK_EQ(create(false, 1, 31, 1 | 1 << 16), kOk);
    CHECK_EQ(create(false, 1, 31, 1 | 1 << 16), kQidInvalid);
    CHECK_EQ(remove(true, 1), kQueueDeletion);
    CHECK_EQ(remove(true, 2), kQidInvalid);
    CHECK_EQ(remove(false, 0), kQidInvalid);
    CHECK_EQ(remove(false, 2), kQidInvalid);
    CHECK_EQ(remove(false, 1), kOk);
    CHECK_EQ(remove(true, 1), kOk);
    for (uint32_t i = 1; i <= 8; i++) {
        CHECK_EQ(create(true, i, 255, 1), kOk);
        CHECK_EQ(create(false, i, 255, 1 | i << 16), kOk);
    }
}

TEST(command_to_deleted_queue) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start(3);
    std::vector<uint16_t> cids;
    for (uint32_t i = 0; i < 40; i++) {
        Buffer b = d.buffer(32 * 4096);
        Sqe s = Drive::sqe(i % 2 ? 0x01 : 0x02, 1);
        Drive::setPrp(s, b);
        s[10] = i * 8;
        s[12] = 31;
        cids.push_back(d.submit(3, s));
    }
    Sqe del = Drive::sqe(0x00);
    del[10] = 3;
    CHECK_EQ(d.exec(0, del).status, kOk);
    /* Once the deletion is complete, host memory is left alone. */
    bool dma = false;
    d.dev.onDma = [&](uint64_t, uint32_t, bool) { dma = true; };
    d.submit(3, Drive::sqe(0x00, 1));
    d.settle();
    CHECK(!dma);
    d.dev.onDma = nullptr;
    std::vector<uint8_t> got;
    CHECK_EQ(d.write(900, pattern(900, 1, 4)).status, kOk);
    CHECK_EQ(d.read(900, 4, &got).status, kOk);
    CHECK(got == pattern(900, 1, 4));
}

TEST(features) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.enable();
    CHECK_EQ(d.exec(0, feature(true, 7, 0x00100010)).dw0, 0x00070007u);
    CHECK_EQ(d.exec(0, feature(true, 7, 0xffff)).status, kInvalidField);
    CHECK_EQ(d.exec(0, feature(false, 7)).dw0, 0x00070007u);
    d.createQueues(1);
    CHECK_EQ(d.exec(0, feature(true, 7, 0x00010001)).status, kSequence);
    CHECK_EQ(d.exec(0, feature(true, 0x0b, 0x1f)).status, kOk);
    CHECK_EQ(d.exec(0, feature(false, 0x0b)).dw0, 0x1fu);
    CHECK_EQ(d.exec(0, feature(false, 0x0b, 0, 1)).dw0, 0u);
    CHECK_EQ(d.exec(0, feature(false, 0x0b, 0, 2)).dw0, 0u);
    CHECK_EQ(d.exec(0, feature(false, 0x0b, 0, 3)).dw0, 4u);
    CHECK_EQ(d.exec(0, feature(false, 0x0b, 0, 4)).status, kInvalidField);
    Sqe s = feature(true, 0x0b, 1);
    s[10] |= 1u << 31;
    CHECK_EQ(d.exec(0, s).status, kNotSaveable);
    CHECK_EQ(d.exec(0, feature(false, 6)).status, kInvalidField);
    CHECK_EQ(d.exec(0, feature(true, 6, 1)).status, kInvalidField);
    CHECK_EQ(d.exec(0, feature(true, 2, 1)).status, kInvalidField);
    CHECK_EQ(d.exec(0, feature(true, 4, 350)).status, kOk);
    CHECK_EQ(d.exec(0, feature(true, 4, 300 | 1 << 20)).status, kOk);
    CHECK_EQ(d.exec(0, feature(false, 4)).dw0, 350u);
    CHECK_EQ(d.exec(0, feature(false, 4, 1 << 20)).dw0, 300u);
    CHECK_EQ(d.exec(0, feature(true, 9, 3 | 1 << 16)).status, kOk);
    CHECK_EQ(d.exec(0, feature(false, 9, 3)).dw0, 0x10003u);
    CHECK_EQ(d.exec(0, feature(false, 9, 16)).status, kInvalidField);
    for (uint32_t id : {0x00u, 0x0cu, 0x0du, 0x0fu, 0x10u, 0x19u, 0x80u, 0xc0u}) {
        CHECK_EQ(d.exec(0, feature(false, id)).status, kInvalidField);
        CHECK_EQ(d.exec(0, feature(true, id)).status, kInvalidField);
    }
}

TEST(log_pages) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    CHECK_EQ(d.write(0, pattern(0, 1, 8)).status, kOk);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 8, &got).status, kOk);
    CHECK_EQ(d.read(UINT64_MAX, 1, &got).status, kLbaRange);
    auto smart = fetch(d, getLog(2, 512), 512);
    CHECK_EQ(get64(smart, 64), 1u);
    CHECK_EQ(get64(smart, 80), 1u);
    CHECK_EQ(get64(smart, 176), 1u);
    auto errors = fetch(d, getLog(1, 128), 128);
    CHECK_EQ(get64(errors, 0), 1u);
    CHECK_EQ(get64(errors, 8) & 0xffff, 1u);
    CHECK_EQ(errors[12], 0x80 << 1 & 0xff);
    CHECK_EQ(get64(errors, 16), UINT64_MAX);
    auto firmware = fetch(d, getLog(3, 512), 512);
    CHECK_EQ(firmware[0], 1);
    auto effects = fetch(d, getLog(5, 4096), 4096);
    CHECK_EQ(effects[4 * 6], 1);
    CHECK_EQ(effects[1024 + 4], 3);
    auto part = fetch(d, getLog(5, 4, 1028), 4);
    CHECK_EQ(part[0], 3);
    auto perf = fetch(d, getLog(0xc0, 512), 512);
    scomp_perf p;
    std::memcpy(&p, perf.data(), sizeof p);
    CHECK_EQ(p.channels, 2u);
    CHECK_EQ(p.ways, 2u);
    CHECK_EQ(p.page_bytes, 4096u);
    CHECK_EQ(p.bus_cycles_page, 20u + 7 * 25 + 20 + 30 + 4280 + 21);
    CHECK_EQ(p.media_programs, nand.programs);
    CHECK_EQ(p.host_write_bytes, 8u * 4096);
    fetch(d, getLog(0x70, 64), 64, kLogInvalid);
    fetch(d, getLog(2, 64, 512), 64, kInvalidField);
    fetch(d, getLog(2, 64, 2), 64, kInvalidField);
    fetch(d, getLog(2, 64, UINT64_MAX - 3), 64, kInvalidField);
    /* A longer request than the page is long. */
    Sqe s = getLog(2, 512);
    s[10] = 2 | 0xffff0000u;
    s[11] = 0xffff;
    fetch(d, s, 4096);
}

TEST(events_and_abort) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    std::vector<uint16_t> aers;
    for (uint32_t i = 0; i < 4; i++) {
        aers.push_back(d.submit(0, Drive::sqe(0x0c)));
    }
    CHECK_EQ(d.exec(0, Drive::sqe(0x0c)).status, kAerLimit);
    d.dev.badDoorbell(2 * 7 | 5 << 16);
    auto c = d.wait(0, aers[0]);
    CHECK_EQ(c.status, kOk);
    CHECK_EQ(c.dw0, 0u | 0 << 8 | 1 << 16);
    /* Masked until the log is read. */
    d.dev.badDoorbell(2 * 1 | 500 << 16);
    d.settle();
    CHECK(!d.take(0, aers[1]).has_value());
    fetch(d, getLog(1, 64), 64);
    d.dev.badDoorbell(2 * 1 | 500 << 16);
    CHECK_EQ(d.wait(0, aers[1]).dw0, 0u | 1 << 8 | 1 << 16);
    Sqe abort = Drive::sqe(0x08);
    abort[10] = 0 | aers[2] << 16;
    CHECK_EQ(d.exec(0, abort).dw0, 0u);
    CHECK_EQ(d.wait(0, aers[2]).status, kAborted);
    CHECK_EQ(d.exec(0, abort).dw0, 1u);
    abort[10] = 1 | 999 << 16;
    CHECK_EQ(d.exec(0, abort).dw0, 1u);
    d.disable();
    CHECK(!d.take(0, aers[3]).has_value());
}

TEST(bad_io_commands) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    for (uint32_t op = 0; op < 256; op++) {
        static const uint8_t known[] = {0x00, 0x01, 0x02, 0x04, 0x05, 0x08, 0x09,
                                        0x0c, 0xc0, 0xc1, 0xc2, 0xc4, 0xc5, 0xc8};
        if (!std::count(std::begin(known), std::end(known), op)) {
            auto c = d.exec(1, Drive::sqe(static_cast<uint8_t>(op), 1));
            CHECK_EQ(c.status, kInvalidOpcode);
            CHECK(c.dnr);
        } else if (op != 0) {
            CHECK_EQ(d.exec(1, Drive::sqe(static_cast<uint8_t>(op), 2)).status, kInvalidNs);
            CHECK_EQ(d.exec(1, Drive::sqe(static_cast<uint8_t>(op), 0)).status, kInvalidNs);
        }
        static const uint8_t admin[] = {0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0a,
                                        0x0c, 0x14, 0x80, 0x84, 0xc0, 0xc1, 0xc2, 0xc4, 0xc5};
        if (!std::count(std::begin(admin), std::end(admin), op)) {
            CHECK_EQ(d.exec(0, Drive::sqe(static_cast<uint8_t>(op))).status, kInvalidOpcode);
        }
    }
    for (uint32_t bits : {0x100u, 0x200u, 0x300u, 0x4000u, 0x8000u, 0xc000u}) {
        Sqe s = Drive::sqe(0x02, 1);
        s[0] |= bits;
        CHECK_EQ(d.exec(1, s).status, kInvalidField);
    }
    Sqe s = Drive::sqe(0x02, 1);
    s[12] = 32;
    CHECK_EQ(d.exec(1, s).status, kInvalidField);
    s[12] = 1u << 26;
    CHECK_EQ(d.exec(1, s).status, kInvalidField);
    s = Drive::sqe(0x08, 1);
    s[10] = d.capacity() - 1;
    s[12] = 1;
    CHECK_EQ(d.exec(1, s).status, kLbaRange);
    CHECK_EQ(d.trim(d.capacity(), 1).status, kLbaRange);
    CHECK_EQ(d.trim(UINT64_MAX, 0xffffffff).status, kLbaRange);
    CHECK_EQ(d.exec(1, Drive::sqe(0x00, 0xffffffff)).status, kOk);
    CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
}

TEST(prps) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    std::mt19937 rng(seed);
    /* All offsets, with page lists in one and in several pages. */
    for (uint32_t i = 0; i < 150; i++) {
        uint32_t blocks = 1 + static_cast<uint32_t>(rng() % 32);
        uint32_t lba = static_cast<uint32_t>(rng() % 60);
        Buffer w = d.buffer(blocks * 4096, static_cast<uint32_t>(rng() % 1024) * 4, rng() % 2);
        d.put(w, pattern(lba, i + 1, blocks).data());
        Sqe s = Drive::sqe(0x01, 1);
        Drive::setPrp(s, w);
        s[10] = lba;
        s[12] = blocks - 1;
        CHECK_EQ(d.exec(1, s).status, kOk);
        Buffer r = d.buffer(blocks * 4096, static_cast<uint32_t>(rng() % 1024) * 4, rng() % 2);
        s = Drive::sqe(0x02, 1);
        Drive::setPrp(s, r);
        s[10] = lba;
        s[12] = blocks - 1;
        CHECK_EQ(d.exec(1, s).status, kOk);
        CHECK(d.get(r) == pattern(lba, i + 1, blocks));
    }
    auto io = [&](uint64_t prp1, uint64_t prp2, uint32_t blocks) {
        Sqe s = Drive::sqe(0x02, 1);
        s[6] = static_cast<uint32_t>(prp1), s[7] = static_cast<uint32_t>(prp1 >> 32);
        s[8] = static_cast<uint32_t>(prp2), s[9] = static_cast<uint32_t>(prp2 >> 32);
        s[12] = blocks - 1;
        return d.exec(1, s).status;
    };
    uint64_t page = d.hostPage(), page2 = d.hostPage(), list = d.hostPage();
    CHECK_EQ(io(page + 1, 0, 1), kPrpOffset);
    CHECK_EQ(io(page + 2, page2, 1), kPrpOffset);
    CHECK_EQ(io(page, page2 + 8, 2), kPrpOffset);
    CHECK_EQ(io(page + 64, page2 + 4, 1), kPrpOffset);
    CHECK_EQ(io(page, list + 4, 8), kPrpOffset);
    CHECK_EQ(io(page, list + 1, 8), kPrpOffset);
    for (uint32_t bad = 0; bad < 7; bad++) {
        for (uint32_t i = 0; i < 7; i++) {
            uint64_t e = page2 + (i == bad ? 4 : 0);
            std::memcpy(d.hostPtr(list + i * 8), &e, 8);
        }
        CHECK_EQ(io(page, list, 8), kPrpOffset);
    }
    /* A list page's last entry points to the next one: not page aligned, then back to itself. */
    uint64_t next = list + 8;
    std::memcpy(d.hostPtr(list + 4088), &next, 8);
    CHECK_EQ(io(page, list + 4088, 8), kPrpOffset);
    next = list;
    std::memcpy(d.hostPtr(list + 4088), &next, 8);
    for (uint32_t i = 0; i < 32; i++) {
        std::memcpy(d.hostPtr(list + i * 8), &page2, 8);
    }
    CHECK_EQ(io(page, list + 4088, 32), kOk);
    /* Addresses that the bus does not know. */
    CHECK_EQ(io(0x10, 0, 1), kDataTransfer);
    CHECK_EQ(io(page, 0xfffffffff000ull, 8), kDataTransfer);
    uint64_t nowhere = 0x7fff00000000ull;
    std::memcpy(d.hostPtr(list + 16), &nowhere, 8);
    CHECK_EQ(io(page, list, 8), kDataTransfer);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(3, 1, &got).status, kOk);
}

TEST(completion_back_pressure) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    std::vector<uint16_t> cids;
    d.dev.cqeStall = 500;
    for (uint32_t i = 0; i < 200; i++) {
        cids.push_back(d.submit(1 + i % 2, Drive::sqe(0x00, 1)));
    }
    for (uint32_t i = 0; i < 200; i++) {
        CHECK_EQ(d.wait(1 + i % 2, cids[i]).status, kOk);
    }
}

TEST(command_fuzz) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start(2);
    CHECK_EQ(d.write(0, pattern(0, 1, 32)).status, kOk);
    std::mt19937 rng(seed);
    static const uint8_t adminOps[] = {0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0a, 0xc0, 0xc1};
    static const uint8_t ioOps[] = {0x00, 0x01, 0x02, 0x08, 0x09, 0xc0, 0xc1, 0xc2};
    for (uint32_t i = 0; i < 3000; i++) {
        Sqe s{};
        uint32_t q = rng() % 2 ? 0 : 2;
        s[0] = q == 0 ? adminOps[rng() % sizeof adminOps] : ioOps[rng() % sizeof ioOps];
        s[1] = rng() % 4 ? 1 : static_cast<uint32_t>(rng());
        Buffer b = d.buffer(131072, rng() % 3 == 0 ? static_cast<uint32_t>(rng() % 4096) : 0, rng() % 2);
        Drive::setPrp(s, b);
        for (uint32_t w = 10; w < 16; w++) {
            if (rng() % 3 == 0) {
                s[w] = rng() % 2 ? static_cast<uint32_t>(rng()) : static_cast<uint32_t>(rng() % 64);
            }
        }
        if (q == 0 && (s[0] == 0x00 || s[0] == 0x04) && ((s[10] & 0xffff) == 1 || (s[10] & 0xffff) == 2)) {
            /* Keep the queues that the test itself uses. */
            s[10] += 5;
        }
        if (rng() % 10 == 0) {
            s[6 + rng() % 4] ^= 1u << rng() % 32;
        }
        uint16_t cid = d.submit(q, s);
        std::optional<model::Completion> c;
        for (uint32_t k = 0; k < 3000 && !c; k++) {
            d.step();
            c = d.take(q, cid);
        }
        if (!c) {
            CHECK_EQ(s[0] & 0xff, 0xc2u);
        }
    }
    d.disable();
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(100, 1, &got).status, kOk);
}

/** Reads, writes and an offload under way; the DMA that a session's end has to wait for. */
static std::vector<uint16_t> busySession(Drive &d) {
    CHECK_EQ(scomp::load(d, 0, scomp::kernelElf(model::kCopy)).status, kOk);
    scomp::Job j;
    j.pieces = {scomp::Piece{{scomp::Stream{{{0, 256}}, 256 * 4096}}}};
    scomp::submitExec(d, 3, scomp::encode(j));
    d.submit(2, scomp::readSqe(d.buffer(65536), 3));
    d.submit(0, Drive::sqe(0x0c));
    std::vector<uint16_t> cids;
    for (uint32_t i = 0; i < 8; i++) {
        Buffer b = d.buffer(32 * 4096);
        Sqe s = Drive::sqe(i % 4 == 3 ? 0x01 : 0x02, 1);
        Drive::setPrp(s, b);
        s[10] = i * 32;
        s[12] = 31;
        cids.push_back(d.submit(1, s));
    }
    return cids;
}

/** Steps until about `cycles` have passed. */
static void pass(Drive &d, uint64_t cycles) {
    uint64_t until = d.dev.now + cycles;
    do {
        d.step();
    } while (d.dev.now < until && !d.asleep());
}

/** Whenever the host clears CC.EN: RDY falls, and the drive leaves host memory alone from then on (the model ends the
 * test otherwise). */
TEST(ready_falls_when_transfers_have_ended) {
    uint32_t late = 0;
    for (uint32_t wait = 0; wait < 40000; wait += 800 + seed % 7) {
        Nand nand(Geometry{});
        Drive d(nand, 2, seed);
        d.start();
        for (uint32_t i = 0; i < 256; i += 32) {
            CHECK_EQ(d.write(i, pattern(i, 1, 32)).status, kOk);
        }
        busySession(d);
        pass(d, wait);
        d.dev.hostWriteCc(0);
        late += d.dev.hostCsts() & 1;
        d.run([&] { return (d.dev.hostCsts() & 1) == 0; });
        d.settle();
        d.start();
    }
    CHECK(late > 20);
}

/** A quick reset: RDY does not read 1 in the new session before the old one has ended. */
TEST(quick_reset) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    for (uint32_t round = 0; round < 10; round++) {
        d.start();
        for (uint32_t i = 0; i < 256; i += 32) {
            CHECK_EQ(d.write(i, pattern(i, 1, 32)).status, kOk);
        }
        busySession(d);
        pass(d, round * 900);
        d.dev.hostWriteCc(0);
        CHECK_EQ(d.dev.hostCsts() & 1, 1u);
        d.dev.hostWriteCc(0x00460001);
        CHECK_EQ(d.dev.hostCsts() & 1, 0u);
        d.run([&] { return (d.dev.hostCsts() & 1) != 0; });
        d.disable();
    }
}

/** A shutdown is reported done when commands have ended: offloads are stopped, what was written before is there. */
TEST(shutdown_ends_commands) {
    for (uint32_t wait = 0; wait < 20000; wait += 1100) {
        Nand nand(Geometry{});
        {
            Drive d(nand, 2, seed);
            d.start();
            for (uint32_t i = 0; i < 256; i += 32) {
                CHECK_EQ(d.write(i, pattern(i, 1, 32)).status, kOk);
            }
            auto cids = busySession(d);
            pass(d, wait);
            d.shutdown();
            uint32_t ended = 0;
            for (uint16_t cid : cids) {
                auto c = d.take(1, cid);
                CHECK(!c || c->status == kOk);
                ended += c.has_value();
            }
            CHECK(ended == cids.size() || wait < 5000);
            d.submit(1, Drive::sqe(0x02, 1));
            d.settle();
            d.disable();
        }
        Drive d(nand, 2, seed);
        d.start();
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(0, 32, &got).status, kOk);
        CHECK(got == pattern(0, 1, 32));
    }
}

/** Deleting a submission queue completes when no command of it moves data any more. */
TEST(queue_deletion_waits_for_transfers) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    for (uint32_t i = 0; i < 256; i += 32) {
        CHECK_EQ(d.write(i, pattern(i, 1, 32)).status, kOk);
    }
    for (uint32_t wait = 0; wait < 12000; wait += 700) {
        bool deleted = false;
        d.dev.onDma = [&](uint64_t addr, uint32_t, bool) {
            if (deleted && addr >= model::Device::kHostBase + 16 * 4096) {
                throw Failure("transfer after the queues were deleted");
            }
        };
        busySession(d);
        pass(d, wait);
        for (uint32_t q = 1; q <= 2; q++) {
            Sqe del = Drive::sqe(0x00);
            del[10] = q;
            CHECK_EQ(d.exec(0, del).status, kOk);
        }
        deleted = true;
        d.settle();
        d.dev.onDma = nullptr;
        d.disable();
        d.start();
    }
}
