// SPDX-License-Identifier: BSD-3-Clause
// VariableUnit alone against the functions of the model (docs/varve/isa.md 4.1, 4.2): random registers of any widths,
// signs and mb, with dead slots between elements, all functions, masks and scalars, one operation a cycle or fewer.
// Compared are values, widths, the slots of each element, n, sign, mb, and mask bits. Beside it the sums of
// VariableSum, and registers of fixed width as LaneOperand reads them. Usage: variable_cosim SEED OPERATIONS
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "VVariableHarness.h"
#include "check.h"
#include "varve_model.h"

using namespace varve;

namespace {

constexpr unsigned kVlen = VARIABLE_VLEN, kG = VARIABLE_G, kMbmax = VARIABLE_MBMAX;
constexpr unsigned kEmax = kVlen / kG, kSlots = kVlen / kG;

constexpr unsigned bits_of(unsigned v) {
    return v ? 1 + bits_of(v / 2) : 0;
}
constexpr unsigned kCountBits = bits_of(kEmax), kWidthBits = 7;

// VariableFunction.scala
enum Function : unsigned {
    Add,
    Subtract,
    SubtractFrom,
    Min,
    Max,
    BitClear,
    And,
    Or,
    Xor,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    GreaterEqual,
    Greater,
    Multiply,
    Divide,
    ShiftLeft,
    ShiftRight,
    Duplicate,
    Index,
    FromSigned,
    FromUnsigned,
    Functions
};
const Op kOps[] = {Op::Add, Op::Sub, Op::Rsub, Op::Min, Op::Max, Op::Bic, Op::And, Op::Or,  Op::Xor, Op::Eq,
                   Op::Ne,  Op::Lt,  Op::Le,   Op::Ge,  Op::Gt,  Op::Mul, Op::Div, Op::Asl, Op::Asr, Op::Add};
const char *const kNames[] = {"add", "sub", "rsub", "min", "max", "bic", "and", "or",  "xor",   "eq",   "ne",  "lt",
                              "le",  "ge",  "gt",   "mul", "div", "asl", "asr", "dup", "index", "copy", "copy"};

bool is_compare(unsigned function) {
    return function >= Equal && function <= Greater;
}

using Bits = std::vector<bool>;

unsigned ceil_to(unsigned v, unsigned grain) {
    return (v + grain - 1) / grain * grain;
}

/// A register as the unit keeps it.
struct Vector {
    bool is_unsigned = true;
    unsigned mb = 8, n = 0;
    std::vector<Wide> v;
    Bits data = Bits(kVlen), live = Bits(kSlots);
};

struct Request {
    unsigned function = 0;
    Vector a, b;
    bool scalar = false;
    Wide x = 0;
    unsigned step = 0; ///< 5 bits
    Bits active = Bits(kEmax);
};

struct Expected {
    unsigned function = 0, n = 0, mb = 8;
    bool is_unsigned = true;
    std::vector<Wide> v;
    std::vector<unsigned> size; ///< bits allotted
    std::vector<bool> holds;
};

class Bench {
  public:
    explicit Bench(uint64_t seed) : rng(seed) {
        params.vlen = kVlen;
        params.g = kG;
        params.mbmax = kMbmax;
        params.check();
    }
    cosim::Checks checks;

    void run(unsigned operations) {
        top.reset = 1;
        top.valid = top.adds = top.clear = 0;
        tick();
        tick();
        top.reset = 0;
        for (unsigned done = 0; done < operations || !expected.empty();) {
            const bool clears = clears_at && done >= clears_at;
            if (clears) {
                clears_at = 0;
                expected.clear();
                counts.clear();
                sums.clear();
            }
            top.clear = clears;
            const bool offer = !clears && done < operations && room && below(pace) == 0;
            if (below(50) == 0)
                pace = 1 + below(4) * below(4);
            Request r;
            top.valid = offer;
            if (offer) {
                r = draw();
                drive(r);
            }
            top.clock = 0;
            top.eval();
            if (offer) {
                expected.push_back(answer(r));
                counts.push_back(expected.back().n);
                done++;
            }
            if (!clears && below(200) == 0)
                clears_at = done + 1;
            other(offer ? r : draw(), !clears && below(2));
            sample();
            room = top.room;
            top.clock = 1;
            top.eval();
            if (++idle > 3000) {
                checks.equal("answers that are missing", expected.size(), 0);
                return;
            }
        }
        checks.equal("counts that are missing", counts.size(), 0);
        // Every function must have come.
        for (unsigned f = 0; f < Functions; f++)
            if (operations >= 2000)
                equal("operations that are missing", drawn[f] == 0, 0, f, 0);
    }

