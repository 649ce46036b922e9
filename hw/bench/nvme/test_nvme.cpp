// SPDX-License-Identifier: BSD-3-Clause
// NVMe front end and host DMA: registers, queues, doorbells, completions, interrupts, controller resets, transfers.
#include "UncoreBench.h"
#include "assasin_contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

using namespace uncorebench;

namespace {

constexpr uint32_t CC = 0x14, CSTS = 0x1c, AQA = 0x24, ASQ = 0x28, ACQ = 0x30, DOORBELL = 0x1000;

/// A queue pair as the host keeps it.
struct HostQueue {
    unsigned sqEntries = 0, cqEntries = 0;
    uint64_t sqBase = 0, cqBase = 0;
    unsigned sqTail = 0, sqHead = 0; ///< head as completions have told it
    unsigned cqHead = 0;
    bool phase = true;
    uint16_t nextCid = 0;
    std::deque<std::vector<uint8_t>> sent;    ///< entries not seen by the firmware yet
    std::map<uint16_t, uint32_t> outstanding; ///< by cid: dword 0 that the completion must carry
};

class Nvme : public ::testing::Test {
  protected:
    Nvme() : bench(seed()) {
        bench.release();
    }

    uint32_t fw(uint32_t reg) {
        return bench.load(ASSASIN_NVME_BASE + reg);
    }
    void fw(uint32_t reg, uint32_t value) {
        bench.store(ASSASIN_NVME_BASE + reg, value);
    }
    uint32_t dma(uint32_t reg) {
        return bench.load(ASSASIN_HDMA_BASE + reg);
    }
    void dma(uint32_t reg, uint32_t value) {
        bench.store(ASSASIN_HDMA_BASE + reg, value);
    }

    /// Creates queue pair `q` with interrupt vector `q`, on both sides.
    void create(unsigned q, unsigned sqEntries, unsigned cqEntries, bool interrupts = true) {
        HostQueue &h = queues[q];
        h = {};
        h.sqEntries = sqEntries;
        h.cqEntries = cqEntries;
        h.sqBase = XdmaModel::HOST_BASE + 0x100000 * (q + 1);
        h.cqBase = h.sqBase + 0x80000;
        std::memset(bench.xdma.at(h.cqBase), 0, 16 * cqEntries);
        fw(NVME_QSEL, q);
        fw(NVME_SQ_BASE_LO, static_cast<uint32_t>(h.sqBase));
        fw(NVME_SQ_BASE_HI, static_cast<uint32_t>(h.sqBase >> 32));
        fw(NVME_CQ_BASE_LO, static_cast<uint32_t>(h.cqBase));
        fw(NVME_CQ_BASE_HI, static_cast<uint32_t>(h.cqBase >> 32));
        fw(NVME_CQ_CFG, 1u << NVME_CQ_CFG_EN_SHIFT | uint32_t(interrupts) << NVME_CQ_CFG_IEN_SHIFT |
                            q << NVME_CQ_CFG_VECTOR_SHIFT | (cqEntries - 1));
        fw(NVME_SQ_CFG, 1u << NVME_SQ_CFG_EN_SHIFT | q << NVME_SQ_CFG_CQID_SHIFT | (sqEntries - 1));
    }

    bool sqFull(const HostQueue &h) const {
        return (h.sqTail + 1) % h.sqEntries == h.sqHead;
    }

    /// Writes one entry; its first dword holds the command identifier. The doorbell is rung by `ring`.
    void submit(unsigned q) {
        HostQueue &h = queues[q];
        ASSERT_FALSE(sqFull(h));
        std::vector<uint8_t> e(64);
        for (uint8_t &b : e) {
            b = static_cast<uint8_t>(bench.rng());
        }
        const uint16_t cid = h.nextCid++;
        e[2] = static_cast<uint8_t>(cid);
        e[3] = static_cast<uint8_t>(cid >> 8);
        std::copy(e.begin(), e.end(), bench.xdma.at(h.sqBase + 64 * h.sqTail));
        h.sqTail = (h.sqTail + 1) % h.sqEntries;
        h.sent.push_back(e);
    }
    void ring(unsigned q) {
        bench.hostWrite(DOORBELL + 8 * q, queues[q].sqTail);
    }

    /// Takes the oldest entry out of the window, checks it, and returns its queue; -1 when there is none.
    int take(uint16_t &cid) {
        const uint32_t status = fw(NVME_SQE_STATUS);
        if (!(status >> NVME_SQE_STATUS_VALID_SHIFT)) {
            return -1;
        }
        const unsigned q = status & 0xff;
        HostQueue &h = queues[q];
        EXPECT_FALSE(h.sent.empty()) << "an entry nobody sent on queue " << q;
        if (h.sent.empty()) {
            return -1;
        }
        for (unsigned i = 0; i < 16; i++) {
            uint32_t word;
            std::memcpy(&word, &h.sent.front()[4 * i], 4);
            EXPECT_EQ(fw(NVME_SQE + 4 * i), word) << "queue " << q << " dword " << i;
        }
        cid = static_cast<uint16_t>(h.sent.front()[2] | h.sent.front()[3] << 8);
        h.sent.pop_front();
        fw(NVME_SQE_POP, 1);
        return static_cast<int>(q);
    }

    void complete(unsigned q, uint16_t cid, uint32_t dw0, uint16_t status = 0) {
        fw(NVME_CQE_DW0, dw0);
        fw(NVME_CQE_DW1, ~dw0);
        fw(NVME_CQE_ID, cid | q << NVME_CQE_ID_SQID_SHIFT);
        fw(NVME_CQE_PUSH, status);
        queues[q].outstanding[cid] = dw0;
    }

