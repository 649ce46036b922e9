/* SPDX-License-Identifier: BSD-3-Clause */
/* One connection: requests, a line each, and answers, a JSON object in a line each. */
#include "agent.h"

#include "assasin_contract.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES     16384
#define UPLOAD_SECONDS 30
#define STATE_BYTES    64

struct session {
    struct config *config;
    int fd;
    char buffer[LINE_BYTES];
    size_t have; /* bytes in buffer */
};

/* Sends the text as one line and frees it. */
static int answer(struct session *s, struct text *t) {
    text_add(t, "\n");
    int failed = t->failed ? -1 : send_all(s->fd, t->data, t->length);
    text_free(t);
    return failed;
}

static int refuse(struct session *s, const struct problem *problem) {
    struct text t = {0};
    text_add(&t, "{\"error\": ");
    text_add_string(&t, problem->text);
    text_add(&t, "}");
    return answer(s, &t);
}

static int status(struct session *s) {
    static const char *const kinds[] = {"none", "uio", "mem", "proxy"};
    char state[STATE_BYTES];
    struct problem problem;
    struct timespec now;
    struct text t = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    text_add(&t, "{\"board\": ");
    text_add_string(&t, s->config->board);
    text_add(&t, ", \"fpga\": ");
    text_add_string(&t, fabric_state(s->config, state, sizeof state, &problem) == 0 ? state : problem.text);
    text_add(&t, ", \"window\": \"%s\", \"uptime_s\": %.1f}", kinds[s->config->window],
             (double)now.tv_sec + (double)now.tv_nsec / 1e9);
    return answer(s, &t);
}

static int program(struct session *s, const char *arguments) {
    struct problem problem;
    size_t bytes;
    char sha[66];
    double seconds = 0;
    int end = 0;
    if (sscanf(arguments, "%zu %65s%n", &bytes, sha, &end) != 2 || arguments[end] != '\0') {
        problem_set(&problem, "'program%.80s': write program BYTES SHA256", arguments);
        return refuse(s, &problem);
    }
    struct fabric_upload *u = fabric_begin(s->config, bytes, sha, &problem);
    if (u == NULL) {
        return refuse(s, &problem);
    }
    /* The fabric is locked meanwhile: a client that stops sending must not keep it. */
    struct timeval patience = {.tv_sec = UPLOAD_SECONDS}, for_ever = {0};
    setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct text ready = {0};
    text_add(&ready, "{\"ready\": true}");
    int failed = answer(s, &ready);
    while (failed == 0 && bytes > 0) {
        if (s->have == 0) {
            ssize_t got = recv(s->fd, s->buffer, sizeof s->buffer, 0);
            failed = got <= 0 ? -1 : 0;
            s->have = got > 0 ? (size_t)got : 0;
        }
        size_t take = s->have < bytes ? s->have : bytes;
        fabric_take(u, s->buffer, take);
        bytes -= take;
        s->have -= take;
        memmove(s->buffer, s->buffer + take, s->have);
    }
    if (failed != 0) {
        fabric_abandon(u);
        return -1;
    }
    setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof for_ever);
    if (fabric_finish(u, &seconds, &problem) != 0) {
        return refuse(s, &problem);
    }
    struct text t = {0};
    text_add(&t, "{\"state\": \"operating\", \"seconds\": %.3f}", seconds);
    return answer(s, &t);
}

static int reset(struct session *s, const char *arguments) {
    struct problem problem;
    bool hold = strcmp(arguments, " hold") == 0;
    if (!hold && arguments[0] != '\0') {
        problem_set(&problem, "'reset%.80s': write reset, or reset hold", arguments);
        return refuse(s, &problem);
    }
    struct window *w = window_open(s->config, &problem);
    if (w == NULL) {
        return refuse(s, &problem);
    }
    int failed = window_write(w, ASSASIN_CTRL_BASE + CTRL_RESET, CTRL_RESET_FW_MASK, &problem);
    if (failed == 0 && !hold) {
        failed = window_write(w, ASSASIN_CTRL_BASE + CTRL_RESET, 0, &problem);
    }
    window_close(w);
    if (failed != 0) {
        return refuse(s, &problem);
    }
    struct text t = {0};
    text_add(&t, "{\"reset\": true, \"held\": %s}", hold ? "true" : "false");
    return answer(s, &t);
}

