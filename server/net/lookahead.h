/* lookahead: what the next requests will touch is brought into the cache before the first of them
 * runs. Knows where a request's first key stands; refuses to know commands. All of it is a hint: a
 * wrong guess costs a little time and nothing else. */
#ifndef SERVER_NET_LOOKAHEAD_H
#define SERVER_NET_LOOKAHEAD_H

#include "store/keyspace.h"

enum { LOOKS_MAX = 32 };

struct look {
    const struct keyspace *ks;
    const struct bytes *args; /* the key, and what stands behind it; NULL: no key */
    int count;
    /* What was learnt on the way. */
    bool hashed, member_hashed;
    uint64_t hash, member_hash; /* of the key, and of what is taken for a member */
    struct bytes member;
    const struct entry *entry;
    const struct dict *table;
};

void lookahead(struct look *looks, unsigned count); /* at most LOOKS_MAX */

/* Around the run of the request that was looked for: its hashes need not be made again. */
void look_remember(const struct look *look);
void look_forget(void);

#endif
