/* SPDX-License-Identifier: BSD-3-Clause */
#include "iss.h"

#include <assasin_contract.h>
#include <stdlib.h>
#include <string.h>

void iss_consume(struct iss_core *c, unsigned s, uint32_t head) {
    uint32_t from = c->ihead[s];
    c->ihead[s] = head;
    if (c->consumed)
        c->consumed(c, s, from);
}

static uint32_t sext(uint32_t v, unsigned bits) {
    return (uint32_t)((int32_t)(v << (32 - bits)) >> (32 - bits));
}

static uint32_t extend(uint32_t f3, const uint8_t *p) {
    switch (f3) {
    case 0:
        return sext(p[0], 8);
    case 1:
        return sext(p[0] | p[1] << 8, 16);
    case 4:
        return p[0];
    case 5:
        return p[0] | (uint32_t)p[1] << 8;
    default:
        return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    }
}

uint8_t *iss_memory(struct iss_core *c, uint32_t address, uint32_t width) {
    if (c->tcm)
        return address <= c->tcm_bytes - width ? c->tcm + address : NULL;
    uint32_t at = address - ASSASIN_CORE_SPAD_BASE;
    if (at <= ISS_BUFFER - width)
        return c->spad + at;
    if (!c->software)
        return NULL;
    at = address - ASSASIN_CORE_ISB_BASE;
    if (at <= ISS_BUFFER - width)
        return c->isb + at;
    at = address - ASSASIN_CORE_OSB_BASE;
    if (at <= ISS_BUFFER - width)
        return c->osb + at;
    return NULL;
}

/* AES' S-box out of its definition: inversion in GF(2^8) modulo 0x11b, then the affine map. */
static uint8_t sbox[256], inverse_sbox[256];

static uint8_t gf_mul(uint8_t a, uint8_t b) {
    uint8_t r = 0;
    for (; b; b >>= 1, a = (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0)))
        if (b & 1)
            r ^= a;
    return r;
}

static void make_sbox(void) {
    for (unsigned v = 0; v < 256; v++) {
        uint8_t inverse = 0;
        for (unsigned i = 1; i < 256; i++)
            if (gf_mul((uint8_t)v, (uint8_t)i) == 1)
                inverse = (uint8_t)i;
        uint8_t r = 0x63;
        for (unsigned i = 0; i < 5; i++)
            r ^= (uint8_t)(inverse << i | inverse >> (8 - i));
        sbox[v] = r;
        inverse_sbox[r] = (uint8_t)v;
    }
}

static uint32_t rol(uint32_t v, uint32_t n) {
    return v << (n & 31) | v >> (-n & 31);
}

/* aes32esi, aes32esmi, aes32dsi, aes32dsmi: f7 & 31 = 0x11, 0x13, 0x15, 0x17 */
static uint32_t aes32(uint32_t f7, uint32_t a, uint32_t b) {
    uint32_t shift = 8 * (f7 >> 5), kind = f7 & 31;
    uint8_t v = (uint8_t)(b >> shift);
    v = kind < 0x15 ? sbox[v] : inverse_sbox[v];
    uint32_t word = v;
    if (kind == 0x13)
        word = gf_mul(v, 2) | (uint32_t)v << 8 | (uint32_t)v << 16 | (uint32_t)gf_mul(v, 3) << 24;
    if (kind == 0x17)
        word =
            gf_mul(v, 14) | (uint32_t)gf_mul(v, 9) << 8 | (uint32_t)gf_mul(v, 13) << 16 | (uint32_t)gf_mul(v, 11) << 24;
    return a ^ rol(word, shift);
}

