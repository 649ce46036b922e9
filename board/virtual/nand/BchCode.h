// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace assasin {

/**
 * A binary BCH code over GF(2^14) that corrects t bits of a word: parity and its decoding, in the bit order of
 * docs/medium.md. A word that is whole costs a division by the generator polynomial, eight bytes at a time; the rest of
 * the work is done on the remainder.
 */
class BchCode {
  public:
    static constexpr unsigned kMaxT = 75;
    /** \throws std::invalid_argument when t is 0 or above kMaxT */
    explicit BchCode(unsigned t);

    unsigned t() const {
        return t_;
    }
    /** Parity bits. */
    unsigned degree() const {
        return degree_;
    }
    /** Bytes that hold them; the bits behind the last are zero. */
    unsigned parityBytes() const {
        return (degree_ + 7) / 8;
    }
    /** Longest message. */
    size_t maxMessageBytes() const {
        return (kOrder - degree_) / 8;
    }

    /** \throws std::invalid_argument here and below when the message is longer than maxMessageBytes() */
    void encode(const uint8_t *message, size_t bytes, uint8_t *parity) const;
    /** Four messages at once, which is faster than one after the other; each is followed by the place of its parity. */
    void encodeFour(const std::array<uint8_t *, 4> &message, size_t bytes) const;
    /** Corrects message and parity in place; leaves them alone when that is impossible.
     * \return the bits corrected, -1 when the word lies further than t bits from every codeword */
    int decode(uint8_t *message, size_t bytes, uint8_t *parity) const;

  private:
    static constexpr unsigned kM = 14, kOrder = (1u << kM) - 1;
    static constexpr unsigned kMaxWords = 20;   // of a remainder, rounded up to 256 bits
    static constexpr unsigned kSliceWords = 16; // kM coordinates, rounded up
    /** Highest power in the highest bit of word 0. */
    using Remainder = std::array<uint64_t, kMaxWords>;
    using Locator = std::array<uint16_t, 2 * kMaxT + 2>;

    template <unsigned Messages>
    std::array<Remainder, Messages> remainders(const uint8_t *const *message, size_t bytes) const;
    template <unsigned Words, unsigned Messages>
    void divide(const uint8_t *const *message, size_t bytes, Remainder *remainder) const;
    void store(const Remainder &r, uint8_t *parity) const;
    /** Degree of the error locator, -1 when more than t errors show. */
    int locator(const Remainder &r, Locator &lambda) const;
    /** Powers of the errors. False when there are fewer than the locator's degree in a word of n bits. */
    bool roots(const Locator &lambda, unsigned degree, unsigned n, unsigned *powers) const;

    unsigned t_, degree_ = 0, words_ = 0, rowLength_;
    std::vector<uint64_t> division_; // [byte of eight][its value][word]: what the byte leaves as remainder
    std::vector<uint16_t> powers_;   // [power below degree][j]: alpha^((2j + 1) * power)
    std::vector<uint64_t>
        slices_; // [k - 1][bit][coordinate]: of alpha^bit * alpha^(k i), bit i of a word for i = 0..63
};

} // namespace assasin