    /// Looks at the host's next completion entry of `q`; checks and consumes it, without the doorbell.
    bool reap(unsigned q) {
        HostQueue &h = queues[q];
        uint32_t d[4];
        std::memcpy(d, bench.xdma.at(h.cqBase + 16 * h.cqHead), 16);
        if ((d[3] >> 16 & 1) != h.phase) {
            return false;
        }
        const uint16_t cid = static_cast<uint16_t>(d[3]);
        EXPECT_TRUE(h.outstanding.count(cid)) << "completion of an unknown command on queue " << q;
        EXPECT_EQ(d[0], h.outstanding[cid]);
        EXPECT_EQ(d[1], ~d[0]);
        EXPECT_EQ(d[2] >> 16, q);
        h.outstanding.erase(cid);
        // The reported head never passes an entry the firmware has not seen.
        const unsigned head = d[2] & 0xffff;
        const unsigned free = (head + h.sqEntries - h.sqHead) % h.sqEntries;
        const unsigned unseen = static_cast<unsigned>(h.sent.size());
        const unsigned used = (h.sqTail + h.sqEntries - h.sqHead) % h.sqEntries;
        EXPECT_LE(free, used);
        EXPECT_GE(used - free + 16, unseen);
        h.sqHead = head;
        h.cqHead = (h.cqHead + 1) % h.cqEntries;
        if (h.cqHead == 0) {
            h.phase = !h.phase;
        }
        return true;
    }
    void ringCq(unsigned q) {
        bench.hostWrite(DOORBELL + 8 * q + 4, queues[q].cqHead);
    }

