/* stream_group: the consumer groups of a stream, with their consumers and pending entries. A group
 * stores only the ID of a pending entry, because the stream may have deleted the entry.
 *
 * The pending entries of a group are in one counted B+ tree, ordered by ID (pending_tree.h). A
 * record takes 16 to 40 bytes, usually 16. For each child, an inner node stores the earliest
 * instants and the set of consumers below the child, so that a search for the entries of a
 * consumer, or for old ones, can skip children that contain none. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/type/stream/stream_id.h"

struct stream_groups; /* all groups of a stream */
struct stream_group;
struct stream_consumer;

struct stream_groups *stream_groups_new(void);
/* Frees at most *work groups, consumers and leaves of pending entries, and subtracts their number
 * from *work. Returns true when done. */
bool stream_groups_free_some(struct stream_groups *groups, size_t *work);
size_t stream_groups_bytes(const struct stream_groups *groups); /* memory. O(1) */
void stream_groups_check(const struct stream_groups *groups);
/* Defragments the groups step by step. Returns their address, which may change. cursor->at is 0
 * before the first call and after the last; cursor->phase is not used. */
struct stream_groups *stream_groups_relocate(struct stream_groups *groups,
                                             struct relocation_cursor *cursor,
                                             struct relocation *relocation);

/* ---- groups, by name ---- */
/* The functions that find return NULL or false if there is nothing of this name or ID. */

size_t stream_groups_count(const struct stream_groups *groups);
struct stream_group *group_find(const struct stream_groups *groups, struct bytes name);
/* Adds a group before the first entry, without consumers. The name must be absent. O(log n) */
struct stream_group *group_add(struct stream_groups *groups, struct bytes name);
/* Moves a group with its consumers and pending entries to another stream's groups, which must lack
 * its name. A group is moved to be freed in slices. O(log n) */
void group_move(struct stream_group *group, struct stream_groups *to);
/* Returns the group after this one in the order of names (as memcmp), or NULL after the last. For
 * NULL, returns the first group. */
struct stream_group *group_next(const struct stream_groups *groups,
                                const struct stream_group *group);
struct bytes group_name(const struct stream_group *group);

#define GROUP_READ_UNKNOWN (-1)

struct group_position {
    struct stream_id last; /* the last ID delivered */
    int64_t read;          /* entries of the stream up to it, or GROUP_READ_UNKNOWN */
};
struct group_position group_position(const struct stream_group *group);
void group_set_position(struct stream_group *group, const struct group_position *position);

/* ---- consumers, by name ---- */

size_t group_count_consumers(const struct stream_group *group);
struct stream_consumer *consumer_find(const struct stream_group *group, struct bytes name);
/* Adds a consumer, which was seen now. The name must be absent. O(log n) */
struct stream_consumer *consumer_add(struct stream_group *group, struct bytes name, msec now);
/* Removes the consumer's pending entries. O(leaves with such entries * log n) */
void consumer_clear(struct stream_group *group, struct stream_consumer *consumer);
/* Removes and frees the consumer, which must have no pending entries. O(log n) */
void consumer_remove(struct stream_group *group, struct stream_consumer *consumer);
struct stream_consumer *consumer_next(const struct stream_group *group,
                                      const struct stream_consumer *consumer); /* as group_next */
struct bytes consumer_name(const struct stream_consumer *consumer);
size_t consumer_pending(const struct stream_consumer *consumer); /* O(1) */
/* Returns when the consumer last called a command. This is not part of the data: journals,
 * snapshots and replicas do not receive it. COPY keeps it, and RDB payloads contain it. */
msec consumer_seen_at(const struct stream_consumer *consumer);
void consumer_saw(struct stream_consumer *consumer, msec now);

/* ---- pending entries, by ID ---- */

struct pending {
    struct stream_id id;
    struct stream_consumer *consumer; /* NULL once released by XNACK */
    msec at; /* delivery time; if released, when it may be delivered again */
    uint64_t deliveries;
};

size_t group_count_pending(const struct stream_group *group);  /* O(1) */
size_t group_count_released(const struct stream_group *group); /* pending without a consumer */
bool pending_find(const struct stream_group *group, struct stream_id id, struct pending *found);
/* Adds a pending entry, or replaces the one with this ID. O(log n) */
void pending_put(struct stream_group *group, const struct pending *pending);
bool pending_remove(struct stream_group *group,
                    struct stream_id id); /* false if it is not pending. O(log n) */
bool pending_first(const struct stream_group *group, struct stream_id *id); /* false if none */
bool pending_final(const struct stream_group *group, struct stream_id *id);

struct pending_filter {
    struct stream_id from, to;              /* both included */
    const struct stream_consumer *consumer; /* NULL for any, and released ones */
    bool by_time;                           /* compare `at` with the two limits: */
    msec until, until_released;             /* latest `at`, of delivered and of released entries */
};
/* Finds the first entry that passes the filter, in the order of IDs. Returns false if none does. To
 * continue, set filter->from to the ID after the one found; the group may change between calls. For
 * the cost see pending_tree.h. */
bool pending_next(const struct stream_group *group, const struct pending_filter *filter,
                  struct pending *found);
/* Return the earliest `at` of delivered and of released ones, or NEVER. O(1) */
msec group_first_delivered(const struct stream_group *group);
msec group_first_released(const struct stream_group *group);
