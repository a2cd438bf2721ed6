/* outlook: coming deadlines: the next ones of a keyspace in order (EXPIRY NEXT), and a forecast
 * that counts keys, members and elements by the time left (EXPIRY FORECAST, metrics). */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/keyspace.h"
#include "store/txn/txn.h"

/* ---- the next deadlines ---------------------------------------------------------------------- */

/* The next deadline of a key: its own, or that of a member, field, element, holder or entry. */
struct due {
    struct bytes key; /* borrowed; valid until the key changes */
    msec at;          /* the deadline */
    const char *what; /* "key", or the type's word for its parts: "member", "field" ... */
};

/* Removes about `budget` overdue keys and members of the transaction's database. Returns true once
 * nothing is overdue. If txn->no_expiry is set, removes nothing: hides all overdue keys instead,
 * and returns false if there are any. */
bool outlook_remove_overdue(struct txn *txn, size_t budget);
/* Lists the next deadlines after now in order, at most `count`, and only the first of each key.
 * Returns how many. A key in which anything is overdue is missing, even if it has later deadlines:
 * call outlook_remove_overdue first, and if that returns false, use upcoming.h instead. O((overdue
 * keys that are not hidden + count) log count) */
size_t outlook_next(const struct keyspace *ks, msec now, struct due *due, size_t count);

/* ---- overdue --------------------------------------------------------------------------------- */

struct overdue {
    size_t keys;    /* whose own deadline has passed */
    size_t members; /* members and entries of other keys that have expired */
};
/* Adds to *overdue what has expired in the keyspace but is not yet removed; stops when the sum
 * reaches `most`. O(found + keys that are due) */
void outlook_overdue(const struct keyspace *ks, msec now, size_t most, struct overdue *overdue);

/* ---- the forecast -----------------------------------------------------------------------------
 *
 * Counts by the time left until their deadlines: all keys, all members of sets, hashes, sorted sets
 * and leases, all entries of streams, and all elements of dehydrators that are not due yet.
 * Counting takes steps, between which time may pass and data may change:
 *
 * - What does not change is counted once. There are two exceptions: a key may be counted twice if
 *   the table of keys shrinks meanwhile, and a member of a large collection may be missed or
 *   counted twice if deadlines of other members of it change meanwhile.
 * - What is added, removed or changed is counted as it was either before or after the change. An
 *   element that moves to another instant may be counted at both or at neither. */

/* A band counts deadlines up to its end and after the end of the band before. */
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

enum outlook_kind {
    OUTLOOK_KEYS,
    OUTLOOK_MEMBERS,  /* members, fields, holders, and entries of streams */
    OUTLOOK_ELEMENTS, /* elements of dehydrators; a claimed one counts by its lease */
    OUTLOOK_KINDS
};
const char *outlook_kind_name(enum outlook_kind kind); /* "keys", "members", "elements" */

struct outlook_count {
    uint64_t of[OUTLOOK_KINDS];
};

static inline bool outlook_count_any(const struct outlook_count *count)
{
    return count->of[OUTLOOK_KEYS] != 0 || count->of[OUTLOOK_MEMBERS] != 0 ||
           count->of[OUTLOOK_ELEMENTS] != 0;
}

struct outlook;

struct outlook *outlook_new(const struct keyspace *ks, msec now);
/* Calls a visitor for each key, expired or not, when its turn to be counted comes. The visitor must
 * not change data. Call this function before the first step. */
void outlook_watch(struct outlook *outlook, void (*visit)(void *ctx, const struct entry *entry),
                   void *ctx);
void outlook_free(struct outlook *outlook);
/* Counts about `budget` more keys, members, and instants at which elements are due. Returns true
 * when all are counted. */
bool outlook_run(struct outlook *outlook, size_t budget);
/* Writes the result as of now, once everything is counted. Leaves out keys and members that have
 * expired, and elements that have become due, since they were counted, and shifts the bands to now.
 * The shift may be too small by up to 1/32 of the time since outlook_new; it is exact in the first
 * 64 ms. */
void outlook_counts(const struct outlook *outlook, msec now,
                    struct outlook_count counts[OUTLOOK_BANDS]);

/* The coming hour in spans of ten seconds, from `begin`: deadlines as they were when counted. */
enum { OUTLOOK_SPANS = 361, OUTLOOK_SPAN = 10 * 1000 };
struct outlook_hour {
    msec begin; /* the multiple of the span at or before outlook_new */
    struct outlook_count spans[OUTLOOK_SPANS];
};
const struct outlook_hour *outlook_hour(const struct outlook *outlook); /* borrowed */
