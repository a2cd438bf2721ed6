/* feed: turns transactions into the replication stream. Depends on effects' text; knows no replica.
 *
 * The stream is one for all replicas: commands of Redis 7.0 wherever it has one for the effect,
 * else commands of this server (effect_text.h). A stock Redis follows the same stream: it ignores a
 * command that it does not know, but would lose a whole MULTI with one inside. So a transaction is
 * written as
 *
 *     one command as it is
 *     several, all known to Redis 7.0 MULTI, the commands, EXEC
 *     several, and one that Redis does not know an empty line, the commands, an empty line;
 *                                                     runs of known ones in MULTI and EXEC
 *
 * Redis ignores an empty line. To a replica of this server it begins and ends a unit, which is
 * applied as a whole. A member that is added with a deadline is written as Redis' command without
 * it and a second one that sets it, so that a stock Redis has the member.
 *
 * PUBLISH and SPUBLISH of clients are parts of units, at their place. Other commands of the stream
 * are PING and REPLCONF GETACK *, each outside of units.
 *
 * Folder server/replica/stream: the replication stream: feed turns transactions into its text,
 * backlog keeps its last bytes for replicas that reconnect. It is apart from server/replica because
 * the commit hooks feed it, and they are below the network. Depends on server/disk/effect,
 * server/disk/format and store/. Start here. */
#ifndef SERVER_REPLICA_STREAM_FEED_H
#define SERVER_REPLICA_STREAM_FEED_H

#include <stdbool.h>

#include "server/replica/stream/backlog.h"
#include "store/effect.h"

struct feed;

struct feed *feed_new(struct backlog *backlog); /* borrows it */
void feed_free(struct feed *feed);

void feed_add(struct feed *feed, const struct effect *effect);
/* A message of a transaction: a command with `count` words that every Redis knows (PUBLISH). */
void feed_message(struct feed *feed, const struct bytes *words, int count);
bool feed_pending(const struct feed *feed); /* is there something to commit? */
void feed_commit(struct feed *feed);        /* appends the unit to the backlog */
/* A command outside of units, with `count` words. */
void feed_command(struct feed *feed, const struct bytes *words, int count);
uint64_t feed_offset(const struct feed *feed); /* of the next byte of the stream */
/* The next command selects its database again, for a replica that begins here. A unit that is open
 * is forgotten. */
void feed_restart(struct feed *feed);

#endif
