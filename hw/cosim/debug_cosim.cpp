// SPDX-License-Identifier: BSD-3-Clause
// The pipeline alone under a debugger: random programs, compared with spike instruction by instruction, are halted,
// stepped, looked into, changed and put right again, and caught at breakpoints. Usage: debug_cosim SEED PROGRAMS FOLDER
#include <random>

#include "check.h"
#include "debug_port.h"
#include "lockstep.h"
#include "program_bench.h"
#include "rv_asm.h"

using namespace cosim;
using namespace rv;

namespace {

Checks checks;

/// One program under the debugger.
class Session {
  public:
    Session(uint64_t seed, const std::string &folder)
        : seed(seed), rng(seed), program(random_program(rng, options(seed))), spike(folder, program.words, kBaseIsa),
          bench(seed, program.words), debug(bench) {
        bench.fast = seed % 4 == 3;
    }

    /// Instructions compared; 0 after a difference.
    uint64_t run() {
        while (!over) {
            if (bench.cycle - latest > 3000) {
                std::printf("seed %" PRIu64 ": core stuck after %" PRIu64 " instructions\n", seed, compared);
                return 0;
            }
            if (interrupts() && rng() % 64 == 0)
                bench.irq = true;
            debug.tick();
            follow();
            if (debug.halted())
                caught();
            else if (!bench.top.io_debug_halt && rng() % 200 == 0)
                visit();
        }
        return differs || bench.overlaps ? 0 : compared;
    }

    unsigned visits = 0, steps = 0, breaks = 0, ebreaks = 0;

  private:
    static ProgramOptions options(uint64_t seed) {
        ProgramOptions o;
        o.interrupts = seed % 2;
        o.traps = !o.interrupts;
        o.body = 4000;
        o.rounds = 3;
        return o;
    }
    bool interrupts() const {
        return seed % 2;
    }

    // The instruction memory wraps, and breakpoints with it: they do not compare higher address bits.
    static bool at_breakpoint(uint32_t pc, uint32_t breakpoint) {
        return (pc ^ breakpoint) % kImemBytes == 0;
    }

    // Compares what has retired, and keeps the registers.
    void follow() {
        while (!bench.commits.empty() && !over) {
            const Commit ours = bench.commits.front();
            bench.commits.pop_front();
            latest = ours.cycle;
            events++;
            if (next_known)
                checks.equal("PC while halted, and the next instruction", ours.pc, next);
            next_known = false;
            recent = ours.pc;
            if (armed)
                checks.is_true("nothing passes a breakpoint", !at_breakpoint(ours.pc, armed_at));
            if (ours.wen)
                x[ours.rd] = ours.wdata;
            if (ours.trap || (interrupts() && ours.pc >= program.handler_first && ours.pc <= program.handler_last))
                continue;
            SpikeCommit theirs{};
            if (!spike.next(theirs) || !same(ours, theirs, seed, compared)) {
                over = differs = true;
                return;
            }
            compared++;
            over = ours.pc == program.end_pc;
        }
    }

    // The trace port is two cycles behind.
    void settle() {
        debug.tick();
        debug.tick();
        follow();
    }

    void caught() {
        settle();
        if (over)
            return;
        const uint32_t pc = debug.pc();
        if (armed && at_breakpoint(pc, armed_at)) {
            breaks++;
        } else {
            checks.equal("caught at an EBREAK", debug.fetch(), ebreak);
            ebreaks++;
            // Into the program's own handler.
            debug.catch_ebreak(false);
        }
        armed = false;
        debug.breakpoint(0, false, 0);
        inspect();
        leave();
    }

    void visit() {
        visits++;
        armed = false;
        debug.breakpoint(0, false, 0);
        checks.is_true("halts", debug.halt());
        settle();
        if (over)
            return;
        inspect();
        leave();
    }

