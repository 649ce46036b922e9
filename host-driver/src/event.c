/* SPDX-License-Identifier: BSD-3-Clause */
/* One descriptor over two: the link's own, where completions make one readable (the kernel's), and a timer. Without the
 * former the timer has the caller look for completions; with it, see that the drive is still there. */
#define _GNU_SOURCE
#include "event.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOOK_NS  1000000L   /* for completions in memory; as long as the longest nap of a call that waits */
#define WATCH_NS 100000000L /* for a drive that has gone */

static int add(int all, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(all, EPOLL_CTL_ADD, fd, &event);
}

static void set(struct assasin_drive *drive, long first_ns, long period_ns) {
    struct itimerspec time = {.it_value.tv_nsec = first_ns, .it_interval.tv_nsec = period_ns};
    (void)timerfd_settime(drive->timer, 0, &time, NULL);
    drive->timing = first_ns != 0;
}

static long period(const struct assasin_drive *drive) {
    return drive->link->ops->event ? WATCH_NS : LOOK_NS;
}

int assasin_event_fd(struct assasin_drive *drive) {
    if (drive->dead)
        return drive->dead;
    if (drive->event >= 0)
        return drive->event;
    int own = drive->link->ops->event ? drive->link->ops->event(drive->link) : -1;
    drive->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    drive->event = epoll_create1(EPOLL_CLOEXEC);
    if (drive->timer < 0 || drive->event < 0 || add(drive->event, drive->timer) ||
        (own >= 0 && add(drive->event, own))) {
        int rc = drive_fail(drive, errno, "no file descriptor for the drive's events");
        event_close(drive);
        return rc;
    }
    drive->watch = drive_wait_begin(drive, "jobs that run");
    drive->watch.sleep_us = 0;
    event_expect(drive);
    return drive->event;
}

void event_clear(struct assasin_drive *drive) {
    uint64_t expirations;
    if (drive->event >= 0 && read(drive->timer, &expirations, sizeof(expirations)) < 0)
        return; /* it has not expired */
}

void event_expect(struct assasin_drive *drive) {
    bool wanted = drive->link->in_flight != 0;
    if (drive->event >= 0 && wanted != drive->timing)
        set(drive, wanted ? period(drive) : 0, wanted ? period(drive) : 0);
}

void event_now(struct assasin_drive *drive) {
    if (drive->event >= 0)
        set(drive, 1, period(drive));
}

void event_close(struct assasin_drive *drive) {
    if (drive->event >= 0)
        close(drive->event);
    if (drive->timer >= 0)
        close(drive->timer);
    drive->event = drive->timer = -1;
}
