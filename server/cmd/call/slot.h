/* slot: the slots of Redis Cluster: computes the slot of a key, and checks that all keys of a call
 * share one. Depends on command rows. */
#ifndef SERVER_CMD_CALL_SLOT_H
#define SERVER_CMD_CALL_SLOT_H

#include <stdbool.h>

#include "server/cmd/call/call.h"

enum { SLOTS = 16384, SLOT_NONE = -1 };

/* Hashes the part between the first "{" and the next "}" if it is not empty, otherwise the whole
 * key. O(length) */
int slot_of(struct bytes key);

/* Are all keys of the call in one slot, namely *slot unless that is SLOT_NONE? If so, *slot becomes
 * this slot, or stays if the call has no keys. A prefix of keys must have a tag in braces. */
bool slot_is_one(const struct call *call, int *slot);

#endif
