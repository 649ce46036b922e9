// SPDX-License-Identifier: BSD-3-Clause
#include "isa_program.h"

#include "rv_asm.h"

namespace cosim {
namespace {

using namespace rv;

// Registers with a fixed purpose; x0..x24 are random.
enum : unsigned { kResume = 25, kLoop = 27, kTmp = 28, kTmp2 = 29, kPointer = 30, kRound = 31, kRandomRegs = 25 };

class Generator {
  public:
    Generator(std::mt19937_64 &r, const ProgramOptions &o) : rng(r), options(o) {
    }

    Program make() {
        prologue();
        const size_t top = code.size();
        while (code.size() - top < options.body)
            random_item(true);
        // x31 counts the rounds down; the body is too long for a branch.
        emit(addi(kRound, kRound, -1));
        emit(beq(kRound, 0, 8));
        emit(jal(0, static_cast<int32_t>(top - code.size()) * 4));
        epilogue();
        Program p;
        p.words = code;
        p.end_pc = end_pc;
        p.handler_first = handler_first;
        p.handler_last = handler_last;
        return p;
    }

  private:
    uint32_t rnd(uint32_t n) {
        return static_cast<uint32_t>(rng() % n);
    }
    bool chance(unsigned percent) {
        return rnd(100) < percent;
    }
    unsigned reg() {
        return rnd(kRandomRegs);
    }
    // Few registers close together make hazards.
    unsigned near() {
        return chance(60) ? 5 + rnd(4) : reg();
    }
    void emit(Word w) {
        code.push_back(w);
    }
    uint32_t here() const {
        return kImemBase + static_cast<uint32_t>(code.size()) * 4;
    }
    void li(unsigned rd, uint32_t value) {
        const int32_t low = static_cast<int32_t>(value << 20) >> 20;
        emit(lui(rd, value - static_cast<uint32_t>(low)));
        emit(addi(rd, rd, low));
    }
    uint32_t value() {
        static const uint32_t edges[] = {0,          1,          2,      0xffffffff, 0x80000000, 0x7fffffff,
                                         0x80000001, 0xfffffffe, 0xffff, 0x10000,    31,         32};
        if (chance(50))
            return edges[rnd(sizeof edges / sizeof *edges)];
        return static_cast<uint32_t>(rng()) >> rnd(32);
    }
    // 0x1000..0xDFFF: +-2 KiB stay clear of both ends.
    void pointer() {
        li(kPointer, kSpadBase + 0x1000 + rnd(0xd000 / 4) * 4);
    }

    void prologue() {
        // jal over the handler
        const size_t jump = code.size();
        emit(0);
        handler_first = here();
        if (options.interrupts)
            interrupt_handler();
        else
            trap_handler();
        code[jump] = jal(0, static_cast<int32_t>(code.size() - jump) * 4);
        li(kTmp, handler_first);
        emit(csrw(kMtvec, kTmp));
        for (unsigned r = 1; r < kRandomRegs; r++)
            li(r, value());
        emit(addi(kResume, 0, 0));
        emit(addi(kLoop, 0, 0));
        emit(addi(kTmp2, 0, 0));
        pointer();
        li(kRound, options.rounds);
        emit(csrw(kMinstret, 0));
        emit(csrw(kMinstreth, 0));
        if (options.interrupts) {
            li(kTmp, 0x800);
            emit(csrw(kMie, kTmp));
            emit(csr(6, 0, kMstatus, 8));
        }
    }

    // Uses x25 and x29, which nothing else uses then.
    void interrupt_handler() {
        emit(lui(kTmp2, kSpadBase + 0x10000));
        emit(sw(0, kTmp2, static_cast<int32_t>(kAcknowledge - kSpadBase) - 0x10000));
        emit(csrr(kResume, kMcause));
        handler_last = here();
        emit(mret);
    }

    // Skips the instruction; after a fetch fault goes on at x25.
    void trap_handler() {
        emit(csrr(kTmp, kMcause));
        emit(csrr(kTmp2, kMtval));
        emit(addi(kTmp, kTmp, -1));
        emit(csrr(kTmp2, kMepc));
        emit(addi(kTmp2, kTmp2, 4));
        emit(bne(kTmp, 0, 8));
        // Fetch fault: mepc is the bad target.
        emit(addi(kTmp2, kResume, 0));
        emit(csrw(kMepc, kTmp2));
        handler_last = here();
        emit(mret);
    }

    void epilogue() {
        // Read the whole scratchpad, so that every store is checked.
        li(kPointer, kSpadBase);
        li(kRound, kToHost & ~15u);
        emit(lw(5, kPointer, 0));
        emit(lw(6, kPointer, 4));
        emit(add(7, 7, 5));
        emit(addi(kPointer, kPointer, 8));
        emit(bne(kPointer, kRound, -16));
        li(kTmp, kToHost);
        emit(addi(5, 0, 1));
        emit(sw(5, kTmp, 0));
        end_pc = here();
        emit(jal(0, 0));
    }

