// SPDX-License-Identifier: BSD-3-Clause
// Instruction-by-instruction co-simulation of the vector unit alone against spike on random vector programs.
// The bench stands in for the core: spike runs first and its log gives scalar registers and CSRs; the bench offers,
// advances, commits, kills and replays the vector instructions at random times, and is the memory.
// Usage: vector_cosim SEED PROGRAMS FOLDER
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <type_traits>

#include "VVectorUnit.h"
#include "spike.h"
#include "vector_program.h"

#ifndef VECTOR_VLEN
#error                                                                                                                 \
    "VECTOR_VLEN, VECTOR_DLEN, VECTOR_XLEN, VECTOR_ELEN: bits of the design's registers, element groups, scalars, elements"
#endif

using namespace cosim;

namespace {

constexpr unsigned kVBytes = VECTOR_VLEN / 8, kDBytes = VECTOR_DLEN / 8;
using Register = std::array<uint8_t, kVBytes>;

/// A scalar register, an address.
using Scalar = std::conditional_t<VECTOR_XLEN == 64, uint64_t, uint32_t>;
#if VECTOR_XLEN == 64
#define SCALAR "%016" PRIx64
#else
#define SCALAR "%08" PRIx32
#endif

/// One step of the program as the reference took it.
struct Step {
    uint32_t pc, insn;
    bool trap = false;
    uint32_t cause = 0, trap_vstart = 0;
    Scalar tval = 0;
    bool wen = false;
    unsigned rd = 0;
    Scalar wdata = 0;
    std::map<unsigned, Register> vectors;
    std::vector<std::pair<unsigned, Scalar>> csrs;
    std::vector<std::pair<Scalar, std::string>> stores; ///< address, hexadecimal digits
};

unsigned hex_digit(char c) {
    return c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>(c - 'a' + 10);
}

// Reads "e32 m1 l8 v1  0x.. x5 0x.. c8_vstart 0x.. mem 0x.. 0x..".
void parse_effects(const std::string &text, Step &step) {
    std::vector<std::string> words;
    for (size_t at = 0; at < text.size();) {
        const size_t from = text.find_first_not_of(" \n", at);
        if (from == std::string::npos)
            break;
        at = std::min(text.find_first_of(" \n", from), text.size());
        words.push_back(text.substr(from, at - from));
    }
    for (size_t i = 0; i < words.size(); i++) {
        const std::string &word = words[i];
        const bool value_follows = i + 1 < words.size() && words[i + 1].compare(0, 2, "0x") == 0;
        if (!value_follows)
            continue;
        const std::string &value = words[i + 1];
        if (word[0] == 'v' && std::isdigit(static_cast<unsigned char>(word[1]))) {
            Register &reg = step.vectors[static_cast<unsigned>(std::strtoul(word.c_str() + 1, nullptr, 10))];
            for (unsigned b = 0; b < kVBytes; b++) {
                const size_t at = value.size() - 2 * b - 2;
                reg[b] = static_cast<uint8_t>(hex_digit(value[at]) << 4 | hex_digit(value[at + 1]));
            }
        } else if (word[0] == 'c' && std::isdigit(static_cast<unsigned char>(word[1]))) {
            step.csrs.emplace_back(std::strtoul(word.c_str() + 1, nullptr, 10),
                                   std::strtoul(value.c_str(), nullptr, 16));
        } else if (word[0] == 'x' && std::isdigit(static_cast<unsigned char>(word[1]))) {
            step.wen = true; // spike names vector registers ahead of it
            step.rd = static_cast<unsigned>(std::strtoul(word.c_str() + 1, nullptr, 10));
            step.wdata = static_cast<Scalar>(std::strtoul(value.c_str(), nullptr, 16));
        } else if (word == "mem" && i + 2 < words.size() && words[i + 2].compare(0, 2, "0x") == 0) {
            step.stores.emplace_back(std::strtoul(value.c_str(), nullptr, 16), words[i + 2].substr(2));
            i++;
        }
        i++;
    }
}

// The program's steps: commits of the reference, and instructions that it trapped on. Spike's log names a vector access
// that faults, with what it has done, but not an illegal instruction; the handler tells which one it was.
bool reference_steps(const VectorProgram &program, const std::string &folder, std::vector<Step> &steps) {
    Spike spike(folder, program.words,
                "rv" + std::to_string(VECTOR_XLEN) + "im_zicsr_zve" + std::to_string(VECTOR_ELEN) + "x_zvl" +
                    std::to_string(VECTOR_VLEN) + "b",
                {{kImemBase, kImemBytes}, {kVectorBase, kVectorBytes}, {kToHost & ~0xfffu, 0x1000}});
    size_t handler = 0; // index of the handler's first step
    uint32_t cause = 0, vstart = 0;
    Scalar tval = 0;
    for (;;) {
        SpikeCommit commit{};
        if (!spike.next(commit)) {
            std::printf("the reference ended after %zu steps\n", steps.size());
            return false;
        }
        Step step{};
        step.pc = commit.pc;
        step.insn = commit.insn;
        parse_effects(commit.effects, step);
        if (commit.pc == program.handler)
            handler = steps.size();
        steps.push_back(step);
        if (commit.pc == program.end_pc)
            return true;
        if (commit.pc < program.handler || (commit.insn & 0x7f) != 0x73)
            continue;
        switch (commit.insn >> 20) {
        case 0x342:
            cause = static_cast<uint32_t>(step.wdata);
            break;
        case 0x343:
            tval = step.wdata;
            break;
        case 0x008:
            if (step.wen)
                vstart = static_cast<uint32_t>(step.wdata);
            break;
        case 0x341:
            if (!step.wen)
                break;
            if (handler == 0 || steps[handler - 1].pc != step.wdata) {
                Step trapped{};
                trapped.pc = static_cast<uint32_t>(step.wdata);
                trapped.insn = program.words[(step.wdata - kImemBase) / 4];
                steps.insert(steps.begin() + static_cast<ptrdiff_t>(handler), trapped);
                handler++;
            }
            steps[handler - 1].trap = true;
            steps[handler - 1].cause = cause;
            steps[handler - 1].tval = tval;
            steps[handler - 1].trap_vstart = vstart;
            break;
        }
    }
}

bool is_vxsat(uint32_t insn) {
    return (insn & 0x7f) == 0x73 && (insn >> 12 & 7) != 0 && insn >> 20 == 9;
}

bool is_vector(uint32_t insn) {
    const unsigned op = insn & 0x7f, f3 = insn >> 12 & 7;
    return (op == 0x57 && f3 != 7) || ((op == 0x07 || op == 0x27) && (f3 == 0 || f3 >= 5));
}

class VectorBench {
  public:
    VectorBench(uint64_t seed, const VectorProgram &program, const std::vector<Step> &steps)
        : rng(seed), program(program), steps(steps), memory(program.data), reference(program.data) {
        // How eager everybody is, so that every program has its own weather.
        const auto rate = [this] { return std::array<unsigned, 4>{100, 90, 60, 25}[rng() % 4]; };
        commit_rate = rate();
        offer_rate = rate();
        load_rate = rate();
        answer_rate = rate();
        store_rate = rate();
        done_rate = rate();
        result_rate = rate();
        kill_rate = rng() % 2 ? 5 : 0;
        clear_at = rng() % 3 ? 0 : 1 + rng() % 3000;
        top.reset = 1;
        idle_inputs();
        for (int i = 0; i < 3; i++)
            edge();
        top.reset = 0;
    }

