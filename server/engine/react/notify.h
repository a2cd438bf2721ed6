/* notify: keyspace notifications. Publishes events about keys (K, E) and about members, which Redis
 * calls subkeys (S, T, I, V):
 *
 *        channel                                      message
 *     K  __keyspace@<db>__:<key>                      <event>
 *     E  __keyevent@<db>__:<event>                    <key>
 *     S  __subkeyspace@<db>__:<key>                   <event>|<subkeys>
 *     T  __subkeyevent@<db>__:<event>                 <key length>:<key>|<subkeys>
 *     I  __subkeyspaceitem@<db>__:<key>\n<subkey>     <event>; not for a key that contains "\n"
 *     V  __subkeyspaceevent@<db>__:<event>|<key>      <subkeys>
 *
 * <subkeys> is <length>:<subkey>[,<length>:<subkey>...].
 *
 * The messages of a call are published when the transaction commits, or when its next call begins.
 * Members with the same event in one call are published together, in order, after the event's K and
 * E. After 1000 members or 64 KiB, S, T and V continue in another message. */
#pragma once

#include "server/engine/react/pubsub.h"
#include "store/effect.h"

struct notify;

struct notify *notify_new(struct pubsub *pubsub);
void notify_free(struct notify *notify);

/* Sets the classes of events by their letters in notify-keyspace-events. All letters must be valid;
 * the check of the option rejects others. */
void notify_set_flags(struct notify *notify, const char *text);

/* Returns which events the store must report now: LISTEN_EVENTS, LISTEN_MEMBERS (only while there
 * are subscribers), both, or 0. */
unsigned notify_wants(const struct notify *notify);
/* Queues the messages for an effect with an event, if the event's class is set and there are
 * subscribers. Amortized O(1) */
void notify_effect(struct notify *notify, const struct effect *effect);
void notify_flush(struct notify *notify); /* publishes the queue */
