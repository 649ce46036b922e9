// SPDX-License-Identifier: BSD-3-Clause
#include "vector_program.h"

#include <iterator>
#include <string>

#include "rv_asm.h"

namespace cosim {
namespace {

constexpr unsigned kArith = 0x57, kLoad = 0x07, kStore = 0x27;
constexpr unsigned kVstart = 0x008, kVxsat = 0x009, kVxrm = 0x00a, kMstatus = 0x300, kMtvec = 0x305, kMepc = 0x341,
                   kMcause = 0x342, kMtval = 0x343;

// Registers: x4 whether the handler has tried again, x5 to x7 for the setting up, x8 and x9 strides, x10 to x15
// addresses, x16 to x27 values, x28 to x31 the handler's.
constexpr unsigned kTried = 4, kTemp = 5, kStride = 8, kPointer = 10, kValue = 16, kHandler = 28;

class Generator {
  public:
    Generator(std::mt19937_64 &rng, const VectorShape &shape)
        : rng(rng), vlen(shape.vlen), wide_scalars(shape.xlen == 64), max_sew(shape.elen == 64 ? 3 : 2) {
    }

    VectorProgram make(uint64_t seed) {
        li(kTemp, 0x600);
        emit(csr(2, kMstatus, 0, kTemp)); // VS: Dirty
        fill_memory();
        for (unsigned i = 0; i < 6; i++)
            new_pointer(kPointer + i);
        new_stride(kStride);
        new_stride(kStride + 1);
        for (unsigned i = 0; i < 12; i++)
            li(kValue + i, value());
        li(kTemp, kVectorBase);
        for (unsigned v = 0; v < 32; v += 8) {
            emit(memory_word(kLoad, 7, 0, true, 8, kTemp, 0, v));
            emit(rv::addi(kTemp, kTemp, static_cast<int32_t>(pick(200))));
        }
        vset();
        // Some programs are there for the legality of words.
        wild_share = percent(15) ? 70 : 4;
        const size_t body = (wild_share > 50 ? 2500 : 900) + pick(600);
        for (size_t i = 0; i < body; i++)
            step();
        // Everything to memory, where it is compared.
        emit(csr(2, kVxsat, kTemp, 0));
        emit(csr(5, kVstart, 0, 0));
        li(kTemp, kVectorBase);
        for (unsigned v = 0; v < 32; v += 8) {
            emit(memory_word(kStore, 7, 0, true, 8, kTemp, 0, v));
            emit(rv::addi(kTemp, kTemp, static_cast<int32_t>(vlen)));
        }
        VectorProgram program{};
        program.seed = seed;
        program.end_pc = here();
        emit(rv::jal(0, 0));
        program.handler = here();
        handler();
        program.words = with_handler(words, program.handler);
        program.data.assign(kVectorBytes, 0);
        program.end_pc += 4 * kPrologue;
        program.handler += 4 * kPrologue;
        return program;
    }

  private:
    // After a fault of a memory access, but not twice in a row: legal addresses, and once more from vstart on. Else the
    // instruction is skipped.
    void handler() {
        emit(csr(2, kMcause, kHandler, 0));
        emit(csr(2, kMtval, kHandler + 1, 0));
        emit(csr(2, kVstart, kHandler + 2, 0));
        emit(csr(2, kMepc, kHandler + 3, 0));
        std::vector<uint32_t> again;
        again.swap(words);
        emit(rv::addi(kTried, 0, 1));
        for (unsigned i = 0; i < 6; i++)
            // With the last one large indices are legal then, and small ones are not.
            li(kPointer + i, kVectorBase + 512 + (pick(256) << max_sew) - (i == 5 ? 0x2000 : 0));
        for (unsigned i = 0; i < 2; i++)
            li(kStride + i, pick(10) << max_sew);
        emit(0x30200073); // mret
        again.swap(words);
        const int32_t skip = 4 * static_cast<int32_t>(again.size());
        emit(rv::addi(kHandler, kHandler, -2));
        emit(rv::beq(kHandler, 0, skip + 8));
        emit(rv::bne(kTried, 0, skip + 4));
        words.insert(words.end(), again.begin(), again.end());
        emit(rv::addi(kTried, 0, 0));
        emit(csr(5, kVstart, 0, 0));
        emit(rv::addi(kHandler + 3, kHandler + 3, 4));
        emit(csr(1, kMepc, 0, kHandler + 3));
        emit(0x30200073); // mret
    }

