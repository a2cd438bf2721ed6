/* requests: the input of one connection: receives bytes, parses them, and runs the requests at the
 * end of the turn, together with those of all other connections. Depends on the parser, the engine,
 * input, limits and lookahead; knows neither sockets nor how replies are sent.
 *
 * Most reads bring complete requests, which stay in a buffer that all connections share until they
 * run. Only requests that are incomplete or must wait are copied, into the connection's own input,
 * which an idle connection does not need.
 *
 * The requests of a turn run in windows: parse some requests, prefetch the keys of these together,
 * so that the waits for memory overlap (store/lookahead.h), and run them. A request that can't run
 * now stays in its connection's input, with everything that came after it, and is parsed again
 * later. */
#pragma once

#include <sys/queue.h>

#include "server/net/input.h"
#include "server/net/limits.h"

struct all_requests; /* the turn's buffer and window, and lists of all connections */

/* The work that a turn still has to do with the input of a connection. Each state except the first
 * is a list in struct all_requests.
 *
 *            no room in the turn's buffer        its requests have run
 *   TO_READ <---------------------------- REST <----------------------+
 *      |                                  |  ^                         |
 *      |            requests are left, or |  |                         |
 *      |            may continue          v  | the next turn           |
 *      |                               TO_RUN -------------------> ARRIVED <--> SUSPENDED
 *      |                                           bytes were read     ^
 *      +---------------------------------------------------------------+ */
enum requests_state {
    REQUESTS_REST,      /* nothing to do: in no list */
    REQUESTS_TO_READ,   /* the turn's buffer was full: read after its requests have run */
    REQUESTS_TO_RUN,    /* its input may hold complete requests: run them in the next turn */
    REQUESTS_ARRIVED,   /* bytes were read in this turn; their requests run at its end */
    REQUESTS_SUSPENDED, /* its request runs, with other turns inside it */
    REQUESTS_STATES,
};

/* Bytes that were read in this turn; kept until their requests have run. */
struct arrival {
    const char *data; /* NULL while the bytes are in the connection's input */
    size_t len;
    size_t parsed;  /* bytes of requests that are in the window */
    size_t used;    /* bytes of requests that have run */
    unsigned left;  /* requests that may still run in this turn */
    bool ended;     /* no further request can be parsed from it */
    bool holds;     /* parsed requests must run before the next one is parsed */
    bool cut;       /* a request could not run: it stays, with all bytes after it */
    bool malformed; /* the bytes after the parsed ones are malformed */
};

/* One connection. Only requests.c and the functions below may use the fields. */
struct requests {
    struct all_requests *all;
    struct session *session;
    struct limits *limits;
    enum requests_state state;
    TAILQ_ENTRY(requests) same_state, paused;
    struct resp_reader reader;
    struct input input;
    struct arrival arrival;
    int64_t active_usec; /* monotonic: the connection last read, ran or sent something */
};

/* What requests need from the owner of the connections. */
struct requests_owner {
    void (*close)(struct session *session); /* closes it at the end of the turn */
    void (*ran)(struct session *session);   /* the requests of this turn have run, or will not */
    /* Makes the session wait (WAIT_PAUSE). The end of the wait must call requests_forget_pause. */
    void (*pause)(struct session *session);
};

struct requests_wiring {
    struct loop *loop;
    struct clock *clock;
    const struct conf *conf;
    struct engine *engine;
    struct stats *stats;
    struct requests_owner owner;
};

/* The wiring is copied. */
struct all_requests *all_requests_new(const struct requests_wiring *wiring);
void all_requests_free(struct all_requests *all); /* after all connections */

/* Session and limits are borrowed. */
void requests_init(struct requests *requests, struct all_requests *all, struct session *session,
                   struct limits *limits);
void requests_drop(struct requests *requests);

/* ---- bytes ----------------------------------------------------------------------------------- */

struct requests_room {
    enum { ROOM_NONE, ROOM_SHARED, ROOM_INPUT, ROOM_BIG } kind;
    char *data;
    size_t size;
};
/* Returns where to read the next bytes to. ROOM_NONE means not now: requests that were read must
 * run first, or the session was closed for lack of memory. After any other kind, read before the
 * next call of any function of this file. The session's state must allow input. */
struct requests_room requests_room(struct requests *requests);
/* Takes `len` bytes that were read into the room. Complete requests in them run at the end of the
 * turn if the session is serving; otherwise the bytes stay in the connection's input. */
void requests_got(struct requests *requests, const struct requests_room *room, size_t len);
/* Has the connection run no command yet, and left no input? */
bool requests_are_first(const struct requests *requests);
/* Returns the next session for which the turn's buffer had no room and now has some, or NULL. */
struct session *all_requests_next_to_read(struct all_requests *all);

/* ---- running --------------------------------------------------------------------------------- */

/* Runs the requests that were read in this turn. */
void all_requests_run(struct all_requests *all);
/* Is one of the connection's requests running, or must some still run in this turn? */
static inline bool requests_are_busy(const struct requests *requests)
{
    return requests->state == REQUESTS_ARRIVED || requests->state == REQUESTS_SUSPENDED;
}
/* Schedules the requests in the session's input for the next turn. No effect unless the session is
 * serving. */
void requests_wake(struct requests *requests);
/* Ends a wait that net/ itself began (WAIT_PAUSE or WAIT_PENALTY), and schedules the requests in
 * the session's input for the next turn. */
void requests_continue(struct requests *requests);
/* If the pause is over, lets all paused sessions continue; otherwise arms a timer, unless something
 * else reports the end. */
void all_requests_check_pause(struct all_requests *all);
/* No longer lists the session as paused: for the end of a wait that requests_owner.pause began. */
void requests_forget_pause(struct requests *requests);
size_t all_requests_paused(const struct all_requests *all);

/* Let turns run inside the running request, as described at clients_suspend_turn. Both return the
 * request's session, or NULL if that session has no connection. */
struct session *all_requests_suspend(struct all_requests *all);
struct session *all_requests_resume(struct all_requests *all);
bool all_requests_are_suspended(const struct all_requests *all);
struct session *all_requests_running(const struct all_requests *all); /* NULL if there is none */
/* Returns the number of requests begun so far, without those in turns inside another request. */
uint64_t all_requests_number(const struct all_requests *all);

/* ---- time and memory ------------------------------------------------------------------------- */

/* Sets the monotonic time that requests_touch notes. all_requests_run sets it as well. */
void all_requests_set_time(struct all_requests *all, int64_t usec);
void requests_touch(struct requests *requests); /* the connection is active */
int64_t requests_active_usec(const struct requests *requests);

struct requests_usage {
    size_t used, free; /* bytes of unanswered input; free room behind them */
    size_t arguments;  /* bytes of the arguments of its running request */
};
struct requests_usage requests_usage(const struct requests *requests);
size_t requests_bytes(const struct requests *requests); /* memory, without the struct */
/* Updates the largest input of all connections in the statistics. */
void requests_note_peak(const struct requests *requests);

/* ---- checking -------------------------------------------------------------------------------- */

/* Sums over connections, to compare with the lists. */
struct requests_tally {
    size_t states[REQUESTS_STATES], paused;
};
/* Asserts that the connection agrees with its session and that a complete request of a serving
 * session is scheduled to run. Adds the connection to the tally, which all_requests_check compares
 * with the lists. */
void requests_check(const struct requests *requests, struct requests_tally *tally);
void all_requests_check(const struct all_requests *all, const struct requests_tally *tally);