    UncoreBench bench;
    std::map<unsigned, HostQueue> queues;
};

TEST_F(Nvme, HostRegisters) {
    // A host that probes while the firmware boots decides by these which command sets it enables, and how long it
    // waits.
    EXPECT_EQ(bench.hostRead(0x00), 0xff0100ffu);
    EXPECT_EQ(bench.hostRead(0x04), 0x00000830u | 1u << 25);
    EXPECT_EQ(bench.hostRead(0x08), 0x00010400u);
    fw(NVME_CAP_LO, 0x11223344);
    fw(NVME_CAP_HI, 0x55667788);
    EXPECT_EQ(bench.hostRead(0x00), 0x11223344u);
    EXPECT_EQ(bench.hostRead(0x04), 0x55667788u | 1u << 25) << "CMBS is the hardware's";
    bench.hostWrite(AQA, 0x00ff001f);
    bench.hostWrite(ASQ, 0x12345fff);
    bench.hostWrite(ASQ + 4, 0x9abcdef0);
    bench.hostWrite(ACQ, 0x87654000);
    bench.hostWrite(ACQ + 4, 0x1);
    EXPECT_EQ(bench.hostRead(ASQ), 0x12345000u);
    EXPECT_EQ(fw(NVME_AQA), 0x00ff001fu);
    EXPECT_EQ(fw(NVME_ASQ_LO), 0x12345000u);
    EXPECT_EQ(fw(NVME_ASQ_HI), 0x9abcdef0u);
    EXPECT_EQ(fw(NVME_ACQ_LO), 0x87654000u);
    EXPECT_EQ(fw(NVME_ACQ_HI), 1u);
    // Single bytes.
    bench.hostWrite(ACQ + 4, 0xaabbccdd, 0x2);
    EXPECT_EQ(fw(NVME_ACQ_HI), 0xcc01u);
    bench.hostWrite(CC, 0x00460001, 0xc);
    EXPECT_EQ(fw(NVME_CC), 0x00460000u);
    // Masks are set and cleared; memory buffers and reserved registers read 0 and take nothing.
    bench.hostWrite(0x0c, 0x00f0);
    bench.hostWrite(0x10, 0x0030);
    EXPECT_EQ(bench.hostRead(0x0c), 0xc0u);
    EXPECT_EQ(bench.hostRead(0x10), 0xc0u);
    bench.hostWrite(0x10, 0xffff);
    for (const uint32_t a : {0x18u, 0x20u, 0x38u, 0x3cu, 0x50u, 0x100u, 0xffcu, 0x1000u, 0x7ffcu}) {
        EXPECT_EQ(bench.hostRead(a), 0u) << std::hex << a;
    }
    bench.hostWrite(0x00, 0);
    EXPECT_EQ(bench.hostRead(0x00), 0x11223344u);
}

TEST_F(Nvme, EnableAndReset) {
    EXPECT_EQ(fw(NVME_EVENT), 0u);
    fw(NVME_CSTS, 1);
    EXPECT_EQ(bench.hostRead(CSTS), 0u) << "RDY shows without CC.EN";
    bench.hostWrite(CC, 0x00460001);
    EXPECT_EQ(fw(NVME_EVENT), 1u << NVME_EVENT_CC_SHIFT);
    EXPECT_EQ(bench.hostRead(CSTS), 1u);
    fw(NVME_EVENT, 1);
    EXPECT_EQ(fw(NVME_EVENT), 0u);
    // Off and on again before the firmware looks: RDY stays off until the firmware has seen it.
    bench.hostWrite(CC, 0x00460000);
    bench.hostWrite(CC, 0x00460001);
    EXPECT_EQ(bench.hostRead(CSTS), 0u);
    fw(NVME_CSTS, 1);
    EXPECT_EQ(bench.hostRead(CSTS), 0u);
    fw(NVME_EVENT, 1);
    fw(NVME_CSTS, 1);
    EXPECT_EQ(bench.hostRead(CSTS), 1u);
    fw(NVME_CSTS, 0x9);
    EXPECT_EQ(bench.hostRead(CSTS), 9u);
    // RDY falls with the firmware's word, not with CC.EN.
    bench.hostWrite(CC, 0x00460000);
    EXPECT_EQ(bench.hostRead(CSTS), 9u);
    EXPECT_EQ(fw(NVME_CSTS), 8u);
    fw(NVME_EVENT, 1);
    fw(NVME_CSTS, 0);
    EXPECT_EQ(bench.hostRead(CSTS), 1u);
    fw(NVME_RESET_DONE, 1);
    EXPECT_EQ(bench.hostRead(CSTS), 0u);
    // A session that never was ready has nothing to end.
    bench.hostWrite(CC, 0x00460001);
    EXPECT_EQ(bench.hostRead(CSTS), 0u);
    bench.hostWrite(CC, 0x00460000);
    EXPECT_EQ(bench.hostRead(CSTS), 0u);
    fw(NVME_EVENT, 1);
    bench.hostWrite(CC, 0x00460001);
    fw(NVME_EVENT, 1);
    bench.hostWrite(0x20, 0x4e564d64);
    EXPECT_EQ(fw(NVME_EVENT), 0u);
    bench.hostWrite(0x20, 0x4e564d65);
    EXPECT_EQ(fw(NVME_EVENT), 1u << NVME_EVENT_NSSR_SHIFT);
}

TEST_F(Nvme, BadDoorbells) {
    create(1, 4, 4);
    const auto bad = [&](uint32_t addr, uint32_t value, uint8_t strb = 0xf) {
        bench.hostWrite(addr, value, strb);
        EXPECT_EQ(fw(NVME_EVENT), 1u << NVME_EVENT_BAD_DOORBELL_SHIFT) << std::hex << addr << " " << value;
        EXPECT_EQ(fw(NVME_BAD_DB), (addr - DOORBELL) / 4 | (value & 0xffff) << 16);
        fw(NVME_EVENT, 0xf);
        EXPECT_EQ(fw(NVME_EVENT), 0u);
    };
    bad(DOORBELL, 1);           // no admin queue
    bad(DOORBELL + 8 * 2, 1);   // no queue 2
    bad(DOORBELL + 8 * 9, 1);   // beyond the last queue
    bad(0x7ffc, 1);             //
    bad(DOORBELL + 8, 4);       // beyond the size
    bad(DOORBELL + 8, 0x10001); // reserved bits
    bad(DOORBELL + 8, 1, 0x1);  // half a register
    bad(DOORBELL + 12, 1);      // head beyond tail: nothing was posted
    bad(DOORBELL + 12, 4);
    EXPECT_EQ(fw(NVME_SQE_STATUS), 0u);
    EXPECT_EQ(fw(NVME_SQ_STATE), 0u);
    EXPECT_EQ(fw(NVME_CQ_STATE), 0u);
}

TEST_F(Nvme, QueueRegistersReadBack) {
    create(3, 7, 9);
    create(8, 256, 2, false);
    fw(NVME_QSEL, 3);
    EXPECT_EQ(fw(NVME_SQ_BASE_LO), static_cast<uint32_t>(queues[3].sqBase));
    EXPECT_EQ(fw(NVME_SQ_BASE_HI), static_cast<uint32_t>(queues[3].sqBase >> 32));
    EXPECT_EQ(fw(NVME_SQ_CFG), 0x80030006u);
    EXPECT_EQ(fw(NVME_CQ_CFG), 0x80130008u);
    fw(NVME_QSEL, 8);
    EXPECT_EQ(fw(NVME_CQ_BASE_LO), static_cast<uint32_t>(queues[8].cqBase));
    EXPECT_EQ(fw(NVME_CQ_CFG), 0x80080001u);
    fw(NVME_SQ_CFG, 0);
    EXPECT_EQ(fw(NVME_SQ_CFG), 0u);
    fw(NVME_QSEL, 9);
    fw(NVME_SQ_CFG, 0x80000001);
    EXPECT_EQ(fw(NVME_SQ_CFG), 0u);
    fw(NVME_QSEL, 3);
    EXPECT_EQ(fw(NVME_SQ_CFG), 0x80030006u);
}

// Random queues, many laps: every entry arrives once, in order, unharmed; every completion reaches its queue with the
// right phase.
TEST_F(Nvme, RandomCommands) {
    auto &rng = bench.rng;
    bench.xdma.hesitation = rng() % 70;
    std::vector<unsigned> ids;
    for (unsigned q = 0; q < 9; q++) {
        if (q == 0 || rng() % 3) {
            create(q, 2 + rng() % 20, 2 + rng() % 20, true);
            ids.push_back(q);
        }
    }
    std::vector<std::pair<unsigned, uint16_t>> open; // commands the firmware holds
    unsigned submitted = 0, completed = 0;
    const unsigned total = 1500;
    for (unsigned step = 0; completed < total; step++) {
        ASSERT_LT(step, 40000u) << submitted << " submitted, " << completed << " completed: stuck";
        const unsigned q = ids[rng() % ids.size()];
        HostQueue &h = queues[q];
        switch (rng() % 6) {
        case 0:
            if (submitted < total && !sqFull(h)) {
                for (unsigned n = 1 + rng() % 4; n > 0 && !sqFull(h) && submitted < total; n--) {
                    submit(q);
                    submitted++;
                }
                ring(q);
            }
            break;
        case 1:
        case 2: {
            uint16_t cid;
            const int from = take(cid);
            if (from >= 0) {
                open.emplace_back(from, cid);
            }
            break;
        }
        case 3:
        case 4:
            if (!open.empty() && fw(NVME_CQE_SPACE) > 0) {
                const size_t i = rng() % open.size();
                complete(open[i].first, open[i].second, rng());
                open.erase(open.begin() + static_cast<long>(i));
            }
            break;
        default: {
            bool any = false;
            for (unsigned n = rng() % 4; n > 0 && reap(q); n--) {
                any = true;
                completed++;
            }
            if (any) {
                ringCq(q);
            }
            bench.ticks(rng() % 20);
        }
        }
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_EQ(fw(NVME_EVENT), 0u);
    for (const unsigned q : ids) {
        EXPECT_TRUE(queues[q].outstanding.empty());
        EXPECT_GT(bench.interrupts[q], 0u);
    }
}

TEST_F(Nvme, FullCompletionQueueHoldsUpNobodyElse) {
    create(1, 8, 2);
    create(2, 8, 8);
    for (unsigned i = 0; i < 4; i++) {
        submit(1);
        submit(2);
    }
    ring(1);
    ring(2);
    std::vector<std::pair<unsigned, uint16_t>> open;
    ASSERT_TRUE(bench.until([&] {
        uint16_t cid;
        const int q = take(cid);
        if (q >= 0) {
            open.emplace_back(q, cid);
        }
        return open.size() == 8;
    }));
    std::stable_sort(open.begin(), open.end(), [](auto a, auto b) { return a.first < b.first; });
    for (const auto &[q, cid] : open) {
        complete(q, cid, cid);
    }
    for (unsigned i = 0; i < 4; i++) {
        ASSERT_TRUE(bench.until([&] { return reap(2); }, 2000)) << "completion " << i << " waits behind the full queue";
    }
    // Queue 1 holds one entry; each doorbell lets one more in, though the chip slept meanwhile.
    ASSERT_TRUE(reap(1));
    bench.top.io_firmware_sleeping = 1;
    for (unsigned i = 1; i < 4; i++) {
        bench.ticks(300);
        EXPECT_TRUE(bench.top.io_board_asleep);
        EXPECT_FALSE(reap(1));
        ringCq(1);
        ASSERT_TRUE(bench.until([&] { return reap(1); }, 2000));
    }
    bench.top.io_firmware_sleeping = 0;
    EXPECT_EQ(fw(NVME_CQE_SPACE), 8u);
}

TEST_F(Nvme, InterruptComesAfterItsCompletion) {
    for (unsigned q = 0; q < 4; q++) {
        create(q, 16, 16, q != 3);
    }
    bench.onInterrupt = [&](unsigned v) {
        uint32_t d3;
        const HostQueue &h = queues[v];
        std::memcpy(&d3, bench.xdma.at(h.cqBase + 16 * h.cqHead) + 12, 4);
        EXPECT_EQ(d3 >> 16 & 1, uint32_t(h.phase)) << "interrupt " << v << " before its completion";
    };
    for (unsigned i = 0; i < 24; i++) {
        const unsigned q = i % 4;
        submit(q);
        ring(q);
        uint16_t cid = 0;
        ASSERT_TRUE(bench.until([&] { return take(cid) >= 0; }, 2000));
        const unsigned before = bench.interrupts[q];
        complete(q, cid, i);
        if (q == 3) {
            ASSERT_TRUE(bench.until([&] { return reap(q); }, 2000));
            bench.ticks(100);
            EXPECT_EQ(bench.interrupts[q], 0u);
        } else {
            ASSERT_TRUE(bench.until([&] { return bench.interrupts[q] > before; }, 2000));
            ASSERT_TRUE(reap(q));
        }
        ringCq(q);
    }
}

TEST_F(Nvme, MaskedInterruptsWait) {
    create(1, 4, 4);
    bench.hostWrite(0x0c, 2);
    submit(1);
    ring(1);
    uint16_t cid = 0;
    ASSERT_TRUE(bench.until([&] { return take(cid) >= 0; }, 2000));
    complete(1, cid, 0);
    ASSERT_TRUE(bench.until([&] { return reap(1); }, 2000));
    bench.ticks(100);
    EXPECT_EQ(bench.interrupts[1], 0u);
    bench.hostWrite(0x10, 2);
    EXPECT_TRUE(bench.until([&] { return bench.interrupts[1] == 1; }, 100));
}

TEST_F(Nvme, AnInterruptIsHeldUntilAcknowledged) {
    create(1, 8, 8);
    bench.ackInterrupts = false;
    for (unsigned i = 0; i < 3; i++) {
        submit(1);
        ring(1);
        uint16_t cid = 0;
        ASSERT_TRUE(bench.until([&] { return take(cid) >= 0; }, 2000));
        complete(1, cid, i);
        ASSERT_TRUE(bench.until([&] { return reap(1); }, 2000));
    }
    bench.ticks(200);
    EXPECT_EQ(bench.top.io_board_irq_req, 2u);
    bench.ackInterrupts = true;
    // The ones raised meanwhile come as one more.
    ASSERT_TRUE(bench.until([&] { return bench.interrupts[1] == 2; }, 200));
    bench.ticks(200);
    EXPECT_EQ(bench.interrupts[1], 2u);
}

// Without MSI-X, INTA is high while a queue that interrupts holds what the host has not taken.
TEST_F(Nvme, IntxIsALevel) {
    bench.msix = false;
    create(1, 8, 8);
    create(2, 8, 8, false);
    const auto deliver = [&](unsigned q) {
        submit(q);
        ring(q);
        uint16_t cid = 0;
        ASSERT_TRUE(bench.until([&] { return take(cid) >= 0; }, 2000));
        complete(q, cid, q);
    };
    deliver(1);
    deliver(1);
    ASSERT_TRUE(bench.until([&] { return bench.intx() == 1; }, 2000));
    ASSERT_TRUE(bench.until([&] { return reap(1); }, 2000));
    ringCq(1);
    ASSERT_TRUE(bench.until([&] { return reap(1); }, 2000));
    bench.ticks(100);
    EXPECT_EQ(bench.intx(), 1) << "one entry is not taken yet";
    bench.hostWrite(0x0c, 1);
    ASSERT_TRUE(bench.until([&] { return bench.intx() == 0; }, 200)) << "INTMS masks it";
    bench.hostWrite(0x10, 1);
    ASSERT_TRUE(bench.until([&] { return bench.intx() == 1; }, 200));
    ringCq(1);
    ASSERT_TRUE(bench.until([&] { return bench.intx() == 0; }, 200));
    deliver(2);
    ASSERT_TRUE(bench.until([&] { return reap(2); }, 2000));
    bench.ticks(100);
    EXPECT_EQ(bench.intx(), 0) << "its interrupts are off";
    const unsigned before = bench.interrupts[0];
    deliver(1);
    ASSERT_TRUE(bench.until([&] { return bench.intx() == 1; }, 2000));
    EXPECT_EQ(bench.interrupts[0], before + 1);
    // A controller reset takes it back.
    bench.hostWrite(CC, 1);
    bench.hostWrite(CC, 0);
    ASSERT_TRUE(bench.until([&] { return bench.intx() == 0; }, 200));
    bench.msix = true;
    ASSERT_TRUE(bench.until([&] { return bench.top.io_board_asleep != 0; }, 2000) || bench.top.io_board_irq_req == 0);
    EXPECT_EQ(bench.top.io_board_irq_req, 0);
}

constexpr uint32_t CMBLOC = 0x38, CMBSZ = 0x3c, CMBMSC = 0x50, CMBSTS = 0x58, CMB = 0x200000;

TEST_F(Nvme, ControllerMemoryBufferIsMemory) {
    EXPECT_EQ(bench.hostRead(0x04) >> 25 & 1, 1u) << "CAP.CMBS";
    EXPECT_EQ(bench.hostRead(CMBLOC), 0u);
    EXPECT_EQ(bench.hostRead(CMBSZ), 0u);
    bench.hostWrite(CMBMSC, 1);
    EXPECT_EQ(bench.hostRead(CMBLOC), 0x200000u) << "BAR0, page 512";
    EXPECT_EQ(bench.hostRead(CMBSZ), 512u << 12 | 1) << "2 MiB, submission queues";
    bench.hostWrite(CMBMSC + 4, 0xFFFFFFFF);
    bench.hostWrite(CMBMSC, 0xFFE00003);
    EXPECT_EQ(bench.hostRead(CMBSTS), 0u);
    bench.hostWrite(CMBMSC, 0xFFE01FFF);
    EXPECT_EQ(bench.hostRead(CMBMSC), 0xFFE01003u);
    EXPECT_EQ(bench.hostRead(CMBSTS), 1u) << "past the end of the address space";

    std::vector<uint32_t> model(64);
    const std::vector<uint32_t> bases = {0, ASSASIN_DRAM_CMB_SIZE - 256};
    for (const uint32_t base : bases) {
        for (unsigned i = 0; i < 64; i++) {
            model[i] = bench.rng();
            bench.hostWrite(CMB + base + 4 * i, model[i]);
        }
        for (unsigned n = 0; n < 100; n++) {
            const unsigned i = bench.rng() % 64, strb = bench.rng() % 16;
            const uint32_t value = bench.rng();
            bench.hostWrite(CMB + base + 4 * i, value, static_cast<uint8_t>(strb));
            for (unsigned b = 0; b < 4; b++) {
                if (strb >> b & 1) {
                    model[i] = (model[i] & ~(0xFFu << 8 * b)) | (value & 0xFFu << 8 * b);
                }
            }
            const unsigned j = bench.rng() % 64;
            EXPECT_EQ(bench.hostRead(CMB + base + 4 * j), model[j]);
        }
        const std::vector<uint8_t> there = bench.deviceRead(ASSASIN_DRAM_CMB_BASE + base, 256);
        EXPECT_EQ(std::memcmp(there.data(), model.data(), 256), 0);
    }
    // between registers and buffer there is nothing
    bench.hostWrite(0x10014, 1);
    EXPECT_EQ(bench.hostRead(0x10014), 0u);
    EXPECT_EQ(bench.hostRead(CC), 0u);
}

// Queue 1 has its submission queue in the buffer, queue 2 in host memory; entries come in whatever order they are rung.
TEST_F(Nvme, EntriesFromTheControllerMemoryBuffer) {
    const uint64_t bus = 0x7A5500000ull;
    bench.hostWrite(CMBMSC, 1);
    bench.hostWrite(CMBMSC + 4, static_cast<uint32_t>(bus >> 32));
    bench.hostWrite(CMBMSC, static_cast<uint32_t>(bus) | 3);
    create(1, 16, 16);
    create(2, 16, 16);
    const uint32_t place = ASSASIN_DRAM_CMB_SIZE - 1024; // up to the last entry
    fw(NVME_QSEL, 1);
    fw(NVME_SQ_BASE_LO, static_cast<uint32_t>(bus + place));
    fw(NVME_SQ_BASE_HI, static_cast<uint32_t>((bus + place) >> 32));
    fw(NVME_SQ_CFG, 1u << NVME_SQ_CFG_EN_SHIFT | 1u << NVME_SQ_CFG_CQID_SHIFT | 15);
    unsigned done = 0, sent = 0;
    while (done < 200) {
        for (const unsigned q : {1u, 2u}) {
            for (unsigned n = bench.rng() % 4; n > 0 && sent < 200 && !sqFull(queues[q]); n--) {
                const unsigned slot = queues[q].sqTail;
                submit(q);
                sent++;
                if (q == 1) {
                    for (unsigned i = 0; i < 16; i++) {
                        uint32_t word;
                        std::memcpy(&word, &queues[1].sent.back()[4 * i], 4);
                        bench.hostWrite(CMB + place + 64 * slot + 4 * i, word);
                    }
                    // what lies in host memory is not looked at
                    std::memset(bench.xdma.at(queues[1].sqBase + 64 * slot), 0xEE, 64);
                }
            }
            ring(q);
        }
        uint16_t cid = 0;
        for (int q; (q = take(cid)) >= 0;) {
            complete(static_cast<unsigned>(q), cid, done++);
            bench.until([&] { return fw(NVME_CQE_SPACE) > 0; }, 2000);
        }
        for (const unsigned q : {1u, 2u}) {
            while (reap(q)) {
            }
            ringCq(q);
        }
    }
    EXPECT_EQ(done, 200u);
}

TEST_F(Nvme, CompletionForAbsentQueueIsDropped) {
    create(1, 4, 4);
    complete(5, 7, 0);
    ASSERT_TRUE(bench.until([&] { return fw(NVME_EVENT) != 0; }, 100));
    EXPECT_EQ(fw(NVME_EVENT), 1u << NVME_EVENT_DROPPED_CQE_SHIFT);
    EXPECT_EQ(fw(NVME_CQE_SPACE), 8u);
    fw(NVME_EVENT, 0xf);
    complete(200, 7, 0);
    ASSERT_TRUE(bench.until([&] { return fw(NVME_EVENT) != 0; }, 100));
    // A submission queue whose completion queue is gone.
    fw(NVME_EVENT, 0xf);
    fw(NVME_QSEL, 1);
    fw(NVME_CQ_CFG, 0);
    complete(1, 7, 0);
    ASSERT_TRUE(bench.until([&] { return fw(NVME_EVENT) != 0; }, 100));
}

// Entries on their way when their queue is deleted never show; those of others do.
TEST_F(Nvme, DeletedQueueDropsWhatIsOnItsWay) {
    for (unsigned round = 0; round < 20; round++) {
        create(1, 16, 16);
        create(2, 16, 16);
        bench.xdma.stalled = true;
        for (unsigned i = 0; i < 6; i++) {
            submit(1);
            submit(2);
        }
        ring(1);
        ring(2);
        bench.ticks(bench.rng() % 200);
        fw(NVME_QSEL, 1);
        fw(NVME_SQ_CFG, 0);
        queues[1].sent.clear();
        bench.xdma.stalled = false;
        unsigned seen = 0;
        bench.until(
            [&] {
                uint16_t cid;
                const int q = take(cid);
                EXPECT_NE(q, 1);
                seen += q == 2;
                return seen == 6 || HasFailure();
            },
            3000);
        ASSERT_EQ(seen, 6u);
        fw(NVME_QSEL, 1);
        EXPECT_EQ(fw(NVME_SQ_CFG) >> 31, 0u);
    }
}

// CC.EN falls at any moment; the controller comes up again and works, and nothing of before shows.
TEST_F(Nvme, ControllerResetInFlight) {
    for (unsigned round = 0; round < 60; round++) {
        bench.hostWrite(CC, 0x00460001);
        fw(NVME_EVENT, 0xf);
        for (unsigned q = 0; q < 3; q++) {
            create(q, 4 + bench.rng() % 12, 4 + bench.rng() % 4);
        }
        fw(NVME_CSTS, 1);
        ASSERT_EQ(bench.hostRead(CSTS), 1u);
        std::vector<std::pair<unsigned, uint16_t>> open;
        for (unsigned step = bench.rng() % 30; step > 0; step--) {
            const unsigned q = bench.rng() % 3;
            uint16_t cid;
            switch (bench.rng() % 3) {
            case 0:
                if (!sqFull(queues[q])) {
                    submit(q);
                    ring(q);
                }
                break;
            case 1: {
                const int from = take(cid);
                if (from >= 0) {
                    open.emplace_back(from, cid);
                }
                break;
            }
            default:
                if (!open.empty() && fw(NVME_CQE_SPACE)) {
                    complete(open.back().first, open.back().second, 1);
                    open.pop_back();
                }
            }
        }
        bench.xdma.stalled = bench.rng() % 2;
        bench.ticks(bench.rng() % 60);
        bench.hostWrite(CC, 0x00460000);
        ASSERT_EQ(bench.hostRead(CSTS), 1u);
        bench.ticks(bench.rng() % 4);
        ASSERT_EQ(fw(NVME_SQE_STATUS) >> 31, 0u) << "an old entry shows";
        fw(NVME_SQE_POP, 1);
        fw(NVME_RESET_DONE, 1);
        if (bench.xdma.stalled && !bench.xdma.idle()) {
            ASSERT_EQ(bench.hostRead(CSTS), 1u) << "RDY is 0 with entries or completions under way";
        }
        bench.xdma.stalled = false;
        if (bench.rng() % 2) {
            ASSERT_TRUE(bench.until([&] { return bench.hostRead(CSTS) == 0; }, 2000)) << "RDY stays 1";
            ASSERT_TRUE(bench.xdma.idle()) << "RDY is 0 with transfers under way";
        }
        const auto before = bench.interrupts;
        fw(NVME_EVENT, 0xf);
        // New queues at once, while old transfers are still under way.
        bench.hostWrite(CC, 0x00460001);
        fw(NVME_EVENT, 0xf);
        create(1, 6, 6);
        fw(NVME_CSTS, 1);
        for (unsigned i = 0; i < 5; i++) {
            submit(1);
        }
        ring(1);
        for (unsigned i = 0; i < 5; i++) {
            uint16_t cid = 0;
            ASSERT_TRUE(bench.until([&] { return take(cid) == 1; }, 2000)) << "round " << round;
            complete(1, cid, cid);
        }
        for (unsigned i = 0; i < 5; i++) {
            ASSERT_TRUE(bench.until([&] { return reap(1); }, 3000)) << "round " << round;
        }
        ASSERT_EQ(queues[1].sqHead, 5u);
        bench.ticks(200);
        EXPECT_GT(bench.interrupts[1], before[1]);
        ASSERT_EQ(fw(NVME_CQE_SPACE), 8u);
        ASSERT_FALSE(HasFailure());
        bench.hostWrite(CC, 0x00460000);
        queues.clear();
    }
}

// A read command's data are in host memory before its completion, without the firmware waiting for the data.
TEST_F(Nvme, CompletionNeverOvertakesItsData) {
    create(1, 16, 16);
    bench.onInterrupt = nullptr;
    unsigned done = 0;
    for (unsigned i = 0; i < 40; i++) {
        const uint32_t length = 64 + bench.rng() % 1500;
        const uint64_t target = XdmaModel::HOST_BASE + 0xf00000 + bench.rng() % 4096;
        std::vector<uint8_t> data(length);
        for (unsigned k = 0; k < length; k++) {
            data[k] = *bench.dram.at(DramModel::BASE + k) = static_cast<uint8_t>(bench.rng());
        }
        submit(1);
        ring(1);
        uint16_t cid = 0;
        ASSERT_TRUE(bench.until([&] { return take(cid) == 1; }, 2000));
        dma(HDMA_HOST_LO, static_cast<uint32_t>(target));
        dma(HDMA_HOST_HI, static_cast<uint32_t>(target >> 32));
        dma(HDMA_DEV, DramModel::BASE);
        dma(HDMA_C2H_PUSH, length);
        complete(1, cid, i);
        ASSERT_TRUE(bench.until([&] { return reap(1); }, 10000));
        ASSERT_EQ(std::memcmp(bench.xdma.at(target), data.data(), length), 0) << "completion before its data";
        ringCq(1);
        done++;
        ASSERT_EQ(dma(HDMA_C2H_DONE), done);
    }
}

TEST_F(Nvme, HostDmaMovesAnything) {
    auto &rng = bench.rng;
    EXPECT_EQ(dma(HDMA_SPACE), 0x20101010u);
    unsigned h2c = 0, c2h = 0;
    for (unsigned round = 0; round < 12; round++) {
        struct Job {
            uint64_t host;
            uint32_t dev, bytes;
            bool in;
        };
        std::vector<Job> jobs;
        std::vector<uint8_t> expectHost(1 << 18), expectDev(1 << 18);
        const uint64_t hostBase = XdmaModel::HOST_BASE + 0x800000;
        const uint32_t devBase = round % 3 == 2 ? 0x1000u : DramModel::BASE + 0x10000;
        const unsigned count = 1 + rng() % 12;
        for (unsigned i = 0; i < count; i++) {
            const uint32_t bytes = 1 + rng() % 6000;
            jobs.push_back(
                {hostBase + 8192 * i + rng() % 64, devBase + 8192 * i + uint32_t(rng() % 64), bytes, rng() % 2 == 0});
        }
        std::vector<std::vector<uint8_t>> data;
        for (const Job &j : jobs) {
            std::vector<uint8_t> d(j.bytes);
            for (uint8_t &b : d) {
                b = static_cast<uint8_t>(rng());
            }
            if (j.in) {
                std::copy(d.begin(), d.end(), bench.xdma.at(j.host));
            } else {
                bench.deviceWrite(j.dev, d);
            }
            data.push_back(d);
        }
        for (const Job &j : jobs) {
            dma(HDMA_HOST_LO, static_cast<uint32_t>(j.host));
            dma(HDMA_HOST_HI, static_cast<uint32_t>(j.host >> 32));
            dma(HDMA_DEV, j.dev);
            dma(j.in ? HDMA_H2C_PUSH : HDMA_C2H_PUSH, j.bytes);
            (j.in ? h2c : c2h)++;
        }
        ASSERT_TRUE(bench.until([&] { return dma(HDMA_H2C_DONE) == h2c && dma(HDMA_C2H_DONE) == c2h; }, 20000));
        for (size_t i = 0; i < jobs.size(); i++) {
            if (jobs[i].in) {
                ASSERT_EQ(bench.deviceRead(jobs[i].dev, jobs[i].bytes), data[i]);
            } else {
                ASSERT_EQ(std::memcmp(bench.xdma.at(jobs[i].host), data[i].data(), data[i].size()), 0);
            }
        }
        EXPECT_EQ(dma(HDMA_SPACE), 0x20101010u);
        EXPECT_NE(dma(HDMA_EVENT), 0u);
        dma(HDMA_EVENT, 0xf);
        EXPECT_EQ(dma(HDMA_EVENT), 0u);
    }
    // A queue fills up and says so.
    bench.xdma.stalled = true;
    for (unsigned i = 0; i < 64 && (dma(HDMA_SPACE) & 0xff) > 0; i++) {
        dma(HDMA_H2C_PUSH, 4);
        h2c++;
    }
    EXPECT_EQ(dma(HDMA_SPACE) & 0xff, 0u);
    bench.xdma.stalled = false;
    ASSERT_TRUE(bench.until([&] { return dma(HDMA_H2C_DONE) == h2c; }, 20000));
    bench.top.io_firmware_sleeping = 1;
    bench.ticks(40);
    EXPECT_TRUE(bench.top.io_board_asleep);
}

TEST_F(Nvme, CopiesReachCores) {
    std::map<unsigned, std::vector<Beat>> got;
    bench.arrived = [&](unsigned port, const Beat &b) { got[port].push_back(b); };
    for (unsigned i = 0; i < 4096; i++) {
        *bench.dram.at(DramModel::BASE + 0x2000 + i) = static_cast<uint8_t>(bench.rng());
    }
    dma(HDMA_COPY_SRC, DramModel::BASE + 0x2000);
    dma(HDMA_COPY_DST, 0x12340u & ~7u | 2u << HDMA_COPY_DST_CORE_SHIFT);
    dma(HDMA_COPY_PUSH, 200);
    dma(HDMA_COPY_DST, 0x12340u | 3u << HDMA_COPY_DST_CORE_SHIFT | 5u << HDMA_COPY_DST_STREAM_ID_SHIFT |
                           1u << HDMA_COPY_DST_STREAM_SHIFT);
    dma(HDMA_COPY_POS, 0x10000);
    dma(HDMA_COPY_PUSH, 4096);
    // A core that does not exist: ends without doing anything.
    dma(HDMA_COPY_DST, 9u << HDMA_COPY_DST_CORE_SHIFT);
    dma(HDMA_COPY_PUSH, 64);
    ASSERT_TRUE(bench.until([&] { return dma(HDMA_COPY_DONE) == 3; }, 2000));
    EXPECT_EQ(dma(HDMA_EVENT), 1u << HDMA_EVENT_COPY_SHIFT);
    ASSERT_EQ(got[2].size(), 25u);
    ASSERT_EQ(got[3].size(), 512u);
    EXPECT_EQ(got.size(), 2u);
    for (unsigned i = 0; i < 512; i++) {
        const Beat &b = got[3][i];
        uint64_t word;
        std::memcpy(&word, bench.dram.at(DramModel::BASE + 0x2000 + 8 * i), 8);
        ASSERT_EQ(b.data, word);
        ASSERT_EQ(b.addr, 0x10000 + i / 8 * 64);
        ASSERT_TRUE(b.toStream);
        ASSERT_EQ(b.stream, 5);
        ASSERT_EQ(b.mark, i >= 504);
    }
    EXPECT_EQ(got[2][0].addr, 0x12340u);
    EXPECT_FALSE(got[2][0].toStream);
    EXPECT_EQ(got[2][24].bytes, 8);
}

TEST_F(Nvme, FillsWithZeros) {
    std::memset(bench.dram.at(DramModel::BASE), 0xaa, 65536);
    dma(HDMA_FILL_DST, DramModel::BASE + 128);
    dma(HDMA_FILL_PUSH, 4096);
    EXPECT_EQ(dma(HDMA_FILL_BUSY), 1u);
    ASSERT_TRUE(bench.until([&] { return dma(HDMA_FILL_BUSY) == 0; }, 5000));
    for (unsigned i = 0; i < 8192; i++) {
        ASSERT_EQ(*bench.dram.at(DramModel::BASE + i), i >= 128 && i < 128 + 4096 ? 0 : 0xaa) << i;
    }
}

TEST_F(Nvme, ParityIsTheExclusiveOrOfPages) {
    constexpr uint32_t PAGE = 4096, PAGES = 24, SOURCES = DramModel::BASE, RESULTS = DramModel::BASE + PAGES * PAGE;
    for (unsigned i = 0; i < PAGES * PAGE; i++) {
        *bench.dram.at(SOURCES + i) = static_cast<uint8_t>(bench.rng());
    }
    std::memset(bench.dram.at(RESULTS), 0xaa, PAGES * PAGE);
    std::vector<uint8_t> held(PAGE), memory(2 * PAGES * PAGE);
    std::memcpy(memory.data(), bench.dram.at(SOURCES), memory.size());
    // Channels read and packets go to DRAM meanwhile.
    unsigned stores = 0;
    for (unsigned n = 0; n < 300; n++) {
        if (bench.rng() % 4 == 0) {
            bench.fetch(bench.rng() % CHANNELS, SOURCES + 64 * (bench.rng() % 512), 1 + bench.rng() % 4096);
        }
        ASSERT_TRUE(bench.until([&] { return dma(HDMA_SPACE) >> HDMA_SPACE_PARITY_SHIFT > 0; }, 20000));
        // Sources and results alike: a load sees the store before it.
        const uint32_t at = bench.rng() % (2 * PAGES) * PAGE;
        if (bench.rng() % 5 == 0) {
            std::copy(held.begin(), held.end(), memory.begin() + at);
            std::fill(held.begin(), held.end(), 0);
            dma(HDMA_PARITY_STORE, SOURCES + at);
            stores++;
        } else {
            for (unsigned i = 0; i < PAGE; i++) {
                held[i] ^= memory[at + i];
            }
            dma(HDMA_PARITY_LOAD, SOURCES + at);
        }
        bench.ticks(bench.rng() % 2 ? 0 : bench.rng() % 2000);
    }
    ASSERT_TRUE(bench.until([&] { return dma(HDMA_PARITY_DONE) == stores; }, 100000));
    EXPECT_EQ(std::memcmp(bench.dram.at(SOURCES), memory.data(), memory.size()), 0);
    EXPECT_EQ(dma(HDMA_EVENT), 1u << HDMA_EVENT_PARITY_SHIFT);
    dma(HDMA_EVENT, 1u << HDMA_EVENT_PARITY_SHIFT);
    EXPECT_EQ(dma(HDMA_EVENT), 0u);
    bench.top.io_firmware_sleeping = 1;
    EXPECT_TRUE(bench.until([&] { return bench.top.io_board_asleep; }, 20000));
}

// Cycles that it takes to combine eight pages with what is in memory: the reads follow each other without a gap.
TEST_F(Nvme, ParityTakesABeatACycle) {
    bench.dram.hesitation = 0;
    const uint64_t from = bench.now;
    for (unsigned i = 0; i < 9; i++) {
        dma(HDMA_PARITY_LOAD, DramModel::BASE + 4096 * i);
    }
    dma(HDMA_PARITY_STORE, DramModel::BASE);
    ASSERT_TRUE(bench.until([&] { return dma(HDMA_PARITY_DONE) == 1; }, 20000));
    EXPECT_LT(bench.now - from, 11u * 512);
}

// The firmware is put into reset at any moment of a fill and of what the parity engine does: afterwards both work.
TEST_F(Nvme, FirmwareResetEndsFillsAndParity) {
    constexpr uint32_t PAGE = 4096;
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = 0; i < 4 * PAGE; i++) {
            *bench.dram.at(DramModel::BASE + i) = static_cast<uint8_t>(bench.rng());
        }
        dma(HDMA_FILL_DST, DramModel::BASE + 8 * PAGE);
        dma(HDMA_FILL_PUSH, 2 * PAGE);
        dma(HDMA_PARITY_LOAD, DramModel::BASE);
        dma(HDMA_PARITY_LOAD, DramModel::BASE + PAGE);
        dma(HDMA_PARITY_STORE, DramModel::BASE + 10 * PAGE);
        dma(HDMA_PARITY_LOAD, DramModel::BASE);
        bench.ticks(bench.rng() % 3000);
        bench.hostWrite(BAR_CTRL + CTRL_RESET, 1);
        bench.ticks(bench.rng() % 2 ? 0 : bench.rng() % 100);
        bench.release();
        std::memset(bench.dram.at(DramModel::BASE + 4 * PAGE), 0xaa, 4 * PAGE);
        dma(HDMA_FILL_DST, DramModel::BASE + 5 * PAGE);
        dma(HDMA_FILL_PUSH, PAGE);
        dma(HDMA_PARITY_LOAD, DramModel::BASE + 2 * PAGE);
        dma(HDMA_PARITY_LOAD, DramModel::BASE + 3 * PAGE);
        dma(HDMA_PARITY_STORE, DramModel::BASE + 6 * PAGE);
        ASSERT_TRUE(bench.until([&] { return dma(HDMA_FILL_BUSY) == 0 && dma(HDMA_PARITY_DONE) == 1; }, 20000))
            << "round " << round;
        for (unsigned i = 0; i < PAGE; i++) {
            const uint8_t *at = bench.dram.at(DramModel::BASE + i);
            ASSERT_EQ(at[4 * PAGE], 0xaa);
            ASSERT_EQ(at[5 * PAGE], 0);
            ASSERT_EQ(at[6 * PAGE], at[2 * PAGE] ^ at[3 * PAGE]);
            ASSERT_EQ(at[7 * PAGE], 0xaa);
        }
    }
}