    bool run() {
        while (at < steps.size() || !tags.empty() || !results.empty() || commit_full) {
            if (!cycle_once())
                return false;
            if (cycles == clear_at && clear_at)
                clear();
            if (++cycles > 400000 || idle > 20000)
                return fail("no end: the unit hangs");
        }
        for (int i = 0; i < 200 && (loads.size() || stores.size() || busy); i++)
            if (!cycle_once())
                return false;
        if (busy)
            return fail("busy at the end");
        for (size_t i = 0; i < memory.size(); i++)
            if (memory[i] != reference[i]) {
                std::printf("seed %" PRIu64 ": memory at %08zx is %02x, reference %02x\n", program.seed,
                            kVectorBase + i, memory[i], reference[i]);
                return false;
            }
        return true;
    }

    uint64_t cycles = 0, compared = 0;

  private:
    struct Tag {
        unsigned tag;
        size_t step;
        bool ended = false;
        struct Write {
            unsigned eg;
            std::array<uint8_t, kDBytes> data;
            uint64_t mask;
        };
        std::vector<Write> writes;
    };

    /// What the core's other instructions see and change.
    struct State {
        std::array<Scalar, 32> x{};
        Scalar vstart = 0, vl = 0, vtype = Scalar{1} << (VECTOR_XLEN - 1), vxrm = 0, mstatus = 0;
    };

