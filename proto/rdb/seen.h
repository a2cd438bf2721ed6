/* seen: finds duplicate members of a value. To save memory, the table stores a fingerprint of 127
 * bits in place of each member: SipHash-1-3 with a random key (early during boot: an address), so
 * that nobody can prepare two members with the same fingerprint. Among a billion members the
 * probability of a collision is about 2^-68. A zeroed table is empty.
 *
 * Members are spread by extendible hashing (Fagin, Nievergelt, Pippenger and Strong 1979): a bucket
 * of 16 KiB that is half full splits in two. An ordinary hash table would now and then rehash all
 * members in one call. */
#pragma once

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
void rdb_seen_clear(struct rdb_seen *seen); /* forgets all members, for the next value */
void rdb_seen_drop(struct rdb_seen *seen);
