/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sensors as the kernel's hwmon and IIO classes show them. Numbers of hwmon and IIO devices change from boot to boot,
 * so a device is known by its label in the device tree or by its name, and looked for again when it is not where it
 * was.
 */
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VALUE_BYTES 64

/* One measured quantity. */
struct quantity {
    bool there;
    int64_t value;
};

/* What is reported as one sensor. */
struct reading {
    struct quantity mv, ma, uw;
};

static void report(struct text *out, const char *name, const char *rail, const struct reading *r, const char *error) {
    const struct quantity *q[3] = {&r->mv, &r->ma, &r->uw};
    static const char *const key[3] = {"mv", "ma", "uw"};
    if (out->failed) {
        return;
    }
    if (out->data[out->length - 1] != '[') {
        text_add(out, ", ");
    }
    text_add(out, "{\"name\": ");
    text_add_string(out, name);
    text_add(out, ", \"rail\": ");
    text_add_string(out, rail);
    for (unsigned i = 0; i < 3; i++) {
        if (q[i]->there && error == NULL) {
            text_add(out, ", \"%s\": %" PRId64, key[i], q[i]->value);
        } else {
            text_add(out, ", \"%s\": null", key[i]);
        }
    }
    if (error != NULL) {
        text_add(out, ", \"error\": ");
        text_add_string(out, error);
    }
    text_add(out, "}");
}

/*
 * Reads FOLDER/FILE as an integer in -10^12..10^12. \return 0; 1 when there is no such file; -1 with a problem when it
 * cannot be read or holds something else.
 */
static int read_value(const char *folder, const char *file, struct quantity *q, struct problem *problem) {
    char path[PATH_MAX + 64], text[VALUE_BYTES], *end;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int failed = file_read(path, text, sizeof text);
    if (failed == -ENOENT) {
        return 1;
    }
    if (failed != 0) {
        return problem_set(problem, "%s: %s", file, strerror(-failed));
    }
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || llabs(value) > 1000000000000) {
        return problem_set(problem, "%s holds '%s', which is no measurement", file, text);
    }
    *q = (struct quantity){true, value};
    return 0;
}

