// SPDX-License-Identifier: BSD-3-Clause
// Instruction-by-instruction co-simulation of the vector unit with VarVE-pup or VarVE-full against the functional model
// (docs/varve/ isa.md 7) on random programs. The bench stands in for the core, its memory, and the stream buffers: it
// offers, advances, commits, kills and offers again at random times, delivers and drains streams, and answers memory.
// Usage: varve_cosim SEED PROGRAMS [KINDS [trace]]    KINDS: sum of 1 (FR, FW), 2 (VR, VW), 4 (HR, HW); without it 1.
// A fourth argument: every instruction is printed as it leaves the commit stage.
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>

#ifdef VECTOR_BOTH
#include "VVectorBoth.h" // the unit with and without its clock gate
using Design = VVectorBoth;
#else
#include "VVectorUnit.h"
using Design = VVectorUnit;
#endif
#include "varve_model.h"
#include "varve_program.h"
#include "varve_rvv.h"

#ifndef VECTOR_VLEN
#error "VECTOR_VLEN and VECTOR_DLEN: bits of a register and of an element group of the design"
#endif
#ifndef VECTOR_FULL
#define VECTOR_FULL 0 // 1: the design has VarVE-full
#endif
#ifndef VECTOR_G
#define VECTOR_G 8 // bits of a slot of VarVE-full
#endif

using namespace cosim;
using varve::Outcome;

namespace {

constexpr unsigned kVBytes = VECTOR_VLEN / 8, kDBytes = VECTOR_DLEN / 8;
constexpr unsigned kMemoryBytes = kDBytes + 1; // of an access
using Register = std::array<uint8_t, kVBytes>;
/// Of VarVE-full: slots of a register, and elements that one may hold. Registers that RVV uses; those above may hold
/// such elements.
constexpr unsigned kSlots = VECTOR_VLEN / VECTOR_G, kElements = kSlots, kFixedRegisters = VECTOR_FULL ? 16 : 32;
constexpr unsigned slots_of(unsigned width) {
    return (width + VECTOR_G - 1) / VECTOR_G;
}
/// Cycles that the unit may take for a decision with nothing else under way: looking at each element, or reading a
/// Huffman table from a slow memory.
constexpr unsigned kPatience = 200 + 4 * std::max(VECTOR_VLEN, 256);

/// What has been seen, over all programs: a count for each name.
std::map<std::string, uint64_t> seen;

bool is_stream(uint32_t insn) {
    return (insn & 127) == 0x5b;
}
bool is_variable(uint32_t insn) {
    return (insn & 127) == 0x2b;
}
std::string name_of(uint32_t insn) {
    if (is_variable(insn)) {
        static const std::map<unsigned, std::string> kNames = {
            {0x00, "add"},   {0x02, "sub"},   {0x03, "rsub"},  {0x05, "min"},   {0x07, "max"},   {0x08, "bic"},
            {0x09, "and"},   {0x0a, "or"},    {0x0b, "xor"},   {0x14, "index"}, {0x17, "dup"},   {0x18, "cmpeq"},
            {0x19, "cmpne"}, {0x1b, "cmplt"}, {0x1d, "cmple"}, {0x1e, "cmpge"}, {0x1f, "cmpgt"}, {0x21, "div"},
            {0x24, "mul"},   {0x25, "asl"},   {0x29, "asr"}};
        const auto found = kNames.find(insn >> 26);
        const bool unary = (insn >> 12 & 7) == 2;
        return unary                   ? insn >> 26 == 0x10 ? "vv.num, vv.redsum" : "vv.tvs"
               : found == kNames.end() ? "vv wild"
                                       : "vv." + found->second + (insn >> 25 & 1 ? "" : ".m");
    }
    if (!is_stream(insn))
        return (insn & 127) == 0x57 ? "rvv" : (insn & 127) == 0x07 ? "rvv load" : "rvv store";
    switch (insn >> 12 & 7) {
    case 0:
        switch (insn >> 25) {
        case 0:
            return "vs.fr";
        case 1:
            return "vs.vr";
        case 2:
            return "vs.hr";
        case 8:
            return "vs.fw";
        case 9:
            return "vs.vw";
        case 10:
            return "vs.hw";
        case 16:
            return "vs.cr";
        case 24:
            return "vs.er";
        case 25:
            return "vs.ew";
        }
        break;
    case 2:
        if (insn >> 30 == 1)
            return "vs.unpack";
        if (insn >> 31 == 0)
            return insn >> 25 & 1 ? "vs.vunpack" : "vs.vunpack.m";
        break;
    case 1:
        return "vs.rcnum";
    case 3:
        if (insn >> 29 == 0)
            return insn >> 25 & 1 ? "vs.vpack" : "vs.vpack.m";
        if (insn >> 29 == 2)
            return insn >> 25 & 1 ? "vs.pack" : "vs.pack.m";
    }
    return "wild";
}
/// Bit of `kinds` that a declaration needs; 0: it is none.
unsigned kind_of(uint32_t insn) {
    const unsigned funct7 = insn >> 25;
    return is_stream(insn) && !(insn >> 12 & 7) && !(funct7 & ~11u) && (funct7 & 3) != 3 ? 1u << (funct7 & 3) : 0;
}

bool legal(uint64_t first, uint64_t last) {
    return first <= last && first >= kVarveBase && last < kVarveBase + kVarveBytes;
}

/// Memory and stream buffers as the program sees them: all that has committed has been done. What is delivered, known
/// and free is told by the bench.
class Outside : public varve::World {
  public:
    explicit Outside(const VarveProgram &program) : memory(program.memory), program(program) {
        for (unsigned s = 0; s < kBuffers; s++) {
            in_head[s] = tail[s] = program.in[s].start;
            out_start[s] = out_tail[s] = program.out[s];
        }
    }
    bool load(uint64_t address, uint8_t &byte) override {
        if (!legal(address, address))
            return false;
        byte = memory[address - kVarveBase];
        return true;
    }
    bool store(uint64_t address, uint8_t byte) override {
        if (!legal(address, address))
            return false;
        if (!trial)
            memory[address - kVarveBase] = byte;
        return true;
    }
    bool storable(uint64_t address) override {
        return legal(address, address);
    }
    uint64_t head(unsigned s, bool output) override {
        return output ? out_start[s] + appended[s].size() : in_head[s];
    }
    void consumed(unsigned s, uint64_t position) override {
        if (!trial)
            in_head[s] = position;
    }
    uint8_t stream_byte(unsigned s, uint64_t position) override {
        return program.in[s].bytes.at(position - program.in[s].start);
    }
    uint64_t delivered(unsigned s) override {
        return tail[s];
    }
    std::optional<uint64_t> end(unsigned s) override {
        if (known[s])
            return program.in[s].start + program.in[s].length;
        return std::nullopt;
    }
    uint64_t room(unsigned s) override {
        return out_tail[s];
    }
    void append(unsigned s, uint8_t byte) override {
        if (!trial)
            appended[s].push_back(byte);
    }

    std::vector<uint8_t> memory;
    std::array<uint64_t, kBuffers> in_head, out_start;
    std::array<std::vector<uint8_t>, kBuffers> appended;
    /// As one cycle before.
    std::array<uint64_t, kBuffers> tail, out_tail;
    std::array<bool, kBuffers> known{};
    bool trial = false; ///< nothing is changed: only whether an instruction could be decided is asked

  private:
    const VarveProgram &program;
};

class VarveBench {
  public:
    VarveBench(const VarveProgram &program, unsigned kinds, bool verbose)
        : rng(program.seed ^ 0x5eed), program(program), kinds(kinds), verbose(verbose) {
        const auto rate = [this] { return std::array<unsigned, 4>{100, 90, 60, 25}[rng() % 4]; };
        commit_rate = rate();
        offer_rate = rate();
        load_rate = rate();
        answer_rate = rate();
        store_rate = rate();
        done_rate = rate();
        result_rate = rate();
        const auto seldom = [this] { return std::array<unsigned, 4>{40, 15, 5, 2}[rng() % 4]; };
        deliver_rate = seldom();
        drain_rate = seldom();
        chunk = std::array<unsigned, 4>{32, 64, 512, 2048}[rng() % 4];
        pause_rate = std::array<unsigned, 3>{0, 2, 10}[rng() % 3];
        kill_rate = rng() % 2 ? 5 : 0;
        step_rate = std::array<unsigned, 3>{0, 10, 90}[rng() % 3];
        clear_at = rng() % 3 ? 0 : 1 + rng() % 2000;
        restart();
        top.reset = 1;
        idle_inputs();
        top.io_issue_erase = 0;
        for (int i = 0; i < 3; i++)
            edge();
        top.reset = 0;
    }

