/* key_scan: visits all keys of a keyspace in steps, between which time may pass and data may
 * change. The order is that of SCAN, and not that of an agenda's slots: a removal moves later slots
 * forward, past the scan, which would miss their keys.
 *
 * A key that exists all the time is visited once, or twice if the table of keys shrinks meanwhile.
 * A visitor may defer a key with a large value: this key is visited again in steps of its own. */
#pragma once

#include "store/keyspace.h"
#include "store/mem/blob.h"

/* Visitors must not change data. */
struct key_visitor {
    /* Returns the number of steps taken, at least 1. */
    size_t (*visit)(void *ctx, const struct entry *entry);
    /* Continues with a deferred key for about `budget` steps, and adds the steps taken to *steps.
     * `entry` is NULL if the key no longer exists. Returns true when done. */
    bool (*go_on)(void *ctx, const struct entry *entry, size_t budget, size_t *steps);
};

enum { KEY_SCAN_BATCH = 32 }; /* entries to prefetch together */

struct key_scan {
    const struct keyspace *ks;
    const struct key_visitor *visitor;
    void *ctx;
    uint64_t cursor;
    bool scanned; /* the scan of the table has ended; deferred keys may remain */
    struct entry *batch[KEY_SCAN_BATCH];
    size_t batch_count;
    /* The keys of deferred entries, owned; the visitor is working on the last one. Each step finds
     * this key by name again, because it may no longer exist. */
    struct blob **deferred;
    size_t deferred_count, deferred_cap;
};

void key_scan_begin(struct key_scan *scan, const struct keyspace *ks,
                    const struct key_visitor *visitor, void *ctx);
void key_scan_end(struct key_scan *scan); /* frees its memory; key_scan_run then begins anew */
/* Called by a visitor: visits the entry's key again later, in steps of its own (go_on). */
void key_scan_defer(struct key_scan *scan, const struct entry *entry);
/* Takes about *budget steps, and subtracts the steps taken from *budget. Returns true when all keys
 * have been visited. */
bool key_scan_run(struct key_scan *scan, size_t *budget);
