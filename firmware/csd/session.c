// SPDX-License-Identifier: BSD-3-Clause
/* Sessions. The host's random secret tells the owner of a session from others, the drive gives the numbers: one is used
 * again only after 8,191 other sessions had its place, so a name that is left over means nobody. */
#include "csd/session.h"

#include <string.h>

#include "csd/scomp.h"

#define INDEX_BITS 3u
_Static_assert(SCOMP_MAX_SESSIONS == 1u << INDEX_BITS, "number of a session: which of them, how many had its place");

/** How many there are of each share, and how many of them every owner can always have. */
static const struct {
    uint8_t all, least;
} pools[SHARES] = {
    [SHARE_FUNCTION] = {SCOMP_MAX_FUNCS, 1}, [SHARE_REQUEST] = {REQUESTS, 1},
    [SHARE_READER] = {READERS, 2},           [SHARE_FEED] = {FEEDS, 2},
    [SHARE_LIST] = {CSD_LISTS, 2},           [SHARE_LOAD] = {LOADS, 1},
};
/* The last one to come finds its part whatever the others have. */
_Static_assert(SCOMP_MAX_FUNCS >= SESSIONS && REQUESTS >= SESSIONS && READERS >= 2u * SESSIONS &&
                   FEEDS >= 2u * SESSIONS && CSD_LISTS >= 2u * SESSIONS && LOADS >= SESSIONS,
               "shares that are kept");
_Static_assert(CSD_LISTS >= READERS + FEEDS, "reads and feeds alone never wait for lists");
_Static_assert(CSD_OPS == REQUESTS + READERS + FEEDS + LOADS, "operations that wait");

/** Which blocks a session may touch. Of every session in DRAM, at SESSION_NONE of those that are opened from now on:
 * that outlives resets, who limits hosts need not be one. */
struct access {
    uint32_t limited, count;
    struct {
        uint32_t lba, blocks, rights;
    } range[SCOMP_ACCESS_RANGES];
};
#define ACCESS_WORDS ((uint32_t)sizeof(struct access) / 4u)
_Static_assert(SESSIONS * sizeof(struct access) <= DRAM_ACCESS_SIZE, "DRAM_ACCESS");

static struct session {
    uint16_t number; /**< 0: unused */
    uint8_t queue;   /**< that it ends with; 0: none */
    uint8_t opener;  /**< queue that opened it; 0: one that is deleted */
    bool closing;
    uint8_t held[SHARES];
    uint32_t secret[2];
    uint64_t used;   /**< when a command named it last */
    uint32_t served; /**< `serving` when a piece of it started last */
    bool limited;    /**< to some blocks */
} sessions[SESSIONS];

/** The access of `access_of`, the session that was asked for last: a request has many extents. */
static struct access access;
static uint32_t access_of;
/** Counts pieces that start. */
static uint32_t serving;
/** Sessions that each place has had. */
static uint16_t turns[SCOMP_MAX_SESSIONS];

static const struct access *access_read(uint32_t s) {
    if (access_of != s) {
        access_of = s;
        for (uint32_t i = 0; i < ACCESS_WORDS; i++) {
            ((uint32_t *)&access)[i] = hal_read(DRAM_ACCESS + (s * ACCESS_WORDS + i) * 4);
        }
    }
    return &access;
}

/** Session `s` may touch what `access` says. */
static void access_write(uint32_t s) {
    access_of = s;
    for (uint32_t i = 0; i < ACCESS_WORDS; i++) {
        hal_write(DRAM_ACCESS + (s * ACCESS_WORDS + i) * 4, ((const uint32_t *)&access)[i]);
    }
    sessions[s].limited = access.limited != 0;
}

void session_init(void) {
    memset(sessions, 0, sizeof sessions);
    memset(&access, 0, sizeof access);
    access_write(SESSION_NONE);
    sessions[SESSION_PROGRAMS].number = UINT16_MAX;
}

bool session_take(uint32_t s, enum share what) {
    uint32_t promised = 0;
    uint32_t used = 0;
    for (uint32_t i = 1; i < SESSIONS; i++) {
        uint32_t held = sessions[i].held[what];
        used += held;
        promised += i != s && held < pools[what].least ? pools[what].least - held : 0;
    }
    bool room = sessions[s].held[what] < pools[what].least || used + promised < pools[what].all;
    sessions[s].held[what] = (uint8_t)(sessions[s].held[what] + room);
    return room;
}

static void settle(struct session *s) {
    bool any = false;
    for (uint32_t i = 0; i < SHARES; i++) {
        any |= s->held[i] > 0;
    }
    if (s->closing && !any) {
        s->number = 0;
        s->closing = false;
    }
}

void session_give(uint32_t s, enum share what) {
    sessions[s].held[what]--;
    settle(&sessions[s]);
}

bool session_closing(uint32_t s) {
    return sessions[s].closing;
}

