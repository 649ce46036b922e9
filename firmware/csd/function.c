/* SPDX-License-Identifier: BSD-3-Clause */
/* Places for functions: ELF files checked and turned into lists of copies; and names of kernels. */
#include <string.h>

#include "csd/scomp.h"
#include "platform/fill.h"

/* ELF32, as far as it matters here. */
#define ELF_MAGIC      0x464c457fu
#define ELF_IDENT_32LE 0x00010101u /* class 32, little endian, version 1 */
#define ET_EXEC        2u
#define EM_RISCV       243u
#define EF_RVC         1u
#define EF_FLOAT       6u
#define EF_RVE         8u
#define PT_LOAD        1u
#define PT_NOTE        4u
#define NOTE_BYTES     24u /* of a note with a name of 8 bytes and a word of description */
#define NOTE_ASSA      0x41535341u
#define NOTE_SIN       0x004e4953u
#define EHDR_BYTES     52u
#define PHDR_BYTES     32u
#define MAX_PHDRS      64u

#define LOAD_MAX SCOMP_MAX_ELF

struct function functions[SCOMP_MAX_FUNCS];
static uint32_t generation;
static uint32_t uses;

/* A function's name: place and tag. */
#define NAME_PLACE 15u
#define NAME_TAG   4u
#define TAGS       0xfffu
_Static_assert(SCOMP_MAX_FUNCS == NAME_PLACE + 1, "places in a function's name");

/** The functions of programs, by their number. */
static struct function *programs[SCOMP_MAX_FUNCS];

void function_init(void) {
    memset(functions, 0, sizeof functions);
    memset(programs, 0, sizeof programs);
}

static uint32_t tag(const struct function *f) {
    return f->generation % TAGS + 1;
}

uint32_t function_find(uint32_t session, uint32_t name, struct function **f) {
    *f = &functions[name & NAME_PLACE];
    uint32_t wanted = name >> NAME_TAG;
    if (wanted == 0) {
        return REFUSED(BAD_FUNCTION);
    }
    /* Whether others have something there is not told. */
    if ((*f)->session != session || !(*f)->valid || (*f)->loading || wanted != tag(*f)) {
        return REFUSED(REPLACED);
    }
    (*f)->used = ++uses;
    return 0;
}

struct function *function_of_program(uint32_t program) {
    struct function *f = programs[program];
    return f != NULL && f->valid && !f->loading ? f : NULL;
}

/* ---- places ---- */

/** A place for a function of `session`, SESSION_NONE: there is none. With `replace` also that of a function of the
 * session which no request names and which was not used for the longest time. */
static struct function *take_place(uint32_t session, bool replace) {
    bool more = session_take(session, SHARE_FUNCTION);
    struct function *oldest = NULL;
    for (uint32_t i = 0; i < SCOMP_MAX_FUNCS; i++) {
        struct function *f = &functions[i];
        if (more && f->session == SESSION_NONE) {
            *f = (struct function){.session = (uint8_t)session};
            return f;
        }
        if (f->session == session && f->valid && !f->loading && f->users == 0 &&
            (oldest == NULL || (int32_t)(f->used - oldest->used) < 0)) {
            oldest = f;
        }
    }
    return replace ? oldest : NULL;
}

/** Give the place of `f` back when nothing uses it any more; what was in its memory is gone then. */
static void leave(struct function *f) {
    f->valid = false;
    f->leaving = true;
    if (f->loading || f->users > 0) {
        return;
    }
    dram_zero(function_memory(f), (f->bytes + 63) & ~63u);
    dram_zero(function_memory(f) + LOAD_MAX, f->scratch);
    uint32_t session = f->session;
    *f = (struct function){.session = SESSION_NONE};
    session_give(session, SHARE_FUNCTION);
}

void function_use(struct function *f) {
    f->users++;
}

void function_unuse(struct function *f) {
    f->users--;
    if (f->leaving) {
        leave(f);
    }
}

void function_session_gone(uint32_t s) {
    if (s == SESSION_PROGRAMS) {
        memset(programs, 0, sizeof programs);
    }
    for (uint32_t i = 0; i < SCOMP_MAX_FUNCS; i++) {
        if (functions[i].session == s && !functions[i].leaving) {
            leave(&functions[i]);
        }
    }
}

uint32_t function_memory(const struct function *f) {
    return DRAM_FUNCS + (uint32_t)(f - functions) * DRAM_FUNC_STRIDE;
}

/** 32-bit word at any byte address of DRAM. */
static uint32_t word_at(uint32_t addr) {
    uint32_t shift = (addr & 3) * 8;
    uint32_t w = hal_read(addr & ~3u) >> shift;
    if (shift != 0) {
        w |= hal_read((addr & ~3u) + 4) << (32 - shift);
    }
    return w;
}

