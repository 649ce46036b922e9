/* SPDX-License-Identifier: BSD-3-Clause */
/* Words for what a drive answers, and the errno they become. */
#include "drive.h"

#include <assasin_contract.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#define VENDOR(code) (0x100u | NVME_VENDOR_STATUS_##code)

static const struct {
    uint16_t status;
    int code;
    const char *text;
} statuses[] = {
    {0x000, 0, "success"},
    {0x001, EINVAL, "invalid command opcode"},
    {0x002, EINVAL, "invalid field in command"},
    {0x003, EIO, "command identifier conflict"},
    {0x004, EIO, "data transfer error: the drive could not reach the memory that the command names"},
    {0x005, EIO, "aborted: power loss"},
    {0x006, EIO, "internal error of the drive"},
    {0x007, ECANCELED, "aborted by request"},
    {0x008, ECANCELED, "aborted: its submission queue was deleted"},
    {0x00B, EINVAL, "invalid namespace or format"},
    {0x00C, EINVAL, "command sequence error"},
    {0x013, EINVAL, "PRP offset invalid: a PRP is not aligned as it must be"},
    {0x080, ERANGE, "LBA out of range"},
    {0x081, ENOSPC, "capacity exceeded: the drive is full"},
    {0x082, EIO, "namespace not ready"},
    {0x084, EBUSY, "a format is under way"},
    {0x100, EINVAL, "completion queue invalid"},
    {0x101, EINVAL, "invalid queue identifier"},
    {0x102, EINVAL, "invalid queue size"},
    {0x103, EIO, "abort command limit exceeded"},
    {0x105, EIO, "asynchronous event request limit exceeded"},
    {0x108, EINVAL, "invalid interrupt vector"},
    {0x109, EINVAL, "invalid log page"},
    {0x10A, EINVAL, "invalid format"},
    {0x10C, EINVAL, "invalid queue deletion"},
    {0x10D, EINVAL, "the feature cannot be saved"},
    {0x10E, EPERM, "the feature cannot be changed"},
    {0x10F, EINVAL, "the feature does not belong to a namespace"},
    {0x12B, EINVAL, "the combination of I/O command sets was rejected"},
    {0x12C, EINVAL, "the namespace belongs to another I/O command set"},
    {0x182, EROFS,
     "the drive is read-only: its flash has no room left for writes; copy the data away and format it (docs/vm.md, "
     "\"A full drive\")"},
    {0x183, EINVAL, "the command has more ranges, or is longer, than the drive takes"},
    {0x185, EINVAL, "the namespace does not fit the format of the source ranges"},
    {0x187, EINVAL, "source and destination overlap"},
    {0x18A, ENOSPC, "no resources are left for programs"},
    {0x18B, EINVAL, "invalid memory namespace"},
    {0x18C, EINVAL, "invalid memory range set"},
    {0x18D, EINVAL, "invalid memory range set identifier"},
    {0x18E, EINVAL, "invalid program data"},
    {0x18F, EINVAL, "invalid program index"},
    {0x190, EINVAL, "invalid program type"},
    {0x191, EINVAL, "too many memory ranges"},
    {0x192, ENOSPC, "too many memory range sets"},
    {0x195, EBUSY, "the memory range set is in use"},
    {0x196, ENOENT, "there is no such program"},
    {0x197, EINVAL, "memory ranges overlap"},
    {0x198, EINVAL, "the program is not activated"},
    {0x199, EBUSY, "the program is in use"},
    {0x19B, EFBIG, "the program is too large"},
    {VENDOR(BAD_FUNCTION), EBADF, "bad function: the session has none of that name, or it is in use"},
    {VENDOR(REPLACED), ESTALE, "the function has left its place for another one: load it again"},
    {VENDOR(BAD_ELF), EINVAL, "the drive refuses the ELF file"},
    {VENDOR(BAD_REQUEST), EINVAL, "malformed scomp request"},
    {VENDOR(BAD_HANDLE), EBADF, "bad handle: unknown, or already in use"},
    {VENDOR(NO_RESOURCES), EBUSY,
     "no resources: the session has all functions, jobs or commands that it may have at once; unload a function or "
     "wait for a job"},
    {VENDOR(OVERLAP), EEXIST, "extents overlap: of one stream, or those of an output with another stream's"},
    {VENDOR(BAD_FEED), EINVAL, "input from the host does not fit the job"},
    {VENDOR(NO_SESSION), ESTALE, "the session has ended: load the function again"},
    {VENDOR(NO_ACCESS), EACCES, "the session may not touch all of these blocks (assasin access shows which it may)"},
    {VENDOR(INTERFACE), EPROTO, "the drive's interface for functions is of another version than the library's"},
    {VENDOR(PROGRAM_FAILED), EIO, "the program ended with something else than success"},
    {0x280, EIO, "write fault: the medium could not be written"},
    {0x281, EIO, "unrecovered read error"},
    {0x285, EILSEQ, "compare failure: the medium holds something else"},
    {0x370, EIO, "the host gave the command up: the path to the drive failed"},
    {0x371, ECANCELED, "the host gave the command up: the drive did not answer in time or was reset"},
};

