/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The write cache: which writes may be taken, and what waits until it is empty.
 */
#include "ftl/cache.h"

#include "ftl/pairs.h"
#include "ftl/write.h"
#include "media/health.h"
#include "platform/console.h"

static struct list drains;
/** Those that find nothing in the cache any more, and wait until nothing in flight can take what they rely on. */
static struct list settling;
static struct pairs_wait relying;
/** What they end with. */
static enum ftl_status settling_status;

void cache_init(void) {
    drains = settling = (struct list){0};
}

bool cache_draining(void) {
    return !list_empty(&drains);
}

/** Whether a write may be taken now. At the end of the drive's life none is: what is answered has a page. */
static bool cache_open(void) {
    return ftl_has_cache() && !ftl.cache_off && !ftl.read_only && list_empty(&drains) && ftl.cached < FTL_CACHE &&
           map.mapped + room_margin <= room_data;
}

void cache_take(struct ftl_write *w) {
    if (!w->taken && w->take != NULL && cache_open()) {
        w->taken = 1;
        ftl.cached++;
        w->take(w);
    }
}

static void end_all(struct list *l, enum ftl_status status) {
    while (!list_empty(l)) {
        struct ftl_drain *d = CONTAINER(list_take(l), struct ftl_drain, node);
        d->done(d, status);
    }
}

void cache_drained(enum ftl_status status) {
    end_all(&drains, status);
}

static void settled(struct pairs_wait *p) {
    (void)p;
    struct list all = list_take_all(&settling);
    /* Programs that were waited for have failed and have taken what this was to make durable. */
    end_all(&all, ftl.lost ? FTL_MEDIA : settling_status);
    cache_look();
}

void cache_look(void) {
    if (list_empty(&drains) || !list_empty(&settling)) {
        return;
    }
    bool unlogged = nand_geo.paired && pairs_unlogged();
    if (list_empty(&drains) || ((ftl.cached > 0 || pairs_losses != 0) && !ftl.read_only)) {
        return;
    }
    bool lost = ftl.lost || unlogged;
    if (ftl.cached == 0) {
        ftl.lost = unlogged;
    }
    settling_status = lost || ftl.cached > 0 ? FTL_MEDIA : FTL_OK;
    settling = list_take_all(&drains);
    relying.done = settled;
    pairs_settle(&relying, false);
}

/** The data of `w`, which was answered, are gone. */
static void lose(const struct ftl_write *w) {
    ftl.lost = true;
    console_printf("ftl: block %u is lost: it was in the write cache, and no page took it\n", w->lba);
    if (nand_lost_notice != NULL) {
        nand_lost_notice();
    }
}

void ftl_cache_lost(void) {
    for (struct ftl_write *w = NULL; (w = write_after(w)) != NULL;) {
        if (w->taken) {
            lose(w);
        }
    }
}

void cache_leave(const struct ftl_write *w, enum ftl_status status) {
    ftl.cached--;
    if (status != FTL_OK) {
        lose(w);
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
