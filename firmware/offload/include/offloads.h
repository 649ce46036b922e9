/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Arguments and results of the offloads in this folder, little-endian, as host and core both see them.
 */
#ifndef ASSASIN_OFFLOADS_H
#define ASSASIN_OFFLOADS_H

#include <assert.h>
#include <stdint.h>

/** scan: bytes of a block; the first byte of every block is summed. */
#define SCAN_BLOCK 64

/** Output of scan, once a piece. */
struct scan_result {
    uint32_t bytes;    /**< bytes read, modulo 2^32 */
    uint32_t checksum; /**< sum, modulo 2^32, of the bytes at multiples of SCAN_BLOCK */
};
static_assert(sizeof(struct scan_result) == 8, "scan_result size");

/** Output of stat, once a piece. An empty piece has count 0, min INT32_MAX, max INT32_MIN. */
struct stat_result {
    uint32_t count; /**< values; bytes behind the last whole value are ignored */
    int32_t min;    /**< least value */
    int32_t max;    /**< greatest value */
    uint32_t zero;  /**< 0 */
    int64_t sum;    /**< sum of the values */
};
static_assert(sizeof(struct stat_result) == 24, "stat_result size");

/** One lineitem row as fixed-width binary; the unit of filter's input. Decimals are integers in hundredths. */
struct lineitem_tuple {
    uint32_t orderkey;     /**< l_orderkey */
    uint32_t partkey;      /**< l_partkey */
    uint32_t suppkey;      /**< l_suppkey */
    int32_t shipdate;      /**< l_shipdate, days since 1970-01-01 */
    int32_t quantity;      /**< l_quantity x 100 */
    int32_t extendedprice; /**< l_extendedprice x 100 */
    int32_t discount;      /**< l_discount x 100 */
    int32_t tax;           /**< l_tax x 100 */
};
static_assert(sizeof(struct lineitem_tuple) == 32, "lineitem_tuple size");

/** Arguments of filter: TPC-H Q6's predicate. A row qualifies when all three hold. */
struct filter_args {
    int32_t shipdate_from; /**< shipdate >= this */
    int32_t shipdate_to;   /**< shipdate < this */
    int32_t discount_low;  /**< discount >= this */
    int32_t discount_high; /**< discount <= this */
    int32_t quantity_to;   /**< quantity < this */
};
static_assert(sizeof(struct filter_args) == 20, "filter_args size");

/** Output of filter: one for every qualifying row, in input order. */
struct filter_row {
    int32_t extendedprice; /**< of the row */
    int32_t discount;      /**< of the row */
};
static_assert(sizeof(struct filter_row) == 8, "filter_row size");

#endif
