/* follower: applies a master's stream to the data. Depends on effects' text, and on engine for the
 * commands of other servers; knows no connection.
 *
 * The stream of a server like this one consists of effects (feed.h). The stream of Redis or Valkey
 * consists of commands that change data. They run like those of a client, except that nothing
 * expires on access and no policy applies. A server like this one that followed Redis sends
 * commands up to the offset at which it was promoted, and then effects. Transactions (MULTI, or
 * between empty lines) are applied when they are complete. */
#ifndef SERVER_REPLICA_FOLLOWER_H
#define SERVER_REPLICA_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/engine/engine.h"

struct follower;

struct follower_wiring {
    struct engine *engine;
    /* The master asks for the offset that has been applied (REPLCONF GETACK). */
    void (*ask)(void *ctx);
    /* A unit with these bytes was applied, and is committed next. `good` is false if only a part of
     * it was applied, so that the data differs from the master's. */
    void (*applied)(void *ctx, struct bytes unit, bool good);
    void *ctx;
};

struct follower *follower_new(const struct follower_wiring *wiring);
void follower_free(struct follower *follower);

#define FOLLOW_COMMANDS UINT64_MAX
/* Begins a stream, with this database selected. Its first `commands` bytes are whole commands of
 * another server, the rest are effects. With FOLLOW_COMMANDS all are commands. */
void follower_begin(struct follower *follower, uint64_t commands, unsigned db);
unsigned follower_db(const struct follower *follower); /* the selected database */

enum followed {
    FOLLOWED,      /* *used bytes were applied: all whole units for which there was time */
    FOLLOW_PART,   /* the unit at the beginning is incomplete */
    FOLLOW_BROKEN, /* the stream is malformed, or does not fit the data: see follower_error */
};
/* Applies units from the beginning of data until about `usec` have passed. */
enum followed follower_apply(struct follower *follower, const char *data, size_t len, int64_t usec,
                             size_t *used);
const char *follower_error(const struct follower *follower);

/* Returns the number of commands that were skipped, as in Redis, because they failed or do not
 * exist here. Their names are logged. */
uint64_t follower_failed(const struct follower *follower);

#endif
