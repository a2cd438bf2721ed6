/* access: how recently, or how often, an entry was used, in its 32 bits.
 * Knows entries and now; refuses to know who used it.
 *
 * By default unix seconds. Where a store counts accesses: 24 bits of minutes and an 8-bit
 * logarithmic counter that decays by one a minute (Morris 1978; the parameters are those of Redis'
 * LFU). */
#ifndef STORE_ACCESS_H
#define STORE_ACCESS_H

#include <stdint.h>

#include "store/store.h"

/* A new entry counts as used now. */
void access_begin(const struct store *store, struct entry *entry, msec now);
void access_note(struct store *store, struct entry *entry, msec now);
/* As it was elsewhere: not used for so many seconds, or so often (0 to 255), whichever the store
 * keeps. -1: unknown, and nothing changes. */
void access_set(const struct store *store, struct entry *entry, msec now, int64_t idle_seconds,
                int frequency);

int64_t access_idle_seconds(const struct entry *entry,
                            msec now);                          /* where accesses are not counted */
unsigned access_frequency(const struct entry *entry, msec now); /* 0 to 255, where they are */

#endif
