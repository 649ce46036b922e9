// SPDX-License-Identifier: BSD-3-Clause
// The data memory of Baseline and Prefetch (L1, L2, stager, drain, prefetcher) against a plain memory: random loads and
// stores on few sets, pages staged into the input rings, raw and program data, drains, restarts, all at the same time.
// Usage: cache_cosim SEED ROUNDS
#include <cinttypes>
#include <cstring>
#include <memory>

#include "VCachedMemory.h"
#include "tile_dram.h"

using namespace cosim;

namespace {

constexpr uint32_t kInput = 0x10000, kOutput = 0x20000, kHeap = 0x30000;
constexpr unsigned kPageLog2 = 9, kPage = 1u << kPageLog2;

class Run {
  public:
    explicit Run(uint64_t s) : seed(s), rng(s), dram(top, rng), memory(dram.bytes) {
    }
    bool go(unsigned accesses);

    struct {
        uint64_t loads, stores, staged, raw, drained, restarts, misses, l2_misses, prefetches, cycles;
    } count{};

  private:
    uint32_t rnd(uint32_t n) {
        return static_cast<uint32_t>(rng() % n);
    }
    bool chance(unsigned percent) {
        return rnd(100) < percent;
    }
    bool bad(const char *what, uint64_t got, uint64_t expected) {
        std::printf("FAILED seed %" PRIu64 " cycle %" PRIu64 ": %s is 0x%" PRIx64 ", expected 0x%" PRIx64 "\n", seed,
                    cycle, what, got, expected);
        return failed = true;
    }

    void tick();
    void core();
    void stage();
    void drain();
    bool settle();
    void reset();
    void restart();
    void raw();
    uint32_t pick();
    bool locked(uint32_t addr, bool store) const;

    uint64_t seed;
    std::mt19937_64 rng;
    VCachedMemory top;
    TileDram<VCachedMemory> dram;
    std::vector<uint8_t> memory; ///< as the program sees it
    uint64_t cycle = 0, progress = 0;
    bool failed = false, quiet = false;

    // Core
    bool asked = false, offered = false;
    uint32_t addr = 0, data = 0, stride = 4, run_addr = 0;
    unsigned size = 0, burst = 0, hot = 0, idle_percent = 30;
    bool store = false;
    std::vector<uint32_t> pool;
    // What is drained has just been stored, and lines of its sets come into L1 while L2 looks for it there.
    bool crowd = false;
    unsigned drain_wait = 0;     ///< cycles until it begins
    uint32_t last_out = kOutput; ///< where the output rings have been stored to last

    // Stager: a page on its way to stream `stage_stream`.
    unsigned s_log2 = 0;
    uint32_t ring = 0;
    bool staging = false, marked = false;
    unsigned stage_stream = 0, stage_percent = 50;
    uint32_t stage_pos = 0, stage_at = 0;
    uint32_t tails[8] = {};
    std::vector<uint8_t> page;