    // The words that set mtvec stand before everything else, since the handler's address is known last.
    static constexpr unsigned kPrologue = 3;
    static std::vector<uint32_t> with_handler(const std::vector<uint32_t> &code, uint32_t handler) {
        // From the first word on, as an address is not sign-extended.
        const uint32_t target = handler + 4 * kPrologue - kImemBase, low = target & 0xfff;
        std::vector<uint32_t> out = {rv::auipc(kTemp, target + (low >= 0x800 ? 0x1000 : 0)),
                                     rv::addi(kTemp, kTemp, static_cast<int32_t>(low << 20) >> 20),
                                     csr(1, kMtvec, 0, kTemp)};
        out.insert(out.end(), code.begin(), code.end());
        return out;
    }

    unsigned pick(size_t n) {
        return static_cast<unsigned>(rng() % n);
    }
    bool percent(unsigned p) {
        return pick(100) < p;
    }
    uint32_t here() const {
        return kImemBase + static_cast<uint32_t>(words.size()) * 4;
    }
    void emit(uint32_t word) {
        words.push_back(word);
    }
    // Of a 32-bit register the low half. An address is below 2^32 and positive.
    void li(unsigned rd, uint64_t value) {
        const uint64_t negative = uint64_t{0} - (value >> 31 & 1);
        if (!wide_scalars) {
            li32(rd, static_cast<uint32_t>(value));
        } else if (value >> 32 == negative >> 32) {
            li32(rd, static_cast<uint32_t>(value));
        } else if (value >> 32 == 0) {
            li32(rd, static_cast<uint32_t>(value));
            emit(shift_left(rd, 32));
            emit(rv::op_imm(5, rd, rd, 32)); // srli
        } else {
            li32(rd, static_cast<uint32_t>(value >> 32));
            for (const unsigned from : {21u, 10u}) {
                emit(shift_left(rd, 11));
                emit(rv::op_imm(6, rd, rd, value >> from & 0x7ff)); // ori
            }
            emit(shift_left(rd, 10));
            emit(rv::op_imm(6, rd, rd, value & 0x3ff));
        }
    }
    // Sign-extended to 64 bits.
    void li32(unsigned rd, uint32_t value) {
        const uint32_t low = value & 0xfff;
        emit(rv::lui(rd, value + (low >= 0x800 ? 0x1000 : 0)));
        emit(rv::i_type(wide_scalars ? 0x1b : 0x13, 0, rd, rd, static_cast<int32_t>(low << 20) >> 20)); // addiw or addi
    }
    static uint32_t shift_left(unsigned rd, unsigned by) {
        return rv::op_imm(1, rd, rd, static_cast<int32_t>(by));
    }
    static uint32_t csr(unsigned f3, unsigned number, unsigned rd, unsigned rs1) {
        return number << 20 | rs1 << 15 | f3 << 12 | rd << 7 | 0x73;
    }
    static uint32_t memory_word(unsigned op, unsigned nf, unsigned mop, bool vm, unsigned rs2, unsigned rs1,
                                unsigned width, unsigned vd) {
        return nf << 29 | mop << 26 | static_cast<unsigned>(vm) << 25 | rs2 << 20 | rs1 << 15 | width << 12 | vd << 7 |
               op;
    }
    static uint32_t arith_word(unsigned f6, bool vm, unsigned vs2, unsigned vs1, unsigned f3, unsigned vd) {
        return f6 << 26 | static_cast<unsigned>(vm) << 25 | vs2 << 20 | vs1 << 15 | f3 << 12 | vd << 7 | kArith;
    }

    // Words whose elements of every width are interesting now and then.
    uint64_t value() {
        const uint32_t low = half_value();
        if (!wide_scalars || percent(25))
            return low;
        if (percent(50))
            return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(low)));
        return uint64_t{half_value()} << 32 | low;
    }
    uint32_t half_value() {
        static constexpr uint32_t kEdges[] = {0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 0x80808080,
                                              0x7f7f7f7f, 0x80008000, 0x7fff7fff, 0x00ff00ff, 0x01010101, 0x0000ffff};
        if (percent(40))
            return kEdges[pick(std::size(kEdges))];
        return static_cast<uint32_t>(rng()) >> (percent(30) ? pick(32) : 0);
    }

