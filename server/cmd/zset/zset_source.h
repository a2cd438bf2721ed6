/* zset_source: reads a set or a sorted set as members with scores, so that zset_algebra.c treats
 * both alike. Each member of a set has the score 1. */
#pragma once

#include "store/type/object.h"

bool source_is_possible(const struct object *object); /* is it a set or a sorted set? */

/* An iterator over a set, in no particular order, or over a sorted set, lowest score first. The
 * object must not change during the iteration. */
struct source_iter {
    bool is_set;
    struct set_iter set;
    struct zset_iter zset;
};
void source_iter_begin(struct source_iter *iter, const struct object *object);
bool source_iter_next(struct source_iter *iter, struct bytes *member, double *score);
struct bytes source_iter_keep(const struct source_iter *iter, struct bytes member,
                              struct outbuf *texts); /* see zset_iter_keep */

/* Finds the score of a member. O(1) */
bool source_score(const struct object *object, struct bytes member, double *score);
