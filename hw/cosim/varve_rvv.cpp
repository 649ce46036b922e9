// SPDX-License-Identifier: BSD-3-Clause
#include "varve_rvv.h"

#include <algorithm>

namespace varve {

namespace {

class Rvv {
  public:
    Rvv(Model &model, World &outside, uint32_t word, uint64_t a, uint64_t b)
        : m(model), world(outside), insn(word), rs1(a), rs2(b), bytes(m.p.vlen / 8),
          sew(8u << (m.state.vtype >> 3 & 7)), vl(static_cast<unsigned>(m.state.vl)) {
        const unsigned code = m.state.vtype & 7;
        group = code >= 1 && code <= 3 ? 1u << code : 1;
    }

    Outcome run() {
        if (m.state.vs == 0 || m.state.vstart != 0)
            return illegal();
        const unsigned major = insn & 127;
        if (major == 0x57 && f3() == 7)
            return set();
        if (major == 0x57 && f6() == 0x27 && f3() == 3)
            return whole_move();
        if (m.state.vtype >> (m.p.xlen - 1) & 1)
            return illegal();
        if (major != 0x57)
            return memory(major == 0x27);
        return f3() == 2 || f3() == 6 ? opm() : opi();
    }

  private:
    Model &m;
    World &world;
    uint32_t insn;
    uint64_t rs1, rs2;
    unsigned bytes, sew, vl, group = 1;

    unsigned f3() const {
        return insn >> 12 & 7;
    }
    unsigned f6() const {
        return insn >> 26;
    }
    unsigned vd() const {
        return insn >> 7 & 31;
    }
    unsigned vs1() const {
        return insn >> 15 & 31;
    }
    unsigned vs2() const {
        return insn >> 20 & 31;
    }
    bool masked() const {
        return !(insn >> 25 & 1);
    }
    bool bit(unsigned r, unsigned i) const {
        return m.state.r[r].raw[i / 8] >> (i % 8) & 1;
    }
    bool active(unsigned i) const {
        return !masked() || bit(0, i);
    }
    Outcome illegal() const {
        Outcome o;
        o.what = Outcome::Trap;
        o.cause = 2;
        o.tval = insn;
        return o;
    }
    Outcome other() const {
        Outcome o;
        o.what = Outcome::NotMine;
        return o;
    }
    Outcome scalar(uint64_t v) const {
        Outcome o;
        o.wen = true;
        o.rd = vd();
        o.value = m.p.xlen == 32 ? v & 0xffffffff : v;
        return o;
    }
    uint64_t ones(unsigned width) const {
        return width == 64 ? ~0ull : (1ull << width) - 1;
    }
    int64_t sign(uint64_t v, unsigned width) const {
        return static_cast<int64_t>(v << (64 - width)) >> (64 - width);
    }
    uint64_t get(unsigned r, unsigned i, unsigned width) const {
        uint64_t v = 0;
        for (unsigned b = 0; b < width / 8; b++) {
            const unsigned at = i * width / 8 + b;
            v |= static_cast<uint64_t>(m.state.r[(r + at / bytes) & 31].raw[at % bytes]) << (8 * b);
        }
        return v;
    }
    /// Writes elements [0, vl) that `value` gives for active ones. A load leaves a register of a group as it is if no
    /// active element lies in it.
    template <typename F> Outcome put(unsigned width, unsigned count, F value, bool load = false) {
        if (vd() % group)
            return illegal();
        std::vector<std::vector<uint8_t>> raw;
        std::vector<bool> touched(group);
        for (unsigned g = 0; g < group; g++)
            raw.push_back(m.state.r[vd() + g].raw);
        for (unsigned i = 0; i < count; i++) {
            if (!active(i))
                continue;
            const uint64_t v = value(i);
            touched[i * width / 8 / bytes] = true;
            for (unsigned b = 0; b < width / 8; b++) {
                const unsigned at = i * width / 8 + b;
                raw[at / bytes][at % bytes] = static_cast<uint8_t>(v >> (8 * b));
            }
        }
        Outcome o;
        for (unsigned g = 0; g < group && count; g++) {
            if (load ? touched[g] : g * bytes < count * width / 8)
                m.rvv_write(vd() + g, raw[g].data());
            else
                m.fix(vd() + g);
            o.written |= 1u << (vd() + g);
        }
        return o;
    }
    template <typename F> Outcome put_mask(F value, bool all) {
        if (vl == 0)
            return {};
        std::vector<uint8_t> raw = m.state.r[vd()].raw;
        for (unsigned i = 0; i < vl; i++) {
            if (!all && !active(i))
                continue;
            const auto one = static_cast<uint8_t>(1u << (i % 8));
            raw[i / 8] = static_cast<uint8_t>(value(i) ? raw[i / 8] | one : raw[i / 8] & ~one);
        }
        m.rvv_write(vd(), raw.data());
        Outcome o;
        o.written = 1u << vd();
        return o;
    }