    bool run() {
        while (at < program.items.size() || !tags.empty() || !results.empty() || commit_full) {
            if (!cycle_once())
                return false;
            if (cycles == clear_at && clear_at)
                clear();
            if (++cycles > 400000 || idle > 20000)
                return fail("no end: the unit hangs");
        }
        for (int i = 0; i < 300 && (loads.size() || stores.size() || busy || i < 3); i++)
            if (!cycle_once())
                return false;
        if (busy)
            return fail("busy at the end");
        for (size_t i = 0; i < memory.size(); i++)
            if (memory[i] != world->memory[i]) {
                std::printf("seed %" PRIu64 ": memory at %08zx is %02x, model %02x\n", program.seed, kVarveBase + i,
                            memory[i], world->memory[i]);
                return false;
            }
        return true;
    }

    uint64_t cycles = 0, compared = 0;

  private:
    /// What the core's other instructions see and change.
    struct State {
        uint32_t vstart = 0, vl = 0, vtype = 0x80000000, format = 0, aux = 0, on = 0;
    };
    /// Of a register of VarVE-full. `live`: slots that hold an element's bits.
    struct Metadata {
        unsigned count = 0, mb = 0;
        bool is_unsigned = false;
        std::array<uint8_t, kElements> widths{};
        std::array<bool, kSlots> live{};
    };
    struct Tag {
        unsigned tag;
        size_t step;
        bool ended = false;
        struct Write {
            unsigned eg;
            std::array<uint8_t, kDBytes> data;
            uint64_t mask;
            bool variable, length; ///< with metadata; with a number of elements alone
            Metadata metadata;
        };
        std::vector<Write> writes;
    };
    /// What the model has made of an instruction.
    struct Done {
        bool retired = false;
        std::map<unsigned, varve::Register> vectors;
    };

    bool chance(unsigned percent) {
        return rng() % 100 < percent;
    }
    uint32_t word() const {
        return program.items[std::min(commit_full ? commit_step : at, program.items.size() - 1)].word;
    }
    bool fail(const char *what) {
        const VarveItem &item = program.items[std::min(commit_full ? commit_step : at, program.items.size() - 1)];
        std::printf("seed %" PRIu64 ", item %zu, insn %08x (%s), cycle %" PRIu64 ": %s\n", program.seed,
                    commit_full ? commit_step : at, item.word, name_of(item.word).c_str(), cycles, what);
        std::printf("  rs1 %08x, rs2 %08x, vtype %08x, vl %u, vstart %u, VSFMT %08x, on %u; unit: trap %u, cause %u, "
                    "tval %08x, setVl %u %u\n",
                    item.a, item.b, before.vtype, before.vl, before.vstart, before.format, before.on,
                    top.io_issue_commit_trap, top.io_issue_commit_cause, top.io_issue_commit_tval,
                    top.io_issue_commit_setVl_valid, top.io_issue_commit_setVl_bits);
        if (is_stream(item.word))
            show_stream(item.word);
        return false;
    }
    void show_stream(uint32_t insn) {
        const unsigned funct3 = insn >> 12 & 7;
        const bool output = funct3 == 3 || (funct3 == 0 && (insn >> 25 == 25 || (insn >> 28 & 1)));
        const unsigned id = (funct3 == 2     ? insn >> 26 & 15
                             : funct3 == 3   ? insn >> 26 & 7
                             : kind_of(insn) ? insn >> 7 & 15
                                             : insn >> 20 & 15) &
                            7;
        const varve::Stream &s = output ? model->state.out[id] : model->state.in[id];
        std::printf("  model's %s %u: open %u, w %u, U %u, buffer %u, bytepos %" PRIx64 ".%u, left %" PRIx64
                    ", done %" PRIu64 "\n",
                    output ? "output" : "input", id, s.open, s.width(), s.is_unsigned(), s.buffer(), s.bytepos,
                    s.bitpos, s.left, s.done);
        if (s.kind)
            std::printf("  widths: kind %u, mb %u, aux %u, auxpos %" PRIx64 ", partial %02x\n", s.kind, s.mb(), s.aux(),
                        s.auxpos, s.partial);
        if (output)
            std::printf("  buffer: OHEAD %" PRIx64 " (unit %" PRIx64 "), OTAIL %" PRIx64 "\n", world->head(id, true),
                        out_head(id), out_tail[id]);
        else
            std::printf(
                "  buffer: IHEAD %" PRIx64 " (unit %" PRIx64 "), ITAIL %" PRIx64 ", IEND %" PRIx64 " known %u\n",
                world->in_head[id], in_head[id], tail[id], program.in[id].start + program.in[id].length, known[id]);
    }

    void idle_inputs() {
        top.io_issue_offer_valid = 0;
        top.io_issue_advance = 0;
        top.io_issue_commit_valid = 0;
        top.io_issue_commit_kill = 0;
        top.io_issue_result_ready = 0;
        top.io_issue_window_valid = 0;
        top.io_issue_clear = 0;
        top.io_memory_loadAnswer_valid = 0;
        top.io_memory_storeDone = 0;
        top.io_memory_load_ready = 0;
        top.io_memory_store_ready = 0;
        top.io_memory_check_ok = 0;
        top.io_memory_check_hold = 0;
        top.io_stream_sLog2 = static_cast<uint8_t>(program.log_streams);
        top.io_stream_ringLog2 = static_cast<uint8_t>(program.log_ring);
    }

    static unsigned slot_of(const uint8_t *data, unsigned slot) {
        const unsigned bit = VECTOR_G * slot;
        return data[bit / 8] >> bit % 8 & ((1u << VECTOR_G) - 1);
    }
    /// Into a slot that is 0.
    static void put_slot(uint8_t *data, unsigned slot, unsigned value) {
        const unsigned bit = VECTOR_G * slot;
        data[bit / 8] |= static_cast<uint8_t>((value & ((1u << VECTOR_G) - 1)) << bit % 8);
    }
    template <typename T> static void put_wide(T &port, const uint8_t *bytes, unsigned count) {
        if constexpr (sizeof(T) <= 8) {
            uint64_t value = 0;
            std::memcpy(&value, bytes, std::min(count, 8u));
            port = static_cast<T>(value);
        } else
            std::memcpy(port.data(), bytes, count);
    }
    template <typename T> static void get_wide(const T &port, uint8_t *bytes, unsigned count) {
        if constexpr (sizeof(T) <= 8)
            std::memcpy(bytes, &port, count);
        else
            std::memcpy(bytes, port.data(), count);
    }

    /// The state at the start: all but the registers' contents, and what memory still owes the unit.
    void restart() {
        world = std::make_unique<Outside>(program);
        varve::Params p;
        p.vlen = VECTOR_VLEN;
        p.nin = VECTOR_FULL ? 9 : kBuffers;
        p.streams = 1u << program.log_streams;
        p.full = VECTOR_FULL;
        p.g = VECTOR_G;
        model = std::make_unique<varve::Model>(p, *world);
        memory = program.memory;
        done.assign(program.items.size(), {});
        for (unsigned s = 0; s < kBuffers; s++) {
            in_head[s] = tail[s] = program.in[s].start;
            out_tail[s] = program.out[s];
            written[s].clear();
        }
        known.fill(false);
        for (Metadata &m : metadata)
            m.count = kElements;
        state = before = State{};
        at = commit_step = 0;
        commit_full = doomed = false;
        tags.clear();
        results.clear();
        late_rd = filled = 0;
        look.clear();
        looking = read_pending = alone = false;
        window_wait = 0;
        stalled = overdue = working = 0;
    }
    // The core starts anew in the middle of everything. Answers of accesses under way still come.
    void clear() {
        idle_inputs();
        top.io_issue_clear = 1;
        edge();
        top.io_issue_clear = 0;
        for (Store &store : stores)
            store.written = true;
        restart();
        owed_loads = loads.size();
        owed_stores = stores.size();
        seen["clear"]++;
    }
    void edge() {
        top.clock = 0;
        top.eval();
        top.clock = 1;
        top.eval();
    }

    // ---- Core
    // --------------------------------------------------------------------------------------------------------

