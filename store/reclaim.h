/* reclaim: a queue of removed values and keyspaces whose memory is still to be freed. Strings and
 * small collections are freed at once, large collections in slices, so that DEL and FLUSHALL do not
 * block the loop. A thread could free them too, but would need a thread-safe allocator, which mem.h
 * is not. */
#pragma once

#include "store/keyspace.h"
#include "store/type/object.h"

struct reclaim_item;

struct reclaim {
    struct reclaim_item *first, *last;
    size_t left;    /* values in the queue, including those in keyspaces */
    uint64_t freed; /* values from the queue that were freed */
};

void reclaim_init(struct reclaim *reclaim);
void reclaim_drop(struct reclaim *reclaim); /* frees everything queued at once */
/* Take ownership of a value, or of all values of a keyspace, and queue it for reclaim_run. Strings,
 * and collections of few elements, are freed at once instead. O(1), or O(elements) for those. */
void reclaim_object(struct reclaim *reclaim, struct object object);
void reclaim_keyspace(struct reclaim *reclaim, struct keyspace ks);
/* Frees about `work` elements; returns true while more is queued. */
bool reclaim_run(struct reclaim *reclaim, size_t work);
static inline bool reclaim_pending(const struct reclaim *reclaim)
{
    return reclaim->first != NULL;
}
