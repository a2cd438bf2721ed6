/* stream_group: groups and consumers, in trees by name (struct ranked with equal scores), and the
 * pending entries of groups, which refer to a consumer by its number.
 *
 * A group is one allocation, and so is a consumer: the struct, followed by its member of the tree
 * by name. */
#include "store/type/stream/stream_group.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/struct/ranked.h"
#include "store/type/stream/pending_tree.h"

struct stream_groups {
    struct ranked by_name;
    size_t bytes; /* memory of the groups and all that they own */
};

/* A slot of the table of consumers, by number. A free slot contains 2 * n + 1, where n is the next
 * free number; an odd value is never an address. */
union numbered {
    struct stream_consumer *consumer;
    uintptr_t next_free;
};

struct stream_group {
    struct stream_groups *owner;
    struct group_position position;
    struct pending_tree pending;
    struct ranked consumers;
    size_t names;             /* bytes of the consumers, and of this struct */
    size_t counted;           /* bytes of the group that its owner has counted */
    union numbered *numbered; /* number 0 is not used */
    uint32_t numbers, cap;    /* numbers used so far, and allocated */
    uint32_t free_number;     /* the first free one below `numbers`, or 0 */
    uint32_t unused;
    size_t released; /* pending entries without a consumer */
};

struct stream_consumer {
    size_t pending;
    struct stream_id low, high; /* bounds of the pending IDs; unused if there are none */
    msec seen_at;
    uint32_t number, unused;
};

static struct ranked_member *group_member(const struct stream_group *group)
{
    return (struct ranked_member *)(uintptr_t)(group + 1);
}

static struct ranked_member *consumer_member(const struct stream_consumer *consumer)
{
    return (struct ranked_member *)(uintptr_t)(consumer + 1);
}

static struct stream_group *group_of(const struct ranked_member *member)
{
    return member == NULL ? NULL : (struct stream_group *)(uintptr_t)member - 1;
}

static struct stream_consumer *consumer_of(const struct ranked_member *member)
{
    return member == NULL ? NULL : (struct stream_consumer *)(uintptr_t)member - 1;
}

static size_t group_bytes(const struct stream_group *group)
{
    return group->names + pending_tree_bytes(&group->pending) +
           ranked_bytes_used(&group->consumers) + group->cap * sizeof(*group->numbered);
}

/* Adds to the owner's bytes what the group's own memory has grown since the last call. */
static void group_count_bytes(struct stream_group *group)
{
    size_t bytes = group_bytes(group);
    group->owner->bytes += bytes - group->counted;
    group->counted = bytes;
}

/* ---- names ---- */

/* Allocates a block of `head` zero bytes and a member with the name. */
static void *named_new(size_t head, struct bytes name)
{
    ensure(name.len <= RANKED_LEN_MAX, "a name of %zu bytes", name.len);
    char *block = mem_alloc(head + ranked_size(name.len, false));
    memset(block, 0, head);
    ranked_member_init((struct ranked_member *)(void *)(block + head), 0, name, false);
    return block;
}

static struct ranked_member *name_find(const struct ranked *names, struct bytes name)
{
    struct ranked_member *member = ranked_at(names, ranked_below_member(names, name, false));
    return member != NULL && bytes_equal(ranked_bytes(member), name) ? member : NULL;
}

/* Returns the member after this one; for NULL, the first. */
static struct ranked_member *name_next(const struct ranked *names,
                                       const struct ranked_member *member)
{
    return ranked_at(names, member == NULL ? 0 : ranked_rank(names, member) + 1);
}

/* ---- all groups ---- */

struct stream_groups *stream_groups_new(void)
{
    struct stream_groups *groups = mem_alloc(sizeof(*groups));
    ranked_init(&groups->by_name);
    groups->bytes = 0;
    return groups;
}

static void consumer_free(struct stream_group *group, struct stream_consumer *consumer)
{
    group->names -= mem_size(consumer);
    mem_free(consumer);
}