    Outcome set() {
        uint64_t type, avl;
        const bool immediate = insn >> 30 == 3;
        if (immediate)
            type = insn >> 20 & 0x3ff;
        else if (insn >> 31)
            type = rs2;
        else
            type = insn >> 20 & 0x7ff;
        if (insn >> 31 && !immediate && (insn >> 25 & 0x1f))
            return illegal();
        const unsigned code = type & 7, width = 8u << (type >> 3 & 7);
        const int power = code < 4 ? static_cast<int>(code) : static_cast<int>(code) - 8;
        // Zve32x: ELEN is 32, and a fraction must leave room for an element.
        const bool legal = code != 4 && width <= 32 && type >> 8 == 0 && (power >= 0 || width <= 32u >> -power);
        const uint64_t most = power >= 0 ? (static_cast<uint64_t>(m.p.vlen) << power) / width
                                         : (static_cast<uint64_t>(m.p.vlen) >> -power) / width;
        if (immediate)
            avl = vs1();
        else if (vs1() != 0)
            avl = m.p.xlen == 32 ? rs1 & 0xffffffff : rs1;
        else
            avl = vd() != 0 ? ~0ull : m.state.vl;
        m.state.vtype = legal ? type : 1ull << (m.p.xlen - 1);
        m.state.vl = legal ? std::min(avl, most) : 0;
        m.state.vs = 3;
        return scalar(m.state.vl);
    }

    Outcome whole_move() {
        const unsigned count = vs1() + 1;
        if (masked() || (count & (count - 1)) || count > 8 || vd() % count || vs2() % count)
            return illegal();
        Outcome o;
        for (unsigned i = 0; i < count; i++) {
            m.move(vd() + i, vs2() + i);
            o.written |= 1u << (vd() + i);
        }
        return o;
    }

    /// vl<count>re<w>.v, vs<count>r.v
    Outcome whole_memory(bool store, unsigned count) {
        if ((count & (count - 1)) || vd() % count || (store && f3() != 0))
            return illegal();
        for (unsigned i = 0; i < count * bytes; i++) {
            uint8_t byte = 0;
            if (store ? !world.storable(rs1 + i) : !world.load(rs1 + i, byte)) {
                Outcome o = illegal();
                o.cause = store ? 7 : 5;
                o.tval = rs1 + i;
                return o;
            }
        }
        Outcome o;
        for (unsigned r = 0; r < count; r++) {
            std::vector<uint8_t> raw = m.state.r[vd() + r].raw;
            for (unsigned b = 0; b < bytes; b++)
                if (store)
                    world.store(rs1 + r * bytes + b, raw[b]);
                else
                    world.load(rs1 + r * bytes + b, raw[b]);
            if (store)
                continue;
            m.rvv_write(vd() + r, raw.data());
            o.written |= 1u << (vd() + r);
        }
        return o;
    }

