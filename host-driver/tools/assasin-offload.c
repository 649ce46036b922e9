/* SPDX-License-Identifier: BSD-3-Clause */
/* assasin-offload: runs a function over a file or over blocks, where there is no Python. What `assasin run` does, on
 * libassasin alone; --help says how. */
#define _GNU_SOURCE
#include <assasin/assasin.h>

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PIECES    64u
#define MOST_ARGUMENTS 4096u
#define MOST_ELF       (16u << 20) /* with debug information */

static const char usage[] =
    "usage: assasin-offload FUNCTION --file PATH [OPTION...]\n"
    "       assasin-offload FUNCTION --drive ADDRESS --lba LBA --bytes BYTES [OPTION...]\n"
    "       assasin-offload --drive ADDRESS          says what the drive is\n"
    "FUNCTION: an ELF file, or a name in $ASSASIN_OFFLOADS (default /usr/lib/assasin)\n"
    "  --file PATH      the file to run on; its drive is found, and reached through the kernel\n"
    "  --drive ADDRESS  kernel:/dev/nvme0n1, ioctl:/dev/nvme0n1, vfio:0000:00:05.0 or virtual:SOCKET\n"
    "  --ioctl          with --file: by ioctls instead of io_uring\n"
    "  --in-drive       refuse a file that the host would have to feed (holes, inline, ...)\n"
    "  --args HEX       arguments of the function\n"
    "  --record BYTES   bytes that must not be cut between pieces\n"
    "  --pieces N       pieces to divide the input into; default one a core for scan, stat, filter, an ELF file, and\n"
    "                   where --record is given; else 1\n"
    "  --out FILE       where the output goes; default stdout; pieces one after the other\n"
    "  --write FILE     with --lba: first write FILE's bytes there, padded to whole blocks\n";

struct request {
    const char *function, *file, *drive, *out, *write;
    bool ioctl, in_drive, help;
    uint8_t args[MOST_ARGUMENTS];
    uint32_t args_bytes;
    uint64_t lba, bytes;
    bool blocks;
    uint32_t record, pieces;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
    (void)number;
    interrupted = 1;
}

static int stop_when_interrupted(void *arg) {
    (void)arg;
    return interrupted;
}

static int complain(const char *text) {
    fprintf(stderr, "assasin-offload: %s\n", text);
    return 1;
}

static bool number(const char *text, uint64_t most, uint64_t *value) {
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 0);
    *value = v;
    return !errno && end != text && !*end && *text != '-' && v <= most;
}

static bool hex(const char *text, struct request *r) {
    size_t length = strlen(text);
    if (length % 2 || length / 2 > sizeof(r->args) || strspn(text, "0123456789abcdefABCDEF") != length)
        return false;
    r->args_bytes = (uint32_t)(length / 2);
    for (size_t i = 0; i < length / 2; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        r->args[i] = (uint8_t)byte;
    }
    return true;
}

