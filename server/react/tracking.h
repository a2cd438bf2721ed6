/* tracking: client-side caching: which sessions hold which keys, and who is told when one changes.
 * Knows keys by name, in whatever database, and sessions' writers; refuses to know commands and
 * sockets.
 *
 * A session is told once of each key that it has read: reading it again makes it due again. In
 * broadcast mode nothing is remembered of reads: whoever asked for a prefix is told of every change
 * below it, all changes of a turn at once. What a transaction changes is told after its commit. */
#ifndef SERVER_REACT_TRACKING_H
#define SERVER_REACT_TRACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/call/session.h"
#include "store/effect.h"

struct tracking;

struct tracking *tracking_new(void);
void tracking_free(struct tracking *tracking); /* nobody may track any more */

/* ---- sessions ------------------------------------------------------------------------------- */

struct tracking_mode {
    bool broadcast;
    bool opt_in, opt_out;
    bool no_loop;             /* its own changes are not told */
    struct session *redirect; /* who is told instead, or NULL */
};

/* Begins, or changes the mode; what it has read so far stays. */
void tracking_on(struct tracking *tracking, struct session *session,
                 const struct tracking_mode *mode);
/* A prefix of a session in broadcast mode; "" stands for all keys. */
void tracking_add_prefix(struct tracking *tracking, struct session *session, struct bytes prefix);
/* One of the session's prefixes that this one overlaps with: *other is borrowed. */
bool tracking_overlaps(const struct session *session, struct bytes prefix, struct bytes *other);
void tracking_off(struct tracking *tracking, struct session *session); /* fine without */
/* It is about to go: others may have redirected to it. */
void tracking_forget(struct tracking *tracking, struct session *session);

/* CLIENT CACHING: the next command, or transaction, is an exception from OPTIN or OPTOUT. */
void tracking_set_caching(struct session *session);
void tracking_end_caching(struct session *session);

/* What it is to track, for CLIENT; NULL: it does not. */
struct tracking_view {
    struct tracking_mode mode;
    uint64_t redirect_id; /* 0: to itself */
    bool caching, broken; /* who it redirects to has gone */
};
bool tracking_view(const struct session *session, struct tracking_view *view); /* false: it is off
                                                                                */
void tracking_each_prefix(const struct session *session, /* in order of their bytes */
                          void (*visit)(void *ctx, struct bytes prefix), void *ctx);

/* ---- around a call -------------------------------------------------------------------------- */

/* Does anybody track, or has anybody's reading to be looked through? */
bool tracking_active(const struct tracking *tracking);
/* What comes next is done by this session; NULL: by the server. */
void tracking_begin_call(struct tracking *tracking, const struct session *session);
/* Is it to be remembered what the session reads now? */
bool tracking_wants_reads(const struct session *session);
void tracking_note_read(struct tracking *tracking, const struct session *session, struct bytes key);

void tracking_effect(struct tracking *tracking, const struct effect *effect);
void tracking_flush(struct tracking *tracking); /* tells what has changed, after a commit */
/* End of turn: tells the prefixes. */
void tracking_turn(void *tracking);
/* Forgets, and tells, up to `most` random keys while more than `max` (0: any number) are
 * remembered. False: there were no more. */
bool tracking_trim(struct tracking *tracking, size_t max, size_t most);
/* Forgets, and tells, random keys while more than `max` (0: any number) are remembered: some of
 * them at each call, more at each call in a row. */
void tracking_limit(struct tracking *tracking, size_t max);

/* ---- for INFO ------------------------------------------------------------------------------- */

struct tracking_totals {
    size_t sessions, keys, items, prefixes;
};
struct tracking_totals tracking_totals(const struct tracking *tracking);

/* Tables and counters agree, or the process ends with the values. */
void tracking_check(const struct tracking *tracking);

#endif