    Outcome memory(bool store) {
        const unsigned width = f3() == 0 ? 8 : f3() == 5 ? 16 : f3() == 6 ? 32 : 0;
        if (width && vs2() == 8 && !(insn >> 26 & 7) && !masked())
            return whole_memory(store, (insn >> 29) + 1);
        if (width == 0 || vs2() != 0 || insn >> 26)
            return other();
        // EMUL = EEW / SEW * LMUL, as powers of two
        const unsigned code = m.state.vtype & 7;
        int power = code < 4 ? static_cast<int>(code) : static_cast<int>(code) - 8;
        for (unsigned w = sew; w < width; w *= 2)
            power++;
        for (unsigned w = width; w < sew; w *= 2)
            power--;
        if (power < -3 || power > 3)
            return illegal();
        group = power > 0 ? 1u << power : 1;
        if (vd() % group)
            return illegal();
        for (unsigned i = 0; i < vl; i++) {
            if (!active(i))
                continue;
            for (unsigned b = 0; b < width / 8; b++) {
                uint8_t byte = 0;
                const uint64_t address = rs1 + i * (width / 8) + b;
                if (store ? !world.storable(address) : !world.load(address, byte)) {
                    Outcome o = illegal();
                    o.cause = store ? 7 : 5;
                    o.tval = address;
                    return o;
                }
            }
        }
        if (!store)
            return put(
                width, vl,
                [&](unsigned i) {
                    uint64_t v = 0;
                    for (unsigned b = 0; b < width / 8; b++) {
                        uint8_t byte = 0;
                        world.load(rs1 + i * (width / 8) + b, byte);
                        v |= static_cast<uint64_t>(byte) << (8 * b);
                    }
                    return v;
                },
                true);
        for (unsigned i = 0; i < vl; i++)
            if (active(i))
                for (unsigned b = 0; b < width / 8; b++)
                    world.store(rs1 + i * (width / 8) + b, static_cast<uint8_t>(get(vd(), i, width) >> (8 * b)));
        return {};
    }

    uint64_t second(unsigned i) const {
        if (f3() == 0 || f3() == 2)
            return get(vs1(), i, sew);
        if (f3() == 3)
            return static_cast<uint64_t>(sign(vs1(), 5)) & ones(sew);
        return rs1 & ones(sew);
    }

    Outcome opi() {
        if (f3() != 0 && f3() != 3 && f3() != 4)
            return other();
        auto a = [&](unsigned i) { return get(vs2(), i, sew); };
        auto b = [&](unsigned i) { return second(i); };
        auto sa = [&](unsigned i) { return sign(a(i), sew); };
        auto sb = [&](unsigned i) { return sign(b(i), sew); };
        auto shift = [&](unsigned i) { return (f3() == 3 ? vs1() : b(i)) & (sew - 1); };
        switch (f6()) {
        case 0x00:
            return put(sew, vl, [&](unsigned i) { return a(i) + b(i); });
        case 0x02:
            return put(sew, vl, [&](unsigned i) { return a(i) - b(i); });
        case 0x03:
            return put(sew, vl, [&](unsigned i) { return b(i) - a(i); });
        case 0x04:
            return put(sew, vl, [&](unsigned i) { return std::min(a(i), b(i)); });
        case 0x05:
            return put(sew, vl, [&](unsigned i) { return static_cast<uint64_t>(std::min(sa(i), sb(i))); });
        case 0x06:
            return put(sew, vl, [&](unsigned i) { return std::max(a(i), b(i)); });
        case 0x07:
            return put(sew, vl, [&](unsigned i) { return static_cast<uint64_t>(std::max(sa(i), sb(i))); });
        case 0x09:
            return put(sew, vl, [&](unsigned i) { return a(i) & b(i); });
        case 0x0a:
            return put(sew, vl, [&](unsigned i) { return a(i) | b(i); });
        case 0x0b:
            return put(sew, vl, [&](unsigned i) { return a(i) ^ b(i); });
        case 0x17: {
            if (!masked())
                return put(sew, vl, b);
            const std::vector<uint8_t> mask = m.state.r[0].raw;
            insn |= 1u << 25; // every element is written
            return put(sew, vl, [&](unsigned i) { return mask[i / 8] >> (i % 8) & 1 ? b(i) : a(i); });
        }
        case 0x18:
            return put_mask([&](unsigned i) { return a(i) == b(i); }, false);
        case 0x19:
            return put_mask([&](unsigned i) { return a(i) != b(i); }, false);
        case 0x1a:
            return put_mask([&](unsigned i) { return a(i) < b(i); }, false);
        case 0x1b:
            return put_mask([&](unsigned i) { return sa(i) < sb(i); }, false);
        case 0x1c:
            return put_mask([&](unsigned i) { return a(i) <= b(i); }, false);
        case 0x1d:
            return put_mask([&](unsigned i) { return sa(i) <= sb(i); }, false);
        case 0x1e:
            return put_mask([&](unsigned i) { return a(i) > b(i); }, false);
        case 0x1f:
            return put_mask([&](unsigned i) { return sa(i) > sb(i); }, false);
        case 0x25:
            return put(sew, vl, [&](unsigned i) { return a(i) << shift(i); });
        case 0x28:
            return put(sew, vl, [&](unsigned i) { return a(i) >> shift(i); });
        case 0x29:
            return put(sew, vl, [&](unsigned i) { return static_cast<uint64_t>(sa(i) >> shift(i)); });
        default:
            return other();
        }
    }

