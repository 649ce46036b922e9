/**
 * @file
 * NVMe controller: what its files share. Wire values are the NVM Express Base Specification's.
 */
#ifndef ASSASIN_FW_NVME_H
#define ASSASIN_FW_NVME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftl/ftl.h"
#include "lib/regs.h"
#include "nvme/hdma.h"

#define FW_VERSION "0.1.0"

#define NVME_IO_QUEUES  8u
#define NVME_QUEUES     (NVME_IO_QUEUES + 1u)
#define NVME_MQES       255u
#define NVME_MDTS_BYTES (128u * 1024u)
/** Commands the firmware holds at once; more wait in the front end. */
#define NVME_COMMANDS 160u
#define NVME_AERL     3u /**< 0-based */
#define NVME_ELPE     15u

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
    NVME_LBA_RANGE = 0x080,
    NVME_CAPACITY = 0x081,
    NVME_NS_NOT_READY = 0x082,
    NVME_CQ_INVALID = 0x100,
    NVME_QID_INVALID = 0x101,
    NVME_QUEUE_SIZE = 0x102,
    NVME_AER_LIMIT = 0x105,
    NVME_VECTOR_INVALID = 0x108,
    NVME_LOG_INVALID = 0x109,
    NVME_FORMAT_INVALID = 0x10a,
    NVME_QUEUE_DELETION = 0x10c,
    NVME_NOT_SAVEABLE = 0x10d,
    NVME_WRITE_FAULT = 0x280,
    NVME_READ_ERROR = 0x281,
};
/** Do Not Retry, in the position of CQE_PUSH. */
#define NVME_DNR 0x4000u

struct nvme_cmd;
typedef void (*nvme_cmd_fn)(struct nvme_cmd *cmd);

/** A command from its fetch to its completion. */
struct nvme_cmd {
    struct nvme_cmd *next; /**< the one list it is on */
    uint32_t sqe[16];
    uint8_t sqid;
    bool used;
    bool orphan;     /**< its completion is not wanted any more: reset, or its queue went */
    bool list_held;  /**< prp.list is from the pool */
    uint16_t status; /**< first error */
    uint32_t dw0;
    struct prp prp;
    nvme_cmd_fn ready;        /**< runs when the PRPs are known */
    nvme_cmd_fn unmapped;     /**< runs when they cannot be, with `status` set; NULL: the command completes so */
    uint32_t fetched, wanted; /**< PRP list entries */
    /** Reads and writes. */
    uint32_t lba, pages, issued, ended;
    struct page_slot *slot; /**< buffer of commands that need one */
    void *context;          /**< scomp: the request */
    uint32_t bytes;         /**< scomp: of the transfer */
    union {
        struct dma_job job;
        struct ftl_trim trim;
        struct ftl_checkpoint checkpoint;
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

/** SMART and scomp_perf counters of the controller. */
struct nvme_counters {
    uint64_t commands;
    uint64_t reads, writes; /**< host commands */
    uint64_t blocks_read, blocks_written;
    uint64_t media_errors;
    uint64_t error_entries;
};
extern struct nvme_counters nvme_counters;

/* ---- command.c: life of a command ---- */

void nvme_commands_init(void);
/** Fetched commands are taken from the front end and dispatched. */
void nvme_fetch(void);
/** A fetched command waits for something inside the firmware. */
extern bool nvme_fetch_blocked;
/** First of the commands that have ended and wait for room in the front end. */
extern struct nvme_cmd *nvme_posting;
/** Post finished commands. True while some wait for room in the front end. */
bool nvme_post(void);
/** End a command. Errors get DNR unless the status is one that a retry may cure. */
void nvme_complete(struct nvme_cmd *cmd, uint32_t status);
/** Read the command's PRPs for `bytes` of data (1..MDTS), then run `ready`. */
void nvme_map(struct nvme_cmd *cmd, uint32_t bytes, nvme_cmd_fn ready);
/** Send `bytes` from device memory to the command's buffer from its byte `off` on, then run `done`. */
void nvme_transfer(struct nvme_cmd *cmd, uint32_t dev, uint32_t bytes, bool to_host, dma_done_fn done);
/** Commands in use (of `sqid`, or of all with NVME_QUEUES). */
uint32_t nvme_in_use(uint32_t sqid);
/** Forget the completions of all commands of `sqid` (all with NVME_QUEUES) and stop what waits. */
void nvme_orphan(uint32_t sqid);
/** Find a command in use. */
struct nvme_cmd *nvme_find(uint32_t sqid, uint32_t cid);

/* ---- controller.c: registers, queues, reset ---- */

enum controller_state { CTRL_DISABLED, CTRL_READY, CTRL_RESETTING };
extern enum controller_state controller;

struct nvme_queues {
    bool sq[NVME_QUEUES];       /**< submission queue exists */
    bool cq[NVME_QUEUES];       /**< completion queue exists */
    uint8_t sq_cq[NVME_QUEUES]; /**< completion queue of a submission queue */
    bool deleting[NVME_QUEUES]; /**< submission queue is being deleted */
    uint32_t created;           /**< I/O queues created since enable */
};
extern struct nvme_queues queues;

void controller_init(void);
/** Handle NVME.EVENT. */
void controller_event(void);
/** Go on with a reset or shutdown that waits. */
void controller_poll(void);
/** Tear down a submission queue in hardware. */
void queue_sq_delete(uint32_t qid);
void queue_cq_delete(uint32_t qid);

/* ---- admin.c, identify.c, features.c, log.c ---- */

void admin_init(void);
void admin_command(struct nvme_cmd *cmd);
/** The admin data buffer is free: false holds further admin commands back. */
bool admin_ready(void);
/** Deletions that wait for their queue's commands. */
extern struct nvme_cmd *admin_deleting;
void admin_poll(void);
/** Abort what admin.c keeps waiting (asynchronous event requests, deletions) without completions. */
void admin_orphan(void);
bool admin_abort(struct nvme_cmd *cmd);
/** Buffer of one page for admin data, in TCM. */
extern uint32_t admin_buffer[1024];
/** Send `bytes` of admin_buffer and complete. */
void admin_send(struct nvme_cmd *cmd, uint32_t bytes);
/** Report an event by AER. */
void async_event(uint32_t type, uint32_t info, uint32_t log);
void async_event_unmask(uint32_t log);

void identify_command(struct nvme_cmd *cmd);
void features_init(void);
void features_get(struct nvme_cmd *cmd);
void features_set(struct nvme_cmd *cmd);
uint32_t features_event_config(void);
void log_command(struct nvme_cmd *cmd);
/** Keep an entry of the error log. */
void log_error(const struct nvme_cmd *cmd, uint32_t status);

/* ---- io.c ---- */

/** A page buffer with what it takes to move a page between host, DRAM and flash. */
struct page_slot {
    struct page_slot *next;
    union {
        struct nvme_cmd *cmd;
        struct piece *piece; /**< whose output it is */
    };
    uint32_t index; /**< page of the command; of the piece: see output.c */
    uint32_t buffer;
    struct nand_op *op;
    union {
        struct dma_job job;
        struct ftl_write write;
    };
};

void io_init(void);
void io_command(struct nvme_cmd *cmd);
/** Issue pages of commands that wait for buffers. */
void io_pump(void);
/** Some command waits for io_pump. */
extern bool io_waits;
/** Drop commands that have no page in flight yet and stop issuing for the others. */
void io_orphan(void);
struct page_slot *slot_get(void);
void slot_put(struct page_slot *slot);

#endif
