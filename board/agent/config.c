/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration file: one item a line, words or "quoted words"; # begins a comment. */
#include "agent.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 6
#define PAGES 32 /* PMBus PAGE is 0 to 31 */

int config_path(const struct config *config, char path[PATH_MAX], const char *format, ...) {
    size_t start = strlen(config->root);
    memcpy(path, config->root, start);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(path + start, PATH_MAX - start, format, args);
    va_end(args);
    return more < 0 || (size_t)more >= PATH_MAX - start ? -1 : 0;
}

/* Cuts a line into words in place. Returns how many there are, or -1 when a quote is not closed or there are too many.
 */
static int split(char *line, char *words[WORDS]) {
    int count = 0;
    for (;;) {
        while (isspace((unsigned char)*line)) {
            line++;
        }
        if (*line == '\0' || *line == '#') {
            return count;
        }
        if (count == WORDS) {
            return -1;
        }
        if (*line == '"') {
            words[count++] = ++line;
            line = strchr(line, '"');
            if (line == NULL) {
                return -1;
            }
        } else {
            words[count++] = line;
            while (*line != '\0' && !isspace((unsigned char)*line)) {
                line++;
            }
            if (*line == '\0') {
                return count;
            }
        }
        *line++ = '\0';
    }
}

static int copy(char *to, size_t room, const char *from) {
    size_t length = strlen(from);
    if (length == 0 || length >= room) {
        return -1;
    }
    memcpy(to, from, length + 1);
    return 0;
}

static int window_item(struct config *config, char *words[WORDS], int count) {
    if (count == 2 && strcmp(words[1], "none") == 0) {
        config->window = WINDOW_NONE;
        return 0;
    }
    if (count != 3) {
        return -1;
    }
    if (strcmp(words[1], "mem") == 0) {
        char *end;
        errno = 0;
        config->window_address = strtoull(words[2], &end, 0);
        config->window = WINDOW_MEM;
        return errno != 0 || *end != '\0' || config->window_address % 4096 != 0 ? -1 : 0;
    }
    config->window = strcmp(words[1], "uio") == 0 ? WINDOW_UIO : WINDOW_PROXY;
    if (config->window == WINDOW_PROXY && strcmp(words[1], "proxy") != 0) {
        return -1;
    }
    return copy(config->window_name, sizeof config->window_name, words[2]);
}

static int sensor_item(struct config *config, char *words[WORDS], int count) {
    if (config->sensor_count == AGENT_SENSORS || count < 4) {
        return -1;
    }
    struct sensor *s = &config->sensors[config->sensor_count];
    if (copy(s->name, sizeof s->name, words[1]) != 0 || copy(s->rail, sizeof s->rail, words[2]) != 0) {
        return -1;
    }
    if (strcmp(words[3], "pmbus") == 0 && count == 5) {
        char *end;
        unsigned long pages = strtoul(words[4], &end, 10);
        if (*end != '\0' || pages < 1 || pages > PAGES) {
            return -1;
        }
        s->driver = SENSOR_PMBUS;
        s->pages = (unsigned)pages;
    } else if (strcmp(words[3], "ina226") == 0 && count == 4) {
        s->driver = SENSOR_INA226;
    } else if (strcmp(words[3], "ams") == 0 && count == 4) {
        s->driver = SENSOR_AMS;
    } else {
        return -1;
    }
    config->sensor_count++;
    return 0;
}

int config_read(struct config *config, const char *path, struct problem *problem) {
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return problem_set(problem, "%s: %s", path, strerror(errno));
    }
    char line[1024], whole[1024], *words[WORDS];
    int number = 0, failed = 0;
    while (failed == 0 && fgets(line, sizeof line, f) != NULL) {
        number++;
        line[strcspn(line, "\n")] = '\0';
        memcpy(whole, line, sizeof whole);
        int count = split(line, words);
        if (count == 0) {
            continue;
        }
        if (count == 2 && strcmp(words[0], "board") == 0) {
            failed = copy(config->board, sizeof config->board, words[1]);
        } else if (count > 1 && strcmp(words[0], "window") == 0) {
            failed = window_item(config, words, count);
        } else if (count > 1 && strcmp(words[0], "sensor") == 0) {
            failed = sensor_item(config, words, count);
        } else {
            failed = -1;
        }
    }
    fclose(f);
    if (failed != 0) {
        return problem_set(
            problem,
            "%s:%d: '%.200s' is not board NAME, window none|uio NAME|mem ADDRESS|proxy PATH, or "
            "sensor NAME RAIL ina226|ams|pmbus PAGES (at most %d sensors, names below %d characters, pages 1 to %d)",
            path, number, whole, AGENT_SENSORS, AGENT_NAME_BYTES, PAGES);
    }
    if (config->board[0] == '\0') {
        return problem_set(problem, "%s: there is no line 'board NAME'", path);
    }
    return 0;
}
