/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the offload `stat` over a column of 32-bit values that lies in the drive, and prints what it found.
 *
 *     make -C host-driver && cc -Ihost-driver/include host-driver/examples/stat.c build/host/libassasin.a -lpthread -o
 * stat
 *     ./stat virtual:build/run/virtual/door build/offload/stat.elf 0 1048576
 */
#include <assasin/assasin.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* struct stat_result of firmware/offload/include/offloads.h */
struct stat_result {
    uint32_t count;
    int32_t min, max;
    uint32_t zero;
    int64_t sum;
};

static int failed(const struct assasin_drive *drive) {
    fprintf(stderr, "stat: %s\n", assasin_last_error(drive));
    return 1;
}

static int run(struct assasin_drive *drive, const void *elf, size_t elf_bytes, uint64_t lba, uint64_t bytes) {
    struct assasin_info info;
    assasin_get_info(drive, &info);
    int function = assasin_function_load(drive, elf, elf_bytes);
    if (function < 0)
        return failed(drive);
    /* One piece, on one core; assasin_split() divides a table for all of them. */
    struct assasin_extent extent = {.lba = lba, .count = (uint32_t)((bytes + info.block_bytes - 1) / info.block_bytes)};
    struct assasin_input input = {.first_extent = 0, .extent_count = 1, .bytes = bytes};
    struct assasin_job job = {.function = (uint16_t)function,
                              .streams_in = 1,
                              .streams_out = 1,
                              .s_log2 = -1,
                              .pieces = 1,
                              .inputs = &input,
                              .extents = &extent,
                              .extent_count = 1};
    struct assasin_result *result = NULL;
    if (assasin_run(drive, &job, &result))
        return failed(drive);
    struct assasin_error error;
    struct stat_result stat;
    size_t got = 0;
    const void *out = assasin_result_data(result, 0, 0, &got);
    int rc = assasin_result_failed(result) || got != sizeof(stat);
    if (rc) {
        fprintf(stderr, "stat: %s\n", assasin_piece_strerror(assasin_result_piece(result, 0), &error));
    } else {
        memcpy(&stat, out, sizeof(stat));
        printf("count %" PRIu32 ", min %" PRId32 ", max %" PRId32 ", sum %" PRId64 "\n", stat.count, stat.min, stat.max,
               stat.sum);
    }
    assasin_result_free(result);
    return assasin_function_unload(drive, (uint16_t)function) ? failed(drive) : rc;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: stat ADDRESS ELF LBA BYTES\n");
        return 2;
    }
    static uint8_t elf[128 << 10];
    FILE *file = fopen(argv[2], "rb");
    if (!file) {
        perror(argv[2]);
        return 1;
    }
    size_t elf_bytes = fread(elf, 1, sizeof(elf), file);
    fclose(file);
    struct assasin_drive *drive;
    struct assasin_error error;
    if (assasin_open(argv[1], NULL, &drive, &error)) {
        fprintf(stderr, "stat: %s\n", error.text);
        return 1;
    }
    int rc = run(drive, elf, elf_bytes, strtoull(argv[3], NULL, 0), strtoull(argv[4], NULL, 0));
    return assasin_close(drive) ? 1 : rc;
}
