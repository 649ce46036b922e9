/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one piece of an offload's native build on files, for `assasin offload check`.
 *
 * Usage: PROGRAM SECONDS ROOM OUTPUTS PREFIX ARGS INPUT...
 * SECONDS: how long the piece may take; ROOM: bytes an output stream may have; ARGS: a file with the arguments. Leaves
 * the output streams in PREFIX.0, PREFIX.1, ... and prints one line, `exit CODE` or `fault TEXT`. A piece that takes
 * too long ends with exit code 124 and the stack of where it is. Every buffer is as long as its contents, so that the
 * sanitizer sees what is beyond. */
#include <assasin.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TIME_OUT 124
#define NO_FILE  125
/* What stands for no bytes: malloc(0) has one that may be touched. */
#define NOTHING 8u

static uint8_t *read_file(const char *path, size_t *bytes) {
    FILE *f = fopen(path, "rb");
    long size = -1;
    if (f && fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    uint8_t *data = size >= 0 ? malloc(size ? (size_t)size : NOTHING) : NULL;
    if (!f || size < 0 || !data) {
        perror(path);
        exit(NO_FILE);
    }
    if (!size)
        ASAN_POISON_MEMORY_REGION(data, NOTHING);
    rewind(f);
    *bytes = fread(data, 1, (size_t)size, f);
    fclose(f);
    return data;
}

static void write_file(const char *prefix, unsigned number, const uint8_t *data, size_t bytes) {
    char path[4096];
    snprintf(path, sizeof path, "%s.%u", prefix, number);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f)) {
        perror(path);
        exit(NO_FILE);
    }
}

static void too_long(int signal_number) {
    (void)signal_number;
    __sanitizer_print_stack_trace();
    _exit(TIME_OUT);
}

int main(int argc, char **argv) {
    static struct assasin_native_piece piece;
    if (argc < 6 || argc > 6 + (int)SCOMP_MAX_STREAMS)
        return NO_FILE;
    size_t room = strtoul(argv[2], NULL, 10), args_bytes;
    unsigned outputs = (unsigned)strtoul(argv[3], NULL, 10);
    piece.args = read_file(argv[5], &args_bytes);
    piece.task.pieces = 1;
    piece.task.args_bytes = (uint32_t)args_bytes;
    piece.task.streams_in = (uint32_t)(argc - 6);
    piece.task.streams_out = outputs;
    for (int i = 6; i < argc; i++) {
        struct assasin_native_stream *s = &piece.in[i - 6];
        s->data = read_file(argv[i], &s->bytes);
        piece.task.bytes[i - 6] = (uint32_t)s->bytes;
    }
    for (unsigned s = 0; s < outputs; s++) {
        piece.out[s].data = malloc(room);
        piece.out[s].bytes = room;
    }
    signal(SIGALRM, too_long);
    alarm((unsigned)strtoul(argv[1], NULL, 10));
    int code = assasin_native_run(&piece);
    alarm(0);
    for (unsigned s = 0; s < outputs; s++)
        write_file(argv[4], s, piece.out[s].data, piece.out[s].position);
    if (piece.fault)
        printf("fault %s\n", piece.fault);
    else
        printf("exit %u\n", (unsigned)code);
    return 0;
}
