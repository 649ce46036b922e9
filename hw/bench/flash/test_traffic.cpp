// SPDX-License-Identifier: BSD-3-Clause
#include "Support.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace flashbench;
using assasin::SectorStatus;

namespace {

unsigned statusOf(SectorStatus status) {
    switch (status) {
    case SectorStatus::Erased:
        return FLASH_STATUS_ERASED;
    case SectorStatus::Uncorrectable:
        return FLASH_STATUS_UNCORRECTABLE;
    case SectorStatus::Mismatch:
        return FLASH_STATUS_MISMATCH;
    case SectorStatus::Foreign:
        return FLASH_STATUS_FOREIGN;
    case SectorStatus::Misdirected:
        return FLASH_STATUS_MISDIRECTED;
    default:
        return FLASH_STATUS_OK;
    }
}

/**
 * Random programs, reads and erases on all ways, with bit errors in what the array brings. What a read must end with,
 * the codec in software says of the very bytes that the page register held.
 */
class Traffic : public assasin::NandFaults {
  public:
    Traffic(FlashBench &bench, unsigned blocks) : b(bench), blocks_(blocks) {
        b.eachTick = [this] { consume(); };
        b.faults = this;
        for (unsigned i = 0; i < 512; i++)
            buffers_.push_back(kDramBase + i * 0x4000);
    }

    void run(unsigned operations) {
        unsigned issued = 0;
        while (issued < operations || !open_.empty()) {
            if (issued < operations && open_.size() < 200 && issue())
                issued++;
            Completion c;
            while (b.pop(c))
                complete(c);
            b.ticks(b.below(300));
            if (++idle_ > 10000) {
                std::string under;
                for (auto &[die, tags] : order_)
                    for (unsigned tag : tags)
                        if (open_.count(tag)) {
                            const Open &o = open_[tag];
                            under += "\n  way " + std::to_string(die >> 1) + ", LUN " + std::to_string(die & 1) +
                                     ": operation " + std::to_string(o.d.op) + " of sector " + std::to_string(o.d.w1) +
                                     ", confirm " + std::to_string(o.d.confirm) +
                                     (o.d.stream ? ", core " + std::to_string(o.d.core) + ", stream " +
                                                       std::to_string(o.d.streamId) + ", position " +
                                                       std::to_string(o.position)
                                                 : "");
                        }
                throw BenchError("traffic does not go on; under way, in the order of the queues:" + under);
            }
        }
        b.eachTick = nullptr;
        b.faults = &b.noFaults;
    }

