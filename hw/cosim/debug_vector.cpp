// SPDX-License-Identifier: BSD-3-Clause
// One StreamCore with a vector unit under a debugger: a loop of vector instructions is halted anywhere; vector
// registers, vl and vtype are looked into and changed by instructions that the debugger injects, and the loop goes on
// with what it finds. Usage: debug_vector SEED ROUNDS
#include <array>

#include "bench.h"
#include "check.h"
#include "debug_port.h"
#include "rv_asm.h"

using namespace cosim;
using namespace rv;

namespace {

Checks checks;
constexpr unsigned kVssel = ASSASIN_CSR_VSSEL, kVsdat = ASSASIN_CSR_VSDAT, kLanes = 8, kE32 = 2 << 3;
constexpr uint32_t kOn = 0x200, kState = 0x600;

uint32_t select(unsigned reg, unsigned word) {
    return 1u << 28 | word << 8 | reg;
}
uint32_t word(DebugPort<Bench> &debug, unsigned reg, unsigned at) {
    debug.set_csr(kVssel, select(reg, at));
    return debug.csr(kVsdat);
}
void set_word(DebugPort<Bench> &debug, unsigned reg, unsigned at, uint32_t value) {
    debug.set_csr(kVssel, select(reg, at));
    debug.set_csr(kVsdat, value);
}

/// What the loop has computed.
struct Model {
    std::array<std::array<uint32_t, kLanes>, 32> v{};
    uint32_t x5 = 0, vl = kLanes;
    unsigned at = 0; ///< instruction of the loop that comes

    void step() {
        for (unsigned i = 0; i < vl; i++) {
            if (at == 0)
                v[1][i] += x5;
            else if (at == 1)
                v[2][i] += v[1][i];
            else if (at == 2)
                v[31][i] += v[2][i];
        }
        if (at == 4)
            x5++;
        at = (at + 1) % 6;
    }
};

void random_halts(uint64_t seed) {
    checks.test = "halts in a loop of vectors";
    Bench b(seed);
    DebugPort<Bench> debug(b);
    const auto roll = [&b](unsigned n) { return static_cast<unsigned>(b.rng() % n); };
    const std::vector<Word> code = {addi(6, 0, kOn),     csrrs(0, kMstatus, 6), lui(7, ASSASIN_CORE_SPAD_BASE),
                                    vsetvli(8, 0, kE32), // all lanes
                                    vadd_vx(1, 1, 5),    vadd_vv(2, 2, 1),      vadd_vv(31, 31, 2),
                                    vse32(31, 7),        addi(5, 5, 1),         jal(0, -20)};
    constexpr uint32_t kLoop = 16;
    b.load_program(code);
    b.start(0);
    b.run(200);
    Model model;
    for (unsigned visit = 0; visit < 30; visit++) {
        checks.is_true("halts", debug.halt());
        const uint32_t pc = debug.pc(), count = debug.reg(5);
        checks.is_true("in the loop", pc >= kLoop && pc < kLoop + 24);
        for (unsigned i = 0; i < 100000 && (model.x5 != count || model.at != (pc - kLoop) / 4); i++)
            model.step();
        checks.equal("iterations", model.x5, count);
        checks.equal("VSSEL as the debugger left it", debug.csr(kVssel), 0);
        for (unsigned i = 0; i < 6; i++) {
            const unsigned reg = roll(4) ? (roll(2) ? 1 + roll(2) : 31) : roll(32), at = roll(kLanes);
            checks.equal("word of a vector register", word(debug, reg, at), model.v[reg][at]);
        }
        for (unsigned i = roll(3); i; i--) {
            const unsigned reg = roll(2) ? 1 + roll(2) : 31, at = roll(kLanes);
            const uint32_t value = static_cast<uint32_t>(b.rng());
            set_word(debug, reg, at, value);
            checks.is_true("a write is no error", !debug.error);
            model.v[reg][at] = value;
            checks.equal("word as written", word(debug, reg, at), value);
        }
        checks.equal("vl", debug.csr(kVl), model.vl);
        checks.equal("vtype", debug.csr(kVtype), kE32);
        checks.equal("vlenb", debug.csr(kVlenb), 4 * kLanes);
        checks.equal("VS", debug.csr(kMstatus) & kState, kState);
        if (roll(3) == 0) {
            const uint32_t x1 = debug.reg(1), x2 = debug.reg(2);
            model.vl = roll(kLanes + 1);
            debug.set_reg(1, model.vl);
            debug.set_reg(2, kE32);
            debug.execute(vsetvl(0, 1, 2));
            checks.equal("vl as vsetvl set it", debug.csr(kVl), model.vl);
            debug.set_reg(1, x1);
            debug.set_reg(2, x2);
        }
        debug.set_csr(kVssel, 0);
        for (unsigned n = roll(4); n; n--) {
            checks.is_true("a step ends", debug.step());
            model.step();
            checks.equal("PC behind the step", debug.pc(), kLoop + 4 * model.at);
        }
        debug.resume();
        b.run(roll(300));
    }
}

// VSSEL and VSDAT are illegal with VS off, and a debugger can put it on.
void test_off() {
    checks.test = "vectors that are off";
    Bench b(1);
    DebugPort<Bench> debug(b);
    b.load_program({csrr(5, kVssel), addi(5, 0, 1)});
    b.start(0);
    checks.is_true("stops", b.wait_stop(1000));
    checks.equal("state", b.state(), CORE_STATE_TRAPPED);
    checks.equal("cause", b.read(CORE_STATUS) >> CORE_STATUS_CAUSE_SHIFT & CORE_STATUS_CAUSE_MASK, 2);
    checks.is_true("halts", debug.halt());
    debug.csr(kVsdat);
    checks.is_true("VSDAT is an error", debug.error);
    debug.csr(ASSASIN_CSR_VSFMT);
    checks.is_true("VSFMT is an error", debug.error);
    debug.set_csr(kMstatus, kOn);
    debug.csr(ASSASIN_CSR_VSFMT);
    checks.is_true("VSFMT does not exist", debug.error);
    debug.csr(ASSASIN_CSR_NUME);
    checks.is_true("NUME does not exist", debug.error);
    debug.csr(ASSASIN_CSR_MVARVE);
    checks.is_true("MVARVE does not exist", debug.error);
    checks.equal("VSSEL", debug.csr(kVssel), 0);
    debug.set_csr(kVssel, select(9, 3));
    checks.equal("VS of VSSEL's write", debug.csr(kMstatus) & kState, kOn);
    debug.set_csr(kVsdat, 0x1234);
    checks.equal("VS of VSDAT's write", debug.csr(kMstatus) & kState, kState);
    checks.equal("VSDAT", debug.csr(kVsdat), 0x1234);
    debug.execute(csrrs(0, kVsdat, 0) | 6u << 7);
    checks.equal("VSDAT into a register", debug.reg(6), 0x1234);
    debug.set_reg(6, 0x00f0);
    debug.execute(csrrs(7, kVsdat, 6));
    checks.equal("VSDAT before bits are set", debug.reg(7), 0x1234);
    checks.equal("VSDAT with bits set", debug.csr(kVsdat), 0x12f4);
    debug.set_csr(kVssel, 2u << 28 | 9);
    checks.equal("a class that is not built", debug.csr(kVsdat), 0);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s SEED ROUNDS\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0), rounds = std::strtoull(argv[2], nullptr, 0);
    test_off();
    for (uint64_t i = 0; i < rounds; i++)
        random_halts(seed + i);
    return checks.report("debug_vector");
}