    void fill_memory() {
        li(kTemp, kVectorBase);
        for (unsigned at = 0; at < 1600; at += 4) {
            li32(kTemp + 1, half_value());
            emit(rv::s_type(2, kTemp + 1, kTemp, static_cast<int32_t>(at)));
        }
    }

    void new_pointer(unsigned reg) {
        uint32_t at = kVectorBase + pick(2048);
        if (percent(10))
            at = kVectorBase + pick(32);
        else if (percent(12))
            at = kVectorBase + kVectorBytes - pick(512);
        else if (percent(4))
            at = kVectorBase + kVectorBytes + pick(64) - 32;
        else if (percent(4))
            at = kVectorBase - 64 + pick(128);
        static constexpr uint32_t kAlign[] = {1, 2, 4, 4, 4, 8, 32, 64};
        uint64_t pointer = at & ~(kAlign[pick(8)] - 1);
        if (wide_scalars && percent(8)) // an address whose low half alone would be legal
            pointer |= uint64_t{1} << (32 + pick(32));
        li(reg, pointer);
    }

    void new_end_pointer(unsigned reg) {
        li(reg, kVectorBase + kVectorBytes - (pick(percent(50) ? 64 : 512) & ~((1u << sew) - 1)));
    }

    // No element of an access may come to the program or to kToHost.
    void new_stride(unsigned reg) {
        uint64_t stride = pick(4) * (1u << pick(4));
        if (percent(20))
            stride = 0;
        else if (percent(15))
            stride = pick(170);
        else if (percent(30))
            stride = 0 - stride;
        else if (percent(4))
            stride = 0x100000;
        else if (percent(4))
            stride = 0 - uint64_t{0x100000};
        else if (wide_scalars && percent(8)) // the low half alone would be legal
            stride |= uint64_t{1} << (32 + pick(32));
        li(reg, stride);
    }

    void vset() {
        unsigned vtype = 0;
        do {
            sew = pick(max_sew + 1);
            lmul = pick(8);
        } while (lmul == 4 || (lmul > 4 && 8 - lmul + sew > max_sew));
        vtype = sew << 3 | lmul | pick(4) << 6;
        if (percent(2))
            vtype = pick(256); // perhaps vill
        set_vl(vtype);
    }
    void set_vl(unsigned vtype) {
        const unsigned rd = percent(50) ? 0 : kValue + pick(12);
        switch (pick(4)) {
        case 0: // VLMAX
            emit(vtype << 20 | 0 << 15 | 7 << 12 | (kValue + pick(12)) << 7 | kArith);
            break;
        case 1: // vsetivli
            emit(3u << 30 | vtype << 20 | pick(32) << 15 | 7 << 12 | rd << 7 | kArith);
            break;
        default:
            li(kTemp, percent(5) ? 0 : pick(vlen + 8) >> pick(6));
            emit(vtype << 20 | kTemp << 15 | 7 << 12 | rd << 7 | kArith);
        }
    }

    // A register for a group of 2^log; sometimes one where none may begin. Few registers, so that hazards are many.
    unsigned reg(unsigned log) {
        const unsigned r = percent(60) ? pick(8) + (log == 3 ? 8 * pick(4) : 0) : pick(32);
        return percent(2) ? r : r & ~((1u << log) - 1);
    }
    unsigned group() const {
        return lmul < 4 ? lmul : 0;
    }

