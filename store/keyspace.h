/* keyspace: the keys of one database with their values (type/object.h) and deadlines.
 *
 * These functions record no effects. Only code in store/ may therefore change a keyspace: the
 * mutators in txn/, the background work in sweep/, and guest.c, reclaim.c, refreshers.c, rewind.c
 * and store.c. server/ reads sizes, due times and cache hints from it.
 *
 * A key may have a deadline of its own, and deadlines inside its value. Such a key owns exactly one
 * agenda node, armed at the earliest of these deadlines. The kind of the key (enum key_kind)
 * decides which agenda contains the node, so that volatile keys can be found without visiting keys
 * that only have deadlines inside. If the key's type can't have deadlines inside, its own deadline
 * is stored in the agenda only.
 *
 * A replica, and a master during CLIENT PAUSE, must not remove expired data, so overdue keys may
 * become many. keyspace_hide moves the nodes of overdue keys to further agendas, once for each key,
 * so that counts and the next deadlines need not visit these keys again. The node of a hidden key
 * is armed at the instant at which the whole key has expired: by its own deadline, or by that of
 * its last member. Each change of a hidden key moves its node back (keyspace_changed,
 * keyspace_rearm ...). keyspace_reveal moves all nodes back, so that expiry finds the keys in
 * order. Counts are exact whether overdue keys are hidden or not. */
#pragma once

#include <string.h>

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/struct/agenda.h"
#include "store/struct/dict.h"
#include "store/type/object.h"

/* A key and its value in one allocation, aligned to 4 bytes; the value may own further memory. */
struct entry {
    struct object object;     /* its type changes only through keyspace_replace */
    uint32_t accessed;        /* see access.h */
    struct deadline deadline; /* armed if and only if the key is volatile or object.has_expiry */
    /* The rest of the entry:
     *
     *     4    the length of the key, only if object.key_len is ENTRY_LONG
     *     n    the key
     *     8    the key's own deadline, not aligned, only if type_may_have_expiry */
    char tail[];
};

enum { ENTRY_LONG = UINT8_MAX };

static inline struct bytes entry_key(const struct entry *entry)
{
    uint32_t len = entry->object.key_len;
    if (__builtin_expect(len != ENTRY_LONG, true)) return bytes_of(entry->tail, len);
    memcpy(&len, entry->tail, sizeof(len));
    return bytes_of(entry->tail + sizeof(len), len);
}
size_t entry_bytes(const struct entry *entry); /* memory of key and value, in bytes */

/* The deadline for which an entry's agenda node is armed. */
enum key_kind {
    /* Not hidden: the next deadline. */
    KEY_OWN_FIRST,   /* the key's own deadline; none inside the value is earlier */
    KEY_INNER_FIRST, /* a deadline inside the value; the key's own is later */
    KEY_INNER_ONLY,  /* a deadline inside the value, but the key has no deadline itself */
    KEY_SHOWN_KINDS,
    /* Hidden: armed at the instant at which the whole key has expired, or NEVER. */
    KEY_PARTLY = KEY_SHOWN_KINDS, /* overdue inside; the key's own deadline is later */
    KEY_PARTLY_INNER,             /* overdue inside; the key has no deadline of its own */
    KEY_GONE,                     /* expired; has a deadline of its own */
    KEY_GONE_INNER,               /* all members have expired; no deadline of its own */
    KEY_KINDS
};

struct keyspace {
    struct dict dict;
    struct agenda agendas[KEY_KINDS];
    struct due_at next_due; /* cached: the earlier of hidden_since and the other keys' first */
    /* No hidden key was due before this instant; DUE_AT_NEVER while none is hidden. */
    struct due_at hidden_since;
    msec hidden_until; /* each hidden key was due by then, and those in KEY_GONE... had expired */
    uint32_t hidden;   /* keys */
    unsigned db;
    struct hash *refreshers; /* keys whose values a client makes now; or NULL (refreshers.h) */
    struct drained *drained; /* counts of dehydrators that became empty; or NULL (drained.h) */
};

void keyspace_init(struct keyspace *ks, unsigned db);
void keyspace_drop(struct keyspace *ks); /* frees all entries and tables at once. O(n) */

/* Returns the entry, or NULL. It may have expired. O(1) */
struct entry *keyspace_find(const struct keyspace *ks, struct bytes key);
/* As keyspace_find, given the key's hash from siphash(). */
struct entry *keyspace_find_hashed(const struct keyspace *ks, struct bytes key, uint64_t hash);
/* Prefetch in steps for a later find, as dict_hint_... do: first the bucket, then the entry, then
 * the entry's value. Each step needs what the one before has loaded. The keyspace must not be
 * empty. */
