// SPDX-License-Identifier: BSD-3-Clause
// HuffmanTables alone against docs/varve/isa.md 5.3: random tables, good and bad, in both sets, for inputs and outputs.
// Of a good one all codes are decoded, from their own bits and from random ones, and all symbols encoded. The reference
// knows codes as strings of bits, and nothing of limits and bases. Usage: huffman_cosim SEED TABLES
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "VHuffmanTables.h"

namespace {

constexpr unsigned kWords = 138, kLongest = 15;

/// A code as text, its first bit first, and its symbol.
using Codes = std::map<std::string, unsigned>;

struct Table {
    std::array<unsigned, 276> half{};
    unsigned width = 8; ///< what the declaration says
    bool output = false;
};

class Bench {
  public:
    explicit Bench(uint64_t seed) : rng(seed) {
        top.reset = 1;
        top.io_fill_valid = top.io_build_valid = top.io_clear = 0;
        edge();
        edge();
        top.reset = 0;
    }

    bool run(unsigned tables) {
        for (unsigned i = 0; i < tables; i++)
            if (!one(i))
                return false;
        std::printf("%u tables were good, %u bad; %u codes and %u windows without a code were decoded, %u symbols "
                    "encoded, %u without a code\n",
                    good, bad, decoded, none, encoded, unknown);
        return good && bad && decoded && none && encoded && unknown;
    }

  private:
    unsigned below(unsigned n) {
        return static_cast<unsigned>(rng() % n);
    }
    bool chance(unsigned percent) {
        return below(100) < percent;
    }
    void edge() {
        top.clock = 0;
        top.eval();
        top.clock = 1;
        top.eval();
    }

    Table random_table() {
        Table t;
        t.output = chance(50);
        t.width = chance(60) ? 1 + below(8) : 1 + below(16);
        const unsigned values = 1u << t.width, most = t.output ? std::min(values, 256u) : 256;
        const unsigned n = chance(20) ? most : 1 + below(most);
        std::vector<unsigned> lengths = {1, 1};
        while (lengths.size() < n) { // splits a code that is short enough
            unsigned &one = lengths[chance(50) ? lengths.size() - 1 : below(static_cast<unsigned>(lengths.size()))];
            if (one < kLongest)
                lengths.push_back(++one);
        }
        while (lengths.size() > n || (chance(20) && lengths.size() > 1))
            lengths.pop_back();
        std::array<unsigned, 16> count{};
        unsigned longest = 0;
        for (const unsigned length : lengths) {
            count[length]++;
            longest = std::max(longest, length);
        }
        t.half[0] = 0x4856;
        t.half[1] = static_cast<unsigned>(lengths.size());
        t.half[2] = (chance(70) ? longest : longest + below(16 - longest)) | t.width << 8;
        for (unsigned i = 0; i < 16; i++)
            t.half[4 + i] = count[i];
        std::vector<unsigned> symbols(most);
        for (unsigned i = 0; i < most; i++)
            symbols[i] = i;
        std::shuffle(symbols.begin(), symbols.end(), rng);
        for (unsigned i = 0; i < 256; i++)
            t.half[20 + i] = i >= lengths.size() ? below(0x10000) : t.output ? symbols[i] : below(values);
        if (chance(40)) // one thing is wrong, or two
            for (unsigned i = 1 + below(2); i > 0; i--)
                switch (below(6)) {
                case 0:
                    t.half[below(4)] ^= 1u << below(16);
                    break;
                case 1: // one code longer or shorter: the sum stays
                    for (unsigned from = below(16), k = 0; k < 16; k++, from = (from + 1) % 16)
                        if (t.half[4 + from]) {
                            t.half[4 + from]--;
                            t.half[4 + below(16)]++;
                            break;
                        }
                    break;
                case 2:
                    t.half[4 + below(16)] += 1 + below(chance(50) ? 4 : 60000);
                    break;
                case 3:
                    t.half[20 + below(t.half[1] < 256 ? t.half[1] + 1 : 256)] = below(0x10000);
                    break;
                case 4:
                    t.half[20 + below(t.half[1] < 256 ? t.half[1] + 1 : 256)] = t.half[20];
                    break;
                default:
                    t.width = 1 + below(16);
                }
        for (unsigned &half : t.half)
            half &= 0xffff;
        return t;
    }

    /// All codes of a table, or none if it is bad.
    static std::optional<Codes> codes_of(const Table &t) {
        const unsigned n = t.half[1], longest = t.half[2] & 255, width = t.half[2] >> 8;
        if (t.half[0] != 0x4856 || t.half[3] != 0 || n < 1 || n > 256 || longest < 1 || longest > kLongest ||
            width != t.width)
            return std::nullopt;
        unsigned sum = 0;
        double kraft = 0;
        for (unsigned length = 0; length < 16; length++) {
            const unsigned count = t.half[4 + length];
            if (count && (length == 0 || length > longest))
                return std::nullopt;
            sum += count;
            kraft += count / static_cast<double>(1u << length);
        }
        if (sum != n || kraft > 1)
            return std::nullopt;
        Codes codes;
        std::map<unsigned, bool> seen;
        std::string next; // the code after the last one, as long as that
        unsigned at = 0;
        for (unsigned length = 1; length < 16; length++) {
            next += '0';
            for (unsigned i = 0; i < t.half[4 + length]; i++, at++) {
                const unsigned symbol = t.half[20 + at];
                if (symbol >> width || (t.output && (symbol > 255 || seen[symbol])))
                    return std::nullopt;
                seen[symbol] = true;
                codes[next] = symbol;
                size_t k = next.size(); // one more
                while (k > 0 && next[k - 1] == '1')
                    next[--k] = '0';
                if (k > 0)
                    next[k - 1] = '1';
            }
        }
        return codes;
    }

