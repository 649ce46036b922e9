/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the offload `stat` over several columns of 32-bit values at once, and prints what it finds as soon as it does.
 * While the drive works, the program waits in poll(2), where it could wait for sockets and timers as well.
 *
 *     make -C host-driver && cc -Ihost-driver/include host-driver/examples/columns.c build/host/libassasin.a -lpthread
 * -o columns
 *     ./columns virtual:build/run/virtual/door build/offload/stat.elf 4 1048576
 */
#include <assasin/assasin.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 8u

/* struct stat_result of firmware/offload/include/offloads.h */
struct stat_result {
    uint32_t count;
    int32_t min, max;
    uint32_t zero;
    int64_t sum;
};

/* A column, and the job over it. What the job points to has to stay until the job's end. */
struct column {
    struct assasin_extent extent;
    struct assasin_input input;
    struct assasin_execution *execution;
};

static int failed(const struct assasin_drive *drive) {
    fprintf(stderr, "columns: %s\n", assasin_last_error(drive));
    return 1;
}

static int begin(struct assasin_drive *drive, uint16_t function, struct column *column) {
    struct assasin_job job = {.function = function,
                              .streams_in = 1,
                              .streams_out = 1,
                              .s_log2 = -1,
                              .pieces = 1,
                              .inputs = &column->input,
                              .extents = &column->extent,
                              .extent_count = 1,
                              .max_cores = 1};
    return assasin_run_start(drive, &job, &column->execution) ? failed(drive) : 0;
}

static int end(struct assasin_drive *drive, struct column *column, unsigned number) {
    struct assasin_result *result;
    struct assasin_error error;
    struct stat_result stat;
    uint32_t pieces_failed;
    size_t got = 0;
    int rc = assasin_execution_finish(column->execution, &pieces_failed, &result);
    column->execution = NULL;
    if (rc)
        return failed(drive);
    const void *out = assasin_result_data(result, 0, 0, &got);
    if (pieces_failed || got != sizeof(stat)) {
        fprintf(stderr, "column %u: %s\n", number, assasin_piece_strerror(assasin_result_piece(result, 0), &error));
        rc = 1;
    } else {
        memcpy(&stat, out, sizeof(stat));
        printf("column %u: count %" PRIu32 ", min %" PRId32 ", max %" PRId32 ", sum %" PRId64 "\n", number, stat.count,
               stat.min, stat.max, stat.sum);
    }
    assasin_result_free(result);
    return rc;
}

static int run(struct assasin_drive *drive, const void *elf, size_t elf_bytes, unsigned count, uint64_t bytes) {
    static struct column columns[COLUMNS];
    struct assasin_info info;
    assasin_get_info(drive, &info);
    struct pollfd events = {.fd = assasin_event_fd(drive), .events = POLLIN};
    int function = assasin_function_load(drive, elf, elf_bytes);
    if (function < 0 || events.fd < 0)
        return failed(drive);
    uint32_t blocks = (uint32_t)((bytes + info.block_bytes - 1) / info.block_bytes);
    int rc = 0;
    for (unsigned i = 0; i < count && !rc; i++) {
        columns[i].extent = (struct assasin_extent){.lba = (uint64_t)i * blocks, .count = blocks};
        columns[i].input = (struct assasin_input){.extent_count = 1, .bytes = bytes};
        rc = begin(drive, (uint16_t)function, &columns[i]);
    }
    for (unsigned left = count; left && !rc;) {
        if (poll(&events, 1, -1) < 0) {
            perror("columns");
            return 1;
        }
        if (assasin_poll(drive) < 0)
            return failed(drive);
        for (unsigned i = 0; i < count && !rc; i++) {
            if (columns[i].execution && assasin_execution_ended(columns[i].execution)) {
                rc = end(drive, &columns[i], i);
                left--;
            }
        }
    }
    return rc; /* assasin_close() cancels what still runs */
}

int main(int argc, char **argv) {
    unsigned count = argc == 5 ? (unsigned)strtoul(argv[3], NULL, 0) : 0;
    if (count < 1 || count > COLUMNS) {
        fprintf(stderr,
                "usage: columns ADDRESS ELF COUNT BYTES: of each of COUNT columns, 1 to %u, that lie in the drive "
                "from block 0 on\n",
                COLUMNS);
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
        fprintf(stderr, "columns: %s\n", error.text);
        return 1;
    }
    int rc = run(drive, elf, elf_bytes, count, strtoull(argv[4], NULL, 0));
    return assasin_close(drive) ? 1 : rc;
}