    void onRead(const assasin::NandAddress &at, uint8_t *raw, unsigned bytes) override {
        const unsigned codeword = 1028 + b.codec->parityBytes(), t = b.codec->t();
        for (unsigned c = 0; c < 4 * b.sectors() && !b.chance(30); c++) {
            unsigned count = b.chance(50) ? 0 : b.chance(2) ? t + 1 + b.below(3) : b.below(std::min(t, 9u) + 1);
            if (b.chance(5))
                count = t;
            while (count--) {
                unsigned bit = b.below(8 * codeword);
                raw[c * codeword + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
            }
        }
        arrays_[at.way << 1 | at.lun].push_back(
            {b.row(at.lun, at.block, at.page), erased_[blockOf(at)], std::vector<uint8_t>(raw, raw + bytes)});
        arrayReads++;
    }

    bool eraseFails(const assasin::NandAddress &at) override {
        erased_[blockOf(at)]++;
        return false;
    }

    unsigned programs = 0, reads = 0, streamReads = 0, erases = 0, arrayReads = 0, corrected = 0, pairs = 0, whole = 0;
    std::map<unsigned, unsigned> statuses;

  private:
    struct Open {
        Descriptor d;
        uint64_t key = 0;
        bool erased = false;
        uint32_t position = 0; // of the stream, in sectors
        uint32_t buffer = 0;   // where there is one
        unsigned erases = 0;   // of its block before
    };
    struct Array {
        uint32_t row;
        unsigned erases; // of the block before
        std::vector<uint8_t> raw;
    };
    using Page = std::vector<uint64_t>; // keys of its programmed sectors

    /** DRAM for a sector, until the descriptor that names it is complete. */
    uint32_t takeBuffer() {
        if (buffers_.empty())
            throw BenchError("more sectors under way than buffers");
        const uint32_t address = buffers_.front();
        buffers_.pop_front();
        return address;
    }

    bool push(Open open) {
        open.d.tag = tag_;
        idle_ = 0;
        b.push(open.d);
        open_[tag_] = open;
        order_[dieOf(open.d)].push_back(tag_);
        tag_ = (tag_ + 1) % 4096;
        return true;
    }

    using Block = std::pair<unsigned, uint32_t>; // way and row
    Block blockOf(const assasin::NandAddress &at) const {
        return {at.way, b.row(at.lun, at.block, 0)};
    }

    /** Way and LUN whose descriptors run in order. */
    unsigned dieOf(const Descriptor &d) const {
        const bool row = d.op == FLASH_OP_READ || d.op == FLASH_OP_PROGRAM || d.op == FLASH_OP_ERASE;
        return d.way << 1 | (row ? d.w1 >> b.sectorLog2 >> b.part.geometry.lunShift() & 1 : 0);
    }

    bool issue() {
        const auto &g = b.part.geometry;
        Open open;
        open.d.way = b.below(kWays);
        const unsigned lun = b.below(g.luns), number = b.below(blocks_);
        if (b.space(open.d.way, lun) < b.sectors() + 2 || open_.count((tag_ + 10) % 4096))
            return false;
        if (++asked_ % 64 == 0) { // nothing else runs on the way then
            if (b.space(open.d.way) == 0)
                return false;
            open.d.op = FLASH_OP_GET_FEATURE;
            open.d.w1 = 0x01;
            whole++;
            return push(open);
        }
        std::vector<Page> &block = mirror_[open.d.way][b.row(lun, number, 0)];
        const unsigned dice = b.below(100);
        if (!block.empty() && dice < 4) {
            open.d.op = FLASH_OP_ERASE;
            open.d.w1 = b.sector(lun, number, b.below(g.pagesPerBlock), b.below(b.sectors()));
            block.clear();
            erasesPushed_[{open.d.way, b.row(lun, number, 0)}]++;
            erases++;
            return push(open);
        }
        if (block.size() < g.pagesPerBlock && dice < 40) {
            const unsigned count = 1 + b.below(b.sectors()), page = block.size();
            block.emplace_back();
            for (unsigned s = 0; s < count; s++) {
                open.d.op = FLASH_OP_PROGRAM;
                open.d.w1 = b.sector(lun, number, page, s);
                open.d.w2 = open.buffer = takeBuffer();
                open.d.bytes = kSector;
                open.d.confirm = s + 1 < count ? FLASH_CONFIRM_MORE : FLASH_CONFIRM_PAGE;
                open.key = b.random();
                open.d.oob0 = static_cast<uint32_t>(open.key);
                open.d.oob1 = static_cast<uint32_t>(open.key >> 32);
                b.fillDram(open.d.w2, pattern(open.key));
                block.back().push_back(open.key);
                push(open);
                programs++;
            }
            return true;
        }
        // Mostly what has been programmed.
        const unsigned page = b.below(std::min<unsigned>(g.pagesPerBlock, block.size() + b.chance(15)) + block.empty());
        const unsigned first = page < block.size() && b.chance(85) ? b.below(block[page].size()) : b.below(b.sectors());
        // One sector, or several of the page, now and then with a gap.
        const unsigned last = b.chance(50) ? first : b.below(b.sectors());
        if (g.planes > 1 && b.chance(25)) { // the page of the other plane comes with it
            Open other = open;
            other.d.op = FLASH_OP_READ;
            other.d.w1 = b.sector(lun, number ^ 1, page, b.below(b.sectors()));
            other.d.w2 = kDramBase;
            other.d.bytes = kSector;
            other.d.confirm = FLASH_CONFIRM_PLANE;
            push(other);
            pairs++;
            readSector(open, lun, number, page, first, block);
            const std::vector<Page> &others = mirror_[open.d.way][b.row(lun, number ^ 1, 0)];
            readSector(open, lun, number ^ 1, page, other.d.w1 & (b.sectors() - 1), others);
            return true;
        }
        for (unsigned s = first; s <= std::max(first, last); s += 1 + b.chance(25))
            readSector(open, lun, number, page, s, block);
        return true;
    }

    void readSector(Open open, unsigned lun, unsigned number, unsigned page, unsigned s,
                    const std::vector<Page> &block) {
        open.d.op = FLASH_OP_READ;
        open.d.w1 = b.sector(lun, number, page, s);
        open.d.bytes = b.chance(20) ? 1 + b.below(kSector) : kSector;
        open.erases = erasesPushed_[{open.d.way, b.row(lun, number, 0)}];
        open.erased = page >= block.size() || s >= block[page].size();
        open.key = open.erased ? 0 : block[page][s];
        open.d.check = b.chance(50);
        open.d.fresh = b.chance(5);
        open.d.oob0 = static_cast<uint32_t>(open.key) ^ (b.chance(3) ? 4 : 0);
        if (b.chance(50)) {
            open.d.stream = true;
            open.d.core = anyCore(b.below(kCores));
            open.d.streamId = b.below(kStreams);
            open.position = pushed_[open.d.core][open.d.streamId]++;
            open.d.w2 = open.position * kSector;
            streamReads++;
        } else {
            open.d.stream = false;
            open.d.w2 = open.buffer = takeBuffer();
            b.fillDram(open.d.w2, std::vector<uint8_t>(kSector, 0xEE));
            reads++;
        }
        push(open);
    }

    void complete(const Completion &c) {
        idle_ = 0;
        if (!open_.count(c.tag))
            throw BenchError("completion of an unknown tag");
        Open open = open_[c.tag];
        open_.erase(c.tag);
        auto &order = order_[dieOf(open.d)];
        if (order.empty() || order.front() != c.tag)
            throw BenchError("completions of way " + std::to_string(c.way) + " out of order");
        order.pop_front();
        if (open.buffer)
            buffers_.push_back(open.buffer);
        if (open.d.op == FLASH_OP_READ && open.d.confirm == FLASH_CONFIRM_PAGE)
            return completeRead(c, open);
        if (c.status != FLASH_STATUS_OK)
            throw BenchError("status " + std::to_string(c.status) + " of op " + std::to_string(open.d.op));
    }

    /** What the codec says of this sector in one of the pages that the LUN's array brought since its last read. Which
     * one counts, if they are several, is known by the completion: programs of the other LUN decide about it. */
    assasin::Sector expect(const Completion &c, const Open &open) {
        std::deque<Array> &arrays = arrays_[dieOf(open.d)];
        const uint32_t row = open.d.w1 >> b.sectorLog2, sector = open.d.w1 & (b.sectors() - 1);
        std::optional<uint32_t> check;
        if (open.d.check)
            check = open.d.oob0;
        assasin::Sector last;
        bool found = false;
        for (size_t i = 0; i < arrays.size(); i++) {
            if (arrays[i].row != row || arrays[i].erases != open.erases)
                continue;
            last = b.codec->decode(open.d.w1, b.setting, &arrays[i].raw[sector * b.codec->sectorBytes()], check);
            found = true;
            if (c.status == statusOf(last.status) && c.bits == last.bits() && c.errors == last.mostErrors() &&
                c.failed == last.failed()) {
                // Two planes' pages come together: the one before may still be asked for.
                arrays.erase(arrays.begin(), arrays.begin() + static_cast<std::ptrdiff_t>(i > 0 ? i - 1 : 0));
                break;
            }
        }
        if (!found)
            throw BenchError("a read without the array read that belongs to it");
        return last;
    }

    void completeRead(const Completion &c, const Open &open) {
        const assasin::Sector expected = expect(c, open);
        const unsigned status = statusOf(expected.status);
        if (open.erased != (status == FLASH_STATUS_ERASED) && status != FLASH_STATUS_UNCORRECTABLE &&
            status != FLASH_STATUS_MISMATCH)
            throw BenchError("an erased sector is none, or the other way round");
        statuses[status]++;
        if (c.status != status)
            throw BenchError("status " + std::to_string(c.status) + " of a read, " + std::to_string(status) +
                             " expected");
        if (c.errors != expected.mostErrors() || c.bits != expected.bits() || c.failed != expected.failed())
            throw BenchError("code: " + std::to_string(c.errors) + " " + std::to_string(c.bits) + " " +
                             std::to_string(c.failed) + " where " + std::to_string(expected.mostErrors()) + " " +
                             std::to_string(expected.bits()) + " " + std::to_string(expected.failed()) +
                             " belong, status " + std::to_string(status));
        corrected += c.bits;
        std::vector<uint8_t> data; // nothing
        if (status == FLASH_STATUS_OK) {
            if ((c.data0 | uint64_t(c.data1) << 32) != open.key)
                throw BenchError("OOB words differ");
            data = pattern(open.key);
            if (!std::equal(data.begin(), data.end(), expected.data.begin()))
                throw BenchError("codec and mirror differ");
        } else if (open.d.check && c.data1 != open.d.oob0) {
            throw BenchError("a read that failed does not name its OOB0");
        }
        data.resize(data.empty() ? 0 : open.d.bytes);
        if (open.d.stream) {
            auto &ring = b.rings[open.d.core][open.d.streamId];
            if (data.empty()) { // what the firmware would put in its place
                if (ring.filling.count(open.position) || ring.complete.count(open.position))
                    throw BenchError("a read that failed delivered to its stream");
                ring.complete[open.position] = {};
            }
            delivered_[open.d.core][open.d.streamId][open.position] = data;
            check_(open.d.core, open.d.streamId);
            return;
        }
        data.resize(kSector, 0xEE);
        if (b.dram(open.d.w2, kSector) != data)
            throw BenchError("data of tag " + std::to_string(c.tag) + " differ");
    }

    /** A completed sector has wholly arrived, even when it was consumed before its completion was read. */
    void check_(unsigned core, unsigned stream) {
        auto &ring = b.rings[core][stream];
        auto &expected = delivered_[core][stream];
        for (auto it = expected.begin(); it != expected.end(); it = expected.erase(it)) {
            auto &sectors = consumed_[core][stream];
            const std::vector<uint8_t> *got = nullptr;
            if (sectors.count(it->first))
                got = &sectors[it->first];
            else if (ring.complete.count(it->first))
                got = &ring.complete[it->first];
            if (!got)
                throw BenchError("a stream sector completed before it was delivered");
            if (*got != it->second)
                throw BenchError("data of a stream sector differ");
            sectors.erase(it->first);
        }
    }

    /** Cores consume whole sectors in order, now and then. */
    void consume() {
        if (b.below(50))
            return;
        unsigned core = anyCore(b.below(kCores)), stream = b.below(kStreams);
        auto &ring = b.rings[core][stream];
        auto it = ring.complete.find(ring.head);
        if (it != ring.complete.end()) {
            consumed_[core][stream][ring.head] = it->second;
            ring.complete.erase(it);
            ring.head++;
        }
    }

    FlashBench &b;
    unsigned blocks_;
    std::map<unsigned, std::map<uint32_t, std::vector<Page>>> mirror_; // by way and row of the block
    std::map<unsigned, std::deque<Array>> arrays_;                     // by die, in the order of the reads
    std::map<Block, unsigned> erased_, erasesPushed_;
    std::map<unsigned, Open> open_;
    std::map<unsigned, std::deque<unsigned>> order_;
    std::map<unsigned, std::map<unsigned, uint32_t>> pushed_;
    std::map<unsigned, std::map<unsigned, std::map<uint32_t, std::vector<uint8_t>>>> delivered_, consumed_;
    std::deque<uint32_t> buffers_; // free ones
    unsigned tag_ = 0;
    unsigned asked_ = 0;
    unsigned idle_ = 0;
};

struct Weather {
    unsigned outReady = 100, phyLatency = 4;
    bool skip = false;
    double nsPerCycle = 1.0;
    unsigned code = 0; ///< of CODE_INFO; 0: the strongest that the part holds
};

void traffic(const assasin::PartFile &part, const Weather &w, unsigned operations) {
    FlashBench b(part, seed(), w.nsPerCycle, w.phyLatency);
    b.boot();
    if (w.code)
        b.setCode(w.code);
    b.outReadyPercent = w.outReady;
    b.fetchReadyPercent = 50;
    b.skipSleep = w.skip;
    Traffic t(b, 2);
    t.run(operations);
    std::printf("    t = %u, %u sectors a page: %u programs, %u reads and %u stream reads (%u of the page register), "
                "%u erases, %u pairs of planes, %u bits corrected in %llu cycles (%llu slept)\n      statuses",
                b.codec->t(), b.sectors(), t.programs, t.reads, t.streamReads,
                t.reads + t.streamReads + t.pairs - t.arrayReads, t.erases, t.pairs, t.corrected,
                static_cast<unsigned long long>(b.now), static_cast<unsigned long long>(b.slept));
    for (auto [status, count] : t.statuses)
        std::printf(" %u: %u", status, count);
    std::printf("\n");
    // `run` compares them of a channel with and without clock gates.
    testing::Test::RecordProperty("shown", std::to_string(b.now) + " cycles, digest " + std::to_string(b.digest));
    EXPECT_LE(t.arrayReads, t.reads + t.streamReads + t.pairs);
    EXPECT_GT(t.pairs, operations / 20);
    EXPECT_GT(t.whole, 0u);
    EXPECT_GT(t.programs, operations / 10);
    EXPECT_GT(t.streamReads, operations / 10);
    EXPECT_GT(t.statuses[FLASH_STATUS_OK], operations / 10);
    EXPECT_GT(t.statuses[FLASH_STATUS_ERASED], 0u);
    if (b.sectors() > 1)
        EXPECT_LT(t.arrayReads + operations / 20, t.reads + t.streamReads + t.pairs);
}

} // namespace

TEST(Random, FreeCrossbar) {
    traffic(testPart(), {}, 600);
}
TEST(Random, FreeCrossbarLargePages) {
    traffic(largePart(), {}, 400);
}
TEST(Random, WeakestCode) {
    if (FlashBench(testPart(), seed()).readReg(FLASH_CODE_INFO + 4) == 0)
        GTEST_SKIP() << "no code";
    traffic(testPart(), {.code = 1}, 500);
}
TEST(Random, BusyCrossbarAndLongPhy) {
    traffic(largePart(), {.outReady = 10, .phyLatency = 15}, 300);
}
TEST(Random, ShortPhyHalfBusy) {
    traffic(testPart(), {.outReady = 60, .phyLatency = 1}, 400);
}
TEST(Random, ClockStopsWhileAsleep) {
    traffic(largePart(), {.phyLatency = 3, .skip = true}, 300);
}
TEST(Random, SlowClock) {
    traffic(largePart(), {.outReady = 90, .phyLatency = 5, .nsPerCycle = 10.0}, 500);
}
