/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * NVMe controller: what its files share. Wire values are the NVM Express Base Specification's.
 */
#ifndef ASSASIN_FW_NVME_H
#define ASSASIN_FW_NVME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csd/service.h"
#include "ftl/buffer.h"
#include "ftl/ftl.h"
#include "platform/dma.h"
#include "platform/regs.h"

#define FW_VERSION "0.1.0"

#define NVME_IO_QUEUES  8u
#define NVME_QUEUES     (NVME_IO_QUEUES + 1u)
#define NVME_MQES       255u
#define NVME_MDTS_BYTES DMA_MAX
/** Commands the firmware holds at once; more wait in the front end. */
#define NVME_COMMANDS 160u
#define NVME_AERL     3u /**< 0-based */
#define NVME_ELPE     15u

/** Command specific status NVME_VENDOR_STATUS_* of the contract. */
#define NVME_VENDOR(sc) (0x100u | (sc))
/** Status values: SCT in bits 10:8, SC in 7:0. */
enum nvme_status {
    NVME_OK = 0x000,
    NVME_INVALID_OPCODE = 0x001,
    NVME_INVALID_FIELD = 0x002,
    NVME_DATA_TRANSFER = 0x004,
    NVME_INTERNAL = 0x006,
    NVME_ABORTED = 0x007,
    NVME_SQ_DELETED = 0x008,
    NVME_INVALID_NS = 0x00b,
    NVME_SEQUENCE = 0x00c,
    NVME_PRP_OFFSET = 0x013,
    NVME_SANITIZE_FAILED = 0x01c,
    NVME_SANITIZE_IN_PROGRESS = 0x01d,
    NVME_LBA_RANGE = 0x080,
    NVME_NS_NOT_READY = 0x082,
    NVME_FORMAT_IN_PROGRESS = 0x084,
    NVME_CQ_INVALID = 0x100,
    NVME_QID_INVALID = 0x101,
    NVME_QUEUE_SIZE = 0x102,
    NVME_AER_LIMIT = 0x105,
    NVME_VECTOR_INVALID = 0x108,
    NVME_LOG_INVALID = 0x109,
    NVME_FORMAT_INVALID = 0x10a,
    NVME_QUEUE_DELETION = 0x10c,
    NVME_NOT_SAVEABLE = 0x10d,
    NVME_NOT_CHANGEABLE = 0x10e,
    NVME_NOT_NAMESPACE = 0x10f,
    NVME_SELF_TEST_IN_PROGRESS = 0x11d,
    NVME_COMBINATION = 0x12b,
    NVME_COMMAND_SET = 0x12c, /**< Identify alone */
    NVME_READ_ONLY = 0x182,
    NVME_SIZE_LIMIT = 0x183,
    NVME_INCOMPATIBLE_NS = 0x185,
    NVME_OVERLAPPING_IO = 0x187,
    NVME_PROGRAM_RESOURCES = 0x18a,
    NVME_MEMORY_NS = 0x18b,
    NVME_RANGE_SET = 0x18c,
    NVME_RANGE_SET_ID = 0x18d,
    NVME_PROGRAM_DATA = 0x18e,
    NVME_PROGRAM_INDEX = 0x18f,
    NVME_PROGRAM_TYPE = 0x190,
    NVME_MAX_RANGES = 0x191,
    NVME_MAX_RANGE_SETS = 0x192,
    NVME_RANGE_SET_IN_USE = 0x195,
    NVME_NO_PROGRAM = 0x196,
    NVME_RANGES_OVERLAP = 0x197,
    NVME_NOT_ACTIVATED = 0x198,
    NVME_PROGRAM_IN_USE = 0x199,
    NVME_PROGRAM_TOO_BIG = 0x19b,
    NVME_PROGRAM_FAILED = 0x100 | NVME_VENDOR_STATUS_PROGRAM_FAILED,
    NVME_WRITE_FAULT = 0x280,
    NVME_READ_ERROR = 0x281,
    NVME_COMPARE_FAILURE = 0x285,
    NVME_DEALLOCATED = 0x287,
};
/** Do Not Retry, and More, in the position of CQE_PUSH. */
#define NVME_DNR  0x4000u
#define NVME_MORE 0x2000u