    bool chance(unsigned percent) {
        return rng() % 100 < percent;
    }
    bool fail(const char *what) {
        const Step &step = steps[std::min(commit_full ? commit_step : at, steps.size() - 1)];
        std::printf("seed %" PRIu64 ", step %zu, pc %08x, insn %08x, cycle %" PRIu64 ": %s\n", program.seed, at,
                    step.pc, step.insn, cycles, what);
        std::printf("  vtype " SCALAR ", vl %u, vstart %u, x[rs1] " SCALAR ", x[rs2] " SCALAR "; cause %u, tval " SCALAR
                    ", vstart %u\n",
                    before.vtype, static_cast<unsigned>(before.vl), static_cast<unsigned>(before.vstart),
                    before.x[step.insn >> 15 & 31], before.x[step.insn >> 20 & 31], top.io_issue_commit_cause,
                    static_cast<Scalar>(top.io_issue_commit_tval), top.io_issue_commit_setVstart_bits);
        return false;
    }

    void idle_inputs() {
        top.io_issue_offer_valid = 0;
        top.io_issue_advance = 0;
        top.io_issue_commit_valid = 0;
        top.io_issue_commit_kill = 0;
        top.io_issue_result_ready = 0;
        top.io_issue_window_valid = 0;
        top.io_issue_clear = 0;
        top.io_issue_erase = 0;
        top.io_memory_loadAnswer_valid = 0;
        top.io_memory_storeDone = 0;
        top.io_memory_load_ready = 0;
        top.io_memory_store_ready = 0;
        top.io_memory_check_ok = 0;
        top.io_memory_check_hold = 0;
    }

    // Scalar steps take no time: what they do is known. But vxsat is read when the unit has nothing under way.
    bool skip_scalar() {
        while (at < steps.size() && !(is_vector(steps[at].insn) && steps[at].pc < program.handler)) {
            const uint32_t insn = steps[at].insn;
            if (is_vxsat(insn)) {
                if (commit_full || !tags.empty())
                    return true;
                if (steps[at].wen && steps[at].wdata != vxsat) {
                    std::printf("vxsat is %u, reference " SCALAR "\n", vxsat, steps[at].wdata);
                    return fail("vxsat differs");
                }
                if ((insn >> 12 & 7) == 5) // csrrwi
                    vxsat = insn >> 15 & 1;
            }
            take_effects(steps[at]);
            if (!steps[at].stores.empty())
                memory = reference; // only ahead of the first vector instruction
            at++;
        }
        return true;
    }
    void take_effects(const Step &step) {
        if (step.wen)
            state.x[step.rd] = step.wdata;
        for (const auto &[csr, value] : step.csrs) {
            if (csr == 8)
                state.vstart = value;
            else if (csr == 3104)
                state.vl = value;
            else if (csr == 3105)
                state.vtype = value;
            else if (csr == 10)
                state.vxrm = value;
            else if (csr == 768)
                state.mstatus = value;
        }
        for (const auto &[address, digits] : step.stores)
            for (size_t i = 0; i < digits.size() / 2; i++) {
                const size_t d = digits.size() - 2 * i - 2;
                const Scalar to = address + static_cast<Scalar>(i) - kVectorBase;
                if (to < reference.size())
                    reference[to] = static_cast<uint8_t>(hex_digit(digits[d]) << 4 | hex_digit(digits[d + 1]));
            }
        if (step.trap)
            state.vstart = step.trap_vstart;
    }

    template <typename T> void put_wide(T &port, const uint8_t *bytes, unsigned count) {
        if constexpr (sizeof(T) <= 8)
            std::memcpy(&port, bytes, count);
        else
            std::memcpy(port.data(), bytes, count);
    }
    template <typename T> void get_wide(const T &port, uint8_t *bytes, unsigned count) {
        if constexpr (sizeof(T) <= 8)
            std::memcpy(bytes, &port, count);
        else
            std::memcpy(bytes, port.data(), count);
    }

