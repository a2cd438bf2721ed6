/* txn: the narrow waist. All reading goes through txn_find, all change through txn_* mutators.
 * Knows the store and now; refuses to know clients, replies, text and clocks.
 *
 * Each mutator changes the object and records its effect with an event, so that nobody can forget
 * to log, to notify or to touch a WATCH. There is no rollback: a command decides first, then
 * mutates.
 *
 *     struct txn txn;
 *     txn_begin(&txn, store, now, FROM_CLIENT);
 *     txn_call(&txn, db);             // once for each command
 *     entry = txn_find(&txn, key);
 *     txn_zset_put(...);
 *     txn_commit(&txn);
 *
 * Entries are borrowed: valid until the next mutator that may move or drop that key (it says so).
 * A collection that a mutator empties stays, empty, until the call ends; then its key goes, with
 * the event "del". */
#ifndef STORE_TXN_TXN_H
#define STORE_TXN_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/effect.h"
#include "store/keyspace.h"
#include "store/store.h"

enum origin {
    FROM_CLIENT,
    FROM_EXPIRY,
    FROM_EVICTION,
    FROM_POLICY, /* a policy is applied to keys that were there before it */
    FROM_REPLAY, /* no settling: what died is in the record */
};

enum {
    TXN_EMPTIED_MAX = 2, /* keys that one call may empty without dropping them itself */
    TXN_TOLD_WORDS = (EVENT_COUNT + 63) / 64,
};

struct txn {
    struct store *store;
    struct keyspace *ks; /* of the call */
    msec now;            /* frozen from begin to commit */
    enum origin origin;
    bool no_touch;    /* reads leave the access time as it is (CLIENT NO-TOUCH) */
    bool no_expiry;   /* what is dead is not found, and stays (CLIENT PAUSE): for readers only */
    uint64_t changes; /* effects that changed data so far */
    struct entry *told_entry;      /* the last key of this call that an event was told for */
    uint64_t told[TXN_TOLD_WORDS]; /* and which: a bit for each event */
    struct entry *emptied[TXN_EMPTIED_MAX];
    unsigned emptied_count;
    struct policy_note *notes; /* keys of this call that a policy has to look at. Owned */
    size_t note_count, note_cap;
    const struct entry *ruled_entry; /* the last that a policy was sought for */
    const struct policy *ruled_by;   /* and what was found, or NULL */
};

void txn_begin(struct txn *txn, struct store *store, msec now, enum origin origin);
/* The next command begins, in this database; ends the one before. */
void txn_call(struct txn *txn, unsigned db);
void txn_commit(struct txn *txn);

/* ---- keys: txn_key.c ------------------------------------------------------------------------ */

/* The entry at key, settled to txn->now: a dead one is dropped first ("expired"). NULL if absent.
 * A look from outside: the access time stays. O(1) plus settling. */
struct entry *txn_peek(struct txn *txn, struct bytes key);
/* The same for a use of the key: notes the access. */
struct entry *txn_find(struct txn *txn, struct bytes key);
/* The same for a read by a client: counts a hit or a miss too, and tells "keymiss". */
struct entry *txn_read(struct txn *txn, struct bytes key);

/* A look at a key and a few of its members that removes nothing: neither a dead key, which is not
 * found, nor dead members. Whoever asks for a member looks at its deadline (txn_member_lives).
 * Counts and notes the access as txn_read does. O(1) */
struct entry *txn_glance(struct txn *txn, struct bytes key);
/* Does the set, hash or sorted set have this member, and is it alive? O(1) */
bool txn_member_lives(const struct txn *txn, const struct entry *entry, struct bytes member);
/* Is there a live key of this name in a database? Removes nothing. O(1) */
bool txn_exists_in(const struct txn *txn, unsigned db, struct bytes key);

/* A new, empty collection under an absent key; fill it before the call ends. */
struct entry *txn_create(struct txn *txn, struct bytes key, enum type type);

void txn_key_drop(struct txn *txn, struct entry *entry, enum event event);
/* `at` in the past drops the key instead, with "del". Returns whether the key still lives. */
bool txn_key_expire(struct txn *txn, struct entry *entry, msec at);
bool txn_key_persist(struct txn *txn, struct entry *entry); /* false: it had no deadline */
/* What `to` was is gone; the deadline goes along. `entry` is invalid afterwards. */
void txn_key_rename(struct txn *txn, struct entry *entry, struct bytes to);
/* A copy, deadline included, at `to` in a database; what was there is gone. */
void txn_key_copy(struct txn *txn, struct entry *entry, unsigned db, struct bytes to);
/* Into another database, where the key must be absent (false if not). `entry` is invalid
 * afterwards. */
