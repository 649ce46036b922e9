// SPDX-License-Identifier: BSD-3-Clause
#include "BchCode.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace assasin {

namespace {

constexpr unsigned kPolynomial = 0x4443, kOrder = 16383;

/** GF(2^14) by logarithms. */
struct Field {
    std::array<uint16_t, 2 * kOrder> exp{};
    std::array<uint16_t, kOrder + 1> log{};
    Field() {
        unsigned x = 1;
        for (unsigned i = 0; i < kOrder; i++) {
            exp[i] = exp[i + kOrder] = static_cast<uint16_t>(x);
            log[x] = static_cast<uint16_t>(i);
            x <<= 1;
            if (x >> 14)
                x ^= kPolynomial;
        }
    }
    uint16_t mul(uint16_t a, uint16_t b) const {
        return a && b ? exp[log[a] + log[b]] : 0;
    }
    uint16_t power(uint64_t e) const {
        return exp[e % kOrder];
    }
};
const Field &field() {
    static const Field f;
    return f;
}

/** Coefficients of the generator polynomial, lowest power first. */
std::vector<uint8_t> generator(unsigned t) {
    const Field &gf = field();
    std::vector<bool> used(kOrder, false);
    std::vector<uint8_t> g{1};
    for (unsigned j = 1; j < 2 * t; j += 2) {
        if (used[j])
            continue;
        std::vector<uint16_t> minimal{1};
        unsigned root = j;
        do {
            used[root] = true;
            minimal.push_back(0);
            for (size_t i = minimal.size() - 1; i > 0; i--)
                minimal[i] = static_cast<uint16_t>(minimal[i - 1] ^ gf.mul(minimal[i], gf.exp[root]));
            minimal[0] = gf.mul(minimal[0], gf.exp[root]);
            root = root * 2 % kOrder;
        } while (root != j);
        std::vector<uint8_t> product(g.size() + minimal.size() - 1, 0);
        for (size_t i = 0; i < g.size(); i++)
            for (size_t k = 0; k < minimal.size(); k++)
                product[i + k] = static_cast<uint8_t>(product[i + k] ^ (g[i] & minimal[k]));
        g = product;
    }
    return g;
}

uint64_t bigEndian(const uint8_t *p) {
    uint64_t v;
    std::memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}

} // namespace

BchCode::BchCode(unsigned t) : t_(t), rowLength_((t + 7) / 8 * 8) {
    if (t == 0 || t > kMaxT)
        throw std::invalid_argument("a BCH code for " + std::to_string(t) + " bits; there are those for 1 to " +
                                    std::to_string(kMaxT));
    const Field &gf = field();
    std::vector<uint8_t> g = generator(t);
    degree_ = static_cast<unsigned>(g.size()) - 1;
    words_ = (degree_ + 255) / 256 * 4;

    Remainder low{};
    for (unsigned i = 0; i < degree_; i++)
        if (g[degree_ - 1 - i])
            low[i / 64] |= 1ull << (63 - i % 64);
    std::vector<Remainder> unit(64); // of x^(degree + i)
    unit[0] = low;
    for (unsigned i = 1; i < 64; i++) {
        for (unsigned w = 0; w < words_; w++)
            unit[i][w] = unit[i - 1][w] << 1 | (w + 1 < words_ ? unit[i - 1][w + 1] >> 63 : 0);
        if (unit[i - 1][0] >> 63)
            for (unsigned w = 0; w < words_; w++)
                unit[i][w] ^= low[w];
    }
    division_.assign(size_t{8} * 256 * words_, 0);
    for (unsigned byte = 0; byte < 8; byte++)
        for (unsigned value = 1; value < 256; value++)
            for (unsigned bit = 0; bit < 8; bit++)
                if (value >> bit & 1)
                    for (unsigned w = 0; w < words_; w++)
                        division_[(byte * 256 + value) * words_ + w] ^= unit[8 * (7 - byte) + bit][w];

    powers_.assign(size_t{degree_} * rowLength_, 0);
    for (unsigned p = 0; p < degree_; p++)
        for (unsigned j = 0; j < t; j++)
            powers_[p * rowLength_ + j] = gf.power((2ull * j + 1) * p);

    slices_.assign(size_t{t} * kM * kSliceWords, 0);
    for (unsigned k = 1; k <= t; k++)
        for (unsigned bit = 0; bit < kM; bit++)
            for (unsigned i = 0; i < 64; i++) {
                unsigned v = gf.power(bit + uint64_t{k} * i);
                for (unsigned c = 0; c < kM; c++)
                    slices_[((k - 1) * kM + bit) * kSliceWords + c] |= static_cast<uint64_t>(v >> c & 1) << i;
            }
}

