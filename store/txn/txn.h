/* txn: the write path. Commands read keys with txn_find and its siblings, and change them only with
 * the txn_* mutators. The time, `now`, is an argument.
 *
 * Each mutator changes the object and records an effect with its event, so that no command can
 * forget logging, keyspace events or WATCH. There is no rollback: a command decides first, then
 * mutates.
 *
 *     struct txn txn;
 *     txn_begin(&txn, store, now, FROM_CLIENT);
 *     txn_call(&txn, db);             // once for each command
 *     entry = txn_find(&txn, key);
 *     txn_zset_put(...);
 *     txn_commit(&txn);
 *
 * An entry is borrowed until the next mutator of the same key that may move or drop it, as the
 * mutator's comment says. A collection without members stays until the call ends; then its key is
 * dropped with the event "del". But a stream keeps its key, and so does a dehydrator that must
 * remember something (dehydrator_is_spent).
 *
 * Folder store/txn: the write path, the only way to change data. Start here; txn_internal.h is for
 * mutators and for background work in store/.
 *
 *     txn_call                    begins and commits a transaction
 *     txn_key                     finds, creates, drops and copies keys
 *     txn_string, txn_list, ...   the mutators of each type
 *     txn_member                  the deadlines of members, for all types that have any
 *     txn_types                   a row for each type: its effects and its expiry
 *     effect_rows                 a row for each kind of effect: its commands
 *     apply                       makes a recorded change again, by calling a mutator
 *     policies:
 *       txn_policy                applies them to the keys that a call has changed or read
 *       expiry_log                EXPIRED TO: logs what has expired
 *       dead_letter               MAXDELIVERIES: moves what was delivered too often
 *     overdue members:
 *       txn_settle                removes them in slices
 *       txn_withheld              hides them from one call on a replica
 *     other state of the store:
 *       txn_token                 fencing tokens
 *       txn_refresh               the rights to refresh values
 *       txn_library               function libraries
 *       txn_trail                 the record of deadlines and ends
 *
 * May use: store store/base store/calendar store/trail store/mem store/policy store/struct
 * store/type/. */
#pragma once

#include "store/effect.h"
#include "store/keyspace.h"
#include "store/store.h"

enum origin {
    FROM_CLIENT,
    FROM_EXPIRY,
    FROM_EVICTION,
    FROM_POLICY, /* a new policy is applied to existing keys */
    FROM_REPLAY, /* nothing expires on access: the journal records the removals */
    FROM_MASTER, /* as FROM_REPLAY, but the listener receives the effects */
};

enum {
    TXN_EMPTIED_MAX = 2, /* collections that one call may empty without dropping their keys */
    TXN_EVENT_WORDS = (EVENT_COUNT + 63) / 64,
};

/* How a put sets the deadline of its member. A policy's MEMBERTTL sets the deadline instead for all
 * members that are put with LIFE_ADD or LIFE_CLEAR, and for new ones with LIFE_KEEP. */
enum life_rule {
    LIFE_ADD,     /* SADD, ZADD: an existing member keeps its deadline, a new one has none */
    LIFE_KEEP,    /* HINCRBY, ZINCRBY: the same */
    LIFE_CLEAR,   /* HSET: no deadline */
    LIFE_SET,     /* `at`, which may be in the past only in a replay */
    LIFE_SET_NEW, /* `at` for a new member; an existing member keeps its deadline */
};
struct lifetime {
    enum life_rule rule;
    msec at;
};
#define LIFE(word) ((struct lifetime){ .rule = LIFE_##word, .at = NEVER })

