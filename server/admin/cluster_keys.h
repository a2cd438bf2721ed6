/* cluster_keys: the subcommands of CLUSTER about keys and slots: KEYSLOT, COUNTKEYSINSLOT,
 * GETKEYSINSLOT. They do not check the option `cluster`: cluster.c calls them only if a cluster is
 * emulated. Context: struct cluster_context. */
#pragma once

struct call;

void cluster_reply_keyslot(struct call *call);
void cluster_reply_count(struct call *call);
void cluster_reply_keys(struct call *call);
