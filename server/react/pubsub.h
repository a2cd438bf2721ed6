/* pubsub: channels, patterns, shard channels and who listens.
 * Knows sessions' writers; refuses to know commands, keys and sockets. */
#ifndef SERVER_REACT_PUBSUB_H
#define SERVER_REACT_PUBSUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/call/session.h"
#include "store/base/bytes.h"

struct pubsub;

/* Shard channels are names of their own: what is published there no pattern hears. */
enum pubsub_kind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_SHARD, PUBSUB_KINDS };

struct pubsub *pubsub_new(void);
void pubsub_free(struct pubsub *pubsub);

bool pubsub_subscribe(struct pubsub *pubsub, struct session *session, enum pubsub_kind kind,
                      struct bytes name); /* false: it already was */
bool pubsub_unsubscribe(struct pubsub *pubsub, struct session *session, enum pubsub_kind kind,
                        struct bytes name); /* false: it was not */
/* Everything the session listens to; for the end of a connection and RESET. */
void pubsub_forget(struct pubsub *pubsub, struct session *session);

/* Appends the message to each listener's output and wakes it: those of the channel, then those of
 * the patterns that match, oldest pattern first. Returns how many got it (a session
 * counts once for each matching subscription). */
size_t pubsub_publish(struct pubsub *pubsub, struct bytes channel, struct bytes message);
/* The same for a shard channel, and its listeners alone. */
size_t pubsub_publish_shard(struct pubsub *pubsub, struct bytes channel, struct bytes message);

/* NUMSUB, SHARDNUMSUB */
size_t pubsub_listeners(const struct pubsub *pubsub, enum pubsub_kind kind, struct bytes name);
size_t pubsub_channel_count(const struct pubsub *pubsub);
size_t pubsub_pattern_count(const struct pubsub *pubsub); /* NUMPAT: distinct */
size_t pubsub_shard_count(const struct pubsub *pubsub);
/* Each name of the kind that somebody listens to. */
void pubsub_each(const struct pubsub *pubsub, enum pubsub_kind kind,
                 void (*visit)(void *ctx, struct bytes name), void *ctx);
void session_each_subscription(const struct session *session, enum pubsub_kind kind,
                               void (*visit)(void *ctx, struct bytes name), void *ctx);
/* The oldest of them, borrowed until it is unsubscribed; false: none. */
bool session_first_subscription(const struct session *session, enum pubsub_kind kind,
                                struct bytes *name);
unsigned session_subscription_count(const struct session *session, enum pubsub_kind kind);

#endif
