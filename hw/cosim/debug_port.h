// SPDX-License-Identifier: BSD-3-Clause
// The debug block's side of a core's debug port (hw/regs/debug.toml), for benches with a `top` and a `tick`.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "rv_asm.h"

namespace cosim {

template <class Bench> class DebugPort {
  public:
    static constexpr unsigned kBreakpoints = 4;

    explicit DebugPort(Bench &bench) : b(bench) {
        b.top.io_debug_halt = 0;
        b.top.io_debug_step = 0;
        b.top.io_debug_ebreak = 0;
        catch_stops(false, false);
        b.top.io_debug_issue = 0;
        for (unsigned k = 0; k < kBreakpoints; k++)
            breakpoint(k, false, 0);
    }

    /// One cycle; a caught hart is halted in the next one.
    void tick() {
        b.tick();
        if (b.top.io_debug_caught) {
            caught++;
            b.top.io_debug_halt = 1;
        }
    }

    bool halted() {
        return b.top.io_debug_halt && b.top.io_debug_halted;
    }

    /// Asks for a halt; false when it has not come after `limit` cycles.
    bool halt(unsigned limit = 500) {
        b.top.io_debug_halt = 1;
        return wait_halted(limit);
    }
    bool wait_halted(unsigned limit = 500) {
        for (unsigned i = 0; i < limit; i++) {
            tick();
            if (halted())
                return true;
        }
        return false;
    }
    void resume() {
        b.top.io_debug_halt = 0;
    }

    /// Executes the instruction at PC; false when it does not end.
    bool step() {
        b.top.io_debug_step = 1;
        tick();
        b.top.io_debug_step = 0;
        return wait_halted();
    }

    /// Executes `insn`; `error` tells how it went.
    uint32_t execute(uint32_t insn) {
        return issue(insn, false);
    }
    /// The instruction memory's word at PC.
    uint32_t fetch() {
        return issue(0, true);
    }

    uint32_t pc() {
        return execute(rv::auipc(0, 0));
    }
    void set_pc(uint32_t value) {
        const uint32_t x1 = reg(1);
        set_reg(1, value);
        execute(rv::jalr(0, 1, 0));
        set_reg(1, x1);
    }
    uint32_t reg(unsigned n) {
        return execute(rv::addi(0, n, 0));
    }
    void set_reg(unsigned n, uint32_t value) {
        const int32_t low = static_cast<int32_t>(value << 20) >> 20;
        execute(rv::lui(n, value - static_cast<uint32_t>(low)));
        execute(rv::addi(n, n, low));
    }
    uint32_t csr(unsigned address) {
        return execute(rv::csrr(0, address));
    }
    void set_csr(unsigned address, uint32_t value) {
        const uint32_t x1 = reg(1);
        set_reg(1, value);
        execute(rv::csrw(address, 1));
        set_reg(1, x1);
    }
    uint32_t load(uint32_t addr) {
        const uint32_t x1 = reg(1);
        set_reg(1, addr);
        const uint32_t value = execute(rv::lw(0, 1, 0));
        const bool failed = error;
        set_reg(1, x1);
        error = failed;
        return value;
    }
    void store(uint32_t addr, uint32_t value) {
        const uint32_t x1 = reg(1), x2 = reg(2);
        set_reg(1, addr);
        set_reg(2, value);
        execute(rv::sw(2, 1, 0));
        const bool failed = error;
        set_reg(1, x1);
        set_reg(2, x2);
        error = failed;
    }

    void breakpoint(unsigned k, bool enable, uint32_t addr) {
        uint8_t *const enables[] = {&b.top.io_debug_breakEnable_0, &b.top.io_debug_breakEnable_1,
                                    &b.top.io_debug_breakEnable_2, &b.top.io_debug_breakEnable_3};
        uint32_t *const addrs[] = {&b.top.io_debug_breakAddr_0, &b.top.io_debug_breakAddr_1,
                                   &b.top.io_debug_breakAddr_2, &b.top.io_debug_breakAddr_3};
        *enables[k] = enable;
        *addrs[k] = addr >> 2;
    }
    void catch_stops(bool stops, bool exits) {
        b.top.io_debug_stops = stops;
        b.top.io_debug_exits = exits;
    }
    void catch_ebreak(bool enable) {
        b.top.io_debug_ebreak = enable;
    }

    bool error = false;  ///< of the latest execute
    unsigned caught = 0; ///< cycles in which the hart was caught

  private:
    uint32_t issue(uint32_t insn, bool fetch) {
        if (!halted()) {
            std::fprintf(stderr, "debugger: an instruction for a hart that is not halted\n");
            std::abort();
        }
        b.top.io_debug_issue = 1;
        b.top.io_debug_fetch = fetch;
        b.top.io_debug_insn = insn;
        tick();
        b.top.io_debug_issue = 0;
        for (unsigned i = 0; i < 500; i++) {
            if (b.top.io_debug_done) {
                error = b.top.io_debug_error;
                const uint32_t result = b.top.io_debug_result;
                tick();
                return result;
            }
            tick();
        }
        std::fprintf(stderr, "debugger: instruction %08x does not end\n", insn);
        std::abort();
    }

    Bench &b;
};

} // namespace cosim
