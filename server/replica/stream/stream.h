/* Folder server/replica/stream: the replication stream. feed writes transactions as the text of the
 * stream, backlog keeps the last bytes for replicas that reconnect. Both are separate from
 * server/replica because the commit hooks, which are in a layer below the network, call feed. Start
 * with feed.h.
 *
 * May use: server/disk/effect server/disk/format store/. */
