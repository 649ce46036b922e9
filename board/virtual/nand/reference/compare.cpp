// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Compares BchCode with the BCH code of Linux (lib/bch.c), which is loaded from a shared object:
 *
 *     compare LIBRARY random T WORDS SEED      random words with 0 to T + 8 errors
 *     compare LIBRARY exhaustive T BYTES       every error of up to T + 1 bits of a short word
 *
 * Prints one line and exits with 1 at the first difference.
 */
#include "BchCode.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

/** The reference. Of its state only the first fields are public. */
class Reference {
  public:
    Reference(const char *path, unsigned t) {
        void *library = dlopen(path, RTLD_NOW);
        if (!library)
            throw std::runtime_error(dlerror());
        auto init = reinterpret_cast<void *(*)(int, int, unsigned, bool)>(dlsym(library, "bch_init"));
        encode_ = reinterpret_cast<Encode>(dlsym(library, "bch_encode"));
        decode_ = reinterpret_cast<Decode>(dlsym(library, "bch_decode"));
        state_ = init(14, static_cast<int>(t), 0x4443, false);
        if (!state_)
            throw std::runtime_error("the reference does not offer t = " + std::to_string(t));
        ecc_.resize((14 * t + 7) / 8);
        places_.resize(t);
    }
    void encode(const uint8_t *message, size_t bytes, uint8_t *parity, size_t parityBytes) {
        std::fill(ecc_.begin(), ecc_.end(), 0);
        encode_(state_, message, static_cast<unsigned>(bytes), ecc_.data());
        std::copy_n(ecc_.begin(), parityBytes, parity);
    }
    /** Corrects in place; the bits corrected, or -1. */
    int decode(uint8_t *word, size_t bytes, size_t parityBytes) {
        std::fill(ecc_.begin(), ecc_.end(), 0);
        std::copy_n(word + bytes, parityBytes, ecc_.begin());
        int n = decode_(state_, word, static_cast<unsigned>(bytes), ecc_.data(), nullptr, nullptr, places_.data());
        for (int i = 0; i < n; i++)
            word[places_[i] / 8] ^= static_cast<uint8_t>(1u << places_[i] % 8);
        return n < 0 ? -1 : n;
    }

  private:
    using Encode = void (*)(void *, const uint8_t *, unsigned, uint8_t *);
    using Decode = int (*)(void *, const uint8_t *, unsigned, const uint8_t *, const uint8_t *, const unsigned *,
                           unsigned *);
    Encode encode_;
    Decode decode_;
    void *state_;
    Bytes ecc_;
    std::vector<unsigned> places_;
};

[[noreturn]] void differ(const std::string &what) {
    printf("DIFFERENT: %s\n", what.c_str());
    exit(1);
}

/** Both decoders on one received word; what they say, which is the same. */
class Pair {
  public:
    Pair(const char *library, unsigned t, size_t messageBytes)
        : code(t), reference(library, t), bytes(messageBytes), word(messageBytes + code.parityBytes()) {
    }
    void encode() {
        Bytes parity(code.parityBytes());
        code.encode(word.data(), bytes, &word[bytes]);
        reference.encode(word.data(), bytes, parity.data(), parity.size());
        if (!std::equal(parity.begin(), parity.end(), word.begin() + static_cast<long>(bytes)))
            differ("parity");
    }
    unsigned bits() const {
        return static_cast<unsigned>(8 * bytes) + code.degree();
    }
    /** The number of errors put in and the verdict are compared too: a word with up to t is always restored. */
    int decode(const std::vector<unsigned> &errors) {
        received = word;
        for (unsigned e : errors)
            received[e / 8] ^= static_cast<uint8_t>(0x80u >> e % 8);
        before = received;
        theirs = received;
        int ours = code.decode(received.data(), bytes, &received[bytes]);
        int other = reference.decode(theirs.data(), bytes, code.parityBytes());
        if (ours < 0 && other > 0) {
            // For some words of more than t errors the reference returns places that are not those of errors. When it
            // is then given its own result, it finds errors in it: the right verdict is that the word cannot be
            // corrected.
            Bytes again = theirs;
            if (reference.decode(again.data(), bytes, code.parityBytes()) != 0) {
                other = -1;
                falselyCorrected++;
            }
        }
        std::string with = std::to_string(errors.size()) + " errors, t = " + std::to_string(code.t());
        if (ours != other)
            differ("verdict " + std::to_string(ours) + ", the reference's " + std::to_string(other) + ": " + with);
        if (ours < 0 ? received != before : received != theirs)
            differ("corrected word: " + with);
        if (errors.size() <= code.t() && (ours != static_cast<int>(errors.size()) || received != word))
            differ("a word that can be corrected: " + with);
        if (ours >= 0 && received != word)
            elsewhere++;
        return ours;
    }

