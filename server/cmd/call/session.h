/* session: the state of a client between its commands: plain fields, and opaque pointers that the
 * named modules own. Depends on no sockets: a connection embeds one, and a test makes one by hand.
 */
#ifndef SERVER_CMD_CALL_SESSION_H
#define SERVER_CMD_CALL_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/resp/resp_write.h"
#include "server/cmd/call/session_state.h"
#include "store/base/bytes.h"

struct acl_user;       /* acl: who it is */
struct multi;          /* multi: commands queued since MULTI */
struct watching;       /* watch: keys that this session watches */
struct delayed;        /* settle: the delay of its next request */
struct blocked_client; /* blocked: the keys and the command that it is blocked on */
struct subscriber;     /* pubsub: its subscriptions */
struct tracker;        /* tracking: how its reads are tracked */
struct replica;        /* replica: the replica that it is */

enum reply_mode { REPLY_ON, REPLY_OFF, REPLY_SKIP_NEXT, REPLY_SKIPPING };

struct session {
    uint64_t id;
    enum session_state state; /* changed by the functions below, as the next two */
    enum wait_reason waits_for;
    void (*forget_wait)(struct session *session); /* NULL: nothing to forget */
    const char *peer; /* "127.0.0.1:50000"; NULL: unknown. Borrowed from the connection */
    unsigned db;
    struct resp_writer out;
    bool authenticated;
    struct acl_user *user; /* held; NULL: no checks (replay, tests). See acl_begin_session */
    bool no_evict, no_touch;
    enum reply_mode reply_mode;
    struct blob *name, *lib_name, *lib_version; /* owned; NULL: none */
    struct multi *multi;                        /* NULL: not in MULTI */
    struct watching *watching;                  /* NULL: no watched keys */
    bool watch_touched;                         /* a watched key has changed: EXEC will fail */
    bool monitoring;                            /* MONITOR: it gets every command */
    struct blocked_client *blocked; /* WAIT_KEY, WAIT_REPLICAS, WAIT_LONG_REPLY; else NULL */
    struct delayed *delayed;        /* WAIT_SETTLING; else NULL */
    struct subscriber *subscriber;  /* NULL: no subscriptions */
    struct tracker *tracker;        /* NULL: CLIENT TRACKING is off */
    struct replica *replica;        /* NULL: it is a client like others */
    uint64_t streamed_at; /* offset of the replication stream after its last change: WAIT */
    uint64_t durable_at;  /* its replies wait until the journal is safe up to this position */
    struct outbuf
        *pushes; /* NULL: pushes go to out; else they are collected here while EXEC replies */
    const struct command *last_command; /* for CLIENT LIST; NULL before the first */
    const struct command *last_parent;  /* of a subcommand */
    /* Called by session_notify and session_wake: writes out, and runs the requests that arrived
     * while the session waited. NULL in a test. Must not free any session: closing waits for the
     * end of the turn. */
    void (*changed)(struct session *session);
};

/* Initializes a session in database 0, with RESP2 replies into `out`; not authenticated. */
void session_init(struct session *session, struct outbuf *out);

/* No request of the session runs until session_wake. It must be serving. `forget` removes it from
 * wherever its wait is kept; it is called once, when the wait ends for whatever reason. */
void session_wait(struct session *session, enum wait_reason reason,
                  void (*forget)(struct session *session));
/* Ends the session's wait without waking it, as when it is closed. No effect if it does not wait.
 */
void session_end_wait(struct session *session);
/* Ends the session's wait, if it waits: its output is sent, and its requests run in the next turn.
 */
void session_wake(struct session *session);
/* Call when something was appended to out outside the session's own request: it is sent. */
void session_notify(struct session *session);
/* For a new session that comes over TLS: nothing is known of the client. */
void session_begin_handshake(struct session *session);
void session_end_handshake(struct session *session); /* no effect if there is none */
/* Nothing more runs: the connection is closed once the replies are sent. Ends a wait. */
void session_close(struct session *session);
/* The connection is closed at the end of the turn without further replies. Ends a wait. */
void session_end(struct session *session);
static inline bool session_is_over(const struct session *session)
{
    return session->state == SESSION_CLOSING || session->state == SESSION_ENDED;
}
/* Does the client wait for something that the server has to do? CLIENT LIST shows it, and it is not
 * closed for being idle. */
static inline bool session_is_blocked(const struct session *session)
{
    return session->waits_for != WAIT_NOTHING && session->waits_for < WAIT_PENALTY;
}
/* Asserts that the state, the reason and the owners of waits agree. */
void session_check(const struct session *session);

/* Number of channels, patterns and shard channels; 0 without a subscriber. In pubsub.c. */
unsigned session_subscriptions(const struct session *session);

#endif
