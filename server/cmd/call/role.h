/* role: what the gates have to know of replication. replica/ sets it; all false: a master alone. */
#ifndef SERVER_CMD_CALL_ROLE_H
#define SERVER_CMD_CALL_ROLE_H

#include <stdbool.h>

struct role {
    bool replica;      /* the data are a master's: nothing expires or is evicted by itself */
    bool stale;        /* the link to the master is down, or the first copy is not there yet */
    bool few_replicas; /* fewer good replicas than min-replicas-to-write */
};

#endif
