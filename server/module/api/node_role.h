/* node_role: whether this node is a master, which alone expires keys and applies policies.
 *
 * After a restart, a replica in a cluster connects to its master only once it has found it again.
 * Until then the host treats it as a master, and reports it as one in the context. When a module
 * opens an overdue key, the host then removes it, although the master may have moved its deadline
 * since the node's file was written. But the host reads the node's role in the cluster from
 * nodes.conf when it starts, so we ask GetClusterNodeInfo for it. A replica outside a cluster has
 * its master in its configuration, before it loads. */
#ifndef SERVER_MODULE_API_NODE_ROLE_H
#define SERVER_MODULE_API_NODE_ROLE_H

#include "server/module/api/redis_api.h"

enum node_role {
    NODE_MASTER,
    NODE_REPLICA, /* opening a key removes nothing */
    NODE_WAITING, /* a replica without its master, or loading: keys must not be opened */
};

enum node_role node_role(RedisModuleCtx *ctx);

#endif
