/* stream_group_pending: the pending entries of groups (stream_group.h), and stream_groups_check,
 * which compares them with the counts of consumers. */
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/type/stream/stream_group_state.h"

/* ---- pending entries ---- */

size_t group_count_pending(const struct stream_group *group)
{
    return group->pending.count;
}

size_t group_count_released(const struct stream_group *group)
{
    return group->released;
}

static struct stream_consumer *consumer_numbered(const struct stream_group *group, uint32_t number)
{
    return number == 0 ? NULL : group->numbered[number].consumer;
}

static void count_removed(struct stream_group *group, uint32_t number, struct stream_id id)
{
    struct stream_consumer *consumer = consumer_numbered(group, number);
    if (consumer == NULL) {
        group->released--;
        return;
    }
    consumer->pending--;
    if (stream_id_equal(id, consumer->low))
        stream_id_up(&consumer->low);
    else if (stream_id_equal(id, consumer->high))
        stream_id_down(&consumer->high);
}

static struct pending pending_of(const struct stream_group *group,
                                 const struct pending_record *record)
{
    return (struct pending){
        .id = record->id,
        .consumer = consumer_numbered(group, record->consumer),
        .at = record->at,
        .deliveries = record->deliveries,
    };
}

bool pending_find(const struct stream_group *group, struct stream_id id, struct pending *found)
{
    struct pending_record record;
    if (!pending_tree_find(&group->pending, id, &record)) return false;
    *found = pending_of(group, &record);
    return true;
}

void pending_put(struct stream_group *group, const struct pending *pending)
{
    struct pending_record old, record = {
        .id = pending->id,
        .at = pending->at,
        .deliveries = pending->deliveries,
        .consumer = pending->consumer == NULL ? 0 : pending->consumer->number,
    };
    if (pending_tree_put(&group->pending, &record, &old))
        count_removed(group, old.consumer, old.id);

    /* Widen the bounds of the consumer's IDs. Entries are added at the end and removed at the
     * front, so that the bounds stay close, and few entries of other consumers are between them. */
    struct stream_consumer *consumer = pending->consumer;
    if (consumer != NULL) {
        bool is_first = consumer->pending++ == 0;
        if (is_first || stream_id_before(record.id, consumer->low)) consumer->low = record.id;
        if (is_first || stream_id_before(consumer->high, record.id)) consumer->high = record.id;
    } else {
        group->released++;
    }
    group_count_bytes(group);
}

bool pending_remove(struct stream_group *group, struct stream_id id)
{
    struct pending_record removed;
    if (!pending_tree_remove(&group->pending, id, &removed)) return false;
    count_removed(group, removed.consumer, id);
    group_count_bytes(group);
    return true;
}

static bool id_at(const struct stream_group *group, size_t rank, struct stream_id *id)
{
    struct pending_record record;
    if (!pending_tree_at(&group->pending, rank, &record)) return false;
    *id = record.id;
    return true;
}

bool pending_first(const struct stream_group *group, struct stream_id *id)
{
    return id_at(group, 0, id);
}

bool pending_final(const struct stream_group *group, struct stream_id *id)
{
    return group->pending.count > 0 && id_at(group, group->pending.count - 1, id);
}

/* Adds the consumer to a query; returns false if none of its entries can match. */
static bool query_consumer(struct pending_query *query, const struct stream_consumer *consumer)
{
    query->consumer = consumer->number;
    if (stream_id_before(query->from, consumer->low)) query->from = consumer->low;
    if (stream_id_before(consumer->high, query->to)) query->to = consumer->high;
    return consumer->pending > 0 && !stream_id_before(query->to, query->from);
}