    /// The next instruction's index, and what it sees, when `from` is what the one before it leaves.
    size_t ahead(State &from) const {
        size_t i = at;
        for (; i < program.items.size() && program.items[i].kind != VarveItem::Insn; i++) {
            const VarveItem &item = program.items[i];
            switch (item.kind) {
            case VarveItem::Set:
                from.vtype = item.a;
                from.vl = item.b;
                from.vstart = 0;
                break;
            case VarveItem::Format:
                from.format = item.a;
                from.aux = item.b;
                break;
            case VarveItem::Start:
                from.vstart = item.a;
                break;
            default:
                from.on = item.a;
            }
        }
        return i;
    }

    void offer(const State &s, uint32_t insn, uint32_t rs1, uint32_t rs2) {
        top.io_issue_offer_valid = 1;
        top.io_issue_offer_insn = insn;
        top.io_issue_offer_rs1 = rs1;
        top.io_issue_offer_rs2 = rs2;
        top.io_issue_offer_enabled = s.on & 1;
        top.io_issue_offer_varve_enabled = s.on >> 1 & 1;
        top.io_issue_offer_varve_format = s.format;
        top.io_issue_offer_varve_aux = s.aux;
        top.io_issue_offer_config_vill = s.vtype >> 31;
        top.io_issue_offer_config_vma = s.vtype >> 7 & 1;
        top.io_issue_offer_config_vta = s.vtype >> 6 & 1;
        top.io_issue_offer_config_vsew = s.vtype >> 3 & 7;
        top.io_issue_offer_config_vlmul = s.vtype & 7;
        top.io_issue_offer_config_vl = static_cast<uint16_t>(s.vl);
        top.io_issue_offer_config_vstart = static_cast<uint8_t>(s.vstart);
        top.io_issue_offer_config_vxrm = 0;
    }

    /// Offers the next instruction as it looks with what the commit stage says in this cycle.
    void offer_next() {
        State now = state;
        if (commit_full && !doomed) {
            now.vstart = 0; // as an older instruction's end sets it to
            if (top.io_issue_commit_valid && top.io_issue_commit_done && top.io_issue_commit_setVl_valid)
                now.vl = top.io_issue_commit_setVl_bits;
        }
        offer_step = ahead(now);
        offer_state = now;
        const VarveItem &item = program.items[offer_step];
        offer(now, item.word, item.a, item.b);
    }

    bool cycle_once() {
        idle_inputs();
        const bool have = [this] {
            State scratch = state;
            const size_t next = ahead(scratch);
            if (next == program.items.size() && !commit_full)
                at = next;
            return next < program.items.size();
        }();
        drive_window();
        bool real = false;
        if (alone && asking()) {
            // No instruction is in the pipeline.
        } else if (have && chance(offer_rate)) {
            offer_next();
            const unsigned rd = program.items[offer_step].word >> 7 & 31;
            // The core allows one late result a register.
            const bool pending = commit_full && !doomed && (program.items[commit_step].word >> 7 & 31) == rd &&
                                 may_write(program.items[commit_step].word);
            real = !pending && !((late_rd >> rd & 1) && may_write(program.items[offer_step].word));
        } else if (chance(50)) {
            State any = state;
            any.vl = static_cast<uint32_t>(rng() % (VECTOR_VLEN + 1));
            offer(any, static_cast<uint32_t>(chance(50) ? (rng() & ~0x7full) | 0x5b : rng()),
                  static_cast<uint32_t>(rng()), static_cast<uint32_t>(rng()));
        }
        top.io_issue_commit_valid = commit_full && !doomed && !asking() && chance(commit_rate);
        top.io_issue_result_ready = chance(result_rate);
        drive_memory();
        drive_streams();
        top.clock = 0;
        settle(real);

        const bool ends = top.io_issue_commit_done;
        if (!commit_full && (ends || top.io_issue_commit_begun || top.io_issue_commit_trap))
            return fail("done without an instruction");
        const bool leaves = top.io_issue_commit_valid && ends;
        const bool waits = top.io_issue_commit_waits_valid;
        bool killed = false;
        if (commit_full && !leaves && !top.io_issue_commit_begun &&
            ((halted && waits && !doomed) ||
             (!top.io_issue_commit_valid &&
              (doomed ? chance(30) : kills < 20 && chance(kill_rate ? (waits ? 15 : kill_rate) : 0))))) {
            top.io_issue_commit_kill = 1;
            killed = true;
        }
        // `done` may not depend on `valid`.
        if (commit_full && !top.io_issue_commit_valid && chance(10)) {
            top.io_issue_commit_kill = 0;
            top.io_issue_commit_valid = 1;
            settle(real);
            if (static_cast<bool>(top.io_issue_commit_done) != ends)
                return fail("done depends on valid");
            top.io_issue_commit_valid = 0;
            top.io_issue_commit_kill = killed;
        }
        settle(real);
        const bool trap = leaves && top.io_issue_commit_trap;
        const bool empties = !commit_full || leaves || killed;
        const bool advances = top.io_issue_offer_valid && real && empties && !trap && chance(95);
        // Sometimes a wrong-path word enters, to be killed there.
        const bool strays = top.io_issue_offer_valid && !real && empties && chance(kill_rate);
        top.io_issue_advance = advances || strays;
        settle(real);
        busy = top.io_issue_status_busy;
        if (top.io_trace_stops)
            seen["cycles that the clock gate stops"]++;
#ifdef VECTOR_BOTH
        if (top.differs) {
            top.clock = 1; // the design prints the outputs
            top.eval();
            return fail("the clock gate changes what the unit shows");
        }
#endif

        if (!check_streams() || !check_counts(leaves, waits))
            return false;
        if (program.tight)
            give_room();
        if (leaves && !retire())
            return false;
        if (commit_full && !doomed && !leaves && !killed ? !check_wait() : (stalled = overdue = 0, false))
            return false;
        if (!sample())
            return false;
        kills = leaves ? 0 : kills + (killed && !doomed);
        if (killed && !doomed && halted && waits && !busy && !check_step())
            return false;
        if (leaves) {
            steps = 0;
            halted = chance(step_rate);
        }
        if (killed && !doomed) {
            if (waits)
                seen["given up while it waits"]++;
            else
                seen["killed"]++;
            at = commit_step; // offered again
            state = before;
        }
        if (leaves || killed)
            commit_full = false;
        if (advances || strays) {
            commit_full = true;
            commit_step = advances ? offer_step : at;
            // What followed a cancelled instruction is cancelled with it, in the next cycle.
            doomed = strays || killed;
            if (advances && !killed) {
                before = offer_state;
                state = offer_state;
                state.vstart = 0;
                at = offer_step + 1;
            }
        }
        top.clock = 1;
        top.eval();
        keep_streams();
        idle++;
        return true;
    }

    /// Evaluates until the combinational ways through the bench are settled.
    void settle(bool real) {
        for (int i = 0; i < 3; i++) {
            top.eval();
            top.io_memory_check_ok =
                top.io_memory_check_valid && !holding && legal(top.io_memory_check_first, top.io_memory_check_last);
            top.io_memory_check_hold = top.io_memory_check_valid && holding;
            top.io_memory_check_cause = top.io_memory_check_write ? 7 : 5;
            const unsigned s = top.io_stream_input_stream, o = top.io_stream_output_stream;
            top.io_stream_input_head = static_cast<uint32_t>(in_head[s]);
            top.io_stream_input_tail = static_cast<uint32_t>(tail[s]);
            top.io_stream_input_end =
                static_cast<uint32_t>(known[s] ? program.in[s].start + program.in[s].length : garbage);
            top.io_stream_input_known = known[s];
            top.io_stream_output_head = static_cast<uint32_t>(out_head(o));
            top.io_stream_output_tail = static_cast<uint32_t>(out_tail[o]);
            if (real)
                offer_next();
        }
        top.eval();
    }

    static bool may_write(uint32_t insn) {
        return is_stream(insn) || is_variable(insn) ||
               ((insn & 127) == 0x57 && insn >> 26 == 0x10 && (insn >> 12 & 7) == 2);
    }

