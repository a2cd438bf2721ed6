/* txn_settle: removes overdue members of one key in slices. */
#include "store/txn/txn_settle.h"

#include "store/txn/expiry_log.h"
#include "store/txn/txn_type.h"

static bool has_expired(const struct txn *txn, const struct entry *entry)
{
    return !txn_replays(txn) && due_at_come(keyspace_next_due(txn->ks), txn->now) &&
           entry->object.has_expiry && !txn_type_of(entry)->due_stays;
}

/* Should an expired key be dropped at once, without a look at its members? Not if a listener or a
 * log wants each name. */
static bool goes_whole(struct txn *txn, const struct entry *entry)
{
    if (!entry_expired(txn->ks, entry, txn->now)) return false;
    return txn->no_expiry ||
           !((txn->store->event_mask & LISTEN_MEMBERS) || expiry_is_logged(txn, entry));
}

static const struct policy *exceeded_policy(const struct txn *txn, const struct entry *entry)
{
    const struct policies *policies = &txn->store->policies;
    if (policies->with[POLICY_MAXLEN] == 0 || txn->no_expiry || txn_replays(txn)) return NULL;
    if (txn_type_of(entry)->cut == NULL) return NULL;
    const struct policy *policy = policies_of(policies, entry_key(entry), NULL);
    bool exceeds =
        policy != NULL && policy->max_len > 0 && object_count(&entry->object) > policy->max_len;
    return exceeds ? policy : NULL;
}

/* Returns the cost, in members, of removing `excess` members while `stay` remain. A type with
 * cut_copies copies those that remain if they are fewer. */
static size_t work_of(const struct txn *txn, const struct entry *entry, size_t excess, size_t stay)
{
    if (!txn_type_of(entry)->cut_copies) return excess;
    bool notifies = txn->store->event_mask & LISTEN_MEMBERS;
    return notifies || excess < stay ? excess : stay;
}

bool txn_settles_slowly(struct txn *txn, const struct entry *entry)
{
    if (has_expired(txn, entry)) {
        /* Each expired entry of a stream may be pending in each group. */
        size_t work = object_count_expired(&entry->object, txn->now, SETTLE_AT_ONCE) *
                      (1 + object_references(&entry->object));
        if (work >= SETTLE_AT_ONCE && !goes_whole(txn, entry)) return true;
    }

    if (object_count(&entry->object) <= SETTLE_AT_ONCE) return false;
    const struct policy *policy = exceeded_policy(txn, entry);
    if (policy == NULL) return false;
    size_t most = (size_t)policy->max_len, excess = object_count(&entry->object) - most;
    return work_of(txn, entry, excess, most) > SETTLE_AT_ONCE;
}

size_t txn_settle_some(struct txn *txn, struct entry **entry, size_t limit)
{
    size_t done = 0;
    if (has_expired(txn, *entry) && !goes_whole(txn, *entry)) {
        /* Members that expired after their key cause no event of their own. */
        msec at = entry_expires_at(txn->ks, *entry);
        msec by = instant_expired(at, txn->now) ? at : txn->now;
        done = txn_type_of(*entry)->purge(txn, entry, by, limit);
    }
    if (*entry == NULL || done >= limit) return done;

    const struct policy *policy = exceeded_policy(txn, *entry);
    if (policy == NULL) return done;
    size_t most = (size_t)policy->max_len, excess = object_count(&(*entry)->object) - most;
    size_t work = work_of(txn, *entry, excess, most), left = limit - done;
    bool at_once = excess <= left || (work < excess && work <= SETTLE_AT_ONCE);
    size_t cut = at_once ? excess : left;
    uint32_t accessed = (*entry)->accessed;
    txn_policy_cut(txn, *entry, policy, cut);
    (*entry)->accessed = accessed; /* no client used the key */
    return done + (cut < work ? cut : work);
}