static int parse(int argc, char **argv, struct request *r) {
    static const struct option options[] = {
        {"file", 1, NULL, 'f'}, {"drive", 1, NULL, 'd'},  {"ioctl", 0, NULL, 'i'},  {"in-drive", 0, NULL, 'I'},
        {"args", 1, NULL, 'a'}, {"record", 1, NULL, 'r'}, {"pieces", 1, NULL, 'p'}, {"out", 1, NULL, 'o'},
        {"lba", 1, NULL, 'l'},  {"bytes", 1, NULL, 'b'},  {"write", 1, NULL, 'w'},  {"help", 0, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    uint64_t v = 0;
    int c, bad = 0;
    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (c) {
        case 'f':
            r->file = optarg;
            break;
        case 'd':
            r->drive = optarg;
            break;
        case 'i':
            r->ioctl = true;
            break;
        case 'I':
            r->in_drive = true;
            break;
        case 'a':
            bad |= !hex(optarg, r);
            break;
        case 'r':
            bad |= !number(optarg, 1u << 30, &v) || !v;
            r->record = (uint32_t)v;
            break;
        case 'p':
            bad |= !number(optarg, MOST_PIECES, &v) || !v;
            r->pieces = (uint32_t)v;
            break;
        case 'o':
            r->out = optarg;
            break;
        case 'l':
            bad |= !number(optarg, UINT64_MAX, &r->lba);
            r->blocks = true;
            break;
        case 'b':
            bad |= !number(optarg, 1ull << 40, &r->bytes) || !r->bytes;
            break;
        case 'w':
            r->write = optarg;
            break;
        case 'h':
            r->help = true;
            return 0;
        default:
            return 1;
        }
        if (bad) {
            fprintf(stderr, "assasin-offload: `%s` is not what --%s takes\n", optarg, argv[optind - 2] + 2);
            return 1;
        }
    }
    r->function = optind < argc ? argv[optind++] : NULL;
    if (optind < argc)
        return complain("one function at a time");
    if (r->function && !r->file == !(r->drive && r->blocks && r->bytes))
        return complain("say what to run on: --file PATH, or --drive ADDRESS --lba LBA --bytes BYTES");
    if (!r->function && !r->drive)
        return complain("say which function, or --drive ADDRESS");
    return 0;
}

static int failed(const struct assasin_drive *drive) {
    return complain(assasin_last_error(drive));
}

static void *read_file(const char *path, size_t most, size_t *bytes) {
    FILE *f = fopen(path, "rbe");
    if (!f)
        return NULL;
    uint8_t *data = calloc(1, most);
    *bytes = data ? fread(data, 1, most, f) : 0;
    fclose(f);
    return data;
}

static bool is_file(const char *function) {
    return strchr(function, '/') || strstr(function, ".elf");
}

/* What must not be cut of the input of functions that come with the project; 0: it is better not cut at all, since what
 * the pieces of the other ones put out would have to be merged, or their arguments would have to know of the pieces. */
static uint32_t record_of(const char *function) {
    static const struct {
        const char *name;
        uint32_t bytes;
    } records[] = {{"scan", 64}, {"stat", 4}, {"filter", 32}};
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
        if (!strcmp(records[i].name, function))
            return records[i].bytes;
    return is_file(function) ? 1 : 0;
}

static int load(struct assasin_drive *drive, const char *function, uint16_t *name) {
    char path[512];
    uint32_t arch;
    if (is_file(function)) {
        snprintf(path, sizeof(path), "%s", function);
    } else {
        if (assasin_core_arch(drive, &arch))
            return failed(drive);
        const char *folder = getenv("ASSASIN_OFFLOADS"), *variant = assasin_offload_variant(arch);
        snprintf(path, sizeof(path), "%s/%s/%s.elf", folder ? folder : "/usr/lib/assasin", variant ? variant : "sb",
                 function);
    }
    size_t bytes;
    void *elf = read_file(path, MOST_ELF + 1, &bytes);
    if (!elf) {
        fprintf(stderr, "assasin-offload: there is no function %s (%s: %s)\n", function, path, strerror(errno));
        return 1;
    }
    int rc = assasin_function_load(drive, elf, bytes);
    free(elf);
    if (rc < 0)
        return failed(drive);
    *name = (uint16_t)rc;
    return 0;
}

static int write_output(const struct request *r, const struct assasin_result *result, uint32_t pieces) {
    FILE *out = r->out ? fopen(r->out, "wbe") : stdout;
    bool good = out;
    for (uint32_t p = 0; p < pieces && good; p++) {
        size_t bytes;
        const void *data = assasin_result_data(result, p, 0, &bytes);
        good = bytes == 0 || fwrite(data, 1, bytes, out) == bytes;
    }
    if (out && (r->out ? fclose(out) : fflush(out)))
        good = false;
    if (!good)
        fprintf(stderr, "assasin-offload: %s: %s\n", r->out ? r->out : "stdout", strerror(errno));
    return !good;
}

static void summarise(const char *function, const struct assasin_result *result, uint32_t pieces,
                      const struct assasin_layout *layout) {
    uint64_t in = 0, out = 0, first = UINT64_MAX, last = 0;
    for (uint32_t p = 0; p < pieces; p++) {
        const struct assasin_report *report = &assasin_result_piece(result, p)->report;
        in += report->bytes_in;
        out += report->bytes_out;
        first = report->t_start < first ? report->t_start : first;
        last = report->t_end > last ? report->t_end : last;
    }
    fprintf(stderr, "%s: %llu bytes in, %llu bytes out, %u pieces, %llu cycles", function, (unsigned long long)in,
            (unsigned long long)out, pieces, (unsigned long long)(last - first));
    if (layout && layout->reason)
        fprintf(stderr, "; the host fed the file: %s", layout->reason);
    else if (layout)
        fprintf(stderr, "; read inside the drive, %u extents", layout->extent_count);
    fprintf(stderr, "\n");
}

/* What the function runs on, divided into pieces. */
struct input {
    struct assasin_input pieces[MOST_PIECES];
    struct assasin_extent *parts;
    uint32_t part_count, count;
};

static int divide(struct assasin_drive *drive, const struct request *r, const struct assasin_layout *layout,
                  struct input *in) {
    struct assasin_info info;
    assasin_get_info(drive, &info);
    uint32_t record = r->record ? r->record : record_of(r->function), pieces = r->pieces;
    if (!pieces)
        pieces = !record ? 1 : info.cores < MOST_PIECES ? info.cores : MOST_PIECES;
    record = record ? record : 1;
    if (layout && layout->data) {
        /* Memory is cut at records. */
        uint64_t each = (layout->bytes / pieces + record - 1) / record * record, at = 0;
        for (each = each ? each : record; at < layout->bytes && in->count < pieces; at += each) {
            bool last = in->count + 1 == pieces || layout->bytes - at <= each;
            in->pieces[in->count++] = (struct assasin_input){.bytes = last ? layout->bytes - at : each,
                                                             .data = (const uint8_t *)layout->data + at};
            if (last)
                break;
        }
        return 0;
    }
    struct assasin_extent whole = {.lba = r->lba,
                                   .count = (uint32_t)((r->bytes + info.block_bytes - 1) / info.block_bytes)};
    const struct assasin_extent *extents = layout ? layout->extents : &whole;
    uint32_t extent_count = layout ? layout->extent_count : 1;
    uint64_t bytes = layout ? layout->bytes : r->bytes;
    int rc = assasin_split(extents, extent_count, bytes, record, info.block_bytes, pieces, in->pieces, NULL,
                           &in->part_count);
    if (rc >= 0 && (in->parts = calloc(in->part_count + 1, sizeof(*in->parts))))
        rc = assasin_split(extents, extent_count, bytes, record, info.block_bytes, pieces, in->pieces, in->parts,
                           &in->part_count);
    if (rc < 0 || !in->parts) {
        fprintf(stderr, "assasin-offload: the input cannot be divided: %s\n", strerror(rc < 0 ? -rc : ENOMEM));
        return 1;
    }
    in->count = (uint32_t)rc;
    return 0;
}

static int run(struct assasin_drive *drive, const struct request *r, struct assasin_file *file) {
    const struct assasin_layout *layout = file ? assasin_file_layout(file) : NULL;
    struct input in = {0};
    struct assasin_error error;
    uint16_t name = 0;
    if (divide(drive, r, layout, &in) || load(drive, r->function, &name)) {
        free(in.parts);
        return 1;
    }
    struct assasin_job job = {.function = name,
                              .streams_in = 1,
                              .streams_out = 1,
                              .s_log2 = -1,
                              .pieces = in.count,
                              .inputs = in.pieces,
                              .extents = in.parts,
                              .extent_count = in.parts ? in.part_count : 0,
                              .args = r->args,
                              .args_bytes = r->args_bytes,
                              .tick = stop_when_interrupted};
    struct assasin_result *result = NULL;
    int rc = assasin_run(drive, &job, &result) ? failed(drive) : 0;
    if (rc)
        assasin_function_unload(drive, name);
    else if (assasin_function_unload(drive, name))
        rc = failed(drive);
    for (uint32_t p = 0; p < in.count && !rc; p++)
        if (assasin_result_piece(result, p)->status)
            rc = complain(assasin_piece_strerror(assasin_result_piece(result, p), &error));
    if (!rc && file && assasin_file_check(file, &error))
        rc = complain(error.text);
    if (!rc)
        rc = write_output(r, result, in.count);
    if (!rc)
        summarise(r->function, result, in.count, layout);
    assasin_result_free(result);
    free(in.parts);
    return rc;
}

static int write_blocks(struct assasin_drive *drive, const struct request *r) {
    struct assasin_info info;
    assasin_get_info(drive, &info);
    size_t got, whole = (r->bytes + info.block_bytes - 1) / info.block_bytes * info.block_bytes;
    void *data = read_file(r->write, whole, &got);
    if (!data || got < r->bytes) {
        free(data);
        fprintf(stderr, "assasin-offload: %s does not hold %llu bytes\n", r->write, (unsigned long long)r->bytes);
        return 1;
    }
    int rc = assasin_write(drive, r->lba, data, whole, NULL, NULL);
    free(data);
    return rc ? failed(drive) : 0;
}

static int describe(struct assasin_drive *drive) {
    struct assasin_info i;
    uint64_t clock;
    assasin_get_info(drive, &i);
    if (assasin_clock(drive, &clock))
        return failed(drive);
    printf(
        "%s, serial %s, firmware %s: %llu blocks of %u bytes, %u cores, %u channels x %u ways, %u commands in flight, "
        "clock %llu\n",
        i.model, i.serial, i.firmware, (unsigned long long)i.blocks, i.block_bytes, i.cores, i.channels, i.ways,
        i.queue_depth, (unsigned long long)clock);
    return 0;
}

static int use(const struct request *r, const char *address, struct assasin_file *file) {
    struct assasin_drive *drive;
    struct assasin_error error;
    if (assasin_open(address, NULL, &drive, &error))
        return complain(error.text);
    int rc = 0;
    if (r->write)
        rc = write_blocks(drive, r);
    if (!rc)
        rc = r->function ? run(drive, r, file) : describe(drive);
    if (assasin_close(drive) && !rc)
        rc = complain("the drive did not shut down");
    return rc;
}

int main(int argc, char **argv) {
    static struct request r;
    if (parse(argc, argv, &r)) {
        fputs(usage, stderr);
        return 2;
    }
    if (r.help)
        return fputs(usage, stdout) < 0;
    /* A job that is left alone would keep cores of the drive. */
    struct sigaction stop = {.sa_handler = interrupt};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    if (!r.file)
        return use(&r, r.drive, NULL);
    struct assasin_error error;
    struct assasin_file *file;
    if (assasin_file_hold(r.file, r.in_drive, &file, &error))
        return complain(error.text);
    char address[128];
    snprintf(address, sizeof(address), "%s:%s", r.ioctl ? "ioctl" : "kernel", assasin_file_layout(file)->device);
    int rc = use(&r, r.drive ? r.drive : address, file);
    assasin_file_release(file);
    return rc;
}
