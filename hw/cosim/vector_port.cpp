// SPDX-License-Identifier: BSD-3-Clause
// The pipeline's vector port: random programs with a unit made of chance behind the port, each retired instruction
// compared with a model of the program. The unit takes random times, traps, waits for streams, has loads and stores
// under way and sends results late and in any order; its window is a memory; a debugger halts, looks and lets go. With
// VARVE 1 (VarVE-pup) and 2 (VarVE-full) the unit opens and closes streams too, and the pipeline has a port of streams,
// which stalls at random. Usage: vector_port SEED PROGRAMS
#include <algorithm>
#include <map>
#include <optional>

#include "assasin_contract.h"
#include "check.h"
#include "debug_port.h"
#include "isa_program.h"
#include "program_bench.h"
#include "rv_asm.h"

using namespace cosim;
using namespace rv;

namespace {

// x5..x10 are random, x31 points to memory, x28..x30 are the trap handler's.
constexpr unsigned kFirst = 5, kRegs = 6, kPointer = 31;
constexpr uint32_t kIllegal = 0xffffffff, kPointerValue = 0x5eed1234;
constexpr unsigned kVsfmt = ASSASIN_CSR_VSFMT, kVsaux = ASSASIN_CSR_VSAUX, kVssel = ASSASIN_CSR_VSSEL,
                   kVsdat = ASSASIN_CSR_VSDAT, kNume = ASSASIN_CSR_NUME, kVvcfg = ASSASIN_CSR_VVCFG,
                   kMvarve = ASSASIN_CSR_MVARVE, kIhead = ASSASIN_CSR_IHEAD;
/// Of VectorParams' defaults: G 8, MBMAX 64, EMAX 32.
constexpr uint32_t kVvcfgValue = 3 | (VARVE == 2 ? 3 : 1) << 4 | 64 << 8 | 32 << 16;

struct Settings {
    bool vill = true;
    uint32_t vtype = 0, vl = 0, vstart = 0, vxrm = 0, vs = 0;
    bool vxsat = false;
    uint32_t mvarve = 1, vsfmt = 0, vsaux = 0;

    // VLMAX of a legal vtype, 0 of any other (V specification 3.4, VLEN 256, ELEN 32).
    static uint32_t vlmax(uint32_t vtype) {
        const unsigned sew = 8u << (vtype >> 3 & 7), lmul = vtype & 7;
        if (vtype >> 8 || sew > 32 || lmul == 4)
            return 0;
        // In eighths; LMUL must be at least SEW / ELEN.
        const unsigned eighths = lmul < 4 ? 8u << lmul : 8u >> (8 - lmul);
        return eighths * 32 < sew * 8 ? 0 : 256 * eighths / 8 / sew;
    }
    uint32_t set(uint32_t type, bool keep, bool most, uint32_t avl) {
        const uint32_t max = vlmax(type);
        const bool bad = max == 0 || (keep && (vill || vlmax(vtype) != max));
        vill = bad;
        vtype = bad ? 0 : type;
        vl = bad ? 0 : keep ? vl : most ? max : std::min(avl, max);
        vstart = 0;
        vs = 3;
        return vl;
    }
};

/// What the unit has of an instruction in the commit stage, and what it will do with it.
struct Held {
    uint32_t insn, rs1, rs2;
    Settings config;
    bool enabled;
    unsigned wait;
    bool memory, load, store, late, trap, stream, begins, begun = false;
    bool output;
    unsigned stream_number, own_in, own_out; ///< what it waits for; the streams that are open behind it
    uint32_t cause, tval, data;
    std::optional<uint32_t> vl, vstart;
};

bool is_varve(uint32_t insn) {
    return (insn & 0x7f) == 0x2b || (insn & 0x7f) == 0x5b;
}
bool is_vector(uint32_t insn) {
    const unsigned opcode = insn & 0x7f;
    return opcode == 0x07 || opcode == 0x27 || (opcode == 0x57 && (insn >> 12 & 7) != 7) || (VARVE && opcode == 0x5b) ||
           (VARVE == 2 && opcode == 0x2b);
}
bool matches(uint32_t insn, uint32_t match, uint32_t mask) {
    return (insn & mask) == match;
}
#define IS(name) matches(insn, VARVE_MATCH_##name, VARVE_MASK_##name)
/// Scalar registers that a vector instruction reads, and whether it writes one.
bool uses_rs1(uint32_t insn) {
    if (is_varve(insn))
        return IS(VS_FR) || IS(VS_VR) || IS(VS_HR) || IS(VS_FW) || IS(VS_VW) || IS(VS_HW) || IS(VS_CR) || IS(VV_MUL_VX);
    return (insn & 0x7f) != 0x57 || (insn >> 12 & 7) == 4;
}
bool uses_rs2(uint32_t insn) {
    if (is_varve(insn))
        return IS(VS_FR) || IS(VS_VR) || IS(VS_HR);
    return (insn & 0x7f) != 0x57 && (insn >> 26 & 3) == 2;
}
bool writes_scalar(uint32_t insn) {
    if (is_varve(insn))
        return IS(VS_ER) || IS(VS_EW) || IS(VS_RCNUM) || IS(VS_VPACK) || IS(VS_PACK) || IS(VS_PACK_M) || IS(VV_NUM) ||
               IS(VV_REDSUM);
    return (insn & 0x7f) == 0x57 && (insn >> 12 & 7) == 2 && insn >> 26 == 0x10;
}
bool is_stream(uint32_t insn) {
    return (insn & 0x7f) == 0x0b;
}

/// A request of the window, as it was taken.
struct Request {
    bool write, nume;
    uint32_t select, data; ///< written, or the answer
};

/// A stream instruction of custom-0 that has ended.
struct StreamEnd {
    unsigned kind, stream; ///< funct7 of its word
    uint32_t operand, rdata;
};

class Port : public ProgramBench {
  public:
    Port(uint64_t seed, const std::vector<uint32_t> &program)
        : ProgramBench(seed, program), seed(seed), chance(seed ^ 0x5eed) {
    }

