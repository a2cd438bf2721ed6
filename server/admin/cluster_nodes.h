/* cluster_nodes: the subcommands of CLUSTER that describe an emulated cluster: SLOTS, SHARDS,
 * NODES, INFO. They do not check the option `cluster`: cluster.c calls them only if a cluster is
 * emulated. Context: struct cluster_context. */
#pragma once

struct call;

void cluster_reply_slots(struct call *call);
void cluster_reply_shards(struct call *call);
void cluster_reply_nodes(struct call *call);
void cluster_reply_info(struct call *call);
