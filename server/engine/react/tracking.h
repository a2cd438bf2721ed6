/* tracking: client-side caching. Remembers which sessions have read which keys, and sends them
 * invalidation messages when the keys change. Depends on sessions, because messages are appended to
 * their output. As in Redis, a key is known by its name only, whatever its database.
 *
 * A session receives one message for each key that it has read, and another only after reading the
 * key again. In broadcast mode no reads are remembered: sessions subscribe to prefixes, and receive
 * all changes of a turn together. Messages about a transaction are sent after its commit. */
#pragma once

#include "server/cmd/call/session.h"
#include "store/effect.h"

struct tracking;

struct tracking *tracking_new(void);
void tracking_free(struct tracking *tracking); /* no session may be tracking */

/* ---- sessions ------------------------------------------------------------------------------- */

struct tracking_mode {
    bool broadcast;
    bool opt_in, opt_out;
    bool no_loop;             /* not notified of its own changes */
    struct session *redirect; /* the session that receives the messages instead, or NULL */
};

/* Turns tracking on, or changes the mode. Keys that the session has read stay remembered. */
void tracking_on(struct tracking *tracking, struct session *session,
                 const struct tracking_mode *mode);
/* Adds prefixes to a session in broadcast mode; "" matches all keys. Sorts the array `prefixes`.
 * O(n log n + m) for n new and m existing prefixes */
void tracking_add_prefixes(struct tracking *tracking, struct session *session,
                           struct bytes *prefixes, size_t count);
/* Finds a prefix of the session that overlaps with this one: *other is borrowed. O(m) */
bool tracking_overlaps(const struct session *session, struct bytes prefix, struct bytes *other);
void tracking_off(struct tracking *tracking, struct session *session); /* no effect if off */
/* Forgets a session that ends, even if it does not track: those that redirect to it learn with
 * their next message that it has gone. Without a session that tracks, forgets all keys. */
void tracking_forget(struct tracking *tracking, struct session *session);

/* CLIENT CACHING: makes the next command, or transaction, an exception to OPTIN or OPTOUT. */
void tracking_set_caching(struct session *session);
void tracking_end_caching(struct session *session);

/* The session's tracking state, for CLIENT. */
struct tracking_view {
    struct tracking_mode mode;
    uint64_t redirect_id; /* 0 without redirection */
    bool caching, broken; /* `broken`: a message had no receiver, because that session has ended */
};
/* Returns false if tracking is off. */
bool tracking_view(const struct session *session, struct tracking_view *view);
void tracking_each_prefix(const struct session *session, /* sorted by bytes */
                          void (*visit)(void *ctx, struct bytes prefix), void *ctx);

/* ---- around a call -------------------------------------------------------------------------- */

/* Does any session track, or are there remembered keys? */
bool tracking_active(const struct tracking *tracking);
size_t tracking_bytes(const struct session *session); /* memory of its mode and prefixes. O(1) */
/* Call when a call begins: lets it invalidate all keys once. FLUSHALL thus sends one message,
 * however many databases it empties. */
void tracking_begin_call(struct tracking *tracking);
/* Must the keys that the session reads now be remembered? */
bool tracking_wants_reads(const struct session *session);
/* Remembers that the session has read the key: its next change sends one message to the session. */
void tracking_note_read(struct tracking *tracking, const struct session *session, struct bytes key);

/* Queues the messages for an effect of the session `caller`, or of the server if that is NULL. */
void tracking_effect(struct tracking *tracking, const struct effect *effect,
                     const struct session *caller);
void tracking_flush(struct tracking *tracking); /* call after a commit: sends the messages */
/* Call at the end of each turn: sends the messages for prefixes that wait since the changes of the
 * turn, and frees some forgotten keys. */
void tracking_turn(struct tracking *tracking);
/* If more than `max` keys are remembered, forgets up to `most` of them, chosen at random, and sends
 * invalidations for them. A `max` of 0 means no limit. Returns false if the limit is met
 * already. */
bool tracking_trim(struct tracking *tracking, size_t max, size_t most);
/* Applies the limit as tracking_trim does, with growing effort: each call in a row that finds too
 * many keys forgets more of them. */
void tracking_limit(struct tracking *tracking, size_t max);

/* ---- for INFO ------------------------------------------------------------------------------- */

struct tracking_totals {
    size_t sessions, keys, items, prefixes;
};
struct tracking_totals tracking_totals(const struct tracking *tracking);

/* Checks that tables and counters agree; aborts with the values if not. */
void tracking_check(const struct tracking *tracking);
