/* cluster_keys: the subcommands about keys and slots: KEYSLOT, COUNTKEYSINSLOT, GETKEYSINSLOT. Call
 * them only if the cluster is emulated; context: struct cluster_context. */
#pragma once

struct call;

void cluster_reply_keyslot(struct call *call);
void cluster_reply_count(struct call *call);
void cluster_reply_keys(struct call *call);