    void leave() {
        for (unsigned n = rng() % 4; n > 0 && !over; n--) {
            const uint64_t before = events;
            debug.catch_ebreak(false);
            checks.is_true("a step ends", debug.step());
            steps++;
            settle();
            checks.equal("instructions in a step", events - before, 1);
            next = debug.pc();
            next_known = true;
        }
        if (over)
            return;
        const uint32_t pc = debug.pc();
        if (debug.fetch() != ebreak)
            debug.catch_ebreak(rng() % 2);
        if (!at_breakpoint(pc, recent) && recent != program.end_pc && rng() % 2) {
            const unsigned k = rng() % DebugPort<ProgramBench>::kBreakpoints;
            for (unsigned i = 0; i < DebugPort<ProgramBench>::kBreakpoints; i++)
                debug.breakpoint(i, i == k, recent);
            armed = true;
            armed_at = recent;
        } else {
            for (unsigned i = 0; i < DebugPort<ProgramBench>::kBreakpoints; i++)
                debug.breakpoint(i, false, recent);
        }
        debug.resume();
    }

    void inspect() {
        next = debug.pc();
        next_known = true;
        if (next - kImemBase < kImemBytes)
            checks.equal("word at PC", debug.fetch(), bench.fetch(next));
        unsigned wrong = 0;
        for (unsigned i = 0; i < 32; i++)
            wrong += debug.reg(i) != x[i];
        checks.equal("wrong registers", wrong, 0);

        const unsigned n = 1 + rng() % 31;
        const uint32_t value = static_cast<uint32_t>(rng());
        debug.set_reg(n, value);
        checks.equal("register as written", debug.reg(n), value);
        debug.set_reg(n, x[n]);

        const uint32_t count = debug.csr(kMinstret), cycles = debug.csr(kMcycle), scratch = debug.csr(kMscratch);
        debug.set_csr(kMscratch, value);
        checks.equal("CSR as written", debug.csr(kMscratch), value);
        debug.set_csr(kMscratch, scratch);

        const uint32_t addr = kSpadBase + static_cast<uint32_t>(rng()) % (kSpadBytes / 8) * 4;
        const uint32_t held = bench.word(addr);
        checks.equal("word of memory", debug.load(addr), held);
        debug.store(addr, value);
        checks.is_true("a store is no error", !debug.error);
        checks.equal("word of memory as written", bench.word(addr), value);
        debug.store(addr, held);

        // What goes wrong under the debugger is not seen by the program.
        const uint32_t state[] = {debug.csr(kMstatus), debug.csr(kMepc), debug.csr(kMcause), debug.csr(kMtval)};
        debug.load(0x40000000);
        checks.is_true("a load from nowhere is an error", debug.error);
        debug.load(kSpadBase + 1);
        checks.is_true("a misaligned load is an error", debug.error);
        debug.csr(0x9ff);
        checks.is_true("a CSR that does not exist is an error", debug.error);
        debug.execute(0);
        checks.is_true("an illegal instruction is an error", debug.error);
        const uint32_t after[] = {debug.csr(kMstatus), debug.csr(kMepc), debug.csr(kMcause), debug.csr(kMtval)};
        for (unsigned i = 0; i < 4; i++)
            checks.equal("trap state", after[i], state[i]);
        checks.equal("minstret", debug.csr(kMinstret), count);
        checks.equal("mcycle", debug.csr(kMcycle), cycles);

        const uint32_t target = kImemBase + static_cast<uint32_t>(rng()) % program.words.size() * 4;
        debug.set_pc(target);
        checks.equal("PC as written", debug.pc(), target);
        checks.equal("word at the written PC", debug.fetch(), bench.fetch(target));
        debug.set_pc(next);
        checks.equal("PC", debug.pc(), next);
        wrong = 0;
        for (unsigned i = 0; i < 32; i++)
            wrong += debug.reg(i) != x[i];
        checks.equal("wrong registers after the visit", wrong, 0);
        checks.is_true("nothing has retired", bench.commits.empty());
        latest = bench.cycle;
    }

