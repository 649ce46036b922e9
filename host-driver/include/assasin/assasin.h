/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * libassasin: a user-space NVMe driver for ASSASIN drives, with their computational commands (scomp).
 *
 * Functions return 0 or a negative errno; assasin_last_error() then says what happened in words and
 * assasin_last_status() what the drive answered, if it did. Errors of the connection: -ENODEV the drive is gone (the
 * board process ended), -ETIMEDOUT it did not answer; after either, every further call fails the same way and only
 * assasin_close() is left. -EINTR: ended by assasin_options.tick. NVMe errors: -ERANGE for LBA Out of Range, -ENOSPC
 * for Capacity Exceeded, -EILSEQ for Compare Failure, -EINVAL for invalid fields, opcodes, requests and ELF files,
 * -EBADF for an unknown function or handle, -EBUSY for no resources, -ECANCELED for aborted commands, -EIO for
 * everything else.
 *
 * A drive belongs to one thread at a time. The library has no global state. While one call waits for the drive, the
 * jobs that assasin_exec_start() and assasin_run_start() have begun go on, and receivers of their output are called.
 */
#ifndef ASSASIN_ASSASIN_H
#define ASSASIN_ASSASIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** \defgroup drive Drives
 * @{ */

/** An open drive. */
struct assasin_drive;

/** Room for an error message. */
struct assasin_error {
    char text[384]; /**< one line, NUL-terminated */
};

/** Called about every 100 ms while a call waits for the drive. \return 0 to go on, or anything else to end the wait. */
typedef int (*assasin_tick_fn)(void *arg);

/** How to open a drive; zero means the default. */
struct assasin_options {
    uint32_t queue_depth;  /**< entries of the I/O queues, 2..65536; default 128, at most what the drive offers */
    uint64_t memory_bytes; /**< size of the memory that the drive can reach, multiple of 4096; default 64 MiB */
    uint32_t stall_ms;     /**< give up when drive and clock stand still this long, ms of wall time; default 30,000 */
    uint32_t limit_ms; /**< give up when no command completes this long although the clock runs; default 1,800,000 */
    /** Asked in every wait of every call, also of assasin_open() and assasin_close(); may be NULL, and must not use the
     * drive. When it ends the wait, a job is aborted, a transfer sends no more commands, and what is in flight has a
     * third of a second to complete; then the connection is given up and only assasin_abandon() is left. The call
     * returns -EINTR, or what it would have returned when it was done within that time. */
    assasin_tick_fn tick;
    void *tick_arg; /**< handed to tick */
};

/** What a drive is. */
struct assasin_info {
    char model[41];          /**< model number */
    char serial[21];         /**< serial number */
    char firmware[9];        /**< firmware revision */
    uint32_t block_bytes;    /**< bytes of a logical block */
    uint64_t blocks;         /**< logical blocks of the namespace; 0: the drive has none, its MEDIA log page says why */
    uint32_t transfer_bytes; /**< most bytes of one command (MDTS) */
    uint32_t queue_depth;    /**< commands that can be in flight on the I/O queue */
    uint32_t cores;          /**< ASSASIN cores */
    uint32_t channels;       /**< flash channels */
    uint32_t ways;           /**< ways of a channel */
};

/**
 * Connects to a drive, brings its NVMe controller up and creates an I/O queue pair.
 * \param address one of
 *   - `virtual:PATH` or a plain path: the socket of a virtual board;
 *   - `vfio:0000:00:05.0`: a PCI function that the kernel's vfio-pci driver has (-ENODEV also when it has not);
 *   - `kernel:/dev/nvme0n1`: a namespace of a drive that the kernel's nvme driver has, beside file systems and others
 *     who use it, by io_uring, or by ioctls where there is none; `ioctl:/dev/nvme0n1`: by ioctls.
 *   With the first two the library is the drive's driver and alone with it. Through the kernel there is no reset and no
 *   shutdown; registers, bus addresses and assasin_raw_command() are out of reach (-ENOTSUP, UINT64_MAX); memory of
 *   assasin_dma_alloc() is not limited; others load functions and run jobs beside it.
 * \param options NULL for the defaults.
 * \param drive receives the drive.
 * \param error receives the message on failure; may be NULL.
 * \return 0; -EINVAL malformed address or options; -ENOENT or -ECONNREFUSED no board there; -EBUSY another visitor is
 * connected; -ENXIO what answers is not an ASSASIN drive; -ENODEV, -ETIMEDOUT, -EIO as above.
 */
int assasin_open(const char *address, const struct assasin_options *options, struct assasin_drive **drive,
                 struct assasin_error *error);

/**
 * Shuts the controller down (CC.SHN normal, waits until the drive has saved its map) and frees everything, DMA memory
 * included. \return 0, or the error of the shutdown; the drive is gone in any case. \param drive may be NULL.
 */
int assasin_close(struct assasin_drive *drive);

/**
 * Leaves a drive at once, for one who was interrupted: resets the controller, which aborts its commands and jobs, waits
 * a fifth of a second at most, and frees everything. Written data stays; the map is saved by the next orderly close.
 * \param drive may be NULL.
 */
void assasin_abandon(struct assasin_drive *drive);

/** Why the latest call on this drive failed. \return a line of text, owned by the drive, valid until the next call. */
const char *assasin_last_error(const struct assasin_drive *drive);

/** NVMe status (SCT << 8 | SC) of the latest failed call, 0 when the failure was not the drive's answer. */
uint16_t assasin_last_status(const struct assasin_drive *drive);

/** Fills `info`; no command is sent. */
void assasin_get_info(const struct assasin_drive *drive, struct assasin_info *info);

/** Reads the register at byte `offset` of BAR0 (multiple of 4). \return 0, a connection error, or -ENOTSUP through the
 * kernel. */
int assasin_register_read(struct assasin_drive *drive, uint32_t offset, uint32_t *value);

/** Writes the register at byte `offset` of BAR0 (multiple of 4). \return as assasin_register_read(). */
int assasin_register_write(struct assasin_drive *drive, uint32_t offset, uint32_t value);

/** The drive's clock: cycles of its timebase. \return 0 or a connection error. */
int assasin_clock(struct assasin_drive *drive, uint64_t *cycles);

/** @} */
/** \defgroup memory DMA memory
 * @{ */

/** Allocates zeroed, 4096-byte aligned memory that the drive can reach. \return NULL when it is used up (->
 * assasin_options). */
void *assasin_dma_alloc(struct assasin_drive *drive, size_t bytes);

/** Frees what assasin_dma_alloc() returned; NULL is allowed. No command may still use it. */
void assasin_dma_free(struct assasin_drive *drive, void *memory);

/** Address under which the drive sees `memory`. \return UINT64_MAX when it is not DMA memory of this drive. */
uint64_t assasin_dma_address(const struct assasin_drive *drive, const void *memory);

/** @} */
/** \defgroup commands Commands
 * @{ */

/** Queue number of the admin queue. */
#define ASSASIN_ADMIN 0
/** Queue number of the I/O queue. */
#define ASSASIN_IO 1

/** A submission queue entry: dword 0 [7:0] opcode, dword 1 namespace, dwords 6..9 PRPs, dwords 10..15 the command's.
 * The library sets the command identifier. */
struct assasin_command {
    uint32_t dw[16];
};

/** A completion. */
struct assasin_completion {
    uint32_t dw0;    /**< command specific */
    uint32_t dw1;    /**< command specific */
    uint16_t status; /**< SCT << 8 | SC; 0 = success */
    bool more;       /**< the drive has more to say in the error log page */
    bool no_retry;   /**< retrying cannot help */
};

/** Called from assasin_poll(), or another call that waits, when a command has completed. \param arg as given at
 * submission. */
typedef void (*assasin_done_fn)(void *arg, const struct assasin_completion *completion);

/**
 * Puts a command on a queue without waiting; the doorbell is rung by the next assasin_poll() or assasin_wait().
 * \param data DMA memory of the command's data, or NULL; PRP1 and PRP2 are set from it. With NULL they stay as they are
 * in `command`. \param bytes of data; at most assasin_info.transfer_bytes. \return 0; -EAGAIN the queue is full (poll
 * first); -EFAULT data is not DMA memory; -EMSGSIZE too much data; a connection error.
 */
int assasin_submit(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command, void *data,
                   size_t bytes, assasin_done_fn done, void *arg);

/** Rings doorbells, handles the completions that are there, and lets jobs go on. \return how many, or a connection
 * error. */
int assasin_poll(struct assasin_drive *drive);

/**
 * A file descriptor for poll(2), epoll or an event loop: it is readable when assasin_poll() has something to do, which
 * is then to be called. Through the kernel a completion makes it readable; otherwise completions are in memory, and it
 * is readable every millisecond while commands are in flight. assasin_poll() also looks whether the drive is still
 * there, as calls that wait do. \return the descriptor, which assasin_close() closes; -EMFILE and the like.
 */
int assasin_event_fd(struct assasin_drive *drive);

/** Like assasin_poll(), but sleeps until at least one command has completed. \return how many; -ENOENT nothing is in
 * flight. */
int assasin_wait(struct assasin_drive *drive);

/** Commands submitted and not yet completed. */
unsigned assasin_in_flight(const struct assasin_drive *drive);

/**
 * Sends one command and waits for it. Data travels through a buffer of the library in the direction of opcode bits 1:0.
 * \param completion receives the completion; may be NULL. \return 0, an NVMe error or a connection error.
 */
int assasin_execute(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command, void *data,
                    size_t bytes, struct assasin_completion *completion);

/** Sends one command exactly as it is, PRPs included, and waits for it: for tests of the drive. Parameters as above.
 * \return -ENOTSUP through the kernel. */
int assasin_raw_command(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command,
                        struct assasin_completion *completion);

/**
 * Words for an NVMe status.
 * \param status SCT << 8 | SC. \return a string that is always valid, "unknown status" for values it does not know.
 */
const char *assasin_strerror(uint16_t status);

/** Why an ELF was refused: words for DW0 of a completion with status BAD_ELF. \return as above. */
const char *assasin_elf_strerror(uint32_t reason);

/** Which field was wrong: words for DW0 of a completion with status BAD_REQUEST. \return as above. */
const char *assasin_request_strerror(uint32_t offset);

/** Why input from the host was refused: words for DW0 of a completion with status BAD_FEED. \return as above. */
const char *assasin_feed_strerror(uint32_t reason);

/** @} */
/** \defgroup blocks Blocks
 * @{ */

/** Called now and then with the bytes done. \return 0 to go on; otherwise the transfer stops with -ECANCELED. */
typedef int (*assasin_progress_fn)(void *arg, uint64_t done, uint64_t total);

/**
 * Reads `bytes` bytes (a multiple of the block) from block `lba` on into any memory, many commands in flight.
 * \param progress may be NULL. \return 0; -EINVAL bytes; -ERANGE past the end; others as above.
 */
int assasin_read(struct assasin_drive *drive, uint64_t lba, void *data, uint64_t bytes, assasin_progress_fn progress,
                 void *arg);

/** Writes; parameters and results as assasin_read(), and -ENOSPC when the drive is full. */
int assasin_write(struct assasin_drive *drive, uint64_t lba, const void *data, uint64_t bytes,
                  assasin_progress_fn progress, void *arg);

/** assasin_read() into several pieces of memory, one behind the other; `count` parts of any length, a multiple of the
 * block together. */
int assasin_readv(struct assasin_drive *drive, uint64_t lba, const struct iovec *parts, int count,
                  assasin_progress_fn progress, void *arg);

/** assasin_write() from several pieces of memory. */
int assasin_writev(struct assasin_drive *drive, uint64_t lba, const struct iovec *parts, int count,
                   assasin_progress_fn progress, void *arg);

/** Has the drive compare `bytes` bytes (a multiple of the block) with what blocks from `lba` on hold. \return 0 they
 * are equal; -EILSEQ they are not, and assasin_last_error() names the blocks of the command that found it; others as
 * assasin_read(). */
int assasin_compare(struct assasin_drive *drive, uint64_t lba, const void *data, uint64_t bytes,
                    assasin_progress_fn progress, void *arg);

/** A run of logical blocks. */
struct assasin_extent {
    uint64_t lba;   /**< first block */
    uint32_t count; /**< blocks */
};

/** Tells the drive that blocks are not needed any more (Dataset Management, deallocate): they read zeros. Of many
 * extents, those before one that is refused are trimmed. \return 0; -EINVAL none, or one without blocks; -ERANGE past
 * the end; others as above. */
int assasin_trim(struct assasin_drive *drive, const struct assasin_extent *extents, uint32_t count);

/** Makes `blocks` blocks from `lba` on read zeros, without sending them. \return 0; -EINVAL none; -ERANGE past the end;
 * others as above. */
int assasin_write_zeroes(struct assasin_drive *drive, uint64_t lba, uint64_t blocks);

/** Flush. \return 0 or an error. */
int assasin_flush(struct assasin_drive *drive);

/** Identify data structure `cns` (0 namespace, 1 controller, ...) of namespace `nsid` into 4096 bytes. \return 0 or an
 * error. */
int assasin_identify(struct assasin_drive *drive, uint8_t cns, uint32_t nsid, void *data);

/** The first `bytes` (multiple of 4) bytes of log page `page`. \return 0 or an error. */
int assasin_log_page(struct assasin_drive *drive, uint8_t page, void *data, uint32_t bytes);

/**
 * Has the drive read a block of a NAND package, and the marks of a bad one, and say what it found; writes nothing.
 * \param way channel << 4 | way
 * \param address sector address of the block's first sector
 * \param step every so many sectors are read, from `first` on; 0: only the marks
 * \param block receives the struct scomp_block of the contract
 * \return 0 or an error; -EBUSY: the drive looks at a block for somebody else
 */
int assasin_nand_block(struct assasin_drive *drive, uint8_t way, uint32_t address, uint32_t step, uint32_t first,
                       void *block);

/** @} */
/** \defgroup scomp Offloads
 * @{ */

/** What a drive needs of an rv32 ELF file: headers and segments, without symbols and debug information.
 * \param image room for `bytes` bytes; may be `elf`.
 * \return size of the image; of a file that is not understood all of it. */
size_t assasin_function_image(const void *elf, size_t bytes, void *image);

/**
 * Loads the rv32 ELF file, as assasin_function_image() leaves it. Functions belong to the connection: no other runs or
 * removes them, and they go with it. The drive keeps at least one place for each of SCOMP_MAX_SESSIONS connections, and
 * one has at most half of them; then the function goes that was not used for the longest time. \return the function's
 * name, which jobs and assasin_function_unload() take, and which means this function and no other: once it had to go,
 * they fail with -ESTALE, and it has to be loaded again. -EINVAL with the reason; -EBUSY all functions that the
 * connection may have are in use; -EPROTO the drive's firmware is of another version.
 */
int assasin_function_load(struct assasin_drive *drive, const void *elf, size_t bytes);

/** Memory architecture of the drive's cores (a CORE_ARCH_* of the contract). \return 0 or an error. */
int assasin_core_arch(struct assasin_drive *drive, uint32_t *arch);

/** Which build of an offload runs on cores of an architecture. \return "sb" (stream instructions), "sbx" (these, and
 * Zba, Zbb, Zkne, Zknd), "sp" (stream buffers as memory), "mem" (cached memory): build/offload/VARIANT/NAME.elf; NULL
 * for an unknown architecture. Cores with a vector unit take "sb"; what else they run, a function's ELF note says. */
const char *assasin_offload_variant(uint32_t arch);

/** Most slots for kernels that a drive has. */
#define ASSASIN_SLOTS 8

/** The kernels in the drive's slots. \param ids receives their ids, 0 for an empty slot. \param count receives the
 * number of slots, 0 for a drive that has none. \return 0 or an error. */
int assasin_slots(struct assasin_drive *drive, uint32_t ids[ASSASIN_SLOTS], uint32_t *count);

/** Id of a kernel: CRC-32 of "NAME/VERSION". */
uint32_t assasin_kernel_id(const char *name, const char *version);

/**
 * Makes the kernel of a slot a function, which jobs and trees name like any other: its calls run in slots that hold the
 * kernel, have `inputs` input streams and at most one output stream, and their arguments are its scalars, 4 bytes each.
 * \param inputs input streams, 1 or 2. \param scalars 32-bit arguments, 0..8. \return as assasin_function_load();
 * -EINVAL no slot of the drive holds the kernel, or a number is out of range.
 */
int assasin_kernel_load(struct assasin_drive *drive, uint32_t id, uint8_t inputs, uint8_t scalars);

/** Removes a function. \return 0; -EBADF in use; -ESTALE the function named is not there any more. */
int assasin_function_unload(struct assasin_drive *drive, uint16_t function);

/** Blocks that jobs of a connection may touch. */
struct assasin_access {
    uint64_t lba;    /**< first block */
    uint64_t blocks; /**< at least 1 */
    uint32_t rights; /**< 1: input streams may read them, 2: output streams may be written there, 3: both */
};

/** Limits the jobs of session `session`, 0: of those that are opened from now on until power-off, to `count` ranges, at
 * most 8; none: no block at all. \param ranges NULL: all blocks, as at first. Jobs that run go on. \return 0; -ERANGE a
 * range goes beyond the drive; -ESTALE there is no such session. */
int assasin_access(struct assasin_drive *drive, uint16_t session, const struct assasin_access *ranges, uint32_t count);

/** A session, as commands of the drive's own name it. */
struct assasin_session {
    uint16_t number;    /**< the drive's */
    uint32_t secret[2]; /**< who knows it can use what belongs to the session */
};

/** The connection's session, which is opened unless it is open: for who writes commands for assasin_execute() and
 * assasin_raw_command() on their own. Handles of its jobs are `number` << 16 and a number that no other job of the
 * session has; the library counts its own up from 0. \return 0; -EBUSY the drive has no place for another session;
 * -EPROTO its firmware is of another version. */
int assasin_get_session(struct assasin_drive *drive, struct assasin_session *session);
/** Ends a session: its jobs stop, its functions go. \return 0; -ESTALE there is no such session. */
int assasin_session_end(struct assasin_drive *drive, uint16_t session);

/** One input stream of one piece: blocks of the drive, or bytes of the host's. */
struct assasin_input {
    uint32_t first_extent; /**< index into assasin_job.extents */
    uint32_t extent_count; /**< consecutive extents; 0: the stream is `data` */
    uint64_t bytes;        /**< length of the stream: the first bytes of these extents, or of `data` */
    const void *data;      /**< any memory of the host's, used until the job ends; NULL with extents or with no bytes */
};

/** One output stream of one piece: it goes to the job's sink, or under blocks of the drive. What is written there takes
 * effect when the piece has ended with status OK, all its streams together, the last block padded with zeros; blocks
 * that are not reached keep what they hold. */
struct assasin_output {
    uint32_t first_extent; /**< index into assasin_job.extents */
    uint32_t extent_count; /**< consecutive extents; 0: to the sink */
};

/** Instead of a node: the streams of the piece itself. */
#define ASSASIN_OUTSIDE 0xFF

/** A function of a tree; it runs on a core of its own, a kernel in a slot. */
struct assasin_node {
    uint16_t function;    /**< its name */
    uint8_t streams_in;   /**< input streams, 1..8 */
    uint8_t streams_out;  /**< output streams, 0..8 */
    int8_t s_log2;        /**< as in struct assasin_job */
    uint32_t args_offset; /**< of its arguments in the job's, a multiple of 64 */
    uint32_t args_bytes;  /**< of its arguments */
};

/** A stream of a tree: from a node's output, or from input stream `from_stream` of the piece (from_node =
 * ASSASIN_OUTSIDE), to a node's input, or to output stream `to_stream` of the piece. */
struct assasin_edge {
    uint8_t from_node;
    uint8_t from_stream;
    uint8_t to_node;
    uint8_t to_stream;
};

/** A request: a function or a tree of functions and, for each of its pieces, where its streams come from and go. */
struct assasin_job {
    uint16_t function;   /**< its name; 0 with nodes */
    uint8_t streams_in;  /**< input streams a piece, 1..8 */
    uint8_t streams_out; /**< output streams a piece, 0..8 */
    int8_t s_log2; /**< log2 of the streams that the buffers are divided into; -1 = smallest that fits; with nodes -1 */
    bool channel_local; /**< one piece a core, all on the same extents: each gets the pages that lie on its channel */
    uint32_t pieces;    /**< 1..1024 */
    const struct assasin_input *inputs;   /**< pieces x streams_in, a piece's streams together */
    const struct assasin_output *outputs; /**< pieces x streams_out; NULL: all output goes to the sink */
    const struct assasin_extent *extents; /**< extent table */
    uint32_t extent_count;                /**< entries of the extent table */
    const struct assasin_node *nodes;     /**< tree that every piece runs; NULL: one function */
    uint8_t node_count;                   /**< 0..8 */
    const struct assasin_edge *edges;     /**< its streams */
    uint8_t edge_count;                   /**< at most 255 */
    const void *args;                     /**< arguments, put in every core's scratchpad; may be NULL */
    uint32_t args_bytes;                  /**< at most 4096 */
    uint32_t max_cores;                   /**< cores to use at once, 0 = all */
    uint32_t watchdog_kcycles; /**< limit of a piece in 1,000 cycles, 0 = SCOMP_WATCHDOG_KCYCLES: 10^8 cycles */
    assasin_tick_fn tick;      /**< may be NULL, and may send other commands; ending the wait aborts the job */
    void *tick_arg;            /**< handed to tick */
};

/** Counters of a finished piece; times are cycles of the drive's timebase. Of a tree: bytes and pages of the piece's
 * own streams, the other counters summed over its nodes. */
struct assasin_report {
    uint32_t core;         /**< core it ran on; the first slot follows the last core */
    uint32_t node;         /**< node that the status is of */
    uint64_t bytes_in;     /**< input bytes consumed */
    uint64_t bytes_out;    /**< output bytes */
    uint64_t t_start;      /**< the core was started */
    uint64_t t_end;        /**< it stopped */
    uint64_t cycles;       /**< cycles it ran */
    uint64_t instret;      /**< instructions it retired */
    uint64_t wait_in;      /**< cycles it waited for input */
    uint64_t wait_out;     /**< cycles it waited for output room */
    uint64_t t_first_page; /**< first input page delivered */
    uint64_t t_last_page;  /**< last input page delivered */
    uint64_t pages;        /**< input pages delivered */
    uint64_t wait_mem;     /**< cycles it waited for its data cache */
    uint64_t l1_misses;    /**< misses of the first-level data cache */
    uint64_t l2_misses;    /**< of these, misses of the second level too */
    uint64_t prefetches;   /**< lines the prefetcher asked for */
};

/** How a piece, or a node of one, ended. `status` is a SCOMP_STATUS_* of the contract. */
struct assasin_piece {
    uint16_t status;    /**< 0 ok, 1 exit code, 2 trap, 3 watchdog, 4 aborted, 5 media error, 6 output does not fit its
                           extents, 7 drive full */
    uint32_t cause;     /**< mcause, of a kernel a SLOT_TRAP_* of the contract (trap); FLASH_STATUS_* of the sector that
                           could not be read, 0: a page of the output could not be written (media error) */
    uint32_t pc;        /**< program counter (trap, watchdog) */
    uint32_t tval;      /**< mtval (trap); block that could not be read (media error) */
    uint32_t exit_code; /**< what compute returned (exit code) */
    uint8_t stream;     /**< input stream that could not be read (media error) */
    uint64_t position;  /**< from which of its bytes on (media error) */
    struct assasin_report report;
};

/** Receives the output of a running job. All may be NULL; a result other than 0 aborts the job, and assasin_exec()
 * returns it. */
struct assasin_sink {
    /** Bytes of output stream `stream` of piece `piece`; those of one stream come in order, pieces interleave. */
    int (*data)(void *arg, uint32_t piece, uint8_t stream, uint64_t position, const void *data, uint32_t bytes);
    /** A piece has ended; nothing more comes from it. */
    int (*end)(void *arg, uint32_t piece, const struct assasin_piece *how);
    /** How node `node` of a piece that is a tree ended; comes before the piece's end. */
    int (*node)(void *arg, uint32_t piece, uint8_t node, const struct assasin_piece *how);
};

/**
 * Runs a job and hands its output to `sink` while it runs. Input from the host is sent meanwhile, several feeds in
 * flight; the drive takes them as its cores consume them. Jobs with more than 3 streams from the host a piece use fewer
 * cores at once, so that feeds that wait for room never keep out the one a core waits for. \param failed receives the
 * number of pieces whose status is not 0; may be NULL. \return 0 when the drive has run all pieces, even failed ones;
 * -EINVAL malformed (which field: assasin_last_error()); -EEXIST the extents of one stream overlap, or an output's with
 * another stream's; -ERANGE an extent ends past the drive's end; others as above.
 */
int assasin_exec(struct assasin_drive *drive, const struct assasin_job *job, const struct assasin_sink *sink, void *arg,
                 uint32_t *failed);

/** All output of a job. */
struct assasin_result;

/** Like assasin_exec(), but collects the output. \param result receives it; free it with assasin_result_free(). */
int assasin_run(struct assasin_drive *drive, const struct assasin_job *job, struct assasin_result **result);

/** A job that runs while its caller does something else. Several can, of one drive. */
struct assasin_execution;

/**
 * Begins a job like assasin_exec(), and returns as soon as the drive has been sent the request. The job goes on in
 * every call of assasin_poll(), and in every call that waits for the drive; `sink` is called from there. \param job may
 * go away; what it points to must stay until the end. Its `tick` is asked by assasin_execution_finish(). \param
 * execution receives the job's handle, for assasin_execution_finish(). \return 0, or an error of the request that the
 * library itself has found; others come at the end.
 */
int assasin_exec_start(struct assasin_drive *drive, const struct assasin_job *job, const struct assasin_sink *sink,
                       void *arg, struct assasin_execution **execution);

/** Begins a job like assasin_run(); otherwise as assasin_exec_start(). */
int assasin_run_start(struct assasin_drive *drive, const struct assasin_job *job, struct assasin_execution **execution);

/** Whether a job has ended, or its drive is gone: assasin_execution_finish() will not wait. */
bool assasin_execution_ended(const struct assasin_execution *execution);

/** Has a job aborted: it ends with -ECANCELED, unless it has ended before. Does not wait. */
void assasin_execution_cancel(struct assasin_execution *execution);

/**
 * Takes the end of a job and frees its handle, also after an error; waits when the job still runs. What is left when
 * the drive is closed is canceled, and the handles are gone then. \param failed receives the number of pieces whose
 * status is not 0; may be NULL. \param result receives the output when assasin_run_start() has begun the job, else and
 * after an error NULL; may be NULL. \return as assasin_exec(); -ECANCELED it was canceled.
 */
int assasin_execution_finish(struct assasin_execution *execution, uint32_t *failed, struct assasin_result **result);

/** Number of pieces whose status is not 0. */
uint32_t assasin_result_failed(const struct assasin_result *result);

/** How piece `piece` ended. \return NULL when there is no such piece. */
const struct assasin_piece *assasin_result_piece(const struct assasin_result *result, uint32_t piece);

/** How node `node` of piece `piece` ended. \return NULL when the job had no such node. */
const struct assasin_piece *assasin_result_node(const struct assasin_result *result, uint32_t piece, uint8_t node);

/** Output stream `stream` of piece `piece`, when it goes to the host. \param bytes receives its length. \return the
 * bytes, NULL when there are none. */
const void *assasin_result_data(const struct assasin_result *result, uint32_t piece, uint8_t stream, size_t *bytes);

/** Frees a result; NULL is allowed. */
void assasin_result_free(struct assasin_result *result);

/** Describes in words how a piece ended. \return `text`. */
const char *assasin_piece_strerror(const struct assasin_piece *piece, struct assasin_error *text);

/**
 * Divides a table of `bytes` bytes that lies in `extents` over at most `pieces` pieces of nearly equal length. Pieces
 * start at block boundaries and, but for the last, are a multiple of `record_bytes` long, so that no record is cut.
 * \param block_bytes bytes of a logical block.
 * \param inputs receives up to `pieces` inputs (one stream a piece).
 * \param parts receives the extent table of the pieces; may be NULL to ask for the number of its entries.
 * \param part_count in: room in `parts`; out: entries used or needed.
 * \return pieces made, fewer than asked when the table is too short; -EINVAL bytes, record or pieces 0; -ERANGE the
 * extents hold less than `bytes`; -EEXIST extents overlap; -ENOSPC `parts` is too small.
 */
int assasin_split(const struct assasin_extent *extents, uint32_t extent_count, uint64_t bytes, uint32_t record_bytes,
                  uint32_t block_bytes, uint32_t pieces, struct assasin_input *inputs, struct assasin_extent *parts,
                  uint32_t *part_count);

/**
 * Divides text of records that end with a newline, in `extents`, over at most `pieces` pieces. Every piece but the last
 * has `own_bytes` bytes of its own, from a block's start on; its stream goes on into the next piece's for up to
 * `overlap` bytes, so that the record which the border cuts is whole in it: a function skips to behind the first
 * newline (but for piece 0) and works on the records that start at or before byte `own_bytes` of its stream. Parameters
 * and results as assasin_split(), and: \param overlap bytes, a multiple of `block_bytes`, at least as long as the
 * longest record. \param own_bytes receives the bytes of a piece's own.
 */
int assasin_split_text(const struct assasin_extent *extents, uint32_t extent_count, uint64_t bytes, uint32_t overlap,
                       uint32_t block_bytes, uint32_t pieces, struct assasin_input *inputs,
                       struct assasin_extent *parts, uint32_t *part_count, uint64_t *own_bytes);

/** @} */
/** \defgroup files Files
 * @{ */

/** A file in a file system on a drive, held so that its bytes stay in the blocks where they are. */
struct assasin_file;

/** Where a held file's bytes are. */
struct assasin_layout {
    char device[64];                      /**< the namespace's block device: kernel:DEVICE opens its drive */
    const struct assasin_extent *extents; /**< blocks of the namespace, in the file's order; NULL when `data` is used */
    uint32_t extent_count;                /**< how many */
    uint64_t bytes;                       /**< length of the file; its last block may be used in part */
    const void *data;   /**< the file's bytes in the host's memory, when not all of them are in blocks of their own */
    const char *reason; /**< then why: the file has holes, ... ; else NULL */
};

/**
 * Holds a file for a function that reads it inside the drive: takes a read lease, so that nobody opens the file for
 * writing meanwhile, writes dirty data back (fsync), and asks the file system for its blocks (FIEMAP).
 * Blocks shared with other files are read where they are. A file with holes, with space that was never written, with
 * bytes inline in its inode, compressed or encrypted, is handed out as memory instead: the host feeds it to the
 * function, which is as right and saves nothing. \param in_drive refuse such files with -EOPNOTSUPP instead. \return 0;
 * -ENOENT, -EACCES; -EBUSY somebody has it open for writing; -EINVAL not a regular file, or empty; -ENODEV it is not on
 * a namespace of an NVMe drive, or on one of several devices; -EOPNOTSUPP the file system has no leases or no FIEMAP.
 */
int assasin_file_hold(const char *path, bool in_drive, struct assasin_file **file, struct assasin_error *error);

/** Where its bytes are. Valid until assasin_file_release(). */
const struct assasin_layout *assasin_file_layout(const struct assasin_file *file);

/** Whether the file has stayed as it was: to be asked after a run and before its results are used. \return 0; -ESTALE
 * somebody has changed it, wants to, or the file system has moved it. */
int assasin_file_check(struct assasin_file *file, struct assasin_error *error);

/** Lets go of it; NULL is allowed. */
void assasin_file_release(struct assasin_file *file);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