    void arith() {
        struct Line {
            unsigned f6;
            const char *forms;
        };
        static constexpr Line kLines[] = {
            {0x00, "VXI"}, {0x02, "VX"},  {0x03, "XI"},  {0x04, "VX"},  {0x05, "VX"},  {0x06, "VX"}, {0x07, "VX"},
            {0x09, "VXI"}, {0x0a, "VXI"}, {0x0b, "VXI"}, {0x10, "VXI"}, {0x11, "VXI"}, {0x12, "VX"}, {0x13, "VX"},
            {0x17, "VXI"}, {0x17, "VXI"}, {0x18, "VXI"}, {0x19, "VXI"}, {0x1a, "VX"},  {0x1b, "VX"}, {0x1c, "VXI"},
            {0x1d, "VXI"}, {0x1e, "XI"},  {0x1f, "XI"},  {0x20, "VXI"}, {0x21, "VXI"}, {0x22, "VX"}, {0x23, "VX"},
            {0x25, "VXI"}, {0x27, "VX"},  {0x28, "VXI"}, {0x29, "VXI"}, {0x2a, "VXI"}, {0x2b, "VXI"}};
        const Line &line = kLines[pick(std::size(kLines))];
        const std::string forms = line.forms;
        const char form = forms[pick(forms.size())];
        const bool vm = percent((line.f6 | 2) == 0x12 ? 5 : 60),
                   mask = line.f6 >= 0x18 ? line.f6 < 0x20 : (line.f6 | 2) == 0x13;
        const unsigned log = group();
        const unsigned vs2 = line.f6 == 0x17 && vm && !percent(3) ? 0 : reg(log);
        // Masks go to v0 often, else seldom to a register that a source's group holds.
        unsigned vd = mask ? (percent(40) ? 0 : percent(50) ? vs2 : pick(32)) : reg(log);
        if (!vm && vd == 0 && !mask && !percent(5))
            vd = 1u << log & 31;
        if (form == 'V')
            emit(arith_word(line.f6, vm, vs2, reg(log), 0, vd));
        else if (form == 'X')
            emit(arith_word(line.f6, vm, vs2, pick(33) ? kValue + pick(12) : 0, 4, vd));
        else
            emit(arith_word(line.f6, vm, vs2, pick(32), 3, vd));
    }

    // OPMVV, OPMVX of one element size: averages, divide, multiply.
    void multiply() {
        static constexpr unsigned kLines[] = {0x08, 0x09, 0x0a, 0x0b, 0x20, 0x21, 0x22, 0x23,
                                              0x24, 0x25, 0x26, 0x27, 0x29, 0x2b, 0x2d, 0x2f};
        const unsigned f6 = kLines[pick(std::size(kLines))], log = group();
        const bool vm = percent(60), by_vector = percent(60);
        const unsigned vd = masked_reg(log, vm);
        emit(arith_word(f6, vm, reg(log), by_vector ? reg(log) : kValue + pick(12), by_vector ? 2 : 6, vd));
    }

    // A source of half the element size: in the highest part of a destination, or anywhere.
    unsigned narrow_source(unsigned log, unsigned vd) {
        return lmul < 3 && percent(35) ? (vd + (1u << log)) & 31 : reg(log);
    }
    void widen() {
        const bool vm = percent(60), by_vector = percent(60);
        const unsigned log = group(), wide = lmul < 4 ? lmul + (lmul < 3) : 0;
        const unsigned f6 = 0x30 + pick(16), vd = masked_reg(wide, vm);
        const unsigned vs2 = f6 >= 0x34 && f6 < 0x38 ? reg(wide) : narrow_source(log, vd);
        emit(arith_word(f6, vm, vs2, by_vector ? narrow_source(log, vd) : kValue + pick(12), by_vector ? 2 : 6, vd));
    }
    void narrow() {
        const bool vm = percent(60);
        const unsigned log = group(), wide = lmul < 4 ? lmul + (lmul < 3) : 0;
        const unsigned f6 = 0x2c + pick(4), vs2 = reg(wide), form = pick(3);
        const unsigned vd = percent(35) ? vs2 : masked_reg(log, vm);
        if (form == 0)
            emit(arith_word(f6, vm, vs2, reg(log), 0, vd));
        else
            emit(arith_word(f6, vm, vs2, form == 1 ? kValue + pick(12) : pick(32), form == 1 ? 4 : 3, vd));
    }

