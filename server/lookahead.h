/* lookahead: what the next requests will touch is brought into the cache before the first of them
 * runs. Knows where a request's first key stands; refuses to know commands. All of it is a hint: a
 * wrong guess costs a little time and nothing else. */
#ifndef SERVER_LOOKAHEAD_H
#define SERVER_LOOKAHEAD_H

#include "store/keyspace.h"

struct look {
    const struct keyspace *ks;
    const struct bytes *args; /* the key, and what stands behind it */
    int count;
    /* Filled in on the way. */
    uint64_t hash;
    const struct entry *entry;
    const struct dict *table;
    uint64_t member_hash;
};

void lookahead(struct look *looks, unsigned count);

#endif