/* \return 1 done, 0 illegal. `cost`: extra cycles. `late`: result at the end of MEM. */
static bool op(uint32_t f3, uint32_t f7, uint32_t rs2, uint32_t a, uint32_t b, uint32_t *value, uint32_t *cost,
               bool *late) {
    int32_t sa = (int32_t)a, sb = (int32_t)b;
    if (f7 == 1) {
        *late = true;
        uint32_t leading = a >> 8 == 0 ? 24 : a >> 16 == 0 ? 16 : 0;
        if (f3 >= 4)
            *cost = 34 - leading;
        switch (f3) {
        case 0:
            *value = a * b;
            return true;
        case 1:
            *value = (uint32_t)((int64_t)sa * sb >> 32);
            return true;
        case 2:
            *value = (uint32_t)((int64_t)sa * (int64_t)(uint64_t)b >> 32);
            return true;
        case 3:
            *value = (uint32_t)((uint64_t)a * b >> 32);
            return true;
        case 4:
            *value = !b ? ~0u : a == 0x80000000u && b == ~0u ? a : (uint32_t)(sa / sb);
            return true;
        case 5:
            *value = b ? a / b : ~0u;
            return true;
        case 6:
            *value = !b ? a : a == 0x80000000u && b == ~0u ? 0 : (uint32_t)(sa % sb);
            return true;
        default:
            *value = b ? a % b : a;
            return true;
        }
    }
    if (f3 == 0 && ((f7 & 31) == 0x11 || (f7 & 31) == 0x13 || (f7 & 31) == 0x15 || (f7 & 31) == 0x17)) {
        *value = aes32(f7, a, b);
        return true;
    }
    switch (f7 << 4 | f3) {
    case 0x000:
        *value = a + b;
        return true;
    case 0x001:
        *value = a << (b & 31);
        return true;
    case 0x002:
        *value = sa < sb;
        return true;
    case 0x003:
        *value = a < b;
        return true;
    case 0x004:
        *value = a ^ b;
        return true;
    case 0x005:
        *value = a >> (b & 31);
        return true;
    case 0x006:
        *value = a | b;
        return true;
    case 0x007:
        *value = a & b;
        return true;
    case 0x20 << 4 | 7:
        *value = a & ~b;
        return true;
    case 0x20 << 4 | 6:
        *value = a | ~b;
        return true;
    case 0x20 << 4 | 4:
        *value = ~(a ^ b);
        return true;
    case 0x20 << 4:
        *value = a - b;
        return true;
    case 0x20 << 4 | 5:
        *value = (uint32_t)(sa >> (b & 31));
        return true;
    case 0x30 << 4 | 1:
        *value = rol(a, b);
        return true;
    case 0x30 << 4 | 5:
        *value = rol(a, -b);
        return true;
    case 0x10 << 4 | 2:
    case 0x10 << 4 | 4:
    case 0x10 << 4 | 6:
        *value = (a << (f3 / 2)) + b;
        return true;
    case 5 << 4 | 4:
        *value = sa < sb ? a : b;
        return true;
    case 5 << 4 | 5:
        *value = a < b ? a : b;
        return true;
    case 5 << 4 | 6:
        *value = sa > sb ? a : b;
        return true;
    case 5 << 4 | 7:
        *value = a > b ? a : b;
        return true;
    case 4 << 4 | 4:
        *value = a & 0xffff;
        return rs2 == 0;
    }
    return false;
}

static bool op_imm(uint32_t w, uint32_t f3, uint32_t a, uint32_t *value) {
    uint32_t imm = sext(w >> 20, 12), shift = w >> 20 & 31;
    uint32_t cost;
    bool late;
    if (f3 != 1 && f3 != 5)
        return op(f3, 0, 0, a, imm, value, &cost, &late);
    switch (w >> 20) {
    case 0x600:
        *value = a ? (uint32_t)__builtin_clz(a) : 32;
        if (f3 == 1)
            return true;
        break;
    case 0x601:
        *value = a ? (uint32_t)__builtin_ctz(a) : 32;
        if (f3 == 1)
            return true;
        break;
    case 0x602:
        *value = (uint32_t)__builtin_popcount(a);
        if (f3 == 1)
            return true;
        break;
    case 0x604:
        *value = sext(a & 0xff, 8);
        if (f3 == 1)
            return true;
        break;
    case 0x605:
        *value = sext(a & 0xffff, 16);
        if (f3 == 1)
            return true;
        break;
    case 0x698:
        *value = __builtin_bswap32(a);
        return f3 == 5;
    case 0x287:
        *value = 0;
        for (unsigned i = 0; i < 32; i += 8)
            *value |= (a >> i & 0xff ? 0xffu : 0u) << i;
        return f3 == 5;
    }
    switch (w >> 25 << 4 | f3) {
    case 1:
        *value = a << shift;
        return true;
    case 5:
        *value = a >> shift;
        return true;
    case 0x20 << 4 | 5:
        *value = (uint32_t)((int32_t)a >> shift);
        return true;
    case 0x30 << 4 | 5:
        *value = rol(a, -shift);
        return true;
    }
    return false;
}