    // The core starts anew in the middle of everything. Answers of accesses under way still come.
    void clear() {
        idle_inputs();
        top.io_issue_clear = 1;
        edge();
        top.io_issue_clear = 0;
        for (Store &store : stores)
            store.written = true;
        memory = reference = program.data;
        state = before = State{};
        at = commit_step = 0;
        commit_full = doomed = false;
        tags.clear();
        results.clear();
        late_rd = vxsat = filled = 0;
        look.clear();
        looking = false;
    }

    void edge() {
        top.clock = 0;
        top.eval();
        top.clock = 1;
        top.eval();
    }

    bool cycle_once() {
        if (!skip_scalar())
            return false;
        idle_inputs();
        // Offer: the next vector instruction, or a wrong path's word that will not advance.
        const bool have = at < steps.size() && !is_vxsat(steps[at].insn);
        bool real = false;
        if (have && chance(offer_rate)) {
            const Step &step = steps[at];
            const unsigned rd = step.insn >> 7 & 31;
            // The core allows one late result a register. What follows a trap does not come by itself.
            const bool pending = commit_full && !doomed && steps[commit_step].wen && steps[commit_step].rd == rd;
            real = !(late_rd >> rd & 1) && !pending && !(commit_full && steps[commit_step].trap);
            offer(step.insn);
        } else if (chance(50)) {
            offer(static_cast<uint32_t>(rng()));
        }
        drive_window();
        top.io_issue_commit_valid = commit_full && !doomed && look.empty() && chance(commit_rate);
        top.io_issue_result_ready = chance(result_rate);
        drive_memory();
        top.clock = 0;
        top.eval();
        // The check is combinational.
        answer_check();
        top.eval();

        const bool done = top.io_issue_commit_done;
        if (!commit_full && (done || top.io_issue_commit_begun || top.io_issue_commit_trap))
            return fail("done without an instruction");
        const bool leaves = top.io_issue_commit_valid && done;
        bool killed = false;
        if (commit_full && !leaves && !top.io_issue_commit_begun && (doomed ? chance(30) : chance(kill_rate)) &&
            !top.io_issue_commit_valid) {
            top.io_issue_commit_kill = 1;
            killed = true;
        }
        // `done` may not depend on `valid`.
        if (commit_full && !top.io_issue_commit_valid && chance(10)) {
            top.io_issue_commit_kill = 0;
            top.io_issue_commit_valid = 1;
            top.eval();
            if (static_cast<bool>(top.io_issue_commit_done) != done)
                return fail("done depends on valid");
            top.io_issue_commit_valid = 0;
            top.io_issue_commit_kill = killed;
        }
        top.eval();
        const bool empties = !commit_full || leaves || killed;
        const bool advances = top.io_issue_offer_valid && real && empties && chance(95);
        // Sometimes a wrong-path word enters, to be killed there.
        const bool strays = top.io_issue_offer_valid && !real && empties && chance(kill_rate);
        top.io_issue_advance = advances || strays;
        top.eval();
        busy = top.io_issue_status_busy;

        if (leaves && !retire())
            return false;
        if (!sample())
            return false;
        if (leaves || killed) {
            if (killed && !doomed) { // offered again
                at = commit_step;
                state = before;
            }
            commit_full = false;
        }
        if (advances && killed) {
            // What followed a cancelled instruction is cancelled with it, in the next cycle.
            commit_full = doomed = true;
            commit_step = at;
        } else if (advances) {
            commit_full = true;
            doomed = false;
            commit_step = at;
            before = state;
            take_effects(steps[at++]);
        } else if (strays) {
            commit_full = doomed = true;
            commit_step = at;
        }
        top.clock = 1;
        top.eval();
        idle++;
        return true;
    }

    void offer(uint32_t insn) {
        top.io_issue_offer_valid = 1;
        top.io_issue_offer_insn = insn;
        top.io_issue_offer_rs1 = state.x[insn >> 15 & 31];
        top.io_issue_offer_rs2 = state.x[insn >> 20 & 31];
        top.io_issue_offer_enabled = (state.mstatus >> 9 & 3) != 0;
        top.io_issue_offer_config_vill = static_cast<uint8_t>(state.vtype >> (VECTOR_XLEN - 1));
        top.io_issue_offer_config_vma = state.vtype >> 7 & 1;
        top.io_issue_offer_config_vta = state.vtype >> 6 & 1;
        top.io_issue_offer_config_vsew = state.vtype >> 3 & 7;
        top.io_issue_offer_config_vlmul = state.vtype & 7;
        top.io_issue_offer_config_vl = static_cast<uint16_t>(state.vl);
        top.io_issue_offer_config_vstart = static_cast<uint16_t>(state.vstart);
        top.io_issue_offer_config_vxrm = state.vxrm;
    }

