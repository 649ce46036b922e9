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

/** Arguments of fgrep8. */
struct fgrep8_args {
    uint8_t key[8]; /**< the pattern */
};
static_assert(sizeof(struct fgrep8_args) == 8, "fgrep8_args size");

/** Output of fgrep8, once a piece. A place that begins in one piece ends up to 7 bytes into the next one. */
struct fgrep8_result {
    uint32_t count; /**< places of the pattern, modulo 2^32 */
    uint32_t zero;  /**< 0 */
};
static_assert(sizeof(struct fgrep8_result) == 8, "fgrep8_result size");

/** Exit code of fgrep8: not one struct fgrep8_args. */
enum fgrep8_exit { FGREP8_BAD_ARGUMENTS = 1 };

/** Arguments of saxpy. */
struct saxpy_args {
    float alpha; /**< the factor, IEEE 754 single precision */
};
static_assert(sizeof(struct saxpy_args) == 4, "saxpy_args size");

/** Exit code of saxpy: not one struct saxpy_args, or not two input streams. */
enum saxpy_exit { SAXPY_BAD_ARGUMENTS = 1 };

/** Exit codes of raid4, raid5 and raid6. */
enum raid_exit {
    RAID_BAD_ARGUMENTS = 1, /**< arguments or numbers of streams are not those of the function */
    RAID_UNEQUAL = 2,       /**< the input streams have different lengths */
};

/** Arguments of raid5. */
struct raid5_args {
    uint32_t chunk; /**< bytes of a stream in a row, a multiple of 4; row r's parity is on member k - r mod (k + 1) */
};
static_assert(sizeof(struct raid5_args) == 4, "raid5_args size");

/** Arguments of raid6. Inputs: the streams that are there, outputs: the lost ones, both in the order data, P, Q. */
struct raid6_args {
    uint32_t data; /**< data streams k of the whole, 2..7 */
    uint32_t lost; /**< one or two bits: i < k data stream i, k P, k + 1 Q. 3 << k makes P and Q of the data */
};
static_assert(sizeof(struct raid6_args) == 8, "raid6_args size");

/** What aes does. */
enum aes_mode {
    AES_ECB_ENCRYPT = 0,
    AES_ECB_DECRYPT = 1,
    AES_CTR = 2, /**< encrypts or decrypts */
};

/** Arguments of aes. */
struct aes_args {
    uint32_t mode;         /**< enum aes_mode */
    uint32_t piece_blocks; /**< CTR in several pieces: blocks of each but the last, so that piece i counts on from i
                              times it */
    uint8_t key[16];       /**< AES-128 */
    uint8_t counter[16];   /**< CTR: the first counter block, big-endian, incremented modulo 2^128 */
};
static_assert(sizeof(struct aes_args) == 40, "aes_args size");

/** Exit codes of aes. */
enum aes_exit {
    AES_BAD_ARGUMENTS = 1, /**< not one struct aes_args, or no mode that exists */
    AES_PARTIAL_BLOCK = 2, /**< ECB: the stream's length is no multiple of 16 */
    AES_BAD_PIECES = 3, /**< CTR in several pieces: piece_blocks is not the piece's length, so counters would repeat */
};

/** lz4_compress: bytes of input in a block; the last block is shorter. */
#define LZ4_BLOCK 24576

/** Stream of the LZ4 functions: blocks, each behind a u32: its length in the stream, plus LZ4_STORED when it is not
 * compressed. LZ4 blocks are independent of each other; what they decompress to may have any length. */
#define LZ4_STORED 0x80000000u

/** First word of an LZ4 frame (lz4_Frame_format.md), which lz4_decompress takes as well: blocks as above between a
 * descriptor and an end mark. Blocks of a frame may depend on those before. */
#define LZ4_FRAME_MAGIC 0x184D2204u

/** Exit codes of lz4_decompress. What was decompressed until then has gone to the output. */
enum lz4_exit {
    LZ4_CORRUPT = 1,   /**< no LZ4 block: a length or distance leads out of it */
    LZ4_TRUNCATED = 2, /**< the stream ends inside a block or its length */
    LZ4_NO_WINDOW = 3, /**< an output ring of less than 64 KiB cannot serve all distances: ask for one stream (S = 1) */
    LZ4_OTHER_FRAME = 4, /**< a frame with checksums of blocks, a dictionary, another version, or something behind it */
};

/** Beginning of wal's output. */
struct wal_result {
    uint32_t page_bytes; /**< bytes of a page; 0: the log is shorter than its header */
    uint32_t frames;     /**< frames up to the last valid commit: so many struct wal_page, each with its page, follow */
    uint32_t database_pages; /**< size of the database after it; pages behind that are to be cut off */
    uint32_t zero;           /**< 0 */
};
static_assert(sizeof(struct wal_result) == 16, "wal_result size");

/** Before each page of wal's output. Of several with the same number the last one counts. */
struct wal_page {
    uint32_t number; /**< from 1: the page is at (number - 1) * page_bytes of the database */
};
static_assert(sizeof(struct wal_page) == 4, "wal_page size");

/** Exit codes of wal. A log that is cut off or corrupt behind its header is no error: it counts up to the last commit.
 */
enum wal_exit {
    WAL_BAD_ARGUMENTS = 1, /**< not two input streams of the same length */
    WAL_NO_HEADER = 2,     /**< magic, version, page size or checksum of the header are not those of a log */
};

/** dedup: bytes of a block; the last one may be shorter. */
#define DEDUP_BLOCK 4096
/** dedup: new blocks that a piece remembers; those behind are reported as new and not found again. */
#define DEDUP_UNIQUE 2048

/** Output 0 of dedup: one for each block. */
struct dedup_record {
    uint32_t block;          /**< number of the block in the piece, from 0 */
    uint32_t first;          /**< first block with the same fingerprint; itself: new, its content is in output 1 */
    uint8_t fingerprint[16]; /**< MurmurHash3_x86_128 of the block, seed 0 */
};
static_assert(sizeof(struct dedup_record) == 24, "dedup_record size");

/** Exit code of dedup: not one or two output streams. */
enum dedup_exit { DEDUP_BAD_ARGUMENTS = 1 };

/** Exit code of replicate: no output stream. */
enum replicate_exit { REPLICATE_BAD_ARGUMENTS = 1 };

#endif