struct txn {
    struct store *store;
    struct keyspace *ks; /* the database of the call; txn_call sets it */
    msec now;            /* constant from begin to commit */
    enum origin origin;
    /* Who makes the change, for the trail: the command in the low 16 bits, the author in the high
     * 16. Author 0 means not known yet: the trail asks the server when it needs an author. */
    uint32_t by;
    void *caller; /* the session that runs the call, or NULL; passed to listener and trail */
    /* The next calls come from one command of a master: record each event once per key. */
    bool one_command;
    bool has_begun_call; /* txn_call was called */
    bool may_write;      /* a command that may write has run, for the listener */
    bool writes_log;     /* entries of expiry_log.h are written: the policies of logs apply */
    bool no_touch;       /* reads do not change the access time (CLIENT NO-TOUCH) */
    /* Expired keys are hidden, not removed (CLIENT PAUSE, replicas); for reads only. */
    bool no_expiry;
    bool no_purge; /* with no_expiry: expired members are withheld too, instead of removed
                    * (replicas) */
    /* Set for a client of a replica: a deadline in the past has the effect of one that passes. A
     * key ends with "expire" and "expired" instead of "del". A member keeps the deadline and is
     * withheld, until the master removes it. */
    bool on_replica;
    uint8_t by_option; /* 1 + the option of a policy that makes the changes, or 0 */
    /* The members that the call uses; NULL if it may use any. Only these need be withheld. */
    const struct bytes *named;
    size_t named_count;
    uint64_t changes;                   /* number of effects that changed data so far */
    struct entry *recorded_entry;       /* the last key for which the call recorded an event, */
    uint64_t recorded[TXN_EVENT_WORDS]; /* and the events recorded for it: a bit for each */
    struct entry *emptied[TXN_EMPTIED_MAX];
    unsigned emptied_count;
    struct policy_note *notes; /* keys whose policy is applied when the call ends. Owned */
    size_t note_count, note_cap;
    struct expiry_log *expiry_log; /* what expired and is to be logged, or NULL. Owned */
    struct txn_withheld *withheld; /* members withheld from this call. Owned */
    struct entry *newly_read;      /* the key of the last counted look-up, if its first read */
    const struct entry *found;     /* a cache: the result of the last look-up, which may be NULL, */
    uint64_t found_hash;           /* and the hash of its key */
    const struct entry *ruled_entry; /* a cache: the last key whose policy was looked up, */
    const struct policy *ruled_by;   /* and that policy, or NULL */
};

/* Does the transaction apply recorded effects? */
static inline bool txn_replays(const struct txn *txn)
{
    return txn->origin == FROM_REPLAY || txn->origin == FROM_MASTER;
}

/* Begins a transaction. No mutator may be called before txn_call. */
void txn_begin(struct txn *txn, struct store *store, msec now, enum origin origin);
/* Ends the previous call, which applies policies and drops keys that were emptied, and begins the
 * next one, in this database. */
void txn_call(struct txn *txn, unsigned db);
/* Promises that the current call uses these members, and no others of any key, so that a look-up
 * that withholds expired members need check only these. The names are borrowed until the call
 * ends. */
void txn_names_members(struct txn *txn, const struct bytes *members, size_t count);
/* Marks the call as failed. The keys that it only read then do not count as used (REFRESH ACCESS).
 * For POLICY STATS only the last key that it looked up counts as not read, because that is the key
 * at which a command fails. */
void txn_call_failed(struct txn *txn);
/* Drops the keys that the call has emptied so far. For calls that may empty more than
 * TXN_EMPTIED_MAX. No entry of such a key may be used afterwards. */
void txn_drop_all_emptied(struct txn *txn);
void txn_commit(struct txn *txn); /* ends the last call and the transaction */

/* ---- keys: txn_key.c ---- */
/* Find the entry at key, or NULL:
 *
 *                            sets the       counts a hit or miss,    removes an expired
 *                            access time    records "keymiss"        key or members first
 *     txn_find_without_lru   no             no                       yes
 *     txn_find               yes            no                       yes
 *     txn_find_counted       yes            yes                      yes
 *     txn_find_unsettled     yes            yes                      no
 *
 * The first three record the removals as events such as "expired", and cost O(1) plus the removed
 * members. While txn->no_expiry is set they remove no key: they return NULL for an expired one. In
 * a replay nothing counts as expired. txn_find_unsettled is O(1): it returns NULL for an expired
 * key, but expired members may still be in the collection (check each with txn_member_lives). */