    /// Counts and prints what is not as expected.
    void check(const char *what, uint64_t got, uint64_t expected) {
        if (got != expected && failed++ < 8)
            std::printf("seed %" PRIu64 ", cycle %" PRIu64 ", pc %08x: %s is 0x%" PRIx64 ", expected 0x%" PRIx64 "\n",
                        seed, cycle, pc, what, got, expected);
    }
    const uint64_t seed;
    uint32_t pc = 0; ///< of the instruction that is compared
    unsigned failed = 0;

    bool busy() const {
        return !results.empty() || rest || !loads.empty() || !stores.empty();
    }

    std::optional<Held> held;
    std::deque<Held> ended; ///< instructions that left the commit stage, for the model
    std::deque<Request> requests;
    std::deque<StreamEnd> streams;
    unsigned own_in = 0, own_out = 0;
    unsigned accesses = 0, stream_ends = 0, owned = 0;

    /// What the window shows.
    uint32_t &shown(bool nume, uint32_t select) {
        if (nume)
            return nume_value;
        const auto at = words.find(select);
        return at == words.end() ? words[select] = select * 0x9e3779b9u + 1 : at->second;
    }
    unsigned pulses = 0; ///< of vxsat, not yet seen by the model
    unsigned killed = 0, waited = 0, late_results = 0, traps = 0;
    bool quick_results = false;
    bool no_traps = false;
    bool was_loads = false, was_stores = false, was_busy = false; ///< in the latest cycle

  protected:
    void drive() override {
        // Erasing takes as long as it likes, and nothing may come before it has ended.
        erased = top.io_vector_erase && (erased || roll(16) == 0);
        top.io_vector_erased = erased;
        const bool done = held && held->wait == 0;
        top.io_vector_commit_done = done;
        top.io_vector_commit_begun = held && held->begun;
        top.io_vector_commit_trap = done && held->trap;
        top.io_vector_commit_cause = done ? held->cause : 0;
        top.io_vector_commit_tval = done ? held->tval : 0;
        top.io_vector_commit_late = done && held->late && !held->trap;
        top.io_vector_commit_setVl_valid = done && held->vl && !held->trap;
        top.io_vector_commit_setVl_bits = done && held->vl ? *held->vl : 0;
        top.io_vector_commit_setVstart_valid = done && held->vstart;
        top.io_vector_commit_setVstart_bits = done && held->vstart ? *held->vstart : 0;
        top.io_vector_commit_dirty = done && !(held->trap && held->cause == 2);
        top.io_vector_commit_memory = held && held->memory;
        top.io_vector_commit_waits_valid = held && held->stream && held->wait != 0;
        top.io_vector_commit_waits_bits_output = held && held->output;
        top.io_vector_commit_waits_bits_stream = held ? held->stream_number : 0;
        was_busy = busy();
        was_loads = !loads.empty();
        was_stores = !stores.empty();
        top.io_vector_status_busy = was_busy;
        top.io_vector_status_loads = was_loads;
        top.io_vector_status_stores = was_stores;
        pulse = was_busy && roll(8) == 0;
        top.io_vector_status_vxsat = pulse;
        // Taken only while nothing is under way.
        top.io_vector_window_ready = !was_busy && !held && !top.io_vector_clear && roll(3);
        if (answer_in && --answer_in == 0) {
            top.io_vector_windowAnswer_valid = 1;
            top.io_vector_windowAnswer_bits = answer;
        } else {
            top.io_vector_windowAnswer_valid = 0;
            top.io_vector_windowAnswer_bits = static_cast<uint32_t>(chance());
        }
#if VARVE
        top.io_vector_status_ownInputs = own_in;
        top.io_vector_status_ownOutputs = own_out;
        top.io_stream_stall = roll(3) == 0;
        top.io_stream_end = top.io_stream_rangeError = 0;
        top.io_stream_rdata = static_cast<uint32_t>(chance());
        top.io_stream_sLog2 = 3;
        top.io_stream_ringLog2 = 13;
        top.io_stream_peek_data = kPointerValue;
#endif
        // One result is offered until it is taken.
        if (!offered && !results.empty() && (quick_results || roll(4) == 0))
            offered = roll(static_cast<unsigned>(results.size())) + 1;
        top.io_vector_result_valid = offered != 0;
        if (offered) {
            top.io_vector_result_bits_rd = results[offered - 1].first;
            top.io_vector_result_bits_data = results[offered - 1].second;
        } else {
            top.io_vector_result_bits_rd = roll(32);
            top.io_vector_result_bits_data = static_cast<uint32_t>(chance());
        }
    }

