/* engine: passes a request through the gates and runs its command in a transaction. Depends on
 * command rows, sessions and the store; knows neither sockets nor particular commands.
 *
 * Folder server/engine: takes a request from its arrival to its commit, and does the background
 * work of a turn. Start with engine_request.c, then gates.c.
 *
 *   a request, in this order:
 *     gates          the checks, in Redis' order; among them
 *     rights           the check of the ACL
 *     memory_limit     the check of maxmemory
 *     preparing      delays requests that need a thread first
 *     settle         delays requests for keys with much overdue work
 *     multi          the queue of MULTI, which EXEC runs
 *   while its command runs, if it needs them:
 *     long_queries   computes replies that take longer than a turn
 *     session_reset  RESET, and the end of a session
 *     author         names the session in the trail of deadlines
 *   without a request of a client:
 *     unblock        runs the commands of blocked clients again
 *     replay_call    runs the commands of a Redis AOF or of a Redis master's stream
 *   background work:
 *     background     divides the time of a turn among slices
 *     store_work, defrag_timer   add the slices
 *     pace           makes expiry wait for slow subscribers
 *
 * Every command runs through call_run (server/cmd/call/call.h).
 *
 * May use: conf proto/resp server/engine/acl server/base server/cmd/call server/engine/observe
 * server/disk server/engine/react store/. */
#pragma once

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/cmd/call/command.h"
#include "server/cmd/call/pause.h"
#include "server/cmd/call/role.h"
#include "server/cmd/call/session.h"
#include "server/engine/acl/acl.h"
#include "server/engine/observe/observe.h"
#include "server/engine/observe/stats.h"
#include "server/engine/pace.h"
#include "server/engine/preparing.h"
#include "server/engine/react/blocked.h"
#include "server/engine/react/commit_hooks.h"
#include "server/engine/react/watch.h"
#include "store/store.h"

struct call;
struct settle;
struct store_work;

/* BUSY_SCRIPT or BUSY_FUNCTION: a script or function has run for so long that other clients are
 * served meanwhile. Their commands are refused unless the row has ALLOW_BUSY. The script's
 * transaction stays open, so the allowed commands can't change data, and no background work
 * runs. */
enum busy { NOT_BUSY, BUSY_SCRIPT, BUSY_FUNCTION };

struct engine {
    struct commands *commands;
    struct store *store;
    const struct conf *conf;
    const struct clock *clock;
    struct commit_hooks *hooks;
    struct watch *watch;
    struct blocked *blocked;
    struct stats *stats;
    struct acl *acl;       /* NULL if every session may run any command */
    struct settle *settle; /* NULL if no request is ever delayed */
    struct preparing_list preparing;
    struct observer *observer; /* NULL if calls are not observed */
    struct pause pause;
    struct pace pace;
    struct role role;
    struct persist *persist; /* NULL if nothing is persisted */
    struct store_work *work; /* NULL if CLOCK cannot move the clock */
    bool loading;            /* the data set is not complete yet */
    bool stopping;           /* the last snapshot is written: no further request runs */
    enum busy busy;
    /* Bytes of unauthenticated connections and of data that replicas have not received yet. They do
     * not count towards maxmemory, so that neither can make the server evict keys. */
    size_t uncounted;
    msec http_logged_at; /* when an HTTP request was logged last */
    /* Returns the bytes of Lua's garbage, which do not count towards maxmemory either. NULL without
     * scripts. */
    size_t (*garbage)(const void *ctx);
    const void *garbage_ctx;
    bool script_lacks_memory; /* a call with GROWS would have been refused when the script began */
    bool evicting; /* memory use may exceed maxmemory: memory_limit_evict runs in the background */
};

/* Passes options to the store, such as those of eviction, leases and encodings, connects its leases
 * and fair claims with the blocked clients, and creates its trail (author.h), or logs that memory
 * is missing for it. Call at the start and after CONFIG SET. */
void engine_configure(struct engine *engine);

/* Must the session authenticate first? */
static inline bool engine_needs_auth(const struct engine *engine, const struct session *session)
{
    return !session->authenticated && engine->acl != NULL && acl_wants_password(engine->acl);
}

/* Are expiry and eviction suspended? True during a pause, and on a replica, where only writes of
 * clients and the master's stream change data. */
static inline bool engine_keeps_data(struct engine *engine, msec now)
{
    return engine->role.replica || pause_now(&engine->pause, now) != PAUSE_NONE;
}

/* May overdue keys stay for long, so that counts of keys must hide them (keyspace_hide)? */
static inline bool engine_keeps_overdue(struct engine *engine, msec now)
{
    return engine_keeps_data(engine, now) || pace_holds(&engine->pace, now);
}

/* Runs one request of a session in SESSION_SERVING (argc >= 1; `command` is the row for argv) and
 * appends the reply to session->out, unless the command blocks the session. Then serves the blocked
 * clients whose keys became ready. A request that looks like a line of HTTP closes the session
 * without a reply. Borrows argv during the call.
 *
 * Returns false if the request was delayed and did not run. Then call again with the same request:
 * after session_wake if the session waits, otherwise after the pause. No request runs while the
 * server stops. */
bool engine_request(struct engine *engine, struct session *session, struct command_ref command,
                    int argc, const struct bytes *argv);

/* CLIENT REPLY SKIP mutes the request after it: begins that after SKIP, and ends it after the muted
 * request. engine_request calls this; call it when a request that was blocked has its reply. */
void engine_answered(struct session *session);

/* Runs a call of a client, an EXEC or a script in call->txn, which is open, and in the session's
 * database. Counts the call in the statistics, and notes its reads. */
void engine_call(struct engine *engine, struct call *call);
/* For client-side caching: remembers the keys that the call has read, so that the client is told
 * when they change. No effect unless its tracking wants that. For a script, call once for each
 * command that the script calls. */
void engine_note_reads(struct engine *engine, struct call *call);
