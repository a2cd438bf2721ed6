/* feed: turns transactions into the replication stream. Depends on effect_text; knows no replica.
 *
 * All replicas receive the same stream: an effect is written as a command of Redis 7.0 if there is
 * one for it, otherwise as a command of this server (effect_text.h). A stock Redis skips a command
 * that it does not know, but if a MULTI contains such a command, Redis discards the whole MULTI.
 * The form of a transaction therefore depends on its commands:
 *
 *     one command                            unchanged
 *     several, all known to Redis 7.0        MULTI, the commands, EXEC
 *     several, at least one unknown to it    an empty line, the commands, an empty line; runs of
 *                                            known commands are in MULTI and EXEC
 *
 * Redis ignores an empty line. To a replica that is a server like this one, empty lines mark the
 * beginning and the end of a unit, which is applied as a whole.
 *
 * A member that is added with a deadline is written as two commands, Redis' command without the
 * deadline and one that sets the deadline, so that a stock Redis adds the member. A field that
 * loses its deadline is written as HSET with its value: Redis 8 ignores an HPERSIST that arrives
 * after the deadline, and a replica that lags would lose the field.
 *
 * PUBLISH and SPUBLISH of clients are parts of units, in their order. Other commands of the stream
 * are PING and REPLCONF GETACK *, outside of units. */
#pragma once

#include "server/replica/stream/backlog.h"
#include "store/effect.h"

struct feed;

struct feed *feed_new(struct backlog *backlog); /* borrows it */
void feed_free(struct feed *feed);

/* Adds an effect to the open unit, as one command or two. */
void feed_add(struct feed *feed, const struct effect *effect);
/* Adds a message, such as PUBLISH, to the open unit: a command of `count` words that every Redis
 * knows. */
void feed_message(struct feed *feed, const struct bytes *words, int count);
bool feed_pending(const struct feed *feed); /* does feed_commit have anything to append? */
void feed_commit(struct feed *feed);        /* appends the unit to the backlog */
/* Appends a command of `count` words to the backlog at once, outside of units. An open unit stays
 * open. */
void feed_command(struct feed *feed, const struct bytes *words, int count);
uint64_t feed_offset(const struct feed *feed); /* offset of the next byte of the stream */
/* Returns the database that the stream has selected. Returns 0 if none is, because the next command
 * selects its own. */
unsigned feed_db(const struct feed *feed);
/* Discards an open unit, and makes the next command select its database again, which a reader that
 * begins here does not know. Call when the stream begins anew, when this server becomes its master,
 * and when a full copy is begun. */
void feed_restart(struct feed *feed);
