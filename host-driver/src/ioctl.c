/* SPDX-License-Identifier: BSD-3-Clause */
/* NVMe commands by NVME_IOCTL_IO64_CMD. An ioctl lasts as long as its command, so each command under way has a thread.
 */
#define _GNU_SOURCE
#include "engine.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* More than commands of one job can wait for each other: its IO_EXEC, its IO_READs, and SCOMP_MAX_FEEDS. */
#define WORKERS 32u

enum phase { IDLE, GIVEN, ENDED, QUIT };

struct worker {
    struct ioctls *all;
    pthread_t thread;
    pthread_cond_t wake;
    bool started;
    enum phase phase;
    uint32_t slot;
    struct nvme_passthru_cmd64 command;
    int result;
};

struct ioctls {
    struct engine base;
    int fd, event;
    pthread_mutex_t lock;
    struct worker workers[WORKERS];
};

static struct ioctls *ioctls_of(struct engine *e) {
    return (struct ioctls *)e;
}

static void *work(void *arg) {
    struct worker *w = arg;
    struct ioctls *all = w->all;
    pthread_mutex_lock(&all->lock);
    for (;;) {
        while (w->phase != GIVEN && w->phase != QUIT)
            pthread_cond_wait(&w->wake, &all->lock);
        if (w->phase == QUIT)
            break;
        pthread_mutex_unlock(&all->lock);
        int rc = ioctl(all->fd, NVME_IOCTL_IO64_CMD, &w->command);
        int result = rc < 0 ? -errno : rc;
        pthread_mutex_lock(&all->lock);
        w->result = result;
        w->phase = ENDED;
        (void)eventfd_write(all->event, 1);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

static int ioctls_submit(struct engine *e, uint32_t slot, const struct nvme_passthru_cmd64 *command) {
    struct ioctls *all = ioctls_of(e);
    pthread_mutex_lock(&all->lock);
    struct worker *w = all->workers;
    while (w < all->workers + WORKERS && w->phase != IDLE)
        w++;
    int rc = w == all->workers + WORKERS ? -EAGAIN : 0;
    if (!rc && !w->started) {
        rc = -pthread_create(&w->thread, NULL, work, w);
        w->started = !rc;
    }
    if (!rc) {
        w->slot = slot;
        w->command = *command;
        w->phase = GIVEN;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

static bool ioctls_reap(struct engine *e, struct engine_done *done) {
    struct ioctls *all = ioctls_of(e);
    bool found = false;
    pthread_mutex_lock(&all->lock);
    for (struct worker *w = all->workers; w < all->workers + WORKERS && !found; w++) {
        if (w->phase != ENDED)
            continue;
        *done = (struct engine_done){.slot = w->slot, .result = w->result, .dwords = w->command.result};
        w->phase = IDLE;
        found = true;
    }
    eventfd_t count;
    if (!found)
        (void)eventfd_read(all->event, &count);
    pthread_mutex_unlock(&all->lock);
    return found;
}

static int ioctls_event(struct engine *e) {
    return ioctls_of(e)->event;
}

static void ioctls_sleep(struct engine *e, unsigned microseconds) {
    struct ioctls *all = ioctls_of(e);
    struct pollfd waiting = {.fd = all->event, .events = POLLIN};
    struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000L};
    eventfd_t count;
    if (ppoll(&waiting, 1, &time, NULL) > 0)
        (void)eventfd_read(all->event, &count);
}

static void ioctls_close(struct engine *e) {
    struct ioctls *all = ioctls_of(e);
    for (struct worker *w = all->workers; w < all->workers + WORKERS; w++) {
        if (!w->started)
            continue;
        /* One that is still in its ioctl ends when the kernel gives its command up. */
        pthread_mutex_lock(&all->lock);
        while (w->phase == GIVEN) {
            pthread_mutex_unlock(&all->lock);
            ioctls_sleep(e, 1000);
            pthread_mutex_lock(&all->lock);
        }
        w->phase = QUIT;
        pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&all->lock);
        pthread_join(w->thread, NULL);
    }
    close(all->event);
    free(all);
}

static const struct engine_ops ioctls_ops = {ioctls_submit, ioctls_reap, ioctls_sleep, ioctls_event, ioctls_close};

int ioctl_open(int fd, struct assasin_error *error, struct engine **out) {
    struct ioctls *all = calloc(1, sizeof(*all));
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!all || event < 0) {
        free(all);
        if (event >= 0)
            close(event);
        return error_set(error, ENOMEM, "no memory to wait for ioctls");
    }
    all->base = (struct engine){.ops = &ioctls_ops, .depth = WORKERS};
    all->fd = fd;
    all->event = event;
    pthread_mutex_init(&all->lock, NULL);
    for (struct worker *w = all->workers; w < all->workers + WORKERS; w++) {
        w->all = all;
        pthread_cond_init(&w->wake, NULL);
    }
    *out = &all->base;
    return 0;
}
