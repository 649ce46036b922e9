// SPDX-License-Identifier: BSD-3-Clause
#include "varve_model.h"

#include <algorithm>
#include <stdexcept>

#include <assasin_contract.h>

namespace varve {

namespace {

__extension__ typedef unsigned __int128 Unsigned;

constexpr unsigned kIllegal = 2, kLoadFault = 5, kStoreFault = 7;

unsigned field(uint32_t word, unsigned lsb, unsigned bits) {
    return word >> lsb & ((1u << bits) - 1);
}

Wide signed5(unsigned v) {
    return v < 16 ? static_cast<int>(v) : static_cast<int>(v) - 32;
}

unsigned round_up(unsigned v, unsigned grain) {
    return (v + grain - 1) / grain * grain;
}

/// The remainder with the divisor's sign, which is how shift counts are read.
unsigned modulo(Wide v, unsigned m) {
    Wide r = v % m;
    return static_cast<unsigned>(r < 0 ? r + m : r);
}

bool is_compare(Op op) {
    return op >= Op::Eq;
}

bool is_shift(Op op) {
    return op == Op::Asl || op == Op::Asr;
}

/// Width as the metadata give it to the alignment.
unsigned kept(const Params &p, Wide v, bool is_unsigned) {
    unsigned w = width(v, is_unsigned);
    if (!p.meta_slots || w == 0)
        return w;
    return 8 * ((w + 7) / 8) - (w % 8 ? 1 : 0);
}

std::string number(uint64_t v) {
    return std::to_string(v);
}

} // namespace

void Params::check() const {
    auto power = [](unsigned v, unsigned low, unsigned high) { return v >= low && v <= high && (v & (v - 1)) == 0; };
    auto require = [](bool right, const std::string &what, unsigned value) {
        if (!right)
            throw std::invalid_argument("VarVE: " + what + ", not " + number(value));
    };
    require(xlen == 32 || xlen == 64, "XLEN is 32 or 64", xlen);
    require(power(vlen, 64, 512), "VLEN is 64, 128, 256 or 512", vlen);
    require(power(g, 1, 8), "G is 1, 2, 4 or 8", g);
    require(mbmax == 32 || mbmax == 64, "MBMAX is 32 or 64", mbmax);
    require(z == 1 || z == 2, "Z is 1 or 2", z);
    require(emax() <= vlen, "EMAX is at most VLEN", emax());
    require(nin >= 8 && nin <= kInputs, "NIN is 8 to 12", nin);
    require(streams <= 8, "there are at most 8 stream buffers", streams);
}

unsigned width(Wide v, bool is_unsigned) {
    unsigned w = 0;
    if (is_unsigned) {
        while (v >> w)
            w++;
        return w;
    }
    if (v == 0)
        return 0;
    for (w = 1; v < -(static_cast<Wide>(1) << (w - 1)) || v >= static_cast<Wide>(1) << (w - 1);)
        w++;
    return w;
}

Wide wrap(Wide v, unsigned bits, bool is_unsigned) {
    auto r = static_cast<Wide>(static_cast<Unsigned>(v) & ((static_cast<Unsigned>(1) << bits) - 1));
    return !is_unsigned && r >> (bits - 1) ? r - (static_cast<Wide>(1) << bits) : r;
}

Wide Register::value(unsigned i) const {
    return wrap(static_cast<Wide>(v[i]), 64, is_unsigned);
}

Type result_type(Op op, const Operand &a, const Operand &b) {
    if (is_shift(op))
        return {a.is_unsigned, a.mb};
    return {a.is_unsigned && b.is_unsigned && op != Op::Sub && op != Op::Rsub, std::max(a.mb, b.mb)};
}

unsigned align_width(const Params &params, Op op, const Operand &a, const Operand &b, bool scalar) {
    const Type type = result_type(op, a, b);
    const unsigned own_a = kept(params, a.v, a.is_unsigned), own_b = kept(params, b.v, b.is_unsigned);
    const bool s = !type.is_unsigned;
    const unsigned p = s && a.is_unsigned && a.v != 0 ? own_a + 1 : own_a;
    const unsigned q = s && b.is_unsigned && b.v != 0 ? own_b + 1 : own_b;
    const unsigned most = std::max(p, q);
    unsigned aw = most;
    switch (op) {
    case Op::Add:
        if (p && q)
            aw = std::min(most + 1, type.mb);
        break;
    case Op::Sub:
    case Op::Rsub:
        if (a.is_unsigned && b.is_unsigned)
            aw = a.v == 0 && b.v == 0 ? 0 : std::min(std::max(own_a, own_b) + 1, type.mb);
        else if (p && q)
            aw = std::min(most + 1, type.mb);
        else
            aw = std::min(most + ((op == Op::Sub ? b.v : a.v) != 0 ? 1 : 0), type.mb);
        break;
    case Op::Mul:
        aw = a.v == 0 || b.v == 0 ? 0 : std::min(own_a + own_b, type.mb);
        break;
    case Op::Div:
        aw = b.v == 0 ? p : std::max(std::min(p + (s ? 1 : 0), type.mb), q);
        break;
    case Op::Asr:
        aw = scalar ? own_a : std::max(own_a, own_b);
        break;
    case Op::Asl:
        if (a.v == 0)
            aw = scalar ? 0 : own_b;
        else if (scalar)
            aw = std::min(own_a + modulo(b.v, type.mb), type.mb);
        else if (b.is_unsigned)
            aw = std::max(own_b, std::min(own_a + (1u << std::min(own_b, 6u)) - 1, type.mb));
        else
            aw = std::max(own_b, type.mb);
        break;
    default:
        if (is_compare(op))
            aw = std::min(most, 64u);
        break;
    }
    return std::min(aw, params.mbmax);
}

Wide compute(Op op, const Operand &a, const Operand &b) {
    const Type type = result_type(op, a, b);
    const Wide x = a.v, y = b.v;
    Wide r = 0;
    switch (op) {
    case Op::Add:
        r = x + y;
        break;
    case Op::Sub:
        r = x - y;
        break;
    case Op::Rsub:
        r = y - x;
        break;
    case Op::Min:
        r = std::min(x, y);
        break;
    case Op::Max:
        r = std::max(x, y);
        break;
    case Op::Bic:
        r = x & ~y;
        break;
    case Op::And:
        r = x & y;
        break;
    case Op::Or:
        r = x | y;
        break;
    case Op::Xor:
        r = x ^ y;
        break;
    case Op::Div:
        r = y == 0 ? 0 : x / y;
        break;
    case Op::Mul: // two factors of 64 bits can pass 127: only the residue is needed
        r = static_cast<Wide>(static_cast<Unsigned>(x) * static_cast<Unsigned>(y));
        break;
    case Op::Asl:
        r = static_cast<Wide>(static_cast<Unsigned>(x) << modulo(y, type.mb));
        break;
    case Op::Asr:
        r = x >> modulo(y, type.mb);
        break;
    case Op::Eq:
        return x == y;
    case Op::Ne:
        return x != y;
    case Op::Lt:
        return x < y;
    case Op::Le:
        return x <= y;
    case Op::Ge:
        return x >= y;
    case Op::Gt:
        return x > y;
    }
    return wrap(r, type.mb, type.is_unsigned);
}

Model::Model(const Params &params, World &outside) : p(params), world(outside) {
    p.check();
    for (Register &r : state.r) {
        r.w.assign(p.emax(), 0);
        r.raw.assign(p.vlen / 8, 0);
    }
    reset();
}

void Model::reset() {
    for (Register &r : state.r) {
        r.var = false;
        r.n = p.emax();
        r.v.clear();
    }
    state.in.fill({});
    state.out.fill({});
    state.taken.fill(false);
    state.nume = p.emax();
    state.packed = false;
    state.vsfmt = state.vssel = 0;
    state.vsaux = state.vl = state.vstart = 0;
    state.vtype = static_cast<uint64_t>(1) << (p.xlen - 1);
    state.mvarve = 1;
}

unsigned Model::emax() const {
    return p.emax();
}

bool Model::available() const {
    return state.vs != 0 && state.mvarve != 0 && state.vstart == 0;
}

uint64_t Model::cut(uint64_t v) const {
    return p.xlen == 32 ? v & 0xffffffff : v;
}

uint64_t Model::sext(uint64_t v) const {
    return p.xlen == 32 ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(v))) : v;
}

