/* seen: finds duplicate members of a value. Stores 128-bit fingerprints (SipHash-1-3 with a random
 * key, so that collisions cannot be prepared), not the members. Among a billion members, two
 * different ones are taken for the same with a probability of about 2^-68. A zeroed table is empty.
 */
#ifndef PROTO_RDB_SEEN_H
#define PROTO_RDB_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/rdb/bytes.h"

struct rdb_print {
    uint64_t low, high; /* low is 0 in a free slot */
};

struct rdb_seen {
    struct rdb_print *slots;
    size_t count, size; /* size: 0 or a power of two, at least twice the count */
    uint64_t key[2];
    bool keyed;
};

enum rdb_seen_result { RDB_SEEN_NEW, RDB_SEEN_BEFORE, RDB_SEEN_NO_MEMORY };

enum rdb_seen_result rdb_seen_add(struct rdb_seen *seen, struct rdb_bytes member);
void rdb_seen_clear(struct rdb_seen *seen); /* for the next value */
void rdb_seen_drop(struct rdb_seen *seen);

#endif