    assasin::BchCode code;
    Reference reference;
    size_t bytes;
    Bytes word, received, before, theirs;
    unsigned long elsewhere = 0; /**< words corrected to another codeword than the one sent */
    /** Words that the reference says it has corrected, although the result is not a codeword. */
    unsigned long falselyCorrected = 0;
};

void compareRandom(const char *library, unsigned t, unsigned long words, uint64_t seed) {
    std::mt19937_64 rng(seed);
    Pair pair(library, t, 1028);
    unsigned long clean = 0, refused = 0, corrected = 0, atT = 0, beyond = 0;
    std::vector<unsigned> errors;
    for (unsigned long i = 0; i < words; i++) {
        for (size_t at = 0; at < pair.bytes; at += 4) {
            uint32_t v = static_cast<uint32_t>(rng());
            memcpy(&pair.word[at], &v, 4);
        }
        pair.encode();
        errors.resize(rng() % (t + 9));
        for (size_t e = 0; e < errors.size(); e++)
            do
                errors[e] = static_cast<unsigned>(rng() % pair.bits());
            while (std::find(errors.begin(), errors.begin() + static_cast<long>(e), errors[e]) !=
                   errors.begin() + static_cast<long>(e));
        int n = pair.decode(errors);
        clean += errors.empty();
        atT += errors.size() == t;
        beyond += errors.size() > t;
        refused += n < 0;
        corrected += n > 0;
    }
    printf(
        "t = %u, seed %lu: %lu words: %lu without errors, %lu with 1 to t - 1, %lu with t, %lu with t + 1 to t + 8; "
        "%lu corrected, %lu refused (%lu of them falsely corrected by the reference), %lu taken for another codeword "
        "by both, 0 differences\n",
        t, static_cast<unsigned long>(seed), words, clean, words - clean - atT - beyond, atT, beyond, corrected,
        refused, pair.falselyCorrected, pair.elsewhere);
}

void compareAll(const char *library, unsigned t, size_t bytes) {
    std::mt19937_64 rng(t);
    Pair pair(library, t, bytes);
    for (size_t i = 0; i < bytes; i++)
        pair.word[i] = static_cast<uint8_t>(rng());
    pair.encode();
    unsigned long count = 0;
    for (unsigned n = 0; n <= t + 1; n++) {
        std::vector<unsigned> errors(n);
        for (unsigned i = 0; i < n; i++)
            errors[i] = i;
        while (true) {
            pair.decode(errors);
            count++;
            // The next set of n places.
            unsigned i = n;
            while (i > 0 && errors[i - 1] == pair.bits() - n + i - 1)
                i--;
            if (i == 0)
                break;
            errors[i - 1]++;
            for (; i < n; i++)
                errors[i] = errors[i - 1] + 1;
        }
    }
    printf("t = %u: all %lu errors of up to %u of the %u bits of a word: %lu taken for another codeword by both, 0 "
           "differences\n",
           t, count, t + 1, pair.bits(), pair.elsewhere);
}

} // namespace

int main(int argc, char **argv) {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    std::string mode = argc > 2 ? argv[2] : "";
    try {
        if (mode == "random" && argc == 6)
            compareRandom(argv[1], static_cast<unsigned>(atoi(argv[3])), strtoul(argv[4], nullptr, 10),
                          strtoul(argv[5], nullptr, 10));
        else if (mode == "exhaustive" && argc == 5)
            compareAll(argv[1], static_cast<unsigned>(atoi(argv[3])), strtoul(argv[4], nullptr, 10));
        else {
            fprintf(stderr, "usage: compare LIBRARY random T WORDS SEED | exhaustive T BYTES\n");
            return 2;
        }
    } catch (const std::exception &e) {
        printf("FAILED: %s\n", e.what());
        return 1;
    }
    return 0;
}
