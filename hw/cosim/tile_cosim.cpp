// SPDX-License-Identifier: BSD-3-Clause
// The memory architectures other than AssasinSb as programs see them: windows, software stream pointers, caches, cycle
// costs. One source for all tiles; TILE_ARCH is a value of CoreArch. Usage: tile_cosim SEED ROUNDS
#include <algorithm>
#include <array>
#include <cstring>

#include "bench.h"
#include "check.h"
#include "rv_asm.h"

using namespace cosim;
using namespace rv;

namespace {

constexpr bool kStreams = TILE_ARCH == CORE_ARCH_SB_CACHE; // else software pointers
constexpr bool kCached = TILE_ARCH != CORE_ARCH_SP;        // has CORE_DATA
constexpr bool kSpad = TILE_ARCH == CORE_ARCH_SP || kStreams;
constexpr uint32_t kRegion = 0x100000;

Checks checks;

void li(std::vector<Word> &code, unsigned rd, uint32_t value) {
    const int32_t low = static_cast<int32_t>(value << 20) >> 20;
    code.push_back(lui(rd, value - static_cast<uint32_t>(low)));
    code.push_back(addi(rd, rd, low));
}

bool run_program(Bench &b, const std::vector<Word> &code, uint64_t limit = 2000000) {
    b.write(CORE_CTRL, 0);
    b.load_program(code);
    b.commits.clear();
    b.start(0);
    return b.wait_stop(limit);
}

uint32_t cause(Bench &b) {
    return b.read(CORE_STATUS) >> CORE_STATUS_CAUSE_SHIFT & CORE_STATUS_CAUSE_MASK;
}

// ---- Faults and CSRs -----------------------------------------------------------------------------------------------

void trap(const char *name, const std::vector<Word> &code, uint32_t expected, uint32_t tval) {
    Bench b(1);
    checks.test = name;
    checks.is_true("stops", run_program(b, code));
    checks.equal("state", b.state(), CORE_STATE_TRAPPED);
    checks.equal("cause", cause(b), expected);
    checks.equal("tval", b.read(CORE_TVAL), tval);
}

void test_traps() {
    const auto at = [](uint32_t base, Word access) { return std::vector<Word>{lui(5, base), access}; };
    trap("load below", at(ASSASIN_CORE_SPAD_BASE, load(4, 6, 5, -1)), 5, ASSASIN_CORE_SPAD_BASE - 1);
    const uint32_t end = ASSASIN_CORE_SPAD_BASE + (kStreams ? 0x10000 : 0x30000);
    trap("load above", at(end, lw(6, 5, 0)), 5, end);
    trap("store above", at(end, sw(6, 5, 0)), 7, end);
    trap("misaligned", at(ASSASIN_CORE_SPAD_BASE, load(2, 6, 5, 2)), 4, ASSASIN_CORE_SPAD_BASE + 2);
    if (kCached) {
        trap("load above DATA", at(ASSASIN_CORE_DATA_BASE + kRegion, lw(6, 5, 0)), 5, ASSASIN_CORE_DATA_BASE + kRegion);
        trap("store below DATA", at(ASSASIN_CORE_DATA_BASE, sw(6, 5, -4)), 7, ASSASIN_CORE_DATA_BASE - 4);
        trap("misaligned in DATA", at(ASSASIN_CORE_DATA_BASE, store(1, 6, 5, 1)), 6, ASSASIN_CORE_DATA_BASE + 1);
    } else {
        trap("no DATA", at(ASSASIN_CORE_DATA_BASE, lw(6, 5, 0)), 5, ASSASIN_CORE_DATA_BASE);
    }
    const auto illegal = [](const char *name, Word word) { trap(name, {word}, 2, word); };
    if (kStreams) {
        illegal("IHEADW", csrr(5, ASSASIN_CSR_IHEADW));
        illegal("IWAIT", csrr(5, ASSASIN_CSR_IWAIT));
        illegal("SGRAIN", csrr(5, ASSASIN_CSR_SGRAIN));
    } else {
        illegal("StreamLoad", stream_load(4, 5, 0));
        illegal("StreamStore", stream_store(2, 5, 0));
        illegal("ReadIStream", stream_readi(4, 5, 0, 6));
        illegal("SEPILOGUE", csrr(5, ASSASIN_CSR_SEPILOGUE));
        illegal("IHEADW of stream 1 of 1", csrw(ASSASIN_CSR_IHEADW + 1, 5));
        illegal("OWAIT of stream 1 of 1", csrr(5, ASSASIN_CSR_OWAIT + 1));
        illegal("IHEAD is read-only", csrw(ASSASIN_CSR_IHEAD, 5));
        illegal("IWAIT is read-only", csrw(ASSASIN_CSR_IWAIT, 5));
        illegal("behind STREAMCFG", csrr(5, ASSASIN_CSR_STREAMCFG + 1));
    }
}

void test_pointers() {
    if (kStreams)
        return;
    Bench b(2);
    checks.test = "pointers";
    b.partition(1, 12);
    std::vector<Word> code{csrr(10, ASSASIN_CSR_SGRAIN), csrr(11, ASSASIN_CSR_STREAMCFG), addi(5, 0, 72)};
    code.insert(code.end(), {csrrw(12, ASSASIN_CSR_OHEADW + 1, 5), csrr(13, ASSASIN_CSR_OHEADW + 1),
                             csrr(14, ASSASIN_CSR_OHEAD + 1), csrr(15, ASSASIN_CSR_OWAIT + 1)});
    li(code, 6, 4096);
    code.insert(code.end(), {csrw(ASSASIN_CSR_SGRAIN, 6), csrr(16, ASSASIN_CSR_IWAIT), csrw(ASSASIN_CSR_IHEADW, 6),
                             csrr(17, ASSASIN_CSR_IEND), csrr(18, ASSASIN_CSR_IWAIT), ecall});
    b.write(CORE_CTRL, 0);
    b.load_program(code);
    b.start(0);
    b.run(1000);
    checks.equal("waits for input", b.read(CORE_STATUS) & 0xff, CORE_STATE_RUNNING | 1u << CORE_STATUS_WAIT_IN_SHIFT);
    b.write(CORE_ITAIL, 4092);
    b.run(100);
    checks.equal("still", b.state(), CORE_STATE_RUNNING);
    b.write(CORE_ITAIL, 4096);
    b.run(100);
    checks.equal("waits for the end", b.state(), CORE_STATE_RUNNING);
    checks.equal("IHEAD register", b.read(CORE_IHEAD), 4096);
    checks.equal("room", b.top.io_room_0, 1 + 8);
    b.write(CORE_IEND, 4096 + 40);
    b.write(CORE_IEND_VALID, 1);
    b.run(100);
    checks.equal("the rest has not come", b.state(), CORE_STATE_RUNNING);
    b.write(CORE_ITAIL, 8192);
    checks.is_true("stops", b.wait_stop(1000));
    std::array<uint32_t, 32> x{};
    for (const Commit &c : b.commits)
        if (c.wen)
            x[c.rd] = c.wdata;
    checks.equal("SGRAIN", x[10], 1);
    checks.equal("STREAMCFG", x[11], 15 << 8 | 2);
    checks.equal("old OHEAD", x[12], 0);
    checks.equal("OHEADW", x[13], 72);
    checks.equal("OHEAD", x[14], 72);
    checks.equal("OWAIT", x[15], 0x8000);
    checks.equal("IWAIT", x[16], 4096);
    checks.equal("IEND unknown", x[17], 0xffffffff);
    checks.equal("IWAIT at the end", x[18], 4096 + 40);
    checks.is_true("WAIT_IN counted", b.read(CORE_WAIT_IN_CYCLES_LO) > 700);
    // Full output: one byte less than SGRAIN free.
    b.partition(0, 12);
    code.clear();
    li(code, 6, 4096);
    li(code, 7, 0x10000 - 4095);
    code.insert(code.end(),
                {csrw(ASSASIN_CSR_SGRAIN, 6), csrw(ASSASIN_CSR_OHEADW, 7), csrr(10, ASSASIN_CSR_OWAIT), ecall});
    b.write(CORE_CTRL, 0);
    b.load_program(code);
    b.start(0);
    b.run(1000);
    checks.equal("waits for room", b.read(CORE_STATUS) & 0xff, CORE_STATE_RUNNING | 1u << CORE_STATUS_WAIT_OUT_SHIFT);
    checks.equal("OUT_READY", b.read(CORE_OUT_READY), 1);
    b.write(CORE_OTAIL, 0x10001);
    checks.is_true("stops", b.wait_stop(1000));
    checks.equal("OWAIT read", b.read(CORE_EXIT_CODE), 0x10001);
    checks.is_true("WAIT_OUT counted", b.read(CORE_WAIT_OUT_CYCLES_LO) > 500);
}

// ---- Random loads and stores ---------------------------------------------------------------------------------------

// What the program can reach, by offset: of the region, or of the windows on the chip.
struct Window {
    uint32_t address, offset, size;
};

bool random_accesses(uint64_t seed) {
    Bench b(seed);
    std::mt19937_64 rng(seed);
    const auto rnd = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
#ifdef TILE_DRAM
    b.dram.read_latency = 1 + rnd(80);
    b.dram.hesitation = rnd(40);
    std::vector<uint8_t> region = b.dram.bytes;
#else
    std::vector<uint8_t> region(kRegion);
#endif
    std::vector<uint8_t> spad(0x10000);
    for (auto &byte : spad)
        byte = static_cast<uint8_t>(rng());
    b.load(ASSASIN_XB_SPAD_BASE, spad.data(), spad.size());
    std::vector<uint8_t> &small = kStreams ? spad : region; // behind CORE_SPAD
    std::copy(spad.begin(), spad.end(), small.begin());
    if (!kStreams) {
        std::vector<uint8_t> input(0x10000);
        for (auto &byte : input)
            byte = static_cast<uint8_t>(rng());
        b.load(ASSASIN_XB_ISB_BASE, input.data(), input.size());
        std::copy(input.begin(), input.end(), region.begin() + 0x10000);
        if (TILE_ARCH == CORE_ARCH_SP) // the output buffer takes it as well
            std::copy(input.begin(), input.end(), region.begin() + 0x20000);
    }
    std::vector<Window> windows{{ASSASIN_CORE_SPAD_BASE, 0, 0x10000}};
    if (!kStreams)
        windows.insert(windows.end(),
                       {{ASSASIN_CORE_ISB_BASE, 0x10000, 0x10000}, {ASSASIN_CORE_OSB_BASE, 0x20000, 0x10000}});
    if (kCached)
        windows.insert(windows.end(), {{ASSASIN_CORE_DATA_BASE, 0, kRegion}, {ASSASIN_CORE_DATA_BASE, 0, kRegion}});

    // x1..x9 data; x10..x13 bases.
    std::vector<Word> code;
    for (unsigned i = 1; i < 10; i++)
        li(code, i, static_cast<uint32_t>(rng()));
    struct Access {
        uint32_t pc;
        unsigned f3;
        bool store, spad;
        uint32_t offset, rs2, rd;
    };
    std::vector<Access> accesses;
    std::array<uint32_t, 4> base{};
    std::array<Window, 4> in{};
    const unsigned hot = rnd(64);
    while (code.size() < 8000) {
        const unsigned k = rnd(4);
        if (base[k] == 0 || rnd(8) == 0) {
            in[k] = windows[rnd(static_cast<uint32_t>(windows.size()))];
            // Half of them in one set of L1, far apart.
            uint32_t at = 4096 + rnd(in[k].size - 8192);
            if (rnd(2))
                at = (at & ~0xfffu) | hot << 6;
            base[k] = in[k].address + (at & ~3u);
            li(code, 10 + k, base[k]);
        }
        const bool store = rnd(100) < 40;
        static const unsigned loads[] = {0, 1, 2, 4, 5};
        const unsigned f3 = store ? rnd(3) : loads[rnd(5)];
        const int32_t imm =
            (static_cast<int32_t>(rnd(rnd(4) ? 64 : 4096)) - (rnd(4) ? 0 : 2048)) & ~((1 << (f3 & 3)) - 1);
        if (imm > 2047 || imm < -2048)
            continue;
        const unsigned reg = 1 + rnd(9);
        Access a{};
        a.pc = static_cast<uint32_t>(code.size()) * 4;
        a.f3 = f3;
        a.store = store;
        a.spad = kStreams && in[k].address == ASSASIN_CORE_SPAD_BASE;
        a.offset = base[k] + static_cast<uint32_t>(imm) - in[k].address + in[k].offset;
        a.rs2 = a.rd = reg;
        accesses.push_back(a);
        code.push_back(store ? rv::store(f3, reg, 10 + k, imm) : load(f3, reg, 10 + k, imm));
        if (rnd(4) == 0)
            code.push_back(add(1 + rnd(9), 1 + rnd(9), 1 + rnd(9)));
    }
    code.push_back(ecall);
    if (!run_program(b, code) || b.state() != CORE_STATE_EXITED) {
        std::printf("FAILED random accesses, seed %" PRIu64 ": state %u cause %u\n", seed, b.state(), cause(b));
        return false;
    }
    std::array<uint32_t, 32> x{};
    size_t next = 0;
    for (const Commit &c : b.commits) {
        if (next < accesses.size() && c.pc == accesses[next].pc) {
            const Access &a = accesses[next++];
            std::vector<uint8_t> &memory = a.spad ? spad : region;
            const unsigned width = 1u << (a.f3 & 3);
            if (a.store) {
                std::memcpy(&memory[a.offset], &x[a.rs2], width);
            } else {
                uint32_t value = 0;
                std::memcpy(&value, &memory[a.offset], width);
                if (a.f3 < 2)
                    value = static_cast<uint32_t>(static_cast<int32_t>(value << (32 - 8 * width)) >> (32 - 8 * width));
                if (c.wdata != value) {
                    std::printf("FAILED random accesses, seed %" PRIu64
                                ": pc 0x%x loads 0x%x, expected 0x%x (offset 0x%x)\n",
                                seed, c.pc, c.wdata, value, a.offset);
                    return false;
                }
            }
        }
        if (c.wen)
            x[c.rd] = c.wdata;
    }
    return next == accesses.size();
}

// ---- Streams: what a program with software pointers does
// ---------------------------------------------------------------

uint32_t value_at(uint64_t seed, uint32_t pos) {
    uint64_t h = (seed ^ pos) * 0x9e3779b97f4a7c15u;
    return static_cast<uint32_t>(h >> 24);
}

// out = in * 5 + 1, word by word, from input stream s to output stream t.
std::vector<Word> copy_program(unsigned s, unsigned t, uint32_t ring, uint32_t grain, bool cached) {
    const uint32_t base = cached ? ASSASIN_CORE_DATA_BASE + 0x10000 : ASSASIN_CORE_ISB_BASE;
    std::vector<Word> code;
    li(code, 14, ring - 1);
    li(code, 15, base + s * ring);
    li(code, 16, base + 0x10000 + t * ring);
    li(code, 17, grain);
    // x10 input position, x11 its limit, x12 and x13 of the output.
    code.insert(code.end(),
                {csrw(ASSASIN_CSR_SGRAIN, 17), addi(10, 0, 0), addi(11, 0, 0), addi(12, 0, 0), addi(13, 0, 0)});
    const size_t loop = code.size();
    code.push_back(bne(10, 11, 16));
    code.insert(code.end(), {csrw(ASSASIN_CSR_IHEADW + s, 10), csrr(11, ASSASIN_CSR_IWAIT + s)});
    const size_t end = code.size();
    code.push_back(0); // beq x10, x11, done
    code.push_back(bne(12, 13, 12));
    code.insert(code.end(), {csrw(ASSASIN_CSR_OHEADW + t, 12), csrr(13, ASSASIN_CSR_OWAIT + t)});
    code.insert(code.end(),
                {op(7, 0, 5, 10, 14), add(5, 5, 15), lw(6, 5, 0), op_imm(1, 7, 6, 2), add(6, 6, 7), addi(6, 6, 1),
                 op(7, 0, 5, 12, 14), add(5, 5, 16), sw(6, 5, 0), addi(10, 10, 4), addi(12, 12, 4)});
    code.push_back(jal(0, static_cast<int32_t>(loop - code.size()) * 4));
    code[end] = beq(10, 11, static_cast<int32_t>(code.size() - end) * 4);
    code.insert(code.end(), {csrw(ASSASIN_CSR_OHEADW + t, 12), ecall});
    return code;
}

uint8_t room_of(const Bench &b, unsigned s) {
    const uint8_t rooms[] = {b.top.io_room_0, b.top.io_room_1, b.top.io_room_2, b.top.io_room_3,
                             b.top.io_room_4, b.top.io_room_5, b.top.io_room_6, b.top.io_room_7};
    return rooms[s];
}

// One task as the firmware runs it: pages as there is room, drains as there is output. False on a mismatch.
bool copy_task(Bench &b, uint64_t seed, std::mt19937_64 &rng, uint32_t bytes, bool fast) {
    const auto rnd = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
    const unsigned s_log2 = fast ? 0 : rnd(4);
    const uint32_t ring = 0x10000u >> s_log2;
    unsigned page_log2 = fast ? 12 : 9 + rnd(5);
    page_log2 = std::min(page_log2, 15 - s_log2);
    const uint32_t page = 1u << page_log2;
    const unsigned s = rnd(1u << s_log2), t = rnd(1u << s_log2);
    const uint32_t grain = rnd(2) && !fast ? ring / 2 : 1;
    b.write(CORE_CTRL, 0);
    b.partition(s_log2, page_log2);
    b.load_program(copy_program(s, t, ring, grain, !kSpad && rnd(2)));
    b.keep_commits = false;
    b.in_percent = fast ? 100 : 30 + static_cast<int>(rnd(71));
    b.sent.clear();
    b.start(0);
    const uint32_t pages = (bytes + page - 1) / page;
    uint32_t begun = 0, pushed = 0, end_after = rnd(40);
    bool end_known = false, out_ready = false;
    std::vector<uint32_t> waiting; // pages that may be sent in any order
    std::vector<std::pair<uint32_t, uint32_t>> drains;
    const auto drain = [&](uint32_t length) {
        b.write(CORE_DRAIN_POS, pushed);
        b.write(CORE_DRAIN_DST, 0x80000000 + pushed);
        b.write(CORE_DRAIN_PUSH, length | t << CORE_DRAIN_PUSH_STREAM_ID_SHIFT);
        pushed += length;
    };
    for (uint64_t turns = 0;; turns++) {
        if (turns > 4000000) {
            std::printf("FAILED copy, seed %" PRIu64 ": no end; %u of %u pages, status 0x%x\n", seed, begun, pages,
                        b.read(CORE_STATUS));
            return false;
        }
        while (begun < pages && static_cast<uint8_t>(room_of(b, s) - begun - 1) < 128 && waiting.size() < 4)
            waiting.push_back(begun++);
        if (!waiting.empty() && b.queue.size() < 2) {
            const size_t which = rnd(static_cast<uint32_t>(waiting.size()));
            const uint32_t pos = waiting[which] * page;
            waiting.erase(waiting.begin() + static_cast<long>(which));
            const uint32_t length = std::min(page, bytes - pos);
            for (uint32_t at = 0; at < length; at += 64) {
                Packet packet;
                packet.addr = pos + at;
                packet.to_stream = true;
                packet.stream = s;
                packet.bytes.resize(std::min(64u, length - at));
                for (uint32_t i = 0; i < packet.bytes.size(); i += 4) {
                    const uint32_t word = value_at(seed, pos + at + i);
                    std::memcpy(&packet.bytes[i], &word, 4);
                }
                packet.mark = at + 64 >= length;
                b.queue.push_back(packet);
            }
        }
        if (!end_known && (begun == pages || turns > end_after * 100)) {
            b.write(CORE_IEND + 4 * s, bytes);
            b.write(CORE_IEND_VALID, 1u << s);
            end_known = true;
        }
        b.run(fast ? 8 : 1 + rnd(60));
        out_ready = b.top.io_event;
        if (out_ready && (b.read(CORE_OUT_READY) >> t & 1) &&
            (b.read(CORE_DRAIN_STATE) >> CORE_DRAIN_STATE_SPACE_SHIFT & CORE_DRAIN_STATE_SPACE_MASK))
            drain(page);
        if (b.state() != CORE_STATE_RUNNING)
            break;
    }
    bool right = true;
    const auto expect = [&](const char *what, uint32_t got, uint32_t wanted) {
        if (got != wanted) {
            std::printf("FAILED copy, seed %" PRIu64 ": %s is 0x%x, expected 0x%x\n", seed, what, got, wanted);
            right = false;
        }
    };
    expect("state", b.state(), CORE_STATE_EXITED);
    expect("IHEAD", b.read(CORE_IHEAD + 4 * s), bytes);
    expect("OHEAD", b.read(CORE_OHEAD + 4 * t), bytes);
    if (!right)
        return false;
    while (pushed < bytes) {
        while (!(b.read(CORE_DRAIN_STATE) >> CORE_DRAIN_STATE_SPACE_SHIFT & CORE_DRAIN_STATE_SPACE_MASK))
            b.run(50);
        drain(std::min(bytes - pushed, page));
    }
    for (unsigned i = 0; i < 20000 && b.read(CORE_OTAIL + 4 * t) != bytes + ring; i++)
        b.run(16);
    expect("OTAIL", b.read(CORE_OTAIL + 4 * t), bytes + ring);
    std::vector<uint8_t> out(bytes);
    for (const OutPacket &p : b.sent)
        if (p.addr - 0x80000000 + p.bytes.size() <= bytes)
            std::copy(p.bytes.begin(), p.bytes.end(), out.begin() + (p.addr - 0x80000000));
    for (uint32_t at = 0; at < bytes && right; at += 4) {
        uint32_t got = 0;
        std::memcpy(&got, &out[at], 4);
        if (got != value_at(seed, at) * 5 + 1) {
            std::printf("  ring 0x%x page 0x%x grain 0x%x\n", ring, page, grain);
            expect("output word", got, value_at(seed, at) * 5 + 1);
            std::printf("  at 0x%x of 0x%x\n", at, bytes);
        }
    }
    return right;
}

bool random_copies(uint64_t seed) {
    Bench b(seed);
    std::mt19937_64 rng(seed);
#ifdef TILE_DRAM
    b.dram.read_latency = 1 + static_cast<unsigned>(rng() % 100);
    b.dram.write_latency = 1 + static_cast<unsigned>(rng() % 100);
    b.dram.hesitation = static_cast<unsigned>(rng() % 40);
#endif
    b.out_percent = 30 + static_cast<int>(rng() % 71);
    for (unsigned i = 0; i < 4; i++)
        if (!copy_task(b, seed + i, rng, 4 * (1 + static_cast<uint32_t>(rng() % 40000)), false))
            return false;
    return true;
}

// ---- Cycles --------------------------------------------------------------------------------------------------------

// Cycles a link of a chain of `links` loads takes, each load using the one before.
double chain(Bench &b, uint32_t start, unsigned links) {
    b.write(CORE_CTRL, 0);
    std::vector<Word> code;
    li(code, 5, start);
    const uint32_t first = static_cast<uint32_t>(code.size()) * 4;
    for (unsigned i = 0; i < links; i++)
        code.push_back(lw(5, 5, 0));
    code.push_back(ecall);
    b.load_program(code);
    b.commits.clear();
    b.keep_commits = true;
    b.start(0);
    b.wait_stop(10000000);
    uint64_t from = 0, to = 0;
    for (const Commit &c : b.commits) {
        if (c.pc == first)
            from = c.cycle;
        if (c.pc == first + 4 * (links - 1))
            to = c.cycle;
    }
    return static_cast<double>(to - from) / (links - 1);
}

// Cycles a round of a loop over the chain takes, with 24 instructions between two loads.
double sparse(Bench &b, uint32_t start, unsigned links) {
    b.write(CORE_CTRL, 0);
    std::vector<Word> code;
    li(code, 5, start);
    li(code, 6, links);
    const size_t loop = code.size();
    code.insert(code.end(), {lw(5, 5, 0), addi(7, 5, 0)});
    code.insert(code.end(), 24, nop);
    code.push_back(addi(6, 6, -1));
    code.push_back(bne(6, 0, static_cast<int32_t>(loop - code.size()) * 4));
    code.push_back(ecall);
    b.keep_commits = false;
    b.write(CORE_CTRL, 2); // counters
    run_program(b, code, 10000000);
    b.keep_commits = true;
    return static_cast<double>(b.read(CORE_CYCLES_LO)) / links;
}

// Back-to-back loads of one line that do not depend on each other.
double row(Bench &b, uint32_t start) {
    b.write(CORE_CTRL, 0);
    std::vector<Word> code;
    li(code, 5, start);
    code.push_back(lw(6, 5, 0));
    code.insert(code.end(), 40, nop); // the line is complete
    const uint32_t first = static_cast<uint32_t>(code.size()) * 4;
    for (unsigned i = 0; i < 64; i++)
        code.push_back(i % 4 == 3 ? sw(7, 5, 4 * (i % 16)) : lw(6, 5, 4 * (i % 16)));
    code.push_back(ecall);
    run_program(b, code);
    uint64_t from = 0, to = 0;
    for (const Commit &c : b.commits) {
        if (c.pc == first)
            from = c.cycle;
        if (c.pc == first + 4 * 63)
            to = c.cycle;
    }
    return static_cast<double>(to - from) / 63;
}

void costs() {
    checks.test = "costs";
    Bench b(3);
#ifdef TILE_DRAM
    b.dram.hesitation = b.dram.jitter = 0;
#endif
    std::printf("cycles: row of loads and stores %.2f each", row(b, ASSASIN_CORE_SPAD_BASE));
    if (kCached)
        std::printf(", in CORE_DATA %.2f", row(b, ASSASIN_CORE_DATA_BASE + 0x40000));
    checks.equal("a row in hundredths of a cycle", static_cast<uint64_t>(100 * row(b, ASSASIN_CORE_SPAD_BASE) + 0.5),
                 100);
#ifdef TILE_DRAM
    checks.equal("a row in CORE_DATA", static_cast<uint64_t>(100 * row(b, ASSASIN_CORE_DATA_BASE + 0x40000) + 0.5),
                 100);
    // A chain over `lines` lines, a line each, that comes back to its start: in a random order the prefetcher gets
    // wrong.
    const auto make = [&](uint32_t lines, uint32_t at) {
        std::vector<uint32_t> order(lines);
        for (uint32_t i = 0; i < lines; i++)
            order[i] = i;
        std::shuffle(order.begin() + 1, order.end(), b.rng);
        for (uint32_t i = 0; i < lines; i++) {
            const uint32_t next = ASSASIN_CORE_DATA_BASE + at + 64 * order[(i + 1) % lines];
            std::memcpy(&b.dram.bytes[at + 64 * order[i]], &next, 4);
        }
    };
    make(16, 0x40000);
    make(1024, 0x50000);
    make(7000, 0x80000);
    const uint32_t data = ASSASIN_CORE_DATA_BASE;
    // All hits but the first round.
    const double few = chain(b, data + 0x40000, 16 * 200), once = chain(b, data + 0x40000, 16);
    const double l1 = (few * (16 * 200 - 1) - once * 15) / (16 * 199);
    // 1,024 lines: L1 (512 lines) holds next to nothing of them, L2 all.
    const double first = chain(b, data + 0x50000, 1024), both = chain(b, data + 0x50000, 5 * 1024);
    const double second = (both * (5 * 1024 - 1) - first * 1023) / (4 * 1024);
    const double miss = chain(b, data + 0x80000, 7000);
    // The same with other instructions between: what a load alone costs more than a hit.
    const double calm = sparse(b, data + 0x40000, 30000);
    const double alone = sparse(b, data + 0x50000, 60000) - calm, dram = sparse(b, data + 0x80000, 7000) - calm;
    std::printf(
        "; chained loads: hit %.2f, L1 miss %.2f, DRAM %.2f (latency 60); alone, above a hit: L1 miss %.2f, DRAM %.2f",
        l1, second, miss, alone, dram);
    checks.is_true("hits at the scratchpad's speed", l1 < 2.05);
    if (TILE_ARCH != CORE_ARCH_SB_CACHE)
        checks.is_true("L2 within 6 to 17 cycles", alone > 6 && alone < 10 && second < 17);
    checks.is_true("DRAM within 60 to 100 cycles", miss > 60 && miss < 100);
#endif
    std::printf("\n");
    if (kStreams)
        return;
    std::mt19937_64 rng(5);
    Bench fast(4);
#ifdef TILE_DRAM
    fast.dram.hesitation = fast.dram.jitter = 0;
#endif
    const uint32_t bytes = 1 << 20;
    checks.is_true("copies", copy_task(fast, 9, rng, bytes, true));
    const double cycles = fast.read(CORE_CYCLES_LO);
    std::printf("copy of %u bytes: %.2f cycles a byte, of which waiting: memory %.2f, input %.2f, output %.2f", bytes,
                cycles / bytes, static_cast<double>(fast.read(CORE_WAIT_MEM_CYCLES_LO)) / bytes,
                static_cast<double>(fast.read(CORE_WAIT_IN_CYCLES_LO)) / bytes,
                static_cast<double>(fast.read(CORE_WAIT_OUT_CYCLES_LO)) / bytes);
#ifdef TILE_DRAM
    std::printf("; DRAM bytes a byte: read %.3f, written %.3f; misses a KiB: L1 %.1f, L2 %.1f; prefetches %.1f",
                static_cast<double>(fast.dram.read_bytes) / bytes, static_cast<double>(fast.dram.written_bytes) / bytes,
                static_cast<double>(fast.read(CORE_L1_MISSES_LO)) / (bytes / 1024),
                static_cast<double>(fast.read(CORE_L2_MISSES_LO)) / (bytes / 1024),
                static_cast<double>(fast.read(CORE_PREFETCHES_LO)) / (bytes / 1024));
    checks.is_true("waits for memory", fast.read(CORE_WAIT_MEM_CYCLES_LO) > 0);
    checks.equal("prefetches", fast.read(CORE_PREFETCHES_LO) > 0, TILE_ARCH == CORE_ARCH_PREFETCH);
#endif
    std::printf("\n");
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: tile_cosim SEED ROUNDS\n");
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 10);
    const unsigned rounds = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
    test_traps();
    test_pointers();
    costs();
    for (unsigned i = 0; i < rounds; i++) {
        checks.test = "random";
        checks.is_true("accesses", random_accesses(seed + i));
        if (!kStreams)
            checks.is_true("copies", random_copies(seed + 1000 * i));
    }
    return checks.report("tile_cosim");
}