uint32_t session_tiles(uint32_t s) {
    uint32_t others = 0;
    for (uint32_t i = 1; i < SESSIONS; i++) {
        others += i != s && sessions[i].held[SHARE_FUNCTION] > 0 && !sessions[i].closing;
    }
    return scomp_tiles > others ? scomp_tiles - others : 1;
}

void session_served(uint32_t s) {
    sessions[s].served = ++serving;
}

bool session_before(uint32_t a, uint32_t b) {
    return (int32_t)(sessions[a].served - sessions[b].served) < 0;
}

static void end(uint32_t s) {
    struct session *session = &sessions[s];
    if (session->number == 0 || session->closing) {
        return;
    }
    /* Not settled before all of it is told. */
    session->held[SHARE_FUNCTION]++;
    session->closing = s != SESSION_PROGRAMS;
    request_session_gone(s);
    function_session_gone(s);
    session_give(s, SHARE_FUNCTION);
}

void session_reset(void) {
    for (uint32_t i = 1; i < SESSIONS; i++) {
        end(i);
    }
}

void session_owner_gone(uint32_t owner) {
    for (uint32_t i = 1; i <= SCOMP_MAX_SESSIONS; i++) {
        if (sessions[i].queue == owner) {
            end(i);
        }
        sessions[i].opener = sessions[i].opener == owner ? 0 : sessions[i].opener;
    }
}

/** The session that has number `number`, SESSION_NONE when there is none. */
static uint32_t of_number(uint32_t number) {
    uint32_t s = 1 + (number & (SCOMP_MAX_SESSIONS - 1));
    return number != 0 && sessions[s].number == number && !sessions[s].closing ? s : SESSION_NONE;
}

uint32_t csd_session(uint32_t number, const uint32_t secret[2], uint32_t owner) {
    uint32_t s = of_number(number);
    const struct session *session = &sessions[s];
    if (s == SESSION_NONE || session->secret[0] != secret[0] || session->secret[1] != secret[1] ||
        (session->queue != 0 && owner != 0 && owner != session->queue)) {
        return SESSION_NONE;
    }
    sessions[s].used = time_now();
    return s;
}

/** The session that gives its place to one of queue `owner`, SESSION_NONE when there is none. A queue with sessions
 * takes none from another queue. */
static uint32_t lapsed(uint32_t owner, bool own) {
    uint32_t oldest = SESSION_NONE;
    for (uint32_t i = 1; i <= SCOMP_MAX_SESSIONS; i++) {
        const struct session *s = &sessions[i];
        if (s->number != 0 && s->queue == 0 && s->held[SHARE_REQUEST] == 0 && !s->closing &&
            (!own || s->opener == owner || s->opener == 0) &&
            time_now() - s->used >= (uint64_t)SCOMP_LEASE_KCYCLES * 1000u &&
            (oldest == SESSION_NONE || s->used < sessions[oldest].used)) {
            oldest = i;
        }
    }
    return oldest;
}

/** A place for a session of queue `owner` of `queues`, SESSION_NONE when there is none. */
static uint32_t place_for(uint32_t owner, bool bound, uint32_t queues) {
    uint32_t of_queue = 0;
    uint32_t bound_to = 0;
    uint32_t count = 0;
    uint32_t unused = SESSION_NONE;
    queues &= ~(1u << owner);
    for (uint32_t i = 1; i <= SCOMP_MAX_SESSIONS; i++) {
        const struct session *s = &sessions[i];
        if (s->number == 0) {
            unused = unused == SESSION_NONE ? i : unused;
            count++;
            continue;
        }
        of_queue += s->opener == owner;
        bound_to += s->queue == owner;
        queues &= ~(1u << s->opener);
    }
    if (bound && bound_to >= SCOMP_QUEUE_SESSIONS) {
        return SESSION_NONE;
    }
    /* Every queue may have one. Beyond that, places are kept for queues that have none, and for one to come. */
    uint32_t kept = 0;
    while (queues != 0 && kept < SCOMP_QUEUE_SESSIONS) {
        queues &= queues - 1;
        kept++;
    }
    kept = of_queue == 0 ? 0 : kept == 0 ? 1 : kept;
    unused = count > kept ? unused : SESSION_NONE;
    uint32_t oldest = unused == SESSION_NONE ? lapsed(owner, of_queue > 0) : SESSION_NONE;
    if (oldest != SESSION_NONE) {
        /* Its process has probably ended without a word. */
        end(oldest);
        unused = sessions[oldest].number == 0 ? oldest : SESSION_NONE;
    }
    return unused;
}

