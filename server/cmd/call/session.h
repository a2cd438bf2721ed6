/* session: the state of a client between its commands: plain fields, and pointers to what other
 * modules own. It knows no sockets: a connection embeds a session, while replay_call, client_list
 * and tests make sessions that have no connection. */
#pragma once

#include "proto/resp/resp_write.h"
#include "server/cmd/call/session_state.h"
#include "store/base/bytes.h"

struct acl_user;       /* acl: its user */
struct trail;          /* store/trail: who set deadlines */
struct multi;          /* multi: commands queued since MULTI */
struct watching;       /* watch: keys that this session watches */
struct delayed;        /* settle: the delay of this session's next request */
struct preparing;      /* preparing: the wait of its next request for a thread */
struct blocked_client; /* blocked: the keys and the command that it is blocked on */
struct subscriber;     /* pubsub: its subscriptions */
struct tracker;        /* tracking: how its reads are tracked */
struct replica;        /* replica: its state as a replica */

enum reply_mode { REPLY_ON, REPLY_OFF, REPLY_SKIP_NEXT, REPLY_SKIPPING };

struct session {
    uint64_t id;
    enum session_state state; /* the functions below change this and the next two */
    enum wait_reason waits_for;
    void (*forget_wait)(struct session *session); /* NULL if there is nothing to forget */
    const char *peer; /* "127.0.0.1:50000", or NULL if unknown. Borrowed from the connection */
    unsigned db;
    struct resp_writer out;
    bool authenticated;
    struct acl_user *user; /* held; NULL without checks (replay, tests). See acl_begin_session */
    bool no_evict, no_touch;
    bool redirects;     /* CLIENT CAPA: a replica refers the client to its master */
    bool reads_replica; /* READONLY: a replica serves its reads itself */
    enum reply_mode reply_mode;
    struct blob *name, *lib_name, *lib_version; /* owned, or NULL */
    struct multi *multi;                        /* NULL outside MULTI */
    struct watching *watching;                  /* NULL without watched keys */
    bool watch_touched;                         /* a watched key has changed: EXEC will fail */
    bool monitoring;                            /* MONITOR: the client is sent every command */
    struct blocked_client *blocked; /* WAIT_KEY, WAIT_REPLICAS, WAIT_LONG_REPLY; else NULL */
    struct delayed *delayed;        /* WAIT_SETTLING; else NULL */
    struct preparing *preparing;    /* WAIT_PREPARING; else NULL */
    struct subscriber *subscriber;  /* NULL without subscriptions */
    struct tracker *tracker;        /* NULL while CLIENT TRACKING is off */
    struct replica *replica;        /* NULL if it is no replica */
    uint64_t streamed_at;  /* for WAIT: offset of the replication stream after its last command */
    uint64_t durable_at;   /* replies are held until the journal is safe up to this position */
    struct outbuf *pushes; /* collects pushes while EXEC replies, else NULL: see session_push_out */
    uint16_t author;       /* the session's number in the trail; 0 before its first record */
    struct trail *trail;   /* session_forget_author */
    const struct command *last_command; /* NULL before the first */
    const struct command *last_parent;  /* NULL unless it is a subcommand */
    /* Called by session_notify and session_wake: sends the output, and schedules the requests that
     * arrived during the wait. NULL without a connection. Must not free any session, because the
     * callers go on to use theirs; connections are closed at the end of the turn. */
    void (*changed)(struct session *session);
    /* Has the client closed its connection, even if nothing has read that yet? NULL without a
     * connection. */
    bool (*has_gone)(struct session *session);
};

/* Initializes a session in database 0, with RESP2 replies into `out`; not authenticated. */
void session_init(struct session *session, struct outbuf *out);

/* Makes the session wait: none of its requests runs until the wait ends. The state must be SERVING.
 * `forget` must remove the session from the list of the module that called this; it is called once,
 * when the wait ends for whatever reason. */
void session_wait(struct session *session, enum wait_reason reason,
                  void (*forget)(struct session *session));
/* Ends the session's wait without scheduling its requests, for example because it is about to be
 * closed. No effect if the session does not wait. */
void session_end_wait(struct session *session);
/* Ends the session's wait, if any: sends its output, and runs its requests in the next turn. */
void session_wake(struct session *session);
/* Makes later records of this session in the trail name a new author. Call it for each change of
 * the session's name or user, and for its end. */
void session_forget_author(struct session *session);
/* Makes the connection send output that was appended outside the session's own requests. Otherwise
 * that output would wait for the next request. */
void session_notify(struct session *session);
/* Puts a new session over TLS into SHAKING: its client is unknown until the handshake ends. */
void session_begin_handshake(struct session *session);
void session_end_handshake(struct session *session); /* no effect if there is none */
/* Runs no further request and closes the connection once the replies are sent. Ends a wait. Not for
 * a session in its handshake. */
void session_close(struct session *session);
/* Closes the connection at the end of the turn without sending further replies. Ends a wait. */
void session_end(struct session *session);
static inline bool session_is_over(const struct session *session)
{
    return session->state == SESSION_CLOSING || session->state == SESSION_ENDED;
}
/* Is the client blocked, as CLIENT LIST shows it? Such a client waits for the server, so it is not
 * closed as idle. */
static inline bool session_is_blocked(const struct session *session)
{
    return session->waits_for != WAIT_NOTHING && session->waits_for < WAIT_PENALTY;
}
/* Returns the buffer to which pushes to this session are appended. While EXEC replies, that is a
 * buffer of its own, so that pushes follow EXEC's array instead of breaking it up. */
static inline struct outbuf *session_push_out(const struct session *session)
{
    return session->pushes != NULL ? session->pushes : session->out.out;
}
/* Asserts that the state, the reason and the owners of waits agree. */
void session_check(const struct session *session);

/* Returns how many channels, patterns and shard channels the session is subscribed to. In
 * pubsub.c. */
unsigned session_subscriptions(const struct session *session);
