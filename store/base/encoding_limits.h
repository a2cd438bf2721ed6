/* encoding_limits: the sizes up to which OBJECT ENCODING reports Redis' compact encoding of a
 * collection. These limits change only the reported name, because the layouts in memory have limits
 * of their own. There are two exceptions: the sparse form of a HyperLogLog and the blocks of a
 * stream really change at these limits. As in Redis, a new limit applies to values that grow
 * afterwards. */
#pragma once

#include <stddef.h>

struct encoding_limits {
    size_t hash_fields, hash_len; /* fields, and bytes of a field or value */
    size_t zset_members, zset_len;
    size_t intset_members;
    size_t hll_sparse;                   /* bytes */
    size_t stream_bytes, stream_entries; /* of a block; 0 for no limit but 32 KiB */
};

/* The limits of all stores of the process; initially Redis' defaults. */
extern struct encoding_limits encoding_limits;