/* A CSR access. Returns false: illegal. *stuck: it waits for a stream. */
static bool csr(struct iss_core *c, uint32_t number, bool write, uint32_t source, uint32_t *value, bool *stuck) {
    if (c->vector && c->vector->csr(c, number, write, source, value))
        return true;
    uint32_t s = number & 7;
    bool is_stream = number != ASSASIN_CSR_SEPILOGUE && number != ASSASIN_CSR_SGRAIN && number != ASSASIN_CSR_STREAMCFG;
    bool soft = c->software;
    if (is_stream && s >= c->streams)
        return false;
    if (write && number >> 10 == 3)
        return false;
    switch (is_stream ? number & ~7u : number) {
    case ASSASIN_CSR_SEPILOGUE:
        *value = c->sepilogue;
        if (write)
            c->sepilogue = source;
        return !soft;
    case ASSASIN_CSR_SGRAIN:
        *value = c->sgrain;
        if (write)
            c->sgrain = source;
        return soft;
    case ASSASIN_CSR_STREAMCFG:
        *value = (uint32_t)__builtin_ctz(c->ring) << 8 | c->streams;
        return true;
    case ASSASIN_CSR_IHEAD:
        *value = c->ihead[s];
        return true;
    case ASSASIN_CSR_ITAIL:
        *value = c->itail[s];
        return true;
    case ASSASIN_CSR_OHEAD:
        *value = c->ohead[s];
        return true;
    case ASSASIN_CSR_OTAIL:
        *value = c->olimit[s];
        return true;
    case ASSASIN_CSR_IEND:
        *value = c->iend[s];
        return true;
    case ASSASIN_CSR_IHEADW:
        *value = c->ihead[s];
        if (write) {
            if (source - c->ihead[s] > c->itail[s] - c->ihead[s])
                return false; /* gives back more than there is */
            iss_consume(c, s, source);
        }
        return soft;
    case ASSASIN_CSR_OHEADW:
        *value = c->ohead[s];
        if (write) {
            uint32_t drained = c->olimit[s] - c->ring;
            if (source - drained > c->ring || source - drained < c->ohead[s] - drained)
                return false;
            c->ohead[s] = source;
        }
        return soft;
    case ASSASIN_CSR_IWAIT:
        if (c->itail[s] - c->ihead[s] < c->sgrain && !(c->ended[s] && c->itail[s] == c->iend[s])) {
            c->waits_for = s;
            c->waits_output = false;
            *stuck = true;
            return true;
        }
        *value = c->itail[s];
        return soft;
    case ASSASIN_CSR_OWAIT:
        if (c->olimit[s] - c->ohead[s] < c->sgrain) {
            c->waits_for = s;
            c->waits_output = true;
            *stuck = true;
            return true;
        }
        *value = c->olimit[s];
        return soft;
    }
    return false;
}

static enum iss_status trap(struct iss_core *c, uint32_t cause, uint32_t tval) {
    c->cause = cause;
    c->tval = tval;
    return ISS_TRAPPED;
}

static enum iss_status wait_for(struct iss_core *c, unsigned s, bool output) {
    c->waits_for = s;
    c->waits_output = output;
    return ISS_WAITS;
}

