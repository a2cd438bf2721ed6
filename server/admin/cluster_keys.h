/* cluster_keys: the subcommands about keys and slots: KEYSLOT, COUNTKEYSINSLOT, GETKEYSINSLOT. Call
 * them only if the cluster is emulated; context: struct cluster_context. */
#ifndef SERVER_ADMIN_CLUSTER_KEYS_H
#define SERVER_ADMIN_CLUSTER_KEYS_H

struct call;

void cluster_reply_keyslot(struct call *call);
void cluster_reply_count(struct call *call);
void cluster_reply_keys(struct call *call);

#endif