bool txn_key_move(struct txn *txn, struct entry *entry, unsigned db);
/* Whatever was at key becomes this object (handed over), without a deadline; an empty one leaves no
 * key ("del" if there was one). NULL then. */
struct entry *txn_key_store(struct txn *txn, struct bytes key, struct object object,
                            enum event event);
/* The same for a value that was made elsewhere, with its deadline (or NEVER) and those inside,
 * which no policy touches; it is not empty. "new" and "restore". */
struct entry *txn_key_restore(struct txn *txn, struct bytes key, struct object object, msec at);
void txn_swap(struct txn *txn, unsigned a, unsigned b);
void txn_flush(struct txn *txn, unsigned db);
void txn_flush_all(struct txn *txn);       /* every database */
size_t txn_count(struct txn *txn);         /* live keys of the call's database */
struct entry *txn_random(struct txn *txn); /* a live one, or NULL */
/* Visits live entries of one step; 0 begins and ends. The visitor must not mutate. */
uint64_t txn_scan(struct txn *txn, uint64_t cursor, void (*visit)(void *ctx, struct entry *entry),
                  void *ctx);

/* ---- work that is overdue inside a key: txn_settle.c -------------------------------------------
 *
 * Finding a key settles it. That takes long where very many members are dead and some are not. Who
 * can wait asks first, and has it done in slices; so does who wants a policy's MAXLEN to hold for a
 * sorted set that is far longer. */

enum { SETTLE_AT_ONCE = 1000 }; /* members: a fraction of a millisecond's work */

/* Is there more to do for the entry of txn's database than that? O(SETTLE_AT_ONCE), and O(1) while
 * nothing in the database is overdue and no policy has a MAXLEN. */
bool txn_settles_slowly(const struct txn *txn, const struct entry *entry);
/* Removes dead members, then what is too much for the policy of the key (of a sorted set: of a
 * list nobody knows which end is the newer one before it is pushed), by the usual mutators:
 * about `limit` members (or SETTLE_AT_ONCE, where few stay of many). Returns how much work it was,
 * 0: nothing is left. *entry is NULL when it went with its last member. What expires stays where
 * txn->no_expiry hides it anyway, and what is too long stays then as well. */
size_t txn_settle_some(struct txn *txn, struct entry **entry, size_t limit);

/* ---- members with deadlines: txn_member.c -------------------------------------------------------
 */

/* What a put does to the deadline of the member. A policy's MEMBERTTL stands in where the rule
 * leaves a member without one, and with LIFE_ADD for a present member's own. */
enum life_rule {
    LIFE_ADD,     /* SADD, ZADD: a present member keeps its own, a new one has none */
    LIFE_KEEP,    /* HINCRBY, ZINCRBY: the same; a policy speaks for new members only */
    LIFE_CLEAR,   /* HSET: none */
    LIFE_SET,     /* `at`, which must not be past */
    LIFE_SET_NEW, /* `at` for a new member; a present one keeps its own, or none */
};
struct lifetime {
    enum life_rule rule;
    msec at;
};
#define LIFE(word) ((struct lifetime){ .rule = LIFE_##word, .at = NEVER })

/* The entry is a set, hash or sorted set. `at` in the past removes the member instead ("srem",
 * "hdel", "zrem"). */
enum member_fate { MEMBER_MISSING, MEMBER_TIMED, MEMBER_REMOVED };
enum member_fate txn_member_expire(struct txn *txn, struct entry *entry, struct bytes member,
                                   msec at);
/* False: no such member, or it had no deadline. */
bool txn_member_persist(struct txn *txn, struct entry *entry, struct bytes member);
/* Members are dead and go with their key, without an effect of their own: tells the event, once. */
void txn_member_tell_expired(struct txn *txn, struct entry *entry);
/* Removes at most `limit` members that died at or before `until`, in deadline order; the key goes
 * with its last one. Returns how many; *entry is NULL when it went. */
size_t txn_member_purge(struct txn *txn, struct entry **entry, msec until, size_t limit);

/* ---- policies: txn_policy.c ---------------------------------------------------------------------
 */

/* A client's policy that changes keys which are there already is pending from now on, whatever
 * policy->pending says; one with the options that it has changes nothing. */
void txn_policy_set(struct txn *txn, struct bytes name, const struct policy *policy);
bool txn_policy_drop(struct txn *txn, struct bytes name); /* false: there was none */
/* The policy, which there is, has been applied to all keys. */
void txn_policy_applied(struct txn *txn, struct bytes name);
/* A key that was there before its policy: gets a deadline where it has none (TTL, MAXTTL), or one
 * that is not later than MAXTTL allows. */