const char *assasin_strerror(uint16_t status) {
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return "unknown status";
}

static int status_errno(uint16_t status) {
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (statuses[i].status == status)
            return statuses[i].code;
    return EIO;
}

const char *assasin_elf_strerror(uint32_t reason) {
    switch (reason) {
    case SCOMP_ELF_ERROR_NOT_ELF:
        return "it is not an ELF file, or it is truncated";
    case SCOMP_ELF_ERROR_NOT_RV32:
        return "it is not a 32-bit little-endian RISC-V executable without compressed or floating-point code (build "
               "with -march=rv32im -mabi=ilp32)";
    case SCOMP_ELF_ERROR_TOO_LARGE:
        return "a segment does not fit the 32 KiB of instruction memory or the 64 KiB of scratchpad";
    case SCOMP_ELF_ERROR_BAD_SEGMENT:
        return "a segment lies outside instruction memory and scratchpad, over the arguments, or outside the file "
               "(link with offload.ld)";
    case SCOMP_ELF_ERROR_NO_ENTRY:
        return "its entry point is misaligned or outside the loaded instructions (link with the offload runtime)";
    case SCOMP_ELF_ERROR_BAD_KERNEL:
        return "a kernel has 1 or 2 inputs, at most 8 scalars, and an id other than 0";
    case SCOMP_ELF_ERROR_NO_KERNEL:
        return "no slot of this drive holds the kernel (assasin info lists what they hold; a virtual board gets one by "
               "assasin flash virtual --kernel SLOT=FILE.so)";
    case SCOMP_ELF_ERROR_OTHER_CORES:
        return "it was built for cores of another kind than the drive's (make -C firmware/offload builds for all "
               "kinds)";
    default:
        return "unknown reason";
    }
}

static_assert(SCOMP_WATCHDOG_MAX_KCYCLES == 100000000, "the message names the limit");
static const struct {
    uint32_t offset;
    const char *text;
} request_fields[] = {
    {offsetof(struct scomp_request, magic), "magic"},
    {offsetof(struct scomp_request, version), "version"},
    {offsetof(struct scomp_request, func), "function"},
    {offsetof(struct scomp_request, streams_in),
     "number of input streams (1..8, of a kernel as many as it has, and at most one output stream)"},
    {offsetof(struct scomp_request, streams_out), "number of output streams (0..8)"},
    {offsetof(struct scomp_request, s_log2), "s_log2: more streams than the buffers are divided into"},
    {offsetof(struct scomp_request, reserved0), "a reserved field"},
    {offsetof(struct scomp_request, flags), "flags: unknown bits; channel-local pieces must be one a core on the same "
                                            "extents; a channel-local chip takes no others"},
    {offsetof(struct scomp_request, pieces), "number of pieces (1..1024)"},
    {offsetof(struct scomp_request, extents), "number of extents"},
    {offsetof(struct scomp_request, args_bytes), "bytes of arguments (0..4096, of a kernel 4 for each of its scalars)"},
    {offsetof(struct scomp_request, max_cores), "number of cores"},
    {offsetof(struct scomp_request, watchdog_kcycles), "watchdog limit: at most 100,000,000, which is 10^11 cycles"},
    {offsetof(struct scomp_request, nodes),
     "number of nodes (0..8, at most the drive's cores and slots), or more calls of a kernel than slots hold it"},
    {offsetof(struct scomp_request, edges),
     "number of edges: an input or output of a node or of the tree is unconnected"},
    {offsetof(struct scomp_request, reserved2), "a reserved field"},
    {offsetof(struct scomp_request, reserved1), "a reserved field"},
};

const char *assasin_request_strerror(uint32_t offset) {
    if (offset >= offsetof(struct scomp_request, reserved1) && offset < sizeof(struct scomp_request))
        return "a reserved field";
    if (offset >= sizeof(struct scomp_request))
        return "a stream or an extent: empty, or of lengths that do not fit each other";
    for (size_t i = 0; i < sizeof(request_fields) / sizeof(request_fields[0]); i++)
        if (request_fields[i].offset == offset)
            return request_fields[i].text;
    return "unknown field";
}

const char *assasin_feed_strerror(uint32_t reason) {
    switch (reason) {
    case SCOMP_FEED_ERROR_PIECE:
        return "the job has no such piece";
    case SCOMP_FEED_ERROR_STREAM:
        return "the piece has no such input stream, or it comes from the drive";
    case SCOMP_FEED_ERROR_LENGTH:
        return "more bytes than the stream still takes";
    default:
        return "unknown reason";
    }
}

/* Statuses whose DW0 is an offset into the request of IO_EXEC. */
static bool names_a_place(const struct assasin_completion *completion) {
    uint16_t status = completion->status;
    return status == VENDOR(BAD_REQUEST) ||
           (completion->dw0 &&
            (status == VENDOR(BAD_FUNCTION) || status == VENDOR(OVERLAP) || status == NVME_STATUS_LBA_OUT_OF_RANGE));
}