    /// An access by the window: what it reads, if that is known.
    struct Look {
        bool write;
        uint32_t select, data;
        bool known;
        uint32_t want;
    };

    // The window looks at a word when nothing is under way; or changes it and changes it back, while nothing commits.
    void drive_window() {
        if (look.empty() && !busy && tags.empty() && filled >= 4 && chance(3)) {
            const unsigned reg = rng() % 32, word = rng() % (kVBytes / 4);
            uint32_t value, other = static_cast<uint32_t>(rng());
            std::memcpy(&value, &shadow[reg][4 * word], 4);
            const uint32_t select = 1u << 28 | word << 8 | reg;
            static constexpr uint32_t kNothing[] = {2u << 28, 1u << 31, 0x20, 0x80, kVBytes / 4 << 8, 0x800 << 8};
            const uint32_t nothing = select ^ kNothing[rng() % 6];
            look.push_back({false, select, other, true, value});
            if (chance(50)) {
                look.push_back({true, nothing, other, false, 0});
                look.push_back({false, nothing, other, true, 0});
                look.push_back({true, select, other, false, 0});
                look.push_back({false, select, value, true, other});
                look.push_back({true, select, value, false, 0});
                look.push_back({false, select, other, true, value});
            }
        }
        if (look.empty() || looking)
            return;
        top.io_issue_window_valid = chance(80);
        top.io_issue_window_bits_write = look.front().write;
        top.io_issue_window_bits_select = look.front().select;
        top.io_issue_window_bits_data = look.front().data;
    }
    bool sample_window() {
        if (top.io_issue_window_ready && top.io_issue_status_busy)
            return fail("the window is open while something is under way");
        if (static_cast<bool>(top.io_issue_windowAnswer_valid) != looking)
            return fail("the window does not answer in time");
        if (looking) {
            if (look.front().known && top.io_issue_windowAnswer_bits != look.front().want) {
                std::printf("select %08x: %08x instead of %08x\n", look.front().select, top.io_issue_windowAnswer_bits,
                            look.front().want);
                return fail("the window shows a wrong word");
            }
            look.pop_front();
        }
        looking = top.io_issue_window_valid && top.io_issue_window_ready;
        return true;
    }

    static bool legal(Scalar first, Scalar last) {
        return first <= last && first >= kVectorBase && last < kVectorBase + kVectorBytes;
    }
    void answer_check() {
        top.io_memory_check_ok =
            top.io_memory_check_valid && !holding && legal(top.io_memory_check_first, top.io_memory_check_last);
        top.io_memory_check_hold = top.io_memory_check_valid && holding;
        top.io_memory_check_cause = top.io_memory_check_write ? 7 : 5;
    }

    // Loads are read at a random moment between request and answer, stores written between request and done.
    void drive_memory() {
        holding = chance(10);
        top.io_memory_load_ready = chance(load_rate);
        top.io_memory_store_ready = chance(store_rate);
        uint8_t bytes[kDBytes];
        for (uint8_t &b : bytes)
            b = static_cast<uint8_t>(rng());
        if (!loads.empty() && loads.front().read && chance(answer_rate)) {
            top.io_memory_loadAnswer_valid = 1;
            std::memcpy(bytes, loads.front().data.data(), kDBytes);
            loads.pop_front();
        }
        put_wide(top.io_memory_loadAnswer_bits, bytes, kDBytes);
        if (!stores.empty() && stores.front().written && chance(done_rate)) {
            top.io_memory_storeDone = 1;
            stores.pop_front();
        }
        // In order among loads and among stores; loads and stores pass each other.
        for (auto &load : loads)
            if (!load.read) {
                if (chance(50))
                    read(load);
                break;
            }
        for (auto &store : stores)
            if (!store.written) {
                if (chance(50))
                    write(store);
                break;
            }
    }
    struct Load {
        Scalar addr;
        unsigned bytes;
        bool read = false;
        std::array<uint8_t, kDBytes> data;
    };
    struct Store {
        Scalar addr;
        uint64_t mask;
        bool written = false;
        std::array<uint8_t, kDBytes> data;
    };
    void read(Load &load) {
        for (unsigned i = 0; i < kDBytes; i++)
            load.data[i] = i < load.bytes ? memory[load.addr - kVectorBase + i] : static_cast<uint8_t>(rng());
        load.read = true;
    }
    void write(Store &store) {
        for (unsigned i = 0; i < kDBytes; i++)
            if (store.mask >> i & 1)
                memory[store.addr - kVectorBase + i] = store.data[i];
        store.written = true;
    }