/** Namespaces; the second and third are there while CC.CSS selects all command sets. */
#define NSID_DRIVE   1u
#define NSID_MEMORY  2u /**< Subsystem Local Memory: a part of the SSD DRAM */
#define NSID_COMPUTE 3u /**< programs on the ASSASIN cores, kernels in slots */
#define NSID_ALL     0xffffffffu

/** Command set identifiers. */
enum nvme_csi { CSI_NVM = 0, CSI_MEMORY = 3, CSI_COMPUTE = 4 };

struct nvme_cmd;
typedef void (*nvme_cmd_fn)(struct nvme_cmd *cmd);

/** A command from its fetch to its completion. */
struct nvme_cmd {
    /** Its part that csd works with. Of every command: the list it is on, its queue (`owner`), whether its completion
     * is not wanted any more, its data's length, and DW0 and DW1 of its completion (`result`). */
    struct csd_op op;
    uint32_t sqe[16];
    bool used;
    bool list_taken;         /**< host.list is from the pool */
    bool sampled;            /**< its turn to be timed, should it be a read of one block */
    bool timed;              /**< its stages are timed */
    bool drained;            /**< what the write cache held when it began is on the medium */
    uint8_t fetched, wanted; /**< PRP list entries */
    uint8_t range_set;       /**< program.c: memory range set that a run uses + 1, or 0 */
    uint16_t status;         /**< first error */
    uint16_t location;       /**< offset of the parameter in error, for the error log; LOCATION_NONE */
    struct dma_pages host;   /**< its data in host memory */
    nvme_cmd_fn ready;       /**< runs when the PRPs are known */
    nvme_cmd_fn unmapped;    /**< runs when they cannot be, with `status` set; NULL: the command ends with that */
    union {
        uint32_t lba;  /**< of a range of blocks: the first */
        uint32_t args; /**< program.c: DRAM address of a run's arguments */
    };
    uint32_t pages, issued, ended; /**< reads and writes */
    uint32_t lost_lba;             /**< NVME_READ_ERROR: the first block that could not be read */
    struct page_buffer *buffer;    /**< of commands that need one */
    uint32_t stamp;                /**< stages.c: when the stage under way began */
    union {
        struct dma_job job;
        struct ftl_trim trim;
        struct ftl_checkpoint checkpoint;
        struct ftl_drain drain;
    };
};

static inline uint8_t cmd_opcode(const struct nvme_cmd *cmd) {
    return (uint8_t)cmd->sqe[0];
}
static inline uint16_t cmd_id(const struct nvme_cmd *cmd) {
    return (uint16_t)(cmd->sqe[0] >> 16);
}
static inline uint32_t cmd_nsid(const struct nvme_cmd *cmd) {
    return cmd->sqe[1];
}

#define LOCATION_NONE 0xffffu

extern struct nvme_counters { uint64_t commands; /**< since power-on */ } nvme_counters;

/* ---- command.c: life of a command ---- */

/** PRP lists at once: more than the page buffers can keep busy with the longest transfers. */
#define NVME_LISTS (CSD_LISTS + 8u)
/** All of TCM that host DMA writes: nothing else of it is open to the AXI4 slave once the firmware runs
 * (SYS.TCM_WRITE_FIRST). */
struct nvme_dma {
    /** PRP lists; one entry more than a transfer needs, for the pointer to the next list page. */
    uint64_t lists[NVME_LISTS][DMA_LIST_ENTRIES + 1];
    uint32_t admin[1024]; /**< see admin_buffer */
};
extern struct nvme_dma nvme_dma;

