/* stream_group: groups and consumers, in trees by name (struct ranked with equal scores).
 * stream_group_pending.c keeps the pending entries, which refer to a consumer by its number. */
#include "store/type/stream/stream_group.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/type/stream/stream_group_state.h"

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

/* Frees the group's consumers and pending entries, in slices, but not the group itself. */
static bool group_clear_some(struct stream_group *group, size_t *work)
{
    if (!pending_tree_drop_some(&group->pending, work)) return false;
    while (group->consumers.count > 0) {
        if (*work == 0) return false;
        consumer_free(group, consumer_of(ranked_take(&group->consumers)));
        --*work;
    }
    mem_free(group->numbered);
    group->numbered = NULL;
    group->cap = 0;
    return true;
}

bool stream_groups_free_some(struct stream_groups *groups, size_t *work)
{
    while (groups->by_name.count > 0) {
        struct stream_group *last =
            group_of(ranked_at(&groups->by_name, groups->by_name.count - 1));
        bool cleared = group_clear_some(last, work);
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
