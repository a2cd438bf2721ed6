/* slot: the slots of Redis Cluster. Computes the slot of a key, and checks that all keys of a call,
 * which its command row locates, share one slot. */
#pragma once

#include "server/cmd/call/call.h"

enum { SLOTS = 16384, SLOT_NONE = -1 };

/* Hashes the part between the first "{" and the next "}" after it; if there is no such part or it
 * is empty, the whole key. O(length) */
int slot_of(struct bytes key);

/* Are all keys of the call in one slot, which must be *slot unless that is SLOT_NONE? If so, stores
 * the slot in *slot, which stays unchanged if the call has no keys; otherwise *slot is undefined. A
 * prefix of keys must contain a tag in braces, because without it the keys are in many slots. */
bool slot_is_one(const struct call *call, int *slot);
