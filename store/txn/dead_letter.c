/* dead_letter: see dead_letter.h. */
#include "store/txn/dead_letter.h"

#include "store/base/number.h"
#include "store/mem/mem.h"
#include "store/txn/txn_internal.h"
#include "store/txn/txn_trail.h"

enum { DEAD_ELEMENTS_MAX = 1000 }; /* moved by one call, so that other clients wait only briefly */

static const struct policy *limiting_policy(struct txn *txn, const struct entry *entry)
{
    if (txn->store->policies.with[POLICY_MAXDELIVERIES] == 0) return NULL;
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

/* Returns the entry at the policy's target, created if it is missing. */
static struct entry *find_target(struct txn *txn, const struct entry *entry, enum type created)
{
    struct bytes key = limiting_policy(txn, entry)->dead_to;
    struct entry *target = txn_find_without_lru(txn, key);
    return target != NULL ? target : txn_create_uncounted(txn, key, created);
}

static bool takes_entry(struct txn *txn, struct entry *target, struct stream_id *id)
{
    return target->object.type == TYPE_STREAM && txn_stream_next_id(txn, target, id);
}

static struct bytes print_number(char number[NUMBER_INT64_MAX_CHARS], uint64_t value)
{
    return bytes_of(number, number_print_uint64(number, value));
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
    struct entry *target = find_target(txn, entry, TYPE_STREAM);
    if (!takes_entry(txn, target, &id)) {
        txn->store->stats.dead_letter_errors++;
        return DEAD_LETTER_REFUSED;
    }

    char number[NUMBER_INT64_MAX_CHARS];
    size_t count = 0;
    struct bytes *texts = mem_alloc((2 * source.count + 6) * sizeof(*texts));
    while (stream_entry_next(&source, &texts[count], &texts[count + 1]))
        count += 2;
    const struct bytes added[] = {
        LIT("origin"),     entry_key(entry),  LIT("group"),
        group_name(group), LIT("deliveries"), print_number(number, pending->deliveries),
    };
    memcpy(texts + count, added, sizeof(added));
    txn_stream_append(txn, target, id, texts, count + sizeof(added) / sizeof(added[0]));
    mem_free(texts);
    txn_pending_remove(txn, entry, group, pending->id);
    return DEAD_LETTER_MOVED;
}

/* Returns how many more elements the dehydrator `key` can take if it contains `count`; SIZE_MAX
 * without a limit. */
static size_t room_in_dehydrator(struct txn *txn, struct bytes key, size_t count)
{
    const struct policy *policy = policies_of(&txn->store->policies, key, NULL);
    if (policy == NULL || policy->max_len == 0) return SIZE_MAX;
    return count < policy->max_len ? (size_t)policy->max_len - count : 0;
}

/* Returns how many elements the target of the entry's policy can take. While there is no room at
 * all, an element whose id exists there does not move either, although it would need no room. */
static size_t room_at_target(struct txn *txn, const struct entry *entry)
{
    struct stream_id id;
    struct bytes key = limiting_policy(txn, entry)->dead_to;
    struct entry *target = txn_find_without_lru(txn, key);
    if (target == NULL) return room_in_dehydrator(txn, key, 0);
    if (target->object.type == TYPE_DEHYDRATOR)
        return room_in_dehydrator(txn, key, dehydrator_count(target->object.dehydrator));
    return takes_entry(txn, target, &id) ? SIZE_MAX : 0;
}

/* Moves the element to the target of the entry's policy. Returns false, and keeps the element, if
 * the target can't take it. */
static bool bury(struct txn *txn, struct entry *entry, struct element *element)
{
    struct dehydrator *dehydrator = entry->object.dehydrator;
    uint32_t deliveries = dehydrator_stage(dehydrator, element).deliveries;
    struct entry *target = find_target(txn, entry, TYPE_DEHYDRATOR);
    struct bytes id = element_id(element), payload = element_payload(element);
    struct stream_id stream_id;
    if (target->object.type == TYPE_DEHYDRATOR) {
        const struct stage due = { .at = txn->now };
        const struct dehydrator *to = target->object.dehydrator;
        if (room_in_dehydrator(txn, entry_key(target), dehydrator_count(to)) == 0 &&
            dehydrator_find(to, id) == NULL)
            return false;
        txn_rede_replace(txn, target, id, payload, &due);
    } else {
        char number[NUMBER_INT64_MAX_CHARS];
        if (!takes_entry(txn, target, &stream_id)) return false;
        const struct bytes texts[] = {
            LIT("payload"), payload, LIT("origin"),     entry_key(entry),
            LIT("id"),      id,      LIT("deliveries"), print_number(number, deliveries),
        };
        txn_stream_append(txn, target, stream_id, texts, sizeof(texts) / sizeof(texts[0]));
    }
    uint32_t by = txn_trail_ruled(txn, POLICY_MAXDELIVERIES);
    txn_rede_finish(txn, entry, element, EVENT_REDE_DEAD);
    txn_trail_unruled(txn, by);
    return true;
}

size_t dead_letter_move_elements(struct txn *txn, struct entry *entry, size_t wanted)
{
    struct element *found[DEAD_ELEMENTS_MAX];
    uint64_t limit = dead_letter_limit(txn, entry);
    const struct dehydrator *dehydrator = entry->object.dehydrator;
    size_t due = dehydrator_count_due(dehydrator, txn->now);
    if (dehydrator_count_redelivered(dehydrator) == 0 && limit > 1)
        return due < wanted ? due : wanted;

    /* An element for which the target has no room is delivered again. It counts as claimable, so
     * that a claim that finds the target full looks at no more elements than it delivers. */
    size_t room = room_at_target(txn, entry), dead = 0, claimable = 0, kept = 0;
    struct dehydrator_walk walk;
    dehydrator_walk_begin(&walk, dehydrator);
    for (; due > 0 && claimable < wanted; due--) {
        msec at;
        struct element *element = dehydrator_walk_next(&walk, &at);
        bool is_dead = dehydrator_stage(dehydrator, element).deliveries >= limit;
        bool moves = is_dead && dead < room;
        if (moves && dead == DEAD_ELEMENTS_MAX) break;
        if (moves) found[dead++] = element;
        kept += is_dead && !moves;
        claimable += !moves;
    }
    dehydrator_walk_end(&walk);

    for (size_t i = 0; i < dead; i++) {
        bool moved = bury(txn, entry, found[i]);
        kept += !moved;
        claimable += !moved;
    }
    txn->store->stats.dead_letter_errors += kept;
    /* All due elements were examined. An element that moved may have left a successor that is due
     * too, so count again. */
    if (due == 0) claimable = dehydrator_count_due(dehydrator, txn->now);
    return claimable < wanted ? claimable : wanted;
}
