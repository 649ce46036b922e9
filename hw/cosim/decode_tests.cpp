// SPDX-License-Identifier: BSD-3-Clause
// The instruction decoder, with all extensions, streams, vectors and what VARVE names (0 nothing, 1 VarVE-pup, 2
// VarVE-full), against a decoder written here from the specifications: random words, and every word near a legal one.
// Usage: decode_tests SEED
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "VDecode.h"
#include "assasin_contract.h"

namespace {

enum Kind {
    kNone,
    kAlu,
    kBranch,
    kJal,
    kJalr,
    kLoad,
    kStore,
    kMul,
    kDiv,
    kCsr,
    kEcall,
    kEbreak,
    kMret,
    kWfi,
    kFence,
    kFenceI,
    kAes,
    kStreamLoad,
    kStreamStore,
    kStreamReadI,
    kStreamReadO,
    kVset,
    kVector
};

/// Numbers of BitOp.
enum Bit {
    kNoBit,
    kShiftAdd,
    kMinMax,
    kRotateLeft,
    kRotateRight,
    kClz,
    kCtz,
    kCpop,
    kSextB,
    kSextH,
    kZextH,
    kOrcB,
    kRev8
};

struct Meaning {
    Kind kind = kNone; ///< illegal
    bool rs1 = false, rs2 = false, rd = false, late = false;
    bool pc = false, zero = false, two = false; ///< the ALU's operands: PC, 0, two registers
    unsigned fn = 0, bit = kNoBit;
    bool alt = false, invert = false;
    uint32_t imm = 0;
};

uint32_t sign(uint32_t value, unsigned bits) {
    return static_cast<uint32_t>(static_cast<int32_t>(value << (32 - bits)) >> (32 - bits));
}

/// Instructions of OP with both registers read and rd written.
Meaning op(unsigned f3, unsigned f7, unsigned rs2) {
    Meaning m;
    m.rs1 = m.rs2 = m.rd = m.two = true;
    if ((f7 & 0x1f) >= 0x11 && (f7 & 0x19) == 0x11 && f3 == 0) { // byte select in bits 6:5; esi, esmi, dsi, dsmi
        m.kind = kAes;
        return m;
    }
    m.kind = kAlu;
    switch (f7) {
    case 0x00:
        m.fn = f3;
        return m;
    case 0x01:
        m.kind = f3 < 4 ? kMul : kDiv;
        m.fn = f3;
        return m;
    case 0x20:
        m.fn = f3;
        m.alt = f3 == 0 || f3 == 5;
        m.invert = f3 == 4 || f3 == 6 || f3 == 7;
        if (m.alt || m.invert)
            return m;
        break;
    case 0x10:
        m.bit = kShiftAdd;
        if (f3 == 2 || f3 == 4 || f3 == 6)
            return m;
        break;
    case 0x05:
        m.bit = kMinMax;
        if (f3 >= 4)
            return m;
        break;
    case 0x30:
        m.bit = f3 == 1 ? kRotateLeft : kRotateRight;
        if (f3 == 1 || f3 == 5)
            return m;
        break;
    case 0x04:
        m.bit = kZextH;
        if (f3 == 4 && rs2 == 0)
            return m;
        break;
    }
    return Meaning();
}

Meaning op_imm(unsigned f3, unsigned f7, unsigned rs2) {
    Meaning m;
    m.kind = kAlu;
    m.rs1 = m.rd = true;
    if (f3 != 1 && f3 != 5) {
        m.fn = f3;
        return m;
    }
    if (f7 == 0 || (f7 == 0x20 && f3 == 5)) {
        m.fn = f3;
        m.alt = f7 != 0;
        return m;
    }
    const unsigned f12 = f7 << 5 | rs2;
    if (f3 == 5)
        m.bit = f7 == 0x30 ? kRotateRight : f12 == 0x287 ? kOrcB : f12 == 0x698 ? kRev8 : kNoBit;
    else
        m.bit = f12 == 0x600   ? kClz
                : f12 == 0x601 ? kCtz
                : f12 == 0x602 ? kCpop
                : f12 == 0x604 ? kSextB
                : f12 == 0x605 ? kSextH
                               : kNoBit;
    return m.bit == kNoBit ? Meaning() : m;
}

Meaning vector(uint32_t w, unsigned f3) {
    Meaning m;
    m.kind = kVector;
    switch (f3) {
    case 1:
    case 5: // floating point
        return Meaning();
    case 4:
    case 6:
        m.rs1 = true;
        break;
    case 2:
        m.rd = m.late = w >> 26 == 0x10; // vmv.x.s, vcpop.m, vfirst.m
        break;
    case 7:
        m.kind = kVset;
        m.rd = true;
        m.rs1 = w >> 30 != 3;
        m.rs2 = w >> 30 == 2;
        if (m.rs2 && w >> 25 != 0x40)
            return Meaning();
        break;
    }
    return m;
}

// What the pipeline tells apart of custom-1 and custom-2 (docs/varve/isa.md 3.1, 3.2); the unit decides the rest.
Meaning varve(uint32_t w, unsigned f3, unsigned f7) {
    Meaning m;
    const bool custom1 = (w & 0x7f) == 0x2b;
    if (VARVE < (custom1 ? 2 : 1))
        return m;
    m.kind = kVector;
    if (custom1) {
        if (f3 != 0 && f3 != 2 && f3 != 3 && f3 != 4)
            return Meaning();
        m.rs1 = f3 == 4;
        m.rd = m.late = f3 == 2 && f7 >> 1 == 0x10; // vv.num, vv.redsum, vv.redsumh
        return m;
    }
    switch (f3) {
    case 0:
        m.rs2 = f7 < 3;                                     // vs.fr, vs.vr, vs.hr: the number of elements
        m.rs1 = f7 < 3 || (f7 >= 8 && f7 < 11) || f7 == 16; // base; number
        m.rd = m.late = f7 == 24 || f7 == 25;               // vs.er, vs.ew
        return m.rs1 || m.rd ? m : Meaning();
    case 1:
    case 3:
        m.rd = m.late = true;
        return m;
    case 2:
        return m;
    default:
        return Meaning();
    }
}

Meaning stream(uint32_t w, unsigned f3, unsigned f7, unsigned streams) {
    Meaning m;
    if ((w >> 15 & 31) >= streams || f3 == 3 || f3 > (f7 == 1 ? 2 : 5))
        return m;
    static const Kind kinds[] = {kStreamLoad, kStreamStore, kStreamReadI, kStreamReadO};
    if (f7 > 3 || (f7 == 0 && w >> 20 & 31) || (f7 == 1 && w >> 7 & 31))
        return m;
    m.kind = kinds[f7];
    m.rd = f7 != 1;
    m.rs2 = f7 != 0;
    return m;
}

Meaning meaning(uint32_t w, unsigned streams) {
    const unsigned f3 = w >> 12 & 7, f7 = w >> 25, rs2 = w >> 20 & 31;
    const uint32_t imm_i = sign(w >> 20, 12);
    Meaning m;
    const auto is = [&](Kind kind, bool rs1, bool rs2, bool rd) {
        m.kind = kind;
        m.rs1 = rs1;
        m.rs2 = rs2;
        m.rd = rd;
    };
    m.imm = imm_i;
    switch (w & 0x7f) {
    case 0x03:
        if (f3 < 3 || f3 == 4 || f3 == 5)
            is(kLoad, true, false, true);
        return m;
    case 0x23:
        if (f3 < 3) {
            is(kStore, true, true, false);
            m.imm = sign(f7 << 5 | (w >> 7 & 31), 12);
        }
        return m;
    case 0x63:
        if (f3 != 2 && f3 != 3) {
            is(kBranch, true, true, false);
            m.two = true;
        }
        return m;
    case 0x6f:
        is(kJal, false, false, true);
        m.pc = true;
        m.imm = 4;
        return m;
    case 0x67:
        if (f3 == 0)
            is(kJalr, true, false, true);
        return m;
    case 0x37:
    case 0x17:
        is(kAlu, false, false, true);
        m.imm = w & 0xfffff000;
        ((w & 0x7f) == 0x37 ? m.zero : m.pc) = true;
        return m;
    case 0x0f:
        if (f3 < 2)
            is(f3 ? kFenceI : kFence, false, false, false);
        return m;
    case 0x73:
        if (w == 0x73)
            m.kind = kEcall;
        else if (w == 0x00100073)
            m.kind = kEbreak;
        else if (w == 0x30200073)
            m.kind = kMret;
        else if (w == 0x10500073)
            m.kind = kWfi;
        else if (f3 & 3) {
            is(kCsr, f3 < 4, false, true);
            m.zero = f3 > 4;
            m.imm = f3 > 4 ? w >> 15 & 31 : 0;
        }
        return m;
    case 0x33:
        m = op(f3, f7, rs2);
        m.imm = imm_i;
        return m;
    case 0x13:
        m = op_imm(f3, f7, rs2);
        m.imm = imm_i;
        return m;
    case 0x0b:
        m = stream(w, f3, f7, streams);
        m.imm = imm_i;
        return m;
    case 0x2b:
    case 0x5b:
        m = varve(w, f3, f7);
        m.imm = imm_i;
        return m;
    case 0x57:
        m = vector(w, f3);
        m.imm = imm_i;
        return m;
    case 0x07:
    case 0x27:
        if (f3 == 0 || f3 >= 5)
            is(kVector, true, (w >> 26 & 3) == 2, false);
        return m;
    }
    return m;
}

VDecode top;
uint64_t words = 0, legal = 0, wrong = 0;

/// Compares one word; whether it is legal.
bool check(uint32_t w, unsigned s_log2) {
    top.io_insn = w;
    top.io_sLog2 = s_log2;
    top.eval();
    const Meaning m = meaning(w, 1u << s_log2);
    const bool rd = m.rd && (w >> 7 & 31);
    uint32_t flags[2] = {0, 0};
    const auto flag = [&](bool got, bool expected) {
        flags[0] = flags[0] << 1 | got;
        flags[1] = flags[1] << 1 | expected;
    };
    flag(top.io_out_illegal, m.kind == kNone);
    flag(top.io_out_usesRs1, m.rs1);
    flag(top.io_out_usesRs2, m.rs2);
    flag(top.io_out_wen, rd);
    flag(top.io_out_late, m.late);
    flag(top.io_out_aPc, m.pc);
    flag(top.io_out_aZero, m.zero);
    flag(top.io_out_bImm, !m.two);
    flag(top.io_out_aluAlt, m.alt);
    flag(top.io_out_invertB, m.invert);
    flag(top.io_out_aes, m.kind == kAes);
    flag(top.io_out_branch, m.kind == kBranch);
    flag(top.io_out_jal, m.kind == kJal);
    flag(top.io_out_jalr, m.kind == kJalr);
    flag(top.io_out_load, m.kind == kLoad);
    flag(top.io_out_store, m.kind == kStore);
    flag(top.io_out_mul, m.kind == kMul);
    flag(top.io_out_div, m.kind == kDiv);
    flag(top.io_out_csr, m.kind == kCsr);
    flag(top.io_out_ecall, m.kind == kEcall);
    flag(top.io_out_ebreak, m.kind == kEbreak);
    flag(top.io_out_mret, m.kind == kMret);
    flag(top.io_out_wfi, m.kind == kWfi);
    flag(top.io_out_fence, m.kind == kFence || m.kind == kFenceI);
    flag(top.io_out_fenceI, m.kind == kFenceI);
    flag(top.io_out_stream_load, m.kind == kStreamLoad);
    flag(top.io_out_stream_store, m.kind == kStreamStore);
    flag(top.io_out_stream_readI, m.kind == kStreamReadI);
    flag(top.io_out_stream_readO, m.kind == kStreamReadO);
    flag(top.io_out_vset, m.kind == kVset);
    flag(top.io_out_vector, m.kind == kVector);
    const uint32_t jump_b =
        sign((w >> 31 & 1) << 12 | (w >> 7 & 1) << 11 | (w >> 25 & 63) << 5 | (w >> 8 & 15) << 1, 13);
    const uint32_t jump_j =
        sign((w >> 31 & 1) << 20 | (w >> 12 & 255) << 12 | (w >> 20 & 1) << 11 | (w >> 21 & 0x3ff) << 1, 21);
    const bool jump = (m.kind != kBranch || top.io_jumpImm == jump_b) && (m.kind != kJal || top.io_jumpImm == jump_j);
    const bool imm = m.kind == kNone || m.two || top.io_out_imm == m.imm;
    words++;
    legal += m.kind != kNone;
    if (flags[0] != flags[1] || top.io_out_aluFn != m.fn || top.io_out_bit != m.bit || !imm || !jump) {
        if (wrong++ < 10)
            std::printf("word %08x, %u streams: flags %08x, expected %08x; aluFn %u, %u; bit %u, %u; imm %08x, %08x; "
                        "jump %08x\n",
                        w, 1u << s_log2, flags[0], flags[1], top.io_out_aluFn, m.fn, top.io_out_bit, m.bit,
                        top.io_out_imm, m.imm, top.io_jumpImm);
    }
    return m.kind != kNone;
}

/// Instructions of the contract, and the scalar registers that they read and write.
struct Row {
    uint32_t match, mask;
    bool rs1, rs2, rd;
};
#define VARVE_ROW(name, rs1, rs2, rd)                                                                                  \
    { VARVE_MATCH_##name, VARVE_MASK_##name, rs1, rs2, rd }
const Row kVarve[] = {VARVE_ROW(VS_FR, true, true, false),         VARVE_ROW(VS_VR, true, true, false),
                      VARVE_ROW(VS_HR, true, true, false),         VARVE_ROW(VS_FW, true, false, false),
                      VARVE_ROW(VS_VW, true, false, false),        VARVE_ROW(VS_HW, true, false, false),
                      VARVE_ROW(VS_CR, true, false, false),        VARVE_ROW(VS_ER, false, false, true),
                      VARVE_ROW(VS_EW, false, false, true),        VARVE_ROW(VS_RCNUM, false, false, true),
                      VARVE_ROW(VS_VUNPACK, false, false, false),  VARVE_ROW(VS_VUNPACK_M, false, false, false),
                      VARVE_ROW(VS_UNPACK, false, false, false),   VARVE_ROW(VS_VPACK, false, false, true),
                      VARVE_ROW(VS_VPACK_M, false, false, true),   VARVE_ROW(VS_PACK, false, false, true),
                      VARVE_ROW(VS_PACK_M, false, false, true),    VARVE_ROW(VV_ADD_VV, false, false, false),
                      VARVE_ROW(VV_CMPGT_VI, false, false, false), VARVE_ROW(VV_MUL_VX, true, false, false),
                      VARVE_ROW(VV_CPY, true, false, false),       VARVE_ROW(VV_INDEX, true, false, false),
                      VARVE_ROW(VV_DUP, false, false, false),      VARVE_ROW(VV_TVS_S, false, false, false),
                      VARVE_ROW(VV_TVS_U, false, false, false),    VARVE_ROW(VV_NUM, false, false, true),
                      VARVE_ROW(VV_REDSUM, false, false, true),    VARVE_ROW(VV_REDSUMH, false, false, true)};

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s SEED\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0);
    std::mt19937_64 rng(seed);
    for (unsigned i = 0; i < 2000000; i++)
        check(static_cast<uint32_t>(rng()), rng() & 3);
    for (const Row &row : kVarve)
        for (unsigned i = 0; i < 100; i++) {
            const uint32_t w = row.match | (static_cast<uint32_t>(rng()) & ~row.mask);
            const bool built = VARVE >= ((w & 0x7f) == 0x2b ? 2 : 1), scalar = row.rd && (w >> 7 & 31);
            if (check(w, 3) != built || (built && (top.io_out_usesRs1 != row.rs1 || top.io_out_usesRs2 != row.rs2 ||
                                                   top.io_out_wen != scalar || top.io_out_late != row.rd))) {
                if (wrong++ < 10)
                    std::printf("word %08x is not decoded as the contract has it\n", w);
            }
        }
    // Every opcode, funct3 and funct7 with every rs2; the words that differ from a legal one in one or two bits.
    unsigned found = 0;
    for (uint32_t i = 0; i < 1u << 22; i++) {
        const uint32_t w = (i & 127) << 25 | (i >> 17 & 31) << 20 | (i >> 7 & 7) << 12 | (i >> 10 & 127);
        if (!check(w, 3) || rng() % 128)
            continue;
        found++;
        const uint32_t near = w | (static_cast<uint32_t>(rng()) & (rng() & 1 ? 0xf8f80 : 0));
        for (unsigned a = 0; a < 32; a++)
            for (unsigned b = a; b < 32; b++)
                check(near ^ 1u << a ^ (a == b ? 0 : 1u << b), rng() & 3);
    }
    for (const uint32_t w : {0x73u, 0x00100073u, 0x30200073u, 0x10500073u})
        for (unsigned a = 0; a < 32; a++)
            for (unsigned b = a; b < 32; b++)
                check(w ^ 1u << a ^ (a == b ? 0 : 1u << b), 0);
    std::printf("decode_tests: seed %" PRIu64 ", %" PRIu64 " words, %" PRIu64 " of them legal, near %u legal ones\n",
                seed, words, legal, found);
    const bool passed = wrong == 0 && legal > words / 100;
    std::printf("decode_tests: %u passed, %u failed\n", passed, !passed);
    return !passed;
}
