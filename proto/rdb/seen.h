/* seen: finds duplicate members of a value. To save memory it stores 128-bit fingerprints in place
 * of members: SipHash-1-3 with a random key, so that nobody can prepare a collision. Among a
 * billion members, two different ones collide with a probability of about 2^-68. A zeroed table is
 * empty.
 *
 * Uses extendible hashing (Fagin, Nievergelt, Pippenger and Strong 1979): a bucket that is half
 * full splits in two. No single call does much work, whereas an ordinary hash table would now and
 * then rehash all members at once. */
#ifndef PROTO_RDB_SEEN_H
#define PROTO_RDB_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/bytes.h"

struct rdb_seen_bucket;

struct rdb_seen {
    struct rdb_seen_bucket **buckets; /* 2^depth pointers, several of which may be equal */
    uint32_t depth;
    uint8_t key[16];
    bool keyed;
};

enum rdb_seen_result { RDB_SEEN_NEW, RDB_SEEN_BEFORE, RDB_SEEN_NO_MEMORY };

enum rdb_seen_result rdb_seen_add(struct rdb_seen *seen, struct bytes member);
void rdb_seen_clear(struct rdb_seen *seen); /* for the next value */
void rdb_seen_drop(struct rdb_seen *seen);

#endif