    /// The model executes an instruction, with a fault of a vector access as the unit's rules have it: the elements
    /// before it are done, and vstart names it.
    Outcome execute(const VarveItem &item, uint32_t &vstart) {
        varve::State &m = model->state;
        m.vtype = before.vtype;
        m.vl = before.vl;
        m.vstart = before.vstart;
        m.vs = before.on & 1 ? 3 : 0;
        m.mvarve = before.on & 2 ? 3 : 0;
        m.vsfmt = before.format;
        m.vsaux = before.aux;
        vstart = 0;
        if (is_variable(item.word))
            return model->step(item.word, item.a, item.b);
        if (is_stream(item.word)) {
            if (kind_of(item.word) & ~kinds) {
                Outcome o;
                o.what = Outcome::Trap;
                o.cause = 2;
                o.tval = item.word;
                return o;
            }
            return model->step(item.word, item.a, item.b);
        }
        Outcome o = varve::rvv_step(*model, *world, item.word, item.a, item.b);
        if (o.what != Outcome::Trap || o.cause == 2)
            return o;
        const unsigned bytes = 1u << ((item.word >> 12 & 7) ? (item.word >> 12 & 3) : 0);
        vstart = (static_cast<uint32_t>(o.tval) - item.a) / bytes;
        m.vl = vstart;
        if ((item.word & 127) == 0x07)
            fix_destination(item.word);
        const Outcome elements = varve::rvv_step(*model, *world, item.word, item.a, item.b);
        m.vl = before.vl;
        o.written = elements.written;
        return o;
    }
    /// A load that traps makes all registers of its destination FIXED (docs/varve/isa.md 3.5). What VAR registers hold
    /// then is for the unit to say.
    void fix_destination(uint32_t insn) {
        const unsigned vd = insn >> 7 & 31, log_eew = (insn >> 12 & 7) ? (insn >> 12 & 3) : 0;
        const bool whole = (insn >> 20 & 0x1f) == 8, mask = (insn >> 20 & 0x1f) == 11;
        const int lmul = static_cast<int>((before.vtype & 7) ^ 4) - 4;
        const int emul = static_cast<int>(log_eew) - static_cast<int>(before.vtype >> 3 & 7) + lmul;
        const unsigned count = whole ? (insn >> 29) + 1 : mask || emul < 0 ? 1 : 1u << emul;
        for (unsigned r = vd; r < std::min(vd + count, 32u); r++) {
            if (model->state.r[r].var)
                model->state.r[r].raw.assign(shadow[r].begin(), shadow[r].end());
            model->fix(r);
        }
    }

    // The instruction in the commit stage ends.
    bool retire() {
        const VarveItem &item = program.items[commit_step];
        compared++;
        filled++;
        idle = 0;
        uint32_t vstart = 0;
        const Outcome o = execute(item, vstart);
        const bool trap = top.io_issue_commit_trap, stream = is_stream(item.word);
        const std::string name = name_of(item.word);
        if (o.what == Outcome::NotMine)
            return fail("the bench's mistake: the model does not know the instruction");
        if (o.what == Outcome::Wait)
            return fail("commits what is not certain");
        const bool traps = o.what == Outcome::Trap;
        seen[name + (traps ? ": cause " + std::to_string(o.cause) : "")]++;
        if (traps && o.cause == 25)
            seen["STREAM_DATA reason " + std::to_string(o.tval >> 8)]++;
        if (trap != traps) {
            std::printf("model: %s, cause %u tval %08" PRIx64 "\n", traps ? "traps" : "does not trap", o.cause, o.tval);
            return fail(!trap                            ? "does not trap, the model does"
                        : top.io_issue_commit_cause == 2 ? "is illegal, the model executes it"
                                                         : "traps, the model does not");
        }
        if (trap && (top.io_issue_commit_cause != o.cause || top.io_issue_commit_tval != o.tval)) {
            std::printf("cause %u tval %08x, model %u %08" PRIx64 "\n", top.io_issue_commit_cause,
                        top.io_issue_commit_tval, o.cause, o.tval);
            return fail("trap differs");
        }
        const bool illegal = trap && o.cause == 2;
        if (static_cast<bool>(top.io_issue_commit_setVstart_valid) == illegal)
            return fail("illegal, but sets vstart, or does not set it");
        if (!illegal && top.io_issue_commit_setVstart_bits != vstart)
            return fail("vstart differs");
        const bool sets_vl = !trap && model->state.vl != before.vl;
        if (static_cast<bool>(top.io_issue_commit_setVl_valid) != sets_vl ||
            (sets_vl && top.io_issue_commit_setVl_bits != model->state.vl)) {
            std::printf("model: vl %" PRIu64 "\n", model->state.vl);
            return fail("vl differs");
        }
        if (sets_vl)
            seen[model->state.vl ? "unpack shortens vl" : "unpack makes vl 0"]++;
        if (static_cast<bool>(top.io_issue_commit_dirty) != !(illegal || (stream && trap)))
            return fail("dirty is wrong");
        if (stream && static_cast<bool>(top.io_issue_commit_memory) == illegal)
            return fail("commit.memory is wrong");
        const bool late = o.wen && o.rd != 0 && !trap;
        if (static_cast<bool>(top.io_issue_commit_late) != late)
            return fail("late differs from the model's scalar write");
        if (verbose)
            std::printf("%6" PRIu64 ": item %zu, %08x %s%s, vtype %x, vl %u, rd x%u = %" PRIx64
                        ", NumE %u, registers %x\n",
                        cycles, commit_step, item.word, name.c_str(), trap ? " traps" : "", before.vtype, before.vl,
                        late ? o.rd : 0, late ? o.value : 0, model->state.nume, trap ? 0 : o.written);
        if (late) {
            results[o.rd] = static_cast<uint32_t>(o.value);
            late_rd |= 1u << o.rd;
        }
        if (top.io_issue_commit_waits_valid)
            return fail("done, and waits");
        Done &d = done[commit_step];
        d = {};
        d.retired = true;
        for (unsigned r = 0; r < 32; r++)
            if (o.written >> r & 1)
                d.vectors[r] = model->state.r[r];
        if (stream && !trap)
            observe(item.word);
        // With an advance in this cycle, what follows sees this too.
        state = trap ? before : state;
        if (trap) {
            state.vstart = illegal ? before.vstart : vstart;
        } else if (sets_vl) {
            state.vl = static_cast<uint32_t>(model->state.vl);
        }
        return true;
    }

    void observe(uint32_t insn) {
        const unsigned funct3 = insn >> 12 & 7, sew = 8u << (before.vtype >> 3 & 7);
        if (funct3 != 2 && funct3 != 3)
            return;
        const bool output = funct3 == 3;
        const varve::Stream &s = output ? model->state.out[insn >> 26 & 7] : model->state.in[insn >> 26 & 7];
        seen[std::string(output ? "pack " : "unpack ") +
             (s.kind == varve::Huffman ? "Huffman "
              : s.kind                 ? "VarWidth "
                                       : "") +
             (s.buffer() ? "buffer" : "memory") + ", SEW " + std::to_string(sew)]++;
        if (!output || insn >> 30 & 1)
            return;
        const unsigned bits = s.kind == varve::Fixed ? s.width() : s.kind == varve::Huffman ? 15 : 64;
        const std::string what = s.kind == varve::Huffman ? "vs.vpack to Huffman" : "vs.vpack to VarWidth";
        if (s.kind && s.buffer() && s.bytepos + kElements * bits / 8 > world->room(insn >> 26 & 7))
            seen[what + ", little room"]++;
        if (s.kind && s.buffer() && s.bytepos == world->room(insn >> 26 & 7))
            seen[what + ", last byte of room"]++;
    }

    /// What the model makes of the instruction in the commit stage, without doing it.
    Outcome trial() {
        world->trial = true;
        std::unique_ptr<varve::Model> kept = std::move(model);
        model = std::make_unique<varve::Model>(*kept);
        uint32_t vstart;
        const Outcome o =
            is_stream(program.items[commit_step].word) ? execute(program.items[commit_step], vstart) : Outcome{};
        model = std::move(kept);
        world->trial = false;
        return o;
    }

    /// A debugger's step has given up the instruction, since it says that it waits: it may not do so each time when the
    /// stream has all that it needs.
    bool check_step() {
        if (trial().what == Outcome::Wait) {
            steps = 0;
            return true;
        }
        seen["steps given up early"]++;
        return ++steps < 20 || fail("a step gives it up each time, though the model can decide it");
    }

    /// Room, when the instruction in the commit stage has waited a while and the model waits for it too: the last byte
    /// that it needs comes alone. One that is given up meanwhile has waited on.
    void give_room() {
        starved +=
            commit_full && !doomed && !busy && top.io_issue_commit_waits_valid && top.io_issue_commit_waits_bits_output
                ? 1
                : 0;
        if (starved < 8)
            return;
        starved = 0;
        const Outcome o = trial();
        if (o.what != Outcome::Wait || !o.waits_output)
            return;
        uint64_t more = 1;
        for (const uint64_t step : {256, 64, 16, 4}) {
            world->out_tail[o.waits_for] += step;
            const Outcome with = trial();
            world->out_tail[o.waits_for] -= step;
            if (with.what == Outcome::Wait && with.waits_output && with.waits_for == o.waits_for) {
                more = step;
                break;
            }
        }
        out_tail[o.waits_for] += more;
        idle = 0;
    }