template <unsigned Words, unsigned Messages>
void BchCode::divide(const uint8_t *const *message, size_t bytes, Remainder *remainder) const {
    uint64_t s[Messages][Words + 1] = {};
    const uint64_t *table = division_.data();
    // A step waits for the one before; those of several messages wait beside each other.
    auto step = [&](unsigned n, uint64_t m) {
        uint64_t top = s[n][0] ^ m;
        const uint64_t *r[8];
        for (unsigned i = 0; i < 8; i++)
            r[i] = table + (i * 256 + (top >> (56 - 8 * i) & 255)) * Words;
        for (unsigned w = 0; w < Words; w++)
            s[n][w] = s[n][w + 1] ^ r[0][w] ^ r[1][w] ^ r[2][w] ^ r[3][w] ^ r[4][w] ^ r[5][w] ^ r[6][w] ^ r[7][w];
    };
    // Zeros in front change nothing.
    size_t head = bytes % 8;
    for (unsigned n = 0; n < Messages && head; n++) {
        uint64_t first = 0;
        for (size_t i = 0; i < head; i++)
            first = first << 8 | message[n][i];
        step(n, first);
    }
    for (size_t i = head; i < bytes; i += 8)
        for (unsigned n = 0; n < Messages; n++)
            step(n, bigEndian(message[n] + i));
    for (unsigned n = 0; n < Messages; n++)
        std::memcpy(remainder[n].data(), s[n], sizeof(uint64_t) * Words);
}

template <unsigned Messages>
std::array<BchCode::Remainder, Messages> BchCode::remainders(const uint8_t *const *message, size_t bytes) const {
    if (bytes > maxMessageBytes())
        throw std::invalid_argument("a message of " + std::to_string(bytes) + " bytes; the code takes " +
                                    std::to_string(maxMessageBytes()));
    std::array<Remainder, Messages> r{};
    switch (words_) {
    case 4:
        divide<4, Messages>(message, bytes, r.data());
        break;
    case 8:
        divide<8, Messages>(message, bytes, r.data());
        break;
    case 12:
        divide<12, Messages>(message, bytes, r.data());
        break;
    case 16:
        divide<16, Messages>(message, bytes, r.data());
        break;
    default:
        divide<20, Messages>(message, bytes, r.data());
        break;
    }
    return r;
}

void BchCode::store(const Remainder &r, uint8_t *parity) const {
    for (unsigned i = 0; i < parityBytes(); i++)
        parity[i] = static_cast<uint8_t>(r[i / 8] >> (56 - 8 * (i % 8)));
}

void BchCode::encode(const uint8_t *message, size_t bytes, uint8_t *parity) const {
    store(remainders<1>(&message, bytes)[0], parity);
}

void BchCode::encodeFour(const std::array<uint8_t *, 4> &message, size_t bytes) const {
    const auto all = remainders<4>(message.data(), bytes);
    for (unsigned n = 0; n < 4; n++)
        store(all[n], message[n] + bytes);
}

int BchCode::decode(uint8_t *message, size_t bytes, uint8_t *parity) const {
    const uint8_t *const one = message;
    Remainder r = remainders<1>(&one, bytes)[0];
    for (unsigned i = 0; i < parityBytes(); i++)
        r[i / 8] ^= static_cast<uint64_t>(parity[i]) << (56 - 8 * (i % 8));
    if (degree_ % 64)
        r[degree_ / 64] &= ~0ull << (64 - degree_ % 64);
    uint64_t any = 0;
    for (unsigned w = 0; w < words_; w++)
        any |= r[w];
    if (!any)
        return 0;
    Locator lambda{};
    int errors = locator(r, lambda);
    if (errors < 0)
        return -1;
    unsigned powers[kMaxT];
    unsigned n = static_cast<unsigned>(8 * bytes) + degree_;
    if (!roots(lambda, static_cast<unsigned>(errors), n, powers))
        return -1;
    for (int i = 0; i < errors; i++) {
        unsigned at = n - 1 - powers[i];
        uint8_t bit = static_cast<uint8_t>(0x80u >> (at % 8));
        if (at < 8 * bytes)
            message[at / 8] ^= bit;
        else
            parity[at / 8 - bytes] ^= bit;
    }
    return errors;
}

