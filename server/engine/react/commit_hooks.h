/* commit_hooks: the only listener of the store. Passes a transaction's effects to the journal, the
 * replication stream, blocked, watch, tracking and notify, in this order. At commit the stream
 * comes before the journal, because the journal's record contains the stream's position after the
 * transaction. txn->caller is the session that runs the call, or NULL for the server itself. */
#ifndef SERVER_ENGINE_REACT_COMMIT_HOOKS_H
#define SERVER_ENGINE_REACT_COMMIT_HOOKS_H

#include "server/disk/persist.h"
#include "server/engine/react/blocked.h"
#include "server/engine/react/notify.h"
#include "server/engine/react/tracking.h"
#include "server/engine/react/watch.h"
#include "server/replica/stream/feed.h"
#include "store/store.h"

struct commit_hooks {
    struct store *store;
    struct watch *watch;
    struct notify *notify;
    struct blocked *blocked;
    struct tracking *tracking;          /* NULL without client-side caching */
    struct persist *persist;            /* NULL without a journal */
    struct feed *feed;                  /* NULL if this server makes no stream for replicas */
    bool tracks, keeps, watches, waits; /* hooks in use when the call began */
    bool keeps_only;                    /* none but the journal */
    bool changed; /* data has changed since the turn last began to send; turn.c clears it */
};

/* Returns the listener to pass to store_listen. It borrows the hooks; its `begin` finds out which
 * are in use. */
struct effect_listener commit_hooks_listener(struct commit_hooks *hooks);
/* Call when the whole data set was replaced: tells watchers, blocked clients and caches that any
 * key may have changed. The caller must inform the journal and replicas. */
void commit_hooks_replaced(struct commit_hooks *hooks);

#endif
