// SPDX-License-Identifier: BSD-3-Clause
// Encoders of RV32IM, Zicsr and stream instructions for generated test programs.
#pragma once

#include <cstdint>

#include "assasin_contract.h"

namespace rv {

using Word = uint32_t;

constexpr Word r_type(unsigned op, unsigned f3, unsigned f7, unsigned rd, unsigned rs1, unsigned rs2) {
    return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}
constexpr Word i_type(unsigned op, unsigned f3, unsigned rd, unsigned rs1, int32_t imm) {
    return (static_cast<Word>(imm) & 0xfff) << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}
constexpr Word s_type(unsigned f3, unsigned rs2, unsigned rs1, int32_t imm) {
    const Word i = static_cast<Word>(imm);
    return (i >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | (i & 0x1f) << 7 | 0x23;
}
constexpr Word b_type(unsigned f3, unsigned rs1, unsigned rs2, int32_t offset) {
    const Word i = static_cast<Word>(offset);
    return (i >> 12 & 1) << 31 | (i >> 5 & 0x3f) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | (i >> 1 & 0xf) << 8 |
           (i >> 11 & 1) << 7 | 0x63;
}

constexpr Word lui(unsigned rd, Word value) {
    return (value & 0xfffff000) | rd << 7 | 0x37;
}
constexpr Word auipc(unsigned rd, Word value) {
    return (value & 0xfffff000) | rd << 7 | 0x17;
}
constexpr Word jal(unsigned rd, int32_t offset) {
    const Word i = static_cast<Word>(offset);
    return (i >> 20 & 1) << 31 | (i >> 1 & 0x3ff) << 21 | (i >> 11 & 1) << 20 | (i >> 12 & 0xff) << 12 | rd << 7 | 0x6f;
}
constexpr Word jalr(unsigned rd, unsigned rs1, int32_t imm) {
    return i_type(0x67, 0, rd, rs1, imm);
}
constexpr Word op(unsigned f3, unsigned f7, unsigned rd, unsigned rs1, unsigned rs2) {
    return r_type(0x33, f3, f7, rd, rs1, rs2);
}
constexpr Word op_imm(unsigned f3, unsigned rd, unsigned rs1, int32_t imm) {
    return i_type(0x13, f3, rd, rs1, imm);
}
constexpr Word add(unsigned rd, unsigned rs1, unsigned rs2) {
    return op(0, 0, rd, rs1, rs2);
}
constexpr Word sub(unsigned rd, unsigned rs1, unsigned rs2) {
    return op(0, 0x20, rd, rs1, rs2);
}
constexpr Word mul(unsigned rd, unsigned rs1, unsigned rs2) {
    return op(0, 1, rd, rs1, rs2);
}
constexpr Word divu(unsigned rd, unsigned rs1, unsigned rs2) {
    return op(5, 1, rd, rs1, rs2);
}
constexpr Word addi(unsigned rd, unsigned rs1, int32_t imm) {
    return op_imm(0, rd, rs1, imm);
}
constexpr Word load(unsigned f3, unsigned rd, unsigned rs1, int32_t imm) {
    return i_type(0x03, f3, rd, rs1, imm);
}
constexpr Word lw(unsigned rd, unsigned rs1, int32_t imm) {
    return load(2, rd, rs1, imm);
}
constexpr Word store(unsigned f3, unsigned rs2, unsigned rs1, int32_t imm) {
    return s_type(f3, rs2, rs1, imm);
}
constexpr Word sw(unsigned rs2, unsigned rs1, int32_t imm) {
    return store(2, rs2, rs1, imm);
}
constexpr Word beq(unsigned a, unsigned b, int32_t offset) {
    return b_type(0, a, b, offset);
}
constexpr Word bne(unsigned a, unsigned b, int32_t offset) {
    return b_type(1, a, b, offset);
}
constexpr Word csr(unsigned f3, unsigned rd, unsigned address, unsigned rs1) {
    return address << 20 | rs1 << 15 | f3 << 12 | rd << 7 | 0x73;
}
constexpr Word csrrw(unsigned rd, unsigned address, unsigned rs1) {
    return csr(1, rd, address, rs1);
}
constexpr Word csrrs(unsigned rd, unsigned address, unsigned rs1) {
    return csr(2, rd, address, rs1);
}
constexpr Word csrr(unsigned rd, unsigned address) {
    return csrrs(rd, address, 0);
}
constexpr Word csrw(unsigned address, unsigned rs1) {
    return csrrw(0, address, rs1);
}
constexpr Word ecall = 0x00000073, ebreak = 0x00100073, mret = 0x30200073, wfi = 0x10500073, fence_i = 0x0000100f,
               nop = 0x00000013;

// Width codes (funct3) of loads: 0 lb, 1 lh, 2 lw, 4 lbu, 5 lhu.
constexpr Word stream_load(unsigned f3, unsigned rd, unsigned stream) {
    return ASSASIN_MATCH_STREAM_LB | f3 << 12 | rd << 7 | stream << 15;
}
constexpr Word stream_store(unsigned f3, unsigned rs2, unsigned stream) {
    return ASSASIN_MATCH_STREAM_SB | f3 << 12 | rs2 << 20 | stream << 15;
}
constexpr Word stream_readi(unsigned f3, unsigned rd, unsigned stream, unsigned rs2) {
    return ASSASIN_MATCH_STREAM_READI_B | f3 << 12 | rd << 7 | stream << 15 | rs2 << 20;
}
constexpr Word stream_reado(unsigned f3, unsigned rd, unsigned stream, unsigned rs2) {
    return ASSASIN_MATCH_STREAM_READO_B | f3 << 12 | rd << 7 | stream << 15 | rs2 << 20;
}

// `vtype`: 11 bits; 10 for vsetivli.
constexpr Word vsetvli(unsigned rd, unsigned rs1, unsigned vtype) {
    return vtype << 20 | rs1 << 15 | 7 << 12 | rd << 7 | 0x57;
}
constexpr Word vsetivli(unsigned rd, unsigned avl, unsigned vtype) {
    return 3u << 30 | vtype << 20 | avl << 15 | 7 << 12 | rd << 7 | 0x57;
}
constexpr Word vsetvl(unsigned rd, unsigned rs1, unsigned rs2) {
    return r_type(0x57, 7, 0x40, rd, rs1, rs2);
}
constexpr Word vadd_vx(unsigned vd, unsigned vs2, unsigned rs1) {
    return r_type(0x57, 4, 1, vd, rs1, vs2);
}
constexpr Word vadd_vv(unsigned vd, unsigned vs2, unsigned vs1) {
    return r_type(0x57, 0, 1, vd, vs1, vs2);
}
constexpr Word vmv_x_s(unsigned rd, unsigned vs2) {
    return r_type(0x57, 2, 0x21, rd, 0, vs2);
}
constexpr Word vle32(unsigned vd, unsigned rs1) {
    return r_type(0x07, 6, 1, vd, rs1, 0);
}
constexpr Word vlse32(unsigned vd, unsigned rs1, unsigned rs2) {
    return r_type(0x07, 6, 5, vd, rs1, rs2);
}
constexpr Word vse32(unsigned vs3, unsigned rs1) {
    return r_type(0x27, 6, 1, vs3, rs1, 0);
}

// VarVE: `bits` are an instruction's VARVE_MATCH, with what its other fields hold.
constexpr Word varve(Word bits, unsigned rd, unsigned rs1, unsigned rs2) {
    return bits | rs2 << 20 | rs1 << 15 | rd << 7;
}

enum CsrAddress : unsigned {
    kVstart = 0x008,
    kVxsat = 0x009,
    kVxrm = 0x00a,
    kVcsr = 0x00f,
    kVl = 0xc20,
    kVtype = 0xc21,
    kVlenb = 0xc22,
    kMstatus = 0x300,
    kMisa = 0x301,
    kMie = 0x304,
    kMtvec = 0x305,
    kMscratch = 0x340,
    kMepc = 0x341,
    kMcause = 0x342,
    kMtval = 0x343,
    kMip = 0x344,
    kMcycle = 0xb00,
    kMinstret = 0xb02,
    kMcycleh = 0xb80,
    kMinstreth = 0xb82,
    kCycle = 0xc00,
    kInstret = 0xc02,
    kInstreth = 0xc82,
    kMhartid = 0xf14,
};

} // namespace rv