    void alu() {
        const unsigned rd = near(), a = near(), b = near();
        switch (rnd(10)) {
        case 0:
            emit(lui(rd, static_cast<uint32_t>(rng())));
            break;
        case 1:
            emit(auipc(rd, static_cast<uint32_t>(rng())));
            break;
        case 2:
        case 3:
        case 4: {
            const unsigned f3 = rnd(8);
            int32_t imm = static_cast<int32_t>(rnd(4096)) - 2048;
            if (f3 == 1)
                imm &= 31;
            if (f3 == 5)
                imm = (imm & 31) | (chance(50) ? 0x400 : 0);
            emit(op_imm(f3, rd, a, imm));
            break;
        }
        case 5:
        case 6:
        case 7: {
            const unsigned f3 = rnd(8);
            emit(op(f3, (f3 == 0 || f3 == 5) && chance(50) ? 0x20 : 0, rd, a, b));
            break;
        }
        default:
            emit(op(rnd(8), 1, rd, a, b));
            break;
        }
    }

    // Zba, Zbb, Zkne, Zknd.
    void extension() {
        const unsigned rd = near(), a = near(), b = near();
        switch (rnd(6)) {
        case 0:
            emit(op(2 + 2 * rnd(3), 0x10, rd, a, b)); // sh1add, sh2add, sh3add
            break;
        case 1: {
            static const unsigned fn[] = {4, 6, 7}; // xnor, orn, andn
            emit(op(fn[rnd(3)], 0x20, rd, a, b));
            break;
        }
        case 2:
            emit(op(4 + rnd(4), 0x05, rd, a, b)); // min, minu, max, maxu
            break;
        case 3: // rol, ror, rori
            if (chance(60))
                emit(op(chance(50) ? 1 : 5, 0x30, rd, a, b));
            else
                emit(op_imm(5, rd, a, 0x600 | static_cast<int32_t>(rnd(32))));
            break;
        case 4: {
            // clz, ctz, cpop, sext.b, sext.h, orc.b, rev8, zext.h
            static const Word codes[] = {0x60001013, 0x60101013, 0x60201013, 0x60401013,
                                         0x60501013, 0x28705013, 0x69805013, 0x08004033};
            emit(codes[rnd(8)] | rd << 7 | a << 15);
            break;
        }
        default: // aes32esi, aes32esmi, aes32dsi, aes32dsmi
            emit(op(0, 0x11 + 2 * rnd(4) + 0x20 * rnd(4), rd, a, b));
            break;
        }
    }

    void edge_value() {
        li(near(), value());
    }

    void memory() {
        static const unsigned loads[] = {0, 1, 2, 4, 5};
        const bool is_load = chance(55);
        const unsigned f3 = is_load ? loads[rnd(5)] : rnd(3);
        const unsigned size = 1u << (f3 & 3);
        int32_t imm = static_cast<int32_t>(rnd(4096)) - 2048;
        // Mostly a small area, so that loads meet stores.
        if (chance(70))
            imm &= 0x3f;
        if (!options.traps || chance(97))
            imm &= ~static_cast<int32_t>(size - 1);
        emit(is_load ? load(f3, near(), kPointer, imm) : store(f3, near(), kPointer, imm));
    }

    void branch(unsigned depth) {
        static const unsigned kinds[] = {0, 1, 4, 5, 6, 7};
        const unsigned length = 1 + rnd(6);
        const size_t at = code.size();
        const Word kind = kinds[rnd(6)];
        const unsigned a = near(), b = near();
        emit(0);
        for (unsigned i = 0; i < length; i++)
            random_item(false, depth + 1);
        code[at] = b_type(kind, a, b, static_cast<int32_t>(code.size() - at) * 4);
    }

    void jump(unsigned depth) {
        const size_t at = code.size();
        const unsigned link = near();
        const unsigned kind = rnd(3);
        if (kind == 0) {
            emit(0);
        } else {
            emit(auipc(kTmp, 0));
            emit(0);
        }
        const unsigned length = rnd(4);
        for (unsigned i = 0; i < length; i++)
            random_item(false, depth + 1);
        const int32_t distance = static_cast<int32_t>(code.size() - at) * 4;
        if (kind == 0)
            code[at] = jal(link, distance);
        else
            code[at + 1] = jalr(link, kTmp, distance + (kind == 2 ? 1 : 0)); // bit 0 is dropped
    }

