/* sinks: where a transaction's effects go, in one order: journal, watch, waiters, tracking, then
 * notify.
 * The store's one listener. */
#ifndef SERVER_REACT_SINKS_H
#define SERVER_REACT_SINKS_H

#include "server/react/notify.h"
#include "server/persist/persist.h"
#include "server/react/tracking.h"
#include "server/react/waiters.h"
#include "server/react/watch.h"
#include "store/store.h"

struct sinks {
    struct store *store;
    struct watch *watch;
    struct notify *notify;
    struct waiters *waiters;
    struct tracking *tracking;          /* NULL: nobody may track */
    struct persist *persist;            /* NULL: nothing is kept */
    bool tracks, keeps, watches, waits; /* sinks_arm's: somebody does */
    struct session *caller;             /* whose call it is; NULL: the server's own doing */
};

/* Before each transaction: listens to just what somebody wants, so that an effect costs nothing
 * otherwise. */
void sinks_arm(struct sinks *sinks);
/* Whose doing the effects are that follow; sinks_arm makes them the server's own. */
void sinks_call(struct sinks *sinks, struct session *session);

#endif