void nvme_commands_init(void);
/** Commands are taken from the front end and dispatched; WORK_FETCH stays when one waits for something here. */
void nvme_fetch(void);
/** Post finished commands; WORK_POST stays while some wait for room in the front end. */
void nvme_post(void);
/** End a command for a parameter that is not legal. @param dword of the submission entry */
void nvme_refuse(struct nvme_cmd *cmd, uint32_t status, uint32_t dword);
/** End a command. Errors get DNR unless the status is one that a retry may cure. */
void nvme_complete(struct nvme_cmd *cmd, uint32_t status);
/** Read the command's PRPs for `bytes` of data (1..MDTS), then run `ready`. */
void nvme_map(struct nvme_cmd *cmd, uint32_t bytes, nvme_cmd_fn ready);
/** All data of `cmd`, which goes on, are moved: others may have its list of pages. */
void nvme_unmap(struct nvme_cmd *cmd);
/** Send `bytes` from device memory to the command's buffer from its byte `off` on, then run `done`. */
void nvme_transfer(struct nvme_cmd *cmd, uint32_t dev, uint32_t bytes, bool to_host, dma_done_fn done);
/** Commands in use (of `sqid`, or of all with NVME_QUEUES). */
uint32_t nvme_in_use(uint32_t sqid);
/** Forget the completions of all commands of `sqid` (all with NVME_QUEUES) and stop what waits. */
void nvme_orphan(uint32_t sqid);
static inline struct nvme_cmd *nvme_cmd_of(struct node *n) {
    return CONTAINER_OR_NULL(n, struct nvme_cmd, op.node);
}
/** Abort `cmd`, or with NULL all, of list `l`. True when something was. */
bool nvme_drop(struct list *l, struct nvme_cmd *cmd);
/** Find a command in use. */
struct nvme_cmd *nvme_find(uint32_t sqid, uint32_t cid);
/** Abort `cmd` when it waits for a PRP list. */
bool nvme_abort_waiter(struct nvme_cmd *cmd);

/* ---- controller.c: registers, queues, reset ---- */

enum controller_state {
    CTRL_DISABLED,
    CTRL_READY,
    CTRL_FATAL,    /**< CSTS.CFS is set: until the reset no command is taken */
    CTRL_SHUTDOWN, /**< the host has asked for a shutdown: likewise */
    CTRL_RESETTING,
};
extern enum controller_state controller;
/** CC.CSS selects all command sets: their namespaces are active. */
extern bool controller_all_sets;

struct nvme_queues {
    bool sq[NVME_QUEUES];       /**< submission queue exists */
    bool cq[NVME_QUEUES];       /**< completion queue exists */
    uint8_t sq_cq[NVME_QUEUES]; /**< completion queue of a submission queue */
    bool deleting[NVME_QUEUES]; /**< submission queue is being deleted */
    uint32_t created;           /**< I/O queues created since enable */
};
extern struct nvme_queues queues;

/** Say in CAP what the controller offers, before anything of a boot takes time: a host may read CAP as soon as the
 * drive is there, and goes by what it has read when it enables the controller. CAP.TO is the most that it can be;
 * controller_init lowers it. */
void controller_announce(void);
void controller_init(void);
/** What the host is told about something that takes `ms` at most. */
uint32_t controller_patience(uint32_t ms);
/** Handle NVME.EVENT. */
void controller_event(void);
/** Go on with what waits for commands to end: deletions of queues, a reset, a shutdown. */
void controller_poll(void);
/** Tear down a submission queue in hardware. */
void queue_sq_delete(uint32_t qid);
void queue_cq_delete(uint32_t qid);

/* ---- admin.c ---- */

void admin_init(void);
void admin_command(struct nvme_cmd *cmd);
/** The admin data buffer is free: false holds further admin commands back. */
bool admin_ready(void);
/** Go on with deletions that wait for their queue's commands. True while some wait. */
bool admin_poll(void);
/** Abort what admin.c keeps waiting without completions. */
void admin_orphan(void);
/** Buffer of one page for admin data, in TCM. */
#define admin_buffer nvme_dma.admin
/** Send `bytes` of admin_buffer and complete. */
void admin_send(struct nvme_cmd *cmd, uint32_t bytes);
/** Fetch `bytes` of the command's data into admin_buffer, then run `take`; the buffer is free again when that returns.
 */
void admin_receive(struct nvme_cmd *cmd, uint32_t bytes, nvme_cmd_fn take);
/** Little-endian fields of admin_buffer, which may be at any offset. */
void put8(uint32_t at, uint32_t v);
void put16(uint32_t at, uint32_t v);
void put32(uint32_t at, uint32_t v);
void put64(uint32_t at, uint64_t v);

/* ---- namespace.c ---- */

