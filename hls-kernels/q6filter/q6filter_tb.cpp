// SPDX-License-Identifier: BSD-3-Clause
// Against the predicate over tuples that lie in memory as structures.
#include "assasin_testbench.h"
#include "q6filter.h"
#include <cstring>

struct tuple_t {
    uint32_t orderkey, partkey, suppkey;
    int32_t shipdate, quantity, price, discount, tax;
};

struct query_t {
    int32_t shipdate_from, shipdate_to, discount_low, discount_high, quantity_to;
};

/// TPC-H's validation values: 1994, 0.06 +- 0.01, below 24; days since 1970, hundredths.
static const query_t Q6 = {8766, 9131, 5, 7, 2400};

static std::size_t compare(const bytes_t &bytes, const query_t &q, const std::string &what) {
    bytes_t expected;
    for (std::size_t at = 0; at + sizeof(tuple_t) <= bytes.size(); at += sizeof(tuple_t)) {
        tuple_t t;
        std::memcpy(&t, bytes.data() + at, sizeof t);
        if (t.shipdate < q.shipdate_from || t.shipdate >= q.shipdate_to || t.quantity >= q.quantity_to)
            continue;
        if (t.discount >= q.discount_low && t.discount <= q.discount_high) {
            append_word(expected, uint32_t(t.price));
            append_word(expected, uint32_t(t.discount));
        }
    }
    hls::stream<beat_t> in("in"), out("out");
    to_stream(bytes, in);
    q6filter(in, out, q.shipdate_from, q.shipdate_to, q.discount_low, q.discount_high, q.quantity_to);
    Checks::check(from_stream(out) == expected, what + ": rows");
    Checks::check(in.empty(), what + ": input is left");
    return expected.size() / 8;
}

static bytes_t tuples(Random &random, unsigned count) {
    bytes_t out;
    for (unsigned i = 0; i < count; i++) {
        for (int field = 0; field < 3; field++)
            append_word(out, uint32_t(random.next()));
        append_word(out, 8036 + random.below(2526));
        append_word(out, 100 * (1 + random.below(50)));
        append_word(out, random.below(10000000));
        append_word(out, random.below(11));
        append_word(out, random.below(9));
    }
    return out;
}

int main() {
    Random random(3);
    for (unsigned count = 0; count < 5; count++)
        compare(tuples(random, count), Q6, std::to_string(count) + " tuples");
    std::size_t rows = 0;
    for (int i = 0; i < 10; i++)
        rows += compare(tuples(random, 1000), Q6, "1,000 tuples");
    Checks::check(rows > 50, "there are rows in 10,000 tuples");
    for (unsigned cut = 1; cut < 32; cut++) {
        bytes_t bytes = tuples(random, 2);
        bytes.resize(bytes.size() - cut);
        compare(bytes, {0, 1 << 30, 0, 100, 1 << 30}, "cut off by " + std::to_string(cut));
    }
    // Each bound, on it and one off; signed, and at the ends of 32 bits.
    for (int field = 0; field < 3; field++) {
        for (int32_t value : {INT32_MIN, -1, 4, 5, 6, 7, 8, 99, 100, 101, 199, 200, 201, INT32_MAX}) {
            tuple_t t = {1, 2, 3, 150, 5, 777, 6, 1};
            (field == 0 ? t.shipdate : field == 1 ? t.discount : t.quantity) = value;
            bytes_t bytes(sizeof t);
            std::memcpy(bytes.data(), &t, sizeof t);
            compare(bytes, {100, 200, 5, 7, 100}, "field " + std::to_string(field) + " = " + std::to_string(value));
            compare(bytes, {INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MAX}, "widest bounds");
        }
    }
    compare(tuples(random, 100), {9131, 8766, 5, 7, 2400}, "dates the wrong way round");
    compare(tuples(random, 100), {8766, 9131, 7, 5, 2400}, "discounts the wrong way round");
    return Checks::report();
}
