/* pubsub: channels, patterns, shard channels and their subscribers. Depends on sessions, because
 * messages are appended to their output; knows no commands, keys or sockets. */
#pragma once

#include "server/cmd/call/session.h"
#include "store/base/bytes.h"

struct pubsub;

/* Shard channels form a name space of their own; patterns do not match them. */
enum pubsub_kind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_SHARD, PUBSUB_KINDS };

struct pubsub *pubsub_new(void);
void pubsub_free(struct pubsub *pubsub); /* no session may be subscribed */

bool pubsub_subscribe(struct pubsub *pubsub, struct session *session, enum pubsub_kind kind,
                      struct bytes name); /* false if it is subscribed already */
bool pubsub_unsubscribe(struct pubsub *pubsub, struct session *session, enum pubsub_kind kind,
                        struct bytes name); /* false if it was not subscribed */
/* Removes all subscriptions of the session, of all kinds, when its connection ends or for RESET.
 * Sends nothing. */
void pubsub_forget(struct pubsub *pubsub, struct session *session);

/* Appends the message to the output of each subscriber and wakes the subscribers: first those of
 * the channel, then those of matching patterns, oldest pattern first. Returns the number of
 * messages sent: a session with several matching subscriptions receives as many. */
size_t pubsub_publish(struct pubsub *pubsub, struct bytes channel, struct bytes message);
/* Publishes on a shard channel, whose messages only its own subscribers receive. */
size_t pubsub_publish_shard(struct pubsub *pubsub, struct bytes channel, struct bytes message);

/* Returns the number of sessions subscribed to this name, for NUMSUB and SHARDNUMSUB. */
size_t pubsub_listeners(const struct pubsub *pubsub, enum pubsub_kind kind, struct bytes name);
/* Returns the number of distinct names of this kind that have subscribers. */
size_t pubsub_count(const struct pubsub *pubsub, enum pubsub_kind kind);
size_t pubsub_sessions(const struct pubsub *pubsub); /* that have subscriptions */
/* Visits each name of the kind that has subscribers. */
void pubsub_each(const struct pubsub *pubsub, enum pubsub_kind kind,
                 void (*visit)(void *ctx, struct bytes name), void *ctx);
void session_each_subscription(const struct session *session, enum pubsub_kind kind,
                               void (*visit)(void *ctx, struct bytes name), void *ctx);
/* Finds the session's oldest subscription of this kind. Its name is borrowed until it is
 * unsubscribed. Returns false if there is none. */
bool session_first_subscription(const struct session *session, enum pubsub_kind kind,
                                struct bytes *name);
/* Returns the memory of the session's subscriptions of all kinds. A name that several sessions
 * share counts for each of them. O(1) */
size_t session_subscription_bytes(const struct session *session);
unsigned session_subscription_count(const struct session *session, enum pubsub_kind kind);