int drive_check_at(struct assasin_drive *drive, const char *what, const struct assasin_completion *completion,
                   const char *where) {
    uint16_t status = completion->status;
    if (status == 0)
        return 0;
    int rc;
    const char *text = assasin_strerror(status);
    if (status == VENDOR(BAD_ELF))
        rc = drive_fail(drive, EINVAL, "%s: %s: %s", what, text, assasin_elf_strerror(completion->dw0));
    else if (status == VENDOR(BAD_FEED))
        rc = drive_fail(drive, EINVAL, "%s: %s: %s", what, text, assasin_feed_strerror(completion->dw0));
    else if (status == VENDOR(NO_ACCESS))
        rc = drive_fail(drive, EACCES, "%s: the session may not %s block %u (assasin access shows its blocks)", what,
                        completion->dw1 == SCOMP_ACCESS_WRITE ? "write" : "read", completion->dw0);
    else if (where && names_a_place(completion))
        rc = drive_fail(drive, status_errno(status), "%s: %s, byte %u: %s", what, text, completion->dw0, where);
    else
        rc = drive_fail(drive, status_errno(status), "%s: %s (NVMe status %x.%02xh)", what, text, status >> 8,
                        status & 0xFF);
    drive->status = status;
    return rc;
}

int drive_check(struct assasin_drive *drive, const char *what, const struct assasin_completion *completion) {
    return drive_check_at(drive, what, completion,
                          completion->status == VENDOR(BAD_REQUEST) ? assasin_request_strerror(completion->dw0) : NULL);
}

/** Why a sector of an input could not be read. */
static const char *media_text(uint32_t flash_status) {
    switch (flash_status) {
    case FLASH_STATUS_TIMEOUT:
        return "the NAND package does not answer";
    case FLASH_STATUS_MISDIRECTED:
        return "the medium holds another block in its place";
    case FLASH_STATUS_UNCORRECTABLE:
        return "more bit errors than its code corrects";
    case FLASH_STATUS_ERASED:
        return "its place on the medium is erased";
    case FLASH_STATUS_MISMATCH:
        return "its checksum differs";
    case FLASH_STATUS_FOREIGN:
        return "its place on the medium has another layout";
    default:
        return "it could not be read";
    }
}

const char *assasin_piece_strerror(const struct assasin_piece *piece, struct assasin_error *text) {
    static const char *const causes[] = {[0] = "misaligned jump",     [1] = "fetch outside instruction memory",
                                         [2] = "illegal instruction", [3] = "breakpoint",
                                         [4] = "misaligned load",     [5] = "load outside the scratchpad",
                                         [6] = "misaligned store",    [7] = "store outside the scratchpad"};
    const char *cause = piece->cause < sizeof(causes) / sizeof(causes[0]) ? causes[piece->cause] : NULL;
    if (piece->cause == SLOT_TRAP_NO_END)
        cause = "the kernel is done, but has not ended its result: the last beat that it writes must have TLAST set";
    if (piece->cause == SLOT_TRAP_NO_ANSWER)
        cause = "the kernel's AXI4-Lite port does not answer: check that the IP's ap_clk, ap_rst_n (the slot's reset, "
                "inverted) and s_axi_control are connected";
    if (piece->cause == ASSASIN_CAUSE_STREAM_RANGE)
        cause = "stream read out of range";
    switch (piece->status) {
    case SCOMP_STATUS_OK:
        error_set(text, 0, "ok");
        break;
    case SCOMP_STATUS_EXIT_CODE:
        error_set(text, 0, "compute returned %u", piece->exit_code);
        break;
    case SCOMP_STATUS_TRAP:
        error_set(text, 0, "trap: %s (cause %u) at PC 0x%x, tval 0x%x", cause ? cause : "unknown", piece->cause,
                  piece->pc, piece->tval);
        break;
    case SCOMP_STATUS_WATCHDOG:
        error_set(text, 0, "stopped by the watchdog at PC 0x%x after %llu cycles", piece->pc,
                  (unsigned long long)piece->report.cycles);
        break;
    case SCOMP_STATUS_ABORTED:
        error_set(text, 0, "aborted");
        break;
    case SCOMP_STATUS_MEDIA:
        if (!piece->cause)
            error_set(text, 0, "a page of its output could not be written");
        else
            error_set(text, 0, "ends with MEDIA_ERROR at byte %llu of input stream %u, LBA %u: %s",
                      (unsigned long long)piece->position, piece->stream, piece->tval, media_text(piece->cause));
        break;
    case SCOMP_STATUS_NO_ROOM:
        error_set(text, 0, "its output does not fit the extents it was to be written under; they keep what they held");
        break;
    case SCOMP_STATUS_CAPACITY:
        error_set(text, 0, "the drive has no free pages for its output; its extents keep what they held");
        break;
    case SCOMP_STATUS_DEADLOCK:
        error_set(text, 0,
                  "the functions of the tree wait for each other: node %u has output that another node has no room "
                  "for, while "
                  "that one waits for input along another way; let no way through the tree hold back more than a ring "
                  "(64 KiB / streams) of what another way delivers",
                  piece->report.node);
        break;
    default:
        error_set(text, 0, "unknown status %u", piece->status);
    }
    return text->text;
}
