// SPDX-License-Identifier: BSD-3-Clause
// Runs random programs of VarVE-full on one tile and prints a line of each: its seed, how it ended, the cycles of the
// tile, the counters of the vector unit, and digests of all retired instructions with their cycles and results, of what
// was drained, and of the memory behind it. hw/cosim/test-gating compares these lines of a tile whose parts have no
// clock, and whose models are not evaluated, while they have nothing to do, with those of one without that.
// Usage: gating_tile SEED PROGRAMS [trace]    trace: each retired instruction and drained packet on standard error
#include <cinttypes>
#include <optional>

#include "counters.h"
#include "rv_asm.h"
#include "varve_program.h"

#ifndef GATING_VLEN
#error "GATING_VLEN: bits of a vector register of the tile"
#endif

using namespace cosim;
using namespace rv;

namespace {

constexpr unsigned kMstatus = 0x300, kMtvec = 0x305, kMepc = 0x341, kVstart = 0x008, kVectorState = 0x600;
constexpr unsigned kScratch = 31, kLoops = 30; ///< registers of code around the program's own
constexpr unsigned kPageLog2 = 9, kPageBytes = 1u << kPageLog2;
constexpr uint32_t kCycles = 60000; ///< a program that takes more has come to a wait without end

/// FNV-1a.
class Digest {
  public:
    void add(uint64_t value) {
        for (unsigned i = 0; i < 8; i++)
            value_ = (value_ ^ (value >> 8 * i & 255)) * 0x100000001b3;
    }
    uint64_t value() const {
        return value_;
    }

  private:
    uint64_t value_ = 0xcbf29ce484222325;
};

/// A program as machine code. Traps skip the instruction.
class Code {
  public:
    Code(const VarveProgram &program, uint32_t base) : rng(program.seed ^ 0x90de), program(program), memory(base) {
        words = {jal(0, 4 * 5), csrr(kScratch, kMepc), addi(kScratch, kScratch, 4), csrw(kMepc, kScratch), mret};
        li(1, 4);
        words.push_back(csrw(kMtvec, 1));
        for (const VarveItem &item : program.items) {
            between();
            place(item);
        }
        words.insert(words.end(), {csrw(kMtvec, 0), ecall});
    }

    std::vector<Word> words;

  private:
    bool chance(unsigned percent) {
        return rng() % 100 < percent;
    }
    /// What programs take for an address lies elsewhere on the tile.
    uint32_t moved(uint32_t value) const {
        const uint32_t at = value - kVarveBase + 0x1000;
        return at < kVarveBytes + 0x2000 ? value - kVarveBase + memory : value;
    }
    void li(unsigned rd, uint32_t value) {
        if (rd == 0 || held[rd] == value)
            return;
        const int32_t low = static_cast<int32_t>(value << 20) >> 20;
        const uint32_t high = value - static_cast<uint32_t>(low);
        if (high)
            words.push_back(lui(rd, high));
        if (low || !high)
            words.push_back(addi(rd, high ? rd : 0, low));
        held[rd] = rd == kScratch ? std::nullopt : std::optional(value);
    }
    /// Scalar code beside the unit: accesses to the same memory and streams, and time in which the unit has nothing to
    /// do.
    void between() {
        if (chance(8)) {
            li(kScratch, memory + static_cast<uint32_t>(rng() % (kVarveBytes / 4)) * 4);
            words.push_back(chance(50) ? lw(kLoops, kScratch, 0) : sw(1, kScratch, 0));
            held[kLoops].reset();
        }
        if (chance(2)) {
            words.push_back(stream_load(2, kLoops, static_cast<unsigned>(rng() % kBuffers)));
            held[kLoops].reset();
        }
        if (chance(5)) {
            words.push_back(addi(kLoops, 0, static_cast<int>(1 + rng() % 40)));
            words.push_back(addi(kLoops, kLoops, -1));
            words.push_back(bne(kLoops, 0, -4));
            held[kLoops].reset();
        }
    }
    void place(const VarveItem &item) {
        switch (item.kind) {
        case VarveItem::Insn:
            li(item.word >> 15 & 31, moved(item.a));
            li(item.word >> 20 & 31, moved(item.b));
            words.push_back(item.word);
            held[item.word >> 7 & 31].reset();
            break;
        case VarveItem::Set:
            li(1, item.b);
            li(2, item.a);
            words.push_back(vsetvl(0, 1, 2));
            break;
        case VarveItem::Format:
            li(1, item.a);
            li(2, moved(item.b));
            words.insert(words.end(), {csrw(ASSASIN_CSR_VSFMT, 1), csrw(ASSASIN_CSR_VSAUX, 2)});
            break;
        case VarveItem::Start:
            li(1, item.a);
            words.push_back(csrw(kVstart, 1));
            break;
        case VarveItem::Enable:
            li(1, item.a & 1 ? kVectorState : 0);
            li(2, item.a >> 1 & 1);
            words.insert(words.end(), {csrw(kMstatus, 1), csrw(ASSASIN_CSR_MVARVE, 2)});
        }
    }