  private:
    unsigned below(unsigned n) {
        return static_cast<unsigned>(rng() % n);
    }
    bool coin() {
        return rng() & 1;
    }
    void tick() {
        top.clock = 0;
        top.eval();
        top.clock = 1;
        top.eval();
    }

    /// Of exactly the width, where there is such a number.
    Wide number(unsigned w, bool is_unsigned) {
        if (w == 0)
            return 0;
        Wide v = static_cast<Wide>(rng());
        if (coin())
            v = coin() ? 0 : -1; // close to the ends of the range
        v = wrap(v, w, true);
        if (is_unsigned)
            return v | static_cast<Wide>(1) << (w - 1);
        if (w == 1)
            return -1;
        v = wrap(v, w - 2, true); // below the highest bit that differs from the sign
        const Wide positive = v | static_cast<Wide>(1) << (w - 2);
        return coin() ? positive : -positive - 1;
    }

    Vector operand(unsigned style) {
        Vector o;
        o.is_unsigned = coin();
        const unsigned most = kMbmax == 64 ? 4 : 3;
        o.mb = 8u << below(most);
        const unsigned widest = style % 3 == 0 ? o.mb : 1 + below(std::min(o.mb, 12u)),
                       wanted = below(8) ? kEmax : below(kEmax + 1);
        const unsigned zeros = below(4), gaps = below(3) ? below(5) : 0;
        for (unsigned s = 0; s < kVlen; s++)
            o.data[s] = coin();
        unsigned at = 0;
        while (o.n < wanted) {
            const unsigned w = zeros && below(4) < zeros ? 0 : below(widest + 1);
            const Wide v = number(w, o.is_unsigned);
            const unsigned slots = ceil_to(width(v, o.is_unsigned), kG) / kG;
            if (gaps)
                at += below(gaps) ? 0 : below(4);
            if (at + slots > kSlots)
                break;
            for (unsigned k = 0; k < slots; k++) {
                o.live[at + k] = true;
                for (unsigned b = 0; b < kG; b++)
                    o.data[(at + k) * kG + b] = v >> (k * kG + b) & 1;
            }
            at += slots;
            o.v.push_back(v);
            o.n++;
        }
        return o;
    }

    Request draw() {
        Request r;
        r.function = below(Functions);
        const unsigned style = below(6);
        r.a = operand(style);
        r.b = operand(style);
        if (below(8) == 0)
            r.b = r.a;
        // Of a register of fixed width the unit reads a alone; vv.index has no mask.
        r.scalar = r.function >= Duplicate || below(3) == 0;
        r.step = below(32);
        const unsigned w = below(33);
        r.x = coin() ? static_cast<Wide>(below(32)) - 16 : number(below(2) ? w : std::min(w, 9u), false);
        if (r.scalar && r.a.n && below(4) == 0)
            r.x = wrap(r.a.v[below(r.a.n)], 32, false);
        if (r.function == Index && coin())
            r.x = wrap((static_cast<Wide>(1) << below(33)) + below(64) - 32, 32, false);
        const unsigned mode = r.function >= Index ? 3 : below(4);
        for (unsigned i = 0; i < kEmax; i++)
            r.active[i] = mode == 0 ? coin() : mode == 1 ? below(8) == 0 : true;
        return r;
    }

    static uint64_t slice(const Bits &from, std::size_t at, unsigned n) {
        uint64_t v = 0;
        for (unsigned i = 0; i < n && at + i < from.size(); i++)
            v |= static_cast<uint64_t>(from[at + i]) << i;
        return v;
    }
    static unsigned log2(unsigned v) {
        return v <= 1 ? 0 : 1 + log2((v + 1) / 2);
    }

    // Bundles as words: the last field of VariableRequest.scala, VariableResult.scala and what they contain comes
    // first.
    static void put(Bits &word, const Bits &field) {
        word.insert(word.end(), field.begin(), field.end());
    }
    static void put(Bits &word, uint64_t field, unsigned n) {
        for (unsigned i = 0; i < n; i++)
            word.push_back(field >> i & 1);
    }
    static void put(Bits &word, const Vector &v) {
        put(word, log2(v.mb / 8), 2);
        put(word, v.is_unsigned, 1);
        put(word, v.n, kCountBits);
        put(word, v.live);
        for (unsigned i = 0; i < kEmax; i++)
            put(word, i < v.n ? width(v.v[i], v.is_unsigned) : 0, kWidthBits);
        put(word, v.data);
    }
    void drive(const Request &r) {
        Bits word;
        put(word, r.active);
        put(word, r.step, 5);
        put(word, static_cast<uint64_t>(r.x), 32);
        put(word, r.scalar, 1);
        put(word, r.b);
        put(word, r.a);
        put(word, r.function, 5);
        for (std::size_t i = 0; i < sizeof top.in / 4; i++)
            top.in[i] = static_cast<uint32_t>(slice(word, 32 * i, 32));
        if ((word.size() + 31) / 32 != sizeof top.in / 4)
            checks.equal("words of a request", sizeof top.in / 4, (word.size() + 31) / 32);
    }