    // Reductions: vd and vs1 are single registers, which may lie in vs2's group.
    void reduce() {
        const bool vm = percent(60), wide = percent(25);
        const unsigned log = group(), vs2 = reg(log);
        const unsigned vs1 = percent(25) ? vs2 + pick(size_t{1} << log) : pick(percent(60) ? 8 : 32);
        const unsigned vd = percent(15) ? 0 : percent(25) ? vs2 : pick(percent(60) ? 8 : 32);
        emit(arith_word(wide ? 0x30 + pick(2) : pick(8), vm, vs2, vs1 & 31, wide ? 0 : 2, vd));
    }
    // vmsbf, vmsof, vmsif, viota, vid; the mask is often one with few ones.
    void mask_unary() {
        static constexpr unsigned kLines[] = {1, 2, 3, 16, 16, 17};
        const unsigned vs1 = percent(3) ? pick(32) : kLines[pick(std::size(kLines))], log = vs1 < 16 ? 0 : group();
        const bool vm = percent(60);
        const unsigned vs2 = vs1 == 17 && !percent(4) ? 0 : pick(percent(60) ? 8 : 32), vd = masked_reg(log, vm);
        if (percent(30) && vs1 < 17) {
            const unsigned other = pick(8);
            emit(arith_word(percent(50) ? 0x18 : 0x19, true, vs2, other, 2, vs2)); // vmandn, vmand
        }
        emit(arith_word(0x14, vm, vs2, vs1, 2, vd));
    }

    static uint32_t vset_word(unsigned vtype, unsigned rd, unsigned rs1) {
        return vtype << 20 | rs1 << 15 | 7 << 12 | rd << 7 | kArith;
    }
    // Indices are often made small; those of 16 bits beside bytes need another vtype for that, at the same VLMAX.
    void small_indices(unsigned vs1, bool of16) {
        const bool other = of16 && sew != 1;
        const int log = static_cast<int>(lmul < 4 ? lmul : lmul - 8) + 1 - static_cast<int>(sew);
        if (other && (log > 3 || log < 1 - static_cast<int>(max_sew)))
            return;
        if (other)
            emit(vset_word(1 << 3 | (static_cast<unsigned>(log) & 7), 0, 0));
        li(kTemp, (1u << pick(9)) - 1);
        emit(arith_word(0x09, true, vs1, kTemp, 4, vs1)); // vand.vx
        if (other)
            emit(vset_word(sew << 3 | lmul, 0, 0));
    }
    // Of an element, perhaps behind the last; of a wide register sometimes one whose low half alone would be inside.
    uint64_t some_index() {
        const uint64_t index = pick(vlen + 2) >> pick(8);
        return wide_scalars && percent(15) ? index | uint64_t{1} << (32 + pick(32)) : index;
    }
    void slide() {
        const unsigned log = group(), vs2 = reg(log), form = pick(6);
        const bool vm = percent(60), up = form & 1;
        const unsigned vd = percent(up ? 3 : 40) ? vs2 : masked_reg(log, vm), f6 = 0x0e + !up;
        if (form < 2) {
            emit(arith_word(f6, vm, vs2, pick(32), 3, vd));
        } else {
            const unsigned scalar = percent(15) ? kValue + pick(12) : kTemp;
            if (scalar == kTemp)
                li(kTemp, some_index());
            emit(arith_word(f6, vm, vs2, scalar, form < 4 ? 4 : 6, vd));
        }
    }
    void gather() {
        const unsigned log = group(), form = pick(5), vs2 = reg(log);
        const bool vm = percent(60), of16 = form == 1;
        const unsigned vs1 = reg(of16 ? emul(1) : log), vd = masked_reg(log, vm);
        if (form < 3) {
            if (percent(75))
                small_indices(vs1, of16);
            emit(arith_word(of16 ? 0x0e : 0x0c, vm, vs2, vs1, 0, vd));
        } else if (form == 3) {
            const unsigned scalar = percent(15) ? kValue + pick(12) : kTemp;
            if (scalar == kTemp)
                li(kTemp, some_index());
            emit(arith_word(0x0c, vm, vs2, scalar, 4, vd));
        } else {
            emit(arith_word(0x0c, vm, vs2, pick(32), 3, vd));
        }
    }
    void compress() {
        const unsigned log = group(), vs2 = reg(log), vs1 = pick(percent(60) ? 8 : 32);
        if (percent(25))
            emit(arith_word(percent(50) ? 0x1a : 0x19, true, vs1, pick(8), 2, vs1)); // vmor, vmand
        emit(arith_word(0x17, !percent(3), vs2, vs1, 2, percent(3) ? vs2 : reg(log)));
    }

    void fixed_point_csr() {
        if (percent(60))
            emit(csr(5, kVxrm, 0, pick(4)));
        else if (percent(60))
            emit(csr(2, kVxsat, kValue + pick(12), 0));
        else
            emit(csr(5, kVxsat, kValue + pick(12), percent(80) ? 0 : 1));
    }