bool stream_groups_free_some(struct stream_groups *groups, size_t *work)
{
    while (groups->by_name.count > 0) {
        struct stream_group *last =
            group_of(ranked_at(&groups->by_name, groups->by_name.count - 1));
        bool cleared = pending_tree_drop_some(&last->pending, work);
        for (; cleared && *work > 0 && last->consumers.count > 0; --*work)
            consumer_free(last, consumer_of(ranked_take(&last->consumers)));
        cleared = cleared && last->consumers.count == 0;
        if (cleared) {
            mem_free(last->numbered);
            last->numbered = NULL;
            last->cap = 0;
        }
        group_count_bytes(last);
        if (!cleared || *work == 0) return false;
        groups->bytes -= last->counted;
        ranked_take(&groups->by_name);
        mem_free(last);
        --*work;
    }
    ranked_drop(&groups->by_name);
    mem_free(groups);
    return true;
}

size_t stream_groups_bytes(const struct stream_groups *groups)
{
    return mem_size(groups) + ranked_bytes_used(&groups->by_name) + groups->bytes;
}

size_t stream_groups_count(const struct stream_groups *groups)
{
    return groups->by_name.count;
}

struct stream_group *group_find(const struct stream_groups *groups, struct bytes name)
{
    return group_of(name_find(&groups->by_name, name));
}

struct stream_group *group_next(const struct stream_groups *groups,
                                const struct stream_group *group)
{
    return group_of(name_next(&groups->by_name, group == NULL ? NULL : group_member(group)));
}

struct stream_group *group_add(struct stream_groups *groups, struct bytes name)
{
    ensure(group_find(groups, name) == NULL, "a group with this name of %zu bytes exists",
           name.len);
    struct stream_group *group = named_new(sizeof(*group), name);
    group->owner = groups;
    group->names = mem_size(group);
    group->numbers = 1;
    pending_tree_init(&group->pending);
    ranked_init(&group->consumers);
    ranked_add(&groups->by_name, group_member(group));
    group_count_bytes(group);
    return group;
}

void group_move(struct stream_group *group, struct stream_groups *to)
{
    struct stream_groups *from = group->owner;
    ensure(group_find(to, group_name(group)) == NULL, "a group with this name of %zu bytes exists",
           group_name(group).len);
    ranked_remove(&from->by_name, group_member(group));
    ranked_add(&to->by_name, group_member(group));
    from->bytes -= group->counted;
    to->bytes += group->counted;
    group->owner = to;
}

struct bytes group_name(const struct stream_group *group)
{
    return ranked_bytes(group_member(group));
}

struct group_position group_position(const struct stream_group *group)
{
    return group->position;
}

void group_set_position(struct stream_group *group, const struct group_position *position)
{
    group->position = *position;
}

/* ---- consumers ---- */

size_t group_count_consumers(const struct stream_group *group)
{
    return group->consumers.count;
}

struct stream_consumer *consumer_find(const struct stream_group *group, struct bytes name)
{
    return consumer_of(name_find(&group->consumers, name));
}

struct stream_consumer *consumer_next(const struct stream_group *group,
                                      const struct stream_consumer *consumer)
{
    return consumer_of(
        name_next(&group->consumers, consumer == NULL ? NULL : consumer_member(consumer)));
}

struct bytes consumer_name(const struct stream_consumer *consumer)
{
    return ranked_bytes(consumer_member(consumer));
}

struct stream_consumer *consumer_add(struct stream_group *group, struct bytes name, msec now)
{
    ensure(consumer_find(group, name) == NULL, "a consumer with this name of %zu bytes exists",
           name.len);
    struct stream_consumer *consumer = named_new(sizeof(*consumer), name);

    /* Use a freed number again. Small numbers fit into the smallest records, and the fewer numbers
     * there are, the fewer consumers share a bit of the summaries. */
    uint32_t number = group->free_number;
    if (number != 0) {
        group->free_number = (uint32_t)(group->numbered[number].next_free >> 1);
    } else {
        number = group->numbers++;
        ensure(number != 0, "2^32 consumers");
        if (number >= group->cap) {
            group->cap = group->cap == 0 ? 2 : group->cap * 2;
            group->numbered = mem_realloc(group->numbered, group->cap * sizeof(*group->numbered));
            group->numbered[0].next_free = 0;
        }
    }
    group->numbered[number].consumer = consumer;
    consumer->number = number;

    consumer->seen_at = now;
    group->names += mem_size(consumer);
    ranked_add(&group->consumers, consumer_member(consumer));
    group_count_bytes(group);
    return consumer;
}