    // The instruction in the commit stage ends.
    bool retire() {
        const Step &step = steps[commit_step];
        compared++;
        filled++;
        idle = 0;
        const bool trap = top.io_issue_commit_trap;
        if (trap != step.trap)
            return fail(!trap                            ? "does not trap, the reference does"
                        : top.io_issue_commit_cause == 2 ? "is illegal, the reference executes it"
                                                         : "faults, the reference does not");
        if (trap && (top.io_issue_commit_cause != step.cause || top.io_issue_commit_tval != step.tval)) {
            std::printf("cause %u tval " SCALAR ", reference %u " SCALAR "\n", top.io_issue_commit_cause,
                        static_cast<Scalar>(top.io_issue_commit_tval), step.cause, step.tval);
            return fail("trap differs");
        }
        if (trap && step.cause != 2 &&
            (!top.io_issue_commit_setVstart_valid || top.io_issue_commit_setVstart_bits != step.trap_vstart))
            return fail("vstart of the trap differs");
        if (trap && step.cause == 2 && top.io_issue_commit_setVstart_valid)
            return fail("illegal, but sets vstart");
        if (!trap && (!top.io_issue_commit_setVstart_valid || top.io_issue_commit_setVstart_bits != 0))
            return fail("does not set vstart to 0");
        const auto vl =
            std::find_if(step.csrs.begin(), step.csrs.end(), [](const auto &csr) { return csr.first == 3104; });
        const bool sets_vl = !trap && vl != step.csrs.end();
        if (static_cast<bool>(top.io_issue_commit_setVl_valid) != sets_vl ||
            (sets_vl && top.io_issue_commit_setVl_bits != vl->second))
            return fail("vl differs");
        if (static_cast<bool>(top.io_issue_commit_dirty) != !(trap && step.cause == 2))
            return fail("dirty is wrong");
        const bool late = top.io_issue_commit_late;
        if (!trap && late != step.wen)
            return fail("late differs from the reference's scalar write");
        if (late) {
            results[step.rd] = step.wdata;
            late_rd |= 1u << step.rd;
        }
        return true;
    }