    const uint64_t seed;
    std::mt19937_64 rng;
    const Program program;
    Spike spike;
    ProgramBench bench;
    DebugPort<ProgramBench> debug;
    uint32_t x[32] = {};
    uint64_t compared = 0, latest = 0, events = 0;
    bool over = false, differs = false;
    bool next_known = false, armed = false;
    uint32_t next = 0, recent = 0, armed_at = 0;
};

void test_directed() {
    checks.test = "WFI under a debugger";
    ProgramBench b(1, {addi(5, 0, 1), wfi, addi(5, 5, 1), wfi, addi(5, 5, 1), jal(0, 0)});
    b.fast = true;
    DebugPort<ProgramBench> debug(b);
    for (unsigned i = 0; i < 100; i++)
        debug.tick();
    checks.equal("asleep", b.top.io_sleeping, 1);
    checks.is_true("a halt ends WFI", debug.halt());
    checks.equal("not asleep", b.top.io_sleeping, 0);
    checks.equal("PC behind what was in the pipeline", debug.pc(), kImemBase + 12);
    debug.resume();
    for (unsigned i = 0; i < 20; i++)
        debug.tick();
    checks.equal("asleep in the next one", b.top.io_sleeping, 1);
    checks.is_true("halts", debug.halt());
    debug.set_pc(kImemBase + 4);
    checks.is_true("a step of WFI ends", debug.step());
    checks.equal("PC behind WFI", debug.pc(), kImemBase + 8);

    checks.test = "stopped on a trap";
    ProgramBench c(2, {addi(5, 0, 7), lui(6, kSpadBase), sw(5, 6, 8), 0, addi(5, 0, 8)});
    c.fast = true;
    DebugPort<ProgramBench> after(c);
    for (unsigned i = 0; i < 100; i++)
        after.tick();
    checks.equal("stopped", c.top.io_status_state, CORE_STATE_TRAPPED);
    checks.is_true("halts", after.halt());
    checks.equal("PC", after.pc(), kImemBase + 12);
    checks.equal("x5", after.reg(5), 7);
    checks.equal("memory", after.load(kSpadBase + 8), 7);
    checks.equal("mcause", after.csr(kMcause), 2);
    checks.equal("still stopped", c.top.io_status_state, CORE_STATE_TRAPPED);
    checks.equal("still its PC", c.top.io_status_pc, kImemBase + 12);
    after.resume();
    for (unsigned i = 0; i < 100; i++)
        after.tick();
    checks.equal("stopped for good", c.top.io_status_state, CORE_STATE_TRAPPED);

    checks.test = "halted before the first instruction";
    ProgramBench d(3, {addi(5, 0, 7), addi(5, 5, 1), ebreak, addi(5, 5, 1), jal(0, 0)});
    d.fast = true;
    DebugPort<ProgramBench> first(d);
    checks.is_true("halts", first.halt());
    checks.equal("PC", first.pc(), kImemBase);
    first.set_reg(5, 99);
    checks.is_true("steps", first.step());
    checks.equal("x5", first.reg(5), 7);
    first.catch_ebreak(true);
    first.resume();
    checks.is_true("caught", first.wait_halted());
    checks.equal("PC of the EBREAK", first.pc(), kImemBase + 8);
    checks.equal("x5", first.reg(5), 8);
    checks.equal("no trap", first.csr(kMcause), 0);
    first.set_pc(kImemBase + 12);
    first.breakpoint(2, true, kImemBase + 16);
    first.resume();
    checks.is_true("caught by a breakpoint", first.wait_halted());
    checks.equal("PC of the breakpoint", first.pc(), kImemBase + 16);
    checks.equal("x5", first.reg(5), 9);
    first.resume();
    checks.is_true("caught again at once", first.wait_halted(4));
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s SEED PROGRAMS FOLDER\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0);
    const unsigned programs = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 0));
    test_directed();
    checks.test = "random programs under a debugger";
    uint64_t total = 0;
    unsigned visits = 0, steps = 0, breaks = 0, ebreaks = 0;
    for (unsigned i = 0; i < programs; i++) {
        Session session(seed + i, argv[3]);
        const uint64_t compared = session.run();
        checks.is_true("program matches the reference", compared != 0);
        total += compared;
        visits += session.visits;
        steps += session.steps;
        breaks += session.breaks;
        ebreaks += session.ebreaks;
    }
    checks.is_true("breakpoints were hit", programs < 2 || breaks > 10);
    // Every second program has some, and a few only.
    checks.is_true("EBREAKs were caught", programs < 8 || ebreaks > 0);
    std::printf("debug_cosim: seed %" PRIu64 ", %" PRIu64
                " instructions compared, %u halts, %u steps, %u breakpoints, %u EBREAKs\n",
                seed, total, visits, steps, breaks, ebreaks);
    return checks.report("debug_cosim");
}
