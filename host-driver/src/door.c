/* SPDX-License-Identifier: BSD-3-Clause */
/* Transport over the virtual board's door: a remote-PCI visitor (board/virtual/pciproxy/protocol.h) that is its own
 * root complex. System memory is a memfd that the board maps too. */
#define _GNU_SOURCE
#include "transport.h"

#include <errno.h>
#include <poll.h>
#include <protocol.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Above 4 GiB, so that every access proves the upper half of an address. */
#define MEMORY_BUS                0x100000000ull
#define BAR0_BUS                  0xFE000000u
#define BAR2_BUS                  0xFE400000u
#define COMMAND_MEMORY_AND_MASTER 0x6u
#define TICK_MS                   100u
/* An access that is under way may end within so many ticks after the caller has ended the wait. */
#define GRACE_TICKS 3u

struct door {
    struct transport base;
    int fd;
    const struct assasin_options *options;
    bool admitted; /* the board has answered once: it serves this visitor */
    bool cut;      /* a reply is still to come that nobody waits for: nothing can be asked any more */
};

static struct door *door_of(struct transport *t) {
    return (struct door *)t;
}

static int gone(struct door *d) {
    if (!d->admitted)
        return error_set(d->base.error, EBUSY, "the board hung up at once: another visitor is connected to it");
    return error_set(d->base.error, ENODEV, "the board closed the connection: its process has ended (see its log)");
}

/* Sends header and payload, with one file descriptor when fd >= 0. */
static int send_message(struct door *d, int32_t cmd, const void *payload, uint64_t bytes, int fd) {
    struct pci_proxy_header header = {.cmd = cmd, .size = bytes};
    struct iovec parts[2] = {{&header, sizeof(header)}, {(void *)payload, bytes}};
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = bytes ? 2 : 1};
    if (fd >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof(control.room);
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(int));
    }
    size_t left = sizeof(header) + bytes;
    while (left) {
        ssize_t sent = sendmsg(d->fd, &message, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR)
                continue;
            return gone(d);
        }
        left -= (size_t)sent;
        message.msg_control = NULL;
        message.msg_controllen = 0;
        for (struct iovec *v = message.msg_iov; sent > 0 && left; v = message.msg_iov) {
            size_t taken = (size_t)sent < v->iov_len ? (size_t)sent : v->iov_len;
            v->iov_base = (char *)v->iov_base + taken;
            v->iov_len -= taken;
            sent -= (ssize_t)taken;
            if (v->iov_len)
                break;
            message.msg_iov++;
            message.msg_iovlen--;
        }
    }
    return 0;
}

static int receive(struct door *d, void *to, size_t bytes, const char *what) {
    char *p = to;
    const struct assasin_options *o = d->options;
    uint32_t waited = 0, ended = 0;
    while (bytes) {
        struct pollfd waiting = {.fd = d->fd, .events = POLLIN};
        int ready = poll(&waiting, 1, TICK_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0) {
            waited += TICK_MS;
            d->cut = true;
            if (o->tick && o->tick(o->tick_arg) && ++ended > GRACE_TICKS)
                return error_set(d->base.error, EINTR, "interrupted in %s", what);
            if (waited >= o->stall_ms)
                return error_set(d->base.error, ETIMEDOUT, "the board did not answer %s within %u s", what,
                                 o->stall_ms / 1000);
            d->cut = false;
            continue;
        }
        waited = 0;
        ssize_t got = recv(d->fd, p, bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return gone(d);
        p += got;
        bytes -= (size_t)got;
    }
    return 0;
}

static int await_reply(struct door *d, const char *what, uint64_t *value) {
    struct pci_proxy_header header;
    int rc = receive(d, &header, sizeof(header), what);
    if (rc)
        return rc;
    if (header.cmd != PCI_PROXY_RET || header.size != sizeof(*value))
        return error_set(
            d->base.error, EPROTO,
            "what answers behind the socket does not speak the remote-PCI protocol (message %d of %llu bytes after %s)",
            header.cmd, (unsigned long long)header.size, what);
    d->admitted = true;
    return receive(d, value, sizeof(*value), what);
}

static int config(struct door *d, int32_t cmd, uint32_t address, uint32_t value, int32_t length, uint32_t *out) {
    struct pci_proxy_cfg payload = {.addr = address, .val = value, .len = length};
    uint64_t reply;
    int rc = send_message(d, cmd, &payload, sizeof(payload), -1);
    if (!rc)
        rc = await_reply(d, "a configuration access", &reply);
    if (!rc && out)
        *out = (uint32_t)reply;
    return rc;
}

static int bar(struct door *d, int32_t cmd, uint32_t offset, uint32_t value, uint64_t *reply) {
    if (d->cut)
        return error_set(d->base.error, EINTR, "an earlier access to the board was interrupted");
    struct pci_proxy_bar payload = {.addr = BAR0_BUS + (uint64_t)offset, .val = value, .size = 4, .memory = 1};
    int rc = send_message(d, cmd, &payload, sizeof(payload), -1);
    return rc ? rc : await_reply(d, cmd == PCI_PROXY_BAR_READ ? "a register read" : "a register write", reply);
}

static int door_read32(struct transport *t, uint32_t offset, uint32_t *value) {
    uint64_t reply;
    int rc = bar(door_of(t), PCI_PROXY_BAR_READ, offset, 0, &reply);
    if (!rc)
        *value = (uint32_t)reply;
    return rc;
}

static int door_write32(struct transport *t, uint32_t offset, uint32_t value) {
    uint64_t reply;
    return bar(door_of(t), PCI_PROXY_BAR_WRITE, offset, value, &reply);
}

/* Between a message and its reply nothing arrives unasked, so a readable socket here means that the board has hung up.
 */
static int door_sleep(struct transport *t, unsigned microseconds) {
    struct door *d = door_of(t);
    struct pollfd waiting = {.fd = d->fd, .events = POLLIN | POLLRDHUP};
    struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000L};
    int ready = ppoll(&waiting, 1, &time, NULL);
    if (ready <= 0)
        return 0;
    char byte;
    ssize_t got = recv(d->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0)
        return error_set(d->base.error, EPROTO, "the board sent a message that nobody asked for");
    return gone(d);
}