/* Whether the hwmon or IIO device in `folder` is the sensor: by label in the device tree, hwmon's label, or name. */
static bool is_sensor(const char *folder, const char *name) {
    static const char *const files[] = {"of_node/label", "device/of_node/label", "label", "name"};
    char path[PATH_MAX + 64], text[VALUE_BYTES];
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (file_read(path, text, sizeof text) == 0 && strcmp(text, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool locate(struct config *config, struct sensor *s) {
    char class[PATH_MAX];
    bool iio = s->driver == SENSOR_AMS;
    if (s->folder[0] != '\0' && is_sensor(s->folder, s->name)) {
        return true;
    }
    s->folder[0] = '\0';
    if (config_path(config, class, iio ? "/sys/bus/iio/devices" : "/sys/class/hwmon") != 0) {
        return false;
    }
    DIR *d = opendir(class);
    if (d == NULL) {
        return false;
    }
    const struct dirent *e;
    while (s->folder[0] == '\0' && (e = readdir(d)) != NULL) {
        char folder[PATH_MAX + NAME_MAX + 2];
        snprintf(folder, sizeof folder, "%s/%s", class, e->d_name);
        if (e->d_name[0] != '.' && strlen(folder) < sizeof s->folder && is_sensor(folder, s->name)) {
            memcpy(s->folder, folder, strlen(folder) + 1);
        }
    }
    closedir(d);
    return s->folder[0] != '\0';
}

static void read_ina226(struct text *out, const struct sensor *s) {
    struct reading r = {0};
    struct problem problem;
    int mv = read_value(s->folder, "in1_input", &r.mv, &problem);
    int ma = mv < 0 ? mv : read_value(s->folder, "curr1_input", &r.ma, &problem);
    int uw = ma < 0 ? ma : read_value(s->folder, "power1_input", &r.uw, &problem);
    if (uw >= 0 && mv + ma + uw > 0) {
        uw = problem_set(&problem, "%s is missing", mv ? "in1_input" : ma ? "curr1_input" : "power1_input");
    }
    report(out, s->name, s->rail, &r, uw < 0 ? problem.text : NULL);
}

/* The channel of a kind (in, curr, power) whose label is `label`. \return its number, or -1 */
static int labelled(const char *folder, const char *kind, const char *label) {
    char path[PATH_MAX + 64], text[VALUE_BYTES];
    for (int channel = 1; channel <= 512; channel++) {
        snprintf(path, sizeof path, "%s/%s%d_label", folder, kind, channel);
        if (file_read(path, text, sizeof text) != 0) {
            return -1;
        }
        if (strcmp(text, label) == 0) {
            return channel;
        }
    }
    return -1;
}

static void read_pmbus(struct text *out, const struct sensor *s) {
    static const struct { const char *kind, *label; } of[3] = {{"in", "vout"}, {"curr", "iout"}, {"power", "pout"}};
    for (unsigned page = 1; page <= s->pages; page++) {
        struct reading r = {0};
        struct quantity *q[3] = {&r.mv, &r.ma, &r.uw};
        struct problem problem;
        char name[AGENT_NAME_BYTES + 32], label[32], file[32];
        int failed = 0;
        for (unsigned i = 0; i < 3 && failed >= 0; i++) {
            snprintf(label, sizeof label, "%s%u", of[i].label, page);
            int channel = labelled(s->folder, of[i].kind, label);
            if (channel > 0) {
                snprintf(file, sizeof file, "%s%d_input", of[i].kind, channel);
                failed = read_value(s->folder, file, q[i], &problem);
            }
        }
        if (failed >= 0 && !r.mv.there && !r.ma.there && !r.uw.there) {
            failed = problem_set(&problem, "the driver shows no page %u", page);
        }
        snprintf(name, sizeof name, "%s.%u", s->name, page);
        report(out, name, s->rail, &r, failed < 0 ? problem.text : NULL);
    }
}

/* IIO: millivolts are raw * scale. */
static void read_ams_channel(struct text *out, const struct sensor *s, const char *channel) {
    struct reading r = {0};
    struct problem problem;
    char file[NAME_MAX + 16], path[PATH_MAX + NAME_MAX + 32], text[VALUE_BYTES], name[AGENT_NAME_BYTES + NAME_MAX + 2],
        *end;
    struct quantity raw = {0};
    snprintf(file, sizeof file, "%s_raw", channel);
    int failed = read_value(s->folder, file, &raw, &problem);
    if (failed == 0) {
        snprintf(path, sizeof path, "%s/%s_scale", s->folder, channel);
        failed = file_read(path, text, sizeof text);
        double scale = failed == 0 ? strtod(text, &end) : 0;
        if (failed != 0 || end == text || *end != '\0' || !isfinite(scale)) {
            failed = problem_set(&problem, "%s_scale is missing or no number", channel);
        } else {
            r.mv = (struct quantity){true, llround((double)raw.value * scale)};
        }
    }
    /* in_voltage3_vccint is called vccint. */
    const char *last = strchr(channel + strlen("in_"), '_');
    snprintf(name, sizeof name, "%s.%s", s->name, last ? last + 1 : channel + strlen("in_"));
    report(out, name, s->rail, &r, failed != 0 ? problem.text : NULL);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_voltage(const struct dirent *e) {
    size_t length = strlen(e->d_name);
    return strncmp(e->d_name, "in_voltage", 10) == 0 && length > 14 && strcmp(e->d_name + length - 4, "_raw") == 0;
}

static void read_ams(struct text *out, const struct sensor *s) {
    struct dirent **found;
    int count = scandir(s->folder, &found, is_voltage, by_name);
    if (count <= 0) {
        report(out, s->name, s->rail, &(struct reading){0}, "the driver shows no voltages");
    }
    for (int i = 0; i < count; i++) {
        found[i]->d_name[strlen(found[i]->d_name) - 4] = '\0';
        read_ams_channel(out, s, found[i]->d_name);
        free(found[i]);
    }
    if (count >= 0) {
        free(found);
    }
}

void sensors_read(struct config *config, struct text *out) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    text_add(out, "{\"t_ns\": %" PRId64 ", \"sensors\": [", (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    for (unsigned i = 0; i < config->sensor_count && !out->failed; i++) {
        struct sensor *s = &config->sensors[i];
        if (!locate(config, s)) {
            report(out, s->name, s->rail, &(struct reading){0},
                   "no device of this label or name: is its driver in the kernel and its node in the device tree?");
        } else if (s->driver == SENSOR_INA226) {
            read_ina226(out, s);
        } else if (s->driver == SENSOR_PMBUS) {
            read_pmbus(out, s);
        } else {
            read_ams(out, s);
        }
    }
    text_add(out, "]}");
}
