/* zset_source: reads a set or a sorted set as members with scores; those of a set are 1. */
#ifndef SERVER_CMD_ZSET_ZSET_SOURCE_H
#define SERVER_CMD_ZSET_ZSET_SOURCE_H

#include <stdbool.h>

#include "store/type/object.h"

bool source_is_possible(const struct object *object); /* is it either? */

/* Of such an object; sorted sets are walked lowest first, sets in no order. The object must not
 * change meanwhile. */
struct source_iter {
    bool is_set;
    struct set_iter set;
    struct zset_iter zset;
};
void source_iter_begin(struct source_iter *iter, const struct object *object);
bool source_iter_next(struct source_iter *iter, struct bytes *member, double *score);

bool source_score(const struct object *object, struct bytes member, double *score); /* O(1) */

#endif