    void sample() override {
        if (pulse)
            pulses++;
        // The write of the result taken in the cycle before.
        check("late write on the trace port", top.io_trace_late, taken.has_value());
        if (taken && top.io_trace_late) {
            check("late register", top.io_trace_rd, taken->first);
            check("late value", top.io_trace_wdata, taken->second);
        }
        check("one write a cycle", top.io_trace_late && top.io_trace_wen, 0);
        taken.reset();
        if (offered && top.io_vector_result_ready) {
            taken = results[offered - 1];
            results.erase(results.begin() + (offered - 1));
            offered = 0;
        }
        // Order of scalar accesses behind vector accesses.
        if (top.io_dmem_req_valid && top.io_dmem_req_ready) {
            check("scalar access beside a vector access in MEM", held && held->memory, 0);
            check("scalar access beside vector stores", was_stores, 0);
            check("scalar store beside vector loads", top.io_dmem_req_bits_write && was_loads, 0);
        }
        sample_window();
        sample_streams();
        age(loads);
        age(stores);
        if (rest)
            rest--;
        const bool valid = top.io_vector_commit_valid, kill = top.io_vector_commit_kill;
        if (!held) {
            check("commit without an instruction", valid, 0);
        } else if (kill) {
            check("killed after it has begun or ended", held->begun || (held->wait == 0 && valid), 0);
            killed++;
            held.reset();
        } else if (held->wait == 0) {
            if (valid)
                end();
        } else {
            held->wait--;
            waited++;
            if (valid && held->begins)
                held->begun = true;
        }
        if (started && !top.io_vector_clear)
            check("started before the registers were erased", erased_before, 1);
        started = top.io_vector_clear && top.io_run;
        erased_before = erased;
        if (top.io_vector_clear) {
            own_in = own_out = 0;
            answer_in = 0;
            requests.clear();
            check("offered or committed while cleared", top.io_vector_advance || valid, 0);
            held.reset();
            results.clear();
            loads.clear();
            stores.clear();
            offered = rest = 0;
        }
        if (top.io_vector_advance) {
            check("advance without an offer", top.io_vector_offer_valid, 1);
            check("advance into a full stage", held.has_value(), 0);
            take();
        }
    }

  private:
    unsigned roll(unsigned n) {
        return static_cast<unsigned>(chance() % n);
    }
    void sample_window() {
        if (!top.io_vector_window_valid || !top.io_vector_window_ready)
            return;
        check("a request beside an answer that is owed", answer_in, 0);
        const bool nume = top.io_vector_window_bits_nume;
        Request r{top.io_vector_window_bits_write != 0, nume, top.io_vector_window_bits_select,
                  top.io_vector_window_bits_data};
        check("NUME without VarVE-full", nume && VARVE != 2, 0);
        if (r.write)
            shown(nume, r.select) = r.data;
        else
            r.data = shown(nume, r.select);
        answer = r.write ? static_cast<uint32_t>(chance()) : r.data;
        answer_in = seed % 2 ? 1 : 1 + roll(4);
        requests.push_back(r);
        accesses++;
    }
    void sample_streams() {
        const bool waits = held && held->stream && held->wait && top.io_vector_commit_valid;
#if VARVE
        const bool ops[] = {top.io_stream_op_load != 0, top.io_stream_op_store != 0, top.io_stream_op_readI != 0,
                            top.io_stream_op_readO != 0};
        for (unsigned kind = 0; kind < 4; kind++) {
            if (!ops[kind])
                continue;
            check("stream instruction beside VarVE's", under && was_busy, 0);
            check("stream instruction on a stream of VarVE",
                  kind < 2 && ((kind ? own_out : own_in) >> top.io_stream_stream & 1), 0);
            if (!top.io_stream_stall) {
                streams.push_back({kind, top.io_stream_stream, top.io_stream_operand, top.io_stream_rdata});
                stream_ends++;
            }
        }
        const bool pointer = top.io_trace_valid && (top.io_trace_insn & 0x7f) == 0x73 &&
                             top.io_trace_insn >> 26 == kIhead >> 6 && (top.io_trace_insn >> 12 & 3);
        check("a stream's pointer read beside VarVE", pointer && was_under, 0);
        const bool load = ops[0] && top.io_stream_stall, store = ops[1] && top.io_stream_stall;
        was_under = under && was_busy;
        under = was_under; // one that ends in this cycle counts from the next one on
#else
        const bool load = false, store = false;
#endif
        check("waits for input", top.io_status_waitIn, load || (waits && !held->output));
        check("waits for room", top.io_status_waitOut, store || (waits && held->output));
        if (waits)
            check("the stream that is waited for", top.io_status_waitStream, held->stream_number);
        if (waits && !held->begun && top.io_debug_halt)
            check("a wait is given up on a halt", top.io_vector_commit_kill, 1);
    }
    void age(std::vector<unsigned> &list) {
        for (auto &left : list)
            left--;
        list.erase(std::remove(list.begin(), list.end(), 0u), list.end());
    }
    void take() {
        Held h{};
        h.insn = top.io_vector_offer_insn;
        h.rs1 = top.io_vector_offer_rs1;
        h.rs2 = top.io_vector_offer_rs2;
        h.enabled = top.io_vector_offer_enabled;
        h.config.vill = top.io_vector_offer_config_vill;
        h.config.vtype = top.io_vector_offer_config_vma << 7 | top.io_vector_offer_config_vta << 6 |
                         top.io_vector_offer_config_vsew << 3 | top.io_vector_offer_config_vlmul;
        h.config.vl = top.io_vector_offer_config_vl;
        h.config.vstart = top.io_vector_offer_config_vstart;
        h.config.vxrm = top.io_vector_offer_config_vxrm;
        const unsigned opcode = h.insn & 0x7f;
        const bool custom2 = opcode == 0x5b;
        h.load = opcode == 0x07;
        h.store = opcode == 0x27;
        h.memory = h.load || h.store;
        h.late = writes_scalar(h.insn) && (h.insn >> 7 & 31);
        h.wait = roll(3) ? 0 : roll(12);
        h.stream = !h.memory && roll(custom2 ? 3 : 8) == 0;
        h.begins = (h.memory || h.stream) && !custom2 && roll(3) == 0;
        h.output = roll(2);
        h.stream_number = roll(8);
        if (custom2) { // perhaps of a stream in memory
            h.load = roll(4) == 0;
            h.store = roll(4) == 0;
            h.memory = h.load || h.store || roll(2);
        }
        h.own_in = own_in;
        h.own_out = own_out;
        if (custom2 && (h.insn >> 12 & 7) == 0) {
            h.own_in = roll(2) ? roll(256) : 0;
            h.own_out = roll(2) ? roll(256) : 0;
        }
        if (h.stream)
            h.wait = 1 + roll(40);
        h.trap = !no_traps && roll(16) == 0;
        static const uint32_t causes[] = {2, 4, 5, 6, 7, 24, 25};
        h.cause = causes[roll(custom2 ? 7 : 5)];
        h.tval = static_cast<uint32_t>(chance());
        h.data = static_cast<uint32_t>(chance());
        if (h.trap ? h.cause != 2 : true)
            h.vstart = h.trap ? roll(256) : 0;
#if VARVE
        h.config.mvarve = top.io_vector_offer_varve_enabled;
        h.config.vsfmt = top.io_vector_offer_varve_format;
        h.config.vsaux = top.io_vector_offer_varve_aux;
#endif
        if ((h.load || custom2) && h.config.vl && roll(4) == 0)
            h.vl = roll(h.config.vl) + 1;
        held = h;
    }
    void end() {
        const Held &h = *held;
        if (h.trap) {
            traps++;
        } else {
            if (h.late) {
                for (const auto &r : results)
                    check("two results for one register", r.first == (h.insn >> 7 & 31), 0);
                results.emplace_back(h.insn >> 7 & 31, h.data);
                late_results++;
            }
            if (h.load)
                loads.push_back(1 + roll(20));
            if (h.store)
                stores.push_back(1 + roll(20));
            rest = std::max(rest, roll(4) ? 0 : roll(30));
            under |= is_varve(h.insn);
            own_in = h.own_in;
            own_out = h.own_out;
        }
        ended.push_back(h);
        held.reset();
    }

