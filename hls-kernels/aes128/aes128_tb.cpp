// SPDX-License-Identifier: BSD-3-Clause
// Against the test vectors of SP 800-38A (F.5.1) and FIPS 197 (C.1), and against a cipher that works byte by byte with
// an S-box made by its definition.
#include "aes128.h"
#include "assasin_testbench.h"
#include <cstring>

static uint8_t multiply(uint8_t a, uint8_t b) {
    uint8_t product = 0;
    for (; b; b >>= 1) {
        if (b & 1)
            product ^= a;
        a = uint8_t(a << 1 ^ (a & 0x80 ? 0x1b : 0));
    }
    return product;
}

static uint8_t substitute(uint8_t a) {
    uint8_t inverse = 0;
    for (int candidate = 1; candidate < 256 && !inverse; candidate++)
        if (multiply(a, uint8_t(candidate)) == 1)
            inverse = uint8_t(candidate);
    uint8_t out = 0x63;
    for (int shift = 0; shift < 5; shift++)
        out ^= uint8_t(inverse << shift | inverse >> (8 - shift));
    return out;
}

static uint8_t s_box[256];

static void cipher(const bytes_t &key, uint8_t state[16]) {
    uint8_t w[176];
    std::memcpy(w, key.data(), 16);
    uint8_t constant = 1;
    for (int i = 16; i < 176; i++) {
        uint8_t t = w[i - 4];
        if (i % 16 < 4) {
            t = s_box[w[i - 4 + (i % 4 == 3 ? -3 : 1)]];
            if (i % 16 == 0) {
                t ^= constant;
                constant = multiply(constant, 2);
            }
        }
        w[i] = w[i - 16] ^ t;
    }
    for (int i = 0; i < 16; i++)
        state[i] ^= w[i];
    for (int round = 1; round <= 10; round++) {
        uint8_t next[16];
        for (int i = 0; i < 16; i++) // row r moves r columns to the left
            next[i] = s_box[state[(i + 4 * (i % 4)) % 16]];
        for (int column = 0; column < 4; column++) {
            const uint8_t *s = next + 4 * column;
            for (int row = 0; row < 4; row++) {
                const uint8_t mixed =
                    uint8_t(multiply(s[row], 2) ^ multiply(s[(row + 1) % 4], 3) ^ s[(row + 2) % 4] ^ s[(row + 3) % 4]);
                state[4 * column + row] = (round == 10 ? s[row] : mixed) ^ w[16 * round + 4 * column + row];
            }
        }
    }
}

static bytes_t counter_mode(const bytes_t &key, bytes_t counter, const bytes_t &text) {
    bytes_t out = text;
    uint8_t stream[16] = {};
    for (std::size_t i = 0; i < text.size(); i++) {
        if (i % 16 == 0) {
            std::memcpy(stream, counter.data(), 16);
            cipher(key, stream);
            for (int byte = 15; byte >= 0 && ++counter[byte] == 0; byte--) {
            }
        }
        out[i] ^= stream[i % 16];
    }
    return out;
}

static bytes_t run(const bytes_t &key, const bytes_t &counter, const bytes_t &text) {
    hls::stream<beat_t> in("in"), out("out");
    to_stream(text, in);
    aes128(in, out, word_at(key, 0), word_at(key, 4), word_at(key, 8), word_at(key, 12), word_at(counter, 0),
           word_at(counter, 4), word_at(counter, 8), word_at(counter, 12));
    Checks::check(in.empty(), "input is left");
    return from_stream(out);
}

static bytes_t hex(const char *digits) {
    bytes_t out;
    for (unsigned byte; std::sscanf(digits, "%2x", &byte) == 1; digits += 2)
        out.push_back(uint8_t(byte));
    return out;
}

int main() {
    for (int i = 0; i < 256; i++)
        s_box[i] = substitute(uint8_t(i));
    const bytes_t key = hex("2b7e151628aed2a6abf7158809cf4f3c"), counter = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
    const bytes_t plain = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
                              "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710");
    const bytes_t secret = hex("874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
                               "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee");
    Checks::check(run(key, counter, plain) == secret, "SP 800-38A, F.5.1");
    Checks::check(run(key, counter, secret) == plain, "SP 800-38A, F.5.2");
    // The block cipher itself: zeros encrypted in counter mode are the encrypted counter.
    Checks::check(run(hex("000102030405060708090a0b0c0d0e0f"), hex("00112233445566778899aabbccddeeff"),
                      bytes_t(16, 0)) == hex("69c4e0d86a7b0430d8cdb78070b4c55a"),
                  "FIPS 197, C.1");
    Random random(4);
    for (unsigned size = 0; size < 70; size++) {
        const bytes_t k = random.bytes(16), c = random.bytes(16), text = random.bytes(size);
        Checks::check(run(k, c, text) == counter_mode(k, c, text), std::to_string(size) + " bytes");
    }
    for (int ones = 1; ones <= 16; ones++) { // the carry goes through so many bytes
        bytes_t c = random.bytes(16);
        for (int i = 16 - ones; i < 16; i++)
            c[i] = 0xff;
        const bytes_t text = random.bytes(48);
        Checks::check(run(key, c, text) == counter_mode(key, c, text),
                      "a carry through " + std::to_string(ones) + " bytes");
    }
    const bytes_t text = random.bytes(8192);
    Checks::check(run(key, counter, text) == counter_mode(key, counter, text), "8,192 bytes");
    return Checks::report();
}
