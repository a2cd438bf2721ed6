/* engine: takes a request through the checks and runs its command in a transaction. Depends on
 * command rows, sessions and the store; knows no sockets and no command.
 *
 * Folder server/engine: a request from its arrival to its commit, and the background work of a
 * turn. gates has the checks in Redis' order, one table read from top to bottom; rights asks the
 * ACL, memory_limit keeps maxmemory; multi has the queue and EXEC; serve runs the commands of
 * blocked clients again, replay_call those of a Redis AOF. Everything that runs a command does it
 * by call_run (server/cmd/call/call.h). settle delays requests for keys with much overdue work,
 * background shares the time of a turn among slices, store_work and defrag_timer add theirs,
 * long_queries makes replies that take longer than a turn.
 * Depends on the folders inside it, server/disk and server/cmd/call. Start with engine.c, then
 * gates.c. */
#ifndef SERVER_ENGINE_ENGINE_H
#define SERVER_ENGINE_ENGINE_H

#include "conf/conf.h"
#include "server/engine/acl/acl.h"
#include "server/base/clock.h"
#include "server/cmd/call/command.h"
#include "server/engine/multi.h"
#include "server/engine/observe/observe.h"
#include "server/cmd/call/pause.h"
#include "server/cmd/call/role.h"
#include "server/cmd/call/session.h"
#include "server/engine/settle.h"
#include "server/engine/react/commit_hooks.h"
#include "server/engine/observe/stats.h"
#include "server/engine/react/blocked.h"
#include "server/engine/react/watch.h"
#include "store/store.h"

struct call;

/* A script runs for so long that other clients are served meanwhile: commands without ALLOW_BUSY
 * are refused, the others run without a transaction of their own, and nothing works in the
 * background. */
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
    struct acl *acl;           /* NULL: every session may do everything */
    struct settle *settle;     /* NULL: no request is delayed */
    struct observer *observer; /* NULL: nothing is observed */
    struct pause pause;
    struct role role;
    struct persist *persist; /* NULL: nothing is persisted */
    bool loading;            /* the data set is not complete yet */
    enum busy busy;
    /* Bytes of memory of unauthenticated connections, and of what replicas lag behind. No key is
     * evicted because of them. */
    size_t uncounted;
    bool script_lacks_memory; /* it was above maxmemory when the script began */
    bool evicting; /* memory use may exceed maxmemory: memory_limit_evict runs in the background */
};

/* Applies the options that concern the store. Call at the start and when one has changed. */
void engine_configure(struct engine *engine);

/* Must the session log in before it may do anything? */
static inline bool engine_needs_auth(const struct engine *engine, const struct session *session)
{
    return !session->authenticated && engine->acl != NULL && acl_wants_password(engine->acl);
}

/* Must the data stay as they are, but for changes that clients or the master make? During a pause,
 * and on a replica. */
static inline bool engine_keeps_data(struct engine *engine, msec now)
{
    return engine->role.replica || pause_now(&engine->pause, now) != PAUSE_NONE;
}

/* Runs one request of the session (argc >= 1; `command` is the row for argv) and appends its reply
 * to session->out, unless the command blocks the session. Then serves the blocked clients whose
 * keys became ready. argv is borrowed for the call.
 *
 * False: nothing has been done, and the caller must run the request again later: after
 * session_wake if the session waits, else after the pause. */
bool engine_request(struct engine *engine, struct session *session, struct command_ref command,
                    int argc, const struct bytes *argv);

/* Call when a request of the session has its complete reply, at once or after blocking. */
void engine_answered(struct session *session);

/* Runs a call of an EXEC or a script inside its open transaction, in its session's database, and
 * counts it. */
void engine_call(struct engine *engine, struct call *call);

#endif