    std::mt19937_64 chance;
    std::vector<std::pair<unsigned, uint32_t>> results;
    std::vector<unsigned> loads, stores; ///< cycles left of accesses under way
    std::optional<std::pair<unsigned, uint32_t>> taken;
    unsigned offered = 0, rest = 0;
    bool pulse = false;
    bool under = false, was_under = false; ///< VarVE's instructions are behind the commit stage
    std::map<uint32_t, uint32_t> words;    ///< of the window, those that were asked for
    uint32_t nume_value = 32, answer = 0;
    unsigned answer_in = 0; ///< cycles until the window's answer
    bool erased = false, erased_before = false;
    bool started = false; ///< in the latest cycle the unit was cleared for a program to start
};

/// The program as the specification has it, one instruction a call.
struct Model {
    explicit Model(Port &p) : port(p) {
    }

    uint32_t x[32] = {}, mtvec = 0, mepc = 0, mcause = 0, mtval = 0, next = kImemBase;
    Settings v;
    std::vector<uint32_t> memory = std::vector<uint32_t>(kSpadBytes / 4);
    Port &port;

    uint32_t vssel = 0;

    /// A CSR may not be accessed.
    bool illegal(unsigned number) const {
        switch (number) {
        case kVssel:
        case kVsdat:
            return VARVE ? v.mvarve == 0 : v.vs == 0;
        case kVsfmt:
        case kVsaux:
        case kVvcfg:
            return !VARVE || v.mvarve == 0;
        case kNume:
            return VARVE != 2 || v.mvarve == 0;
        case kMvarve:
            return !VARVE;
        case kVl:
        case kVtype:
        case kVstart:
        case kVxsat:
        case kVxrm:
        case kVcsr:
            return v.vs == 0;
        default:
            return false;
        }
    }

    /// The request that an access to the window has made.
    uint32_t window(bool nume, bool write, uint32_t data) {
        if (port.requests.empty()) {
            port.check("requests of the window", 0, 1);
            return 0;
        }
        const Request r = port.requests.front();
        port.requests.pop_front();
        port.check("request writes", r.write, write);
        port.check("request of NUME", r.nume, nume);
        if (!nume)
            port.check("select", r.select, vssel);
        if (write)
            port.check("written", r.data, data);
        return r.data;
    }

