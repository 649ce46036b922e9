/* SPDX-License-Identifier: BSD-3-Clause */
/* The chip's registers (BAR0) from the processing system: a mapping of a UIO device or of /dev/mem, or a virtual
 * board's socket. */
#include "agent.h"

#include "protocol.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WINDOW_BYTES 0x10000u /* NVMe registers, CTRL and DEBUG */
#define STATE_BYTES  64
#define PROXY_AHEAD  96

struct window {
    int fd, lock;
    volatile uint32_t *words; /* NULL: a socket */
};

/* The /dev/uioN whose device is called `name`. */
static int open_uio(const struct config *config, const char *name, struct problem *problem) {
    char path[PATH_MAX], entry[PATH_MAX + NAME_MAX + 16], found[64];
    DIR *d = config_path(config, path, "/sys/class/uio") == 0 ? opendir(path) : NULL;
    const struct dirent *e;
    int fd = -1;
    while (fd < 0 && d != NULL && (e = readdir(d)) != NULL) {
        snprintf(entry, sizeof entry, "%s/%s/name", path, e->d_name);
        if (file_read(entry, found, sizeof found) == 0 && strcmp(found, name) == 0) {
            char device[PATH_MAX];
            if (config_path(config, device, "/dev/%s", e->d_name) != 0) {
                break;
            }
            fd = open(device, O_RDWR | O_SYNC | O_CLOEXEC);
            if (fd < 0) {
                problem_set(problem, "/dev/%s: %s", e->d_name, strerror(errno));
                closedir(d);
                return -1;
            }
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    if (fd < 0) {
        problem_set(problem,
                    "there is no UIO device '%s': the device tree needs its node, the kernel uio_pdrv_genirq with "
                    "of_id=generic-uio",
                    name);
    }
    return fd;
}

static int connect_proxy(const char *path, struct problem *problem) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return problem_set(problem, "%s: a socket's path has at most %zu characters", path,
                           sizeof address.sun_path - 1);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        problem_set(problem, "%s: %s; start the virtual board first", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

struct window *window_open(const struct config *config, struct problem *problem) {
    char state[STATE_BYTES], path[PATH_MAX];
    uint64_t offset = 0;
    if (config->window == WINDOW_NONE) {
        problem_set(problem, "this board's agent has no window onto the chip: give one in its configuration file");
        return NULL;
    }
    struct window *w = calloc(1, sizeof *w);
    if (w == NULL) {
        problem_set(problem, "no memory");
        return NULL;
    }
    w->fd = -1;
    w->lock = fabric_lock(config, false, problem);
    if (w->lock < 0) {
        free(w);
        return NULL;
    }
    if (config->window == WINDOW_PROXY) {
        w->fd = connect_proxy(config->window_name, problem);
    } else if (fabric_state(config, state, sizeof state, problem) == 0) {
        if (strcmp(state, "operating") != 0) {
            problem_set(problem, "the FPGA is not configured (state '%s'): program it first, with assasin flash",
                        state);
        } else if (config->window == WINDOW_UIO) {
            w->fd = open_uio(config, config->window_name, problem);
        } else if (config_path(config, path, "/dev/mem") == 0) {
            offset = config->window_address;
            w->fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
            if (w->fd < 0) {
                problem_set(problem, "/dev/mem: %s; the agent runs as root, the kernel has CONFIG_DEVMEM",
                            strerror(errno));
            }
        }
    }
    if (w->fd >= 0 && config->window != WINDOW_PROXY) {
        void *map = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, (off_t)offset);
        if (map == MAP_FAILED) {
            problem_set(problem, "the window onto the chip cannot be mapped: %s; it has %u bytes in the device tree",
                        strerror(errno), WINDOW_BYTES);
            close(w->fd);
            w->fd = -1;
        } else {
            w->words = map;
        }
    }
    if (w->fd < 0) {
        close(w->lock);
        free(w);
        return NULL;
    }
    return w;
}

void window_close(struct window *w) {
    if (w->words != NULL) {
        munmap((void *)(uintptr_t)w->words, WINDOW_BYTES);
    }
    close(w->fd);
    close(w->lock);
    free(w);
}

/* Accesses through the virtual board's side entrance, at most PROXY_AHEAD: their answers fit a socket's buffer. */
static int proxy_access(struct window *w, struct access *accesses, size_t count, struct problem *problem) {
    struct {
        struct pci_proxy_header header;
        struct pci_proxy_bar bar;
    } requests[PROXY_AHEAD];
    struct {
        struct pci_proxy_header header;
        uint64_t value;
    } answers[PROXY_AHEAD];
    for (size_t i = 0; i < count; i++) {
        const struct access *a = &accesses[i];
        requests[i].header = (struct pci_proxy_header){a->write ? PCI_PROXY_BAR_WRITE : PCI_PROXY_BAR_READ, 0,
                                                       sizeof(struct pci_proxy_bar)};
        requests[i].bar = (struct pci_proxy_bar){a->offset, a->write ? a->value : 0, 4, 1, {0}};
    }
    size_t bytes = count * sizeof answers[0];
    if (send_all(w->fd, requests, count * sizeof requests[0]) != 0 ||
        recv(w->fd, answers, bytes, MSG_WAITALL) != (ssize_t)bytes) {
        return problem_set(problem, "the virtual board is gone: start it again");
    }
    for (size_t i = 0; i < count; i++) {
        if (answers[i].header.cmd != PCI_PROXY_RET) {
            return problem_set(problem, "what answers is no virtual board");
        }
        if (!accesses[i].write) {
            accesses[i].value = (uint32_t)answers[i].value;
        }
    }
    return 0;
}

int window_access(struct window *w, struct access *accesses, size_t count, struct problem *problem) {
    for (size_t i = 0; i < count; i++) {
        if (accesses[i].offset % 4 != 0 || accesses[i].offset >= WINDOW_BYTES) {
            return problem_set(problem, "register %#x: offsets are multiples of 4 below %#x", accesses[i].offset,
                               WINDOW_BYTES);
        }
    }
    for (size_t i = 0; w->words == NULL && i < count; i += PROXY_AHEAD) {
        size_t part = count - i < PROXY_AHEAD ? count - i : PROXY_AHEAD;
        if (proxy_access(w, accesses + i, part, problem) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; w->words != NULL && i < count; i++) {
        if (accesses[i].write) {
            w->words[accesses[i].offset / 4] = accesses[i].value;
        } else {
            accesses[i].value = w->words[accesses[i].offset / 4];
        }
    }
    return 0;
}

int window_read(struct window *w, uint32_t offset, uint32_t *value, struct problem *problem) {
    struct access a = {.offset = offset};
    int failed = window_access(w, &a, 1, problem);
    *value = a.value;
    return failed;
}

int window_write(struct window *w, uint32_t offset, uint32_t value, struct problem *problem) {
    return window_access(w, &(struct access){true, offset, value}, 1, problem);
}