bool pending_next(const struct stream_group *group, const struct pending_filter *filter,
                  struct pending *found)
{
    struct pending_record record;
    struct pending_query query = {
        .from = filter->from,
        .to = filter->to,
        .by_time = filter->by_time,
        .until = { [PENDING_DELIVERED] = filter->until,
                   [PENDING_RELEASED] = filter->until_released },
    };
    if (filter->consumer != NULL && !query_consumer(&query, filter->consumer)) return false;
    if (!pending_tree_next(&group->pending, &query, &record)) return false;
    *found = pending_of(group, &record);
    return true;
}

void consumer_clear(struct stream_group *group, struct stream_consumer *consumer)
{
    struct pending_query query = { .to = STREAM_ID_MAX };
    size_t count = group->pending.count;
    if (!query_consumer(&query, consumer)) return;
    pending_tree_forget(&group->pending, &query);
    ensure(count - group->pending.count == consumer->pending, "%zu of %zu were pending",
           count - group->pending.count, consumer->pending);
    consumer->pending = 0;
    group_count_bytes(group);
}

msec group_first_delivered(const struct stream_group *group)
{
    return group->pending.all.first[PENDING_DELIVERED];
}

msec group_first_released(const struct stream_group *group)
{
    return group->pending.all.first[PENDING_RELEASED];
}

/* ---- checking ---- */

struct tally {
    const struct stream_group *group;
    size_t *pending; /* pending entries of each consumer, by its number */
};

static void tally_record(void *ctx, const struct pending_record *record)
{
    const struct tally *tally = ctx;
    ensure(record->consumer < tally->group->numbers, "consumer %u of %u", record->consumer,
           tally->group->numbers);
    tally->pending[record->consumer]++;
    const struct stream_consumer *consumer = consumer_numbered(tally->group, record->consumer);
    ensure(consumer == NULL || (!stream_id_before(record->id, consumer->low) &&
                                !stream_id_before(consumer->high, record->id)),
           "consumer %u has an entry outside its bounds", record->consumer);
}

static void check_consumers(const struct stream_group *group, const size_t *pending)
{
    size_t names = mem_size(group), count = 0;
    const struct stream_consumer *consumer = NULL;
    for (; (consumer = consumer_next(group, consumer)) != NULL; count++) {
        uint32_t number = consumer->number;
        ensure(number > 0 && number < group->numbers &&
                   group->numbered[number].consumer == consumer,
               "number %u of %u is another's", number, group->numbers);
        ensure(pending[number] == consumer->pending, "%zu are pending, counted %zu",
               pending[number], consumer->pending);
        names += mem_size(consumer);
    }
    for (uint32_t number = group->free_number; number != 0; count++) {
        ensure(number < group->numbers && pending[number] == 0 &&
                   (group->numbered[number].next_free & 1) == 1,
               "free number %u of %u", number, group->numbers);
        number = (uint32_t)(group->numbered[number].next_free >> 1);
    }
    ensure(count + 1 == group->numbers && group->numbers <= (group->cap > 0 ? group->cap : 1),
           "%zu consumers and free numbers of %u", count, group->numbers);
    ensure(names == group->names && pending[0] == group->released,
           "%zu bytes of names, counted %zu; %zu released, counted %zu", names, group->names,
           pending[0], group->released);
}

void stream_groups_check(const struct stream_groups *groups)
{
    size_t bytes = 0;
    ranked_check(&groups->by_name);
    for (struct stream_group *group = NULL; (group = group_next(groups, group)) != NULL;) {
        ensure(group->owner == groups, "group has %p, not %p", (void *)group->owner,
               (const void *)groups);
        size_t *pending = mem_zalloc(group->numbers * sizeof(*pending));
        struct tally tally = { group, pending };
        ranked_check(&group->consumers);
        pending_tree_check(&group->pending, tally_record, &tally);
        check_consumers(group, pending);
        ensure(group->counted == group_bytes(group), "%zu bytes, counted %zu", group_bytes(group),
               group->counted);
        mem_free(pending);
        bytes += group->counted;
    }
    ensure(bytes == groups->bytes, "%zu bytes, counted %zu", bytes, groups->bytes);
}