uint32_t csd_session_open(const uint32_t secret[2], uint32_t owner, bool bound, uint32_t queues, uint32_t *number) {
    if (secret[0] == 0 && secret[1] == 0) {
        return CSD_INVALID;
    }
    uint32_t s = place_for(owner, bound, queues);
    if (s == SESSION_NONE) {
        return REFUSED(NO_RESOURCES);
    }
    uint16_t turn = (uint16_t)((turns[s - 1] + 1u) & (UINT16_MAX >> INDEX_BITS));
    turns[s - 1] = turn != 0 ? turn : 1;
    sessions[s] = (struct session){.number = (uint16_t)(turns[s - 1] << INDEX_BITS | (s - 1)),
                                   .queue = (uint8_t)(bound ? owner : 0),
                                   .opener = (uint8_t)owner,
                                   .served = serving,
                                   .secret = {secret[0], secret[1]},
                                   .used = time_now()};
    (void)access_read(SESSION_NONE);
    access_write(s);
    *number = sessions[s].number;
    return CSD_OK;
}

void csd_session_close(uint32_t session) {
    end(session);
}

uint32_t csd_session_end(uint32_t number) {
    uint32_t s = of_number(number);
    end(s);
    return s != SESSION_NONE ? (uint32_t)CSD_OK : REFUSED(NO_SESSION);
}

/* ---- access ---- */

bool session_limited(uint32_t s) {
    return sessions[s].limited;
}

bool session_refuses(uint32_t s, uint32_t lba, uint32_t count, uint32_t right, uint32_t *refused) {
    if (!sessions[s].limited) {
        return false;
    }
    const struct access *a = access_read(s);
    uint32_t behind = lba + count;
    /* Ranges may lie in any order and overlap: each look goes on where one that has `lba` ends. */
    for (bool found = true; found && lba < behind;) {
        found = false;
        for (uint32_t i = 0; i < a->count && lba < behind; i++) {
            uint32_t into = lba - a->range[i].lba;
            if ((a->range[i].rights & right) != 0 && lba >= a->range[i].lba && into < a->range[i].blocks) {
                lba += a->range[i].blocks - into;
                found = true;
            }
        }
    }
    *refused = lba;
    return lba < behind;
}

static uint32_t access_check(const struct scomp_access *from) {
    if (from->limited > 1 || from->count > SCOMP_ACCESS_RANGES || (from->limited == 0 && from->count > 0)) {
        return CSD_INVALID;
    }
    for (uint32_t i = 0; i < from->count; i++) {
        uint64_t lba = from->lba[i];
        uint64_t blocks = from->blocks[i];
        uint32_t rights = from->rights[i];
        if (blocks == 0 || rights == 0 || rights > (SCOMP_ACCESS_READ | SCOMP_ACCESS_WRITE)) {
            return CSD_INVALID;
        }
        if (lba >= ftl.lbas || blocks > ftl.lbas - lba) {
            return CSD_RANGE;
        }
    }
    return CSD_OK;
}

uint32_t csd_access(uint32_t number, const struct scomp_access *to) {
    uint32_t status = access_check(to);
    uint32_t s = of_number(number);
    if (status == CSD_OK && number != 0 && s == SESSION_NONE) {
        status = REFUSED(NO_SESSION);
    }
    if (status == CSD_OK) {
        memset(&access, 0, sizeof access);
        access.limited = to->limited;
        access.count = to->count;
        for (uint32_t i = 0; i < to->count; i++) {
            access.range[i].lba = (uint32_t)to->lba[i];
            access.range[i].blocks = (uint32_t)to->blocks[i];
            access.range[i].rights = to->rights[i];
        }
        access_write(number == 0 ? SESSION_NONE : s);
    }
    return status;
}

static void access_tell(uint32_t s, struct scomp_session *to) {
    const struct access *from = access_read(s);
    to->limited = from->limited;
    to->count = from->count;
    for (uint32_t i = 0; i < from->count; i++) {
        to->lba[i] = from->range[i].lba;
        to->blocks[i] = from->range[i].blocks;
        to->rights[i] = from->range[i].rights;
    }
}

uint32_t csd_sessions(struct scomp_session to[SCOMP_MAX_SESSIONS + 1]) {
    memset(to, 0, (SCOMP_MAX_SESSIONS + 1) * sizeof *to);
    access_tell(SESSION_NONE, &to[0]);
    uint32_t n = 1;
    for (uint32_t i = 1; i <= SCOMP_MAX_SESSIONS; i++) {
        const struct session *s = &sessions[i];
        if (s->number == 0 || s->closing) {
            continue;
        }
        to[n].number = s->number;
        to[n].queue = s->queue;
        to[n].functions = s->held[SHARE_FUNCTION];
        to[n].requests = s->held[SHARE_REQUEST];
        to[n].idle_kcycles = (uint32_t)((time_now() - s->used) / 1000u);
        access_tell(i, &to[n]);
        n++;
    }
    return n;
}

/* ---- lists of the front end ---- */

bool csd_list_take(const struct csd_op *op) {
    return op->session == SESSION_NONE || session_take(op->session, SHARE_LIST);
}

void csd_list_give(const struct csd_op *op) {
    if (op->session != SESSION_NONE) {
        session_give(op->session, SHARE_LIST);
    }
}