void txn_policy_limit(struct txn *txn, struct entry *entry, const struct policy *policy);
/* Members of it, which is a sorted set, beyond the policy's MAXLEN leave, at most `limit`; how
 * many. */
size_t txn_policy_cut(struct txn *txn, struct entry *entry, const struct policy *policy,
                      size_t limit);
/* The deadline that the policy gives a member that is added now; NEVER: none. */
msec txn_policy_member_at(struct txn *txn, const struct policy *policy);

/* ---- strings: txn_string.c ------------------------------------------------------------------ */

struct string_set {
    msec at;       /* the new deadline, NEVER: none. One in the past lets the key expire at once */
    bool keep_ttl; /* the old deadline stays; `at` is ignored */
    bool text;     /* OBJECT ENCODING never says "int" of it */
    enum event event; /* EVENT_SET, EVENT_INCRBY ...; then "expire" when `at` is not NEVER */
};

/* Whatever was at key becomes the string. `value` may point into the old value. */
void txn_string_set(struct txn *txn, struct bytes key, struct bytes value,
                    const struct string_set *how);
/* The same for who has found the entry at key, or NULL. If it is no string, it is invalid
 * afterwards. */
void txn_string_put(struct txn *txn, struct bytes key, struct entry *entry, struct bytes value,
                    const struct string_set *how);
/* entry is a string; returns its new length, or -1 without memory (nothing changed). */
int64_t txn_string_append(struct txn *txn, struct entry *entry, struct bytes tail);

/* Writes over the string at key from `offset` on, with zeros where it was shorter; makes it if
 * entry is NULL. Several writes of one call tell the event once. Returns the new length, or -1
 * without memory (nothing changed). */
int64_t txn_string_write(struct txn *txn, struct bytes key, struct entry *entry, size_t offset,
                         struct bytes data, enum event event);
/* Makes the string at key at least so long (1 or more), with zeros behind it, before a write that
 * follows in the same call (`is_part`: the two count as one change). False without memory. */
bool txn_string_grow(struct txn *txn, struct bytes key, struct entry *entry, size_t len,
                     bool is_part);
/* OBJECT ENCODING says "raw" from now on: what a command that writes in place does to a string
 * even if there is nothing to change. */
void txn_string_unshare(struct entry *entry);

/* ---- lists: txn_list.c ----------------------------------------------------------------------- */

void txn_list_push(struct txn *txn, struct entry *entry, enum list_end end, struct bytes element);
void txn_list_pop(struct txn *txn, struct entry *entry, enum list_end end, size_t count);
void txn_list_keep(struct txn *txn, struct entry *entry, size_t from, size_t to);
void txn_list_put(struct txn *txn, struct entry *entry, size_t index, struct bytes element);
/* Before the element at index; index may be the count. */
void txn_list_insert(struct txn *txn, struct entry *entry, size_t index, struct bytes element);
size_t txn_list_remove(struct txn *txn, struct entry *entry, int64_t count, struct bytes element);

/* ---- sets: txn_set.c --------------------------------------------------------------------------
 */

/* false: was there */
bool txn_set_add(struct txn *txn, struct entry *entry, struct bytes member, struct lifetime life);
/* false: was not. event: EVENT_SREM or EVENT_SPOP. member may be the set's own. */
bool txn_set_remove(struct txn *txn, struct entry *entry, struct bytes member, enum event event);
/* Every member (there is one), and at once the key, with "del" behind the event. */
void txn_set_remove_all(struct txn *txn, struct entry *entry, enum event event);

/* ---- hashes: txn_hash.c ------------------------------------------------------------------------
 */

struct hput {
    enum event event; /* EVENT_HSET, EVENT_HINCRBY or EVENT_HINCRBYFLOAT */
    struct lifetime life;
};

/* true if the field is new. `value` may be the field's own, or a part of it. */
bool txn_hash_put(struct txn *txn, struct entry *entry, struct bytes field, struct bytes value,
                  const struct hput *how);
bool txn_hash_remove(struct txn *txn, struct entry *entry, struct bytes field);

/* ---- sorted sets: txn_zset.c --------------------------------------------------------------------
 */

struct zput {
    bool only_new, only_present;  /* NX, XX */
    bool only_greater, only_less; /* GT, LT */
    bool add;                     /* INCR: the score is added to the member's */
    enum event event;             /* EVENT_ZADD or EVENT_ZINCR */
    struct lifetime life;         /* of a member that is refused, nothing changes */
};
enum zput_result { ZPUT_ADDED, ZPUT_MOVED, ZPUT_SAME, ZPUT_REFUSED, ZPUT_NAN };

