/* notify: keyspace notifications: events become messages on __keyspace@db__ and __keyevent@db__.
 * Messages wait until the transaction has committed. */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "server/pubsub.h"
#include "store/effect.h"

struct notify;

struct notify *notify_new(struct pubsub *pubsub);
void notify_free(struct notify *notify);

/* Letters as in notify-keyspace-events; the option's own check has seen to it that they are known.
 */
void notify_set_flags(struct notify *notify, const char *text);

bool notify_active(const struct notify *notify);
void notify_effect(struct notify *notify, const struct effect *effect); /* queues */
void notify_flush(struct notify *notify);                               /* publishes the queue */

#endif
