/* slot: the slots of a Redis Cluster: which one a key belongs to, and whether a call's keys belong
 * to one. Depends on command rows. */
#ifndef SERVER_CMD_CALL_SLOT_H
#define SERVER_CMD_CALL_SLOT_H

#include <stdbool.h>

#include "server/cmd/call/call.h"

enum { SLOTS = 16384, SLOT_NONE = -1 };

/* By the part between the first "{" and the next "}", if there is something between them, else by
 * the whole key. O(length) */
int slot_of(struct bytes key);

/* Do all keys of the call belong to one slot, and to *slot unless that is SLOT_NONE? Sets *slot. */
bool slot_is_one(const struct call *call, int *slot);

#endif
