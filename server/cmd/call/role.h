/* role: the state of replication that the gates check, set by replica/. All fields of a master
 * without replicas are false. */
#ifndef SERVER_CMD_CALL_ROLE_H
#define SERVER_CMD_CALL_ROLE_H

#include <stdbool.h>

struct role {
    bool replica;      /* the master owns the data: no expiry or eviction here */
    bool stale;        /* the link to the master is down, or the first copy is incomplete */
    bool few_replicas; /* fewer good replicas than min-replicas-to-write */
};

#endif
