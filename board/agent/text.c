/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing texts, problems, short files. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int problem_set(struct problem *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->text, sizeof p->text, format, args);
    va_end(args);
    return -1;
}

void text_add(struct text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int more = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (more < 0 || t->failed) {
        t->failed = true;
        return;
    }
    if (t->length + (size_t)more + 1 > t->room) {
        size_t room = 2 * (t->length + (size_t)more + 1);
        char *data = realloc(t->data, room);
        if (data == NULL) {
            t->failed = true;
            return;
        }
        t->data = data;
        t->room = room;
    }
    va_start(args, format);
    vsnprintf(t->data + t->length, t->room - t->length, format, args);
    va_end(args);
    t->length += (size_t)more;
}

void text_add_string(struct text *t, const char *s) {
    text_add(t, "\"");
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') {
            text_add(t, "\\%c", c);
        } else if (c < 0x20) {
            text_add(t, "\\u%04x", c);
        } else {
            text_add(t, "%c", c < 0x7F ? c : '?');
        }
    }
    text_add(t, "\"");
}

void text_free(struct text *t) {
    free(t->data);
    memset(t, 0, sizeof *t);
}

int file_read(const char *path, char *text, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    ssize_t got = read(fd, text, room - 1);
    int failed = got < 0 ? -errno : 0;
    close(fd);
    if (failed != 0) {
        return failed;
    }
    text[got] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return 0;
}

int file_write(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    size_t count = strlen(text);
    ssize_t put = write(fd, text, count);
    int failed = put < 0 ? -errno : (size_t)put < count ? -EIO : 0;
    if (close(fd) != 0 && failed == 0) {
        failed = -errno;
    }
    return failed;
}

int send_all(int fd, const void *data, size_t count) {
    const char *at = data;
    while (count > 0) {
        ssize_t put = send(fd, at, count, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return -1;
        }
        at += put;
        count -= (size_t)put;
    }
    return 0;
}