/** Namespaces that can exist: Identify Controller's NN. */
uint32_t namespace_count(void);
bool namespace_active(uint32_t nsid);
enum nvme_csi namespace_csi(uint32_t nsid);
/** What a command that does not take NSID_ALL has to be refused with for its NSID: NVME_OK, NVME_INVALID_NS,
 * NVME_INVALID_FIELD for one that is not active. */
uint32_t namespace_check(uint32_t nsid);

/* ---- event.c ---- */

/** Types of asynchronous events. */
enum event_type { EVENT_ERROR = 0, EVENT_HEALTH = 1, EVENT_NOTICE = 2, EVENT_IO = 6 };

/** Commands that wait for an event. */
uint32_t event_waiting(void);
/** A command waits for an event. */
void event_request(struct nvme_cmd *cmd);
/** Report an event by AER; of one type only one at a time until log page `log` was read. */
void event_report(enum event_type type, uint32_t info, uint32_t log);
/** Log page `log` was read. */
void event_acknowledge(uint32_t log);
/** Complete all waiting requests without telling the host, and forget what was to be reported. */
void event_orphan(void);
/** Abort `cmd` when it waits for an event. */
bool event_abort(struct nvme_cmd *cmd);
/** What is to be reported of `type` and was not yet is forgotten. */
void event_forget(enum event_type type);

/* ---- identity.c ---- */

/** Where ftl_owner_data has what: first the health log's counters, then from these bytes on the identity, 8 bytes, what
 * was sanitized, and the self-tests. */
#define SAVED_IDENTITY 88u
#define SAVED_SANITIZE 96u
#define SAVED_TESTS    112u
/** What tells this drive from others, IDENTITY_BITS wide. */
extern uint64_t drive_identity;
#define SERIAL_BYTES 20u
/** Spare share that the loader asks of a format, per cent; 0: it leaves that to the drive. */
uint32_t identity_spare(void);
/** Whether the loader wants parity over dies. */
enum ftl_parity identity_parity(void);
/** Find the identity, and store it when it is new; while no checkpoint is under way. */
void identity_init(void);
/** The serial number, without a 0 behind it. */
void identity_serial(char serial[SERIAL_BYTES]);

/* ---- identify.c, features.c, log.c, health.c, format.c ---- */

void identify_command(struct nvme_cmd *cmd);
void features_init(void);
void features_get(struct nvme_cmd *cmd);
void features_set(struct nvme_cmd *cmd);
uint32_t features_event_config(void);
/** Thresholds of the composite temperature, kelvin. */
void features_temperature(uint32_t *over, uint32_t *under);
void log_init(void);
void log_command(struct nvme_cmd *cmd);
/** Keep an entry of the error log. @param cmd NULL for an error that is no command's */
void log_error(const struct nvme_cmd *cmd, uint32_t status);
void format_init(void);
void format_command(struct nvme_cmd *cmd);
/** The host announces that power will go: an erase under way ends, and the command with Command Abort Requested. */
void format_stop(void);
/** A reset: formatting goes on without its command. */
void format_orphan(void);
/** What commands that would use the drive's blocks have to be refused with for the time being; NVME_OK. */
extern uint32_t blocks_barred;
/** Reads of blocks that were never written, or were deallocated, fail: DULBE of the feature Error Recovery. */
extern bool unwritten_fails;

/* ---- sanitize.c ---- */

/** After the mount: a sanitize operation that power has interrupted goes on. */
void sanitize_init(void);
void sanitize_command(struct nvme_cmd *cmd);
/** Whether the admin command, of which DW10 is `dw10`, may be processed now: NVME_OK, or what it is refused with. */
uint32_t sanitize_check(uint8_t opcode, uint32_t dw10);
/** Start what waits for commands to end. True while something waits. */
bool sanitize_poll(void);
/** The controller is enabled: go on with what a shutdown has stopped. */
void sanitize_go_on(void);
/** The host announces that power will go: it goes on after that. */
void sanitize_pause(void);
/** A reset: it goes on without its command. */
void sanitize_orphan(void);
/** Bring ftl_owner_data up to date. */
void sanitize_keep(void);
/** Fill admin_buffer with the sanitize status log. */
void sanitize_log(void);

/* ---- selftest.c ---- */

