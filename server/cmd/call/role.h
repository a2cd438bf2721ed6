/* role: the server's role in replication, set by server/replica. The gates check it, and so does
 * work for masters, such as expiry and eviction. On a master all fields are false, except
 * few_replicas while min-replicas-to-write is not met. */
#pragma once

#include <stdbool.h>

struct role {
    bool replica;      /* the master owns the data: no expiry or eviction here */
    bool stale;        /* the link to the master is down, or the first copy is incomplete */
    bool few_replicas; /* fewer good replicas than min-replicas-to-write */
};
