// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The raw error rates at which a codeword of docs/medium.md fails with given probabilities: worked out as the tail of a
 * binomial distribution, and measured with BchCode on words whose bits are in error at random.
 *
 *     rber FAILURES [T...]      simulate until about so many words have failed at each rate
 */
#include "BchCode.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

constexpr unsigned kMessageBytes = 1028;

/** Probability of more than t errors in n bits that are wrong with probability p. */
double tail(unsigned n, unsigned t, double p) {
    double sum = 0;
    for (unsigned k = t + 1; k <= n && k < t + 400; k++)
        sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) + k * std::log(p) +
                        (n - k) * std::log1p(-p));
    return sum;
}

double rateFor(unsigned n, unsigned t, double failure) {
    double low = 1e-7, high = 0.03;
    for (int i = 0; i < 80; i++) {
        double middle = std::sqrt(low * high);
        (tail(n, t, middle) < failure ? low : high) = middle;
    }
    return low;
}

struct Measured {
    unsigned long words, failed;
    double share() const {
        return static_cast<double>(failed) / static_cast<double>(words);
    }
    /** A bound of Wilson's interval, which holds the true share in 95 % of all measurements; sign: -1 or 1. */
    double bound(int sign) const {
        constexpr double z = 1.96;
        const double n = static_cast<double>(words), p = share();
        return (p + z * z / (2 * n) + sign * z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (1 + z * z / n);
    }
};

Measured measure(const assasin::BchCode &code, double p, unsigned long words) {
    std::mt19937_64 rng(code.t());
    std::vector<uint8_t> word(kMessageBytes + code.parityBytes()), received;
    for (unsigned i = 0; i < kMessageBytes; i++)
        word[i] = static_cast<uint8_t>(rng());
    code.encode(word.data(), kMessageBytes, &word[kMessageBytes]);
    const unsigned bits = 8 * kMessageBytes + code.degree();
    std::geometric_distribution<unsigned> gap(p);
    Measured m{words, 0};
    for (unsigned long i = 0; i < words; i++) {
        received = word;
        unsigned errors = 0;
        for (unsigned at = gap(rng); at < bits; at += 1 + gap(rng), errors++)
            received[at / 8] ^= static_cast<uint8_t>(0x80u >> at % 8);
        bool right = code.decode(received.data(), kMessageBytes, &received[kMessageBytes]) >= 0 && received == word;
        if (right != (errors <= code.t())) {
            printf("a word with %u errors was %s\n", errors, right ? "corrected" : "not corrected");
            exit(1);
        }
        m.failed += !right;
    }
    return m;
}

} // namespace

int main(int argc, char **argv) {
    unsigned long failures = argc > 1 ? strtoul(argv[1], nullptr, 10) : 0;
    std::vector<unsigned> strengths{24, 40, 55, 70};
    if (argc > 2) {
        strengths.clear();
        for (int i = 2; i < argc; i++)
            strengths.push_back(static_cast<unsigned>(strtoul(argv[i], nullptr, 10)));
    }
    printf("| t | raw error rate | codeword fails, computed | measured | 95 %% interval | sector fails, computed |\n"
           "|---|---|---|---|---|---|\n");
    for (unsigned t : strengths) {
        assasin::BchCode code(t);
        const unsigned n = 8 * kMessageBytes + code.degree();
        for (double failure : {1e-1, 1e-2, 1e-3, 1e-4, 1e-12, 1e-16}) {
            double p = rateFor(n, t, failure);
            double sector = -std::expm1(4 * std::log1p(-failure));
            printf("| %u | %.3e | %.1e | ", t, p, failure);
            if (failures > 0 && failure >= 1e-4) {
                Measured m =
                    measure(code, p, static_cast<unsigned long>(std::lround(static_cast<double>(failures) / failure)));
                printf("%.2e (%lu of %lu) | %.2e to %.2e", m.share(), m.failed, m.words, m.bound(-1), m.bound(1));
            } else {
                printf("- | -");
            }
            printf(" | %.1e |\n", sector);
            fflush(stdout);
        }
    }
    return 0;
}