#define COPY_BYTES ((uint32_t)sizeof(struct function_copy))
_Static_assert(SCOMP_MAX_FUNCS *FUNCTION_COPIES *COPY_BYTES <= DRAM_FUNC_COPIES_SIZE, "DRAM_FUNC_COPIES");

static uint32_t copy_at(const struct function *f, uint32_t n) {
    return DRAM_FUNC_COPIES + ((uint32_t)(f - functions) * FUNCTION_COPIES + n) * COPY_BYTES;
}

struct function_copy function_copy(const struct function *f, uint32_t n) {
    uint32_t at = copy_at(f, n);
    return (struct function_copy){.src = hal_read(at), .offset = hal_read(at + 4), .bytes = hal_read(at + 8)};
}

static bool add_copy(struct function *f, uint32_t src, uint32_t offset, uint32_t bytes) {
    if (f->copies_count == FUNCTION_COPIES) {
        return false;
    }
    uint32_t at = copy_at(f, f->copies_count++);
    hal_write(at, src);
    hal_write(at + 4, offset);
    hal_write(at + 8, bytes);
    return true;
}

/** Scratch DRAM behind the file. */
struct spare {
    uint32_t at, end;
};

/**
 * Copies for one segment. The copy engine wants a source aligned to 64 bytes, so other segments are moved to the
 * scratch first; and bss starts at a multiple of 8, so the last bytes of data before it go there too, padded with
 * zeros.
 */
static bool add_segment(struct function *f, uint32_t file, uint32_t offset, uint32_t filesz, uint32_t memsz,
                        struct spare *spare) {
    uint32_t body = memsz > filesz ? filesz & ~7u : filesz;
    if (body > 0) {
        uint32_t src = file;
        if ((file & 63) != 0) {
            if (body + 64 > spare->end - spare->at) {
                return false;
            }
            src = spare->at;
            for (uint32_t i = 0; i < body; i += 4) {
                hal_write(src + i, word_at(file + i));
            }
            spare->at += (body + 63) & ~63u;
        }
        if (!add_copy(f, src, offset, body)) {
            return false;
        }
    }
    uint32_t at = body;
    if (filesz > body) {
        if (spare->end - spare->at < 64) {
            return false;
        }
        uint32_t tail = filesz - body;
        uint32_t words[2];
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t have = tail > i * 4 ? tail - i * 4 : 0;
            uint32_t w = have > 0 ? word_at(file + body + i * 4) : 0;
            words[i] = have >= 4 ? w : w & ((1u << (have * 8)) - 1);
        }
        hal_write(spare->at, words[0]);
        hal_write(spare->at + 4, words[1]);
        uint32_t n = memsz - body < 8 ? memsz - body : 8;
        if (!add_copy(f, spare->at, offset + body, n)) {
            return false;
        }
        spare->at += 64;
        at = body + n;
    }
    return at >= memsz || add_copy(f, DRAM_ZERO, offset + at, memsz - at);
}

/** Whether [start, start + n) lies inside [lo, hi). */
static bool inside(uint32_t start, uint32_t n, uint32_t lo, uint32_t hi) {
    return start >= lo && start <= hi && n <= hi - start;
}

uint32_t function_tiles(const struct function *f) {
    if (f->kernel == 0) {
        return (1u << scomp_cores) - 1;
    }
    uint32_t tiles = 0;
    for (uint32_t i = scomp_cores; i < scomp_tiles; i++) {
        tiles |= (uint32_t)(sys_read(SYS_SLOT_ID + (i - scomp_cores) * 4) == f->kernel) << i;
    }
    return tiles;
}

bool function_mismatch(const struct function *f, uint32_t in, uint32_t out, uint32_t args_bytes) {
    return f->kernel != 0 && (in != f->inputs || out > 1 || args_bytes != f->scalars * 4u);
}

/** struct scomp_kernel */
static uint32_t kernel_parse(struct function *f, uint32_t at, uint32_t bytes) {
    uint32_t counts = hal_read(at + 4);
    uint32_t reserved = 0;
    for (uint32_t i = 12; i < sizeof(struct scomp_kernel); i += 4) {
        reserved |= hal_read(at + i);
    }
    f->inputs = (uint8_t)(counts >> 16);
    f->scalars = (uint8_t)(counts >> 24);
    f->kernel = hal_read(at + 8);
    if (bytes != sizeof(struct scomp_kernel) || (counts & 0xffffu) != 1 || f->inputs == 0 ||
        f->inputs > KERNEL_MAX_INPUTS || f->scalars > KERNEL_MAX_SCALARS || f->kernel == 0 || reserved != 0) {
        return SCOMP_ELF_ERROR_BAD_KERNEL;
    }
    return function_tiles(f) != 0 ? 0 : SCOMP_ELF_ERROR_NO_KERNEL;
}