/* *score is what to put, and afterwards what the member has (unless refused or NaN). */
enum zput_result txn_zset_put(struct txn *txn, struct entry *entry, struct bytes member,
                              double *score, const struct zput *how);
bool txn_zset_remove(struct txn *txn, struct entry *entry, struct bytes member);
/* Ranks [from, to). Nothing for an empty range. */
void txn_zset_remove_ranks(struct txn *txn, struct entry *entry, size_t from, size_t to,
                           enum event event);

/* ---- dehydrators: txn_dehydrator.c -------------------------------------------------------------
 */

/* false: the id is there */
bool txn_rede_push(struct txn *txn, struct entry *entry, struct bytes id, struct bytes payload,
                   const struct stage *stage);
/* Claimed, given back or rescheduled: event says which. `element` may be invalid afterwards. */
struct element *txn_rede_move(struct txn *txn, struct entry *entry, struct element *element,
                              const struct stage *stage, enum event event);
/* Tells "rede.due" of an entry whose moment has come: replay does not need it. */
void txn_rede_announce(struct txn *txn, struct entry *entry);
void txn_rede_update(struct txn *txn, struct entry *entry, struct element *element,
                     struct bytes payload);
void txn_rede_remove(struct txn *txn, struct entry *entry, struct element *element,
                     enum event event);

/* ---- for the mutators themselves ------------------------------------------------------------ */

/* Does a put have to know the member's own deadline? Not where the rule, or that there is none,
 * settles it. */
static inline bool txn_life_matters(const struct txn *txn, const struct entry *entry,
                                    struct lifetime life)
{
    if (life.rule == LIFE_ADD || life.rule == LIFE_KEEP)
        return entry->object.timed || txn->store->policies.count > 0;
    return life.rule != LIFE_CLEAR || entry->object.timed;
}
/* The deadline that a put leaves a member of entry with: `old` is its own, `present` or not. */
msec txn_life_at(struct txn *txn, const struct entry *entry, struct lifetime life, bool present,
                 msec old);
/* The keyspace learns of the value's next moment; the event ("sexpire" ...) is told of a member
 * that a put gave another deadline. */
void txn_member_timed(struct txn *txn, struct entry *entry, struct bytes member, enum event event);
/* Members left: the same, and perhaps it was the last one. */
void txn_member_left(struct txn *txn, struct entry *entry);
/* What happened to the key, for its policy: looked at when the call ends. */
enum policy_cause {
    POLICY_CREATED, /* or overwritten as a whole */
    POLICY_WRITTEN,
    POLICY_TIMED, /* the command itself has given it a deadline, or taken it away */
    POLICY_GROWN, /* a sorted set has a member more */
    POLICY_PUSHED_HEAD,
    POLICY_PUSHED_TAIL,
    POLICY_READ,
};
void txn_policy_note(struct txn *txn, struct entry *entry, enum policy_cause cause);
/* The entry is about to be freed; NULL: all of them are. */
void txn_policy_forget(struct txn *txn, const struct entry *entry);
void txn_policy_end(struct txn *txn); /* of the call */
/* A whole new value for key: its members get the deadlines that a policy gives those added. O(n) */
void txn_policy_time_members(struct txn *txn, struct bytes key, struct object *object);
static inline void txn_note(struct txn *txn, struct entry *entry, enum policy_cause cause)
{
    if (txn->store->policies.count > 0 && txn->origin == FROM_CLIENT)
        txn_policy_note(txn, entry, cause);
}

/* Whatever is at key (settled) becomes this object (handed over); the deadline stays, the old entry
 * may be invalid. Records only the event "new" where there was nothing. */
struct entry *txn_key_put(struct txn *txn, struct bytes key, struct object object);
/* A new entry with this object (handed over), and the event "new". */
struct entry *txn_key_add(struct txn *txn, struct bytes key, struct object object);

/* Tells the listener, and notes that the entry was used and written. One call tells one event per
 * key once: later ones are marked `again`, so that ZADD with three members is one "zadd". */
void txn_record(struct txn *txn, struct entry *entry, struct effect *effect);
/* The same for what is nobody's use of the entry: a member died. */
void txn_tell(struct txn *txn, struct entry *entry, struct effect *effect);
/* As txn_record, but each one is told (MSET k a k b is two "set"). */
void txn_record_each(struct txn *txn, struct bytes key, struct effect *effect);
/* Notes that a mutator may have emptied the entry's collection. */
void txn_note_emptied(struct txn *txn, struct entry *entry);
/* The key of an empty collection goes at once, with "del". */
void txn_drop_emptied(struct txn *txn, struct entry *entry);
/* An entry is about to be freed: the call must not remember it. */
void txn_forget(struct txn *txn, const struct entry *entry);

#endif
