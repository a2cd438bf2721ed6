/* follower: applies a master's stream to the data. Depends on effects' text, and on engine for the
 * commands of other servers; knows no connection.
 *
 * What the stream consists of depends on the master:
 *
 *     a server like this one    effects (feed.h)
 *     Redis or Valkey           commands that change data. They run like those of a client, except
 *                               that nothing expires on access and no policy applies
 *     a server like this one    commands up to the offset of its promotion, then effects
 *     that followed Redis
 *
 * A transaction (between MULTI and EXEC, or between empty lines) is applied only once it is
 * complete. */
#pragma once

#include "server/engine/engine.h"

struct follower;

struct follower_wiring {
    struct engine *engine;
    /* The master asks for the offset that has been applied (REPLCONF GETACK). */
    void (*ask)(void *ctx);
    /* A unit with these bytes was applied, and is committed next. `good` is false if applying it
     * has stopped at a command (FOLLOW_BROKEN): the data then has only the changes before that.
     * Commands that are skipped (follower_failed) do not count. */
    void (*applied)(void *ctx, struct bytes unit, bool good);
    void *ctx;
};

struct follower *follower_new(const struct follower_wiring *wiring);
void follower_free(struct follower *follower);

#define FOLLOW_COMMANDS UINT64_MAX
/* Forgets the stream before and begins a new one, with this database selected. Its first `commands`
 * bytes are whole commands of another server, the rest are effects. FOLLOW_COMMANDS stands for
 * commands without end. */
void follower_begin(struct follower *follower, uint64_t commands, unsigned db);
unsigned follower_db(const struct follower *follower); /* the selected database */

enum followed {
    FOLLOWED,      /* *used bytes were applied: all whole units for which there was time */
    FOLLOW_PART,   /* the unit at the beginning is incomplete */
    FOLLOW_BROKEN, /* the stream is malformed, does not fit the data, or has a unit longer than
                    * client-query-buffer-limit: see follower_error */
};
/* Applies the whole units at the beginning of data, until about `usec` microseconds have passed.
 * *used is the number of bytes applied, which the caller must not pass again. */
enum followed follower_apply(struct follower *follower, const char *data, size_t len, int64_t usec,
                             size_t *used);
/* Returns the reason of the last FOLLOW_BROKEN. */
const char *follower_error(const struct follower *follower);

/* Returns the number of commands that were skipped, as Redis skips them, because they failed or do
 * not exist on this server. The log names some of them. */
uint64_t follower_failed(const struct follower *follower);