uint64_t keyspace_hint_bucket(const struct keyspace *ks, struct bytes key);
void keyspace_hint_hashed(const struct keyspace *ks, uint64_t hash);
const struct entry *keyspace_hint_entry(const struct keyspace *ks, uint64_t hash);
const struct entry *keyspace_hint_overflow(const struct keyspace *ks, uint64_t hash);
void keyspace_hint_value(const struct entry *entry);
/* Prefetches what a change of the key's own deadline reads. */
void keyspace_hint_deadline(const struct keyspace *ks, const struct entry *entry);
/* Adds an absent key and takes ownership of the object. O(log n) */
struct entry *keyspace_add(struct keyspace *ks, struct bytes key, struct object object);
/* Removes and frees the entry; the caller owns the returned object. O(log n) */
struct object keyspace_remove(struct keyspace *ks, struct entry *entry);
/* Replaces the entry's object with `object` and takes ownership of it; the caller frees the old
 * one. The key's own deadline stays. Returns the entry's address, which is a new one if only one of
 * the two types may have deadlines inside. O(log n) */
struct entry *keyspace_replace(struct keyspace *ks, struct entry *entry, struct object object);
/* Returns the key's own deadline, or NEVER. O(1) */
msec entry_expires_at(const struct keyspace *ks, const struct entry *entry);
/* Sets the key's own deadline; NEVER makes the key persistent. O(log n) */
void keyspace_set_deadline(struct keyspace *ks, struct entry *entry, msec at);
/* Updates object.has_expiry and the agenda node from the value. Without it expiry does not learn of
 * a changed deadline inside. O(1) if the next due time stays the same, otherwise O(log n) */
void keyspace_rearm(struct keyspace *ks, struct entry *entry);
/* Moves the node of a hidden key back, because the number of members decides with the deadlines
 * when the whole key has expired. Needed after each change of a value that keyspace_rearm does not
 * follow. O(1) while no key is hidden, otherwise O(log n) */
void keyspace_changed(struct keyspace *ks, struct bytes key);
/* Returns the entry that is due first, by its own deadline or one inside its value; NULL if none is
 * due by now. No key may be hidden: call keyspace_reveal before. */
struct entry *keyspace_first_due(const struct keyspace *ks, msec now);
/* Returns an instant before which nothing is due. If no key is hidden, it is the first instant at
 * which something is. O(1) */
static inline struct due_at keyspace_next_due(const struct keyspace *ks)
{
    return ks->next_due;
}
/* Has the key expired by now, through its own deadline or those of all its members? */
bool entry_expired(const struct keyspace *ks, const struct entry *entry, msec now);

/* Returns the delivery counts of an empty dehydrator, borrowed; {0} if there are none. They were
 * kept when the key was removed (drained.h), or belong to a key that has nothing left to keep but
 * has not been removed yet. O(1) */
struct delivery_tally keyspace_drained(const struct keyspace *ks, struct bytes key, msec now);

/* Hides keys that are due by now. Moves at most `most` nodes and returns how many; fewer than
 * `most` means that all are hidden. If the clock was set back, reveals all keys first. O(log n) for
 * each node; a key's node moves at most twice if the key does not change. */
size_t keyspace_hide(struct keyspace *ks, msec now, size_t most);
/* Moves at most `most` nodes of hidden keys back; returns how many. O(log n) for each node */
size_t keyspace_reveal(struct keyspace *ks, size_t most);
/* Counts the nodes that keyspace_hide would move, and that the counts below must visit; stops at
 * `most`. O(found) */
size_t keyspace_count_to_hide(const struct keyspace *ks, msec now, size_t most);
/* Returns the first instant at which keyspace_hide has work, unless the clock is set back. O(1) */
struct due_at keyspace_next_to_hide(const struct keyspace *ks);

/* Returns the number of keys due by now, by any deadline; stops counting at `most`. O(found), but
 * if the clock was set back also O(hidden keys) */
size_t keyspace_count_due(const struct keyspace *ks, msec now, size_t most);
/* Count the keys that have not expired; _volatile_alive counts only keys with a deadline of their
 * own. O(1 + due keys that are not hidden) */
size_t keyspace_count_alive(const struct keyspace *ks, msec now);
size_t keyspace_count_volatile_alive(const struct keyspace *ks, msec now);
/* Returns the number of keys with a deadline of their own, including expired ones. O(1) */
static inline size_t keyspace_count_volatile(const struct keyspace *ks)
{
    return (size_t)agenda_count(&ks->agendas[KEY_OWN_FIRST]) +
           agenda_count(&ks->agendas[KEY_INNER_FIRST]) + agenda_count(&ks->agendas[KEY_PARTLY]) +
           agenda_count(&ks->agendas[KEY_GONE]);
}
/* Returns the number of keys with a deadline, of their own or inside, including expired keys.
 * O(1) */
