/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The FPGA through Linux's fpga_manager. A bitstream is stored where the kernel looks for firmware, checked, and then
 * named to the kernel: by the manager's `firmware` attribute where there is one (the vendor's kernels), else by a
 * device tree overlay in configfs whose firmware-name it is.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MANAGER       "/sys/class/fpga_manager/fpga0"
#define OVERLAYS      "/sys/kernel/config/device-tree/overlays"
#define FIRMWARE      "/lib/firmware"
#define IMAGE         "assasin.bin"
#define OVERLAY       "assasin.dtbo"
#define SYNC_WITHIN   1024
#define MAX_BYTES     (256u << 20)
#define STATE_SECONDS 20
#define STATE_BYTES   64

struct fabric_upload {
    const struct config *config;
    int fd, lock;
    size_t wanted, have;
    char path[PATH_MAX], expected[65];
    struct sha256 sha;
    uint8_t start[SYNC_WITHIN];
    int write_errno;
};

int fabric_state(const struct config *config, char *state, size_t room, struct problem *problem) {
    char path[PATH_MAX];
    int failed = config_path(config, path, MANAGER "/state") != 0 ? -ENAMETOOLONG : file_read(path, state, room);
    if (failed != 0) {
        return problem_set(problem,
                           MANAGER "/state: %s; the kernel needs CONFIG_FPGA and the FPGA manager of this chip "
                                   "(CONFIG_FPGA_MGR_ZYNQ_FPGA or CONFIG_FPGA_MGR_ZYNQMP_FPGA)",
                           strerror(-failed));
    }
    return 0;
}

