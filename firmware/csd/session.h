/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sessions: to whom functions, requests and what waits for them belong, how much of it each may have, and which blocks
 * its requests may touch.
 */
#ifndef ASSASIN_FW_SESSION_H
#define ASSASIN_FW_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "csd/service.h"

/** Who owns what belongs to no session of a host: nobody; programs of the standard's command set. */
#define SESSION_NONE     0u
#define SESSION_PROGRAMS (SCOMP_MAX_SESSIONS + 1u)
#define SESSIONS         (SCOMP_MAX_SESSIONS + 2u)

/** What sessions share. */
enum share { SHARE_FUNCTION, SHARE_REQUEST, SHARE_READER, SHARE_FEED, SHARE_LIST, SHARE_LOAD, SHARES };

#define REQUESTS 16u
/** Reads of results that wait at a time; feeds likewise. */
#define READERS 32u
#define FEEDS   40u
/** Functions that are loaded at a time. */
#define LOADS 16u
_Static_assert(FEEDS == SCOMP_MAX_FEEDS + 2u * SCOMP_MAX_SESSIONS, "what one session may have of the feeds");

void session_init(void);
/** Take one of `what` for session `s`: false when it has its part, or when only what is kept for others is left. */
bool session_take(uint32_t s, enum share what);
/** Give it back. */
void session_give(uint32_t s, enum share what);
/** Session `s` is closed, and only waits for what is going on. */
bool session_closing(uint32_t s);
/** Cores and slots that requests of session `s` may hold at a time: one less for each other session with functions. */
uint32_t session_tiles(uint32_t s);
/** A piece of session `s` starts. */
void session_served(uint32_t s);
/** Whether session `a` has waited for longer than `b` since a piece of it started, or since it was opened. */
bool session_before(uint32_t a, uint32_t b);
/** All sessions end. */
void session_reset(void);
/** Sessions of queue `owner` end. */
void session_owner_gone(uint32_t owner);

/** Whether session `s` may touch only some blocks. */
bool session_limited(uint32_t s);
/** Whether session `s` may not do `right`, a SCOMP_ACCESS_*, with all of `count` blocks from `lba` on: `*refused`
 * becomes the first that it may not. */
bool session_refuses(uint32_t s, uint32_t lba, uint32_t count, uint32_t right, uint32_t *refused);

/* What happens to the others' things when a session ends. */

/** function.c: forget the functions of session `s`. */
void function_session_gone(uint32_t s);
/** request.c: stop the requests of session `s`; nobody reads their results. */
void request_session_gone(uint32_t s);

#endif