    std::mt19937_64 rng;
    const VarveProgram &program;
    uint32_t memory;
    std::array<std::optional<uint32_t>, 32> held{}; ///< what a register is known to hold
};

/// One program on a tile of its own.
class Run {
  public:
    Run(const VarveProgram &p, bool show) : b(p.seed), rng(p.seed ^ 0xfeed), program(p), trace(show) {
        streams = 1u << program.log_streams;
        offset = rng() % 2 ? 0 : ASSASIN_CORE_SPAD_SIZE - kVarveBytes;
        pause = std::array<unsigned, 3>{2, 20, 400}[rng() % 3];
        b.out_percent = std::array<int, 3>{100, 60, 20}[rng() % 3];
        b.in_percent = std::array<int, 3>{100, 70, 30}[rng() % 3];
    }

    void all() {
        const Code code(program, ASSASIN_CORE_SPAD_BASE + offset);
        if (code.words.size() * 4 > ASSASIN_CORE_IMEM_SIZE) {
            std::printf("seed %" PRIu64 ": %zu words of code do not fit\n", program.seed, code.words.size());
            std::exit(2);
        }
        b.write(CORE_CTRL, 0);
        b.partition(program.log_streams, kPageLog2);
        b.load_program(code.words);
        b.load(ASSASIN_XB_SPAD_BASE + offset, program.memory.data(), program.memory.size());
        b.write(CORE_CTRL, 1u << CORE_CTRL_CLEAR_SHIFT);
        b.commits.clear();
        begun = b.cycle;
        b.start(0);
        while (b.cycle - begun < kCycles && b.state() == CORE_STATE_RUNNING) {
            feed();
            drain();
            b.run(1 + rng() % 8);
        }
        const uint64_t end = b.cycle;
        drain_rest();
        std::printf("seed %" PRIu64 ": state %u, cycles %" PRIu64 ", instructions %zu", program.seed, b.state(),
                    end - begun, b.commits.size());
        for (const auto &[name, low] : kCounters)
            std::printf(", %s %" PRIu64, name, counter(b, low));
        show("digest", retired());
        show("drained", packets());
        show("memory", contents());
        std::printf("\n");
    }