    /// The instruction in the commit stage stays: with reason?
    bool check_wait() {
        const bool waits = top.io_issue_commit_waits_valid;
        if (waits) {
            seen[top.io_issue_commit_waits_bits_output ? "cycles of waiting for room" : "cycles of waiting for data"]++;
            if (!is_stream(program.items[commit_step].word))
                return fail("waits for a stream, and is no stream instruction");
            const unsigned funct3 = program.items[commit_step].word >> 12 & 7;
            if ((funct3 == 2 || funct3 == 3) &&
                top.io_issue_commit_waits_bits_stream != (program.items[commit_step].word >> 26 & 7))
                seen[funct3 == 3 ? "cycles of waiting for room for widths" : "cycles of waiting for widths"]++;
        }
        if (busy || top.io_issue_commit_valid == 0 || top.io_issue_commit_begun)
            return true; // what is under way may be why
        stalled++;
        if (stalled % 100 != 0)
            return true;
        const Outcome o = trial();
        // Near an end it looks at one element after the other, and at one byte.
        overdue = waits && o.what == Outcome::Wait ? 0 : overdue + 1;
        if (overdue == kPatience / 100)
            return fail(o.what == Outcome::Wait ? "does not say that it waits"
                                                : "does not end, though the model can decide it");
        if (!waits || o.what != Outcome::Wait)
            return true;
        if (top.io_issue_commit_waits_bits_stream != o.waits_for ||
            static_cast<bool>(top.io_issue_commit_waits_bits_output) != o.waits_output)
            return fail("waits for another stream");
        return true;
    }

    /// Why the commit stage stands still, as the unit counts it: one reason in each cycle, and what the bench knows of
    /// it.
    bool check_counts(bool leaves, bool waits) {
        const unsigned counts = top.io_counts_issued + top.io_counts_waitIssue + top.io_counts_waitInput +
                                top.io_counts_waitOutput + top.io_counts_waitStrip + top.io_counts_waitHazard +
                                top.io_counts_waitMemory + top.io_counts_waitUnit;
        const bool stuck = commit_full && top.io_issue_commit_valid && !leaves;
        if (counts != 1 || top.io_counts_waitResult)
            return fail("a cycle is not counted once");
        if (top.io_counts_issued != leaves || top.io_counts_waitIssue != (!stuck && !leaves))
            return fail("counts something else than happens in the commit stage");
        if (stuck && waits &&
            !(top.io_issue_commit_waits_bits_output ? top.io_counts_waitOutput : top.io_counts_waitInput))
            return fail("waits for a stream, and counts something else");
        if (stuck && !doomed && lacks())
            seen[top.io_counts_waitStrip ? "cycles that lack data or room, behind a strip"
                                         : "cycles that lack data or room"]++;
        // The unit looks an instruction's stream up in the first cycle, and may do so once more.
        working = stuck && !doomed && top.io_counts_waitUnit && lacks() ? working + 1 : 0;
        return working <= 2 || fail("lacks data or room, and that is counted as the unit's own work");
    }
    /// The instruction in the commit stage is an unpack or a pack for whose elements the stream buffer surely has too
    /// little, data or room; it has no mask, and neither its stream's end nor its numbers of elements are near.
    bool lacks() const {
        const uint32_t insn = word();
        if (!is_stream(insn) || !(insn >> 25 & 1) || (before.on & 3) != 3)
            return false;
        const unsigned funct3 = insn >> 12 & 7, id = insn >> 26 & (funct3 == 2 ? 15 : 7);
        const bool full = funct3 == 2 && insn >> 30 == 0, pack = funct3 == 3 && insn >> 29 == 2;
        if ((!full && !pack) || id >= kBuffers)
            return false;
        const varve::Stream &s = pack ? model->state.out[id] : model->state.in[id];
        const uint64_t most = pack ? before.vl : kElements, end = 8 * s.bytepos + s.bitpos + most * s.width();
        return s.open && s.buffer() && s.kind == varve::Fixed && s.pending == 0 &&
               end > 8 * (pack ? out_tail[id] : tail[id]) && (pack || (!known[id] && s.left >= 4 * kElements));
    }

    // ---- Window
    // ------------------------------------------------------------------------------------------------------