    // The most negative elements by themselves, by -1 and by 0, between a clear and a read of vxsat.
    void extremes() {
        const unsigned scalar = kValue + pick(12), vs2 = reg(group());
        li(scalar, uint64_t{1} << ((8u << sew) - 1));
        emit(arith_word(0x17, true, 0, scalar, 4, vs2)); // vmv.v.x
        if (percent(60))
            li(scalar, percent(60) ? ~uint64_t{0} : 0);
        emit(csr(5, kVxsat, 0, 0));
        struct Line {
            unsigned f6, f3;
        };
        // vsmul twice, vsadd, vssub, vdiv, vrem, vmulh, vaadd
        static constexpr Line kLines[] = {{0x27, 4}, {0x27, 4}, {0x21, 4}, {0x23, 4},
                                          {0x21, 6}, {0x23, 6}, {0x27, 6}, {0x09, 6}};
        const Line &line = kLines[pick(std::size(kLines))];
        const bool vm = percent(80);
        emit(arith_word(line.f6, vm, vs2, scalar, line.f3, masked_reg(group(), vm)));
        emit(csr(2, kVxsat, kValue + pick(12), 0));
    }

    // vzext and vsext, by 8 where elements are so large.
    unsigned some_extend() {
        return max_sew == 3 && percent(30) ? 2 + pick(2) : 4 + pick(4);
    }
    void move() {
        switch (pick(8)) {
        case 7: { // vzext, vsext
            const unsigned vs1 = percent(10) ? pick(32) : some_extend(),
                           fewer = vs1 < 4   ? 3
                                   : vs1 & 2 ? 1
                                             : 2,
                           log = group();
            const unsigned vd = reg(log), part = log > fewer ? log - fewer : 0;
            const unsigned vs2 = percent(25) ? (vd + (1u << log) - (1u << part)) & 31 : reg(part);
            emit(arith_word(0x12, vd == 0 || percent(60), vs2, vs1, 2, vd));
            break;
        }
        case 5: // mask logic
            emit(arith_word(0x18 + pick(8), !percent(2), pick(8), pick(8), 2, percent(30) ? 0 : pick(8)));
            break;
        case 6: // vcpop, vfirst
            emit(arith_word(0x10, percent(50), pick(8), 16 + pick(2), 2, pick(10) ? kValue + pick(12) : 0));
            break;
        case 0:
        case 1:
            emit(arith_word(0x10, true, pick(32), 0, 2, pick(10) ? kValue + pick(12) : 0)); // vmv.x.s
            break;
        case 2:
            emit(arith_word(0x10, true, 0, kValue + pick(12), 6, pick(percent(50) ? 4 : 32))); // vmv.s.x
            break;
        default: {
            const unsigned log = pick(4);
            emit(arith_word(0x27, true, reg(log), (1u << log) - 1, 3, reg(log)));
        }
        }
    }

