/* access: when, or how often, a key was used. Eviction (LRU, LFU) and OBJECT IDLETIME and FREQ read
 * this. Both forms fit into the 32 bits of entry->accessed:
 *
 *     by default (LRU)              32 bits   unix seconds of the last use
 *     store->counts_access (LFU)    24 bits   unix minutes of the last use
 *                                    8 bits   a logarithmic counter, the lowest bits
 *
 * The counter decays by one per access_decay_minutes, or never if that is 0 (Morris, "Counting
 * large numbers of events in small registers", 1978; parameters as in Redis' LFU). */
#pragma once

#include "store/store.h"

/* Initializes entry->accessed of a new entry: last used now; an LFU counter begins at 5. */
void access_begin(const struct store *store, struct entry *entry, msec now);
/* Notes a use now. An LFU counter rises by one, with a probability that falls as it grows. */
void access_note(struct store *store, struct entry *entry, msec now);
/* Sets what the store keeps, the idle time in seconds or the counter (0 to 255), for RESTORE and
 * imports; ignores the other one. -1 means unknown, and leaves the field unchanged. */
void access_set(const struct store *store, struct entry *entry, msec now, int64_t idle_seconds,
                int frequency);

/* Returns the seconds since the last use; only if accesses are not counted (LRU). */
int64_t access_idle_seconds(const struct entry *entry, msec now);
/* Returns the counter after decay, 0 to 255; only if accesses are counted (LFU). */
unsigned access_frequency(const struct store *store, const struct entry *entry, msec now);
