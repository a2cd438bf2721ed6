/* role: the state of replication, set by server/replica. The gates check it, and so does all work
 * that only a master may do, such as expiry and eviction. All fields of a master without replicas
 * are false, unless min-replicas-to-write requires some. */
#ifndef SERVER_CMD_CALL_ROLE_H
#define SERVER_CMD_CALL_ROLE_H

#include <stdbool.h>

struct role {
    bool replica;      /* the master owns the data: no expiry or eviction here */
    bool stale;        /* the link to the master is down, or the first copy is incomplete */
    bool few_replicas; /* fewer good replicas than min-replicas-to-write */
};

#endif