struct entry *txn_find_without_lru(struct txn *txn, struct bytes key);
struct entry *txn_find(struct txn *txn, struct bytes key);
struct entry *txn_find_counted(struct txn *txn, struct bytes key);
struct entry *txn_find_unsettled(struct txn *txn, struct bytes key);
/* Counts and records another miss of a key that txn_find_counted did not find, for a command in
 * which Redis looks the key up twice and counts both misses. The counts of misses by their cause
 * include only the first. */
void txn_miss_again(struct txn *txn, struct bytes key);
/* Does the set, hash or sorted set have this member, not expired? O(1) */
bool txn_member_lives(const struct txn *txn, const struct entry *entry, struct bytes member);
/* Is this key in the database, and not expired? Removes nothing. O(1) */
bool txn_exists_in(const struct txn *txn, unsigned db, struct bytes key);
/* Adds an empty collection at an absent key; fill it before the call ends. */
struct entry *txn_create(struct txn *txn, struct bytes key, enum type type);
/* Creates a key that no client sets: one that the server needs, or that the call removes again.
 * POLICY STATS does not count such a key. */
struct entry *txn_create_uncounted(struct txn *txn, struct bytes key, enum type type);
/* Removes the key and records the event. `entry` is invalid afterwards. */
void txn_key_drop(struct txn *txn, struct entry *entry, enum event event);
/* Sets the key's deadline. Unless the transaction replays, a deadline in the past drops the key
 * instead, and the function returns false. The event is then "del", or on a replica "expire" and
 * "expired". */
bool txn_key_expire(struct txn *txn, struct entry *entry, msec at);
/* Drops a key whose new deadline is in the past, with "del", or on a replica with "expired". */
void txn_key_end(struct txn *txn, struct entry *entry);
bool txn_key_persist(struct txn *txn, struct entry *entry); /* false if it had no deadline */
/* Replaces the key `to`; keeps the deadline. `entry` is invalid afterwards. */
void txn_key_rename(struct txn *txn, struct entry *entry, struct bytes to);
/* Copies value and deadline to a key of database db, which is replaced. */
void txn_key_copy(struct txn *txn, struct entry *entry, unsigned db, struct bytes to);
/* Moves the key to database db; returns false if it exists there. `entry` is invalid afterwards. */
bool txn_key_move(struct txn *txn, struct entry *entry, unsigned db);
/* Takes ownership of the object and makes it the key's value, without a deadline. If the object is
 * empty, drops the key ("del" if it existed) and returns NULL. */
struct entry *txn_key_store(struct txn *txn, struct bytes key, struct object object,
                            enum event event);
/* As txn_key_store, for a value made elsewhere (RESTORE, import), which must not be empty. Its
 * members keep the deadlines that they have: MEMBERTTL does not apply, but other policies do. `at`
 * is the key's deadline or NEVER. Events "new" and "restore". */
struct entry *txn_key_restore(struct txn *txn, struct bytes key, struct object object, msec at);
/* Sets idle time or frequency (0 to 255), whichever the store keeps; -1 leaves it unchanged. */
void txn_key_accessed(struct txn *txn, struct entry *entry, int64_t idle_seconds, int frequency);
/* Exchanges two databases. If they differ, ends the call and begins another one. */
void txn_swap(struct txn *txn, unsigned a, unsigned b);
/* Empty one database, or all. No entry may be used afterwards. */
void txn_flush(struct txn *txn, unsigned db);
void txn_flush_all(struct txn *txn);
size_t txn_count(struct txn *txn);         /* keys of the call's database that have not expired */
struct entry *txn_random(struct txn *txn); /* not expired; NULL if there is none */
/* Makes one step of SCAN: visits some entries that have not expired, and returns the next cursor.
 * Cursor 0 begins and ends. The visitor must not call a mutator. */
uint64_t txn_scan(struct txn *txn, uint64_t cursor, void (*visit)(void *ctx, struct entry *entry),
                  void *ctx);