    /// A word that is read, and what it should be; or one that is written.
    struct Look {
        uint32_t select, want;
        bool write = false, nume = false;
    };
    // The window looks at words when nothing is under way, while nothing commits; or changes a stream's words and
    // changes them back, while no instruction is in the commit stage. A write of NumE leaves the word that VSSEL names.
    /// Instructions wait. One may follow a write at once, as it leaves the core's MEM stage when the unit takes it.
    bool asking() const {
        return look.size() > 1 || (!look.empty() && !(look.front().write && looking));
    }
    void drive_window() {
        if (look.empty() && !busy && tags.empty() && filled >= 4 && chance(4)) {
            const uint32_t kept = model->state.vssel;
            model->state.mvarve = 3;
            auto ask = [&](uint32_t select) {
                model->state.vssel = select;
                look.push_back({select, static_cast<uint32_t>(model->csr(0x843, 2, 0, false).value)});
            };
            alone = !commit_full && chance(50);
            if (VECTOR_FULL && chance(30)) {
                look_into_registers(ask);
            } else if (chance(70)) {
                const unsigned object = static_cast<unsigned>((rng() % 2) << 4 | rng() % 8);
                for (unsigned index = 0; index < 11; index++)
                    ask(index << 8 | object);
                if (alone) {
                    const std::deque<Look> words = look;
                    for (const bool back : {false, true})
                        for (unsigned index = 10; index-- > (back ? 0u : 1u);)
                            look.push_back(
                                {words[index].select, back ? words[index].want : static_cast<uint32_t>(rng()), true});
                    look.insert(look.end(), words.begin(), words.end());
                    seen["streams changed by the window"]++;
                }
            } else {
                const std::array<uint32_t, 2> words = {
                    1u << 28 | static_cast<uint32_t>(rng() % (kVBytes / 4) << 8 | rng() % kFixedRegisters),
                    static_cast<uint32_t>(rng() % 11 << 8 | (rng() % 2) << 4 | rng() % 8)};
                for (const uint32_t word : words) {
                    if (VECTOR_FULL && alone) {
                        // A small number mostly, else any; bit 31 is PACKED.
                        const auto any = static_cast<uint32_t>(rng());
                        const uint32_t value = chance(80) ? (any & 1u << 31) | any % (2 * kElements) : any;
                        look.push_back({word, value, true, true});
                        model->state.nume = std::min(value & 0xffff, kElements);
                        model->state.packed = value >> 31;
                    } else if (!VECTOR_FULL)
                        look.push_back({word, static_cast<uint32_t>(rng()), true, true});
                    if (VECTOR_FULL)
                        look.push_back({word, model->state.nume | (model->state.packed ? 1u : 0u) << 31, false, true});
                }
                for (const uint32_t word : words)
                    ask(word);
                seen["writes of NumE"]++;
                ask(static_cast<uint32_t>(rng() % 4096 << 8 | rng() % 64));
            }
            model->state.vssel = kept;
            seen["looks by the window"]++;
        }
        if (look.empty() || looking)
            return;
        top.io_issue_window_valid = chance(80);
        top.io_issue_window_bits_write = look.front().write;
        top.io_issue_window_bits_nume = look.front().nume;
        top.io_issue_window_bits_select = look.front().select;
        top.io_issue_window_bits_data = look.front().write ? look.front().want : static_cast<uint32_t>(rng());
    }
    // Words of registers of VarVE-full, some of which become other elements, or masks. Compact data, widths, then what
    // else there is, as who restores a state writes them; the unit and the model then hold the same.
    template <typename Ask> void look_into_registers(Ask ask) {
        const auto set = [&](uint32_t select, uint32_t value) {
            look.push_back({select, value, true});
            model->state.vssel = select;
            model->csr(0x843, 1, value, true);
        };
        for (unsigned n = 1 + static_cast<unsigned>(rng() % 3); n; n--) {
            auto reg =
                static_cast<uint32_t>(chance(80) ? kFixedRegisters + rng() % (32 - kFixedRegisters) : rng() % 32);
            const bool unseen = alone && n == 1 && chance(60); // nobody looks before an instruction does
            if (unseen && (word() >> 24 & 1))                  // the next one, which has it as vs2
                reg = word() >> 20 & 31;
            if (alone && reg >= kFixedRegisters && chance(85)) {
                const bool narrow = chance(50), is_unsigned = chance(50);
                const auto mb = static_cast<unsigned>(rng() % 4);
                std::vector<uint8_t> data(kVBytes), widths;
                unsigned slots = 0;
                for (unsigned count = static_cast<unsigned>(rng() % (kElements + 1)); widths.size() < count;) {
                    const unsigned bits = chance(30) ? 0 : static_cast<unsigned>(rng() % (narrow ? 8 : (8u << mb))) + 1;
                    varve::Wide value = static_cast<varve::Wide>(bits ? rng() >> (64 - bits) : 0);
                    if (!is_unsigned && bits && (value >> (bits - 1) & 1))
                        value -= static_cast<varve::Wide>(1) << bits;
                    const unsigned width = varve::width(value, is_unsigned);
                    if (slots + slots_of(width) > kSlots)
                        break;
                    widths.push_back(static_cast<uint8_t>(width));
                    for (unsigned j = 0; j < slots_of(width); j++, slots++)
                        put_slot(data.data(), slots, static_cast<unsigned>(value >> VECTOR_G * j));
                }
                const auto count = static_cast<uint32_t>(widths.size());
                widths.resize(kElements);
                for (uint32_t k = 0; k < kVBytes / 4; k++)
                    set(1u << 28 | k << 8 | reg, data[4 * k] | data[4 * k + 1] << 8 | data[4 * k + 2] << 16 |
                                                     static_cast<uint32_t>(data[4 * k + 3]) << 24);
                for (uint32_t i = 0; i < kElements; i++)
                    set(2u << 28 | i << 8 | reg, widths[i]);
                set(3u << 28 | reg, 1u | (is_unsigned ? 2u : 0u) | mb << 2 | count << 16);
                std::copy(data.begin(), data.end(), shadow[reg].begin());
                Metadata &m = metadata[reg];
                m.count = count;
                m.mb = 8u << mb;
                m.is_unsigned = is_unsigned;
                std::copy(widths.begin(), widths.end(), m.widths.begin());
                for (unsigned i = 0; i < kSlots; i++)
                    m.live[i] = i < slots;
                seen["registers of elements set by the window"]++;
            } else if (alone && reg < kFixedRegisters && chance(85)) {
                const auto count = static_cast<uint32_t>(rng() % (2 * kElements));
                set(3u << 28 | reg, count << 16);
                metadata[reg].count = std::min(count, kElements);
                seen["lengths of masks set by the window"]++;
            }
            if (unseen)
                break;
            if (model->state.r[reg].var || reg < kFixedRegisters)
                for (uint32_t k = 0; k < kVBytes / 4; k++)
                    ask(1u << 28 | k << 8 | reg);
            for (uint32_t i = 0; i < kElements + 1; i++)
                ask(2u << 28 | i << 8 | reg);
            for (uint32_t i = 0; i < 2; i++)
                ask(3u << 28 | i << 8 | reg);
        }
        seen["registers that the window looked into"]++;
    }
    bool sample_window() {
        if (top.io_issue_window_ready && top.io_issue_status_busy)
            return fail("the window is open while something is under way");
        if (top.io_issue_windowAnswer_valid && !looking)
            return fail("the window answers nobody");
        if (looking && !top.io_issue_windowAnswer_valid) {
            if (++window_wait > (VECTOR_FULL ? kSlots + 2 : 1))
                return fail("the window does not answer in time");
        } else if (looking) {
            window_wait = 0;
            looking = false;
            if (!look.front().write && top.io_issue_windowAnswer_bits != look.front().want) {
                std::printf("select %08x: %08x instead of %08x\n", look.front().select, top.io_issue_windowAnswer_bits,
                            look.front().want);
                return fail("the window shows a wrong word");
            }
            look.pop_front();
        }
        if (top.io_issue_window_valid && top.io_issue_window_ready) {
            if (looking)
                return fail("the window takes a request before it has answered the last one");
            looking = true;
        }
        return true;
    }

    // ---- Streams
    // -----------------------------------------------------------------------------------------------------

