/* node_role: whether this node is a master. Only a master expires keys and applies policies.
 *
 * The host's own answer (GetContextFlags) is wrong for a while: after a restart, a replica in a
 * cluster counts as a master until it has found its master. If the module opened an overdue key
 * then, the host would remove the key, although the master may have moved its deadline since this
 * node's file was written. GetClusterNodeInfo knows better: it has the role from nodes.conf, which
 * the host reads when it starts. A replica outside a cluster knows its master from its
 * configuration, before it loads. */
#pragma once

#include "server/module/api/redis_api.h"

enum node_role {
    NODE_MASTER,
    NODE_REPLICA, /* opening a key removes nothing */
    NODE_WAITING, /* a replica without its master, or loading: open no keys */
};

enum node_role node_role(RedisModuleCtx *ctx);
