// SPDX-License-Identifier: BSD-3-Clause
// By exhaustion (docs/varve/isa.md 4.2): for mb 8 and 16, all pairs of signs and all pairs of 8-bit operands, the
// wrapped result of every operation is no wider than its alignment width, and for every operation some pair needs all
// of it.
#include <algorithm>
#include <cstdio>

#include "varve_model.h"

using namespace varve;

namespace {

const char *const kNames[] = {"add", "sub", "rsub", "min", "max", "bic", "and",
                              "or",  "xor", "div",  "mul", "asl", "asr"};

/// The result by plain arithmetic on 64 bits, which 8-bit operands do not leave.
int64_t plain(Op op, int64_t a, int64_t b, unsigned mb, bool is_unsigned) {
    const auto shift = static_cast<unsigned>(((b % mb) + mb) % mb);
    int64_t r = 0;
    switch (op) {
    case Op::Add:
        r = a + b;
        break;
    case Op::Sub:
        r = a - b;
        break;
    case Op::Rsub:
        r = b - a;
        break;
    case Op::Min:
        r = a < b ? a : b;
        break;
    case Op::Max:
        r = a > b ? a : b;
        break;
    case Op::Bic:
        r = a & ~b;
        break;
    case Op::And:
        r = a & b;
        break;
    case Op::Or:
        r = a | b;
        break;
    case Op::Xor:
        r = a ^ b;
        break;
    case Op::Div:
        r = b ? a / b : 0;
        break;
    case Op::Mul:
        r = a * b;
        break;
    case Op::Asl:
        r = a * (int64_t{1} << shift);
        break;
    default:
        r = a >> shift;
    }
    const int64_t size = int64_t{1} << mb;
    r = ((r % size) + size) % size;
    return !is_unsigned && r >= size / 2 ? r - size : r;
}

unsigned plain_width(int64_t v, bool is_unsigned) {
    unsigned w = 0;
    if (is_unsigned)
        return v ? 64 - static_cast<unsigned>(__builtin_clzll(static_cast<unsigned long long>(v))) : 0;
    if (v)
        for (w = 1; v < -(int64_t{1} << (w - 1)) || v > (int64_t{1} << (w - 1)) - 1; w++) {
        }
    return w;
}

} // namespace

int main() {
    unsigned passed = 0, failed = 0;
    Params params;
    for (unsigned number = 0; number <= static_cast<unsigned>(Op::Asr); number++) {
        const Op op = static_cast<Op>(number);
        for (const bool scalar : {false, true}) {
            uint64_t wrong = 0, pairs = 0, tight = 0;
            for (const unsigned mb : {8u, 16u})
                for (unsigned signs = 0; signs < 4; signs++) {
                    const bool ua = signs & 1, ub = signs & 2;
                    for (int i = 0; i < 256; i++)
                        for (int j = 0; j < 256; j++) {
                            const int64_t x = ua ? i : i - 128, y = ub ? j : j - 128;
                            // a number's type follows from its sign
                            if (scalar && ub != (y >= 0))
                                continue;
                            const Operand a{x, ua, mb}, b{y, ub, mb};
                            const Type type = result_type(op, a, b);
                            const Wide r = compute(op, a, b);
                            const unsigned aw = align_width(params, op, a, b, scalar);
                            const unsigned w = width(r, type.is_unsigned);
                            pairs++;
                            if (w > aw || r != plain(op, x, y, mb, type.is_unsigned) ||
                                w != plain_width(static_cast<int64_t>(r), type.is_unsigned) || aw > std::max(mb, 9u)) {
                                if (!wrong++)
                                    std::printf(
                                        "%s%s mb %u: %d (%c) and %d (%c): result %lld of %u bits, allotted %u\n",
                                        kNames[number], scalar ? " with a number" : "", mb, static_cast<int>(x),
                                        ua ? 'u' : 's', static_cast<int>(y), ub ? 'u' : 's', static_cast<long long>(r),
                                        w, aw);
                            }
                            tight += w == aw && w != 0;
                        }
                }
            if (tight == 0)
                std::printf("%s: no pair needs its alignment width\n", kNames[number]);
            if (wrong == 0 && tight != 0 && pairs > 100000)
                passed++;
            else
                failed++;
        }
    }
    std::printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