/* ---- members with deadlines: txn_member.c ---- */
enum member_fate { MEMBER_MISSING, MEMBER_EXPIRY_SET, MEMBER_REMOVED };
/* Sets the deadline of a member of a set, hash, sorted set or lease. A deadline in the past removes
 * the member ("srem", "hdel", "zrem", "lease.drop"). On a replica and in a replay the deadline is
 * set instead; on a replica the member is then withheld. */
enum member_fate txn_member_expire(struct txn *txn, struct entry *entry, struct bytes member,
                                   msec at);
/* Removes the member's deadline. Returns false if the member is missing or had none. */
bool txn_member_persist(struct txn *txn, struct entry *entry, struct bytes member);

/* ---- policies: txn_policy.c ---- */
/* Sets a policy. In a replay policy->pending stays as it is. Otherwise a policy with equal options
 * changes nothing; any other is pending if there are keys, and it changes existing ones or replaces
 * a pending policy. */
void txn_policy_set(struct txn *txn, struct bytes name, const struct policy *policy);
bool txn_policy_drop(struct txn *txn, struct bytes name); /* false if there is none */

/* ---- logs of what expired: expiry_log.c ---- */
bool expiry_type_is_target(enum type type); /* can EXPIRED TO name a key of this type? */

/* ---- libraries of functions: txn_library.c ---- */
/* Adds or replaces the library; the name satisfies library_name_ok. O(length of the code) */
void txn_library_set(struct txn *txn, struct bytes name, struct bytes code);
bool txn_library_drop(struct txn *txn, struct bytes name); /* false if there is none */

/* ---- strings: txn_string.c ---- */
#define SOFT_KEPT INT64_MIN

struct string_set {
    msec at;          /* the new deadline or NEVER; one in the past lets the key expire at once */
    bool keep_ttl;    /* keep the old deadline; `at` is ignored */
    bool continues;   /* a change of the value, for POLICY STATS; implied by keep_ttl */
    msec soft;        /* the new soft deadline, 0 for none, SOFT_KEPT for the old one */
    bool text;        /* OBJECT ENCODING never reports "int" */
    enum event event; /* EVENT_SET, EVENT_INCRBY ...; then "expire" when `at` is not NEVER */
};

/* Replaces the key, whatever its type, with the string. `value` may point into the old value. */
void txn_string_set(struct txn *txn, struct bytes key, struct bytes value,
                    const struct string_set *how);
/* As txn_string_set, for a caller that has looked the entry up; NULL for a missing key. An entry of
 * another type is invalid afterwards. */
void txn_string_set_found(struct txn *txn, struct bytes key, struct entry *entry,
                          struct bytes value, const struct string_set *how);
/* Appends to the entry, a string. Returns the new length. If memory runs out, returns -1 and
 * changes nothing. */
int64_t txn_string_append(struct txn *txn, struct entry *entry, struct bytes tail);
/* Overwrites the string from byte `offset` on with `data`; creates the key if entry is NULL. The
 * string grows if it must, and zeros fill a gap before the offset. Several writes in one call
 * record one event. Returns the new length. If memory runs out, returns -1 and changes nothing. */
int64_t txn_string_write(struct txn *txn, struct bytes key, struct entry *entry, size_t offset,
                         struct bytes data, enum event event);
/* Extends the string with zeros to `len`, which must be longer, before a write in the same call.
 * With `is_part`, both count as one change. Returns false if memory runs out. */
bool txn_string_grow(struct txn *txn, struct bytes key, struct entry *entry, size_t len,
                     bool is_part);
/* Sets the soft deadline of a string. `event` is EVENT_STALE or EVENT_NONE. */
void txn_string_soften(struct txn *txn, struct entry *entry, msec at, enum event event);
/* Makes OBJECT ENCODING report "raw", as after commands that may write in place. */
void txn_string_unshare(struct txn *txn, struct entry *entry);

/* ---- rights to make a value: txn_refresh.c ---- */
/* Returns the end of the right to refresh the value of this key, which may be missing; 0 if no
 * client holds it. Rights are not data: they are neither recorded nor copied (refreshers.h). */