/** Whether the drive's cores run what is built for `variant`, a ScompVariant. */
static bool cores_run(uint32_t variant) {
    static const uint16_t run[] = SCOMP_CORES_RUN;
    uint32_t arch = sys_read(SYS_ARCH);
    return arch < sizeof(run) / sizeof(run[0]) && variant < 16 && (run[arch] >> variant & 1) != 0;
}

/** Whether a segment of notes begins with one that names cores which this drive does not have. */
static bool for_other_cores(uint32_t note, uint32_t bytes) {
    return bytes >= NOTE_BYTES && word_at(note) == 8 && word_at(note + 4) == 4 &&
           word_at(note + 8) == SCOMP_NOTE_VARIANT && word_at(note + 12) == NOTE_ASSA &&
           word_at(note + 16) == NOTE_SIN && !cores_run(word_at(note + 20));
}

uint32_t function_parse(struct function *f, uint32_t elf, uint32_t bytes, uint32_t scratch) {
    struct spare spare = {.at = scratch, .end = scratch + FUNCTION_SCRATCH};
    f->copies_count = 0;
    f->code_copies = 0;
    f->kernel = 0;
    if (hal_read(elf) == SCOMP_KERNEL_MAGIC) {
        return kernel_parse(f, elf, bytes);
    }
    if (bytes < EHDR_BYTES || hal_read(elf) != ELF_MAGIC) {
        return SCOMP_ELF_ERROR_NOT_ELF;
    }
    uint32_t type_machine = hal_read(elf + 16);
    uint32_t flags = hal_read(elf + 36);
    if ((hal_read(elf + 4) & 0xffffffu) != ELF_IDENT_32LE || type_machine != (ET_EXEC | EM_RISCV << 16) ||
        hal_read(elf + 20) != 1 || (flags & (EF_RVC | EF_FLOAT | EF_RVE)) != 0) {
        return SCOMP_ELF_ERROR_NOT_RV32;
    }
    f->entry = hal_read(elf + 24);
    uint32_t phoff = hal_read(elf + 28);
    uint32_t phnum = hal_read(elf + 44) & 0xffffu;
    uint32_t phentsize = hal_read(elf + 40) >> 16;
    if (phentsize != PHDR_BYTES || phnum > MAX_PHDRS || phoff > bytes || phnum * PHDR_BYTES > bytes - phoff) {
        return SCOMP_ELF_ERROR_NOT_ELF;
    }
    bool entry_ok = false;
    /* Two passes, so that the copies to instruction memory come first. */
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < phnum; i++) {
            uint32_t p = elf + phoff + i * PHDR_BYTES;
            uint32_t offset = word_at(p + 4);
            uint32_t vaddr = word_at(p + 8);
            uint32_t filesz = word_at(p + 16);
            uint32_t memsz = word_at(p + 20);
            if (word_at(p) == PT_NOTE && offset <= bytes && filesz <= bytes - offset &&
                for_other_cores(elf + offset, filesz)) {
                return SCOMP_ELF_ERROR_OTHER_CORES;
            }
            if (word_at(p) != PT_LOAD || memsz == 0) {
                continue;
            }
            bool code = vaddr < ASSASIN_CORE_IMEM_BASE + ASSASIN_CORE_IMEM_SIZE;
            bool data = vaddr >= ASSASIN_CORE_SPAD_BASE && vaddr < ASSASIN_CORE_SPAD_BASE + ASSASIN_CORE_SPAD_SIZE;
            if (memsz < filesz || offset > bytes || filesz > bytes - offset || (vaddr & 7) != 0 || (!code && !data)) {
                return SCOMP_ELF_ERROR_BAD_SEGMENT;
            }
            uint32_t lo = code ? ASSASIN_CORE_IMEM_BASE : ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_DATA;
            uint32_t hi = code ? ASSASIN_CORE_IMEM_BASE + ASSASIN_CORE_IMEM_SIZE
                               : ASSASIN_CORE_SPAD_BASE + ASSASIN_CORE_SPAD_SIZE;
            if (vaddr < lo) {
                return SCOMP_ELF_ERROR_BAD_SEGMENT;
            }
            if (!inside(vaddr, memsz, lo, hi)) {
                return SCOMP_ELF_ERROR_TOO_LARGE;
            }
            if (code != (pass == 0)) {
                continue;
            }
            if (code && (f->entry & 3) == 0 && f->entry >= vaddr && f->entry - vaddr < filesz) {
                entry_ok = true;
            }
            uint32_t to = code ? ASSASIN_XB_IMEM_BASE + (vaddr - ASSASIN_CORE_IMEM_BASE)
                               : ASSASIN_XB_SPAD_BASE + (vaddr - ASSASIN_CORE_SPAD_BASE);
            if (!add_segment(f, elf + offset, to, filesz, memsz, &spare)) {
                return SCOMP_ELF_ERROR_BAD_SEGMENT;
            }
        }
        if (pass == 0) {
            f->code_copies = f->copies_count;
        }
    }
    f->scratch = spare.at - scratch;
    return entry_ok ? 0 : SCOMP_ELF_ERROR_NO_ENTRY;
}