/** Results of a device self-test. */
enum test_result {
    TEST_PASSED = 0,
    TEST_ABORTED = 1,
    TEST_RESET = 2,
    TEST_FORMAT = 4,
    TEST_FAILED = 7,
    TEST_SANITIZE = 9,
};
/** After the mount: an extended test that power has interrupted goes on. */
void test_init(void);
void test_command(struct nvme_cmd *cmd);
/** Go on with the test under way. */
void test_poll(void);
/** The controller is enabled: go on with what stood still meanwhile. */
void test_go_on(void);
/** Something ends the test under way, if there is one. */
void test_stop(enum test_result why);
/** A reset: it ends a short test. */
void test_reset(void);
/** Minutes that an extended test takes at most. */
uint32_t test_minutes(void);
void test_keep(void);
/** Fill admin_buffer with the log page. */
void test_log(void);
#define TEST_LOG_BYTES 564u

/** Composite temperature, kelvin: the drive has no sensor, so this is what it is rated for in use. */
#define HEALTH_KELVIN 313u

/** Counters of the health log. Those of `saved` are saved with every checkpoint. */
struct health {
    struct health_saved {
        uint64_t blocks_read, blocks_written;
        uint64_t reads, writes; /**< host commands */
        uint64_t busy_cycles;   /**< with commands outstanding */
        uint64_t on_cycles;     /**< powered */
        uint64_t media_errors;
        uint32_t power_cycles;
        uint32_t unsafe_shutdowns;
        uint64_t errors;  /**< entries of the error log */
        uint32_t powered; /**< no shutdown since */
    } saved;
    uint64_t on_since, busy_since; /**< timebase */
};
extern struct health health;
/** The critical warning byte of the health log. */
uint32_t health_warning(void);
/** Hours that the drive was powered. */
uint64_t health_hours(void);
/** Fill admin_buffer with the health log. */
void health_log(void);
/** Conditions may have changed: report those that are new. */
void health_check(void);
/** Put the counters, and what else the medium keeps for this folder, there soon; not after a shutdown, which does it.
 */
void health_save(void);
/** From time to time: counters that were not saved for long are. */
void health_look(void);
/** The controller is enabled: conditions that hold are reported again, and a drive that is read-only lends of its
 * reserve. */
void health_enable(void);
/** The host announces that power will go; before the checkpoint. */
void health_shutdown(void);
/** Count the power cycle, durably; after the mount. */
void health_init(void);

/* ---- media_log.c ---- */

/** Block `lba`, which `cmd` asks for, could not be read: `op` says where it lies, `status` what was found first. */
void media_lost(struct nvme_cmd *cmd, uint32_t lba, const struct nand_op *op, uint32_t status);
/** Block `lba`, whose entry of the map is `ppa`, is on no sector: NVME_OK when it reads as zeros, or what a command
 * that asks for it ends with. */
uint32_t media_absent(struct nvme_cmd *cmd, uint32_t lba, uint32_t ppa);
/** Fill admin_buffer with log page SCOMP_LOG_MEDIA. */
void media_log(void);

/* ---- block.c ---- */

void block_init(void);
/** ADMIN_NAND_BLOCK */
void block_command(struct nvme_cmd *cmd);

/* ---- stages.c ---- */

/** Stages of a read of one block, as the log page SCOMP_LOG_STAGES has them. */
enum stage { STAGE_DECODE, STAGE_PRP, STAGE_MAP, STAGE_FLASH, STAGE_DMA, STAGE_COMPLETE, STAGES };
extern uint64_t stage_cycles[STAGES];
extern uint64_t stage_reads;
/** One command in so many is timed, when it is a read of one block: the clock is a register, and slow to read. A power
 * of two. */
#define STAGE_TURNS 8u

/** Stage `n` of `cmd` has ended now. */
static inline void stage_end(struct nvme_cmd *cmd, enum stage n) {
    uint32_t now = sys_read(SYS_MTIME_LO);
    stage_cycles[n] += now - cmd->stamp;
    cmd->stamp = now;
}

/* ---- io.c ---- */

