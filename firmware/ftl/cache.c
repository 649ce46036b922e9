/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The write cache: which writes may be taken, and what waits until it is empty.
 */
#include "ftl/cache.h"

#include "ftl/write.h"
#include "platform/console.h"

static struct list drains;

void cache_init(void) {
    drains = (struct list){0};
}

bool cache_draining(void) {
    return !list_empty(&drains);
}

/** Whether a write may be taken now. */
static bool cache_open(void) {
    return ftl_has_cache() && !ftl.cache_off && !ftl.read_only && list_empty(&drains) && ftl.cached < FTL_CACHE &&
           !ftl_read_only();
}

void cache_take(struct ftl_write *w) {
    if (!w->taken && w->take != NULL && cache_open()) {
        w->taken = 1;
        ftl.cached++;
        w->take(w);
    }
}

void cache_drained(enum ftl_status status) {
    while (!list_empty(&drains)) {
        struct ftl_drain *d = CONTAINER(list_take(&drains), struct ftl_drain, node);
        d->done(d, status);
    }
}

void cache_look(void) {
    if (list_empty(&drains) || (ftl.cached > 0 && !ftl.read_only)) {
        return;
    }
    bool lost = ftl.lost;
    if (ftl.cached == 0) {
        ftl.lost = false;
    }
    cache_drained(lost || ftl.cached > 0 ? FTL_MEDIA : FTL_OK);
}

void cache_leave(const struct ftl_write *w, enum ftl_status status) {
    ftl.cached--;
    if (status != FTL_OK) {
        ftl.lost = true;
        console_printf("ftl: block %u is lost: it was in the write cache, and no page took it\n", w->lba);
    }
    cache_look();
    /* Who found the cache full. */
    for (struct ftl_write *o = write_gathered(); o != NULL; o = ftl_write_next(o)) {
        cache_take(o);
    }
}

void ftl_drain(struct ftl_drain *d) {
    list_push(&drains, &d->node);
    cache_look();
    ftl_pump();
}
