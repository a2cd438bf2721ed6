/* sinks: where a transaction's effects go, in one order: watch, then notify.
 * The store's one listener. */
#ifndef SERVER_SINKS_H
#define SERVER_SINKS_H

#include "server/notify.h"
#include "server/watch.h"
#include "store/store.h"

struct sinks {
    struct store *store;
    struct watch *watch;
    struct notify *notify;
};

/* Before each transaction: listens to just what somebody wants, so that an effect costs nothing
 * otherwise. */
void sinks_arm(struct sinks *sinks);

#endif
