/* session: what the server remembers of one caller between its commands.
 * Knows what each module keeps for a caller, as opaque pointers owned by that module; refuses to
 * know sockets. A connection embeds one; a test makes one by hand. */
#ifndef SERVER_CALL_SESSION_H
#define SERVER_CALL_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/resp/resp_write.h"
#include "store/base/bytes.h"

struct multi;      /* multi: the commands queued since MULTI */
struct watching;   /* watch: the keys this session watches */
struct delayed;    /* settle: what its next request waits for */
struct waiting;    /* waiters: the keys it waits for, and the command that does */
struct subscriber; /* pubsub: what it listens to */
struct tracker;    /* tracking: how its reads are tracked */

enum reply_mode { REPLY_ON, REPLY_OFF, REPLY_SKIP_NEXT, REPLY_SKIPPING };

struct session {
    uint64_t id;
    const char *peer; /* "127.0.0.1:50000"; NULL: unknown. Borrowed from the connection */
    unsigned db;
    struct resp_writer out;
    bool authenticated;
    bool close_after_reply; /* QUIT, CLIENT KILL of oneself */
    bool no_evict, no_touch;
    enum reply_mode reply_mode;
    struct blob *name, *lib_name, *lib_version; /* owned; NULL: none */
    struct multi *multi;                        /* NULL: not in MULTI */
    struct watching *watching;                  /* NULL: nothing */
    bool watch_touched;                         /* a watched key has changed: EXEC will refuse */
    bool monitoring;                            /* MONITOR: it is told of every command */
    struct waiting *waiting;                    /* NULL: not blocked. Else it must not run */
    struct delayed *delayed;                    /* NULL: not delayed. Else it must not run */
    struct subscriber *subscriber;              /* NULL: nothing */
    struct tracker *tracker;                    /* NULL: CLIENT TRACKING is off */
    uint64_t durable_at;   /* its replies wait until the journal is safe up to here */
    struct outbuf *pushes; /* NULL: pushes go to out; else they wait here while EXEC replies */
    const struct command *last_command; /* for CLIENT LIST; NULL before the first */
    const struct command *last_parent;  /* of a subcommand */
    /* Something was appended to out outside the session's own request, or it is not delayed any
     * more: write it out, and run what has come in while it waited. NULL in a test. Must not drop
     * any session: a close waits for the end of the turn. */
    void (*wake)(struct session *session);
};

/* Fresh, in database 0, speaking RESP2 into `out`; not authenticated. */
void session_init(struct session *session, struct outbuf *out);

/* Number of channels, patterns and shard channels; 0 without a subscriber. In pubsub.c. */
unsigned session_subscriptions(const struct session *session);

#endif
