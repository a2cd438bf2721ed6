/* persist_wiring: the rest of the server as the parts of this folder see it: the objects and
 * callbacks that persist_new receives and passes on. */
#pragma once

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "store/store.h"

struct stream_position;

struct persist_wiring {
    struct loop *loop;
    struct clock *clock;
    const struct conf *conf;
    struct store *store;
    /* Called when a load begins and after each MiB or so of it, to serve connections. */
    void (*progress)(void *ctx);
    /* Called often during work that blocks the loop: writing a snapshot or base without a child,
     * loading a long record, and a reload. Must not run a turn. May be NULL. */
    void (*works)(void *ctx);
    /* Runs a command of a Redis AOF, which may be any command. Returns false if it failed. */
    bool (*command)(void *ctx, unsigned *db, int argc, const struct bytes *argv);
    /* Returns the position of the data in a replication stream after all transactions so far, or
     * NULL if unknown. */
    const struct stream_position *(*stream_position)(void *ctx);
    /* Called when a start has loaded a snapshot or an import instead of the journal, before a
     * journal begins with that data. Returns true if the callee changed the data, whose position in
     * a stream is then dropped. May be NULL. */
    bool (*restored)(void *ctx);
    /* Called when persist_has_to_wait or persist_prepare may return something else. May be NULL. */
    void (*files_done)(void *ctx);
    void *ctx;
};
