/* Folder server/replica/stream: the replication stream: feed turns transactions into its text,
 * backlog keeps its last bytes for replicas that reconnect. It is not part of server/replica,
 * because the commit hooks call it, and they are below the network. Start with feed.h.
 *
 * May use: server/disk/effect server/disk/format store/. */
