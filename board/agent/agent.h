/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * The board agent: what runs on the Linux of a Zynq board and serves one TCP connection a process. README.md is the
 * protocol. Functions that can fail return 0, or -1 with a message for the client in `struct problem`.
 */
#ifndef ASSASIN_AGENT_H
#define ASSASIN_AGENT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_PROTOCOL   1
#define AGENT_PORT       7090
#define AGENT_SENSORS    64
#define AGENT_NAME_BYTES 48

/** What went wrong and what to do, for the client. */
struct problem {
    char text[512];
};

/** Writes the message, as printf does. \return -1 */
int problem_set(struct problem *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Drivers that a sensor may have. */
enum sensor_driver {
    SENSOR_INA226, /**< hwmon: in1, curr1, power1 */
    SENSOR_PMBUS,  /**< hwmon: one reading for each page, found by the labels voutN, ioutN, poutN */
    SENSOR_AMS,    /**< IIO: one reading for each voltage channel */
};

/** A sensor of the board file. */
struct sensor {
    char name[AGENT_NAME_BYTES]; /**< its label in the device tree, or the name of its hwmon device */
    char rail[AGENT_NAME_BYTES];
    enum sensor_driver driver;
    unsigned pages;        /**< PMBus pages */
    char folder[PATH_MAX]; /**< where it was found the last time; empty: not yet */
};

/** How the chip's registers (BAR0) are reached. */
enum window_kind {
    WINDOW_NONE,
    WINDOW_UIO,   /**< the UIO device of this name */
    WINDOW_MEM,   /**< /dev/mem at this physical address */
    WINDOW_PROXY, /**< the side entrance of a virtual board: a unix socket */
};

/** What the configuration file says. */
struct config {
    char board[AGENT_NAME_BYTES];
    char root[PATH_MAX]; /**< in front of /sys, /dev and /lib/firmware; empty on a board */
    enum window_kind window;
    char window_name[PATH_MAX]; /**< UIO name, or socket */
    uint64_t window_address;    /**< for WINDOW_MEM */
    struct sensor sensors[AGENT_SENSORS];
    unsigned sensor_count;
};

/** Reads the configuration file. \return 0, or -1 with the line that is wrong */
int config_read(struct config *config, const char *path, struct problem *problem);

/**
 * Joins root and a path, as printf does. \return 0, or -1 when it is too long */
int config_path(const struct config *config, char path[PATH_MAX], const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Serves one connection until the client closes it. */
void session_run(struct config *config, int fd);

/** Console of the firmware on the connection until the client closes it. */
int console_run(struct config *config, int fd, const char *typed, size_t count, struct problem *problem);

/** A growing text; what does not fit memory is lost and `failed` is set. */
struct text {
    char *data;
    size_t length, room;
    bool failed;
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** A JSON string, with its quotes. Bytes that are not ASCII become '?'. */
void text_add_string(struct text *t, const char *s);
void text_free(struct text *t);

/** Appends the JSON object of all sensors' readings. */
void sensors_read(struct config *config, struct text *out);

/** State of the first FPGA as fpga_manager has it. */
int fabric_state(const struct config *config, char *state, size_t room, struct problem *problem);

/** Takes pieces of a bitstream and gives them to the kernel. */
struct fabric_upload;

/** Opens an upload of `bytes` whose SHA-256 is `sha256` (64 hexadecimal digits). \return NULL with a problem */
struct fabric_upload *fabric_begin(const struct config *config, size_t bytes, const char *sha256,
                                   struct problem *problem);
/** Stores the next piece. Once it has failed, it takes the rest and drops it. */
void fabric_take(struct fabric_upload *upload, const void *data, size_t count);
/** Checks what has come and programs the FPGA. Frees the upload. `seconds`: what the kernel took. */
int fabric_finish(struct fabric_upload *upload, double *seconds, struct problem *problem);
/** Frees an upload whose client has gone. */
void fabric_abandon(struct fabric_upload *upload);

/**
 * Keeps the fabric as it is (shared) or for oneself (to program it), waiting for others. \return a file descriptor to
 * close, or -1
 */
int fabric_lock(const struct config *config, bool exclusive, struct problem *problem);

/**
 * Opens the chip's registers. An access to a fabric that is not configured would hang the processor's bus, so the FPGA
 * must be operating, and it is not programmed as long as the window is open. \return NULL with a problem
 */
struct window;
struct window *window_open(const struct config *config, struct problem *problem);
void window_close(struct window *window);
/** One access of a register. */
struct access {
    bool write;
    uint32_t offset; /**< bytes from the start of BAR0 */
    uint32_t value;  /**< to write, or what was read */
};

/** Does the accesses in order. */
int window_access(struct window *window, struct access *accesses, size_t count, struct problem *problem);
int window_read(struct window *window, uint32_t offset, uint32_t *value, struct problem *problem);
int window_write(struct window *window, uint32_t offset, uint32_t value, struct problem *problem);

/** SHA-256 (FIPS 180-4). */
struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t count);
/** Lower-case hexadecimal digits and a NUL. */
void sha256_end(struct sha256 *s, char hex[65]);

/** Reads a short file, without the end of its line. \return 0 or -errno */
int file_read(const char *path, char *text, size_t room);
/** Writes a short file in one write. \return 0 or -errno */
int file_write(const char *path, const char *text);

/** Sends all. \return 0, or -1 when the client has gone */
int send_all(int fd, const void *data, size_t count);

#endif
