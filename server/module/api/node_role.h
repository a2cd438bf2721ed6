/* node_role: whether this node is a master, which alone expires keys and applies policies.
 *
 * After a restart, a replica in a cluster must find its master before it connects to it. Until then
 * the host treats the replica as a master, and reports it as one in the context. If a module opened
 * an overdue key now, the host would remove the key, although the master may have moved its
 * deadline since the node's file was written. The host reads the node's true role from nodes.conf
 * when it starts, so we ask GetClusterNodeInfo for it. A replica outside a cluster knows its master
 * from its configuration, before it loads. */
#ifndef SERVER_MODULE_API_NODE_ROLE_H
#define SERVER_MODULE_API_NODE_ROLE_H

#include "server/module/api/redis_api.h"

enum node_role {
    NODE_MASTER,
    NODE_REPLICA, /* opening a key removes nothing */
    NODE_WAITING, /* a replica without its master, or loading: open no keys */
};

enum node_role node_role(RedisModuleCtx *ctx);

#endif
