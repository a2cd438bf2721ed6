/* seen: has a member of a value come before? Stores 128-bit fingerprints (SipHash-1-3 under a
 * random key, so that collisions cannot be prepared), not the members. Two
 * different members are confused about once in 2^64 values of billions of members. All zero: empty.
 */
#ifndef PROTO_RDB_SEEN_H
#define PROTO_RDB_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/rdb/bytes.h"

struct rdb_print {
    uint64_t low, high; /* low is 0 where there is none */
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