    // The answer's fields, taken from the lowest bits.
    Bits take(unsigned n) {
        Bits field(n);
        for (unsigned i = 0; i < n; i++, place++)
            field[i] = from[place / 32] >> (place % 32) & 1;
        return field;
    }
    uint64_t take_number(unsigned n) {
        return slice(take(n), 0, n);
    }

    Expected answer(const Request &r) {
        Expected e;
        e.function = r.function;
        drawn[r.function]++;
        const Op op = r.function < Index ? kOps[r.function] : Op::Add;
        unsigned k = kEmax;
        std::vector<unsigned> aw;
        std::vector<Wide> v;
        Bits active = r.active;
        if (r.function == Duplicate) {
            e.is_unsigned = r.x >= 0;
            while (e.mb < width(r.x, e.is_unsigned))
                e.mb *= 2;
            for (unsigned i = 0; i < k; i++) {
                v.push_back(active[i] ? r.x : 0);
                aw.push_back(width(v[i], e.is_unsigned));
            }
        } else if (r.function == Index) {
            const int step = r.step < 16 ? static_cast<int>(r.step) : static_cast<int>(r.step) - 32;
            e.is_unsigned = r.x >= 0 && step >= 0;
            e.mb = 32;
            for (unsigned i = 0; i < k; i++) {
                v.push_back(wrap(r.x + static_cast<int>(i) * step, 32, e.is_unsigned));
                aw.push_back(width(v[i], e.is_unsigned));
            }
        } else if (r.function > Index) {
            e.is_unsigned = r.a.is_unsigned;
            e.mb = r.a.mb;
            k = r.a.n;
            v = r.a.v;
            for (unsigned i = 0; i < k; i++)
                aw.push_back(width(v[i], e.is_unsigned));
        } else {
            k = std::min({r.a.n, r.scalar ? kEmax : r.b.n, kEmax});
            const auto left = [&](unsigned i) { return Operand{r.a.v[i], r.a.is_unsigned, r.a.mb}; };
            const auto right = [&](unsigned i) {
                return r.scalar ? Operand{r.x, r.x >= 0, r.a.mb} : Operand{r.b.v[i], r.b.is_unsigned, r.b.mb};
            };
            for (unsigned i = 0; i < k; i++) {
                aw.push_back(active[i] ? align_width(params, op, left(i), right(i), r.scalar) : 0);
                v.push_back(active[i] ? compute(op, left(i), right(i)) : 0);
            }
            const Operand b{r.x, r.scalar ? r.x >= 0 : r.b.is_unsigned, r.scalar ? r.a.mb : r.b.mb};
            const Type type = result_type(op, Operand{0, r.a.is_unsigned, r.a.mb}, b);
            e.is_unsigned = type.is_unsigned;
            e.mb = type.mb;
        }
        const unsigned grain = r.function == Multiply || r.function == Divide ? std::max(kG, 8u) : kG;
        unsigned used = 0;
        for (; e.n < k && used + ceil_to(aw[e.n], grain) <= kVlen; e.n++) {
            e.size.push_back(ceil_to(aw[e.n], grain));
            used += e.size.back();
            e.v.push_back(v[e.n]);
            e.holds.push_back(v[e.n] != 0);
        }
        return e;
    }