    void loop() {
        emit(addi(kLoop, 0, static_cast<int32_t>(1 + rnd(4))));
        const size_t at = code.size();
        const unsigned length = 1 + rnd(8);
        for (unsigned i = 0; i < length; i++)
            random_item(false, 2);
        emit(addi(kLoop, kLoop, -1));
        emit(bne(kLoop, 0, static_cast<int32_t>(at - code.size()) * 4));
    }

    void csr_access() {
        static const unsigned always[] = {kMscratch, kMinstret, kInstret, kMinstreth, kInstreth,
                                          kMhartid,  kMisa,     kMtvec,   0xf11};
        static const unsigned trap_state[] = {kMepc, kMcause, kMtval, kMstatus};
        if (options.traps && chance(40)) {
            // All of them are written freely: the handler is entered by hardware and sets mepc before MRET.
            const unsigned address = trap_state[rnd(4)];
            emit(csr(chance(50) ? 1 + rnd(3) : 5 + rnd(3), near(), address, near()));
            return;
        }
        // An interrupt shows in the counters.
        const unsigned address = options.interrupts ? unsigned(kMscratch) : always[rnd(9)];
        if (address == kMscratch)
            emit(csr(chance(50) ? 1 + rnd(3) : 5 + rnd(3), near(), address, near()));
        else if (address == kMinstret && chance(40))
            emit(csr(chance(50) ? 1 + rnd(3) : 5 + rnd(3), near(), address, near()));
        else
            emit(csr(chance(50) ? 2 + rnd(2) : 6 + rnd(2), near(), address, 0));
    }

    void trap() {
        switch (rnd(10)) {
        case 0:
            emit(ecall);
            break;
        case 1:
            emit(ebreak);
            break;
        case 2: { // unused major opcodes
            static const unsigned opcodes[] = {0x07, 0x27, 0x2f, 0x43, 0x47, 0x4b, 0x4f, 0x53,
                                               0x57, 0x5b, 0x6b, 0x77, 0x7b, 0x1b, 0x3b, 0x1f};
            unsigned opcode = opcodes[rnd(16)];
            if (options.vector && (opcode == 0x07 || opcode == 0x27 || opcode == 0x57))
                opcode = 0x5b;
            emit((static_cast<Word>(rng()) & ~0x7fu) | opcode);
            break;
        }
        case 3: { // unused function codes of used opcodes
            switch (rnd(12)) {
            case 9: // unary codes that nothing has
                emit(op_imm(1, near(), near(), 0x600 | static_cast<int32_t>(rnd(32))));
                break;
            case 10:
                emit(op_imm(5, near(), near(), static_cast<int32_t>(rnd(4096))));
                break;
            case 11:
                extension();
                break;
            case 0:
                emit(load(rnd(2) ? 3 : 6 + rnd(2), near(), kPointer, 0));
                break;
            case 1:
                emit(store(3 + rnd(5), near(), kPointer, 0));
                break;
            case 2:
                emit(b_type(2 + rnd(2), near(), near(), 8));
                break;
            case 3:
                emit(i_type(0x67, 1 + rnd(7), near(), near(), 0));
                break;
            case 4:
                emit(op(rnd(8), 2 + rnd(30), near(), near(), near()));
                break;
            case 5:
                emit(op(1 + rnd(4), 0x20, near(), near(), near()));
                break;
            case 6:
                emit(op_imm(rnd(2) ? 1 : 5, near(), near(), 0x40 | static_cast<int32_t>(rnd(32))));
                break;
            case 7:
                emit(i_type(0x73, 4, near(), near(), 0x340));
                break;
            default:
                emit(i_type(0x0f, 3 + rnd(5), near(), near(), 0));
                break;
            }
            break;
        }
        case 4: { // CSRs that do not exist, writes to read-only ones, instructions of other modes
            static const unsigned absent[] = {0x000, 0x100,      0x180, 0x106, 0x302,        0x303, 0x306,
                                              0x5a8, 0x3b0 + 80, 0x600, 0xb01, 0xc01 + 0x40, 0x9ff};
            static const unsigned fixed[] = {kMhartid, kCycle, kInstret, 0xf11, 0xf12, 0xf13};
            static const Word other[] = {0x10200073 /* sret */, 0x12000073 /* sfence.vma */, 0x00200073, 0x30200173,
                                         0x10500173};
            switch (rnd(3)) {
            case 0:
                emit(csr(1 + rnd(3), near(), absent[rnd(13)], near()));
                break;
            case 1:
                emit(csr(chance(50) ? 1 : 2 + rnd(2), near(), fixed[rnd(6)], 1 + rnd(20)));
                break;
            default:
                emit(other[rnd(5)]);
                break;
            }
            break;
        }
        case 5: { // misaligned targets
            switch (rnd(3)) {
            case 0:
                emit(jal(near(), 2 + 4 * static_cast<int32_t>(rnd(4))));
                break;
            case 1:
                emit(b_type(rnd(2), near(), near(), (chance(50) ? -1 : 1) * (2 + 4 * static_cast<int32_t>(rnd(3)))));
                break;
            default:
                emit(auipc(kTmp, 0));
                emit(jalr(near(), kTmp, 10));
                break;
            }
            break;
        }
        case 6:
        case 7: { // access faults, also misaligned ones
            emit(lui(kTmp, 0xa0000000));
            if (chance(50))
                emit(load(chance(50) ? 2 : rnd(2), near(), kTmp, static_cast<int32_t>(rnd(16))));
            else
                emit(store(rnd(3), near(), kTmp, static_cast<int32_t>(rnd(16))));
            break;
        }
        case 8: { // fetch fault
            emit(auipc(kResume, 0));
            emit(addi(kResume, kResume, 16));
            emit(lui(kTmp, chance(50) ? 0xa0000000 : 0x40000000));
            emit(jalr(near(), kTmp, static_cast<int32_t>(rnd(64)) * 4));
            break;
        }
        default: // misaligned data
            emit(chance(50) ? load(1 + rnd(2), near(), kPointer, 1)
                            : store(1 + rnd(2), near(), kPointer, 1 + 2 * static_cast<int32_t>(rnd(2))));
            break;
        }
    }