    // Drain
    bool draining = false, expect = false;
    unsigned drain_stream = 0, drain_percent = 50;
    uint32_t drain_pos = 0, drain_end = 0, expect_at = 0, gap = 0;
};

uint32_t offset_of(uint32_t base, unsigned stream, uint32_t pos, uint32_t ring) {
    return base + stream * ring + pos % ring;
}

void Run::tick() {
    dram.drive(cycle);
    top.clock = 0;
    top.eval();
    // Answers of this cycle belong to what was asked before it.
    if (top.io_dmem_resp_valid) {
        if (!asked)
            bad("answer without request", 1, 0);
        asked = false;
        progress = cycle;
        if (top.io_dmem_resp_bits_err)
            bad("fault", 1, 0);
        if (!store) {
            const uint32_t mask = size == 2 ? ~0u : (1u << (8u << size)) - 1;
            uint32_t want = 0;
            std::memcpy(&want, &memory[addr], 1u << size);
            const uint32_t got = top.io_dmem_resp_bits_rdata >> (8 * (addr & 3)) & mask;
            if (got != want)
                bad("loaded value", got, want), std::printf("  at 0x%x\n", addr);
            count.loads++;
        } else {
            std::memcpy(&memory[addr], &data, 1u << size);
            if (addr >= kOutput && addr < kOutput + 0x10000)
                last_out = addr;
            count.stores++;
        }
    }
    if (expect) {
        for (unsigned k = 0; k < 8 && expect_at % 8 + k < 8; k++) {
            const uint8_t got = static_cast<uint8_t>(top.io_drain_data >> (8 * k));
            if (got != memory[expect_at + k])
                bad("drained byte", got, memory[expect_at + k]), std::printf("  at 0x%x\n", expect_at + k);
        }
        expect = false;
    }
    core();
    top.eval();
    if (top.io_dmem_req_valid && top.io_dmem_req_ready) {
        asked = true;
        offered = false;
    }
    stage();
    drain();
    top.eval();
    if (top.io_beat_valid && top.io_beat_ready) {
        stage_at += 8;
        progress = cycle;
    }
    if (top.io_drain_req_valid && top.io_drain_req_ready) {
        expect = true;
        expect_at = offset_of(kOutput, drain_stream, drain_pos, ring);
        drain_pos += 8;
        progress = cycle;
    }
    dram.sample(cycle);
    count.misses += top.io_counts_l1Miss;
    count.l2_misses += top.io_counts_l2Miss;
    count.prefetches += top.io_counts_prefetched;
    top.clock = 1;
    top.eval();
    cycle++;
    if (cycle - progress > 20000)
        bad("cycles without progress", cycle - progress, 0);
}

// Lines that are being staged are not the program's; bytes that are being drained are not to be changed.
bool Run::locked(uint32_t a, bool writes) const {
    if (staging) {
        const uint32_t at = offset_of(kInput, stage_stream, stage_pos, ring);
        if (a >= at && a < at + kPage)
            return true;
    }
    if (draining && writes) {
        const uint32_t from = offset_of(kOutput, drain_stream, 0, ring);
        if (a >= from && a < from + ring)
            return true;
    }
    return false;
}

uint32_t Run::pick() {
    if (burst) {
        burst--;
        run_addr += stride;
        return run_addr % ASSASIN_DRAM_TILES_SIZE;
    }
    if (crowd && !draining && chance(40))
        return kOutput + ((last_out & ~63u) + 64 * rnd(3) + rnd(64)) % 0x10000;
    if (crowd && draining && drain_wait < 10 && chance(80)) {
        // More lines than L1 has ways and fewer than L2 has: the fill ends when L2 turns to the drain.
        const uint32_t line = (offset_of(kOutput, drain_stream, drain_pos, ring) >> 6) + rnd(2);
        return (kHeap & ~0xfffu) + (rnd(12) << 12 | (line & 63) << 6 | rnd(64));
    }
    switch (rnd(12)) {
    case 0: // a run with one instruction
        burst = 8 + rnd(60);
        stride = 4u << rnd(6);
        run_addr = (chance(50) ? kInput : kHeap) + 64 * rnd(1024);
        hot = rnd(8);
        return run_addr;
    case 1:
        return rnd(ASSASIN_DRAM_TILES_SIZE);
    case 2:
        return kInput + rnd(0x10000);
    case 3:
        return kOutput + rnd(0x10000);
    default:
        return pool[rnd(static_cast<uint32_t>(pool.size()))] + rnd(64);
    }
}

void Run::core() {
    if (!offered) {
        top.io_dmem_req_valid = 0;
        if (asked || quiet || chance(idle_percent))
            return;
        size = rnd(3);
        store = chance(40);
        addr = pick() & ~((1u << size) - 1);
        if (locked(addr, store)) {
            burst = 0;
            return;
        }
        data = static_cast<uint32_t>(rng());
        offered = true;
    }
    // What is offered while the last access is not answered waits, as in the core.
    if (asked) {
        top.io_dmem_req_valid = 0;
        return;
    }
    top.io_dmem_req_valid = 1;
    const uint32_t base = addr < 0x30000 && (addr >> 3 & 1) ? ASSASIN_CORE_SPAD_BASE : ASSASIN_CORE_DATA_BASE;
    top.io_dmem_req_bits_addr = base + addr;
    top.io_dmem_req_bits_write = store;
    top.io_dmem_req_bits_size = static_cast<uint8_t>(size);
    top.io_dmem_req_bits_mask = static_cast<uint8_t>(((1u << (1u << size)) - 1) << (addr & 3));
    top.io_dmem_req_bits_wdata = size == 2 ? data : size == 1 ? (data & 0xffff) * 0x10001u : (data & 0xff) * 0x1010101u;
    top.io_pc = 4 * (burst ? hot : 8 + rnd(100));
}

void Run::stage() {
    top.io_beat_valid = 0;
    if (!staging) {
        if (quiet || !chance(stage_percent))
            return;
        stage_stream = rnd(1u << s_log2);
        stage_pos = tails[stage_stream];
        stage_at = 0;
        const uint32_t first = offset_of(kInput, stage_stream, stage_pos, ring);
        if ((asked || offered) && addr >= first && addr < first + kPage)
            return;
        for (auto &b : page)
            b = static_cast<uint8_t>(rng());
        staging = true;
        return;
    }
    if (stage_at < kPage) {
        // A packet begins when the source holds all of it, so it comes without gaps.
        if (stage_at % 64 == 0 && !top.io_beat_valid && chance(30))
            return;
        top.io_beat_valid = 1;
        top.io_beat_bits_addr = stage_pos + stage_at;
        top.io_beat_bits_toStream = 1;
        top.io_beat_bits_toSpad = 0;
        top.io_beat_bits_stream = static_cast<uint8_t>(stage_stream);
        std::memcpy(&top.io_beat_bits_data, &page[stage_at], 8);
        top.io_beat_bits_bytes = 8;
        top.io_beat_bits_last = stage_at % 64 == 56;
        top.io_beat_bits_mark = stage_at >= kPage - 64;
        return;
    }
    // The Tail says that the page is there.
    top.io_pointers_inPeek_stream = static_cast<uint8_t>(stage_stream);
    top.eval();
    if (top.io_pointers_inPeek_tail == stage_pos + kPage) {
        std::memcpy(&memory[offset_of(kInput, stage_stream, stage_pos, ring)], page.data(), kPage);
        tails[stage_stream] += kPage;
        staging = false;
        count.staged++;
    }
}

void Run::drain() {
    top.io_drain_req_valid = 0;
    top.io_between = !draining || drain_wait != 0;
    if (!draining) {
        // Stores to the rings have ended before a drain of them begins.
        if (gap) {
            gap--;
            return;
        }
        if (quiet || !chance(drain_percent))
            return;
        drain_stream = crowd ? (last_out - kOutput) / ring : rnd(1u << s_log2);
        const uint32_t first = offset_of(kOutput, drain_stream, 0, ring);
        if ((asked || offered) && store && addr >= first && addr < first + ring)
            return;
        draining = true;
        drain_pos = crowd ? (last_out - kOutput) % ring & ~63u : 8 * rnd(4 * ring / 8);
        drain_end = drain_pos + 8 * (1 + rnd(crowd ? 20 : 100));
        drain_wait = crowd ? 300 : 0; // stores have ended, their lines included
        return;
    }
    if (drain_wait != 0) {
        drain_wait--;
        return;
    }
    if (drain_pos >= drain_end) {
        draining = false;
        gap = 1 + rnd(200);
        count.drained++;
        return;
    }
    if (chance(20))
        return;
    top.io_drain_req_valid = 1;
    top.io_drain_req_bits_stream = static_cast<uint8_t>(drain_stream);
    top.io_drain_req_bits_pos = drain_pos;
}

// Lets everything end.
bool Run::settle() {
    quiet = true;
    for (unsigned still = 0; still < 40 && !failed;) {
        tick();
        still = top.io_busy || asked || offered || staging || draining || !dram.idle() ? 0 : still + 1;
    }
    quiet = false;
    return !failed;
}

void Run::reset() {
    top.reset = 1;
    std::memset(tails, 0, sizeof tails);
    top.io_hartId = 0;
    top.io_run = 1;
    top.io_soft_grain = 1;
    top.io_pointers_clear = 0;
    s_log2 = rnd(4);
    ring = 0x10000u >> s_log2;
    top.io_partition_sLog2 = static_cast<uint8_t>(s_log2);
    top.io_partition_pageLog2 = kPageLog2;
    top.io_partition_ringMask = static_cast<uint16_t>(ring - 1);
    top.io_partition_pageMask = kPage - 1;
    top.io_partition_pages = static_cast<uint8_t>(ring / kPage);
    quiet = true;
    for (int i = 0; i < 4; i++)
        tick();
    top.reset = 0;
    tick();
    quiet = false;
    page.resize(kPage);
}

// What the program has left in the caches is gone.
void Run::restart() {
    if (!settle())
        return;
    top.io_start = 1;
    quiet = true;
    for (progress = cycle; !top.io_ready && !failed;)
        tick();
    top.io_start = 0;
    for (int i = 0; i < 3; i++)
        tick();
    quiet = false;
    memory = dram.bytes;
    progress = cycle;
    count.restarts++;
}

// Program data, and the input buffer by offset, while the program rests. Any length, any multiple of 8 as address, if
// the program has changed nothing since a restart; whole lines at any time, for changed lines are dropped.
void Run::raw() {
    const bool whole = chance(50);
    if (whole)
        settle();
    else
        restart();
    quiet = true;
    const bool spad = chance(50);
    top.io_run = spad ? 0 : 1;
    for (unsigned packets = 1 + rnd(20); packets && !failed; packets--) {
        const uint32_t bytes = whole ? 64 : 1 + rnd(64), to = whole ? 64 * rnd(1024) : 8 * rnd((0x10000 - 64) / 8);
        for (uint32_t at = 0; at < bytes && !failed;) {
            tick();
            top.io_beat_valid = 1;
            uint64_t word = rng();
            top.io_beat_bits_addr = (spad ? ASSASIN_XB_SPAD_BASE : ASSASIN_XB_ISB_BASE) + to + at;
            top.io_beat_bits_toStream = 0;
            top.io_beat_bits_toSpad = spad;
            top.io_beat_bits_data = word;
            const uint32_t valid = bytes - at < 8 ? bytes - at : 8;
            top.io_beat_bits_bytes = static_cast<uint8_t>(valid);
            top.io_beat_bits_last = at + 8 >= bytes;
            top.io_beat_bits_mark = 1; // means nothing here
            std::memcpy(&memory[(spad ? 0 : kInput) + to + at], &word, valid);
            // Held until it is taken. `tick` would take it for a page.
            for (bool taken = false; !taken;) {
                dram.drive(cycle);
                top.clock = 0;
                top.eval();
                taken = top.io_beat_ready;
                dram.sample(cycle);
                top.clock = 1;
                top.eval();
                cycle++;
            }
            top.io_beat_valid = 0;
            at += 8;
        }
        count.raw++;
    }
    progress = cycle;
    settle();
    top.io_run = 1;
}

bool Run::go(unsigned accesses) {
    reset();
    memory = dram.bytes;
    // The reset cleared nothing in the caches' memories: start as the tile does.
    restart();
    dram.hesitation = rnd(40);
    dram.read_latency = 1 + rnd(100);
    dram.write_latency = 1 + rnd(100);
    dram.jitter = 1 + rnd(60);
    idle_percent = rnd(2) ? rnd(80) : 0;
    stage_percent = rnd(60);
    drain_percent = rnd(60);
    crowd = seed % 2;
    // Lines of few sets of L1, and of L2.
    const unsigned sets = 1 + rnd(6), lines = 20 + rnd(200);
    for (unsigned i = 0; i < lines; i++)
        pool.push_back(((rnd(256) << 6) + (rnd(2) ? 5 : rnd(sets))) << 6 & (ASSASIN_DRAM_TILES_SIZE - 1));
    while (!failed && count.loads + count.stores < accesses) {
        tick();
        if (rnd(30000) == 0)
            raw();
        if (rnd(60000) == 0)
            restart();
    }
    settle();
    // All of it, once.
    idle_percent = 0;
    quiet = true;
    for (uint32_t at = 0; at < ASSASIN_DRAM_TILES_SIZE && !failed; at += 4 * (1 + rnd(12))) {
        addr = at;
        size = 2;
        store = false;
        offered = true;
        while (!failed && (offered || asked))
            tick();
    }
    count.cycles = cycle;
    return !failed;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: cache_cosim SEED ROUNDS\n");
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 10);
    const unsigned rounds = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
    unsigned passed = 0, failed = 0;
    for (unsigned i = 0; i < rounds; i++) {
        const auto run = std::make_unique<Run>(seed + i);
        (run->go(30000) ? passed : failed)++;
        const auto &c = run->count;
        std::printf("cache_cosim seed %" PRIu64 ": %" PRIu64 " loads, %" PRIu64 " stores, %" PRIu64 " pages, %" PRIu64
                    " raw packets, %" PRIu64 " drains, %" PRIu64 " restarts; misses L1 %" PRIu64 ", L2 %" PRIu64
                    "; prefetches %" PRIu64 "; %" PRIu64 " cycles\n",
                    seed + i, c.loads, c.stores, c.staged, c.raw, c.drained, c.restarts, c.misses, c.l2_misses,
                    c.prefetches, c.cycles);
        std::fflush(stdout);
    }
    std::printf("cache_cosim: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