    bool sample() {
        if (!sample_window())
            return false;
        if (top.io_issue_status_vxsat && !busy)
            return fail("vxsat while nothing is under way");
        vxsat |= top.io_issue_status_vxsat;
        if (top.io_issue_result_valid && top.io_issue_result_ready) {
            const unsigned rd = top.io_issue_result_bits_rd;
            const auto want = results.find(rd);
            if (want == results.end())
                return fail("a result that nobody waits for");
            if (want->second != top.io_issue_result_bits_data) {
                std::printf("x%u = " SCALAR ", reference " SCALAR "\n", rd,
                            static_cast<Scalar>(top.io_issue_result_bits_data), want->second);
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
            for (const Tag &other : tags)
                if (!other.ended && other.tag == tag.tag && !tag.ended)
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
            tag->writes.push_back(write);
        }
        if ((top.io_trace_ends_0_valid && !end(top.io_trace_ends_0_bits)) ||
            (top.io_trace_ends_1_valid && !end(top.io_trace_ends_1_bits)) ||
            (top.io_trace_ends_2_valid && !end(top.io_trace_ends_2_bits)))
            return fail("an end of no tag");
        while (!tags.empty() && tags.front().ended) {
            if (!compare(tags.front()))
                return false;
            tags.pop_front();
        }
        if (top.io_memory_load_valid && top.io_memory_load_ready) {
            const Scalar first = top.io_memory_load_bits_addr;
            const unsigned bytes = top.io_memory_load_bits_bytes;
            if (bytes == 0 || bytes > kDBytes || !legal(first, first + bytes - 1))
                return fail("a load outside the memory");
            loads.push_back({first, bytes, false, {}});
            idle = 0;
        }
        if (top.io_memory_store_valid && top.io_memory_store_ready) {
            Store store{top.io_memory_store_bits_addr, top.io_memory_store_bits_mask, false, {}};
            get_wide(top.io_memory_store_bits_data, store.data.data(), kDBytes);
            for (unsigned i = 0; i < kDBytes; i++)
                if ((store.mask >> i & 1) && !legal(store.addr + i, store.addr + i))
                    return fail("a store outside the memory");
            stores.push_back(store);
            idle = 0;
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

    // All of the instruction's writes are known, and all older ones are in the shadow.
    bool compare(const Tag &tag) {
        const Step &step = steps[tag.step];
        for (const auto &write : tag.writes) {
            const unsigned reg = write.eg * kDBytes / kVBytes, from = write.eg * kDBytes % kVBytes;
            // The log does not name registers that are moved to themselves; others may not change.
            for (unsigned i = 0; i < kDBytes; i++) {
                if (!(write.mask >> i & 1))
                    continue;
                if (shadow[reg][from + i] != write.data[i] && !step.vectors.count(reg)) {
                    std::printf("seed %" PRIu64 ", pc %08x, insn %08x: changes v%u, the reference does not\n",
                                program.seed, step.pc, step.insn, reg);
                    return false;
                }
                shadow[reg][from + i] = write.data[i];
            }
        }
        for (const auto &[reg, value] : step.vectors)
            if (shadow[reg] != value) {
                std::printf("seed %" PRIu64 ", pc %08x, insn %08x: v%u differs\n  unit      ", program.seed, step.pc,
                            step.insn, reg);
                for (unsigned i = kVBytes; i-- > 0;)
                    std::printf("%02x", shadow[reg][i]);
                std::printf("\n  reference ");
                for (unsigned i = kVBytes; i-- > 0;)
                    std::printf("%02x", value[i]);
                std::printf("\n");
                return false;
            }
        return true;
    }

    VVectorUnit top;
    std::mt19937_64 rng;
    const VectorProgram &program;
    const std::vector<Step> &steps;
    std::vector<uint8_t> memory, reference;
    unsigned commit_rate, offer_rate, load_rate, answer_rate, store_rate, done_rate, result_rate, kill_rate;
    uint64_t clear_at; ///< cycle, or 0
    bool holding = false, busy = false;

    size_t at = 0;                  ///< next step to offer
    unsigned vxsat = 0, filled = 0; ///< instructions retired; the first four fill all registers
    std::deque<Look> look;
    bool looking = false; ///< the first one's answer comes in this cycle
    bool commit_full = false, doomed = false;
    size_t commit_step = 0;
    uint64_t idle = 0;
    State state, before; ///< ahead of step `at`; ahead of the instruction in the commit stage
    std::map<unsigned, Scalar> results;
    uint32_t late_rd = 0;
    std::deque<Tag> tags;
    std::array<Register, 32> shadow{};
    std::deque<Load> loads;
    std::deque<Store> stores;
};

uint64_t run_program(uint64_t seed, const std::string &folder) {
    std::mt19937_64 rng(seed);
    const VectorProgram program = random_vector_program(rng, seed, {VECTOR_VLEN, VECTOR_XLEN, VECTOR_ELEN});
    if (program.words.size() * 4 > kImemBytes) {
        std::printf("seed %" PRIu64 ": program of %zu words does not fit\n", seed, program.words.size());
        return 0;
    }
    std::vector<Step> steps;
    if (!reference_steps(program, folder, steps))
        return 0;
    VectorBench bench(seed, program, steps);
    return bench.run() ? bench.compared : 0;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s SEED PROGRAMS FOLDER\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0);
    const unsigned programs = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 0));
    unsigned passed = 0, failed = 0;
    uint64_t total = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < programs; i++) {
        const uint64_t compared = run_program(seed + i, argv[3]);
        total += compared;
        compared ? passed++ : failed++;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("vector_cosim: VLEN %d, DLEN %d, XLEN %d, ELEN %d, seed %" PRIu64 ", %" PRIu64
                " vector instructions compared in %.1f s\n",
                VECTOR_VLEN, VECTOR_DLEN, VECTOR_XLEN, VECTOR_ELEN, seed, total, seconds);
    std::printf("vector_cosim: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
