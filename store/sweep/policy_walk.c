/* policy_walk: visits keys in the order of SCAN, so that it misses no key that stays, even if keys
 * are added and removed between two slices. A key that a slice could not finish is remembered by
 * its name, because the entry may be freed before the next slice. Such keys are the rest of a
 * bucket, and large collections, whose members are visited in the order of their own scan. */
#include "store/sweep/policy_walk.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/policy_progress.h"
#include "store/txn/txn_internal.h"
#include "store/txn/txn_type.h"
#include "store/walk.h"

enum {
    VISIT_COST = 1, /* cost of each bucket, and of each key to which a policy of the pass applies */
    PACKED_SHARE = 8 /* this many records of a packed collection cost as much as one key */
};

/* One call of policy_walk_run. */
struct slice {
    struct policy_progress *walk;
    struct txn txn;
    size_t left; /* remaining budget */
};

static void spend_budget(struct slice *slice, size_t cost)
{
    slice->left -= cost < slice->left ? cost : slice->left;
}

/* Returns the policy of the current pass that applies to the entry, or NULL. */
static const struct policy *policy_for(const struct store *store, const struct entry *entry)
{
    const struct policy *policy = policies_of(&store->policies, entry_key(entry), NULL);
    return policy != NULL && policies_in_pass(&store->policies, policy) ? policy : NULL;
}

/* Search for a member without a deadline. */
struct seek {
    const struct object *object;
    struct bytes member;
    char text[PACKED_MAX_TEXT]; /* a packed member, which its walk may spell in memory of its own */
    bool found;
};

static void seek_in_record(void *ctx, struct effect *effect)
{
    struct seek *seek = ctx;
    if (seek->found || effect->at != NEVER) return;
    ensure(effect->a.len <= sizeof(seek->text), "a packed member of %zu bytes", effect->a.len);
    seek->member = bytes_of(memcpy(seek->text, effect->a.data, effect->a.len), effect->a.len);
    seek->found = true;
}

static void seek_in_element(void *ctx, void *element)
{
    struct seek *seek = ctx;
    if (seek->found) return;
    seek->member = object_hint(seek->object)->type->key(element);
    msec at;
    seek->found = object_member_deadline(seek->object, seek->member, &at) && at == NEVER;
}

/* Sets the deadlines of members by MEMBERTTL; returns true when all members have been checked. */
static bool set_member_deadlines(struct slice *slice, struct entry *entry,
                                 const struct policy *policy, uint64_t *cursor)
{
    if (policy->member_ttl == 0 || !type_has_members(entry->object.type)) return true;
    if (object_count_expiring(&entry->object) == object_count(&entry->object)) return true;
    struct seek seek = { .object = &entry->object };
    while (slice->left > 0) {
        /* Find the next member without a deadline. The cursor stays at a bucket until no such
         * member is left in it. */
        const struct dict *table = object_hint(&entry->object);
        seek.found = false;
        if (table == NULL) {
            walk_object(&entry->object, seek_in_record, &seek);
            spend_budget(slice, 1 + object_count(&entry->object) / PACKED_SHARE);
            *cursor = 0;
        } else {
            uint64_t next = dict_scan(table, *cursor, seek_in_element, &seek);
            spend_budget(slice, 1);
            if (!seek.found) *cursor = next;
        }
        if (seek.found)
            txn_policy_time_member(&slice->txn, entry, seek.member, policy);
        else if (*cursor == 0)
            return true;
    }
    return false;
}

/* Applies the policy inside the value, from *cursor on; returns true when done. Restores
 * entry->accessed, because applying a policy is not an access to the key. */
static bool apply_inside(struct slice *slice, struct entry *entry, uint64_t *cursor)
{
    const struct policy *policy = policy_for(slice->txn.store, entry);
    if (policy == NULL) return true;
    uint32_t accessed = entry->accessed;
    txn_policy_retain(&slice->txn, entry, policy);
    bool done = true;
    if (txn_type_of(entry)->cut != NULL && policy->max_len > 0) {
        spend_budget(slice, txn_policy_cut(&slice->txn, entry, policy, slice->left));
        done = object_count(&entry->object) <= policy->max_len;
    }
    if (done) done = set_member_deadlines(slice, entry, policy, cursor);
    entry->accessed = accessed;
    return done;
}

static void collect_entry(void *ctx, struct entry *entry)
{
    struct slice *slice = ctx;
    struct policy_progress *walk = slice->walk;
    spend_budget(slice, VISIT_COST);
    if (policy_for(slice->txn.store, entry) == NULL) return;
    walk->found =
        mem_grow(walk->found, walk->found_count, &walk->found_cap, sizeof(struct entry *));
    walk->found[walk->found_count++] = entry;
}

static void pass_end(struct policy_progress *walk)
{
    policy_progress_forget_rests(walk);
    walk->running = false;
}

static void walk_step(struct slice *slice)
{
    struct policy_progress *walk = slice->walk;
    struct policies *policies = &slice->txn.store->policies;
    struct bytes name;
    const struct policy *policy = policies_first_in_pass(policies, &name);
    unsigned db = 0;
    while (db < walk->database_count && walk->scans[db].done)
        db++;
    if (!walk->running) {
        policies_begin_pass(policies);
        memset(walk->scans, 0, walk->database_count * sizeof(*walk->scans));
        walk->running = true;
    } else if (policy == NULL) { /* all done, or replaced or removed meanwhile */
        pass_end(walk);
    } else if (walk->rest_count > 0) {
        struct policy_progress_rest *rest = &walk->rests[walk->rest_count - 1];
        txn_call(&slice->txn, rest->db);
        spend_budget(slice, VISIT_COST);
        struct entry *entry = keyspace_find(slice->txn.ks, blob_view(rest->key));
        if (entry != NULL && !apply_inside(slice, entry, &rest->cursor)) return;
        blob_free(rest->key);
        walk->rest_count--;
    } else if (db < walk->database_count) {
        /* Visit a bucket. Changing one entry found in it leaves the others in place. */
        struct policy_progress_scan *scan = &walk->scans[db];
        txn_call(&slice->txn, db);
        spend_budget(slice, VISIT_COST);
        walk->found_count = 0;
        scan->cursor = keyspace_scan(slice->txn.ks, scan->cursor, collect_entry, slice);
        scan->done = scan->cursor == 0;
        for (size_t i = 0; i < walk->found_count; i++) {
            struct entry *entry = walk->found[i];
            txn_policy_limit(&slice->txn, entry, policy_for(slice->txn.store, entry));
            uint64_t cursor = 0;
            if (slice->left > 0 && apply_inside(slice, entry, &cursor)) continue;
            walk->rests =
                mem_grow(walk->rests, walk->rest_count, &walk->rest_cap, sizeof(*walk->rests));
            struct blob *key = blob_new(entry_key(entry));
            walk->rests[walk->rest_count++] =
                (struct policy_progress_rest){ .key = key, .db = db, .cursor = cursor };
        }
    } else {
        spend_budget(slice, VISIT_COST);
        txn_policy_applied(&slice->txn, name);
    }
}

bool policy_walk_run(struct store *store, msec now, size_t budget)
{
    if (!policy_walk_pending(store)) return false;
    if (store_next_due(store) <= now) return true;
    struct slice slice = { .walk = store->policy_progress, .left = budget };
    txn_begin(&slice.txn, store, now, FROM_POLICY);
    txn_call(&slice.txn, 0);
    while (slice.left > 0 && policy_walk_pending(store))
        walk_step(&slice);
    txn_commit(&slice.txn);
    if (policy_walk_pending(store)) return true;
    pass_end(store->policy_progress);
    return false;
}