/* rOFFSET or wOFFSET=VALUE, hexadecimal. */
static int access_parse(const char *word, struct access *a, struct problem *problem) {
    unsigned offset, value = 0;
    int end = 0;
    if (sscanf(word, "r%8x%n", &offset, &end) == 1 && word[end] == '\0') {
        *a = (struct access){false, offset, 0};
        return 0;
    }
    if (sscanf(word, "w%8x=%8x%n", &offset, &value, &end) == 2 && word[end] == '\0') {
        *a = (struct access){true, offset, value};
        return 0;
    }
    return problem_set(problem, "access '%.40s': write rOFFSET or wOFFSET=VALUE, hexadecimal", word);
}

static int access_all(struct session *s, char *arguments) {
    /* The shortest has three bytes with its blank. */
    struct access accesses[LINE_BYTES / 3];
    struct problem problem;
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(arguments, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (access_parse(word, &accesses[count++], &problem) != 0) {
            return refuse(s, &problem);
        }
    }
    struct window *w = window_open(s->config, &problem);
    if (w == NULL) {
        return refuse(s, &problem);
    }
    int failed = window_access(w, accesses, count, &problem);
    window_close(w);
    if (failed != 0) {
        return refuse(s, &problem);
    }
    struct text t = {0};
    const char *between = "";
    text_add(&t, "{\"values\": [");
    for (size_t i = 0; i < count; i++) {
        if (!accesses[i].write) {
            text_add(&t, "%s%u", between, (unsigned)accesses[i].value);
            between = ", ";
        }
    }
    text_add(&t, "]}");
    return answer(s, &t);
}

static int console(struct session *s) {
    struct problem problem;
    /* Refused now rather than in the middle of a stream of bytes. */
    struct window *w = window_open(s->config, &problem);
    if (w == NULL) {
        return refuse(s, &problem);
    }
    window_close(w);
    struct text t = {0};
    text_add(&t, "{\"console\": true}");
    if (answer(s, &t) == 0 && console_run(s->config, s->fd, s->buffer, s->have, &problem) != 0) {
        send_all(s->fd, "\r\nassasin-agent: ", 17);
        send_all(s->fd, problem.text, strlen(problem.text));
        send_all(s->fd, "\r\n", 2);
    }
    return -1;
}

/* Lets the client read what was said before the connection closes: bytes that are not taken would have it reset. */
static void give_up(struct session *s) {
    struct timeval patience = {.tv_sec = 1};
    setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    shutdown(s->fd, SHUT_WR);
    for (int i = 0; i < 64 && recv(s->fd, s->buffer, sizeof s->buffer, 0) > 0; i++) {
    }
}

static int serve(struct session *s, char *line) {
    struct problem problem;
    size_t verb = strcspn(line, " ");
    if (strcmp(line, "status") == 0) {
        return status(s);
    }
    if (strcmp(line, "sensors") == 0) {
        struct text t = {0};
        sensors_read(s->config, &t);
        return answer(s, &t);
    }
    if (strncmp(line, "program", verb) == 0 && verb == 7) {
        return program(s, line + verb);
    }
    if (strncmp(line, "reset", verb) == 0 && verb == 5) {
        return reset(s, line + verb);
    }
    if (strncmp(line, "access", verb) == 0 && verb == 6) {
        return access_all(s, line + verb);
    }
    if (strcmp(line, "console") == 0) {
        return console(s);
    }
    problem_set(&problem, "'%.60s' is unknown; there are status, sensors, program, reset, access, console", line);
    return refuse(s, &problem);
}

void session_run(struct config *config, int fd) {
    struct session s = {.config = config, .fd = fd};
    struct problem problem;
    struct text hello = {0};
    text_add(&hello, "{\"agent\": \"assasin\", \"protocol\": %d, \"board\": ", AGENT_PROTOCOL);
    text_add_string(&hello, config->board);
    text_add(&hello, "}");
    int failed = answer(&s, &hello);
    while (failed == 0) {
        char *end = memchr(s.buffer, '\n', s.have);
        if (end != NULL) {
            char line[LINE_BYTES];
            size_t length = (size_t)(end - s.buffer);
            memcpy(line, s.buffer, length);
            line[length] = '\0';
            if (length > 0 && line[length - 1] == '\r') {
                line[length - 1] = '\0';
            }
            s.have -= length + 1;
            memmove(s.buffer, end + 1, s.have);
            failed = serve(&s, line);
            continue;
        }
        if (s.have == sizeof s.buffer) {
            problem_set(&problem, "a line has at most %d bytes", LINE_BYTES - 1);
            refuse(&s, &problem);
            give_up(&s);
            break;
        }
        ssize_t got = recv(fd, s.buffer + s.have, sizeof s.buffer - s.have, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        failed = got <= 0 ? -1 : 0;
        s.have += got > 0 ? (size_t)got : 0;
    }
    close(fd);
}
