/* drained: keeps the counts of dehydrators that have become empty. The key of an empty dehydrator
 * is dropped, so a queue whose workers keep up would hardly ever show what it has done. Its counts
 * are therefore kept for a day; if the key is created again, the new dehydrator continues them.
 *
 * Like delivery_counts, these are statistics of this server, so the table may be limited: when it
 * is full, the counts of the dehydrator that became empty first are dropped. Counts older than a
 * day are removed when new ones are added. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/type/delivery_counts.h"

enum {
    DRAINED_MOST = 1000,
    DRAINED_NAME_MAX = 1024, /* bytes of a key whose counts are kept */
};
#define DRAINED_SPAN ((msec)24 * 60 * 60 * 1000)

struct drained; /* the kept counts, by key */

struct drained *drained_new(void);
void drained_free(struct drained *drained); /* NULL is ignored. O(DRAINED_MOST) */

/* Takes ownership of the counts; frees them if the key is too long. The table must not contain this
 * key. O(1), plus O(1) for each entry that is older than a day */
void drained_keep(struct drained *drained, struct bytes key, struct delivery_tally tally, msec now);
/* Removes the counts of the key and returns them to the caller, who owns them; {0} if there are
 * none or they are older than a day. O(1) */
struct delivery_tally drained_take(struct drained *drained, struct bytes key, msec now);
/* As drained_take, but the counts stay in the table, borrowed until its next change. */
struct delivery_tally drained_find(const struct drained *drained, struct bytes key, msec now);
/* Visits some of the counts that are not older than a day, and returns the cursor to continue from
 * (as dict_scan). */
uint64_t drained_scan(const struct drained *drained, uint64_t cursor, msec now,
                      void (*visit)(void *ctx, struct bytes key,
                                    const struct delivery_tally *tally),
                      void *ctx);
void drained_check(const struct drained *drained);