int BchCode::locator(const Remainder &r, Locator &lambda) const {
    const Field &gf = field();
    std::array<uint16_t, (kMaxT + 7) / 8 * 8> odd{};
    for (unsigned w = 0; w < words_; w++)
        for (uint64_t bits = r[w]; bits; bits &= bits - 1) {
            unsigned p = degree_ - 1 - (64 * w + 63 - static_cast<unsigned>(__builtin_ctzll(bits)));
            const uint16_t *row = &powers_[size_t{p} * rowLength_];
            for (unsigned j = 0; j < rowLength_; j++)
                odd[j] ^= row[j];
        }
    std::array<uint16_t, 2 * kMaxT + 1> s{};
    for (unsigned j = 1; j <= 2 * t_; j++)
        s[j] = j % 2 ? odd[j / 2] : gf.mul(s[j / 2], s[j / 2]);

    // Berlekamp and Massey; over GF(2) every second discrepancy is zero.
    Locator c{}, b{};
    c[0] = b[0] = 1;
    unsigned length = 0, shift = 1, lengthB = 0;
    uint16_t last = 1;
    for (unsigned n = 0; n < 2 * t_; n += 2) {
        uint16_t d = s[n + 1];
        for (unsigned i = 1; i <= length; i++)
            d ^= gf.mul(c[i], s[n + 1 - i]);
        if (d) {
            unsigned factor = gf.log[d] + kOrder - gf.log[last];
            factor = factor >= kOrder ? factor - kOrder : factor;
            Locator before = c;
            for (unsigned i = 0; i <= lengthB; i++)
                if (b[i])
                    c[i + shift] ^= gf.exp[factor + gf.log[b[i]]];
            if (2 * length <= n) {
                b = before;
                lengthB = length;
                length = n + 1 - length;
                last = d;
                shift = 0;
                if (length > t_)
                    return -1;
            }
        }
        shift += 2;
    }
    if (c[length] == 0)
        return -1;
    lambda = c;
    return static_cast<int>(length);
}

bool BchCode::roots(const Locator &lambda, unsigned degree, unsigned n, unsigned *powers) const {
    const Field &gf = field();
    if (degree == 1) {
        powers[0] = gf.log[lambda[1]];
        return powers[0] < n;
    }
    // 64 places at a time, the values as bits of kM words: alpha^e for e = first .. kOrder, where an error of power p
    // shows at e = kOrder - p.
    unsigned first = kOrder - (n - 1), found = 0;
    struct Term {
        unsigned log, step;
        const uint64_t *slice;
    } terms[kMaxT];
    unsigned count = 0;
    for (unsigned k = 1; k <= degree; k++)
        if (lambda[k])
            terms[count++] = {static_cast<unsigned>((gf.log[lambda[k]] + uint64_t{k} * first) % kOrder),
                              64 * k % kOrder, &slices_[size_t{k - 1} * kM * kSliceWords]};
    for (unsigned at = 0; at < n && found < degree; at += 64) {
        uint64_t sum[kSliceWords] = {~0ull}; // lambda[0] is 1
        for (unsigned i = 0; i < count; i++) {
            Term &term = terms[i];
            for (unsigned bits = gf.exp[term.log]; bits; bits &= bits - 1) {
                const uint64_t *slice = term.slice + static_cast<unsigned>(__builtin_ctz(bits)) * kSliceWords;
                for (unsigned c = 0; c < kSliceWords; c++)
                    sum[c] ^= slice[c];
            }
            term.log += term.step;
            term.log = term.log >= kOrder ? term.log - kOrder : term.log;
        }
        uint64_t nonzero = 0;
        for (unsigned c = 0; c < kM; c++)
            nonzero |= sum[c];
        uint64_t zeros = ~nonzero & (n - at < 64 ? (1ull << (n - at)) - 1 : ~0ull);
        for (; zeros; zeros &= zeros - 1)
            powers[found++] = n - 1 - (at + static_cast<unsigned>(__builtin_ctzll(zeros)));
    }
    return found == degree;
}

} // namespace assasin