static inline size_t keyspace_count_expiring(const struct keyspace *ks)
{
    return keyspace_count_volatile(ks) + agenda_count(&ks->agendas[KEY_INNER_ONLY]) +
           agenda_count(&ks->agendas[KEY_PARTLY_INNER]) +
           agenda_count(&ks->agendas[KEY_GONE_INNER]);
}
/* Counts the keys, expired or not. O(1) */
static inline size_t keyspace_count(const struct keyspace *ks)
{
    return dict_count(&ks->dict);
}
/* Is there nothing for a flush to remove: no keys, and nothing kept for missing ones? O(1) */
static inline bool keyspace_is_blank(const struct keyspace *ks)
{
    return keyspace_count(ks) == 0 && ks->refreshers == NULL && ks->drained == NULL;
}
/* Returns the memory of the table and of the agendas, without keys and values. */
size_t keyspace_table_bytes(const struct keyspace *ks);
size_t keyspace_agenda_bytes(const struct keyspace *ks);
/* Returns a uniformly random entry, or NULL if there is none; see dict_random. Expected O(1) */
struct entry *keyspace_random(const struct keyspace *ks, uint64_t (*next)(void *ctx), void *ctx);
/* Returns a nearly uniformly random entry that has not expired, or NULL if there is none. Unlike
 * keyspace_random it stays fast in a database in which most keys have expired. O(1) if no key is
 * alive, or only keys with deadlines are; otherwise O(expired keys / other keys). Visits each
 * overdue key that is not hidden, so call keyspace_hide first. */
struct entry *keyspace_random_alive(const struct keyspace *ks, msec now,
                                    uint64_t (*next)(void *ctx), void *ctx);
/* Returns the entry with the earliest deadline of its own, or NULL. Approximate: considers only
 * some of the keys that are hidden, and of those with an earlier deadline inside only the 64 that
 * are due first. O(1) */
struct entry *keyspace_first_volatile(const struct keyspace *ks);
/* Returns a random entry with a deadline of its own, or NULL. O(1) */
struct entry *keyspace_random_volatile(const struct keyspace *ks, uint64_t (*next)(void *ctx),
                                       void *ctx);
/* Visits the entries due by `until`, in no particular order. The visitor returns false to stop.
 * O(visited + hidden keys) */
void keyspace_each_until(const struct keyspace *ks, msec until,
                         bool (*visit)(void *ctx, const struct entry *entry, struct due_at due),
                         void *ctx);
/* Count and visit, in no particular order, the keys that are due by now but may not have expired as
 * a whole, hidden or not. The count stops at `most`. If the clock was set back since keys were
 * hidden, it is `most`, because more keys may be alive. O(visited) */
size_t keyspace_count_partly(const struct keyspace *ks, msec now, size_t most);
void keyspace_each_partly(const struct keyspace *ks, msec now,
                          bool (*visit)(void *ctx, const struct entry *entry, struct due_at due),
                          void *ctx);
/* Visits all entries, in no particular order. The visitor returns false to stop. The keyspace must
 * not change meanwhile. */
void keyspace_each(const struct keyspace *ks,
                   bool (*visit)(void *ctx, const struct keyspace *ks, const struct entry *entry),
                   void *ctx);
/* Walks the entries that are not hidden, in the order in which they are due. The keyspace must not
 * change meanwhile. Step k costs O(log k). */
struct keyspace_walk {
    struct agenda_walk walks[KEY_SHOWN_KINDS];
    struct deadline *next[KEY_SHOWN_KINDS]; /* the next node of each agenda, or NULL */
    struct due_at due[KEY_SHOWN_KINDS];
};
void keyspace_walk_begin(struct keyspace_walk *walk, const struct keyspace *ks);
/* Returns the next entry and the instant at which it is due, or NULL at the end. */
const struct entry *keyspace_walk_next(struct keyspace_walk *walk, struct due_at *due);
void keyspace_walk_end(struct keyspace_walk *walk);
/* Visits some entries, expired ones too, and returns the cursor to continue from (as dict_scan). */
uint64_t keyspace_scan(const struct keyspace *ks, uint64_t cursor,
                       void (*visit)(void *ctx, struct entry *entry), void *ctx);
/* As keyspace_scan, for defragmentation: relocates the blocks of the table, and each entry before
 * it is visited. The visitor relocates the value. */
uint64_t keyspace_relocate(struct keyspace *ks, uint64_t cursor, struct relocation *relocation,
                           void (*visit)(void *ctx, struct entry *entry), void *ctx);
void keyspace_check(const struct keyspace *ks);