    uint64_t out_head(unsigned s) const {
        return program.out[s] + written[s].size();
    }
    /// Arrivals and drains; an answer to what was asked in the cycle before.
    void drive_streams() {
        garbage = rng();
        if (pause)
            pause--;
        else if (chance(pause_rate))
            pause = static_cast<unsigned>(rng() % 64);
        for (unsigned s = 0; s < kBuffers && !pause; s++) {
            const VarveInput &in = program.in[s];
            const uint64_t ring = 1ull << program.log_ring;
            if (!known[s] && chance(tail[s] == in.start + in.length ? 5 : 1) && chance(20 + deliver_rate))
                known[s] = true;
            if (chance(deliver_rate)) {
                // A page's rest may be delivered too, once the end is known.
                const uint64_t most = in.start + (known[s] ? in.bytes.size() : in.length);
                tail[s] = std::max(tail[s], std::min({tail[s] + 1 + rng() % chunk, most, in_head[s] + ring}));
            }
            if (!program.tight && chance(drain_rate))
                out_tail[s] = std::max(out_tail[s], std::min(out_tail[s] + 1 + rng() % chunk, out_head(s) + ring));
        }
        uint8_t bytes[kMemoryBytes];
        for (unsigned i = 0; i < kMemoryBytes; i++) {
            bytes[i] = static_cast<uint8_t>(rng());
            if (!read_pending)
                continue;
            const uint64_t pos = read_pos + i;
            if (read_known[i])
                bytes[i] = program.in[read_stream].bytes.at(pos - program.in[read_stream].start);
        }
        put_wide(top.io_stream_readAnswer, bytes, kMemoryBytes);
        read_pending = false;
    }
    /// What the unit knows of streams against the model, before the instruction in the commit stage ends.
    bool check_streams() {
        unsigned ins = 0, outs = 0;
        for (unsigned s = 0; s < kBuffers; s++) {
            ins |= (model->owns(s, false) ? 1u : 0u) << s;
            outs |= (model->owns(s, true) ? 1u : 0u) << s;
        }
        if (top.io_issue_status_ownInputs != ins || top.io_issue_status_ownOutputs != outs) {
            std::printf("unit: inputs %02x, outputs %02x, model %02x %02x\n", top.io_issue_status_ownInputs,
                        top.io_issue_status_ownOutputs, ins, outs);
            return fail("stream buffers in use differ");
        }
        if (busy)
            return true;
        for (unsigned s = 0; s < kBuffers; s++) {
            if (in_head[s] != world->in_head[s]) {
                std::printf("stream %u: IHEAD %" PRIx64 ", model %" PRIx64 "\n", s, in_head[s], world->in_head[s]);
                return fail("idle, and IHEAD differs");
            }
            if (written[s].size() != world->appended[s].size()) {
                std::printf("stream %u: %zu bytes written, model %zu\n", s, written[s].size(),
                            world->appended[s].size());
                return fail("idle, and OHEAD differs");
            }
        }
        if (loads.size() > owed_loads || stores.size() > owed_stores)
            return fail("idle, and memory accesses are under way");
        return true;
    }
    bool sample_streams() {
        if (top.io_stream_read_valid) {
            read_stream = top.io_stream_read_bits_stream;
            read_pos = extend(in_head[read_stream], top.io_stream_read_bits_pos);
            read_pending = true;
            for (unsigned i = 0; i < kMemoryBytes; i++)
                read_known[i] = read_pos + i >= in_head[read_stream] && read_pos + i < tail[read_stream];
        }
        if (top.io_stream_consume_valid) {
            const unsigned s = top.io_stream_consume_bits_stream;
            const uint64_t to = extend(in_head[s], top.io_stream_consume_bits_head);
            if (to < in_head[s] || to > world->in_head[s]) {
                std::printf("stream %u: IHEAD %" PRIx64 " to %" PRIx64 ", model %" PRIx64 "\n", s, in_head[s], to,
                            world->in_head[s]);
                return fail("IHEAD moves back or past the model's");
            }
            in_head[s] = to;
        }
        if (top.io_stream_write_valid) {
            const unsigned s = top.io_stream_write_bits_stream;
            const uint64_t mask = top.io_stream_write_bits_mask;
            if (mask & (mask + 1))
                return fail("a write to an output stream with gaps");
            unsigned count = 0;
            while (mask >> count & 1)
                count++;
            if (top.io_stream_write_bits_pos != static_cast<uint32_t>(out_head(s)) ||
                top.io_stream_write_bits_head != static_cast<uint32_t>(out_head(s) + count))
                return fail("a write that is not at OHEAD");
            if (out_head(s) + count > out_tail[s])
                return fail("a write past OTAIL");
            uint8_t bytes[kMemoryBytes];
            get_wide(top.io_stream_write_bits_data, bytes, kMemoryBytes);
            for (unsigned i = 0; i < count; i++) {
                const size_t n = written[s].size();
                if (n >= world->appended[s].size() || bytes[i] != world->appended[s][n]) {
                    std::printf("output %u, byte %zu: %02x, model %s %02x\n", s, n, bytes[i],
                                n < world->appended[s].size() ? "" : "nothing",
                                n < world->appended[s].size() ? world->appended[s][n] : 0);
                    return fail("a byte of an output stream differs");
                }
                written[s].push_back(bytes[i]);
            }
        }
        return true;
    }
    /// What was delivered and known in this cycle is what the model may use in the next.
    void keep_streams() {
        world->tail = tail;
        world->known = known;
        world->out_tail = out_tail;
    }
    static uint64_t extend(uint64_t near, uint32_t low) {
        return near +
               static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(low - static_cast<uint32_t>(near))));
    }

    // ---- Memory
    // ------------------------------------------------------------------------------------------------------

    struct Load {
        uint32_t addr;
        unsigned bytes;
        bool read = false;
        std::array<uint8_t, kMemoryBytes> data;
    };
    struct Store {
        uint32_t addr;
        uint64_t mask;
        bool written = false;
        std::array<uint8_t, kMemoryBytes> data;
    };
    // Loads are read at a random moment between request and answer, stores written between request and done.
    void drive_memory() {
        holding = chance(10);
        top.io_memory_load_ready = chance(load_rate);
        top.io_memory_store_ready = chance(store_rate);
        uint8_t bytes[kMemoryBytes];
        for (uint8_t &b : bytes)
            b = static_cast<uint8_t>(rng());
        if (!loads.empty() && loads.front().read && chance(answer_rate)) {
            top.io_memory_loadAnswer_valid = 1;
            std::memcpy(bytes, loads.front().data.data(), kMemoryBytes);
            loads.pop_front();
            owed_loads -= owed_loads ? 1 : 0;
        }
        put_wide(top.io_memory_loadAnswer_bits, bytes, kMemoryBytes);
        if (!stores.empty() && stores.front().written && chance(done_rate)) {
            top.io_memory_storeDone = 1;
            stores.pop_front();
            owed_stores -= owed_stores ? 1 : 0;
        }
        // In order among loads and among stores; loads and stores pass each other.
        for (auto &load : loads)
            if (!load.read) {
                if (chance(50)) {
                    for (unsigned i = 0; i < kMemoryBytes; i++)
                        load.data[i] =
                            i < load.bytes ? memory[load.addr - kVarveBase + i] : static_cast<uint8_t>(rng());
                    load.read = true;
                }
                break;
            }
        for (auto &store : stores)
            if (!store.written) {
                if (chance(50)) {
                    for (unsigned i = 0; i < kMemoryBytes; i++)
                        if (store.mask >> i & 1)
                            memory[store.addr - kVarveBase + i] = store.data[i];
                    store.written = true;
                }
                break;
            }
    }
    bool sample_memory() {
        if (loads.size() > owed_loads && !top.io_issue_status_loads)
            return fail("a load is under way, and status.loads does not say so");
        if (stores.size() > owed_stores && !top.io_issue_status_stores)
            return fail("a store is under way, and status.stores does not say so");
        if (top.io_memory_load_valid && top.io_memory_load_ready) {
            const uint32_t first = top.io_memory_load_bits_addr, bytes = top.io_memory_load_bits_bytes;
            if (bytes == 0 || bytes > kMemoryBytes || !legal(first, static_cast<uint64_t>(first) + bytes - 1))
                return fail("a load outside the memory");
            loads.push_back({first, bytes, false, {}});
            idle = 0;
        }
        if (top.io_memory_store_valid && top.io_memory_store_ready) {
            Store store{top.io_memory_store_bits_addr, top.io_memory_store_bits_mask, false, {}};
            get_wide(top.io_memory_store_bits_data, store.data.data(), kMemoryBytes);
            for (unsigned i = 0; i < kMemoryBytes; i++)
                if ((store.mask >> i & 1) && !legal(store.addr + i, store.addr + i))
                    return fail("a store outside the memory");
            stores.push_back(store);
            idle = 0;
        }
        return true;
    }

    // ---- What happens behind the commit point
    // ------------------------------------------------------------------------

    bool sample() {
        if (!sample_window() || !sample_streams() || !sample_memory())
            return false;
        if (top.io_issue_status_vxsat)
            return fail("vxsat, and nothing saturates");
        if (top.io_issue_result_valid && top.io_issue_result_ready) {
            const unsigned rd = top.io_issue_result_bits_rd;
            const auto want = results.find(rd);
            if (want == results.end())
                return fail("a result that nobody waits for");
            if (want->second != top.io_issue_result_bits_data) {
                std::printf("x%u = %08x, model %08x\n", rd, top.io_issue_result_bits_data, want->second);
                return fail("a result differs");
            }
            results.erase(want);
            late_rd &= ~(1u << rd);
            idle = 0;
        }
        if (top.io_trace_commit_valid) {
            if (!commit_full)
                return fail("dispatch without an instruction");
            Tag tag{top.io_trace_commit_bits_tag, commit_step, top.io_trace_commit_bits_empty != 0, {}};
            if (find(tag.tag) && !tag.ended)
                return fail("a tag is given twice");
            tags.push_back(tag);
        }
        if (top.io_trace_write_valid) {
            Tag *tag = find(top.io_trace_write_bits_tag);
            if (!tag)
                return fail("a write of no tag");
            Tag::Write write{};
            write.eg = top.io_trace_write_bits_write_eg;
            write.mask = top.io_trace_write_bits_write_mask;
            get_wide(top.io_trace_write_bits_write_data, write.data.data(), kDBytes);
            if (!get_metadata(write))
                return fail("metadata of another register than is written");
            if (verbose)
                std::printf("%6" PRIu64 ":   item %zu writes v%u, mask %" PRIx64 "%s, n %u\n", cycles, tag->step,
                            write.eg * kDBytes / kVBytes, write.mask, write.variable ? ", elements" : "",
                            write.metadata.count);
            tag->writes.push_back(write);
        }
        if ((top.io_trace_ends_0_valid && !end(top.io_trace_ends_0_bits)) ||
            (top.io_trace_ends_1_valid && !end(top.io_trace_ends_1_bits)) ||
            (top.io_trace_ends_2_valid && !end(top.io_trace_ends_2_bits)) ||
            (top.io_trace_ends_3_valid && !end(top.io_trace_ends_3_bits)) ||
            (top.io_trace_ends_4_valid && !end(top.io_trace_ends_4_bits)))
            return fail("an end of no tag");
        while (!tags.empty() && tags.front().ended && done[tags.front().step].retired) {
            if (!compare(tags.front()))
                return false;
            tags.pop_front();
        }
        return true;
    }
    Tag *find(unsigned number) {
        for (Tag &tag : tags)
            if (!tag.ended && tag.tag == number)
                return &tag;
        return nullptr;
    }
    bool end(unsigned number) {
        Tag *tag = find(number);
        if (tag)
            tag->ended = true;
        return tag != nullptr;
    }

