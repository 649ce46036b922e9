// SPDX-License-Identifier: BSD-3-Clause
// The pipeline alone, as the firmware processor has it: co-simulation against spike with a data memory that takes its
// time and with interrupts, and directed tests of WFI and interrupts. Usage: firmware_cosim SEED PROGRAMS FOLDER
#include <chrono>
#include <random>

#include "assasin_contract.h"
#include "check.h"
#include "isa_program.h"
#include "lockstep.h"
#include "program_bench.h"
#include "rv_asm.h"

using namespace cosim;
using namespace rv;

namespace {

Checks checks;
uint64_t total_interrupts = 0;

uint64_t run_program(uint64_t seed, const std::string &folder) {
    std::mt19937_64 rng(seed);
    ProgramOptions options;
    options.interrupts = seed % 2;
    options.traps = !options.interrupts;
    options.body = 6500;
    options.rounds = 4;
    const Program program = random_program(rng, options);
    Spike spike(folder, program.words, kBaseIsa);
    ProgramBench bench(seed, program.words);
    bench.fast = seed % 4 == 3;
    uint64_t compared = 0, latest = 0;
    for (;;) {
        if (options.interrupts && rng() % 64 == 0)
            bench.irq = true;
        bench.tick();
        if (bench.cycle - latest > 1000) {
            std::printf("seed %" PRIu64 ": core stuck after %" PRIu64 " instructions\n", seed, compared);
            return 0;
        }
        while (!bench.commits.empty()) {
            const Commit ours = bench.commits.front();
            bench.commits.pop_front();
            latest = ours.cycle;
            if (ours.trap) {
                total_interrupts += ours.cause >> 31;
                continue;
            }
            if (options.interrupts && ours.pc >= program.handler_first && ours.pc <= program.handler_last) {
                if (ours.insn == csrr(25, kMcause))
                    checks.equal("mcause of an interrupt", ours.wdata, 0x8000000b);
                continue;
            }
            SpikeCommit theirs{};
            if (!spike.next(theirs)) {
                std::printf("seed %" PRIu64 ": reference ended after %" PRIu64 " instructions\n", seed, compared);
                return 0;
            }
            if (!same(ours, theirs, seed, compared))
                return 0;
            compared++;
            if (ours.pc == program.end_pc)
                return bench.overlaps ? 0 : compared;
        }
    }
}

// Cycles until `sleeping` rises.
unsigned until_sleeping(CoreBench &b) {
    for (unsigned i = 0; i < 200; i++) {
        if (b.top.io_sleeping)
            return i;
        b.tick();
    }
    return ~0u;
}

void test_wfi() {
    checks.test = "WFI";
    // Interrupts off: an event only wakes.
    ProgramBench b(1, {addi(5, 0, 1), wfi, addi(5, 5, 1), wfi, addi(5, 5, 1), jal(0, 0)});
    b.fast = true;
    checks.is_true("sleeps", until_sleeping(b) < 100);
    b.tick(); // the trace port shows the instruction before WFI
    b.tick();
    const size_t before = b.commits.size();
    for (int i = 0; i < 50; i++)
        b.tick();
    checks.equal("nothing retires asleep", b.commits.size(), before);
    checks.equal("still asleep", b.top.io_sleeping, 1);
    b.irq = true;
    b.tick();
    b.irq = false;
    checks.is_true("sleeps again", until_sleeping(b) < 20);
    for (int i = 0; i < 5; i++)
        b.tick();
    checks.equal("x5 after the first WFI", b.commits.back().wdata, 2);
    b.irq = true;
    for (int i = 0; i < 20; i++)
        b.tick();
    checks.equal("runs while the event lasts", b.top.io_sleeping, 0);
    checks.equal("in the last loop", b.commits.back().pc, kImemBase + 20);

    checks.test = "interrupt in WFI";
    // Interrupts on: WFI, then the handler with mepc behind it.
    std::vector<Word> code = {
        auipc(5, 0),
        addi(5, 5, 44),
        csrw(kMtvec, 5),
        lui(6, 0x1000),
        addi(6, 6, -2048),
        csrw(kMie, 6),
        csr(6, 0, kMstatus, 8),
        wfi,
        addi(10, 10, 1),
        jal(0, 0),
        nop,
        // 44:
        csrr(11, kMepc),
        csrr(12, kMip),
        csrr(13, kMstatus),
        lui(14, kSpadBase + 0x10000),
        sw(0, 14, -32),
        mret,
    };
    ProgramBench c(2, code);
    checks.is_true("sleeps", until_sleeping(c) < 200);
    c.irq = true;
    for (int i = 0; i < 100; i++)
        c.tick();
    checks.equal("acknowledged", c.irq, 0);
    uint32_t x[32] = {};
    unsigned traps = 0;
    for (const Commit &m : c.commits) {
        if (m.wen)
            x[m.rd] = m.wdata;
        traps += m.trap;
    }
    checks.equal("one interrupt", traps, 1);
    checks.equal("mepc", x[11], kImemBase + 32);
    checks.equal("mip", x[12], 0x800);
    checks.equal("mstatus in the handler", x[13], 0x1880);
    checks.equal("went on", x[10], 1);

    checks.test = "interrupt while mtvec is 0";
    ProgramBench d(3, {lui(6, 0x1000), addi(6, 6, -2048), csrw(kMie, 6), csr(6, 0, kMstatus, 8), nop, nop, jal(0, 0)});
    for (int i = 0; i < 100; i++)
        d.tick();
    d.irq = true;
    for (int i = 0; i < 20; i++)
        d.tick();
    checks.equal("stops", d.top.io_status_state, CORE_STATE_TRAPPED);
    checks.equal("cause", d.top.io_status_cause, 0x8b);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s SEED PROGRAMS FOLDER\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0);
    const unsigned programs = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 0));
    test_wfi();
    uint64_t total = 0;
    const auto begin = std::chrono::steady_clock::now();
    checks.test = "random programs";
    for (unsigned i = 0; i < programs; i++) {
        const uint64_t compared = run_program(seed + i, argv[3]);
        total += compared;
        checks.is_true("program matches the reference", compared != 0);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    checks.is_true("interrupts were taken", programs < 2 || total_interrupts > 100);
    std::printf("firmware_cosim: seed %" PRIu64 ", %" PRIu64 " instructions compared, %" PRIu64 " interrupts, %.1f s\n",
                seed, total, total_interrupts, seconds);
    return checks.report("firmware_cosim");
}
