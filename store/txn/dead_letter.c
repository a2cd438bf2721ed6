/* dead_letter: see dead_letter.h. */
#include "store/txn/dead_letter.h"

#include <stdio.h>

#include "store/mem/mem.h"
#include "store/txn/txn_internal.h"

static const struct policy *limiting_policy(struct txn *txn, const struct entry *entry)
{
    if (txn->store->policies.delivery_limits == 0) return NULL;
    const struct policy *policy = txn_policy_of(txn, entry);
    if (policy == NULL || policy->max_deliveries == 0) return NULL;
    /* The policy's prefix may cover its own target, which must then have no limit. */
    return bytes_equal(policy->dead_to, entry_key(entry)) ? NULL : policy;
}

uint64_t dead_letter_limit(struct txn *txn, const struct entry *entry)
{
    const struct policy *policy = limiting_policy(txn, entry);
    return policy != NULL ? policy->max_deliveries : 0;
}

/* NULL: the key can't take the entry. */
static struct entry *find_target(struct txn *txn, struct bytes key, struct stream_id *id)
{
    struct entry *target = txn_peek(txn, key);
    if (target == NULL) target = txn_create(txn, key, TYPE_STREAM);
    bool fits = target->object.type == TYPE_STREAM && txn_stream_next_id(txn, target, id);
    if (!fits) txn->store->stats.dead_letter_errors++;
    return fits ? target : NULL;
}

enum dead_letter_result dead_letter_move(struct txn *txn, struct entry *entry,
                                         struct stream_group *group, const struct pending *pending)
{
    struct stream_walk walk;
    struct stream_entry source;
    struct stream_id id;
    stream_walk_up(&walk, entry->object.stream, pending->id);
    if (!stream_walk_next(&walk, &source) || !stream_id_equal(source.id, pending->id))
        return DEAD_LETTER_MISSING;
    struct entry *target = find_target(txn, limiting_policy(txn, entry)->dead_to, &id);
    if (target == NULL) return DEAD_LETTER_REFUSED;

    char number[24];
    int digits = snprintf(number, sizeof(number), "%llu", (unsigned long long)pending->deliveries);
    size_t count = 0;
    struct bytes *parts = mem_alloc((2 * source.count + 6) * sizeof(*parts));
    while (stream_entry_next(&source, &parts[count], &parts[count + 1]))
        count += 2;
    const struct bytes added[] = {
        LIT("origin"),     entry_key(entry),  LIT("group"),
        group_name(group), LIT("deliveries"), bytes_of(number, (size_t)digits),
    };
    memcpy(parts + count, added, sizeof(added));
    txn_stream_append(txn, target, id, parts, count + sizeof(added) / sizeof(added[0]));
    mem_free(parts);
    txn_pending_remove(txn, entry, group, pending->id);
    return DEAD_LETTER_MOVED;
}