    uint32_t csr_read(unsigned number) {
        if ((number & ~63u) == kIhead)
            return kPointerValue;
        switch (number) {
        case kVssel:
            return vssel;
        case kVsdat:
        case kNume:
            return window(number == kNume, false, 0);
        case kVsfmt:
            return v.vsfmt;
        case kVsaux:
            return v.vsaux;
        case kVvcfg:
            return kVvcfgValue;
        case kMvarve:
            return v.mvarve;
        case kMtvec:
            return mtvec;
        case kMepc:
            return mepc;
        case kMcause:
            return mcause;
        case kMtval:
            return mtval;
        case kVl:
            return v.vl;
        case kVtype:
            return v.vill << 31 | v.vtype;
        case kVstart:
            return v.vstart;
        case kVxsat:
            return v.vxsat;
        case kVxrm:
            return v.vxrm;
        case kVcsr:
            return v.vxrm << 1 | v.vxsat;
        case kMstatus:
            return 0x1800 | v.vs << 9 | (v.vs == 3 || (VARVE && v.mvarve == 3) ? 0x80000000u : 0) | mpie << 7 |
                   (VARVE ? v.mvarve << 15 : 0);
        default:
            return 0;
        }
    }
    void csr_write(unsigned number, uint32_t value) {
        switch (number) {
        case kMvarve:
            v.mvarve = value & 3;
            return;
        case kVsfmt:
            v.vsfmt = value;
            v.mvarve = 3;
            return;
        case kVsaux:
            v.vsaux = value;
            v.mvarve = 3;
            return;
        case kVssel:
            vssel = value;
            v.mvarve = 3;
            return;
        case kVsdat:
        case kNume:
            window(number == kNume, true, value);
            v.mvarve = 3;
            break;
        case kMtvec:
            mtvec = value;
            return;
        case kMepc:
            mepc = value;
            return;
        case kMstatus:
            v.vs = value >> 9 & 3;
            mpie = value >> 7 & 1;
            return;
        case kVstart:
            v.vstart = value & 255;
            break;
        case kVxsat:
            v.vxsat = value & 1;
            break;
        case kVxrm:
            v.vxrm = value & 3;
            break;
        case kVcsr:
            v.vxrm = value >> 1 & 3;
            v.vxsat = value & 1;
            break;
        default:
            return;
        }
        v.vs = 3;
    }
    uint32_t mpie = 0;

    void trap(uint32_t pc, uint32_t cause, uint32_t tval) {
        mepc = pc;
        mcause = cause;
        mtval = tval;
        mpie = 0;
        next = mtvec;
    }

    /// What the unit said of a vector instruction, and what it was given.
    void vector(uint32_t pc, uint32_t insn, bool trapped) {
        if (port.ended.empty()) {
            port.check("vector instruction that the unit has not ended", 1, 0);
            return;
        }
        const Held h = port.ended.front();
        port.ended.pop_front();
        port.check("offered word", h.insn, insn);
        if (uses_rs1(insn))
            port.check("offered rs1", h.rs1, x[insn >> 15 & 31]);
        if (uses_rs2(insn))
            port.check("offered rs2", h.rs2, x[insn >> 20 & 31]);
        port.check("offered vill", h.config.vill, v.vill);
        port.check("offered vtype", h.config.vtype, v.vtype);
        port.check("offered vl", h.config.vl, v.vl);
        port.check("offered vstart", h.config.vstart, v.vstart);
        port.check("offered vxrm", h.config.vxrm, v.vxrm);
        port.check("offered VS", h.enabled, v.vs != 0);
        if (is_varve(insn)) {
            port.check("offered MVARVE", h.config.mvarve, v.mvarve != 0);
            port.check("offered VSFMT", h.config.vsfmt, v.vsfmt);
            port.check("offered VSAUX", h.config.vsaux, v.vsaux);
        }
        port.check("trap as the unit has it", trapped, h.trap);
        if (!h.trap || h.cause != 2) {
            v.vs = 3;
            if (is_varve(insn))
                v.mvarve = 3;
        }
        if (h.vstart)
            v.vstart = *h.vstart;
        if (h.trap) {
            trap(pc, h.cause, h.tval);
            return;
        }
        own_in = h.own_in;
        own_out = h.own_out;
        if (h.vl)
            v.vl = *h.vl;
        if (h.late)
            x[insn >> 7 & 31] = h.data;
        next = pc + 4;
    }

    /// One retired or trapped instruction.
    void step(const Commit &c) {
        const uint32_t insn = c.insn, pc = c.pc;
        port.pc = pc;
        port.check("pc", pc, next);
        next = pc + 4;
        const unsigned opcode = insn & 0x7f, f3 = insn >> 12 & 7, rd = insn >> 7 & 31, rs2 = insn >> 20 & 31;
        const uint32_t a = x[insn >> 15 & 31], b = x[rs2];
        const int32_t imm = static_cast<int32_t>(insn) >> 20;
        uint32_t value = 0;
        bool writes = rd != 0;
        if (is_vector(insn)) {
            vector(pc, insn, c.trap);
            port.check("early write of a vector instruction", c.wen, 0);
            return;
        }
        const unsigned stream = insn >> 15 & 7, kind = insn >> 25;
        const bool bad = insn == kIllegal || is_varve(insn) || (opcode == 0x73 && f3 && illegal(insn >> 20)) ||
                         (is_stream(insn) && kind < 2 && ((kind ? own_out : own_in) >> stream & 1)) ||
                         (is_stream(insn) && !VARVE);
        if (insn == ecall || bad) {
            port.check("traps", c.trap, 1);
            port.owned += bad && is_stream(insn);
            trap(pc, insn == ecall ? 11 : 2, insn == ecall ? 0 : insn);
            return;
        }
        port.check("traps", c.trap, 0);
        switch (opcode) {
        case 0x13:
            value = a + imm; // addi only
            break;
        case 0x37:
            value = insn & 0xfffff000;
            break;
        case 0x17:
            value = pc + (insn & 0xfffff000);
            break;
        case 0x33:
            if (insn >> 25 == 1)
                value = f3 == 0 ? a * b : b ? a / b : ~0u; // mul, divu
            else
                value = insn >> 30 ? a - b : a + b;
            break;
        case 0x03:
            value = memory[(a + imm - kSpadBase) / 4];
            break;
        case 0x23:
            memory[(a + ((imm & ~31) | static_cast<int32_t>(rd)) - kSpadBase) / 4] = b;
            writes = false;
            break;
        case 0x63: {
            const uint32_t distance = (insn >> 8 & 15) << 1 | (insn >> 25 & 63) << 5; // forward, short
            if ((a == b) == (f3 == 0))
                next = pc + distance;
            writes = false;
            break;
        }
        case 0x6f: // forward or to itself
            value = pc + 4;
            next = pc + ((insn >> 21 & 0x3ff) << 1);
            break;
        case 0x0b: {
            if (port.streams.empty()) {
                port.check("stream instructions that have ended", 0, 1);
                return;
            }
            const StreamEnd e = port.streams.front();
            port.streams.pop_front();
            port.check("stream instruction", e.kind, kind);
            port.check("its stream", e.stream, stream);
            if (kind)
                port.check("its operand", e.operand, b);
            value = e.rdata; // words only
            writes = kind != 1 && rd != 0;
            break;
        }
        case 0x0f:
            port.check("FENCE beside vector accesses", fence_unsafe, 0);
            writes = false;
            break;
        case 0x57: {
            const bool immediate = insn >> 30 == 3, by_register = insn >> 31 && !immediate;
            const bool none = !immediate && (insn >> 15 & 31) == 0;
            const uint32_t type = by_register ? b : immediate ? insn >> 20 & 0x3ff : insn >> 20 & 0x7ff;
            value = v.set(type, none && rd == 0, none && rd != 0, immediate ? insn >> 15 & 31 : a);
            break;
        }
        case 0x73:
            if (insn == mret) {
                next = mepc;
                mpie = 1;
                writes = false;
                break;
            }
            value = csr_read(insn >> 20);
            if (f3 == 1)
                csr_write(insn >> 20, a);
            else if (insn >> 15 & 31)
                csr_write(insn >> 20, f3 == 2 ? value | a : value & ~a);
            break;
        default:
            port.check("word", insn, 0);
        }
        port.check("writes", c.wen, writes);
        if (writes) {
            port.check("rd", c.rd, rd);
            port.check("value", c.wdata, value);
            x[rd] = value;
        }
    }
    bool fence_unsafe = false;
    unsigned own_in = 0, own_out = 0;
};

class Maker {
  public:
    explicit Maker(std::mt19937_64 &r) : rng(r) {
    }
    uint32_t end_pc = 0;
    bool exits = false;