    void memory() {
        const bool load = percent(55);
        const unsigned op = load ? kLoad : kStore, base = kPointer + pick(6);
        const unsigned eew = percent(60) ? sew : pick(max_sew + 1), width = eew ? eew + 4 : 0;
        const bool vm = percent(65);
        const unsigned kind = pick(13);
        if (percent(12))
            new_pointer(base);
        if (kind >= 11) {
            indexed(op, base, vm);
            return;
        }
        if (kind == 10 && percent(60))
            new_end_pointer(base);
        perhaps_vstart();
        switch (kind) {
        case 0: { // whole registers
            const unsigned log = pick(4);
            emit(memory_word(op, (1u << log) - 1, 0, true, 8, base, load ? width : 0, reg(log)));
            break;
        }
        case 1: // mask
            emit(memory_word(op, 0, 0, true, 11, base, 0, pick(percent(50) ? 2 : 32)));
            break;
        case 2:
        case 3: { // strided
            const unsigned log = emul(eew), vd = masked_reg(log, vm || !load);
            emit(memory_word(op, 0, 2, vm, kStride + pick(2), base, width, vd));
            break;
        }
        case 4:
        case 5: { // segments, unit-stride or strided
            const unsigned log = emul(eew), nf = some_nf(log), vd = segment_reg(log, nf, vm || !load);
            const bool strided = percent(50);
            emit(memory_word(op, nf, strided ? 2 : 0, vm, strided ? kStride + pick(2) : 0, base, width, vd));
            break;
        }
        case 10: { // fault-only-first
            const unsigned log = emul(eew), nf = percent(60) ? 0 : some_nf(log), vd = segment_reg(log, nf, vm);
            emit(memory_word(kLoad, nf, 0, vm, 16, base, width, vd));
            break;
        }
        default: {
            const unsigned log = emul(eew), vd = masked_reg(log, vm || !load);
            emit(memory_word(op, 0, 0, vm, 0, base, width, vd));
        }
        }
    }
    void perhaps_vstart() {
        if (percent(8))
            emit(csr(5, kVstart, 0, pick(percent(50) ? 4 : 32)));
    }
    // Fields less 1, most of the time so many that their groups are 8 registers at most.
    unsigned some_nf(unsigned log) {
        const unsigned most = log == 3 || percent(5) ? 8 : 8u >> log;
        return percent(5) ? 0 : pick(most);
    }
    // Most of the time all groups end at v31 or before.
    unsigned segment_reg(unsigned log, unsigned nf, bool may_be_0) {
        const unsigned all = (nf + 1) << log, r = masked_reg(log, may_be_0);
        return r + all > 32 && all <= 16 && !percent(10) ? (32 - all) & ~((1u << log) - 1) : r;
    }

    // Indices that lead to the vector memory or a little behind it, made at once, since no element may come to the
    // program or to kToHost: then the access.
    void indexed(unsigned op, unsigned base, bool vm) {
        const unsigned eew = pick(max_sew + 1), log = group(), index_log = emul(eew),
                       nf = percent(65) ? 0 : some_nf(log);
        const unsigned vd = segment_reg(log, nf, vm || op == kStore);
        unsigned vs2 = reg(index_log);
        if (percent(30)) // in the group of the elements: as its beginning or its end
            vs2 = percent(50) ? vd : (vd + ((nf + 1) << log) - (1u << index_log)) & 31;
        const int index_emul =
            static_cast<int>(lmul < 4 ? lmul : lmul - 8) + static_cast<int>(eew) - static_cast<int>(sew);
        if (index_emul <= 3 && (vs2 & ((1u << index_log) - 1)) == 0) {
            // Where LMUL is a fraction other elements of the register are indices, too; so the whole register.
            set_vlmax(eew << 3 | index_log);
            static constexpr uint32_t kAligned[] = {0x7c, 0xfc, 0x3fc, 0xffc, 0x1ffc, 0x1ffc, 0x3ffc, 0x7ffc};
            static constexpr uint32_t kAny[] = {0x3f, 0xff, 0x1ff, 0x3fff};
            const bool aligned = percent(85);
            const uint32_t mask = aligned ? kAligned[pick(std::size(kAligned))] : kAny[pick(std::size(kAny))];
            li(kTemp, mask);
            emit(arith_word(0x09, true, vs2, kTemp, 4, vs2)); // vand.vx
            if (percent(40)) {                                // one element more that is misaligned or illegal
                set_vlmax(2 << 3);
                li(kTemp, uint64_t{1} << pick(percent(50) ? 8 : 32));
                emit(arith_word(0x10, true, 0, kTemp, 6, 0)); // vmv.s.x
                if (vs2 != 0) {
                    set_vlmax(eew << 3 | index_log);
                    li(kTemp, 1u << (percent(50) ? pick(2) : 14));
                    emit(arith_word(0x0a, false, vs2, kTemp, 4, vs2)); // vor.vx
                }
            }
        } else if (eew > 0) {
            emit(memory_word(op, nf, 1, vm, vs2, base, 0, vd)); // bytes reach nothing else
            return;
        }
        if (percent(60))
            li(base, kVectorBase + (pick(512) << max_sew));
        set_vl(sew << 3 | lmul | pick(4) << 6);
        perhaps_vstart();
        emit(memory_word(op, nf, percent(50) ? 1 : 3, vm, vs2, base, eew ? eew + 4 : 0, vd));
    }
    void set_vlmax(unsigned vtype) {
        emit(vtype << 20 | 0 << 15 | 7 << 12 | kTemp << 7 | kArith);
    }

