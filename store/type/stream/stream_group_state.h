/* stream_group_state: the structs behind stream_group.h. Private to stream_group*.c.
 *
 * A group is one allocation, and so is a consumer: the struct, followed by its member of the tree
 * by name. */
#pragma once

#include "store/struct/ranked.h"
#include "store/type/stream/pending_tree.h"
#include "store/type/stream/stream_group.h"

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

static inline struct ranked_member *group_member(const struct stream_group *group)
{
    return (struct ranked_member *)(uintptr_t)(group + 1);
}

static inline struct ranked_member *consumer_member(const struct stream_consumer *consumer)
{
    return (struct ranked_member *)(uintptr_t)(consumer + 1);
}

static inline struct stream_group *group_of(const struct ranked_member *member)
{
    return member == NULL ? NULL : (struct stream_group *)(uintptr_t)member - 1;
}

static inline struct stream_consumer *consumer_of(const struct ranked_member *member)
{
    return member == NULL ? NULL : (struct stream_consumer *)(uintptr_t)member - 1;
}

static inline size_t group_bytes(const struct stream_group *group)
{
    return group->names + pending_tree_bytes(&group->pending) +
           ranked_bytes_used(&group->consumers) + group->cap * sizeof(*group->numbered);
}

/* Adds the change of the group's own memory since the last call to its owner's bytes. */
static inline void group_count_bytes(struct stream_group *group)
{
    size_t bytes = group_bytes(group);
    group->owner->bytes += bytes - group->counted;
    group->counted = bytes;
}