    std::vector<Word> make() {
        // The handler: cause, value, and on behind the instruction.
        code = {
            jal(0, 4 * 7), csrr(29, kMcause), csrr(28, kMtval),     csrr(30, kMepc), addi(30, 30, 4), csrw(kMepc, 30),
            mret,          auipc(29, 0),      addi(29, 29, -4 * 6), csrw(kMtvec, 29)};
        li(29, 0x600);
        code.push_back(csrrs(0, kMstatus, 29));
        li(kPointer, kSpadBase + 0x1000);
        for (unsigned i = 0; i < kRegs; i++)
            li(kFirst + i, static_cast<uint32_t>(rng()) >> roll(32));
        code.push_back(vsetvli(0, 5, 2 << 3));
        while (code.size() < 4000)
            item(0);
        for (unsigned i = 1; i < 32; i++)
            code.push_back(addi(i, i, 0));
        exits = roll(2);
        if (exits) {
            code.push_back(csrw(kMtvec, 0));
            code.push_back(vmv_x_s(10, 0));
            code.push_back(ecall);
        }
        end_pc = kImemBase + static_cast<uint32_t>(code.size()) * 4 - (exits ? 4 : 0);
        code.push_back(jal(0, 0));
        return code;
    }

  private:
    unsigned roll(unsigned n) {
        return static_cast<unsigned>(rng() % n);
    }
    unsigned reg() {
        return roll(16) ? kFirst + roll(kRegs) : 0;
    }
    void li(unsigned rd, uint32_t value) {
        const int32_t low = static_cast<int32_t>(value << 20) >> 20;
        code.push_back(lui(rd, value - static_cast<uint32_t>(low)));
        code.push_back(addi(rd, rd, low));
    }
    void item(unsigned depth) {
        const unsigned rd = reg(), a = reg(), b = reg();
        if (roll(4) == 0) {
            roll(2) ? window_item(rd, a) : varve_item(rd, a, b);
            return;
        }
        switch (roll(depth ? 19 : 20)) {
        case 0:
        case 1:
        case 2: {
            const Word w[] = {add(rd, a, b),
                              sub(rd, a, b),
                              mul(rd, a, b),
                              divu(rd, a, b),
                              addi(rd, a, static_cast<int32_t>(roll(4096)) - 2048),
                              lui(rd, static_cast<Word>(rng()))};
            code.push_back(w[roll(6)]);
            break;
        }
        case 3:
        case 4:
            code.push_back(lw(rd, kPointer, static_cast<int32_t>(roll(16)) * 4));
            break;
        case 5:
        case 6:
            code.push_back(sw(a, kPointer, static_cast<int32_t>(roll(16)) * 4));
            break;
        case 7:
        case 8:
        case 9:
        case 10:
            code.push_back(vmv_x_s(rd, roll(32)));
            break;
        case 11:
            code.push_back(roll(2) ? vadd_vx(roll(32), roll(32), a) : vadd_vv(roll(32), roll(32), roll(32)));
            break;
        case 12:
            code.push_back(roll(3) ? vle32(roll(32), a) : vlse32(roll(32), a, b));
            break;
        case 13:
            code.push_back(vse32(roll(32), a));
            break;
        case 14:
            code.push_back(vsetvli(rd, a, roll(4) | roll(3) << 3 | roll(4) << 6));
            break;
        case 15:
            code.push_back(roll(2) ? vsetivli(rd, roll(32), roll(8) | roll(4) << 3)
                                   : vsetvli(0, 0, roll(8) | roll(3) << 3));
            break;
        case 16: {
            static const unsigned numbers[] = {kVl, kVtype, kVstart, kVxsat, kVxrm, kVcsr, kMstatus};
            const unsigned n = roll(7);
            code.push_back(n >= 2 && n < 6 && roll(2) ? csrrw(rd, numbers[n], a) : csrr(rd, numbers[n]));
            if (n == 6) { // VS to Initial or Clean, or from Initial to Dirty
                li(29, (1 + roll(2)) << 9);
                code.push_back(csr(roll(4) ? 3 : 2, 0, kMstatus, 29));
                li(29, 0x200);
                code.push_back(csrrs(0, kMstatus, 29));
                code.push_back(csrr(rd, kMstatus));
            }
            break;
        }
        case 17:
            code.push_back(roll(2) ? fence_i : 0x0ff0000f);
            break;
        case 18:
            code.push_back(roll(4) ? addi(0, a, 0) : roll(2) ? ecall : kIllegal);
            break;
        default: {
            const size_t at = code.size();
            code.push_back(0);
            const unsigned n = 1 + roll(4);
            for (unsigned i = 0; i < n; i++)
                item(1);
            code[at] = b_type(roll(2), a, b, static_cast<int32_t>(code.size() - at) * 4);
            break;
        }
        }
    }

