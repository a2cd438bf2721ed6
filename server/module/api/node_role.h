/* node_role: whether this node is a master, which alone expires keys and applies policies.
 *
 * After a restart, a replica in a cluster connects to its master only once it has found it again.
 * Until then the host reports it as a master, both in the context and when a module opens a key,
 * and so would remove overdue keys that were loaded from the node's file, although the master may
 * have moved their deadlines since. But the host reads the role from its file of the cluster
 * (nodes.conf) when it starts, so we ask for the role there. A replica outside a cluster has its
 * master in its configuration, before it loads. */
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
