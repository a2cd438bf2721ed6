/* node_role: see node_role.h. */
#include "server/module/api/node_role.h"

#include <string.h>

/* The host returns the ID of a node without a terminating zero, but expects one in an argument. */
static bool is_replica_of_cluster(RedisModuleCtx *ctx)
{
    const char *name = redis.GetMyClusterID();
    char id[CLUSTER_ID_LEN + 1] = "";
    int flags = 0;
    if (name == NULL) return false;
    memcpy(id, name, CLUSTER_ID_LEN);
    return redis.GetClusterNodeInfo(ctx, id, NULL, NULL, NULL, &flags) == API_OK &&
           (flags & CLUSTER_REPLICA);
}

enum node_role node_role(RedisModuleCtx *ctx)
{
    int flags = redis.GetContextFlags(ctx);
    if (flags & CTX_LOADING) return NODE_WAITING;
    if (!(flags & CTX_MASTER)) return NODE_REPLICA;
    return (flags & CTX_CLUSTER) && is_replica_of_cluster(ctx) ? NODE_WAITING : NODE_MASTER;
}
