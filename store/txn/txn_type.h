/* txn_type: one row for each type: how transactions handle deadlines inside its values, and values
 * with more elements than a policy allows. store/type/type_row.h lists the functions of a type that
 * need no transaction. Files outside store/ must not include this header; tools/lint/tree.py checks
 * that. */
#pragma once

#include "store/txn/txn.h"

/* Does eviction (store/sweep/evict.h) spare such keys? */
enum spared {
    SPARED_NEVER,
    SPARED_AS_JOB, /* spared unless evict_how.jobs_too is set */
    SPARED_ALWAYS,
};

struct txn_type {
    /* Only for types whose members have deadlines. `expire` and `drop` are the effects that set a
     * member's deadline and remove the member. The events are for a deadline set, a deadline
     * removed, a member expired, and a member removed because its new deadline is in the past. */
    enum effect_kind expire, drop;
    enum event on_expire, on_persist, on_expired, on_removed;

    /* Called when a key with due elements is found. Removes them, withholds them from the call if
     * they must stay, or announces them. Returns NULL if the key was dropped or counts as
     * absent. */
    struct entry *(*settle)(struct txn *txn, struct entry *entry);
    /* For background expiry: removes or announces about `limit` elements that were due at the
     * instant `by`. Returns the work done, or 0. *entry becomes NULL if the key was dropped. */
    size_t (*purge)(struct txn *txn, struct entry **entry, msec by, size_t limit);
    bool due_stays; /* due elements are announced, and stay until a client takes them */

    /* Applies MAXLEN: removes `excess` elements at the end that the type or the policy determines.
     * NULL if MAXLEN removes nothing (a dehydrator refuses pushes instead), and for lists, which
     * are cut at the end opposite to a push. */
    void (*cut)(struct txn *txn, struct entry *entry, const struct policy *policy, size_t excess);
    bool cut_copies; /* if few elements stay, `cut` copies them and drops the whole old value */

    /* Called for a value from elsewhere (RESTORE, import) before it is recorded, to note what the
     * data set must know about all its values, such as their tokens. May be NULL. */
    void (*adopt)(struct txn *txn, const struct object *object);
    /* `added` is called after a value of this type was stored at a key, `removing` before it is
     * removed or replaced. Either may be NULL. */
    void (*added)(struct txn *txn, struct entry *entry);
    void (*removing)(struct txn *txn, struct entry *entry);
    /* Called when a member's deadline becomes `at`. May be NULL. */
    void (*note_end)(struct txn *txn, msec at);
    enum spared spared;
};

extern const struct txn_type txn_types[TYPE_COUNT];

static inline const struct txn_type *txn_type_of(const struct entry *entry)
{
    return &txn_types[entry->object.type];
}