    /// Sums of a's active elements, one cycle or more behind each other; a's data as lanes.
    void other(const Request &r, bool adds) {
        if (!top.valid)
            drive(r);
        top.adds = adds;
        const unsigned log = below(3), lanes = kVlen >> (3 + log), count = below(lanes + 1);
        top.laneEew = log;
        top.laneCount = count;
        top.laneUnsigned = coin();
        top.eval();
        if (adds) {
            uint64_t sum = 0;
            for (unsigned i = 0; i < r.a.n; i++)
                if (r.active[i])
                    sum += static_cast<uint64_t>(r.a.v[i]);
            sums.push_back(sum);
        }
        if (top.total_valid && !top.reset && !top.clear) {
            checks.equal("sums too many", sums.empty(), 0);
            if (!sums.empty()) {
                checks.equal("sum", top.total_bits, sums.front());
                sums.pop_front();
            }
        }
        // What lies in the lanes, and which bytes are live.
        place = 0;
        from = top.operand;
        const uint64_t log_mb = take_number(2), is_unsigned = take_number(1), n = take_number(kCountBits);
        const Bits live = take(kSlots);
        checks.equal("mb of lanes", log_mb, log);
        checks.equal("sign of lanes", is_unsigned, top.laneUnsigned);
        checks.equal("number of lanes", n, count);
        Bits want(kSlots);
        for (unsigned i = 0; i < kEmax; i++) {
            unsigned w = 0;
            if (i < count) {
                const uint64_t bits = slice(r.a.data, i * (8u << log), 8u << log);
                w = width(wrap(static_cast<Wide>(bits), 8u << log, is_unsigned), is_unsigned);
            }
            checks.equal("width of a lane", take_number(kWidthBits), w);
            for (unsigned k = 0; k < ceil_to(w, kG) / kG; k++)
                want[i * ((8u << log) / kG) + k] = true;
        }
        checks.equal("live slots of lanes", live == want, 1);
    }

    void equal(const char *what, uint64_t got, uint64_t want, unsigned function, unsigned i) {
        const bool shown = wrong[function] < 5;
        wrong[function] += got != want;
        if (got != want && shown)
            std::printf("%s, element %u: ", kNames[function], i);
        if (got == want || shown)
            checks.equal(what, got, want);
        else
            checks.failed++;
    }

    void sample() {
        if (top.counted_valid && !top.reset && !top.clear) {
            if (counts.empty())
                return checks.equal("counts too many", 1, 0);
            equal("count", top.counted_bits, counts.front(), expected.empty() ? 0 : expected.front().function, 0);
            counts.pop_front();
        }
        if (!top.out_valid || top.clear)
            return;
        idle = place = 0;
        from = top.out_bits;
        if (expected.empty())
            return checks.equal("answers too many", 1, 0);
        const Expected e = expected.front();
        expected.pop_front();
        const uint64_t log_mb = take_number(2), is_unsigned = take_number(1), n = take_number(kCountBits);
        const Bits live = take(kSlots);
        std::vector<uint64_t> widths;
        for (unsigned i = 0; i < kEmax; i++)
            widths.push_back(take_number(kWidthBits));
        const Bits data = take(kVlen);
        equal("n", n, e.n, e.function, 0);
        if (is_compare(e.function)) {
            for (unsigned i = 0; i < kEmax; i++)
                equal("mask bit", top.mask >> i & 1, i < e.n && e.holds[i], e.function, i);
            return;
        }
        equal("unsigned", is_unsigned, e.is_unsigned, e.function, 0);
        equal("mb", 8u << log_mb, e.mb, e.function, 0);
        Bits want_live(kSlots);
        unsigned at = 0;
        for (unsigned i = 0; i < kEmax; i++) {
            const unsigned w = i < e.n ? width(e.v[i], e.is_unsigned) : 0;
            equal("width", widths[i], w, e.function, i);
            if (i >= e.n)
                continue;
            const unsigned bits = ceil_to(w, kG);
            equal("slots that are too few", bits > e.size[i], 0, e.function, i);
            for (unsigned b = 0; b < bits; b += kG)
                want_live[(at + b) / kG] = true;
            equal("value",
                  static_cast<uint64_t>(bits ? wrap(static_cast<Wide>(slice(data, at, bits)), bits, e.is_unsigned) : 0),
                  static_cast<uint64_t>(e.v[i]), e.function, i);
            at += e.size[i];
        }
        for (unsigned s = 0; s < kSlots; s++)
            equal("live slot", live[s], want_live[s], e.function, s);
    }

    Params params;
    VVariableHarness top;
    std::mt19937_64 rng;
    unsigned pace = 1, idle = 0;
    std::deque<Expected> expected;
    std::deque<unsigned> counts;
    std::deque<uint64_t> sums;
    unsigned drawn[Functions] = {}, wrong[Functions] = {}, clears_at = 0;
    bool room = true;
    unsigned place = 0;             ///< in the answer
    const uint32_t *from = nullptr; ///< the answer
};

} // namespace

int main(int argc, char **argv) {
    const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const unsigned operations = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 20000;
    std::printf("variable_cosim: seed %llu, VLEN %u, G %u, MBMAX %u\n", static_cast<unsigned long long>(seed), kVlen,
                kG, kMbmax);
    Bench bench(seed);
    bench.checks.test = "VariableUnit";
    bench.run(operations);
    return bench.checks.report("variable_cosim");
}