TEST_F(Nvme, FirmwareResetDropsItsTransfers) {
    create(1, 8, 8);
    bench.xdma.stalled = true;
    for (unsigned i = 0; i < 10; i++) {
        dma(HDMA_HOST_HI, 1);
        dma(HDMA_DEV, DramModel::BASE);
        dma(HDMA_C2H_PUSH, 64);
        dma(HDMA_H2C_PUSH, 64);
    }
    submit(1);
    ring(1);
    bench.hostWrite(BAR_CTRL + CTRL_RESET, 1);
    bench.ticks(10);
    // The host is still served.
    EXPECT_EQ(bench.hostRead(0x08), 0x00010400u);
    bench.hostWrite(DOORBELL + 8, 1);
    bench.release();
    bench.xdma.stalled = false;
    bench.ticks(2000);
    EXPECT_EQ(dma(HDMA_C2H_DONE), 0u);
    EXPECT_EQ(dma(HDMA_H2C_DONE), 0u);
    EXPECT_EQ(dma(HDMA_EVENT), 0u);
    EXPECT_EQ(fw(NVME_SQE_STATUS) >> 31, 0u);
    dma(HDMA_DEV, DramModel::BASE);
    dma(HDMA_C2H_PUSH, 64);
    ASSERT_TRUE(bench.until([&] { return dma(HDMA_C2H_DONE) == 1; }, 2000));
}

TEST_F(Nvme, ReportsAnXdmaThatStops) {
    bench.xdma.stalled = true;
    dma(HDMA_HOST_HI, 1);
    dma(HDMA_DEV, DramModel::BASE);
    dma(HDMA_C2H_PUSH, 64);
    bench.ticks(50);
    bench.xdma.stop = true;
    ASSERT_TRUE(bench.until([&] { return dma(HDMA_EVENT) == 1u << HDMA_EVENT_ERROR_SHIFT; }, 100));
}

} // namespace