    /// CSRs of VarVE, also with MVARVE or VS off. The handler of traps changes x28..x30.
    void window_item(unsigned rd, unsigned a) {
        static const unsigned numbers[] = {kVssel, kVsdat, kVsdat, kVsdat, kVsfmt, kVsaux, kVvcfg, kMvarve, kNume};
        const auto access = [&] {
            const unsigned n = numbers[roll(9)];
            if (n == kMvarve) // not off
                code.push_back(csr(2, rd, n, roll(2) ? a : 0));
            else
                code.push_back(csr(1 + roll(3), rd, n, roll(2) ? a : 0));
        };
        access();
        if (roll(8) == 0) {
            const unsigned number = VARVE && roll(2) ? kMvarve : kMstatus;
            li(29, number == kMvarve ? 3 : 0x600);
            code.push_back(csr(3, 0, number, 29));
            access();
            if (roll(2))
                code.push_back(roll(2) ? vadd_vv(roll(32), roll(32), roll(32))
                                       : varve(VARVE_MATCH_VS_FR, roll(8), a, a));
            li(29, number == kMvarve ? 1 + roll(3) : 0x200);
            code.push_back(csrrs(0, number, 29));
        }
    }

    /// VarVE's instructions, which a core without VarVE does not know, and the stream instructions beside them.
    void varve_item(unsigned rd, unsigned a, unsigned b) {
        const unsigned id = roll(8), v = roll(32);
        static const uint32_t in[] = {VARVE_MATCH_VS_FR, VARVE_MATCH_VS_VR, VARVE_MATCH_VS_HR};
        static const uint32_t out[] = {VARVE_MATCH_VS_FW, VARVE_MATCH_VS_VW, VARVE_MATCH_VS_HW};
        switch (roll(14)) {
        case 0:
            code.push_back(varve(in[roll(3)], id, a, b));
            break;
        case 1:
            code.push_back(varve(out[roll(3)], id, a, 0));
            break;
        case 2:
            code.push_back(varve(VARVE_MATCH_VS_CR, 0, a, id));
            break;
        case 3:
            code.push_back(varve(roll(2) ? VARVE_MATCH_VS_ER : VARVE_MATCH_VS_EW, rd, 0, id));
            break;
        case 4:
            code.push_back(varve(VARVE_MATCH_VS_RCNUM | roll(256) << 20, rd, 0, 0));
            break;
        case 5:
        case 6:
            code.push_back(varve((roll(2) ? VARVE_MATCH_VS_UNPACK : VARVE_MATCH_VS_VUNPACK) | id << 26, v, 0, 0));
            break;
        case 7:
        case 8:
            code.push_back(varve((roll(2) ? VARVE_MATCH_VS_PACK : VARVE_MATCH_VS_PACK_M) | id << 26, rd, v, 0));
            break;
        case 9: {
            const Word w[] = {varve(VARVE_MATCH_VV_ADD_VV, v, v, roll(32)), varve(VARVE_MATCH_VV_MUL_VX, v, a, v),
                              varve(VARVE_MATCH_VV_NUM, rd, 0, v), varve(VARVE_MATCH_VV_REDSUM, rd, 0, v)};
            code.push_back(w[roll(4)]);
            break;
        }
        case 10:
            code.push_back(stream_load(2, rd, id));
            break;
        case 11:
            code.push_back(stream_store(2, a, id));
            break;
        case 12:
            code.push_back(roll(2) ? stream_readi(2, rd, id, a) : stream_reado(2, rd, id, a));
            break;
        default:
            code.push_back(VARVE ? csrr(rd, kIhead + roll(40)) : kIllegal);
            break;
        }
    }

