// SPDX-License-Identifier: BSD-3-Clause
// Directed tests of one StreamCore under a debugger: streams that wait, memories, a core that does not run or has
// stopped.
#include <vector>

#include "bench.h"
#include "check.h"
#include "debug_port.h"
#include "rv_asm.h"

using namespace cosim;
using namespace rv;

namespace {

Checks checks;
constexpr uint32_t kSpad = 0x10000000;

void send_page(Bench &b, uint32_t pos, uint32_t bytes) {
    for (uint32_t at = 0; at < bytes; at += 64) {
        Packet p;
        p.addr = pos + at;
        p.to_stream = true;
        p.mark = at + 64 >= bytes;
        for (uint32_t i = at; i < std::min(bytes, at + 64); i++)
            p.bytes.push_back(static_cast<uint8_t>(pos + i + 1));
        b.queue.push_back(p);
    }
    b.flush();
    b.run(20);
}

void test_waiting() {
    checks.test = "a core that waits";
    Bench b(1);
    DebugPort<Bench> debug(b);
    b.partition(0, 9);
    b.load_program({addi(5, 0, 4), stream_load(4, 6, 0), stream_readi(4, 7, 0, 5), stream_store(2, 6, 0),
                    stream_reado(2, 8, 0, 5), jal(0, -16)});
    b.start(0);
    b.run(100);
    checks.equal("waits for input", b.read(CORE_STATUS) >> CORE_STATUS_WAIT_IN_SHIFT & 1, 1);
    checks.equal("clock is needed", b.top.io_running, 1);
    const uint32_t before = b.read(CORE_INSTRET_LO);
    checks.is_true("halts", debug.halt());
    checks.equal("clock may stop", b.top.io_running, 0);
    checks.equal("still RUNNING for the firmware", b.state(), CORE_STATE_RUNNING);
    checks.equal("does not wait", b.read(CORE_STATUS) >> CORE_STATUS_WAIT_IN_SHIFT & 1, 0);
    checks.equal("PC of the StreamLoad", debug.pc(), 4);
    checks.equal("x5", debug.reg(5), 4);
    checks.is_true("a step that cannot be ends", debug.step());
    checks.equal("PC stays", debug.pc(), 4);
    debug.execute(stream_load(4, 0, 0));
    checks.is_true("a StreamLoad by the debugger is given up", debug.error);
    checks.equal("IHEAD", b.read(CORE_IHEAD), 0);
    checks.equal("INSTRET", b.read(CORE_INSTRET_LO), before);
    send_page(b, 0, 512);
    checks.is_true("steps", debug.step());
    checks.equal("PC behind the StreamLoad", debug.pc(), 8);
    checks.equal("loaded", debug.reg(6), 1);
    checks.equal("IHEAD CSR", debug.csr(ASSASIN_CSR_IHEAD), 1);
    checks.is_true("steps a ReadIStream", debug.step());
    checks.equal("PC behind the ReadIStream", debug.pc(), 12);
    checks.equal("read from the ring", debug.reg(7), (512 - 4 + 1) & 0xff);
    debug.set_reg(6, 0x12345678);
    checks.is_true("steps a StreamStore", debug.step());
    checks.equal("OHEAD CSR", debug.csr(ASSASIN_CSR_OHEAD), 4);
    checks.is_true("steps a ReadOStream", debug.step());
    checks.equal("read what was stored", debug.reg(8), 0x12345678);
    checks.equal("INSTRET", b.read(CORE_INSTRET_LO), before + 4);
    // On until the input is used up again, which must take every byte once.
    debug.resume();
    b.run(5000);
    checks.equal("IHEAD", b.read(CORE_IHEAD), 512);
    checks.equal("OHEAD", b.read(CORE_OHEAD), 4 * 512);
    checks.is_true("halts", debug.halt());
    checks.equal("latest byte", debug.reg(6), 512 & 0xff);

    checks.test = "a core that waits for room";
    b.write(CORE_CTRL, 0);
    debug.resume();
    b.write(CORE_CTRL, 2);
    b.load_program({stream_store(2, 5, 0), addi(5, 5, 1), jal(0, -8)});
    b.start(0);
    b.run(16384 * 4 + 1000);
    checks.equal("waits for room", b.read(CORE_STATUS) >> CORE_STATUS_WAIT_OUT_SHIFT & 1, 1);
    checks.is_true("halts", debug.halt());
    checks.equal("PC of the StreamStore", debug.pc(), 0);
    checks.equal("x5", debug.reg(5), 16384);
    checks.is_true("a step that cannot be ends", debug.step());
    checks.equal("PC stays", debug.pc(), 0);
    checks.equal("OHEAD", b.read(CORE_OHEAD), 65536);
    b.write(CORE_OTAIL, 65536 + 4);
    checks.is_true("steps", debug.step());
    checks.equal("OHEAD after the step", b.read(CORE_OHEAD), 65536 + 4);
}

void test_halts_anywhere() {
    checks.test = "halts in a stream of data";
    Bench b(2);
    DebugPort<Bench> debug(b);
    b.partition(0, 9);
    // Sums bytes, and hangs at the end: no byte may be lost or taken twice by a halt.
    b.load_program({stream_load(4, 6, 0), add(10, 10, 6), addi(7, 7, 1), jal(0, -12)});
    b.start(0);
    uint32_t expected = 0;
    for (uint32_t page = 0; page < 8; page++) {
        for (uint32_t i = 0; i < 512; i++)
            expected += (page * 512 + i + 1) & 0xff;
        b.write(CORE_IEND, 4096);
        b.write(CORE_IEND_VALID, 1);
        for (uint32_t at = 0; at < 512; at += 64) {
            Packet p;
            p.addr = page * 512 + at;
            p.to_stream = true;
            p.mark = at + 64 == 512;
            for (uint32_t i = 0; i < 64; i++)
                p.bytes.push_back(static_cast<uint8_t>(page * 512 + at + i + 1));
            b.queue.push_back(p);
        }
        for (unsigned i = 0; i < 40; i++) {
            b.run(b.rng() % 60);
            checks.is_true("halts", debug.halt());
            const uint32_t count = debug.reg(7), head = debug.csr(ASSASIN_CSR_IHEAD), pc = debug.pc();
            checks.equal("bytes counted", count + (pc == 4 || pc == 8), head);
            for (unsigned n = b.rng() % 3; n > 0; n--)
                checks.is_true("steps", debug.step());
            debug.resume();
        }
    }
    checks.is_true("stops", b.wait_stop(20000));
    checks.equal("hangs at the end", b.state(), CORE_STATE_HUNG);
    checks.is_true("halts", debug.halt());
    checks.equal("sum", debug.reg(10), expected);
    checks.equal("PC of the last StreamLoad", debug.pc(), 0);
    checks.equal("and as the firmware sees it", b.read(CORE_PC), 0);
    checks.is_true("a step does nothing", debug.step());
    checks.equal("state", b.state(), CORE_STATE_HUNG);
}

void test_memories() {
    checks.test = "a core that does not run";
    Bench b(3);
    DebugPort<Bench> debug(b);
    b.partition(0, 9);
    std::vector<Word> code;
    for (unsigned i = 0; i < 64; i++)
        code.push_back(addi(0, i % 32, static_cast<int32_t>(i)));
    b.load_program(code);
    const uint32_t words[4] = {1, 2, 3, 4};
    b.load(ASSASIN_XB_SPAD_BASE + 256, words, 16);
    checks.is_true("halts", debug.halt());
    for (uint32_t i = 0; i < 64; i++) {
        debug.set_pc(4 * i);
        checks.equal("instruction memory", debug.fetch(), code[i]);
    }
    checks.equal("scratchpad", debug.load(kSpad + 264), 3);
    debug.store(kSpad + 260, 0xabcd);
    checks.equal("scratchpad as written", debug.load(kSpad + 260), 0xabcd);
    debug.load(kSpad + 0x10000);
    checks.is_true("above the scratchpad", debug.error);
    debug.store(0, 0);
    checks.is_true("the instruction memory takes no stores", debug.error);
    for (unsigned n = 1; n < 32; n++)
        debug.set_reg(n, 0xdead0000 + n);
    checks.equal("a register", debug.reg(31), 0xdead001f);
    // RUN while halted: stands before its first instruction, with fresh registers.
    b.load_program({addi(10, 10, 1), lui(5, kSpad), lw(6, 5, 260), add(10, 10, 6), ecall});
    b.start(0);
    b.run(50);
    checks.equal("RUNNING", b.state(), CORE_STATE_RUNNING);
    checks.is_true("halted", debug.halted());
    checks.equal("PC", debug.pc(), 0);
    unsigned wrong = 0;
    for (unsigned n = 1; n < 32; n++)
        wrong += debug.reg(n) != 0;
    checks.equal("registers that are not 0", wrong, 0);
    debug.breakpoint(3, true, 12);
    debug.resume();
    checks.is_true("caught", debug.wait_halted());
    checks.equal("PC of the breakpoint", debug.pc(), 12);
    checks.equal("x6", debug.reg(6), 0xabcd);
    debug.set_reg(6, 41);
    debug.breakpoint(3, false, 0);
    debug.resume();
    for (unsigned i = 0; i < 100; i++)
        debug.tick();
    checks.equal("exited", b.state(), CORE_STATE_EXITED);
    checks.equal("exit code", b.read(CORE_EXIT_CODE), 42);
    checks.is_true("halts after its exit", debug.halt());
    checks.equal("PC of the ECALL", debug.pc(), 16);
    checks.equal("a0", debug.reg(10), 42);
    checks.equal("scratchpad", debug.load(kSpad + 260), 0xabcd);
    debug.set_reg(10, 43);
    checks.equal("exit code follows a0", b.read(CORE_EXIT_CODE), 43);
    // A new start while halted, then without the debugger.
    b.write(CORE_CTRL, 0);
    b.run(4);
    debug.set_reg(10, 77);
    debug.resume();
    b.write(CORE_CTRL, 1);
    b.run(100);
    checks.equal("exit code of an undisturbed start", b.read(CORE_EXIT_CODE), 0xabcd + 1);
}

// What stops is kept for the debugger, also when the firmware takes it away.
void test_stops() {
    checks.test = "stops";
    struct Case {
        const char *name;
        std::vector<Word> code;
        uint32_t state, pc, mcause;
    };
    const std::vector<Case> cases = {
        {"trap", {addi(10, 0, 5), lui(5, kSpad), lw(6, 5, 1), addi(10, 0, 6)}, CORE_STATE_TRAPPED, 8, 4},
        {"hang", {addi(10, 0, 5), stream_load(4, 6, 0), addi(10, 0, 6)}, CORE_STATE_HUNG, 4, 0},
        {"exit", {addi(10, 0, 5), nop, ecall, addi(10, 0, 6)}, CORE_STATE_EXITED, 8, 11},
    };
    for (const Case &c : cases) {
        for (unsigned which = 0; which < 4; which++) {
            const bool stops = which & 1, exits = which & 2;
            const bool kept = c.state == CORE_STATE_EXITED ? exits : stops;
            Bench b(4);
            DebugPort<Bench> debug(b);
            b.partition(0, 9);
            b.write(CORE_IEND_VALID, 1);
            b.load_program(c.code);
            debug.catch_stops(stops, exits);
            b.write(CORE_CTRL, 1);
            for (unsigned i = 0; i < 100; i++)
                debug.tick();
            checks.equal(c.name, b.state(), c.state);
            checks.equal("caught", debug.halted(), kept);
            b.write(CORE_CTRL, 0);
            b.run(100);
            checks.equal("the firmware has taken it away", b.state(), CORE_STATE_IDLE);
            checks.is_true("halts", debug.halt());
            checks.equal("PC", debug.pc(), kept ? c.pc : 0);
            checks.equal("a0", debug.reg(10), kept ? 5 : 0);
            checks.equal("mcause", debug.csr(kMcause), kept ? c.mcause : 0);
            debug.catch_stops(false, false);
            debug.resume();
            b.load_program({addi(10, 10, 1), csrr(6, kMcause), add(10, 10, 6), ecall});
            b.write(CORE_CTRL, 1);
            b.run(100);
            checks.equal("the next start is fresh", b.read(CORE_EXIT_CODE), 1);
        }
    }
}

} // namespace

int main() {
    test_waiting();
    test_halts_anywhere();
    test_memories();
    test_stops();
    return checks.report("debug_tests");
}