void consumer_remove(struct stream_group *group, struct stream_consumer *consumer)
{
    ensure(consumer->pending == 0, "%zu entries are pending", consumer->pending);
    ranked_remove(&group->consumers, consumer_member(consumer));
    if (group->consumers.count > 0) {
        group->numbered[consumer->number].next_free = (uintptr_t)group->free_number << 1 | 1;
        group->free_number = consumer->number;
    } else {
        mem_free(group->numbered);
        group->numbered = NULL;
        group->numbers = 1;
        group->cap = group->free_number = 0;
    }
    consumer_free(group, consumer);
    group_count_bytes(group);
}

size_t consumer_pending(const struct stream_consumer *consumer)
{
    return consumer->pending;
}

msec consumer_seen_at(const struct stream_consumer *consumer)
{
    return consumer->seen_at;
}

void consumer_saw(struct stream_consumer *consumer, msec now)
{
    consumer->seen_at = now;
}

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

    /* Widen the bounds of the consumer's IDs. They stay close while entries are added at the end
     * and removed at the front. */
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

/* ---- relocating ---- */

/* The cursor of stream_groups_relocate has two phases: first the blocks of groups move, then what
 * each group owns.
 *
 *     bit 63    bits 40 to 62    bits 0 to 39
 *     0         a group's rank, in all 63 bits
 *     1         a group's rank   rank inside the group: its pending entries, then its consumers */
#define CURSOR_INSIDE    (UINT64_C(1) << 63)
#define CURSOR_RANK_BITS 40
#define CURSOR_RANK_MASK ((UINT64_C(1) << CURSOR_RANK_BITS) - 1)

static struct ranked_member *move_group(void *ctx, struct ranked_member *old)
{
    struct stream_group *group = relocation_copy(ctx, group_of(old));
    if (group == NULL) return old;
    mem_free(group_of(old));
    return group_member(group);
}

struct consumer_mover {
    struct stream_group *group;
    struct relocation *relocation;
};

static struct ranked_member *move_consumer(void *ctx, struct ranked_member *old)
{
    const struct consumer_mover *mover = ctx;
    struct stream_consumer *consumer = relocation_copy(mover->relocation, consumer_of(old));
    if (consumer == NULL) return old;
    mover->group->numbered[consumer->number].consumer = consumer;
    mem_free(consumer_of(old));
    return consumer_member(consumer);
}

/* Relocates some of the group's memory, from a rank on. Returns the next rank, or 0 when done. */
static size_t group_relocate(struct stream_group *group, size_t rank, struct relocation *relocation)
{
    size_t next;
    if (rank == 0) group->numbered = relocation_block(relocation, group->numbered);
    if (rank < group->pending.count) {
        next = pending_tree_relocate(&group->pending, rank, relocation);
        if (next > 0) return next;
        return group->consumers.count > 0 ? group->pending.count : 0;
    }
    struct consumer_mover mover = { group, relocation };
    rank -= group->pending.count;
    next = ranked_relocate(&group->consumers, rank, relocation, move_consumer, &mover);
    return next > 0 ? group->pending.count + next : 0;
}

struct stream_groups *stream_groups_relocate(struct stream_groups *groups,
                                             struct relocation_cursor *cursor,
                                             struct relocation *relocation)
{
    struct stream_groups *moved = cursor->at == 0 ? relocation_copy(relocation, groups) : NULL;
    if (moved != NULL) {
        mem_free(groups);
        groups = moved;
        for (struct stream_group *group = NULL; (group = group_next(groups, group)) != NULL;)
            group->owner = groups;
    }
    do {
        if ((cursor->at & CURSOR_INSIDE) != 0) {
            size_t rank = (cursor->at & ~CURSOR_INSIDE) >> CURSOR_RANK_BITS, next = 0;
            struct stream_group *group = group_of(ranked_at(&groups->by_name, rank));
            if (group != NULL)
                next = group_relocate(group, cursor->at & CURSOR_RANK_MASK, relocation);
            if (next == 0) rank++;
            bool is_over = rank >= groups->by_name.count || rank >> (63 - CURSOR_RANK_BITS) != 0;
            cursor->at =
                is_over ? 0 : CURSOR_INSIDE | rank << CURSOR_RANK_BITS | (next & CURSOR_RANK_MASK);
        } else {
            cursor->at =
                ranked_relocate(&groups->by_name, cursor->at, relocation, move_group, relocation);
            if (cursor->at == 0 && groups->by_name.count > 0) cursor->at = CURSOR_INSIDE;
        }
    } while (cursor->at != 0 && relocation->left > 0);
    return groups;
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
