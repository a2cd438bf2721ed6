/* txn_stream: the mutators of streams. txn.h has the part of the contract that all mutators share.
 *
 * A stream without entries keeps its key. Borrowed groups and consumers stay valid until they are
 * removed, or the key is. */
#pragma once

#include "store/txn/txn.h"
#include "store/type/stream/stream_repeats.h"

/* ---- entries ---- */

/* Computes the ID of XADD's `*`: now, or the ID after the last one if that is not earlier. Returns
 * false if the IDs are exhausted. */
bool txn_stream_next_id(const struct txn *txn, const struct entry *entry, struct stream_id *id);
/* Adds an entry at the end (stream_append), with event "xadd". */
void txn_stream_append(struct txn *txn, struct entry *entry, struct stream_id id,
                       const struct bytes *texts, size_t count);
/* Adds a block of entries at the end (stream_append_packed), with event "xadd". For replay. */
void txn_stream_append_packed(struct txn *txn, struct entry *entry,
                              const struct stream_packed *packed);
/* Removes the entry, with event "xdel"; returns false if there is none. Pending entries stay. */
bool txn_stream_remove(struct txn *txn, struct entry *entry, struct stream_id id);
/* Removes the first `count` entries; event "xtrim". Pending entries stay. */
void txn_stream_trim(struct txn *txn, struct entry *entry, size_t count);
/* Sets the marks, with event "xsetid". */
void txn_stream_set_marks(struct txn *txn, struct entry *entry, const struct stream_marks *marks);
/* Sets the stream's retention, without an event. */
void txn_stream_set_retention(struct txn *txn, struct entry *entry, msec span);

/* ---- groups ---- */

/* Adds a group, with event "xgroup-create". The name must be absent. */
struct stream_group *txn_group_add(struct txn *txn, struct entry *entry, struct bytes name,
                                   const struct group_position *position);
/* Sets the group's position. `event` is EVENT_XGROUP_SETID, or EVENT_NONE after a delivery. */
void txn_group_set_position(struct txn *txn, struct entry *entry, struct stream_group *group,
                            const struct group_position *position, enum event event);
void txn_group_remove(struct txn *txn, struct entry *entry,
                      struct stream_group *group); /* event "xgroup-destroy" */
/* Adds a consumer, with event "xgroup-createconsumer". The name must be absent. */
struct stream_consumer *txn_consumer_add(struct txn *txn, struct entry *entry,
                                         struct stream_group *group, struct bytes name);
/* Removes the consumer and its pending entries, with event "xgroup-delconsumer". */
void txn_consumer_remove(struct txn *txn, struct entry *entry, struct stream_group *group,
                         struct stream_consumer *consumer);

/* ---- pending entries: without events ---- */

/* Adds a pending entry, or replaces the one of this ID. */
void txn_pending_put(struct txn *txn, struct entry *entry, struct stream_group *group,
                     const struct pending *pending);
bool txn_pending_remove(struct txn *txn, struct entry *entry, struct stream_group *group,
                        struct stream_id id); /* false if it is not pending */
/* Removes the references of all groups to this entry; returns how many. */
size_t txn_stream_forget_pending(struct txn *txn, struct entry *entry, struct stream_id id);

/* ---- entries sent twice: without events ---- */

void txn_repeat_set_limits(struct txn *txn, struct entry *entry, struct repeat_limits limits);
/* Remembers a text that a producer sent (repeat_put). */
void txn_repeat_put(struct txn *txn, struct entry *entry, struct bytes producer, struct bytes text,
                    struct stream_id id);
void txn_repeat_set_counts(struct txn *txn, struct entry *entry, struct repeat_counts counts);
