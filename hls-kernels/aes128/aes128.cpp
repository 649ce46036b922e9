// SPDX-License-Identifier: BSD-3-Clause
// All ten rounds are unrolled; a block is two beats, so each round's S-boxes serve two cycles. Byte i of a block is
// bits 8 i + 7 to 8 i, row i mod 4 and column i / 4 of FIPS 197's state.
#include "aes128.h"
#include "sbox.h"

typedef ap_uint<128> block_t;

static const int ROUNDS = 10;

static ap_uint<8> byte_of(block_t block, int i) {
#pragma HLS INLINE
    return block.range(8 * i + 7, 8 * i);
}

/// Multiplies by x modulo x^8 + x^4 + x^3 + x + 1.
static ap_uint<8> xtime(ap_uint<8> a) {
#pragma HLS INLINE
    return ap_uint<8>(a << 1) ^ (a[7] ? ap_uint<8>(0x1b) : ap_uint<8>(0));
}

static void expand_key(block_t key, block_t round_keys[ROUNDS + 1]) {
    ap_uint<8> constant = 1;
    round_keys[0] = key;
    for (int round = 1; round <= ROUNDS; round++) {
        const block_t last = round_keys[round - 1];
        block_t next;
        // RotWord and SubWord of the last column
        next.range(7, 0) = byte_of(last, 0) ^ SBOX[byte_of(last, 13)] ^ constant;
        next.range(15, 8) = byte_of(last, 1) ^ SBOX[byte_of(last, 14)];
        next.range(23, 16) = byte_of(last, 2) ^ SBOX[byte_of(last, 15)];
        next.range(31, 24) = byte_of(last, 3) ^ SBOX[byte_of(last, 12)];
        for (int column = 1; column < 4; column++) {
#pragma HLS UNROLL
            const int at = 32 * column;
            next.range(at + 31, at) = next.range(at - 1, at - 32) ^ last.range(at + 31, at);
        }
        round_keys[round] = next;
        constant = xtime(constant);
    }
}

static block_t encrypt(block_t block, const block_t round_keys[ROUNDS + 1]) {
#pragma HLS INLINE
    block_t state = block ^ round_keys[0];
    for (int round = 1; round <= ROUNDS; round++) {
#pragma HLS UNROLL
        block_t mixed;
        for (int column = 0; column < 4; column++) {
#pragma HLS UNROLL
            ap_uint<8> s[4]; // SubBytes and ShiftRows
#pragma HLS ARRAY_PARTITION variable = s complete
            for (int row = 0; row < 4; row++) {
#pragma HLS UNROLL
                s[row] = SBOX[byte_of(state, (4 * column + 5 * row) % 16)];
            }
            const ap_uint<8> all = s[0] ^ s[1] ^ s[2] ^ s[3];
            for (int row = 0; row < 4; row++) {
#pragma HLS UNROLL
                const ap_uint<8> twice = xtime(s[row] ^ s[(row + 1) % 4]);
                const int at = 32 * column + 8 * row;
                mixed.range(at + 7, at) = round == ROUNDS ? s[row] : ap_uint<8>(s[row] ^ all ^ twice);
            }
        }
        state = mixed ^ round_keys[round];
    }
    return state;
}

static block_t reversed(block_t block) {
#pragma HLS INLINE
    block_t out;
    for (int i = 0; i < 16; i++) {
#pragma HLS UNROLL
        out.range(8 * i + 7, 8 * i) = byte_of(block, 15 - i);
    }
    return out;
}

void aes128(hls::stream<beat_t> &data_in, hls::stream<beat_t> &data_out, ap_uint<32> key_0, ap_uint<32> key_1,
            ap_uint<32> key_2, ap_uint<32> key_3, ap_uint<32> counter_0, ap_uint<32> counter_1, ap_uint<32> counter_2,
            ap_uint<32> counter_3) {
#pragma HLS INTERFACE mode = axis port = data_in
#pragma HLS INTERFACE mode = axis port = data_out
#pragma HLS INTERFACE mode = s_axilite port = key_0
#pragma HLS INTERFACE mode = s_axilite port = key_1
#pragma HLS INTERFACE mode = s_axilite port = key_2
#pragma HLS INTERFACE mode = s_axilite port = key_3
#pragma HLS INTERFACE mode = s_axilite port = counter_0
#pragma HLS INTERFACE mode = s_axilite port = counter_1
#pragma HLS INTERFACE mode = s_axilite port = counter_2
#pragma HLS INTERFACE mode = s_axilite port = counter_3
#pragma HLS INTERFACE mode = s_axilite port = return
    block_t round_keys[ROUNDS + 1];
#pragma HLS ARRAY_PARTITION variable = round_keys complete
    expand_key((key_3, key_2, key_1, key_0), round_keys);
    block_t counter = reversed((counter_3, counter_2, counter_1, counter_0)); // as a number
    bool last;
    do {
#pragma HLS PIPELINE II = 2
        const block_t stream = encrypt(reversed(counter), round_keys);
        counter++;
        beat_t beat = data_in.read();
        beat.data ^= stream.range(63, 0);
        last = beat.last;
        data_out.write(beat);
        if (!last) {
            beat = data_in.read();
            beat.data ^= stream.range(127, 64);
            last = beat.last;
            data_out.write(beat);
        }
    } while (!last);
}