uint32_t function_finish(struct function *f, uint32_t bytes) {
    uint32_t elf = function_memory(f);
    /* All of it, until function_parse knows better: what it refuses may have used some. */
    uint32_t before = f->scratch;
    f->scratch = FUNCTION_SCRATCH;
    uint32_t error = function_parse(f, elf, bytes, elf + LOAD_MAX);
    if (error == 0) {
        f->scratch = f->scratch > before ? f->scratch : before;
        f->generation = ++generation;
        f->valid = true;
    }
    return error;
}

static void load_end(struct csd_op *op, uint32_t status) {
    session_give(op->session, SHARE_LOAD);
    op->done(op, status);
}

static void loaded(struct dma_job *job) {
    struct csd_op *op = job->arg;
    struct function *f = op->context;
    f->loading = false;
    uint32_t status = job->error || op->abandoned ? CSD_TRANSFER : CSD_OK;
    if (f->leaving) {
        status = CSD_ABORTED;
    } else if (status == CSD_OK) {
        uint32_t error = function_finish(f, op->bytes);
        f->used = ++uses;
        op->result[0] = error != 0 ? error : (uint32_t)(f - functions) | tag(f) << NAME_TAG;
        status = error != 0 ? REFUSED(BAD_ELF) : (uint32_t)CSD_OK;
    }
    if (status != CSD_OK) {
        leave(f);
    }
    load_end(op, status);
}

static void load_data(struct csd_op *op, bool there) {
    bool ended = session_closing(op->session);
    struct function *f = there && !ended ? take_place(op->session, true) : NULL;
    if (f == NULL) {
        load_end(op, !there ? (uint32_t)CSD_NO_DATA : ended ? REFUSED(NO_SESSION) : REFUSED(NO_RESOURCES));
        return;
    }
    op->context = f;
    f->valid = false;
    f->loading = true;
    f->bytes = f->bytes > op->bytes ? f->bytes : op->bytes;
    csd_transfer(op, function_memory(f), op->bytes, false, loaded);
}

bool csd_load(struct csd_op *op) {
    if (op->bytes > SCOMP_MAX_ELF || op->bytes < EHDR_BYTES) {
        op->result[0] = op->bytes < EHDR_BYTES ? SCOMP_ELF_ERROR_NOT_ELF : SCOMP_ELF_ERROR_TOO_LARGE;
        op->done(op, REFUSED(BAD_ELF));
        return false;
    }
    if (!session_take(op->session, SHARE_LOAD)) {
        op->done(op, REFUSED(NO_RESOURCES));
        return false;
    }
    op->data = load_data;
    return true;
}

uint32_t csd_unload(uint32_t session, uint32_t name) {
    struct function *f;
    uint32_t status = function_find(session, name, &f);
    if (status == 0 && f->users > 0) {
        status = REFUSED(BAD_FUNCTION);
    }
    if (status == 0) {
        leave(f);
    }
    return status;
}

/* ---- programs, by parts ---- */

struct csd_function csd_function(uint32_t program) {
    const struct function *f = programs[program];
    return f == NULL ? (struct csd_function){.valid = false}
                     : (struct csd_function){
                           .valid = f->valid, .loading = f->loading, .used = f->users > 0, .kernel = f->kernel != 0};
}

uint32_t csd_fill(struct csd_op *op, uint32_t program) {
    struct function *f = programs[program];
    if (f == NULL) {
        f = take_place(SESSION_PROGRAMS, false);
        if (f == NULL) {
            return 0;
        }
        programs[program] = f;
    }
    f->valid = false;
    f->loading = true;
    f->bytes = LOAD_MAX;
    op->context = f;
    return function_memory(f);
}

void csd_filled(struct csd_op *op) {
    struct function *f = op->context;
    f->loading = false;
    if (f->leaving) {
        /* A reset has forgotten the program while the part was on its way. */
        leave(f);
    }
}

uint32_t csd_fill_end(uint32_t program, uint32_t bytes) {
    struct function *f = programs[program];
    return f != NULL ? function_finish(f, bytes) : SCOMP_ELF_ERROR_NOT_ELF;
}

void csd_invalidate(uint32_t program) {
    struct function *f = programs[program];
    if (f != NULL) {
        f->valid = false;
    }
}

void csd_remove(uint32_t program) {
    struct function *f = programs[program];
    programs[program] = NULL;
    if (f != NULL) {
        leave(f);
    }
}
