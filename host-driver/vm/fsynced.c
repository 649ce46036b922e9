/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For a guest: writes blocks of a file at random, each of them synced before the next, and tells whether they are
 * there.
 *
 *     fsynced fill FILE PERCENT            a file of so much of the file system's free space; prints its blocks
 *     fsynced write FILE COUNTER SEED END  overwrites up to number END; the last number that was synced is in COUNTER
 *     fsynced verify FILE COUNTER SEED     every block holds what was synced last; prints the numbers
 *
 * The block of write number n follows from SEED, and what it holds from n, so that the counter, which lies elsewhere
 * than FILE, says all. The write that was under way at the end may be there or not. Exit code 1: something is not as it
 * should be; 3: the file system has refused a write.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BLOCK = 4096, WORDS = BLOCK / 8 };

static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/** What write `n` puts into `block`; 0: the fill. Its first word is the number. */
static void content(uint64_t *words, uint64_t block, uint64_t n) {
    words[0] = n;
    uint64_t state = mixed(block << 32 ^ n);
    for (uint32_t i = 1; i < WORDS; i++) {
        state += 0x9e3779b97f4a7c15u;
        words[i] = state ^ state >> 29;
    }
}

static uint64_t block_of(uint64_t n, uint64_t seed, uint64_t blocks) {
    return mixed(n + seed * 0x9e3779b97f4a7c15u) % blocks;
}

static void fail(int code, const char *what) {
    fprintf(stderr, "fsynced: %s: %s\n", what, strerror(errno));
    exit(code);
}

static int opened(const char *name, int flags) {
    int file = open(name, flags, 0644);
    if (file < 0) {
        fail(3, name);
    }
    return file;
}

static uint64_t blocks_of(int file) {
    struct stat s;
    if (fstat(file, &s) != 0 || s.st_size < BLOCK) {
        fail(1, "the file is empty");
    }
    return (uint64_t)s.st_size / BLOCK;
}

static uint64_t counted(const char *name) {
    uint64_t n = 0;
    int file = open(name, O_RDONLY);
    if (file >= 0 && read(file, &n, sizeof n) != sizeof n) {
        n = 0;
    }
    if (file >= 0) {
        close(file);
    }
    return n;
}

/**
 * Each block is a write of its own past the page cache. A file system that writes blocks anew frees an old extent only
 * when nothing in it is in use: of extents of many blocks, overwritten at random, it would keep far more than the file.
 */
static void fill(const char *name, uint64_t percent) {
    _Alignas(BLOCK) static uint64_t words[WORDS];
    int file = opened(name, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT);
    struct statvfs free;
    if (fstatvfs(file, &free) != 0) {
        fail(1, name);
    }
    uint64_t blocks = (uint64_t)free.f_bavail * free.f_frsize / BLOCK * percent / 100;
    for (uint64_t block = 0; block < blocks; block++) {
        content(words, block, 0);
        if (write(file, words, BLOCK) != BLOCK) {
            fail(3, "filling");
        }
    }
    if (fsync(file) != 0) {
        fail(3, "syncing");
    }
    printf("%" PRIu64 "\n", blocks);
}

static void overwrite(const char *name, const char *counter, uint64_t seed, uint64_t end) {
    static uint64_t words[WORDS];
    int file = opened(name, O_WRONLY);
    int count = opened(counter, O_RDWR | O_CREAT);
    uint64_t blocks = blocks_of(file);
    /* The one that was under way when power went is written again. */
    for (uint64_t n = counted(counter) + 1; n <= end; n++) {
        uint64_t block = block_of(n, seed, blocks);
        content(words, block, n);
        if (pwrite(file, words, BLOCK, (off_t)(block * BLOCK)) != BLOCK || fsync(file) != 0) {
            fail(3, "overwriting");
        }
        if (pwrite(count, &n, sizeof n, 0) != sizeof n) {
            fail(1, counter);
        }
    }
}

static void verify(const char *name, const char *counter, uint64_t seed) {
    static uint64_t words[WORDS], wanted[WORDS];
    int file = opened(name, O_RDONLY);
    uint64_t blocks = blocks_of(file), synced = counted(counter), bad = 0;
    uint64_t *last = calloc(blocks, sizeof *last);
    if (last == NULL) {
        fail(1, "memory");
    }
    for (uint64_t n = 1; n <= synced; n++) {
        last[block_of(n, seed, blocks)] = n;
    }
    uint64_t open_block = block_of(synced + 1, seed, blocks);
    for (uint64_t block = 0; block < blocks; block++) {
        if (read(file, words, BLOCK) != BLOCK) {
            printf("block %" PRIu64 " cannot be read: %s\n", block, strerror(errno));
            bad++;
            lseek(file, (off_t)((block + 1) * BLOCK), SEEK_SET);
            continue;
        }
        uint64_t n = words[0];
        content(wanted, block, n);
        int right = (n == last[block] || (block == open_block && n == synced + 1)) && memcmp(words, wanted, BLOCK) == 0;
        if (!right) {
            printf("block %" PRIu64 " holds write %" PRIu64 ", expected %" PRIu64 "\n", block, n, last[block]);
            bad++;
        }
    }
    printf("%" PRIu64 " blocks, %" PRIu64 " writes synced, %" PRIu64 " blocks wrong\n", blocks, synced, bad);
    exit(bad > 0);
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "fill") == 0) {
        fill(argv[2], strtoull(argv[3], NULL, 10));
    } else if (argc == 6 && strcmp(argv[1], "write") == 0) {
        overwrite(argv[2], argv[3], strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
    } else if (argc == 5 && strcmp(argv[1], "verify") == 0) {
        verify(argv[2], argv[3], strtoull(argv[4], NULL, 10));
    } else {
        fprintf(stderr, "usage: fsynced fill FILE PERCENT | write FILE COUNTER SEED END | verify FILE COUNTER SEED\n");
        return 2;
    }
    return 0;
}