    unsigned masked_reg(unsigned log, bool may_be_0) {
        const unsigned r = reg(log);
        return r == 0 && !may_be_0 && !percent(5) ? 1u << log & 31 : r;
    }
    unsigned emul(unsigned eew) const {
        const int log = static_cast<int>(lmul < 4 ? lmul : lmul - 8) + static_cast<int>(eew) - static_cast<int>(sew);
        return log < 0 ? 0 : log > 3 ? 3 : static_cast<unsigned>(log);
    }

    // Seldom, as it costs much variety: all vector registers become indices that lead nowhere else.
    bool tame_indices() {
        if (percent(60))
            return false;
        set_vlmax(2 << 3 | 3);
        li(kTemp, percent(50) ? 0x7ffc : 0x7ffc7ffc);
        for (unsigned v = 0; v < 32; v += 8)
            emit(arith_word(0x09, true, v, kTemp, 4, v)); // vand.vx
        vset();
        return true;
    }

    // Any word of the major opcodes. Its addresses are those of the other accesses.
    void wild() {
        for (;;) {
            uint32_t word = static_cast<uint32_t>(rng());
            static constexpr unsigned kOps[] = {kArith, kArith, kLoad, kStore};
            word = (word & ~0x7fu) | kOps[pick(4)];
            if (percent(50)) // without it hardly a word is legal
                word = (word & ~(0x1fu << 26)) | (word & 0x08u << 24);
            const unsigned op = word & 0x7f, f3 = word >> 12 & 7;
            if (op == kArith) {
                if (f3 == 7)
                    continue; // vset*
                if (f3 == 2 && percent(70))
                    word &= ~(0x1fu << 15);
                if (f3 == 2)
                    word = (word & ~(0x1fu << 7)) | (kValue + pick(12)) << 7;
            } else {
                if (f3 >= 1 && f3 <= 4)
                    continue; // floating point
                word = (word & ~(0x1fu << 15)) | (kPointer + pick(6)) << 15;
                if ((word >> 26 & 3) == 2)
                    word = (word & ~(0x1fu << 20)) | (kStride + pick(2)) << 20;
                else if ((word >> 26 & 3) == 0 && percent(50)) {
                    static constexpr unsigned kUnit[] = {0, 0, 8, 8, 11, 16, 16};
                    word = (word & ~(0x1fu << 20)) | kUnit[pick(std::size(kUnit))] << 20;
                }
                if (percent(50)) // without it fields hardly ever fit
                    word &= ~(0x6u << 29);
                if (word >> 26 & 1 && f3 != 0 && !tame_indices())
                    word &= ~(7u << 12);
            }
            emit(word);
            return;
        }
    }

    void step() {
        if (percent(wild_share)) {
            wild();
            return;
        }
        const unsigned what = pick(100);
        if (what < 12)
            vset();
        else if (what < 20)
            li(kValue + pick(12), value());
        else if (what < 26)
            new_pointer(kPointer + pick(6));
        else if (what < 28)
            new_stride(kStride + pick(2));
        else if (what < 51)
            memory();
        else if (what < 58)
            move();
        else if (what < 61)
            vstart_arith();
        else if (what < 62)
            fixed_point_csr();
        else if (what < 63)
            extremes();
        else if (what < 69)
            multiply();
        else if (what < 74)
            widen();
        else if (what < 78)
            narrow();
        else if (what < 82)
            reduce();
        else if (what < 85)
            mask_unary();
        else if (what < 88)
            slide();
        else if (what < 91)
            gather();
        else if (what < 93)
            compress();
        else
            arith();
    }
    // Arithmetic never begins in the middle.
    void vstart_arith() {
        emit(csr(5, kVstart, 0, 1 + pick(7)));
        arith();
    }

    std::mt19937_64 &rng;
    unsigned vlen;
    bool wide_scalars;                          ///< scalar registers have 64 bits
    unsigned max_sew;                           ///< log2 of the largest element's bytes
    unsigned sew = 0, lmul = 0, wild_share = 4; ///< wild words a hundred steps
    std::vector<uint32_t> words;
};

} // namespace

VectorProgram random_vector_program(std::mt19937_64 &rng, uint64_t seed, const VectorShape &shape) {
    return Generator(rng, shape).make(seed);
}

} // namespace cosim
