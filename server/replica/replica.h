/* Folder server/replica: masters and replicas. replication owns the role and sets struct role
 * (server/cmd/call/role.h) for the gates. On a master, replicas sends the stream to the replicas,
 * and replica_copies full copies, which full_copy writes in a forked child. On a replica, link is
 * the connection to the master, follower applies its stream, replication_load receives a full copy.
 * history names the streams that the data belongs to, waits keeps the clients of WAIT, failover
 * hands the role over. Start with replication.h; doc/replication.md is the page for operators.
 *
 * May use: conf proto/resp server/base server/cmd/call server/net server/engine/observe server/disk
 * server/disk/effect server/disk/format server/disk/import server/engine/react
 * server/replica/stream server/engine server/net/tls store/. */