Outcome Model::illegal(uint32_t insn) const {
    Outcome o;
    o.what = Outcome::Trap;
    o.cause = kIllegal;
    o.tval = insn;
    return o;
}

Outcome Model::bad(unsigned id, bool output, unsigned reason) const {
    Outcome o;
    o.what = Outcome::Trap;
    o.cause = ASSASIN_CAUSE_STREAM_DATA;
    o.tval = id | (output ? 16 : 0) | reason << 8;
    return o;
}

Outcome Model::wait(unsigned s, bool output) const {
    Outcome o;
    o.what = Outcome::Wait;
    o.waits_for = s;
    o.waits_output = output;
    return o;
}

Outcome Model::fault(bool store, uint64_t address) const {
    Outcome o;
    o.what = Outcome::Trap;
    o.cause = store ? kStoreFault : kLoadFault;
    o.tval = address;
    return o;
}

Outcome Model::scalar(uint32_t insn, uint64_t value) const {
    Outcome o;
    o.rd = field(insn, 7, 5);
    o.wen = true;
    o.value = cut(value);
    return o;
}

bool Model::is_aux(unsigned id, bool output) const {
    auto has = [id](const Stream &s) { return s.open && s.kind == Variable && s.buffer() && s.aux() == id; };
    return output ? std::any_of(state.out.begin(), state.out.end(), has)
                  : std::any_of(state.in.begin(), state.in.end(), has);
}

bool Model::owns(unsigned s, bool output) const {
    const Stream &own = output ? state.out[s] : state.in[s];
    return (own.open && own.buffer()) || is_aux(s, output);
}

bool Model::usable(unsigned id, bool output) const {
    if (id >= (output ? kOutputs : p.nin))
        return false;
    return (output ? state.out[id] : state.in[id]).open && !is_aux(id, output);
}

bool Model::active(bool masked, unsigned mask, unsigned i) const {
    return !masked || (state.r[mask].raw[i / 8] >> (i % 8) & 1);
}

bool Model::vill() const {
    return state.vtype >> (p.xlen - 1) & 1;
}

bool Model::group_lmul() const {
    unsigned lmul = state.vtype & 7;
    return !vill() && lmul >= 1 && lmul <= 3;
}

unsigned Model::sew() const {
    return 8u << (state.vtype >> 3 & 7);
}

unsigned Model::fits(const std::vector<unsigned> &widths, unsigned grain) {
    unsigned used = 0, n = 0;
    for (; n < widths.size(); n++) {
        unsigned slots = round_up(widths[n], grain);
        if (used + slots > p.vlen)
            break;
        used += slots;
    }
    counts.allotted += used;
    counts.elements += n;
    return n;
}

void Model::dirty() {
    state.vs = state.mvarve = 3;
}

void Model::lower(unsigned n) {
    state.nume = std::min(state.nume, n);
    dirty();
}

void Model::compact(Register &r) const {
    std::fill(r.raw.begin(), r.raw.end(), 0);
    std::fill(r.w.begin(), r.w.end(), 0);
    unsigned at = 0;
    for (unsigned i = 0; i < r.n; i++) {
        const Wide v = r.value(i);
        r.w[i] = static_cast<uint8_t>(width(v, r.is_unsigned));
        const unsigned slots = round_up(r.w[i], p.g);
        for (unsigned b = 0; b < slots; b++, at++)
            if (v >> b & 1)
                r.raw[at / 8] |= static_cast<uint8_t>(1u << (at % 8));
    }
}

void Model::expand(Register &r) const {
    r.v.assign(r.n, 0);
    unsigned at = 0;
    for (unsigned i = 0; i < r.n; i++) {
        const unsigned slots = std::min(round_up(r.w[i], p.g), 64u);
        Wide v = 0;
        for (unsigned b = 0; b < slots && at < p.vlen; b++, at++)
            v |= static_cast<Wide>(r.raw[at / 8] >> (at % 8) & 1) << b;
        r.v[i] = slots ? static_cast<uint64_t>(wrap(v, slots, r.is_unsigned)) : 0;
    }
}

void Model::write_full(unsigned vd, bool is_unsigned, unsigned mb, const std::vector<Wide> &values, Outcome &o) {
    Register &r = state.r[vd];
    r.var = true;
    r.is_unsigned = is_unsigned;
    r.mb = mb;
    r.n = static_cast<unsigned>(values.size());
    r.v.resize(values.size());
    for (unsigned i = 0; i < values.size(); i++)
        r.v[i] = static_cast<uint64_t>(values[i]);
    compact(r);
    o.written |= 1u << vd;
    lower(r.n);
}

void Model::mask_write(unsigned vd, const uint8_t *raw, unsigned n) {
    rvv_write(vd, raw);
    state.r[vd].n = n;
}

