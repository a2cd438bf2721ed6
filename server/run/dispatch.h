/* dispatch: the way of a request: find its row, pass the gates, run it in a transaction.
 * Knows rows, sessions and the store; refuses to know sockets and what a command does. */
#ifndef SERVER_RUN_DISPATCH_H
#define SERVER_RUN_DISPATCH_H

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/call/command.h"
#include "server/run/multi.h"
#include "server/observe/observe.h"
#include "server/call/pause.h"
#include "server/call/session.h"
#include "server/run/settle.h"
#include "server/react/sinks.h"
#include "server/observe/stats.h"
#include "server/react/waiters.h"
#include "server/react/watch.h"
#include "store/store.h"

struct dispatch {
    struct commands *commands;
    struct store *store;
    const struct conf *conf;
    const struct clock *clock;
    struct sinks *sinks;
    struct watch *watch;
    struct waiters *waiters;
    struct stats *stats;
    struct settle *settle;     /* NULL: no request is delayed */
    struct observer *observer; /* NULL: nothing is noted */
    struct pause pause;
    struct persist *persist; /* NULL: nothing is kept */
    bool loading;            /* the data set is not all there yet */
    /* Bytes of memory that no key is evicted for: what unauthenticated connections hold. */
    size_t uncounted;
    bool evicting; /* more than maxmemory may be in use: dispatch_evict sees to it */
};

/* A password is asked for, and the session has not given it. */
bool dispatch_needs_auth(const struct dispatch *dispatch, const struct session *session);

/* Runs one request (argc >= 1, and the command that argv stands for) of the session now; its reply
 * is appended to session->out, unless the session waits afterwards. Then whoever waited for what
 * has become ready is served. argv is borrowed for the call. False: nothing has happened, and the
 * request has to come again: when the session is woken if it is delayed now (session->delayed),
 * else when the pause is over. */
bool dispatch_request(struct dispatch *dispatch, struct session *session,
                      struct command_ref command, int argc, const struct bytes *argv);

/* A request of the session has its whole answer, at once or after a wait. */
void dispatch_answered(struct session *session);

/* While `evicting`: up to `most` keys go by maxmemory-policy, until the limit is kept or none may
 * go. False: there was nothing to do, or a pause keeps the data as they are. */
bool dispatch_evict(struct dispatch *dispatch, size_t most);

/* Runs a call inside its open transaction, in its session's database, and counts it. */
struct call;
void dispatch_call(struct dispatch *dispatch, struct call *call);

#endif