/* An instruction of Zba, Zbb, Zkne or Zknd; `i`: with an immediate. */
static bool is_extension(uint32_t w, bool i) {
    uint32_t f3 = w >> 12 & 7, f7 = w >> 25;
    if (i)
        return (f3 == 1 && f7 != 0) || (f3 == 5 && f7 != 0 && f7 != 0x20);
    return f7 > 1 && !(f7 == 0x20 && (f3 == 0 || f3 == 5));
}

enum iss_status iss_core_run(struct iss_core *c, uint64_t limit) {
    uint64_t cycle = c->cycles, until = c->instructions + limit;
    const uint8_t *code = c->tcm ? c->tcm : c->imem;
    uint32_t code_bytes = c->tcm ? c->tcm_bytes : ASSASIN_CORE_IMEM_SIZE;
    if (!sbox[0])
        make_sbox();
    for (;; c->instructions++) {
        c->cycles = cycle;
        if (c->instructions >= until)
            return ISS_LIMIT;
        if (c->pc & 3 || c->pc >= code_bytes)
            return trap(c, 1, c->pc);
        uint32_t w, pc = c->pc;
        memcpy(&w, code + pc, 4);
        uint32_t opcode = w & 0x7f, rd = w >> 7 & 31, f3 = w >> 12 & 7, rs1 = w >> 15 & 31, rs2 = w >> 20 & 31,
                 f7 = w >> 25;
        uint32_t a = c->x[rs1], b = c->x[rs2], next = c->pc + 4, value = 0, cost = 0;
        bool late = false, stuck = false, writes = true;
        bool uses1 =
            opcode != 0x37 && opcode != 0x17 && opcode != 0x6f && opcode != 0x0b && !(opcode == 0x73 && f3 >= 4);
        bool uses2 = opcode == 0x33 || opcode == 0x23 || opcode == 0x63 || opcode == 0x0b;
        cycle++;
        if (uses1 && cycle < c->ready[rs1])
            cycle = c->ready[rs1];
        if (uses2 && cycle < c->ready[rs2])
            cycle = c->ready[rs2];
        uint32_t delay = 1;
        switch (opcode) {
        case 0x37:
            value = w & 0xfffff000;
            break;
        case 0x17:
            value = c->pc + (w & 0xfffff000);
            break;
        case 0x6f:
            value = next;
            next = c->pc +
                   sext((w >> 31) << 20 | (w >> 12 & 0xff) << 12 | (w >> 20 & 1) << 11 | (w >> 21 & 0x3ff) << 1, 21);
            break;
        case 0x67:
            value = next;
            next = (a + sext(w >> 20, 12)) & ~1u;
            cost = 1;
            break;
        case 0x63: {
            uint32_t offset =
                sext((w >> 31) << 12 | (w >> 7 & 1) << 11 | (w >> 25 & 0x3f) << 5 | (w >> 8 & 15) << 1, 13);
            bool less = f3 & 2 ? a < b : (int32_t)a < (int32_t)b, taken = (f3 & 4 ? less : a == b) != (f3 & 1);
            if (f3 == 2 || f3 == 3)
                return trap(c, 2, w);
            if (taken)
                next = c->pc + offset;
            cost = taken != (w >> 31);
            writes = false;
            break;
        }
        case 0x03:
        case 0x23: {
            uint32_t address = a + (opcode == 0x03 ? sext(w >> 20, 12) : sext(f7 << 5 | rd, 12)),
                     width = 1u << (f3 & 3);
            if (f3 == 3 || f3 > (opcode == 0x03 ? 5 : 2))
                return trap(c, 2, w);
            if (address % width)
                return trap(c, opcode == 0x03 ? 4 : 6, address);
            uint8_t *p = iss_memory(c, address, width);
            if (!p && c->tcm && width == 4 && address % 4 == 0) {
                /* As late as the pipeline gets there: what the model does now depends on the time. */
                c->cycles = cycle;
                value = b;
                if (!c->outside(c, address, opcode == 0x23, &value, &cost))
                    return trap(c, opcode == 0x03 ? 5 : 7, address);
                late = opcode == 0x03;
                writes = late;
                break;
            }
            if (!p)
                return trap(c, opcode == 0x03 ? 5 : 7, address);
            if (opcode == 0x03) {
                value = extend(f3, p);
                late = true;
            } else {
                memcpy(p, &b, width);
                writes = false;
            }
            break;
        }
        case 0x13:
            if ((!c->extended && is_extension(w, true)) || !op_imm(w, f3, a, &value))
                return trap(c, 2, w);
            break;
        case 0x33:
            if ((!c->extended && is_extension(w, false)) || !op(f3, f7, rs2, a, b, &value, &cost, &late))
                return trap(c, 2, w);
            break;
        case 0x73: {
            if (w == 0x73) {
                c->exit_code = c->x[10];
                c->cycles = cycle;
                return ISS_EXITED;
            }
            if (c->tcm && w == 0x10500073) {
                c->pc = next;
                c->instructions++;
                c->cycles = cycle;
                return ISS_SLEEPS;
            }
            if (!(f3 & 3))
                return trap(c, 2, w);
            if (c->tcm && w >> 20 == 0xb00) {
                value = (uint32_t)cycle;
                break;
            }
            uint32_t operand = f3 & 4 ? rs1 : a, source = operand;
            bool write = (f3 & 3) == 1 || rs1;
            if (!csr(c, w >> 20, false, 0, &value, &stuck))
                return trap(c, 2, w);
            if (stuck)
                return ISS_WAITS;
            if ((f3 & 3) == 2)
                source = value | operand;
            if ((f3 & 3) == 3)
                source = value & ~operand;
            uint32_t ignored;
            if (write && !csr(c, w >> 20, true, source, &ignored, &stuck))
                return trap(c, 2, w);
            late = true;
            delay = 3;
            break;
        }
        case 0x0b: {
            uint32_t width = 1u << (f3 & 3), s = rs1;
            if (f7 > 3 || c->software || s >= c->streams)
                return trap(c, 2, w);
            if (f7 < 2 && c->vector && c->vector->owns(c, s, f7 == 1))
                return trap(c, 2, w);
            const uint8_t *ring = (f7 & 1 ? c->osb : c->isb) + s * c->ring;
            uint8_t bytes[4];
            late = true;
            if (f7 == 0) {
                if (c->ended[s] && c->iend[s] - c->ihead[s] < width) {
                    if (!c->sepilogue)
                        return ISS_HUNG;
                    c->pc = c->sepilogue;
                    cycle += 3;
                    continue;
                }
                if (c->itail[s] - c->ihead[s] < width)
                    return wait_for(c, s, false);
                for (uint32_t i = 0; i < width; i++)
                    bytes[i] = ring[(c->ihead[s] + i) % c->ring];
                value = extend(f3, bytes);
                iss_consume(c, s, c->ihead[s] + width);
            } else if (f7 == 1) {
                if (c->olimit[s] - c->ohead[s] < width)
                    return wait_for(c, s, true);
                uint8_t *to = c->osb + s * c->ring;
                for (uint32_t i = 0; i < width; i++)
                    to[c->ohead[s]++ % c->ring] = (uint8_t)(b >> (8 * i));
                writes = false;
            } else {
                uint32_t pointer = f7 == 2 ? c->itail[s] : c->ohead[s];
                if (b < width || b > c->ring || b > pointer)
                    return trap(c, ASSASIN_CAUSE_STREAM_RANGE, b);
                for (uint32_t i = 0; i < width; i++)
                    bytes[i] = ring[(pointer - b + i) % c->ring];
                value = extend(f3, bytes);
            }
            break;
        }
        default: {
            if (!c->vector)
                return trap(c, 2, w);
            writes = false;
            enum iss_status status = c->vector->step(c, w, a, b, &value, &writes);
            if (status != ISS_LIMIT)
                return status;
            late = true;
            break;
        }
        }
        cycle += cost;
        if (c->spent) {
            c->spent[pc / 4] += cycle - c->cycles;
            c->runs[pc / 4]++;
        }
        if (writes && rd) {
            c->x[rd] = value;
            c->ready[rd] = cycle + (late && delay == 1 ? 2 : delay);
        }
        c->pc = next;
    }
}