void Model::write_mask(unsigned vd, const std::vector<bool> &bits, unsigned n, Outcome &o) {
    std::vector<uint8_t> raw(p.vlen / 8, 0);
    for (unsigned i = 0; i < bits.size(); i++)
        if (bits[i])
            raw[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
    mask_write(vd, raw.data(), n);
    o.written |= 1u << vd;
    lower(n);
}

void Model::rvv_write(unsigned r, const uint8_t *raw) {
    Register &to = state.r[r];
    to.raw.assign(raw, raw + p.vlen / 8);
    to.var = false;
    to.v.clear();
    to.n = emax();
    state.vs = 3;
}

void Model::fix(unsigned r) {
    state.r[r].var = false;
    state.r[r].v.clear();
}

void Model::move(unsigned vd, unsigned vs) {
    if (vd != vs)
        state.r[vd] = state.r[vs];
    state.vs = 3;
}

Outcome Model::step(uint32_t insn, uint64_t rs1, uint64_t rs2) {
    Outcome o;
    const unsigned major = insn & 0x7f;
    if (major == 0x2b)
        o = vector(insn, rs1);
    else if (major == 0x5b)
        o = stream(insn, cut(rs1), cut(rs2));
    else
        o.what = Outcome::NotMine;
    if (o.what == Outcome::Done)
        counts.instructions++;
    return o;
}

// ---- custom-1 ----

Outcome Model::vector(uint32_t insn, uint64_t rs1) {
    if (!available() || !p.full || group_lmul())
        return illegal(insn);
    const unsigned funct6 = insn >> 26, funct3 = field(insn, 12, 3);
    const unsigned vs2 = field(insn, 20, 5), vs1 = field(insn, 15, 5), vd = field(insn, 7, 5);
    const bool masked = !field(insn, 25, 1);
    const Register &source = state.r[vs2];
    if (masked && state.r[0].var)
        return illegal(insn);

    if (funct3 == 2) {
        if (funct6 == 0x10) {
            if (!source.var || vs1 > 2 || (vs1 == 0 && masked) || (vs1 == 2 && p.xlen == 64))
                return illegal(insn);
            if (vs1 == 0)
                return scalar(insn, source.n);
            const unsigned m = std::min(state.nume, source.n);
            uint64_t sum = 0;
            for (unsigned i = 0; i < m; i++)
                if (active(masked, 0, i))
                    sum += source.v[i];
            state.packed = true;
            lower(m);
            return scalar(insn, vs1 == 2 ? sum >> 32 : sum);
        }
        if (funct6 != 0x12 || vs1 > 1 || masked || source.var || vill() || (state.vtype & 7) != 0 || sew() > p.mbmax ||
            state.packed)
            return illegal(insn);
        const bool is_unsigned = vs1 == 1;
        const unsigned k = static_cast<unsigned>(std::min<uint64_t>(state.vl, emax())), bytes = sew() / 8;
        std::vector<Wide> values(k);
        std::vector<unsigned> widths(k);
        for (unsigned i = 0; i < k; i++) {
            uint64_t v = 0;
            for (unsigned b = 0; b < bytes; b++)
                v |= static_cast<uint64_t>(source.raw[i * bytes + b]) << (8 * b);
            values[i] = wrap(static_cast<Wide>(v), sew(), is_unsigned);
            widths[i] = kept(p, values[i], is_unsigned);
        }
        values.resize(fits(widths, p.g));
        Outcome o;
        write_full(vd, is_unsigned, sew(), values, o);
        return o;
    }

    if (funct3 != 0 && funct3 != 3 && funct3 != 4)
        return illegal(insn);
    // The number of .vi and .vx (4.1).
    const bool vv = funct3 == 0, vi = funct3 == 3;
    Wide x = vi ? signed5(vs1) : wrap(static_cast<Wide>(static_cast<int64_t>(sext(rs1))), p.mbmax, false);

    if (funct6 == 0x14 || funct6 == 0x17) {
        const bool index = funct6 == 0x14;
        if (vv || state.packed || (masked && vd == 0) || (index ? vi || masked : vs2 != 0))
            return illegal(insn);
        const Wide step = index ? signed5(vs2) : 0;
        const bool is_unsigned = x >= 0 && step >= 0;
        unsigned mb = 32;
        if (!index)
            for (mb = 8; mb < width(x, is_unsigned);)
                mb *= 2;
        std::vector<Wide> values(emax());
        std::vector<unsigned> widths(emax());
        for (unsigned i = 0; i < emax(); i++) {
            if (!active(masked, 0, i))
                continue;
            values[i] = index ? wrap(x + i * step, 32, is_unsigned) : x;
            widths[i] = kept(p, values[i], is_unsigned);
        }
        values.resize(fits(widths, p.g));
        Outcome o;
        write_full(vd, is_unsigned, mb, values, o);
        return o;
    }

    Op op;
    bool has_vv = true, has_vi = true;
    switch (funct6) {
    case 0x00:
        op = Op::Add;
        break;
    case 0x02:
        op = Op::Sub;
        break;
    case 0x03:
        op = Op::Rsub, has_vv = false;
        break;
    case 0x05:
        op = Op::Min;
        break;
    case 0x07:
        op = Op::Max;
        break;
    case 0x08:
        op = Op::Bic;
        break;
    case 0x09:
        op = Op::And;
        break;
    case 0x0a:
        op = Op::Or;
        break;
    case 0x0b:
        op = Op::Xor;
        break;
    case 0x18:
        op = Op::Eq;
        break;
    case 0x19:
        op = Op::Ne;
        break;
    case 0x1b:
        op = Op::Lt;
        break;
    case 0x1d:
        op = Op::Le;
        break;
    case 0x1e:
        op = Op::Ge, has_vv = false;
        break;
    case 0x1f:
        op = Op::Gt, has_vv = false;
        break;
    case 0x21:
        op = Op::Div;
        break;
    case 0x24:
        op = Op::Mul;
        break;
    case 0x25:
        op = Op::Asl;
        break;
    case 0x29:
        op = Op::Asr;
        break;
    default:
        return illegal(insn);
    }
    if ((vv && !has_vv) || (vi && !has_vi) || state.packed || !source.var || (vv && !state.r[vs1].var) ||
        (masked && vd == 0 && !is_compare(op)))
        return illegal(insn);
    if (vi && is_shift(op))
        x = static_cast<Wide>(vs1);

    const Register a = source, b = vv ? state.r[vs1] : Register{};
    const unsigned k = std::min({a.n, vv ? b.n : emax(), emax()});
    auto pair = [&](unsigned i, Operand &left, Operand &right) {
        left = {i < a.n ? a.value(i) : 0, a.is_unsigned, a.mb};
        right = vv ? Operand{i < b.n ? b.value(i) : 0, b.is_unsigned, b.mb} : Operand{x, x >= 0, a.mb};
    };
    Operand left, right;
    std::vector<unsigned> widths(k);
    for (unsigned i = 0; i < k; i++) {
        pair(i, left, right);
        widths[i] = active(masked, 0, i) ? align_width(p, op, left, right, !vv) : 0;
    }
    const unsigned n = fits(widths, op == Op::Mul || op == Op::Div ? std::max(p.g, 8u) : p.g);
    std::vector<Wide> values(n);
    std::vector<bool> holds(n);
    for (unsigned i = 0; i < n; i++) {
        if (!active(masked, 0, i))
            continue;
        pair(i, left, right);
        values[i] = compute(op, left, right);
        holds[i] = values[i] != 0;
    }
    Outcome o;
    if (is_compare(op)) {
        write_mask(vd, holds, n, o);
    } else {
        pair(0, left, right);
        const Type type = result_type(op, left, right);
        write_full(vd, type.is_unsigned, type.mb, values, o);
    }
    return o;
}

// ---- Streams in ----

Model::Cursor Model::cursor(const Stream &s) const {
    return {static_cast<Wide>(s.bytepos) * 8 + s.bitpos, s.auxpos, s.left};
}

std::optional<Model::Codes> Model::codes(const uint8_t *bytes) {
    auto half = [bytes](unsigned at) { return static_cast<unsigned>(bytes[at] | bytes[at + 1] << 8); };
    Codes c;
    const unsigned n = half(2);
    c.longest = bytes[4];
    c.width = bytes[5];
    if (half(0) != 0x4856 || half(6) != 0 || n < 1 || n > 256 || c.longest < 1 || c.longest > 15 || c.width < 1 ||
        c.width > 16)
        return std::nullopt;
    unsigned sum = 0, kraft = 0;
    for (unsigned l = 0; l < 16; l++) {
        c.count[l] = half(8 + 2 * l);
        if (c.count[l] && (l == 0 || l > c.longest))
            return std::nullopt;
        sum += c.count[l];
        if (c.count[l] > 256)
            return std::nullopt;
        kraft += c.count[l] << (15 - l);
    }
    if (sum != n || kraft > 1u << 15)
        return std::nullopt;
    for (unsigned i = 0; i < n; i++) {
        c.symbol.push_back(half(40 + 2 * i));
        if (c.symbol.back() >> c.width)
            return std::nullopt;
    }
    return c;
}

bool Model::code_of(const Codes &c, unsigned symbol, unsigned &code, unsigned &length) const {
    unsigned first = 0, index = 0;
    for (length = 1; length <= c.longest; length++) {
        first = (first + c.count[length - 1]) << 1;
        for (unsigned i = 0; i < c.count[length]; i++, index++)
            if (c.symbol[index] == symbol) {
                code = first + i;
                return true;
            }
    }
    return false;
}

Model::Peek Model::value(unsigned id, Cursor &at, bool data) {
    const Stream &s = state.in[id];
    const bool to_end = s.left == cut(~static_cast<uint64_t>(0)), buffer = s.buffer();
    Peek r{Have::Value};
    if (at.left == 0)
        return {Have::End};
    unsigned bits = s.width();
    if (s.kind == Variable) {
        uint8_t b = 0;
        if (buffer) {
            const auto end = world.end(s.aux());
            if (end && at.aux >= *end)
                return {Have::End};
            if (at.aux >= world.delivered(s.aux())) {
                r.have = Have::NotYet;
                r.lacks = s.aux();
                return r;
            }
            b = world.stream_byte(s.aux(), at.aux);
        } else if (!world.load(cut(at.aux), b)) {
            r.have = Have::Fault;
            r.fault = cut(at.aux);
            return r;
        }
        if (b > 64 || b > s.mb()) {
            r.have = Have::Error;
            r.reason = TooWide;
            return r;
        }
        bits = b;
    }
    // Whether `count` more bits are there.
    auto there = [&](unsigned count) {
        if (!buffer || count == 0)
            return true;
        const auto end = world.end(id);
        const Wide rest = end ? static_cast<Wide>(*end) * 8 - at.bit : static_cast<Wide>(1) << 100;
        if (rest < static_cast<Wide>(count)) {
            const bool padding = s.kind == Fixed && to_end && rest < 8;
            r.have = (rest <= 0 && s.kind != Variable) || padding ? Have::End : Have::Error;
            r.reason = Truncated;
            return false;
        }
        if (static_cast<Wide>(world.delivered(id)) * 8 - at.bit < static_cast<Wide>(count)) {
            r.have = Have::NotYet;
            r.lacks = id;
            return false;
        }
        return true;
    };
    uint8_t v = 0;
    auto bit = [&](unsigned k, unsigned &b) {
        const uint64_t byte = static_cast<uint64_t>((at.bit + k) >> 3);
        if (k && ((at.bit + k) & 7)) {
            // the byte that is here
        } else if (buffer) {
            v = world.stream_byte(id, byte);
        } else if (!world.load(cut(byte), v)) {
            r.have = Have::Fault;
            r.fault = cut(byte);
            return false;
        }
        b = v >> ((at.bit + k) & 7) & 1;
        return true;
    };
    Wide result = 0;
    unsigned b = 0;
    if (s.kind == Huffman) {
        const auto table = codes(state.table[s.table].data());
        if (!table) { // only after VSDAT has written one that is none
            r.have = Have::Error;
            r.reason = NoCode;
            return r;
        }
        const Codes &c = *table;
        unsigned code = 0, first = 0, index = 0, length = 1;
        for (;; length++) {
            if (length > c.longest) {
                r.have = Have::Error;
                r.reason = NoCode;
                return r;
            }
            if (!there(length))
                return r;
            if (!bit(length - 1, b))
                return r;
            code = code << 1 | b;
            first = (first + c.count[length - 1]) << 1;
            if (code - first < c.count[length])
                break;
            index += c.count[length];
        }
        result = wrap(static_cast<Wide>(c.symbol[index + code - first]), s.width(), s.is_unsigned());
        bits = length;
    } else {
        if (!there(bits))
            return r;
        if (data || buffer)
            for (unsigned k = 0; k < bits; k++) {
                if (!bit(k, b))
                    return r;
                result |= static_cast<Wide>(b) << k;
            }
        if (bits)
            result = wrap(result, bits, s.is_unsigned());
    }
    r.v = result;
    r.bits = bits;
    at.bit += bits;
    if (s.kind == Variable)
        at.aux++;
    if (!to_end)
        at.left--;
    return r;
}

void Model::advance(unsigned id, const Cursor &to, uint64_t count) {
    Stream &s = state.in[id];
    s.bytepos = static_cast<uint64_t>(to.bit >> 3);
    if (!s.buffer())
        s.bytepos = cut(s.bytepos);
    s.bitpos = static_cast<unsigned>(to.bit & 7);
    s.auxpos = s.buffer() ? to.aux : cut(to.aux);
    s.left = to.left;
    s.done = cut(s.done + count);
    if (s.buffer()) {
        world.consumed(id, s.bytepos);
        if (s.kind == Variable)
            world.consumed(s.aux(), s.auxpos);
    }
    counts.consumed += count;
    dirty();
}

// ---- custom-2 ----

Outcome Model::stream(uint32_t insn, uint64_t rs1, uint64_t rs2) {
    if (!available())
        return illegal(insn);
    const unsigned funct7 = insn >> 25, rd = field(insn, 7, 5), f1 = field(insn, 15, 5), f2 = field(insn, 20, 5);
    switch (field(insn, 12, 3)) {
    case 0:
        switch (funct7) {
        case 0:
        case 1:
        case 2:
        case 8:
        case 9:
        case 10:
            return declare(insn, rs1, rs2);
        case 16:
            return f2 < 16 && rd == 0 ? consume(insn, rs1) : illegal(insn);
        case 24:
            return f2 < 16 && f1 == 0 ? end_input(insn) : illegal(insn);
        case 25:
            return f2 < 8 && f1 == 0 ? end_output(insn) : illegal(insn);
        default:
            return illegal(insn);
        }
    case 1:
        return f1 == 0 ? rcnum(insn) : illegal(insn);
    case 2:
        return unpack(insn);
    case 3:
        return pack(insn);
    default:
        return illegal(insn);
    }
}

Outcome Model::declare(uint32_t insn, uint64_t rs1, uint64_t rs2) {
    const unsigned funct7 = insn >> 25, id = field(insn, 7, 5);
    const bool output = funct7 & 8;
    Stream s;
    s.open = true;
    s.kind = static_cast<Kind>(funct7 & 3);
    s.format = state.vsfmt & 0x3fff;
    const unsigned w = s.width();
    if (id >= (output ? kOutputs : p.nin) || (output && field(insn, 20, 5)))
        return illegal(insn);
    if (state.vsfmt >> 14 || s.mb() > p.mbmax)
        return illegal(insn);
    if (s.kind == Fixed ? w < 1 || w > 64 : s.kind == Huffman ? w < 1 || w > 16 : w != 0)
        return illegal(insn);
    if (!output && s.kind != Variable && w > s.mb())
        return illegal(insn);
    auto open = [&](unsigned number) {
        if (output)
            return number < kOutputs && state.out[number].open;
        return number < kInputs && state.in[number].open;
    };
    if (open(id) || is_aux(id, output))
        return illegal(insn);
    const uint64_t all = cut(~static_cast<uint64_t>(0));
    if (s.buffer()) {
        if (id >= p.streams || rs1 > 7)
            return illegal(insn);
        if (s.kind == Variable && (s.aux() >= p.streams || s.aux() == id || open(s.aux()) || is_aux(s.aux(), output)))
            return illegal(insn);
    } else if (!output) {
        const Wide top = static_cast<Wide>(all) + 1;
        const Wide bytes = s.kind == Fixed ? (static_cast<Wide>(rs2) * w + 7) / 8 : 0;
        if (rs2 == all || static_cast<Wide>(rs1) + bytes > top)
            return illegal(insn);
        if (s.kind == Variable && static_cast<Wide>(state.vsaux) + static_cast<Wide>(rs2) > top)
            return illegal(insn);
    }
    if (s.kind == Huffman) {
        s.table = state.taken[0] ? 1 : 0;
        if (state.vsaux % 8 || state.taken[s.table])
            return illegal(insn);
        std::array<uint8_t, kTableBytes> bytes;
        for (unsigned i = 0; i < kTableBytes; i++)
            if (!world.load(cut(state.vsaux + i), bytes[i]))
                return fault(false, cut(state.vsaux + i));
        const auto c = codes(bytes.data());
        bool good = c && c->width == w;
        if (good && output) {
            std::array<bool, 256> seen{};
            for (unsigned symbol : c->symbol) {
                good = good && symbol < 256 && !seen[symbol];
                if (symbol < 256)
                    seen[symbol] = true;
            }
        }
        if (!good)
            return bad(id, output, BadTable);
        state.table[s.table] = bytes;
        state.taken[s.table] = true;
    }
    if (s.buffer()) {
        s.bytepos = world.head(id, output);
        s.bitpos = static_cast<unsigned>(rs1);
        if (s.kind == Variable)
            s.auxpos = world.head(s.aux(), output);
    } else {
        s.bytepos = rs1;
        if (s.kind == Variable)
            s.auxpos = state.vsaux;
    }
    if (!output)
        s.left = rs2;
    (output ? state.out[id] : state.in[id]) = s;
    dirty();
    return {};
}

Outcome Model::consume(uint32_t insn, uint64_t count) {
    const unsigned id = field(insn, 20, 5);
    if (!usable(id, false))
        return illegal(insn);
    const Stream &s = state.in[id];
    Outcome range;
    range.what = Outcome::Trap;
    range.cause = ASSASIN_CAUSE_STREAM_RANGE;
    range.tval = count;
    if (count > (p.full ? emax() : p.vlen))
        return range;
    if (s.pending)
        return bad(id, false, s.pending);
    Cursor at = cursor(s);
    for (uint64_t j = 0; j < count; j++) {
        const Peek next = value(id, at, false);
        switch (next.have) {
        case Have::Value:
            break;
        case Have::End:
            return range;
        case Have::NotYet:
            return wait(next.lacks, false);
        case Have::Error:
            return bad(id, false, next.reason);
        case Have::Fault:
            return fault(false, next.fault);
        }
    }
    advance(id, at, count);
    return {};
}

Outcome Model::rcnum(uint32_t insn) {
    if (!p.full)
        return illegal(insn);
    const unsigned set = insn >> 20;
    for (unsigned id = 0; id < 12; id++)
        if (set >> id & 1 && !usable(id, false))
            return illegal(insn);
    struct Move {
        Cursor to;
        uint64_t count;
        unsigned pending;
    };
    std::array<Move, kInputs> moves{};
    for (unsigned id = 0; id < p.nin; id++) {
        if (!(set >> id & 1))
            continue;
        Move &m = moves[id];
        m.to = cursor(state.in[id]);
        while (m.count < state.nume && !m.pending) {
            const Peek next = value(id, m.to, false);
            if (next.have == Have::NotYet)
                return wait(next.lacks, false);
            if (next.have == Have::Value)
                m.count++;
            else
                m.pending = next.have == Have::Error ? next.reason : static_cast<unsigned>(Overconsumed);
        }
    }
    for (unsigned id = 0; id < p.nin; id++)
        if (set >> id & 1) {
            advance(id, moves[id].to, moves[id].count);
            if (!state.in[id].pending)
                state.in[id].pending = moves[id].pending;
        }
    const Outcome o = scalar(insn, state.nume);
    state.nume = emax();
    state.packed = false;
    counts.strips++;
    dirty();
    return o;
}

Outcome Model::end_input(uint32_t insn) {
    const unsigned id = field(insn, 20, 5);
    if (!usable(id, false))
        return illegal(insn);
    Stream &s = state.in[id];
    if (s.pending) {
        const Outcome o = bad(id, false, s.pending);
        s.pending = 0;
        return o;
    }
    if (s.buffer() && s.bitpos)
        world.consumed(id, s.bytepos + 1);
    if (s.kind == Huffman)
        state.taken[s.table] = false;
    const Outcome o = scalar(insn, s.done);
    s = {};
    dirty();
    return o;
}

Outcome Model::unpack(uint32_t insn) {
    const bool pup = field(insn, 30, 1), masked = !field(insn, 25, 1);
    const unsigned id = field(insn, 26, 4), mask = field(insn, 20, 5), vd = field(insn, 7, 5);
    if (insn >> 31 || field(insn, 15, 5) || (!masked && mask) || (pup ? !p.pup || masked : !p.full) ||
        !usable(id, false))
        return illegal(insn);
    const Stream &s = state.in[id];
    if (!pup) {
        if (group_lmul() || state.packed || (masked && state.r[mask].var))
            return illegal(insn);
        if (s.pending)
            return bad(id, false, s.pending);
        const unsigned most = masked ? std::min(emax(), state.r[mask].n) : emax();
        Cursor at = cursor(s);
        std::vector<Wide> values;
        std::vector<unsigned> widths;
        for (unsigned j = 0; j < std::max(most, 1u); j++) {
            const Peek next = value(id, at, true);
            if (next.have == Have::NotYet)
                return wait(next.lacks, false);
            if (next.have == Have::Error && j == 0)
                return bad(id, false, next.reason);
            if (next.have == Have::Fault && j == 0)
                return fault(false, next.fault);
            if (next.have != Have::Value || j >= most)
                break;
            const bool on = active(masked, mask, j);
            values.push_back(on ? next.v : 0);
            widths.push_back(on ? kept(p, next.v, s.is_unsigned()) : 0);
        }
        values.resize(fits(widths, p.g));
        Outcome o;
        write_full(vd, s.is_unsigned(), s.mb(), values, o);
        return o;
    }
    const unsigned lmul = group_lmul() ? 1u << (state.vtype & 7) : 1;
    if (vill() || vd % lmul || (s.kind == Fixed && s.width() > sew()))
        return illegal(insn);
    if (s.pending)
        return bad(id, false, s.pending);
    Cursor at = cursor(s), after = at;
    uint64_t c = 0;
    std::vector<Wide> values;
    for (; c < state.vl; c++) {
        const Peek next = value(id, at, true);
        if (next.have == Have::NotYet)
            return wait(next.lacks, false);
        const bool too_wide = next.have == Have::Value && s.kind != Fixed && width(next.v, s.is_unsigned()) > sew();
        if (c == 0 && (too_wide || next.have == Have::Error))
            return bad(id, false, too_wide ? static_cast<unsigned>(TooWide) : next.reason);
        if (c == 0 && next.have == Have::Fault)
            return fault(false, next.fault);
        if (next.have != Have::Value || too_wide)
            break;
        values.push_back(next.v);
        after = at;
    }
    Outcome o;
    const unsigned bytes = sew() / 8, size = p.vlen / 8;
    for (unsigned r = 0; r < lmul && c; r++) {
        o.written |= 1u << (vd + r);
        if (r * size >= c * bytes) {
            fix(vd + r);
            continue;
        }
        std::vector<uint8_t> raw = state.r[vd + r].raw;
        for (unsigned k = 0; k < size; k++) {
            const unsigned at_byte = r * size + k;
            if (at_byte / bytes < c)
                raw[k] = static_cast<uint8_t>(values[at_byte / bytes] >> (8 * (at_byte % bytes)));
        }
        rvv_write(vd + r, raw.data());
    }
    state.vl = c;
    counts.elements += c;
    advance(id, after, c);
    return o;
}

// ---- Streams out ----

Outcome Model::pack(uint32_t insn) {
    const bool pup = field(insn, 30, 1), masked = !field(insn, 25, 1);
    const unsigned id = field(insn, 26, 3), mask = field(insn, 20, 5), vs = field(insn, 15, 5);
    if (insn >> 31 || field(insn, 29, 1) || (!masked && mask) || !(pup ? p.pup : p.full) || !usable(id, true))
        return illegal(insn);
    Stream &s = state.out[id];
    if (masked && state.r[mask].var)
        return illegal(insn);
    std::vector<Wide> values;
    unsigned m = 0;
    if (pup) {
        const unsigned lmul = group_lmul() ? 1u << (state.vtype & 7) : 1, bytes = sew() / 8, size = p.vlen / 8;
        if (vill() || vs % lmul || (s.kind == Fixed && s.width() > sew()))
            return illegal(insn);
        for (unsigned i = 0; i < state.vl; i++) {
            if (!active(masked, mask, i))
                continue;
            Wide v = 0;
            for (unsigned b = 0; b < bytes; b++) {
                const unsigned at = i * bytes + b;
                v |= static_cast<Wide>(state.r[vs + at / size].raw[at % size]) << (8 * b);
            }
            values.push_back(wrap(v, sew(), s.is_unsigned()));
        }
    } else {
        const Register &r = state.r[vs];
        if (group_lmul() || !r.var)
            return illegal(insn);
        m = std::min(state.nume, r.n);
        for (unsigned i = 0; i < m; i++)
            if (active(masked, mask, i))
                values.push_back(r.value(i));
    }

    // What is appended: bits of the data, bytes of widths.
    std::vector<bool> bits;
    std::vector<uint8_t> widths;
    bool missing = false;
    uint64_t written = 0;
    std::optional<Codes> table;
    if (s.kind == Huffman)
        table = codes(state.table[s.table].data());
    for (const Wide v : values) {
        if (s.kind == Huffman) {
            unsigned code, length;
            if (!table || !code_of(*table, static_cast<unsigned>(wrap(v, s.width(), true)), code, length)) {
                missing = true;
                continue;
            }
            while (length--)
                bits.push_back(code >> length & 1);
        } else {
            const Wide kept_value = s.kind == Fixed ? v : wrap(v, s.mb(), s.is_unsigned());
            const unsigned count = s.kind == Fixed ? s.width() : width(kept_value, s.is_unsigned());
            for (unsigned b = 0; b < count; b++)
                bits.push_back(kept_value >> b & 1);
            if (s.kind == Variable)
                widths.push_back(static_cast<uint8_t>(count));
        }
        written++;
    }

    // The gate: every byte that this needs can be written.
    const uint64_t bytes = (s.bitpos + bits.size() + 7) / 8;
    if (s.buffer()) {
        if (bits.size() && s.bytepos + bytes > world.room(id))
            return wait(id, true);
        if (s.auxpos + widths.size() > world.room(s.aux()) && !widths.empty())
            return wait(s.aux(), true);
    } else {
        if (!bits.empty())
            for (uint64_t i = 0; i < bytes; i++)
                if (!world.storable(cut(s.bytepos + i)))
                    return fault(true, cut(s.bytepos + i));
        for (uint64_t i = 0; i < widths.size(); i++)
            if (!world.storable(cut(s.auxpos + i)))
                return fault(true, cut(s.auxpos + i));
    }

    for (const bool b : bits) {
        s.partial |= (b ? 1u : 0u) << s.bitpos;
        if (++s.bitpos == 8) {
            if (s.buffer())
                world.append(id, static_cast<uint8_t>(s.partial));
            else
                world.store(s.bytepos, static_cast<uint8_t>(s.partial));
            s.bytepos = s.buffer() ? s.bytepos + 1 : cut(s.bytepos + 1);
            s.bitpos = s.partial = 0;
        }
    }
    for (const uint8_t w : widths) {
        if (s.buffer())
            world.append(s.aux(), w);
        else
            world.store(s.auxpos, w);
        s.auxpos = s.buffer() ? s.auxpos + 1 : cut(s.auxpos + 1);
    }
    s.done = cut(s.done + written);
    if (missing && !s.pending)
        s.pending = NoSymbol;
    counts.appended += written;
    if (!pup) {
        state.packed = true;
        lower(m);
    }
    dirty();
    return scalar(insn, values.size());
}

Outcome Model::end_output(uint32_t insn) {
    const unsigned id = field(insn, 20, 5);
    if (!usable(id, true))
        return illegal(insn);
    Stream &s = state.out[id];
    if (s.pending) {
        const Outcome o = bad(id, true, s.pending);
        s.pending = 0;
        return o;
    }
    if (s.bitpos) {
        if (s.buffer()) {
            if (s.bytepos + 1 > world.room(id))
                return wait(id, true);
            world.append(id, static_cast<uint8_t>(s.partial));
        } else if (!world.store(s.bytepos, static_cast<uint8_t>(s.partial))) {
            return fault(true, s.bytepos);
        }
    }
    if (s.kind == Huffman)
        state.taken[s.table] = false;
    const Outcome o = scalar(insn, s.done);
    s = {};
    dirty();
    return o;
}

// ---- CSRs ----

uint32_t Model::window_read() const {
    const unsigned object = state.vssel & 0xff, index = state.vssel >> 8 & 0xfff, kind = state.vssel >> 28;
    if (kind == 0) {
        if (object >= 32 || (object & 16 ? object - 16 >= kOutputs : object >= p.nin))
            return 0;
        const Stream &s = object & 16 ? state.out[object - 16] : state.in[object];
        auto half = [&](uint64_t v) { return static_cast<uint32_t>(cut(v) >> (index % 2 ? 32 : 0)); };
        switch (index) {
        case 0:
            return (s.open ? 1u : 0u) | s.kind << 1 | s.format << 4 | s.table << 20 | s.pending << 24;
        case 1:
            return static_cast<uint32_t>(s.bytepos);
        case 2:
            return static_cast<uint32_t>(cut(s.bytepos) >> 32);
        case 3:
            return s.bitpos | s.partial << 8;
        case 4:
        case 5:
            return half(s.auxpos);
        case 6:
        case 7:
            return half(s.left);
        case 8:
        case 9:
            return half(s.done);
        default:
            return 0;
        }
    }
    if (kind == 4) {
        if (object >= kTables || index >= kTableBytes / 4)
            return 0;
        const uint8_t *b = state.table[object].data() + 4 * index;
        return b[0] | b[1] << 8 | b[2] << 16 | static_cast<uint32_t>(b[3]) << 24;
    }
    if (object >= 32)
        return 0;
    const Register &r = state.r[object];
    if (kind == 1 && index < p.vlen / 32) {
        const uint8_t *b = r.raw.data() + 4 * index;
        return b[0] | b[1] << 8 | b[2] << 16 | static_cast<uint32_t>(b[3]) << 24;
    }
    if (kind == 2 && p.full && index < p.emax())
        return r.var ? r.w[index] : 0;
    if (kind == 3 && p.full && index == 0) {
        const unsigned mb = r.mb == 8 ? 0 : r.mb == 16 ? 1 : r.mb == 32 ? 2 : 3;
        return (r.var ? 1u | (r.is_unsigned ? 2u : 0u) | mb << 2 : 0) | r.n << 16;
    }
    return 0;
}

void Model::window_write(uint32_t v) {
    const unsigned object = state.vssel & 0xff, index = state.vssel >> 8 & 0xfff, kind = state.vssel >> 28;
    auto put = [v](uint8_t *b) {
        for (unsigned i = 0; i < 4; i++)
            b[i] = static_cast<uint8_t>(v >> (8 * i));
    };
    if (kind == 0) {
        if (object >= 32 || (object & 16 ? object - 16 >= kOutputs : object >= p.nin))
            return;
        Stream &s = object & 16 ? state.out[object - 16] : state.in[object];
        auto half = [&](uint64_t &to) {
            to = index % 2 ? cut((to & 0xffffffff) | static_cast<uint64_t>(v) << 32) : (to & ~0xffffffffull) | v;
        };
        switch (index) {
        case 0:
            if (s.open && s.kind == Huffman)
                state.taken[s.table] = false;
            s.open = v & 1;
            s.kind = static_cast<Kind>(v >> 1 & 3);
            s.format = v >> 4 & 0x3fff;
            s.table = v >> 20 & 1;
            s.pending = v >> 24 & 7;
            if (s.open && s.kind == Huffman)
                state.taken[s.table] = true;
            return;
        case 1:
            s.bytepos = (s.bytepos & ~0xffffffffull) | v;
            return;
        case 2:
            s.bytepos = cut((s.bytepos & 0xffffffff) | static_cast<uint64_t>(v) << 32);
            return;
        case 3:
            s.bitpos = v & 7;
            s.partial = v >> 8 & 0xff;
            return;
        case 4:
        case 5:
            return half(s.auxpos);
        case 6:
        case 7:
            return half(s.left);
        case 8:
        case 9:
            return half(s.done);
        default:
            return;
        }
    }
    if (kind == 4) {
        if (object < kTables && index < kTableBytes / 4)
            put(state.table[object].data() + 4 * index);
        return;
    }
    if (object >= 32)
        return;
    Register &r = state.r[object];
    if (kind == 1 && index < p.vlen / 32) {
        put(r.raw.data() + 4 * index);
    } else if (kind == 2 && p.full && index < p.emax()) {
        r.w[index] = static_cast<uint8_t>(v & 127);
    } else if (kind == 3 && p.full && index == 0) {
        r.var = v & 1;
        r.is_unsigned = v >> 1 & 1;
        r.mb = 8u << (v >> 2 & 3);
        r.n = std::min(v >> 16 & (p.emax() > 511 ? 1023 : 511), p.emax());
        std::fill(r.w.begin() + r.n, r.w.end(), 0);
        if (r.var)
            expand(r);
        else
            r.v.clear();
    }
}

Outcome Model::csr(unsigned number, unsigned op, uint64_t source, bool write) {
    Outcome o;
    const bool machine = number == ASSASIN_CSR_MVARVE;
    if (!machine && (number < ASSASIN_CSR_VSFMT || number > ASSASIN_CSR_VVCFG)) {
        o.what = Outcome::NotMine;
        return o;
    }
    if ((!machine && state.mvarve == 0) || (number == ASSASIN_CSR_NUME && !p.full)) {
        o.what = Outcome::Trap;
        o.cause = kIllegal;
        return o;
    }
    uint64_t old = 0;
    switch (number) {
    case ASSASIN_CSR_MVARVE:
        old = state.mvarve;
        break;
    case ASSASIN_CSR_VSFMT:
        old = state.vsfmt;
        break;
    case ASSASIN_CSR_VSAUX:
        old = state.vsaux;
        break;
    case ASSASIN_CSR_VSSEL:
        old = state.vssel;
        break;
    case ASSASIN_CSR_VSDAT:
        old = window_read();
        break;
    case ASSASIN_CSR_NUME:
        old = state.nume | (state.packed ? 1ull << 31 : 0);
        break;
    default: {
        unsigned log2 = 0;
        while (1u << log2 < p.g)
            log2++;
        old = log2 | (p.pup ? 1u : 0u) << 4 | (p.full ? 2u : 0u) << 4 | p.mbmax << 8 | p.emax() << 16;
    }
    }
    o.wen = true;
    o.value = cut(old);
    if (!write || number == ASSASIN_CSR_VVCFG)
        return o;
    const uint64_t now = cut(op == 1 ? source : op == 2 ? old | source : old & ~source);
    switch (number) {
    case ASSASIN_CSR_MVARVE:
        state.mvarve = now & 3;
        return o;
    case ASSASIN_CSR_VSFMT:
        state.vsfmt = static_cast<uint32_t>(now);
        break;
    case ASSASIN_CSR_VSAUX:
        state.vsaux = now;
        break;
    case ASSASIN_CSR_VSSEL:
        state.vssel = static_cast<uint32_t>(now);
        break;
    case ASSASIN_CSR_VSDAT:
        window_write(static_cast<uint32_t>(now));
        state.vs = 3;
        break;
    default:
        state.nume = std::min(static_cast<unsigned>(now & 0xffff), emax());
        state.packed = now >> 31 & 1;
        state.vs = 3;
    }
    state.mvarve = 3;
    return o;
}

std::string difference(const State &model, const State &rtl) {
    auto differ = [](const std::string &what, uint64_t a, uint64_t b) {
        return what + ": model " + number(a) + ", RTL " + number(b);
    };
    for (unsigned i = 0; i < 32; i++) {
        const Register &a = model.r[i], &b = rtl.r[i];
        const std::string name = "v" + number(i);
        if (a.var != b.var)
            return differ(name + " tag", a.var, b.var);
        if (a.n != b.n)
            return differ(name + " n", a.n, b.n);
        if (!a.var) {
            for (unsigned k = 0; k < a.raw.size(); k++)
                if (a.raw[k] != b.raw[k])
                    return differ(name + " byte " + number(k), a.raw[k], b.raw[k]);
            continue;
        }
        if (a.is_unsigned != b.is_unsigned)
            return differ(name + " U", a.is_unsigned, b.is_unsigned);
        if (a.mb != b.mb)
            return differ(name + " mb", a.mb, b.mb);
        for (unsigned k = 0; k < a.n; k++) {
            if (a.v[k] != b.v[k])
                return differ(name + "[" + number(k) + "]", a.v[k], b.v[k]);
            if (a.w[k] != b.w[k])
                return differ(name + "[" + number(k) + "] width", a.w[k], b.w[k]);
        }
    }
    if (model.nume != rtl.nume)
        return differ("NumE", model.nume, rtl.nume);
    if (model.packed != rtl.packed)
        return differ("PACKED", model.packed, rtl.packed);
    for (unsigned i = 0; i < kInputs + kOutputs; i++) {
        const bool output = i >= kInputs;
        const Stream &a = output ? model.out[i - kInputs] : model.in[i], &b = output ? rtl.out[i - kInputs] : rtl.in[i];
        const std::string name = (output ? "output " : "input ") + number(output ? i - kInputs : i);
        if (a.open != b.open)
            return differ(name + " open", a.open, b.open);
        if (!a.open)
            continue;
        const std::pair<const char *, std::pair<uint64_t, uint64_t>> fields[] = {
            {"kind", {a.kind, b.kind}},       {"format", {a.format, b.format}},    {"bytepos", {a.bytepos, b.bytepos}},
            {"bitpos", {a.bitpos, b.bitpos}}, {"partial", {a.partial, b.partial}}, {"auxpos", {a.auxpos, b.auxpos}},
            {"left", {a.left, b.left}},       {"done", {a.done, b.done}},          {"pending", {a.pending, b.pending}}};
        for (const auto &[what, pair] : fields)
            if (pair.first != pair.second)
                return differ(name + " " + what, pair.first, pair.second);
        if (a.kind == Huffman && a.table != b.table)
            return differ(name + " table", a.table, b.table);
        if (a.kind == Huffman && model.table[a.table] != rtl.table[b.table])
            return name + ": the contents of its table";
    }
    for (unsigned i = 0; i < kTables; i++)
        if (model.taken[i] != rtl.taken[i])
            return differ("table " + number(i) + " taken", model.taken[i], rtl.taken[i]);
    const std::pair<const char *, std::pair<uint64_t, uint64_t>> registers[] = {
        {"VSFMT", {model.vsfmt, rtl.vsfmt}},   {"VSAUX", {model.vsaux, rtl.vsaux}},    {"vl", {model.vl, rtl.vl}},
        {"vtype", {model.vtype, rtl.vtype}},   {"vstart", {model.vstart, rtl.vstart}}, {"VS", {model.vs, rtl.vs}},
        {"MVARVE", {model.mvarve, rtl.mvarve}}};
    for (const auto &[what, pair] : registers)
        if (pair.first != pair.second)
            return differ(what, pair.first, pair.second);
    return {};
}

} // namespace varve
