/* limits: slows down or closes a connection that uses too much: memory (maxmemory-clients), unread
 * replies (client-output-buffer-limit), unprocessed input (client-query-buffer-limit) or failed
 * logins. Before AUTH, the limits of replies and input are lower. Depends on sessions and their
 * output; knows neither sockets nor requests.
 *
 * - Memory. Connections are listed by the magnitude of their memory, as in Redis 7, so that one of
 *   the largest is found without a search or a sort. While maxmemory-clients is 0, only
 *   unauthenticated connections are counted.
 * - Output. A client whose unread replies reach the hard limit of its class is closed. A
 *   timer closes a client that stays above the soft limit for soft_seconds. Expiry waits for a
 *   client before expired events fill its output up to the hard limit (server/engine/pace.h).
 * - Logins. A client whose login has failed receives no replies and runs no requests until its
 *   penalty ends. Other clients are not delayed. */
#pragma once

#include <sys/queue.h>

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/engine/engine.h"
#include "server/engine/observe/stats.h"
#include "server/engine/pace.h"
#include "store/struct/agenda.h"

struct all_limits; /* totals, lists and timers of all connections */

/* What the limits require from the owner of the connections. */
struct limits_owner {
    size_t (*bytes)(const struct session *session); /* memory of the whole connection */
    /* Does a request of this turn run, or is one still to run? The limits are checked after it. */
    bool (*is_busy)(const struct session *session);
    void (*close)(struct session *session);    /* closes it at the end of the turn */
    void (*released)(struct session *session); /* its penalty has ended */
};

struct limits_wiring {
    struct loop *loop;
    const struct clock *clock;
    const struct conf *conf;
    struct engine *engine;
    struct stats *stats;
    struct limits_owner owner;
};

/* One connection. Only limits.c and the functions below may use the fields. */
struct limits {
    struct all_limits *all;
    struct session *session;
    TAILQ_ENTRY(limits) same_class;
    uint8_t memory_class;
    bool is_classed;             /* is it in all_limits.by_memory[memory_class]? */
    bool exempt;                 /* maxmemory-clients does not close it */
    bool counts;                 /* its memory must be counted after each change (limits_count) */
    size_t counted;              /* bytes of this connection in all_limits.counted */
    size_t uncounted;            /* bytes of this connection in engine.uncounted */
    int64_t over_soft_usec;      /* when its output exceeded the soft limit, or 0 */
    struct deadline soft_end;    /* when the soft limit closes it; in all_limits.soft_ends */
    struct lag lag;              /* expiry may wait until the client has read its events */
    unsigned login_failures;     /* failures since the last successful login */
    struct deadline penalty_end; /* when its penalty ends; in all_limits.penalty_ends */
};

/* The wiring is copied. */
struct all_limits *all_limits_new(const struct limits_wiring *wiring);
void all_limits_free(struct all_limits *all); /* after all connections */

/* The session is borrowed. */
void limits_init(struct limits *limits, struct all_limits *all, struct session *session);
void limits_drop(struct limits *limits);
/* Makes expiry wait no longer for the client. For a connection that is to be closed at the end of
 * the turn: nobody will read its output. */
void limits_end(struct limits *limits);

/* ---- before AUTH ----------------------------------------------------------------------------- */

bool limits_must_log_in(const struct limits *limits);
/* Must the client authenticate before anything else? Inline, because the answer is no for most
 * requests. */
static inline bool limits_is_anon(const struct limits *limits)
{
    return !limits->session->authenticated && limits_must_log_in(limits);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Update the connection's part of the totals after a change of its memory or authentication.
 * limits_count is inline because each request calls it, while most connections are not counted. */
void limits_count_now(struct limits *limits);
static inline void limits_count(struct limits *limits)
{
    if (limits->counts || !limits->session->authenticated) limits_count_now(limits);
}
/* From the next limits_count on, maxmemory-clients does not close the connection. */
void limits_exempt(struct limits *limits);
/* Was maxmemory-clients turned on or off since the last call? If so, the totals are wrong until
 * limits_recount was called for each connection. */
bool all_limits_switched(struct all_limits *all);
void limits_recount(struct limits *limits);
/* If all connections together exceed maxmemory-clients, chooses one of the largest to close: logs
 * it, stops counting it, and returns its session. Returns NULL if none must be closed, or all are
 * exempt. */
struct session *all_limits_victim(struct all_limits *all);

/* ---- unanswered input ------------------------------------------------------------------------ */

/* Closes a client whose unprocessed input, `len` bytes, exceeds client-query-buffer-limit, or 64
 * KiB before AUTH. Commands that MULTI has queued count as such input, as in Redis. */
void limits_check_input(struct limits *limits, size_t len);

/* ---- unread output --------------------------------------------------------------------------- */

/* Makes the session's output drop replies beyond the hard limit of its class. Before each request,
 * because subscriptions and CONFIG SET change that limit. */
void limits_bound_output(struct limits *limits);
/* Closes and logs a client whose unread replies reach the hard limit of its class, or were lost for
 * lack of memory. If they reach only the soft limit, arms the timer that closes it later. */
void limits_check_output(struct limits *limits);
/* Does what limits_check_output does, and also pauses a serving client with more than 64 MiB of
 * unread replies (WAIT_OUTPUT) until at most 32 MiB are left. For use between requests. */
void limits_check_unread(struct limits *limits);
/* Is more output unread than an unauthenticated client may leave? */
bool limits_anon_is_full(const struct limits *limits);
/* Updates the totals and the soft limit after sending; `blocked` means that the socket did not
 * accept all output. Closes an unauthenticated client that leaves too much of it unread, and then
 * returns false. */
bool limits_note_sent(struct limits *limits, bool blocked);
/* Has the client read enough to end WAIT_OUTPUT? */
bool limits_may_resume(const struct limits *limits);

/* ---- failed logins --------------------------------------------------------------------------- */

/* limits_login_failed delays the reply to a failed login, and everything after it, for 50 ms, and
 * twice as long after each further failure, up to 3.2 s. limits_login_done, for a successful login,
 * starts again with 50 ms. */
void limits_login_failed(struct limits *limits);
void limits_login_done(struct limits *limits);
/* Must its replies wait for the end of the penalty? */
bool limits_has_penalty(const struct limits *limits);

/* ---- checking -------------------------------------------------------------------------------- */

/* Sums over connections, to compare with the totals. */
struct limits_tally {
    size_t classed, counted;
};
/* Asserts that the connection agrees with its session, and adds it to the tally, which
 * all_limits_check compares with the totals. */
void limits_check(const struct limits *limits, struct limits_tally *tally);
void all_limits_check(const struct all_limits *all, const struct limits_tally *tally);