    // vtype: mostly SEW, LMUL and the two policy bits, some of it not supported.
    uint32_t vtype() {
        return chance(90) ? rnd(8) | rnd(chance(80) ? 3 : 8) << 3 | rnd(4) << 6 : rnd(0x800);
    }

    // vset*, accesses to the vector CSRs, and mstatus.VS.
    void vector_item() {
        const unsigned rd = chance(30) ? 0 : near(), rs1 = chance(30) ? 0 : near();
        switch (rnd(14)) {
        case 0:
        case 1:
        case 2:
            emit(vsetvli(rd, rs1, vtype()));
            break;
        case 3:
        case 4:
            emit(vsetivli(rd, rnd(32), vtype() & 0x3ff));
            break;
        case 5:
            if (chance(80))
                li(7, vtype());
            emit(vsetvl(rd, rs1, 7));
            break;
        case 6: // a value that matters to vl
            emit(addi(near(), 0, static_cast<int32_t>(rnd(chance(50) ? 20 : 300))));
            break;
        case 7: // the same VLMAX again: rd and rs1 are x0
            emit(vsetvli(rd, 0, 0xc0 | (1u << 3 | 1)));
            emit(vsetvli(0, 0, chance(50) ? 0u : 2u << 3 | 2));
            break;
        case 8: // VS, mostly not Off
            li(kTmp, 0x600);
            emit(csr(3, 0, kMstatus, kTmp));
            if (chance(85)) {
                li(kTmp, (1 + rnd(3)) << 9);
                emit(csr(2, 0, kMstatus, kTmp));
            }
            break;
        case 9:
            emit(csrr(near(), kMstatus));
            break;
        case 10: // reserved words
            emit(vsetvl(rd, rs1, near()) | (1 + rnd(31)) << 25);
            break;
        default: {
            static const unsigned numbers[] = {kVstart, kVxsat, kVxrm, kVcsr, kVl, kVtype, kVlenb};
            const unsigned number = numbers[rnd(7)];
            if (chance(60))
                emit(csrr(near(), number));
            else
                emit(csr(chance(50) ? 1 + rnd(3) : 5 + rnd(3), near(), number, near()));
            break;
        }
        }
    }

    void random_item(bool top, unsigned depth = 0) {
        if (options.vector && chance(30)) {
            vector_item();
            return;
        }
        const unsigned pick = rnd(100);
        if (pick < 45) {
            if (options.extensions && chance(40))
                extension();
            else
                alu();
        } else if (pick < 50) {
            edge_value();
        } else if (pick < 72) {
            memory();
        } else if (pick < 82) {
            if (depth < 3)
                branch(depth);
            else
                alu();
        } else if (pick < 86) {
            if (depth < 3)
                jump(depth);
            else
                alu();
        } else if (pick < 89) {
            if (top)
                loop();
            else
                memory();
        } else if (pick < 94) {
            csr_access();
        } else if (pick < 95) {
            emit(chance(50) ? fence_i : 0x0ff0000f | near() << 7 | near() << 15);
        } else if (pick < 96) {
            if (depth == 0)
                pointer();
            else
                alu();
        } else {
            if (options.traps)
                trap();
            else
                alu();
        }
    }

    std::mt19937_64 &rng;
    const ProgramOptions &options;
    std::vector<Word> code;
    uint32_t end_pc = 0, handler_first = 0, handler_last = 0;
};

} // namespace

Program random_program(std::mt19937_64 &rng, const ProgramOptions &options) {
    return Generator(rng, options).make();
}

} // namespace cosim
