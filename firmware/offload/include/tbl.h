/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Arguments, results and exit codes of psf and parse, which read TPC-H `.tbl` text: rows of columns, every column
 * followed by '|', every row by a newline. Little-endian, as host and core both see them.
 *
 * The arguments are one struct tbl_args, then its steps, its tests, and the bytes of the tests' strings.
 *
 * **Steps** say what to do with the columns of a row, from left to right: pass over some, or take one. A column that is
 * taken has a slot: below `outputs` it is in the row's output, in that place; else only tests see it. Columns behind
 * the last step need no step.
 *
 * **Values** are 32 bits: INT as it is; DECIMAL with at most two places, in hundredths; DATE in days since 1970-01-01;
 * STRING its length in bytes.
 *
 * **A row of psf's output**: one word a column, in the order of the slots, then the bytes of its strings in the order
 * of the columns, each padded with zero bytes to whole words. parse stores slot k to output stream k: the word, and
 * after a string's word its padded bytes.
 *
 * **Characters**: 0x20 to 0x7C, of which '|' only behind a column. What is passed over is not looked at further, but
 * the columns of every row are counted.
 *
 * **Rows and pieces.** With TBL_SPLIT a text is cut anywhere, into pieces of `piece_bytes` bytes (the last as long as
 * it is). A row belongs to the piece in which, or at whose very end, it begins: a piece other than the first passes
 * over everything up to its first newline and goes on until a row begins behind `piece_bytes`. The host appends to each
 * piece's stream as much of the following text as the longest row may have (TBL_OVERLAP is enough: one page).
 */
#ifndef ASSASIN_TBL_H
#define ASSASIN_TBL_H

#include <assert.h>
#include <stdint.h>

enum tbl_limit {
    TBL_MAX_STEPS = 32,
    TBL_MAX_TESTS = 64,
    TBL_MAX_SLOTS = 24,
    TBL_MAX_TEXT = 255, /**< bytes of a string that is taken */
    TBL_OVERLAP = 4096,
    TBL_NONE = 0xFF,   /**< tbl_step.test: no test */
    TBL_PASS = 0xFF,   /**< target of a test: the row passes these tests */
    TBL_REJECT = 0xFE, /**< target of a test: the row does not qualify */
};

enum tbl_flag {
    TBL_SPLIT = 1,  /**< pieces other than piece 0 begin inside rows */
    TBL_INSIDE = 2, /**< piece 0, too */
};

/** What a step does. */
enum tbl_kind { TBL_SKIP, TBL_SKIP_DATES, TBL_INT, TBL_DECIMAL, TBL_DATE, TBL_STRING, TBL_KINDS };

/** What a test compares. */
enum tbl_op {
    TBL_RANGE,      /**< number: low <= value <= low + width */
    TBL_EQUAL,      /**< string = operand; so the others */
    TBL_STARTS,     /**< string starts with operand */
    TBL_ENDS,       /**< string ends with operand */
    TBL_CONTAINS,   /**< operand is somewhere in string */
    TBL_LESS,       /**< string < operand, bytewise */
    TBL_LESS_EQUAL, /**< string <= operand, bytewise */
    TBL_OPS
};

struct tbl_args {
    uint32_t piece_bytes; /**< with TBL_SPLIT: bytes of a piece; else 0 */
    uint8_t flags;        /**< tbl_flag */
    uint8_t steps;        /**< 1..TBL_MAX_STEPS */
    uint8_t tests;        /**< 0..TBL_MAX_TESTS */
    uint8_t outputs;      /**< columns of the output, 1..TBL_MAX_SLOTS; parse: 1..streams_out */
    uint16_t text_bytes;  /**< bytes of the tests' strings */
    uint16_t reserved;    /**< 0 */
};
static_assert(sizeof(struct tbl_args) == 12, "tbl_args size");

struct tbl_step {
    uint8_t kind;  /**< tbl_kind */
    uint8_t count; /**< TBL_SKIP, TBL_SKIP_DATES: columns, 1..; else 1 */
    uint8_t slot;  /**< 0..TBL_MAX_SLOTS-1 */
    uint8_t test;  /**< first test to do after this column, or TBL_NONE */
    uint8_t words; /**< TBL_SKIP: whole words, at most 63, that are sure to lie between the first character of these
                        columns and their last '|' */
    uint8_t rest;  /**< columns behind this step */
    uint8_t rest_words; /**< like `words`, of those columns */
    uint8_t reserved;   /**< 0 */
    int32_t low;        /**< number: a row with a value outside low .. low + width does not qualify */
    uint32_t width;
};
static_assert(sizeof(struct tbl_step) == 16, "tbl_step size");

/** Tests form a graph without cycles: targets are tests behind this one, TBL_PASS or TBL_REJECT. */
struct tbl_test {
    uint8_t op;       /**< tbl_op */
    uint8_t slot;     /**< whose value */
    uint8_t on_true;  /**< target */
    uint8_t on_false; /**< target */
    int32_t low;      /**< TBL_RANGE; string: operand's offset in the tests' strings */
    uint32_t width;   /**< TBL_RANGE; string: operand's length */
};
static_assert(sizeof(struct tbl_test) == 12, "tbl_test size");

/** Exit code: in bits 2:0 why, in bits 31:3 the offset in the piece, divided by 8, at which the row in question begins.
 */
enum tbl_exit {
    TBL_BAD_ARGUMENTS = 1, /**< the arguments contradict the above */
    TBL_TRUNCATED = 2,     /**< the stream ends inside a row */
    TBL_BAD_VALUE = 3,     /**< not a number or date, or outside 32 bits */
    TBL_BAD_ROW = 4,       /**< more or fewer columns, or a column shorter than the arguments say */
    TBL_LONG_TEXT = 5,     /**< a string of more than TBL_MAX_TEXT bytes */
};

#endif