static void door_close(struct transport *t) {
    struct door *d = door_of(t);
    if (d->base.memory && d->base.memory != MAP_FAILED)
        munmap(d->base.memory, d->base.memory_bytes);
    if (d->fd >= 0)
        close(d->fd);
    free(d);
}

static const struct transport_ops door_ops = {door_read32, door_write32, door_sleep, door_close};

static int connect_to(struct door *d, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(d->base.error, EINVAL, "the socket path has %zu characters, the system allows %zu: %s",
                         strlen(path), sizeof(address.sun_path) - 1, path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    d->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (d->fd < 0)
        return error_set(d->base.error, errno, "no socket: %s", strerror(errno));
    if (connect(d->fd, (struct sockaddr *)&address, sizeof(address)))
        return error_set(d->base.error, errno, "no board answers at %s (%s): start one with `assasin flash virtual`",
                         path, strerror(errno));
    return 0;
}

static int share_memory(struct door *d, size_t bytes) {
    int fd = memfd_create("assasin-system-memory", MFD_CLOEXEC);
    if (fd < 0)
        return error_set(d->base.error, errno, "no shared memory: %s", strerror(errno));
    int rc = 0;
    if (ftruncate(fd, (off_t)bytes) ||
        (d->base.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
        rc = error_set(d->base.error, errno, "no shared memory of %zu bytes: %s", bytes, strerror(errno));
    d->base.memory_bytes = bytes;
    d->base.memory_bus = MEMORY_BUS;
    struct pci_proxy_sysmem map = {.gpa = {MEMORY_BUS}, .size = {bytes}};
    if (!rc)
        rc = send_message(d, PCI_PROXY_SYNC_SYSMEM, &map, sizeof(map), fd);
    close(fd);
    return rc;
}

static int enable(struct door *d) {
    uint32_t id, class_code;
    int rc = config(d, PCI_PROXY_CFG_READ, 0, 0, 4, &id);
    if (!rc)
        rc = config(d, PCI_PROXY_CFG_READ, 8, 0, 4, &class_code);
    if (rc)
        return rc;
    if (id != (BOARD_PCI_VENDOR | BOARD_PCI_DEVICE << 16) || class_code >> 8 != BOARD_PCI_CLASS)
        return error_set(d->base.error, ENXIO, "PCI function %04x:%04x of class %06x is not an ASSASIN drive",
                         id & 0xFFFF, id >> 16, class_code >> 8);
    if (!(rc = config(d, PCI_PROXY_CFG_WRITE, BOARD_CFG_BAR0, BAR0_BUS, 4, NULL)) &&
        !(rc = config(d, PCI_PROXY_CFG_WRITE, BOARD_CFG_BAR2, BAR2_BUS, 4, NULL)))
        rc = config(d, PCI_PROXY_CFG_WRITE, BOARD_CFG_COMMAND, COMMAND_MEMORY_AND_MASTER, 2, NULL);
    return rc;
}

int door_open(const char *path, const struct assasin_options *options, struct assasin_error *error,
              struct transport **out) {
    struct door *d = calloc(1, sizeof(*d));
    if (!d)
        return error_set(error, ENOMEM, "out of memory");
    d->base.ops = &door_ops;
    d->base.error = error;
    d->fd = -1;
    d->options = options;
    int rc;
    if ((rc = connect_to(d, path)) || (rc = share_memory(d, options->memory_bytes)) || (rc = enable(d))) {
        door_close(&d->base);
        return rc;
    }
    *out = &d->base;
    return 0;
}
