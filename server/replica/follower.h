/* follower: applies a master's stream to the data. Depends on effects' text, and on engine for
 * the commands of other servers; knows no connection.
 *
 * The stream of a server like this one consists of effects (feed.h). That of Redis or Valkey
 * consists of any commands that change data: they run as a client's would, but nothing expires on
 * access and no policy applies. A server like this one that follows Redis passes commands on, and
 * effects from where it was promoted. Transactions (MULTI, or between empty lines) are applied when
 * they are complete. */
#ifndef SERVER_REPLICA_FOLLOWER_H
#define SERVER_REPLICA_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/engine/engine.h"

struct follower;

struct follower_wiring {
    struct engine *engine;
    /* The master wants to know how far the stream has been applied (REPLCONF GETACK). */
    void (*ask)(void *ctx);
    void *ctx;
};

struct follower *follower_new(const struct follower_wiring *wiring);
void follower_free(struct follower *follower);

#define FOLLOW_COMMANDS UINT64_MAX
/* A stream begins, with this database selected. Its first `commands` bytes are whole commands of
 * another server, or all (FOLLOW_COMMANDS); the rest are effects. */
void follower_begin(struct follower *follower, uint64_t commands, unsigned db);
unsigned follower_db(const struct follower *follower); /* the selected database */

enum followed {
    FOLLOWED,      /* *used bytes were applied: as many whole units as there were time for */
    FOLLOW_PART,   /* the unit at the beginning is incomplete */
    FOLLOW_BROKEN, /* the stream is not one, or does not fit the data: follower_error */
};
/* Applies units from the beginning of data until about `usec` have passed. */
enum followed follower_apply(struct follower *follower, const char *data, size_t len, int64_t usec,
                             size_t *used);
const char *follower_error(const struct follower *follower);

/* Number of commands that failed or do not exist here and were skipped, as in Redis; their names
 * are logged. */
uint64_t follower_failed(const struct follower *follower);

#endif
