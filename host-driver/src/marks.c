/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "marks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void mark(struct assasin_drive *drive, const char *edge, const char *what, uint64_t bytes, int rc) {
    const char *path = getenv(MARKS_VARIABLE);
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    char clock[40] = "";
    struct link_state state;
    /* Without registers a look at the clock is an admin command: too much to pay for a mark. */
    if (!drive->dead && drive->link->ops->read32 && !drive->link->ops->look(drive->link, &state))
        snprintf(clock, sizeof(clock), "\"clock\": %llu, ", (unsigned long long)state.clock);
    char line[256];
    int length = snprintf(line, sizeof(line),
                          "{\"t_ns\": %lld%09ld, %s\"edge\": \"%s\", \"what\": \"%s\", \"bytes\": %llu, \"rc\": %d, "
                          "\"process\": %ld, \"drive\": %llu}\n",
                          (long long)t.tv_sec, t.tv_nsec, clock, edge, what, (unsigned long long)bytes, rc,
                          (long)getpid(), (unsigned long long)(uintptr_t)drive);
    /* One write, so that lines of several processes stay whole. */
    ssize_t written = write(fd, line, (size_t)length);
    (void)written;
    close(fd);
}

void marks_begin(struct assasin_drive *drive, const char *what, uint64_t bytes) {
    mark(drive, "begin", what, bytes, 0);
}

void marks_end(struct assasin_drive *drive, const char *what, uint64_t bytes, int rc) {
    mark(drive, "end", what, bytes, rc);
}
