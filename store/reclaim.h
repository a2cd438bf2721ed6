/* reclaim: what has left the keyspace and is still to be freed.
 * Small values are freed at once; big ones wait here and go in slices, so that no DEL and no
 * FLUSHALL is ever a stall. */
#ifndef STORE_RECLAIM_H
#define STORE_RECLAIM_H

#include <stdbool.h>
#include <stddef.h>

#include "store/keyspace.h"
#include "store/type/object.h"

struct reclaim_item;

struct reclaim {
    struct reclaim_item *first, *last;
};

void reclaim_init(struct reclaim *reclaim);
void reclaim_drop(struct reclaim *reclaim); /* frees all that waits */
void reclaim_object(struct reclaim *reclaim, struct object object);
void reclaim_keyspace(struct reclaim *reclaim, struct keyspace ks); /* handed over whole */
/* Frees about `work` elements; true while more is waiting. */
bool reclaim_run(struct reclaim *reclaim, size_t work);
static inline bool reclaim_pending(const struct reclaim *reclaim)
{
    return reclaim->first != NULL;
}

#endif
