/* cluster_nodes: the commands that describe an emulated cluster: SLOTS, SHARDS, NODES, INFO. Each
 * is called only when it is emulated; context: struct cluster_context. */
#ifndef SERVER_ADMIN_CLUSTER_NODES_H
#define SERVER_ADMIN_CLUSTER_NODES_H

struct call;

void cluster_reply_slots(struct call *call);
void cluster_reply_shards(struct call *call);
void cluster_reply_nodes(struct call *call);
void cluster_reply_info(struct call *call);

#endif