    Outcome opm() {
        auto a = [&](unsigned i) { return get(vs2(), i, sew); };
        auto b = [&](unsigned i) { return second(i); };
        if (f6() == 0x25)
            return put(sew, vl, [&](unsigned i) { return a(i) * b(i); });
        if (f6() == 0x2d)
            return put(sew, vl, [&](unsigned i) { return get(vd(), i, sew) + a(i) * b(i); });
        if (f6() == 0x10 && f3() == 6 && vs2() == 0) { // vmv.s.x
            group = 1;
            return put(sew, std::min(vl, 1u), [&](unsigned) { return rs1; });
        }
        if (f3() == 6)
            return other();
        if (f6() == 0x00) { // vredsum.vs
            uint64_t sum = get(vs1(), 0, sew);
            for (unsigned i = 0; i < vl; i++)
                if (active(i))
                    sum += a(i);
            insn |= 1u << 25;
            group = 1;
            return put(sew, std::min(vl, 1u), [&](unsigned) { return sum; });
        }
        if (f6() == 0x10) {
            if (vs1() == 0) // vmv.x.s
                return scalar(static_cast<uint64_t>(sign(a(0), sew)));
            unsigned count = 0, first = ~0u;
            for (unsigned i = vl; i-- > 0;)
                if (active(i) && bit(vs2(), i))
                    count++, first = i;
            if (vs1() == 16)
                return scalar(count);
            if (vs1() == 17)
                return scalar(first == ~0u ? ~0ull : first);
            return other();
        }
        if (f6() == 0x12) { // vzext, vsext
            const unsigned code = vs1();
            const unsigned part = code >= 4 && code <= 7 ? (code < 6 ? 4 : 2) : 0;
            if (!part || sew / part < 8)
                return other();
            const unsigned from = sew / part;
            return put(sew, vl, [&](unsigned i) {
                const uint64_t v = get(vs2(), i, from);
                return code & 1 ? static_cast<uint64_t>(sign(v, from)) : v;
            });
        }
        if (f6() == 0x14 && vs1() == 17) // vid.v
            return put(sew, vl, [](unsigned i) { return i; });
        if (f6() == 0x17) { // vcompress.vm
            std::vector<uint64_t> kept;
            for (unsigned i = 0; i < vl; i++)
                if (bit(vs1(), i))
                    kept.push_back(a(i));
            return put(sew, static_cast<unsigned>(kept.size()), [&](unsigned i) { return kept[i]; });
        }
        if (f6() >= 0x18 && f6() <= 0x1f && f3() == 2 && !masked()) {
            const std::vector<uint8_t> x = m.state.r[vs2()].raw, y = m.state.r[vs1()].raw;
            const unsigned n = std::min(m.state.r[vs2()].n, m.state.r[vs1()].n), op = f6();
            const Outcome o = put_mask(
                [&](unsigned i) {
                    const bool p = x[i / 8] >> (i % 8) & 1, q = y[i / 8] >> (i % 8) & 1;
                    switch (op) {
                    case 0x18:
                        return p && !q;
                    case 0x19:
                        return p && q;
                    case 0x1a:
                        return p || q;
                    case 0x1b:
                        return p != q;
                    case 0x1c:
                        return p || !q;
                    case 0x1d:
                        return !(p && q);
                    case 0x1e:
                        return !(p || q);
                    default:
                        return p == q;
                    }
                },
                true);
            if (vl != 0)
                m.state.r[vd()].n = n;
            return o;
        }
        return other();
    }
};

} // namespace

Outcome rvv_step(Model &m, World &world, uint32_t insn, uint64_t rs1, uint64_t rs2) {
    const unsigned major = insn & 127;
    if (major != 0x57 && major != 0x07 && major != 0x27) {
        Outcome o;
        o.what = Outcome::NotMine;
        return o;
    }
    return Rvv(m, world, insn, rs1, rs2).run();
}

} // namespace varve
