/* Folder server/replica/stream: the replication stream. feed writes transactions as its text,
 * backlog keeps its last bytes for replicas that reconnect. This folder is apart from
 * server/replica because the commit hooks, which are below the network, call it. Start with feed.h.
 *
 * May use: server/disk/effect server/disk/format store/. */
