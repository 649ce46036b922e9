/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Arguments, limits and exit codes of sum, select, transpose, kmeans, linreg, pagerank, nn_conv, nn_fc and hamming.
 * Little-endian, as host and core both see them.
 */
#ifndef ASSASIN_ANALYTICS_H
#define ASSASIN_ANALYTICS_H

#include <assert.h>
#include <stdint.h>

/** Exit codes. */
enum analytics_exit {
    ANALYTICS_BAD_ARGUMENTS = 1, /**< arguments or number of streams contradict what is said here */
    ANALYTICS_TRUNCATED = 2, /**< the stream ends inside a tuple, point, edge, image or page, or before its partner */
    ANALYTICS_BAD_VALUE = 3, /**< a value outside its range */
};

/** Output of sum: 32-bit words of input stream 0; bytes behind the last whole word are ignored. */
struct sum_result {
    uint32_t count; /**< words, modulo 2^30 */
    uint32_t sum;   /**< their sum modulo 2^32 */
};
static_assert(sizeof(struct sum_result) == 8, "sum_result size");

/** select: columns of binary tuples. Output: of every tuple the words whose bit of `mask` is set, in their order. */
struct select_args {
    uint32_t words; /**< 32-bit words of a tuple, 1..32 */
    uint32_t mask;  /**< bit k: word k is wanted; 0 < mask < 2^words */
};
static_assert(sizeof(struct select_args) == 8, "select_args size");

/* transpose has no arguments: tuples have as many 32-bit words as the request has output streams; word k goes to output
 * stream k. */

enum kmeans_limit { KMEANS_MAX_CLUSTERS = 16, KMEANS_MAX_DIMENSIONS = 8, KMEANS_MAX_VALUE = 8191 };

/**
 * kmeans: one step. Points are `dimensions` int32 within +-KMEANS_MAX_VALUE. A point belongs to the centroid with the
 * least squared distance, the first of several. Output stream 0: for every cluster kmeans_sums; with two output
 * streams, stream 1: for every point its cluster, a byte.
 */
struct kmeans_args {
    uint32_t clusters;   /**< 1..KMEANS_MAX_CLUSTERS */
    uint32_t dimensions; /**< 1..KMEANS_MAX_DIMENSIONS */
    int32_t centroid[];  /**< clusters x dimensions, within +-KMEANS_MAX_VALUE */
};

/** What kmeans stores for a cluster; only the first `dimensions` sums are stored. */
struct kmeans_sums {
    uint32_t count;                     /**< points */
    uint32_t inertia[2];                /**< sum of their squared distances to the centroid, 64 bits, low word first */
    int64_t sum[KMEANS_MAX_DIMENSIONS]; /**< sums of their coordinates, low word first */
};

enum linreg_limit { LINREG_MAX_COLUMNS = 8 };

/**
 * linreg: sums for a linear regression over rows of `columns` int32 (features, then target). With a column of ones in
 * front, numbered 0, it stores for every i <= j (i outer) the sum of column i times column j, 64 bits modulo 2^64, low
 * word first: so the first is the number of rows.
 */
struct linreg_args {
    uint32_t columns; /**< 1..LINREG_MAX_COLUMNS */
};
static_assert(sizeof(struct linreg_args) == 4, "linreg_args size");

enum pagerank_limit { PAGERANK_MAX_VERTICES = 7000 };

/**
 * pagerank: one step over edges. Input stream 0: edges, u32 source and u32 target. Input stream 1: for every vertex
 * what it gives along each of its edges, u32. Output: for every vertex the sum, modulo 2^32, of what its incoming edges
 * carry. The host adds up the pieces and applies the damping; with ranks that add up to at most 2^32 - 1 nothing wraps.
 */
struct pagerank_args {
    uint32_t vertices; /**< 1..PAGERANK_MAX_VERTICES: the vertices' state lies in the scratchpad */
};
static_assert(sizeof(struct pagerank_args) == 4, "pagerank_args size");

/** The network of the dissertation's Table 8.2: Conv2D 3x3 without padding, ReLU, MaxPooling 2x2, Flatten, Dense. */
enum nn_shape {
    NN_SIDE = 28,                                     /**< pixels of an image's side */
    NN_FILTERS = 32,                                  /**< of the convolution */
    NN_POOLED = 13,                                   /**< positions of a side behind the pooling */
    NN_FEATURES = NN_POOLED * NN_POOLED * NN_FILTERS, /**< 5408 */
    NN_MAX_CLASSES = 2,                               /**< that one nn_fc holds the weights of */
};

/**
 * nn_conv: convolution, ReLU and pooling. Input: images of 28 x 28 bytes. Output, to every output stream the same (one
 * for each nn_fc that it feeds): 5408 int32 an image, filter innermost: max(0, bias + sum of weight x pixel) >> shift.
 * Arithmetic modulo 2^32.
 */
struct nn_conv_args {
    uint32_t shift;                /**< 0..31 */
    int32_t bias[NN_FILTERS];      /**< of a filter */
    int32_t weight[9][NN_FILTERS]; /**< of a pixel of the 3 x 3 window (row by row) and a filter */
};
static_assert(sizeof(struct nn_conv_args) == 1284, "nn_conv_args size");

/**
 * nn_fc: up to NN_MAX_CLASSES classes of the dense layer: 216 KB of weights do not fit one core, so classes are divided
 * over cores. Input stream 0: 5408 int32 an image. Input stream 1: for every class its bias and 5408 weights, int32,
 * which stay in the scratchpad. Output: for every image one int32 a class, modulo 2^32.
 */
struct nn_fc_args {
    uint32_t classes; /**< 1..NN_MAX_CLASSES */
};
static_assert(sizeof(struct nn_fc_args) == 4, "nn_fc_args size");

/**
 * hamming: Hamming(3,2) over pages a and b of input streams 0 and 1 (the dissertation's Figure 7.8). Three output
 * streams: a, b and a ^ b. Two output streams: a and b, and the code pages in turn behind a's and b's page, the first
 * behind a's: so the functions that two cores apply to them have the same to do.
 */
enum hamming_limit { HAMMING_PAGE = 4096 };

#endif
