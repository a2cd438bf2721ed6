/* cluster_nodes: the subcommands that describe an emulated cluster: SLOTS, SHARDS, NODES, INFO.
 * Call them only if the cluster is emulated; context: struct cluster_context. */
#pragma once

struct call;

void cluster_reply_slots(struct call *call);
void cluster_reply_shards(struct call *call);
void cluster_reply_nodes(struct call *call);
void cluster_reply_info(struct call *call);
