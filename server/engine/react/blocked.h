/* blocked: the blocked clients, the keys that they wait for, their timeouts, and the keys that have
 * become ready. Stores a copy of each client's command; unblock.h runs the command again.
 *
 * Effects make keys ready. Ready keys are served in the order in which they became ready
 * (dehydrators: see blocked_state.h), and the clients of each key in the order in which they
 * blocked, until no key is ready. An effect on a key that no client waits for costs a table
 * look-up, and nothing while no client is blocked.
 *
 * A key can also become ready at an instant, for example when an element in it falls due. Each key
 * stores the earliest instant that its clients asked for, until that has passed. If the element is
 * removed meanwhile, the key becomes ready too early, which is harmless; it never becomes ready too
 * late. */
#pragma once

#include "server/cmd/call/call.h"
#include "server/cmd/call/call_time.h"
#include "server/cmd/call/saved_call.h"
#include "server/cmd/call/session.h"
#include "store/effect.h"

struct blocked;

struct blocked *blocked_new(void);
void blocked_free(struct blocked *blocked); /* no client may be blocked */

/* Blocks the call's session on the keys that `request` names, in the session's database. The
 * session must not be blocked yet. Returns false if there is no memory for a copy of the call. */
bool blocked_block(struct blocked *blocked, const struct call *call,
                   const struct block_request *request);
/* A wait for something other than a key; CLIENT UNBLOCK ends it, too. */
struct blocked_wait {
    enum wait_reason reason;
    void (*gone)(void *ctx); /* called when the session is unblocked, with or without a reply */
    void (*late)(void *ctx); /* replies at CLIENT UNBLOCK; NULL for a null array */
    void *ctx;
};
/* Blocks the session on something other than a key; the session must not be blocked yet. If it was
 * closed during its own request, it is not blocked, and `gone` is called at once. */
void blocked_wait(struct blocked *blocked, struct session *session,
                  const struct blocked_wait *wait);
/* Lets the wait of a blocked session reply by itself: calls its `late`. Returns false, so that the
 * caller must reply, if `late` is NULL or the session waits for a key. */
bool blocked_answers_late(const struct session *session);
/* Returns the call in which the session is blocked, borrowed, and the call's time so far. NULL if
 * the session is not blocked on a key. */
const struct saved_call *blocked_call(const struct session *session, struct call_time *time);
size_t blocked_count(const struct blocked *blocked);        /* number of blocked clients */
size_t blocked_with_timeout(const struct blocked *blocked); /* blocked clients with a timeout */
/* Returns the number of keys and prefixes that clients wait for. O(databases) */
size_t blocked_keys(const struct blocked *blocked);

/* ---- keys that become ready ----------------------------------------------------------------- */

/* Makes the keys ready that the effect may have filled, or whose clients it may answer with an
 * error. */
void blocked_effect(struct blocked *blocked, const struct effect *effect);
/* Makes the key ready: blocked_next_try then finds its clients. No effect if none waits for it. */
void blocked_ready(struct blocked *blocked, unsigned db, struct bytes key);
/* An element of the dehydrator `key` under the prefix may be claimed: makes the key ready, and the
 * prefix. */
void blocked_ready_under(struct blocked *blocked, unsigned db, struct bytes prefix,
                         struct bytes key);
void blocked_ready_prefix(struct blocked *blocked, unsigned db, struct bytes prefix);
/* Makes the prefix ready at this time (not 0), or earlier. */
void blocked_wake_prefix_at(struct blocked *blocked, unsigned db, struct bytes prefix, msec at);
bool blocked_waits_for_prefix(const struct blocked *blocked, unsigned db, struct bytes prefix);
/* Makes all keys ready if clients wait for a value of this type. O(keys) */
void blocked_ready_type(struct blocked *blocked, enum type type);
/* Counts clients that wait for a value of this type at the key, up to `most`. O(clients) */
size_t blocked_waiting(const struct blocked *blocked, unsigned db, struct bytes key, enum type type,
                       size_t most);
/* Makes the key ready at this time (not 0), or earlier. */
void blocked_wake_at(struct blocked *blocked, unsigned db, struct bytes key, msec at);
/* Returns the earliest time at which a key becomes ready by itself, or NEVER. */
msec blocked_next_wake(const struct blocked *blocked);
/* Makes the key with the earliest time ready. Returns false if none is due by now. O(log n) */
bool blocked_wake(struct blocked *blocked, msec now);
/* If a client waits to claim under a prefix, makes all keys and prefixes ready that are due by now,
 * because the client may take an element of any key under its prefix, and clients that blocked
 * earlier on that key or on another prefix of it must be tried first. Leaves out what is due after
 * the next timeout, because the client that times out comes first. O(log n) for each key */
void blocked_wake_for_prefixes(struct blocked *blocked, msec now);
bool blocked_pending(const struct blocked *blocked); /* blocked_next_try may find a client */

/* ---- serving -------------------------------------------------------------------------------- */

/* A blocked client to run again, because its key is ready. Borrowed until it is unblocked. */
struct blocked_try {
    struct session *session;
    const struct saved_call *call;
    enum type type; /* the type of value that the client waits for */
    bool or_gone;   /* run it even if the key is gone or has another type */
    uint64_t looks_needed;
    unsigned db;
    struct bytes key; /* or a prefix of keys, without '*' */
    bool is_prefix;
    struct call_time *time;
};

/* Finds the next client to try; with only_surveys, among those of REDE.FAIRINFO. Returns false if
 * none is left. A client that is still blocked after its try keeps its position in the queue. */
bool blocked_next_try(struct blocked *blocked, bool only_surveys, struct blocked_try *try);
/* Skips the other clients of the last try's key, because nothing is left there or none can be
 * served now. They are tried when the key becomes ready again. */
void blocked_skip_key(struct blocked *blocked);
/* Must this try of a client of a prefix wait, because another client of a dehydrator blocked
 * earlier and has not been tried? If so, returns true: that client's queue goes first, this client
 * is tried again later, and the caller continues with blocked_next_try. O(log n) */
bool blocked_defers(struct blocked *blocked, const struct blocked_try *try);
/* Skips the other clients of the last try's key, because the key is missing; except those with
 * `or_gone`, who are tried all the same. */
void blocked_skip_missing(struct blocked *blocked);
/* Notes that the key or prefix of this try holds nothing for its command, so that clients that want
 * the same (`group` in struct block_request) are skipped until it is ready again. It becomes ready
 * through an effect, at the instant `again`, or at an earlier instant that was set before. 0 and
 * NEVER set no instant. */
void blocked_skip_command(struct blocked *blocked, const struct blocked_try *try, msec again);

/* ---- deadlines ------------------------------------------------------------------------------ */

msec blocked_next_timeout(const struct blocked *blocked); /* the next timeout, or NEVER. O(1) */
msec blocked_next_due(
    const struct blocked *blocked); /* the earlier of next_wake and next_timeout */
/* Moves all timeouts by `by` milliseconds, so that clients wait as long as they asked for although
 * the system clock was set. O(n log n) */
void blocked_clock_set(struct blocked *blocked, msec by);
/* Returns the client with the earliest timeout that has passed (until <= now), or NULL. */
struct session *blocked_first_timed_out(const struct blocked *blocked, msec now);
/* Returns the memory of the session's wait and of its copy of the command; 0 if the session is not
 * blocked. O(1) */
size_t blocked_bytes(const struct session *session);
/* Returns which reply the client expects at its timeout. */
enum no_answer blocked_no_answer(const struct session *session);

/* Checks every invariant; aborts with the values if one is broken. */
void blocked_check(const struct blocked *blocked);
