/* stream_progress: how many entries a group has read, and how many are left, computed as in Redis
 * 8.0: an entry that was removed before the group read it does not count. Both numbers are unknown
 * if entries in between were deleted. */
#pragma once

#include "store/type/stream/stream.h"
#include "store/type/stream/stream_group.h"

/* Moves the position to the entry `id`, the next one that the group reads; updates `read`. O(1) */
void stream_progress_to(const struct stream *stream, struct group_position *position,
                        struct stream_id id);
#define STREAM_LAG_UNKNOWN INT64_MIN
/* Returns the number of entries after the group's position that are left, or STREAM_LAG_UNKNOWN.
 * The number is negative if ENTRIESREAD of XGROUP claimed that more entries were read than were
 * ever added. O(1) */
int64_t stream_lag(const struct stream *stream, const struct stream_group *group);
