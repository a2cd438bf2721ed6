/* node_role: whether this node is a master, which alone expires keys and applies policies.
 *
 * A replica of a cluster that has been restarted connects to its master only when it has met it
 * again. Until then the engine's context calls it a master, and so does the engine where a module
 * opens a key: it would remove the overdue keys of the node's file, although their deadlines may
 * have been moved since. The cluster knows the role from the beginning: it is in the node's own
 * file of the cluster. A replica that is no node of a cluster has its master from its
 * configuration, before it loads. */
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
