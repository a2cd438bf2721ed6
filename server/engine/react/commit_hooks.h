/* commit_hooks: the only listener of the store. Passes the effects of a transaction to the journal,
 * the replication stream, blocked, watch, tracking and notify, in this order. At commit the stream
 * comes before the journal, because the journal's record contains the stream's position after the
 * transaction. While only the journal listens, SET and EXPIRE append to it without an effect
 * (store/brief.h).
 *
 * txn->caller is the session whose call makes the change, or NULL for the server itself. */
#pragma once

#include "server/disk/persist.h"
#include "server/engine/react/blocked.h"
#include "server/engine/react/notify.h"
#include "server/engine/react/tracking.h"
#include "server/engine/react/watch.h"
#include "server/replica/stream/feed.h"
#include "store/store.h"

/* Hooks; the feed is not among them, because a promotion creates it within a call. */
enum { USES_JOURNAL = 1, USES_BLOCKED = 2, USES_WATCH = 4, USES_TRACKING = 8 };

struct commit_hooks {
    struct store *store;
    struct watch *watch;
    struct notify *notify;
    struct blocked *blocked;
    struct tracking *tracking; /* NULL without client-side caching */
    struct persist *persist;   /* NULL without a journal */
    struct feed *feed;         /* NULL if this server makes no stream for replicas */
    unsigned uses;             /* USES_*: the hooks in use when the call began, */
    bool keeps_only;           /* none but the journal */
    bool changed; /* data has changed since the turn last began to send; turn.c clears it */
};

/* Returns the listener to pass to store_listen. The listener borrows the hooks. When a call begins,
 * it determines which of the hooks are in use, so that the others cost nothing. */
struct effect_listener commit_hooks_listener(struct commit_hooks *hooks);
/* Informs watchers, blocked clients and caches that any key may have changed, because the whole
 * data set was replaced. The caller informs the journal and the replicas. */
void commit_hooks_replaced(struct commit_hooks *hooks);
