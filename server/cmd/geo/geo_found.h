/* geo_found: finds the members of a sorted set within a shape and sorts them by distance. */
#pragma once

#include "server/cmd/geo/geohash.h"
#include "store/base/bytes.h"
#include "store/mem/outbuf.h"
#include "store/type/zset.h"

struct geo_match {
    struct bytes member; /* borrowed from the sorted set, or from `texts` */
    double score;
    struct geo_point point;
    double distance; /* metres from the centre */
    size_t turn;     /* position in the order of discovery */
};

struct geo_found {
    struct geo_match *matches;
    size_t count, cap;
    struct outbuf texts; /* copies of members */
};

/* Finds at most `limit` members within the shape, or all if `limit` is 0. Returns false if the
 * matches do not fit in memory. Free the result with geo_found_drop in either case. O(log n +
 * members of the cells that cover the shape) */
bool geo_find(struct geo_found *found, const struct zset *zset, const struct geo_shape *shape,
              size_t limit);
void geo_found_drop(struct geo_found *found);

/* Sorts the `wanted` nearest (or farthest) matches to the front and leaves the rest unsorted.
 * O(count + wanted * log(wanted)) expected */
void geo_found_sort(struct geo_found *found, size_t wanted, bool farthest_first);