    bool fail(unsigned i, const std::string &what) {
        std::printf("table %u: %s\n", i, what.c_str());
        return false;
    }

    bool one(unsigned i) {
        const Table t = random_table();
        const bool set = chance(50);
        const auto codes = codes_of(t);
        for (unsigned word = 0; word < kWords; word++) {
            top.io_fill_valid = 1;
            top.io_fill_bits_set = set;
            top.io_fill_bits_word = word;
            top.io_fill_bits_data = t.half[2 * word] | t.half[2 * word + 1] << 16;
            edge();
        }
        top.io_fill_valid = 0;
        top.io_build_valid = 1;
        top.io_build_bits_set = set;
        top.io_build_bits_symbolBits = t.width;
        top.io_build_bits_output = t.output;
        edge();
        top.io_build_valid = 0;
        for (unsigned cycles = 0; !top.io_idle; cycles++) {
            if (cycles > 300)
                return fail(i, "is never built");
            top.io_bits = below(1u << kLongest); // means nothing meanwhile
            edge();
        }
        if (top.io_good != codes.has_value()) {
            std::printf("%u symbols of %u bits, %s, counts", t.half[1], t.width, t.output ? "output" : "input");
            for (unsigned length = 0; length < 16; length++)
                std::printf(" %u", t.half[4 + length]);
            std::printf("\n");
            return fail(i, codes ? "is good, and called bad" : "is bad, and called good");
        }
        ++(codes ? good : bad);
        if (codes)
            held[set] = *codes, outputs[set] = t.output, there[set] = true, longest[set] = t.half[2] & 255;
        else
            there[set] = false;
        // The other set has not changed.
        for (const bool which : {false, true})
            if (there[which] && (!try_decode(i, which) || (outputs[which] && !try_encode(i, which))))
                return false;
        return true;
    }

    bool try_decode(unsigned i, bool set) {
        top.io_set = set;
        const Codes &codes = held[set];
        std::vector<std::string> windows;
        for (const auto &[code, symbol] : codes) {
            windows.push_back(code);
            while (windows.back().size() < kLongest)
                windows.back() += chance(50) ? '1' : '0';
        }
        windows.emplace_back(kLongest, '1');
        for (unsigned k = 0; k < 20; k++) {
            windows.emplace_back();
            for (unsigned bit = 0; bit < kLongest; bit++)
                windows.back() += chance(80) ? '1' : '0';
        }
        unsigned symbol = 0;
        bool owed = false;
        for (const std::string &window : windows) {
            const auto bits = static_cast<unsigned>(std::stoul(window, nullptr, 2));
            unsigned length = 0, next = 0;
            for (unsigned l = 1; l <= kLongest && !length; l++) {
                const auto found = codes.find(window.substr(0, l));
                if (found != codes.end())
                    length = l, next = found->second;
            }
            top.io_bits = bits;
            top.eval();
            if (owed && top.io_symbol != symbol)
                return fail(i, "decodes symbol " + std::to_string(top.io_symbol) + ", not " + std::to_string(symbol));
            if (top.io_length != length || top.io_longest != longest[set])
                return fail(i, "finds a code of " + std::to_string(top.io_length) + " bits in " + window + ", not " +
                                   std::to_string(length));
            ++(length ? decoded : none);
            symbol = next;
            owed = length;
            edge();
        }
        return true;
    }

    bool try_encode(unsigned i, bool set) {
        std::map<unsigned, std::string> by_symbol;
        for (const auto &[code, symbol] : held[set])
            by_symbol[symbol] = code;
        top.io_look_set = set;
        for (unsigned symbol = 0; symbol < 300; symbol++) {
            const unsigned asked = chance(5) ? below(0x10000) : symbol;
            top.io_look_symbol = asked;
            edge();
            const auto found = by_symbol.find(asked);
            std::string code = found == by_symbol.end() ? "" : found->second;
            const unsigned length = static_cast<unsigned>(code.size());
            unsigned bits = 0;
            for (unsigned k = 0; k < length; k++)
                bits |= (code[k] == '1' ? 1u : 0u) << k;
            if (top.io_look_length != length || (length && top.io_look_code != bits))
                return fail(i, "encodes symbol " + std::to_string(asked) + " in " + std::to_string(top.io_look_length) +
                                   " bits, not as " + code);
            ++(length ? encoded : unknown);
        }
        return true;
    }

    std::mt19937_64 rng;
    VHuffmanTables top;
    std::array<Codes, 2> held;
    std::array<bool, 2> there{}, outputs{};
    std::array<unsigned, 2> longest{};
    unsigned good = 0, bad = 0, decoded = 0, none = 0, encoded = 0, unknown = 0;
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: huffman_cosim SEED TABLES\n");
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 10);
    std::printf("huffman_cosim: seed %llu\n", static_cast<unsigned long long>(seed));
    Bench bench(seed);
    const bool passed = bench.run(static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)));
    std::printf("%d passed, %d failed\n", passed, !passed);
    return passed ? 0 : 1;
}
