/* keyspace: the keys of one database, their values and their deadlines.
 * Knows entries; refuses to know effects, events and types' insides. Only
 * store/txn/, store/sweep/defrag.c, store.c, reclaim.c and rewind.c change one; everyone else only
 * reads.
 *
 * Each key that has a deadline of its own or inside its value has exactly one node, armed at the
 * earlier of the two, in the agenda of its kind (enum key_kind). So the volatile keys are those of
 * two agendas, however many others have deadlines inside. A key that can have none inside keeps its
 * deadline nowhere else. */
#ifndef STORE_KEYSPACE_H
#define STORE_KEYSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/struct/agenda.h"
#include "store/base/bytes.h"
#include "store/struct/dict.h"
#include "store/base/instant.h"
#include "store/type/object.h"
#include "store/mem/relocate.h"

/* A key and its value, one allocation but for what the value has of its own. */
struct entry {
    struct object object; /* of another type only by keyspace_replace */
    uint32_t key_len;
    uint32_t accessed;        /* see access.h */
    struct deadline deadline; /* armed exactly when volatile or object.timed */
    /* Behind it, of types that may be timed: the key's own deadline, 8 bytes, not aligned. */
    char key[];
};

static inline struct bytes entry_key(const struct entry *entry)
{
    return (struct bytes){ entry->key, entry->key_len };
}
size_t entry_bytes(const struct entry *entry); /* memory of key and value */

/* What its node in an agenda stands for. */
enum key_kind {
    KEY_ENDS,    /* its own deadline: nothing inside comes before it */
    KEY_CHANGES, /* a deadline inside; its own is later */
    KEY_LASTS,   /* a deadline inside; it has none of its own */
    KEY_KINDS
};

struct keyspace {
    struct dict dict;
    struct agenda agendas[KEY_KINDS];
    struct due_at next_due; /* the earliest of all three, close at hand */
    unsigned db;
};

void keyspace_init(struct keyspace *ks, unsigned db);
void keyspace_drop(struct keyspace *ks); /* frees everything at once: for the end of a store */

struct entry *keyspace_find(const struct keyspace *ks, struct bytes key); /* unsettled. O(1) */
/* For looking ahead, as dict_hint_...: the bucket, then the entry, then its value. */
uint64_t keyspace_hint_bucket(const struct keyspace *ks, struct bytes key);
const struct entry *keyspace_hint_entry(const struct keyspace *ks, uint64_t hash);
const struct entry *keyspace_hint_overflow(const struct keyspace *ks, uint64_t hash);
void keyspace_hint_value(const struct entry *entry);
struct entry *keyspace_add(struct keyspace *ks, struct bytes key, struct object object);
/* Takes the entry out and frees it; its object is handed over. */
struct object keyspace_remove(struct keyspace *ks, struct entry *entry);
/* Another object (handed over) in place of the entry's, which is the caller's from now on; the
 * deadline stays. The entry moves in memory where only one of the two may be timed. O(log n) */
struct entry *keyspace_replace(struct keyspace *ks, struct entry *entry, struct object object);
/* The key's own deadline; NEVER: not volatile. O(1) */
msec entry_expires_at(const struct keyspace *ks, const struct entry *entry);
/* NEVER makes it persistent. O(log n) */
void keyspace_set_deadline(struct keyspace *ks, struct entry *entry, msec at);
/* Brings the entry's node in line with its value: after every change of a deadline inside. O(1)
 * where the next moment is the same, else O(log n) */
void keyspace_rearm(struct keyspace *ks, struct entry *entry);
/* The first whose own or inner deadline has passed by now, or NULL. */
struct entry *keyspace_first_due(const struct keyspace *ks, msec now);
/* As long as this is later than now, nothing is dead. */
static inline struct due_at keyspace_next_due(const struct keyspace *ks)
{
    return ks->next_due;
}
/* Is the key gone by now: dead itself, or every one of its members? */
bool entry_dead(const struct keyspace *ks, const struct entry *entry, msec now);

/* Keys that have something to do by now, dead or not; stops at `most`. O(found) */
size_t keyspace_count_due(const struct keyspace *ks, msec now, size_t most);
size_t keyspace_count_alive(const struct keyspace *ks, msec now);    /* O(1 + dead) */
size_t keyspace_count_volatile(const struct keyspace *ks, msec now); /* alive, with a deadline */
/* Keys with a deadline of their own, dead or alive. O(1) */
static inline size_t keyspace_volatile(const struct keyspace *ks)
{
    return (size_t)agenda_count(&ks->agendas[KEY_ENDS]) + agenda_count(&ks->agendas[KEY_CHANGES]);
}
/* Keys with a deadline of their own or inside, dead or alive. O(1) */
static inline size_t keyspace_timed(const struct keyspace *ks)
{
    return keyspace_volatile(ks) + agenda_count(&ks->agendas[KEY_LASTS]);
}
/* Keys, expired or not. O(1) */
static inline size_t keyspace_count(const struct keyspace *ks)
{
    return dict_count(&ks->dict);
}
/* Memory beside the keys and values themselves. */
size_t keyspace_table_bytes(const struct keyspace *ks);
size_t keyspace_agenda_bytes(const struct keyspace *ks);
struct entry *keyspace_random(const struct keyspace *ks, uint64_t (*next)(void *ctx), void *ctx);
/* The one whose own deadline comes first. Of the keys that have an earlier deadline inside only the
 * 64 with the earliest are considered. NULL: none is volatile. O(1) */
struct entry *keyspace_first_volatile(const struct keyspace *ks);
/* One with a deadline of its own. NULL: there is none. O(1) */
struct entry *keyspace_random_volatile(const struct keyspace *ks, uint64_t (*next)(void *ctx),
                                       void *ctx);
/* Visits those with something to do until then, in no order: O(visited). Return false to stop. */
void keyspace_each_until(const struct keyspace *ks, msec until,
                         bool (*visit)(void *ctx, const struct entry *entry, struct due_at due),
                         void *ctx);
/* Keys in the order in which they have something to do; the keyspace must not change meanwhile. The
 * k-th step costs O(log k). */
struct keyspace_walk {
    struct agenda_walk walks[KEY_KINDS];
    struct deadline *next[KEY_KINDS]; /* of each agenda, or NULL */
    struct due_at due[KEY_KINDS];
};
void keyspace_walk_begin(struct keyspace_walk *walk, const struct keyspace *ks);
/* NULL at the end. */
const struct entry *keyspace_walk_next(struct keyspace_walk *walk, struct due_at *due);
void keyspace_walk_end(struct keyspace_walk *walk);
/* As dict_scan; the visitor sees dead entries too. */
uint64_t keyspace_scan(const struct keyspace *ks, uint64_t cursor,
                       void (*visit)(void *ctx, struct entry *entry), void *ctx);
/* As keyspace_scan; entries are relocated, and the table's blocks with them, before they are
 * visited; their values are left to the visitor. */
uint64_t keyspace_relocate(struct keyspace *ks, uint64_t cursor, struct relocation *relocation,
                           void (*visit)(void *ctx, struct entry *entry), void *ctx);
void keyspace_check(const struct keyspace *ks);

#endif
