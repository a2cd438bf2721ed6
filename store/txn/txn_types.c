/* txn_types: the table of txn_type.h. */
#include "store/txn/txn_type.h"

#include "store/txn/txn_internal.h"
#include "store/txn/txn_settle.h"
#include "store/txn/txn_stream.h"
#include "store/txn/txn_token.h"

static struct entry *settle_members(struct txn *txn, struct entry *entry)
{
    if (txn->no_expiry && object_all_expired(&entry->object, txn->now)) return NULL;
    if (txn->no_purge || (txn->no_expiry && txn->named != NULL)) {
        txn_withhold_expired(txn, entry);
        return entry;
    }
    /* Purge even with no_expiry, because a read must not see expired members. */
    txn_member_purge(txn, &entry, txn->now, SIZE_MAX);
    return entry;
}

#define MEMBERS(type, letter, removed)                                                             \
    .expire = EFFECT_##type##_EXPIRE, .drop = EFFECT_##type##_DROP,                                \
    .on_expire = EVENT_##letter##EXPIRE, .on_persist = EVENT_##letter##PERSIST,                    \
    .on_expired = EVENT_##letter##EXPIRED, .on_removed = EVENT_##removed,                          \
    .settle = settle_members, .purge = txn_member_purge

static void cut_zset(struct txn *txn, struct entry *entry, const struct policy *policy,
                     size_t excess)
{
    size_t from = policy->keep_low ? object_count(&entry->object) - excess : 0;
    txn_zset_remove_ranks(txn, entry, from, from + excess, EVENT_ZREMRANGEBYRANK);
}

/* Ends pauses, rates and remembered ids that are over. If nothing is left, drops the key and
 * returns NULL; the key then counts as expired, because time ended it. */
static struct entry *end_spans(struct txn *txn, struct entry *entry, size_t limit, size_t *done)
{
    *done = txn_rede_end_spans(txn, entry, limit);
    if (!object_is_emptied(&entry->object)) return entry;
    txn_drop_emptied(txn, entry, true);
    return NULL;
}

/* Settles a dehydrator at a look-up. Ends at most SETTLE_AT_ONCE spans, so that the look-up stays
 * fast. The timer ends the others; until then look-ups of ids compare the ends of spans with
 * now. */
static struct entry *settle_dehydrator(struct txn *txn, struct entry *entry)
{
    if (txn->no_expiry) return object_all_expired(&entry->object, txn->now) ? NULL : entry;
    txn_rede_announce(txn, entry);
    size_t done;
    entry = end_spans(txn, entry, SETTLE_AT_ONCE, &done);
    if (entry == NULL || !object_all_expired(&entry->object, txn->now)) return entry;
    txn_key_drop_as(txn, entry, EVENT_DEL, TRAIL_EMPTIED, true);
    return NULL;
}

static size_t announce_due(struct txn *txn, struct entry **entry, msec by, size_t limit)
{
    (void)by;
    txn_rede_announce(txn, *entry);
    size_t done;
    *entry = end_spans(txn, *entry, limit, &done);
    return 1 + done;
}

static struct entry *settle_stream(struct txn *txn, struct entry *entry)
{
    if (txn->no_purge)
        txn_withhold_expired(txn, entry);
    else
        txn_stream_purge(txn, entry, txn->now, SIZE_MAX);
    return entry;
}

static size_t purge_stream(struct txn *txn, struct entry **entry, msec by, size_t limit)
{
    return txn_stream_purge(txn, *entry, by, limit);
}

static void cut_stream(struct txn *txn, struct entry *entry, const struct policy *policy,
                       size_t excess)
{
    (void)policy;
    txn_stream_trim(txn, entry, excess);
}

static void adopt_dehydrator(struct txn *txn, const struct object *object)
{
    txn_token_raise(txn, dehydrator_last_token(object->dehydrator));
}

static void note_lease_end(struct txn *txn, msec at)
{
    leases_note_end(&txn->store->leases, at);
}

/* Raises the last token of the data set to those of the value, which another data set granted. */
static void adopt_lease(struct txn *txn, const struct object *object)
{
    struct lease_iter iter;
    struct holder holder;
    lease_iter_begin(&iter, object->lease);
    while (lease_iter_next(&iter, &holder)) {
        txn_token_raise(txn, holder.token);
        note_lease_end(txn, holder.end);
    }
}

/* A lease is never evicted, because a second client could then hold it too. */
const struct txn_type txn_types[TYPE_COUNT] = {
    [TYPE_SET] = { MEMBERS(SET, S, SREM) },
    [TYPE_HASH] = { MEMBERS(HASH, H, HDEL) },
    [TYPE_ZSET] = { MEMBERS(ZSET, Z, ZREM), .cut = cut_zset, .cut_copies = true },
    [TYPE_LEASE] = { .expire = EFFECT_LEASE_EXTEND,
                     .drop = EFFECT_LEASE_DROP,
                     .on_expired = EVENT_LEASE_END,
                     .on_removed = EVENT_LEASE_DROP,
                     .settle = settle_members,
                     .purge = txn_member_purge,
                     .adopt = adopt_lease,
                     .note_end = note_lease_end,
                     .spared = SPARED_ALWAYS },
    [TYPE_DEHYDRATOR] = { .settle = settle_dehydrator,
                          .purge = announce_due,
                          .due_stays = true,
                          .adopt = adopt_dehydrator,
                          .added = txn_rede_resume_counts,
                          .removing = txn_rede_keep_counts,
                          .spared = SPARED_AS_JOB },
    [TYPE_STREAM] = { .settle = settle_stream, .purge = purge_stream, .cut = cut_stream },
};