int fabric_lock(const struct config *config, bool exclusive, struct problem *problem) {
    char path[PATH_MAX];
    int fd = -1;
    if (config_path(config, path, FIRMWARE "/.assasin.lock") == 0) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    }
    if (fd < 0 || flock(fd, exclusive ? LOCK_EX : LOCK_SH) != 0) {
        problem_set(problem, FIRMWARE "/.assasin.lock: %s; the agent runs as root and " FIRMWARE " is writable",
                    strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

struct fabric_upload *fabric_begin(const struct config *config, size_t bytes, const char *sha256,
                                   struct problem *problem) {
    if (bytes == 0 || bytes % 4 != 0 || bytes > MAX_BYTES) {
        problem_set(problem, "a bitstream of %zu bytes: give a multiple of 4, at most %u", bytes, MAX_BYTES);
        return NULL;
    }
    if (strlen(sha256) != 64 || strspn(sha256, "0123456789abcdef") != 64) {
        problem_set(problem, "'%.70s' is no SHA-256: give 64 lower-case hexadecimal digits", sha256);
        return NULL;
    }
    struct fabric_upload *u = calloc(1, sizeof *u);
    if (u == NULL) {
        problem_set(problem, "no memory");
        return NULL;
    }
    u->config = config;
    u->wanted = bytes;
    u->fd = -1;
    memcpy(u->expected, sha256, 65);
    sha256_init(&u->sha);
    u->lock = fabric_lock(config, true, problem);
    if (u->lock < 0) {
        free(u);
        return NULL;
    }
    if (config_path(config, u->path, FIRMWARE "/" IMAGE ".new") == 0) {
        u->fd = open(u->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    if (u->fd < 0) {
        problem_set(problem, "%s: %s", u->path, strerror(errno));
        fabric_abandon(u);
        return NULL;
    }
    return u;
}

void fabric_take(struct fabric_upload *u, const void *data, size_t count) {
    const uint8_t *at = data;
    if (u->have < SYNC_WITHIN) {
        size_t room = SYNC_WITHIN - u->have;
        memcpy(u->start + u->have, at, count < room ? count : room);
    }
    sha256_add(&u->sha, data, count);
    u->have += count;
    while (count > 0 && u->write_errno == 0) {
        ssize_t put = write(u->fd, at, count);
        if (put < 0 && errno != EINTR) {
            u->write_errno = errno;
        } else if (put > 0) {
            at += put;
            count -= (size_t)put;
        }
    }
}

void fabric_abandon(struct fabric_upload *u) {
    if (u->fd >= 0) {
        close(u->fd);
        unlink(u->path);
    }
    close(u->lock);
    free(u);
}

/* What has arrived: whole, as announced, and in the byte order that the kernel's drivers take. */
static int check(struct fabric_upload *u, struct problem *problem) {
    static const uint8_t sync[4] = {0x66, 0x55, 0x99, 0xAA}, straight[4] = {0xAA, 0x99, 0x55, 0x66};
    char actual[65];
    sha256_end(&u->sha, actual);
    if (u->write_errno != 0) {
        return problem_set(problem, "%s: %s", u->path, strerror(u->write_errno));
    }
    if (strcmp(actual, u->expected) != 0) {
        return problem_set(problem,
                           "the bitstream that arrived has SHA-256 %.16s..., announced was %.16s...: send it again",
                           actual, u->expected);
    }
    for (size_t at = 0; at + 4 <= SYNC_WITHIN && at + 4 <= u->have; at += 4) {
        if (memcmp(u->start + at, sync, 4) == 0) {
            return 0;
        }
        if (memcmp(u->start + at, straight, 4) == 0) {
            return problem_set(problem,
                               "the bitstream's bytes are in a .bit file's order: the bytes of each word have to be "
                               "reversed (bootgen -process_bitstream, or assasin flash)");
        }
    }
    return problem_set(problem, "there is no sync word in the first %d bytes: this is no bitstream for a Zynq",
                       SYNC_WITHIN);
}

/* Names the stored file to the kernel, which programs the FPGA before the write returns. */
static int hand_over(const struct config *config, struct problem *problem) {
    char path[PATH_MAX], overlay[PATH_MAX];
    int failed;
    if (config_path(config, path, MANAGER "/firmware") != 0 || config_path(config, overlay, OVERLAYS "/assasin") != 0) {
        return problem_set(problem, "the root folder's name is too long");
    }
    if (access(path, F_OK) == 0) {
        char flags[PATH_MAX];
        /* A whole bitstream, not a partial one. */
        if (config_path(config, flags, MANAGER "/flags") == 0 && access(flags, F_OK) == 0) {
            failed = file_write(flags, "0");
            if (failed != 0) {
                return problem_set(problem, MANAGER "/flags: %s", strerror(-failed));
            }
        }
        failed = file_write(path, IMAGE);
        return failed == 0 ? 0 : problem_set(problem, MANAGER "/firmware: %s; see dmesg", strerror(-failed));
    }
    if (config_path(config, path, OVERLAYS) != 0 || access(path, F_OK) != 0) {
        return problem_set(problem,
                           "there is neither " MANAGER "/firmware nor " OVERLAYS
                           ": the kernel needs CONFIG_OF_OVERLAY and CONFIG_OF_CONFIGFS, with configfs mounted");
    }
    /* An overlay that is there has to go first: taking it away lets go of the drivers on the old contents. */
    if (rmdir(overlay) != 0 && errno != ENOENT) {
        return problem_set(problem, OVERLAYS "/assasin cannot be removed: %s", strerror(errno));
    }
    if (mkdir(overlay, 0755) != 0) {
        return problem_set(problem, OVERLAYS "/assasin: %s", strerror(errno));
    }
    if (config_path(config, path, OVERLAYS "/assasin/path") != 0) {
        return problem_set(problem, "the root folder's name is too long");
    }
    failed = file_write(path, OVERLAY);
    if (failed != 0) {
        return problem_set(problem, OVERLAYS "/assasin/path: %s; is " FIRMWARE "/" OVERLAY " there? See dmesg",
                           strerror(-failed));
    }
    return 0;
}

/* Waits until the manager says how it went: a state that is not one of work under way. */
static int await_end(const struct config *config, struct problem *problem) {
    char state[STATE_BYTES];
    for (int i = 0; i < STATE_SECONDS * 100; i++) {
        if (fabric_state(config, state, sizeof state, problem) != 0) {
            return -1;
        }
        if (strcmp(state, "operating") == 0) {
            return 0;
        }
        if (strstr(state, "error") != NULL) {
            return problem_set(problem, "the kernel could not program the FPGA: its state is '%s'; see dmesg", state);
        }
        poll(NULL, 0, 10);
    }
    return problem_set(problem, "the FPGA is not operating after %d s: its state is '%s'", STATE_SECONDS, state);
}

int fabric_finish(struct fabric_upload *u, double *seconds, struct problem *problem) {
    char path[PATH_MAX];
    struct timespec from, to;
    int failed = check(u, problem);
    if (failed == 0 &&
        (fsync(u->fd) != 0 || config_path(u->config, path, FIRMWARE "/" IMAGE) != 0 || rename(u->path, path) != 0)) {
        failed = problem_set(problem, FIRMWARE "/" IMAGE ": %s", strerror(errno));
    }
    if (failed == 0) {
        clock_gettime(CLOCK_MONOTONIC, &from);
        failed = hand_over(u->config, problem);
        if (failed == 0) {
            failed = await_end(u->config, problem);
        }
        clock_gettime(CLOCK_MONOTONIC, &to);
        *seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
        unlink(path);
    }
    fabric_abandon(u);
    return failed;
}