/** Most blocks of a Write Uncorrectable: WUSL of Identify, log2 of blocks. */
#define IO_LOSE_MOST_LOG2 5u
#define IO_LOSE_MOST      (1u << IO_LOSE_MOST_LOG2)
void io_init(void);
void io_command(struct nvme_cmd *cmd);
/** Run `go` when what the write cache holds is on the medium; the command fails when that cannot be. */
void io_drain(struct nvme_cmd *cmd, nvme_cmd_fn go);
/** Read, write or verify [lba, lba + pages): cmd->lba and pages are set, and the PRPs are known. */
void io_issue(struct nvme_cmd *cmd);
/** Whether [lba, lba + count) lies in the drive's namespace. */
bool io_in_range(uint64_t lba, uint32_t count);
/** Abort `cmd` when nothing of it has begun. */
bool io_abort(struct nvme_cmd *cmd);
/** Issue pages of commands that wait for buffers. */
void io_poll(void);
/** Drop commands that have no page in flight yet and stop issuing for the others. */
void io_orphan(void);
/** First block of the range in a command. */
static inline uint64_t io_start_block(const struct nvme_cmd *cmd) {
    return cmd->sqe[10] | (uint64_t)cmd->sqe[11] << 32;
}
/** Check the range of blocks of `cmd`, at most `most`, and take it into cmd->lba and pages. `reserved`: bits of CDW12
 * that must be 0. False when the command has been refused. */
bool io_take_range(struct nvme_cmd *cmd, uint32_t reserved, uint32_t most);

/* ---- ranges.c: Write Zeroes, Dataset Management ---- */

void ranges_init(void);
void ranges_write_zeroes(struct nvme_cmd *cmd);
void ranges_dsm(struct nvme_cmd *cmd);
/** Start commands that wait for page buffers. */
void ranges_poll(void);
/** Drop those; with `cmd`, only that. True when something was dropped. */
bool ranges_drop(struct nvme_cmd *cmd);

/* ---- compare.c ---- */

void compare_init(void);
void compare_command(struct nvme_cmd *cmd);
/** Start what waits for page buffers. */
void compare_poll(void);
/** Drop it; with `cmd`, only that. True when something was dropped. */
bool compare_drop(struct nvme_cmd *cmd);

/* ---- vendor.c: commands for functions and requests ---- */

void vendor_init(void);
/** Make `cmd` ready to be given to csd. */
void vendor_prepare(struct nvme_cmd *cmd);
/** IO_EXEC, IO_READ, IO_FEED, IO_ABORT. */
void vendor_io(struct nvme_cmd *cmd);
void vendor_func_load(struct nvme_cmd *cmd);
void vendor_func_unload(struct nvme_cmd *cmd);
void vendor_session_end(struct nvme_cmd *cmd);
void vendor_access(struct nvme_cmd *cmd);
/** Fill admin_buffer with log page SCOMP_LOG_SESSIONS and return its bytes. */
uint32_t vendor_sessions_log(void);
/** The status of the wire for how `cmd` has ended in csd. */
uint32_t vendor_status(const struct nvme_cmd *cmd, uint32_t status);

/* ---- memory.c: Subsystem Local Memory; program.c: Computational Programs ---- */

/** Memory range sets, and ranges of one. */
#define PROGRAM_SETS   16u
#define PROGRAM_RANGES 16u
/** Ranges start at multiples of this, and those written end there. */
#define RANGE_ALIGN_LOG2 6u
#define RANGE_ALIGN      (1u << RANGE_ALIGN_LOG2)
void memory_init(void);
void memory_command(struct nvme_cmd *cmd);
/** A slice of fills and copies. */
void memory_poll(void);
/** Something may be written to `bytes` bytes of the namespace from DRAM address `at` on. */
void memory_touch(uint32_t at, uint32_t bytes);
/** Zero all of it, a slice at a time, while no command uses it; then run `done`. */
void memory_wipe(void (*done)(void));
/** Drop what waits; with `cmd`, only that. True when something was dropped. */
bool memory_drop(struct nvme_cmd *cmd);
void program_init(void);
/** Program indexes, memory range sets and what they name go with a reset. */
void program_reset(void);
void program_load(struct nvme_cmd *cmd);
void program_activation(struct nvme_cmd *cmd);
void program_ranges(struct nvme_cmd *cmd);
void program_command(struct nvme_cmd *cmd);
/** Fill admin_buffer with log page `lid` (82h to 84h) and return its bytes. */
uint32_t program_log(uint32_t lid);

#endif