msec txn_refresh_until(const struct txn *txn, struct bytes key);
/* Grants the right to the caller, until `until` or until the value is set or deleted. Has no effect
 * if the database has REFRESHERS_MOST rights of other keys. */
void txn_refresh_begin(struct txn *txn, struct bytes key, msec until);
/* Ends the right to make a missing key's value; clients that wait for the key try again. */
void txn_refresh_give_up(struct txn *txn, struct bytes key);

/* ---- lists: txn_list.c ---- */
/* Change a list as list_push, list_pop, list_keep and list_put do (list.h). */
void txn_list_push(struct txn *txn, struct entry *entry, enum list_end end, struct bytes element);
void txn_list_pop(struct txn *txn, struct entry *entry, enum list_end end, size_t count);
void txn_list_keep(struct txn *txn, struct entry *entry, size_t from, size_t to);
void txn_list_put(struct txn *txn, struct entry *entry, size_t index, struct bytes element);
/* Where LINSERT inserts: before or after the first element that equals `element`. */
struct list_pivot {
    struct bytes element;
    bool after;
};
/* Inserts before the element at index, or at the end if index is the count. The effect identifies
 * the position by the pivot or, if `pivot` is NULL, by the index. */
void txn_list_insert(struct txn *txn, struct entry *entry, size_t index, struct bytes element,
                     const struct list_pivot *pivot);
/* Removes elements as LREM does (list_remove); returns how many. */
size_t txn_list_remove(struct txn *txn, struct entry *entry, int64_t count, struct bytes element);

/* ---- sets: txn_set.c ---- */
/* Adds the member. Returns false if it existed; whether its deadline changes then depends on
 * `life`. */
bool txn_set_add(struct txn *txn, struct entry *entry, struct bytes member, struct lifetime life);
/* Removes the member, which may point into the set. Returns false if it is missing. `event` is
 * EVENT_SREM or EVENT_SPOP. */
bool txn_set_remove(struct txn *txn, struct entry *entry, struct bytes member, enum event event);
/* Removes all members (at least one) and drops the key: `event`, then "del". */
void txn_set_remove_all(struct txn *txn, struct entry *entry, enum event event);

/* ---- hashes: txn_hash.c ---- */
struct hput {
    enum event event; /* EVENT_HSET, EVENT_HINCRBY or EVENT_HINCRBYFLOAT */
    struct lifetime life;
};
/* Sets the field. Returns true if it is new. `value` may point into the field's old value. */
bool txn_hash_put(struct txn *txn, struct entry *entry, struct bytes field, struct bytes value,
                  const struct hput *how);
/* Removes the field. Returns false if it is missing. */
bool txn_hash_remove(struct txn *txn, struct entry *entry, struct bytes field);

/* ---- sorted sets: txn_zset.c ---- */
struct zput {
    bool only_new, only_present;  /* NX, XX */
    bool only_greater, only_less; /* GT, LT */
    bool add;                     /* INCR: add to the member's score */
    enum event event;             /* EVENT_ZADD or EVENT_ZINCR */
    struct lifetime life;         /* ignored when the put is refused */
};
enum zput_result { ZPUT_ADDED, ZPUT_MOVED, ZPUT_SAME, ZPUT_REFUSED, ZPUT_NAN };
/* Puts a member. *score is the score to put, or with `add` what to add; it becomes the member's
 * score, unless the result is ZPUT_REFUSED or ZPUT_NAN. */
enum zput_result txn_zset_put(struct txn *txn, struct entry *entry, struct bytes member,
                              double *score, const struct zput *how);
/* Makes OBJECT ENCODING report "skiplist", as after SORT. */
void txn_zset_widen(struct txn *txn, struct entry *entry);
/* Removes the member. Returns false if it is missing. */
bool txn_zset_remove(struct txn *txn, struct entry *entry, struct bytes member);
/* Removes ranks [from, to); an empty range changes nothing. */
void txn_zset_remove_ranks(struct txn *txn, struct entry *entry, size_t from, size_t to,
                           enum event event);