#if VECTOR_FULL
    bool get_metadata(Tag::Write &write) {
        write.variable = top.io_trace_metadata_valid;
        write.length = top.io_trace_length_valid;
        Metadata &m = write.metadata;
        m.count = write.variable ? top.io_trace_metadata_bits_metadata_count : top.io_trace_length_bits_count;
        if (write.length)
            return top.io_trace_length_bits_register == write.eg && !write.variable;
        if (!write.variable)
            return true;
        m.mb = 8u << top.io_trace_metadata_bits_metadata_mb;
        m.is_unsigned = top.io_trace_metadata_bits_metadata_unsigned;
        uint8_t bits[(kSlots + 7) / 8];
        get_wide(top.io_trace_metadata_bits_metadata_live, bits, sizeof bits);
        for (unsigned i = 0; i < kSlots; i++)
            m.live[i] = bits[i / 8] >> (i % 8) & 1;
        get_wide(top.io_trace_widths, m.widths.data(), kElements);
        return top.io_trace_metadata_bits_register == write.eg;
    }
    /// Whether a register holds the model's elements.
    bool holds(unsigned reg, const varve::Register &want) const {
        const Metadata &m = metadata[reg];
        const unsigned count = m.count;
        if (count != want.n || m.mb != want.mb || m.is_unsigned != want.is_unsigned)
            return false;
        unsigned slot = 0;
        for (unsigned i = 0; i < count; i++) {
            const unsigned width = m.widths[i], many = slots_of(width);
            uint64_t value = 0;
            for (unsigned j = 0; j < many; j++, slot++) {
                while (slot < kSlots && !m.live[slot])
                    slot++;
                if (slot >= kSlots || j == 64 / VECTOR_G)
                    return false;
                const unsigned bits = slot_of(shadow[reg].data(), slot);
                value |= static_cast<uint64_t>(bits) << VECTOR_G * j;
                if (j + 1 == many && many < 64 / VECTOR_G && !want.is_unsigned && bits >> (VECTOR_G - 1))
                    value |= ~0ull << VECTOR_G * many;
            }
            if (width != varve::width(want.value(i), want.is_unsigned) || value != want.v[i])
                return false;
        }
        while (slot < kSlots && !m.live[slot])
            slot++;
        return slot == kSlots;
    }
    void show(unsigned reg, const varve::Register &want) const {
        const Metadata &m = metadata[reg];
        std::printf("  unit:  n %u, mb %u, U %u, widths", m.count, m.mb, m.is_unsigned);
        for (unsigned i = 0; i < kElements; i++)
            std::printf(" %u", m.widths[i]);
        std::printf(", live ");
        for (unsigned i = kSlots; i-- > 0;)
            std::printf("%d", m.live[i]);
        if (!want.var) {
            std::printf("\n  model: n %u\n", want.n);
            return;
        }
        std::printf("\n  model: n %u, mb %u, U %u, elements", want.n, want.mb, want.is_unsigned);
        for (unsigned i = 0; i < want.n; i++)
            std::printf(" %" PRIx64, want.v[i]);
        std::printf("\n");
    }
#else
    bool get_metadata(Tag::Write &write) const {
        write.variable = write.length = false;
        return true;
    }
    bool holds(unsigned, const varve::Register &) const {
        return false;
    }
    void show(unsigned, const varve::Register &) const {
    }
#endif

    // All of the instruction's writes are known, and all older ones are in the shadow.
    bool compare(const Tag &tag) {
        const Done &want = done[tag.step];
        const VarveItem &item = program.items[tag.step];
        for (const auto &write : tag.writes) {
            const unsigned reg = write.eg * kDBytes / kVBytes, from = write.eg * kDBytes % kVBytes;
            for (unsigned i = 0; i < kDBytes; i++) {
                if (!(write.mask >> i & 1))
                    continue;
                if (shadow[reg][from + i] != write.data[i] && !want.vectors.count(reg)) {
                    std::printf("seed %" PRIu64 ", item %zu, insn %08x (%s): changes v%u, the model does not\n",
                                program.seed, tag.step, item.word, name_of(item.word).c_str(), reg);
                    return false;
                }
                shadow[reg][from + i] = write.data[i];
            }
            if (write.variable)
                metadata[reg] = write.metadata;
            if (write.length)
                metadata[reg].count = write.metadata.count;
        }
        for (const auto &[reg, value] : want.vectors)
            if (value.var ? !holds(reg, value)
                          : std::memcmp(shadow[reg].data(), value.raw.data(), kVBytes) != 0 ||
                                (VECTOR_FULL && metadata[reg].count != value.n)) {
                std::printf("seed %" PRIu64 ", item %zu, insn %08x (%s): v%u differs\n  unit  ", program.seed, tag.step,
                            item.word, name_of(item.word).c_str(), reg);
                for (unsigned i = kVBytes; i-- > 0;)
                    std::printf("%02x", shadow[reg][i]);
                std::printf("\n  model ");
                for (unsigned i = kVBytes; i-- > 0;)
                    std::printf("%02x", value.raw[i]);
                std::printf("\n");
                show(reg, value);
                return false;
            }
        return true;
    }

    Design top;
    std::mt19937_64 rng;
    const VarveProgram &program;
    const unsigned kinds;
    const bool verbose; ///< prints each instruction as it leaves the commit stage
    std::unique_ptr<Outside> world;
    std::unique_ptr<varve::Model> model;
    std::vector<uint8_t> memory; ///< the unit's
    unsigned commit_rate, offer_rate, load_rate, answer_rate, store_rate, done_rate, result_rate, kill_rate, step_rate;
    unsigned deliver_rate, drain_rate, chunk, pause_rate;
    unsigned pause = 0; ///< cycles in which no stream moves still, as while a tile waits for the flash
    uint64_t clear_at;  ///< cycle, or 0
    bool holding = false, busy = false;

    size_t at = 0; ///< next item
    std::vector<Done> done;
    std::deque<Look> look;
    bool looking = false;     ///< the first one's answer has not come
    unsigned window_wait = 0; ///< cycles since it could have come
    bool alone = false;       ///< while there are words to look at, nothing is offered
    bool commit_full = false, doomed = false;
    size_t commit_step = 0, offer_step = 0;
    uint64_t idle = 0;
    unsigned stalled = 0, overdue = 0;
    unsigned starved = 0; ///< cycles of waiting for room since there was some more
    bool halted = false;  ///< the core is halted and steps: an instruction that waits is given up at once
    unsigned steps = 0;   ///< given up in a row, though the model can decide it
    unsigned working = 0; ///< cycles in a row that are counted as the unit's work, though a stream lacks something
    unsigned kills = 0;   ///< of the instruction that is next; near an end it needs some cycles in a row
    State state, before, offer_state; ///< behind the commit stage's instruction; ahead of it; ahead of the offered one
    std::map<unsigned, uint32_t> results;
    uint32_t late_rd = 0;
    unsigned filled = 0; ///< instructions ended; the first four fill all registers
    std::deque<Tag> tags;
    std::array<Register, 32> shadow{};
    std::array<Metadata, 32> metadata{};
    std::deque<Load> loads;
    std::deque<Store> stores;
    size_t owed_loads = 0, owed_stores = 0; ///< of those, the ones from before a clear

    // The unit's view of stream buffers.
    std::array<uint64_t, kBuffers> in_head{}, tail{}, out_tail{};
    std::array<bool, kBuffers> known{};
    std::array<std::vector<uint8_t>, kBuffers> written;
    uint64_t garbage = 0;
    bool read_pending = false;
    unsigned read_stream = 0;
    uint64_t read_pos = 0;
    std::array<bool, kMemoryBytes> read_known{};
};

} // namespace

int main(int argc, char **argv) {
    if (argc < 3 || argc > 5) {
        std::fprintf(stderr, "usage: %s SEED PROGRAMS [KINDS [trace]]\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0);
    const unsigned programs = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 0));
    const unsigned kinds = argc > 3 ? static_cast<unsigned>(std::strtoul(argv[3], nullptr, 0)) : 1;
    unsigned passed = 0, failed = 0;
    uint64_t total = 0;
    const auto begin = std::chrono::steady_clock::now();
    const auto compare = [&](const VarveProgram &program) {
        VarveBench bench(program, kinds, argc == 5);
        bench.run() ? passed++ : failed++;
        total += bench.compared;
    };
    for (unsigned i = 0; i < programs; i++) {
        VarveProgram random = random_varve_program(seed + i, VECTOR_VLEN, kinds, VECTOR_FULL, VECTOR_G);
        random.tight = i % 4 == 3;
        compare(random);
        if (VECTOR_FULL && i % 10 == 0) {
            compare(crowded_varve_program(seed + i, VECTOR_VLEN, VECTOR_G));
            compare(steady_varve_program(seed + i, VECTOR_VLEN, VECTOR_G));
            if (kinds == 7)
                compare(tight_varve_program(seed + i, VECTOR_VLEN, VECTOR_G));
        }
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (const auto &[what, count] : seen)
        std::printf("  %-32s %10" PRIu64 "\n", what.c_str(), count);
    std::printf("varve_cosim: VLEN %d, DLEN %d, G %d, seed %" PRIu64 ", %" PRIu64 " instructions compared in %.1f s\n",
                VECTOR_VLEN, VECTOR_DLEN, VECTOR_G, seed, total, seconds);
    std::printf("varve_cosim: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
