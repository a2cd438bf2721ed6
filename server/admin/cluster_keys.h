/* cluster_keys: the commands of an emulated cluster about keys and slots: KEYSLOT, COUNTKEYSINSLOT,
 * GETKEYSINSLOT. Context: struct cluster_context. */
#ifndef SERVER_ADMIN_CLUSTER_KEYS_H
#define SERVER_ADMIN_CLUSTER_KEYS_H

struct call;

void cluster_reply_keyslot(struct call *call);
void cluster_reply_count(struct call *call);
void cluster_reply_keys(struct call *call);

#endif