    std::mt19937_64 &rng;
    std::vector<Word> code;
};

/// A debugger reads and writes a word of a vector register, by VSSEL and VSDAT.
void look_into(Port &port, DebugPort<CoreBench> &debug, Model &model, std::mt19937_64 &rng) {
    const uint32_t before = debug.csr(kVssel);
    port.check("VSSEL is not there for the debugger", debug.error, model.illegal(kVssel));
    if (debug.error)
        return;
    port.check("VSSEL seen by the debugger", before, model.vssel);
    const uint32_t select = 1u << 28 | static_cast<uint32_t>(rng() % 8) << 8 | static_cast<uint32_t>(rng() % 32);
    const uint32_t value = static_cast<uint32_t>(rng());
    debug.set_csr(kVssel, select);
    port.check("word seen by the debugger", debug.csr(kVsdat), port.shown(false, select));
    debug.set_csr(kVsdat, value);
    port.check("word as the debugger wrote it", debug.csr(kVsdat), value);
    port.check("the window's word", port.shown(false, select), value);
    debug.set_csr(kVssel, before);
    port.requests.clear();
    model.v.mvarve = model.v.vs = 3;
}

uint64_t total = 0, lates = 0, kills = 0, trapped = 0, halts = 0, issued = 0, accesses = 0, stream_ends = 0, owned = 0;

bool run_program(uint64_t seed) {
    std::mt19937_64 rng(seed);
    Maker maker(rng);
    const std::vector<Word> program = maker.make();
    Port port(seed, program);
    port.fast = seed % 3 == 0;
    port.quick_results = seed % 4 == 0;
    DebugPort<CoreBench> debug(port);
    Model model(port);
    const bool debugged = seed % 2;
    uint64_t latest = port.cycle;
    unsigned halted_for = 0;
    bool unsafe = false, over = false;
    unsigned exit_state = CORE_STATE_RUNNING;

    const auto look = [&] {
        while (!port.commits.empty()) {
            const Commit c = port.commits.front();
            port.commits.pop_front();
            latest = port.cycle;
            model.fence_unsafe = unsafe;
            model.step(c);
            total++;
            over |= c.pc == maker.end_pc;
            if (c.trap && model.mtvec == 0) { // ECALL, or the unit's trap of the instruction before it
                over = true;
                exit_state = c.cause == 11 ? CORE_STATE_EXITED : CORE_STATE_TRAPPED;
            }
        }
        unsafe = port.was_loads || port.was_stores;
        if (port.pulses) {
            port.pulses = 0;
            model.v.vxsat = true;
        }
    };
    while (!over && !port.failed) {
        if (debugged && !port.top.io_debug_halt && rng() % 200 == 0) {
            port.top.io_debug_halt = 1;
            halted_for = 1 + static_cast<unsigned>(rng() % 60);
        }
        debug.tick();
        look();
        if (port.cycle - latest > 3000) {
            port.check("stuck", 1, 0);
            break;
        }
        if (!port.top.io_debug_halt)
            continue;
        if (port.top.io_debug_halted) {
            port.check("halted beside a busy unit", port.was_busy || port.held.has_value(), 0);
            if (--halted_for == 0) {
                halts++;
                port.top.io_debug_halt = 0;
                continue;
            }
            if (rng() % 20 == 0) { // a scalar register, then a late result
                // The trace port and what the unit says of itself are a cycle behind.
                debug.tick();
                look();
                if (!debug.halted())
                    continue;
                const unsigned r = kFirst + static_cast<unsigned>(rng() % kRegs);
                port.check("register seen by the debugger", debug.reg(r), model.x[r]);
                if (rng() % 2)
                    look_into(port, debug, model, rng);
                if (debug.halted()) {
                    const unsigned rd = kFirst + static_cast<unsigned>(rng() % kRegs);
                    const uint32_t got = debug.execute(vmv_x_s(rd, 0));
                    issued++;
                    if (debug.error) {
                        if (!port.ended.empty()) {
                            const Held h = port.ended.front();
                            port.ended.pop_front();
                            if (h.vstart)
                                model.v.vstart = *h.vstart;
                            if (h.cause != 2)
                                model.v.vs = 3;
                        }
                    } else {
                        port.check("unit ended the debugger's instruction", port.ended.size(), 1);
                        if (!port.ended.empty()) {
                            const Held h = port.ended.front();
                            port.ended.pop_front();
                            port.check("late result seen by the debugger", got, h.data);
                            model.x[rd] = h.data;
                            model.v.vstart = 0;
                            model.v.vs = 3;
                        }
                    }
                    for (unsigned i = 0; i < 200 && !debug.halted(); i++)
                        debug.tick();
                }
                latest = port.cycle;
                look();
            }
        }
    }
    if (!port.failed && maker.exits) {
        port.check("exit", port.top.io_status_state, exit_state);
        port.check("exit code", port.top.io_status_exitCode, model.x[10]);
    }
    // Stopped with the unit at work, and cleared.
    port.top.io_debug_halt = 0;
    port.top.io_run = 0;
    port.tick();
    port.tick();
    port.check("cleared", port.top.io_vector_clear, 1);
    port.check("accesses that break the rules of the port", port.overlaps, 0);
    lates += port.late_results;
    kills += port.killed;
    trapped += port.traps;
    accesses += port.accesses;
    stream_ends += port.stream_ends;
    owned += port.owned;
    return port.failed == 0;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s SEED PROGRAMS\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0);
    const unsigned programs = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 0));
    unsigned passed = 0, failed = 0;
    for (unsigned i = 0; i < programs; i++)
        run_program(seed + i) ? passed++ : failed++;
    std::printf("vector_port: seed %" PRIu64 ", %" PRIu64 " instructions, %" PRIu64 " late results, %" PRIu64
                " traps of the unit, %" PRIu64 " given up, %" PRIu64 " halts, %" PRIu64 " issued, %" PRIu64
                " requests of the window, %" PRIu64 " stream instructions, %" PRIu64 " refused\n",
                seed, total, lates, trapped, kills, halts, issued, accesses, stream_ends, owned);
    std::printf("vector_port: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
