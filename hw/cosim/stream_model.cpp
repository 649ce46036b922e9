// SPDX-License-Identifier: BSD-3-Clause
#include "stream_model.h"

#include <algorithm>
#include <cstdio>

namespace cosim {
namespace {

int32_t signed_difference(uint32_t a, uint32_t b) {
    return static_cast<int32_t>(a - b);
}

uint32_t extend(uint32_t raw, unsigned f3) {
    switch (f3) {
    case 0:
        return static_cast<uint32_t>(static_cast<int32_t>(raw << 24) >> 24);
    case 1:
        return static_cast<uint32_t>(static_cast<int32_t>(raw << 16) >> 16);
    case 4:
        return raw & 0xff;
    case 5:
        return raw & 0xffff;
    default:
        return raw;
    }
}

std::string format(const char *text, uint32_t a = 0, uint32_t b = 0) {
    char buffer[200];
    std::snprintf(buffer, sizeof buffer, text, a, b);
    return buffer;
}

} // namespace

StreamModel::StreamModel(unsigned s, unsigned page_log2, std::vector<uint32_t> words, uint32_t entry)
    : pc(entry), ring(65536u >> s), page(1u << page_log2), streams(1u << s), s_log2(s), program(std::move(words)) {
}

// ITAIL as the core may see it now, clipped to a known end.
std::vector<uint32_t> StreamModel::tails(unsigned s) const {
    const StreamBounds b = bounds(s);
    std::vector<uint32_t> all;
    for (uint32_t t = b.tail_low;; t += page) {
        if (!b.end_known_low || t <= b.end)
            all.push_back(t);
        if (b.end_known_high && t > b.end)
            all.push_back(b.end);
        if (t >= b.tail_high)
            break;
    }
    return all;
}

bool StreamModel::ready() const {
    if (stopped || pc / 4 >= program.size())
        return false;
    const uint32_t insn = program[pc / 4];
    if ((insn & 0x7f) != 0x0b)
        return true;
    const unsigned s = insn >> 15 & 31, width = 1u << (insn >> 12 & 3);
    if (s >= streams)
        return true;
    const StreamBounds b = bounds(s);
    switch (insn >> 25) {
    case 0:
        if (b.end_known_low && b.end - ihead[s] < width)
            return true;
        return b.tail_low - ihead[s] >= width && (b.end_known_low || b.tail_low <= b.end);
    case 1:
        return ohead[s] + width <= b.otail_low;
    default:
        return true;
    }
}

std::string StreamModel::check(const Commit &c) {
    if (stopped)
        return "the core went on after its end";
    if (c.pc != pc)
        return format("pc %08x, expected %08x", c.pc, pc);
    if (pc / 4 >= program.size())
        return "the program left its memory";
    const uint32_t insn = program[pc / 4];
    if (c.insn != insn)
        return format("instruction %08x, expected %08x", c.insn, insn);

    const unsigned opcode = insn & 0x7f, rd = insn >> 7 & 31, f3 = insn >> 12 & 7, rs1 = insn >> 15 & 31,
                   rs2 = insn >> 20 & 31;
    const unsigned f7 = insn >> 25;
    const int32_t imm_i = static_cast<int32_t>(insn) >> 20;
    uint32_t next = pc + 4;
    // Allowed results; more than one only where time decides.
    std::vector<Outcome> allowed;
    const auto value = [&](uint32_t v) { allowed.push_back({false, 0, 0, v}); };
    const auto trap = [&](uint32_t cause, uint32_t tval) { allowed.push_back({true, cause, tval, 0}); };
    bool writes = rd != 0, end = false;

    switch (opcode) {
    case 0x37:
        value(insn & 0xfffff000);
        break;
    case 0x17:
        value(pc + (insn & 0xfffff000));
        break;
    case 0x6f: {
        const int32_t offset = static_cast<int32_t>((insn >> 31 ? 0xfff00000u : 0u) | (insn & 0xff000) |
                                                    (insn >> 20 & 1) << 11 | (insn >> 21 & 0x3ff) << 1);
        value(pc + 4);
        next = pc + static_cast<uint32_t>(offset);
        break;
    }
    case 0x67:
        value(pc + 4);
        next = (x[rs1] + static_cast<uint32_t>(imm_i)) & ~1u;
        break;
    case 0x63: {
        const int32_t offset = static_cast<int32_t>((insn >> 31 ? 0xfffff000u : 0u) | (insn >> 7 & 1) << 11 |
                                                    (insn >> 25 & 0x3f) << 5 | (insn >> 8 & 0xf) << 1);
        const uint32_t a = x[rs1], b = x[rs2];
        const bool less = f3 & 2 ? a < b : static_cast<int32_t>(a) < static_cast<int32_t>(b);
        const bool taken = (f3 & 4 ? less : a == b) != (f3 & 1);
        if (taken)
            next = pc + static_cast<uint32_t>(offset);
        writes = false;
        value(0);
        break;
    }
    case 0x13:
    case 0x33: {
        const uint32_t a = x[rs1], b = opcode == 0x33 ? x[rs2] : static_cast<uint32_t>(imm_i);
        const bool alt = insn >> 30 & 1 && (opcode == 0x33 || f3 == 5);
        if (opcode == 0x33 && f7 == 1)
            return "the model knows no M instructions";
        switch (f3) {
        case 0:
            value(alt ? a - b : a + b);
            break;
        case 1:
            value(a << (b & 31));
            break;
        case 2:
            value(static_cast<int32_t>(a) < static_cast<int32_t>(b));
            break;
        case 3:
            value(a < b);
            break;
        case 4:
            value(a ^ b);
            break;
        case 5:
            value(alt ? static_cast<uint32_t>(static_cast<int32_t>(a) >> (b & 31)) : a >> (b & 31));
            break;
        case 6:
            value(a | b);
            break;
        default:
            value(a & b);
            break;
        }
        break;
    }
    case 0x73: {
        const unsigned address = insn >> 20;
        if (insn == 0x73) {
            trap(11, 0);
            break;
        }
        if (insn == 0x30200073) {
            next = mepc;
            writes = false;
            value(0);
            break;
        }
        uint32_t *reg = nullptr;
        switch (address) {
        case 0x305:
            reg = &mtvec;
            break;
        case 0x340:
            reg = &mscratch;
            break;
        case 0x341:
            reg = &mepc;
            break;
        case 0x342:
            reg = &mcause;
            break;
        case 0x343:
            reg = &mtval;
            break;
        case ASSASIN_CSR_SEPILOGUE:
            reg = &sepilogue;
            break;
        default:
            break;
        }
        const unsigned s = address & 7;
        const StreamBounds b = bounds(s);
        if (reg) {
            value(*reg);
            const uint32_t source = f3 & 4 ? rs1 : x[rs1];
            if ((f3 & 3) == 1)
                *reg = source;
            else if (rs1)
                *reg = (f3 & 3) == 2 ? *reg | source : *reg & ~source;
        } else if (address >= ASSASIN_CSR_IHEAD && address < ASSASIN_CSR_ITAIL) {
            value(ihead[s]);
        } else if (address >= ASSASIN_CSR_ITAIL && address < ASSASIN_CSR_OHEAD) {
            for (const uint32_t t : tails(s))
                value(t);
        } else if (address >= ASSASIN_CSR_OHEAD && address < ASSASIN_CSR_OTAIL) {
            value(ohead[s]);
        } else if (address >= ASSASIN_CSR_OTAIL && address < ASSASIN_CSR_IEND) {
            // Drains are of any length: every value in between may have been seen.
            if (c.wen && c.wdata >= b.otail_low && c.wdata <= b.otail_high)
                value(c.wdata);
            else
                value(b.otail_low);
        } else if (address >= ASSASIN_CSR_IEND && address < ASSASIN_CSR_STREAMCFG) {
            if (b.end_known_high)
                value(b.end);
            if (!b.end_known_low)
                value(0xffffffff);
        } else if (address == ASSASIN_CSR_STREAMCFG) {
            value((16 - s_log2) << 8 | streams);
        } else {
            trap(2, insn);
        }
        break;
    }
    case 0x0b: {
        const unsigned s = rs1, width = 1u << (f3 & 3);
        if (s >= streams) {
            trap(2, insn);
            break;
        }
        const StreamBounds b = bounds(s);
        if (f7 == 0) {
            if (c.stream_end) {
                if (!b.end_known_high || signed_difference(b.end, ihead[s]) >= static_cast<int32_t>(width))
                    return "end of stream taken too early";
                end = true;
                writes = false;
                count.ends++;
                next = sepilogue;
                if (!sepilogue) {
                    stopped = true;
                    state = CORE_STATE_HUNG;
                }
                value(0);
                break;
            }
            if (b.end_known_low && signed_difference(b.end, ihead[s]) < static_cast<int32_t>(width))
                return "loaded past the end of the stream";
            if (b.tail_high - ihead[s] < width)
                return format("loaded at %x, delivered %x", ihead[s], b.tail_high);
            uint32_t raw = 0;
            for (unsigned i = 0; i < width; i++)
                raw |= static_cast<uint32_t>(input(s, ihead[s] + i)) << 8 * i;
            value(extend(raw, f3));
            count.loads++;
            count.unaligned += ihead[s] % width != 0;
            ihead[s] += width;
        } else if (f7 == 1) {
            if (ohead[s] + width > b.otail_high)
                return format("stored at %x, limit %x", ohead[s], b.otail_high);
            for (unsigned i = 0; i < width; i++)
                output[s].push_back(static_cast<uint8_t>(x[rs2] >> 8 * i));
            ohead[s] += width;
            count.stores++;
            writes = false;
            value(0);
        } else if (f7 == 2) {
            const uint32_t distance = x[rs2];
            for (const uint32_t t : tails(s)) {
                if (distance < width || distance > ring || distance > t) {
                    trap(24, distance);
                    continue;
                }
                // Behind the Head's page the ring may hold the next lap's byte already.
                const uint32_t pos = t - distance;
                for (unsigned lap = 0; lap < 1u << width; lap++) {
                    uint32_t raw = 0;
                    bool possible = true;
                    for (unsigned i = 0; i < width; i++) {
                        const bool newer = lap >> i & 1;
                        possible &= !newer || pos + i + ring < b.sent_high;
                        raw |= static_cast<uint32_t>(input(s, pos + i + (newer ? ring : 0))) << 8 * i;
                    }
                    if (possible)
                        value(extend(raw, f3));
                }
            }
            count.read_i++;
        } else {
            const uint32_t distance = x[rs2];
            if (distance < width || distance > ring || distance > ohead[s]) {
                trap(24, distance);
            } else {
                uint32_t raw = 0;
                for (unsigned i = 0; i < width; i++)
                    raw |= static_cast<uint32_t>(output[s][ohead[s] - distance + i]) << 8 * i;
                value(extend(raw, f3));
            }
            count.read_o++;
        }
        break;
    }
    default:
        return format("the model does not know %08x", insn);
    }

    const auto match = std::find_if(allowed.begin(), allowed.end(), [&](const Outcome &o) {
        if (o.trap != c.trap)
            return false;
        if (o.trap)
            return o.cause == c.cause && o.tval == c.tval;
        return c.wen == writes && (!writes || (c.rd == rd && c.wdata == o.value));
    });
    if (match == allowed.end() || c.stream_end != end)
        return format("insn %08x: ", insn) +
               (c.trap ? format("trap %u, tval %x", c.cause, c.tval)
                       : format("x%u = %08x", c.wen ? c.rd : 0, c.wdata)) +
               format(" is none of %u allowed, first %08x", static_cast<uint32_t>(allowed.size()),
                      allowed.empty() ? 0 : allowed[0].value);
    if (match->trap) {
        count.range_traps += match->cause == 24;
        mepc = pc;
        mcause = match->cause;
        mtval = match->tval;
        next = mtvec;
        if (!mtvec) {
            stopped = true;
            state = match->cause == 11 ? CORE_STATE_EXITED : CORE_STATE_TRAPPED;
        }
    } else if (writes) {
        x[rd] = match->value;
    }
    pc = next;
    return "";
}

} // namespace cosim
