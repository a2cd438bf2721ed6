/* notify: keyspace notifications: events become messages on channels, of keys (K, E) and of their
 * members, Redis' subkeys (S, T, I, V):
 *     K  __keyspace@<db>__:<key>                     <event>
 *     E  __keyevent@<db>__:<event>                   <key>
 *     S  __subkeyspace@<db>__:<key>                  <event>|<subkeys>
 *     T  __subkeyevent@<db>__:<event>                <key length>:<key>|<subkeys>
 *     I  __subkeyspaceitem@<db>__:<key>\n<subkey>    <event>; nothing for a key with a "\n" in it
 *     V  __subkeyspaceevent@<db>__:<event>|<key>     <subkeys>
 * where <subkeys> is <length>:<subkey>[,<length>:<subkey>...].
 *
 * Messages wait until the call is over or the transaction has committed. The members that one call
 * gave one event to are told together, in their order, behind the event's K and E; S, T and V go on
 * in a further message when one has 1000 of them, or 64 KiB. */
#ifndef SERVER_REACT_NOTIFY_H
#define SERVER_REACT_NOTIFY_H

#include "server/react/pubsub.h"
#include "store/effect.h"

struct notify;

struct notify *notify_new(struct pubsub *pubsub);
void notify_free(struct notify *notify);

/* Letters as in notify-keyspace-events; the option's own check has seen to it that they are known.
 */
void notify_set_flags(struct notify *notify, const char *text);

/* What the store has to tell: LISTEN_EVENTS, LISTEN_MEMBERS (never while nobody subscribes to
 * anything), both or 0. */
unsigned notify_wants(const struct notify *notify);
/* Queues what is wanted of an effect with an event. O(1) */
void notify_effect(struct notify *notify, const struct effect *effect);
void notify_flush(struct notify *notify); /* publishes the queue */

#endif
