/* node_role: see node_role.h. */
#include "server/module/api/node_role.h"

enum node_role node_role(RedisModuleCtx *ctx)
{
    int flags = redis.GetContextFlags(ctx);
    if (flags & CTX_LOADING) return NODE_WAITING;
    if (!(flags & CTX_MASTER)) return NODE_REPLICA;
    if (!(flags & CTX_CLUSTER)) return NODE_MASTER;

    /* The host returns the ID of a node without a terminating zero, but expects one. */
    const char *name = redis.GetMyClusterID();
    char id[CLUSTER_ID_LEN + 1] = "";
    if (name == NULL) return NODE_MASTER;
    memcpy(id, name, CLUSTER_ID_LEN);
    int node = 0;
    bool known = redis.GetClusterNodeInfo(ctx, id, NULL, NULL, NULL, &node) == API_OK;
    return known && (node & CLUSTER_REPLICA) ? NODE_WAITING : NODE_MASTER;
}
