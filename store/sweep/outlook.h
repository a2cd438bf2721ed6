/* outlook: what is going to fall due, seen from an instant: the next deadlines of a keyspace in
 * order, and how many of its keys and members have theirs within how long.
 * Knows keyspaces and deadlines; refuses to know clocks and commands. */
#ifndef STORE_SWEEP_OUTLOOK_H
#define STORE_SWEEP_OUTLOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/keyspace.h"
#include "store/txn/txn.h"

/* ---- the next ones --------------------------------------------------------------------------- */

enum due_what { DUE_KEY, DUE_MEMBER, DUE_FIELD, DUE_ELEMENT };

/* The next thing that happens to a key by itself: its own end, or that of something inside. */
struct due {
    struct bytes key; /* borrowed, until the key changes */
    msec at;          /* the deadline */
    enum due_what what;
};

/* What is overdue in the call's database leaves, about `budget` keys and members of it. True:
 * nothing is overdue any more. False as well where nothing may go (txn->no_expiry). */
bool outlook_settle(struct txn *txn, size_t budget);
/* Fills in up to `count` keys, one for each key, in the order in which they fall due after now, and
 * returns how many. Keys of which anything is overdue are left out: settle first.
 * O((overdue + count) log count) */
size_t outlook_next(const struct keyspace *ks, msec now, struct due *due, size_t count);

/* ---- what is late ---------------------------------------------------------------------------- */

struct overdue {
    size_t keys;    /* dead, and still there */
    size_t members; /* the same, of keys that live */
};
/* Adds the keyspace's to *overdue; stops when both together are `most`. O(found) */
void outlook_overdue(const struct keyspace *ks, msec now, size_t most, struct overdue *overdue);

/* ---- the forecast -----------------------------------------------------------------------------
 *
 * Counts all keys, and all members of sets, hashes and sorted sets, by the time that is left until
 * their own deadlines, in as many steps as the caller likes. Time may pass and data may change
 * between them: what stays is counted once, and what is added, removed or changed may be counted as
 * before or as after (a key twice, if the table of keys shrinks at the time). */

/* Each with what is due up to its end and behind the end of the one before. */
enum outlook_band {
    DUE_IN_1S,
    DUE_IN_10S,
    DUE_IN_1M,
    DUE_IN_10M,
    DUE_IN_1H,
    DUE_IN_1D,
    DUE_LATER,
    DUE_NEVER,
    OUTLOOK_BANDS
};
const char *outlook_band_name(enum outlook_band band); /* "1s" ... "later", "never" */

struct outlook_count {
    uint64_t keys, members;
};

struct outlook;

struct outlook *outlook_new(const struct keyspace *ks, msec now);
void outlook_free(struct outlook *outlook);
/* Looks at about `budget` keys and members more; true: at all. */
bool outlook_run(struct outlook *outlook, size_t budget);
/* When all are counted: how it stands now. What has died since it was counted is left out, and the
 * bands end so much later: exactly so for an instant that is at most 1/32 of the time since
 * outlook_new ago (none, if that was less than 64 ms ago). */
void outlook_counts(const struct outlook *outlook, msec now,
                    struct outlook_count counts[OUTLOOK_BANDS]);

#endif