  private:
    /// Loads each word of the program's memory.
    std::vector<Word> reader() const {
        const uint32_t first = ASSASIN_CORE_SPAD_BASE + offset;
        return {lui(5, first), lui(6, first + kVarveBytes), lw(7, 5, 0), addi(5, 5, 4), bne(5, 6, -8), ecall};
    }
    static void show(const char *name, const Digest &digest) {
        std::printf(", %s %016" PRIx64, name, digest.value());
    }
    Digest retired() {
        Digest digest;
        for (const Commit &c : b.commits) {
            for (const uint64_t value :
                 {c.cycle, uint64_t{c.pc} << 32 | c.insn, uint64_t{c.wen} << 40 | uint64_t{c.trap} << 41 | c.rd << 8,
                  uint64_t{c.wen ? c.wdata : 0}, uint64_t{c.trap ? c.cause : 0} << 32 | (c.trap ? c.tval : 0)})
                digest.add(value);
            if (trace)
                std::fprintf(stderr, "cycle %" PRIu64 ": pc %04x, %08x, %s %08x\n", c.cycle, c.pc, c.insn,
                             c.trap  ? "trap"
                             : c.wen ? "result"
                                     : "no result",
                             c.trap  ? c.cause
                             : c.wen ? c.wdata
                                     : 0);
        }
        return digest;
    }
    Digest packets() {
        Digest digest;
        for (const OutPacket &p : b.sent) {
            digest.add(p.cycle);
            digest.add(p.addr);
            for (const uint8_t byte : p.bytes)
                digest.add(byte);
            if (trace)
                std::fprintf(stderr, "cycle %" PRIu64 ": %zu bytes drained to %08x, the first is %02x\n", p.cycle,
                             p.bytes.size(), p.addr, p.bytes[0]);
        }
        return digest;
    }
    Digest contents() {
        b.write(CORE_CTRL, 0);
        b.run(40);
        b.load_program(reader());
        b.commits.clear();
        b.start(0);
        b.wait_stop(16 * kVarveBytes);
        Digest digest;
        for (const Commit &c : b.commits)
            digest.add(c.wdata);
        return digest;
    }
    /// The next packet of a stream, if it is time.
    void feed() {
        for (unsigned s = 0; s < streams; s++) {
            const VarveInput &in = program.in[s];
            uint32_t &at = sent[s];
            if (ended >> s & 1 || rng() % pause || b.queue.size() >= 2)
                continue;
            if (at < in.length) {
                Packet packet;
                packet.addr = at;
                packet.to_stream = true;
                packet.stream = s;
                const size_t bytes = std::min<size_t>(64, in.length - at);
                packet.bytes.assign(&in.bytes[at], &in.bytes[at] + bytes);
                at += static_cast<uint32_t>(bytes);
                packet.mark = at % kPageBytes == 0 || at == in.length;
                b.queue.push_back(packet);
            } else {
                ended |= 1u << s;
                b.write(CORE_IEND + 4 * s, at);
                b.write(CORE_IEND_VALID, ended);
            }
        }
    }
    bool space() {
        return b.read(CORE_DRAIN_STATE) >> CORE_DRAIN_STATE_SPACE_SHIFT & CORE_DRAIN_STATE_SPACE_MASK;
    }
    uint32_t done() {
        return b.read(CORE_DRAIN_STATE) >> CORE_DRAIN_STATE_DONE_SHIFT & CORE_DRAIN_STATE_DONE_MASK;
    }
    void push(unsigned s, uint32_t bytes) {
        b.write(CORE_DRAIN_POS, drained[s]);
        b.write(CORE_DRAIN_DST, ASSASIN_DRAM_BASE + (s << 20) + drained[s]);
        b.write(CORE_DRAIN_PUSH, bytes | s << CORE_DRAIN_PUSH_STREAM_ID_SHIFT);
        drained[s] += bytes;
        pushed++;
    }
    /// Whole pages while the program runs, if it is time.
    void drain() {
        if (rng() % pause)
            return;
        const uint32_t ready = b.read(CORE_OUT_READY);
        for (unsigned s = 0; s < streams; s++)
            if ((ready >> s & 1) && space())
                push(s, kPageBytes);
    }
    /// What is left of the output streams behind its end.
    void drain_rest() {
        for (unsigned s = 0; s < streams; s++) {
            const uint32_t all = b.read(CORE_OHEAD + 4 * s);
            for (unsigned tries = 0; drained[s] < all && tries < 1000; tries++)
                if (space())
                    push(s, std::min(kPageBytes, all - drained[s]));
        }
        for (unsigned tries = 0; tries < 1000 && done() != (pushed & CORE_DRAIN_STATE_DONE_MASK); tries++)
            b.run(8);
    }

    Bench b;
    std::mt19937_64 rng;
    const VarveProgram &program;
    bool trace;
    unsigned streams, pause;
    uint32_t offset = 0, ended = 0, pushed = 0;
    uint64_t begun = 0;
    std::array<uint32_t, kBuffers> sent{}, drained{};
};

VarveProgram program_of(uint64_t seed) {
    constexpr unsigned kSlot = 8;
    switch (seed % 8) {
    case 0:
        return crowded_varve_program(seed, GATING_VLEN, kSlot);
    case 1:
        return steady_varve_program(seed, GATING_VLEN, kSlot);
    default:
        return random_varve_program(seed, GATING_VLEN, kFixedStreams | kVariableStreams | kHuffmanStreams, true, kSlot);
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: %s SEED PROGRAMS [trace]\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0), programs = std::strtoull(argv[2], nullptr, 0);
    for (uint64_t i = 0; i < programs; i++) {
        const VarveProgram program = program_of(seed + i);
        Run(program, argc > 3).all();
    }
}
