/* Folder server/replica: masters and replicas. Start with replication.h; doc/replication.md is the
 * page for operators.
 *
 *     replication        owns the role, and sets struct role (server/cmd/call/role.h) for the gates
 *     history            names the streams that the data belongs to
 *     backlog_file       keeps the backlog from a clean stop to the next start
 *     replica_commands   the commands for replicas, operators, Sentinel and clients that wait
 *     waits              keeps the clients that WAIT and WAITAOF block
 *     failover           hands the role over
 *   on a master:
 *     replicas           sends the stream to the replicas
 *     replica_copies     sends them full copies
 *     full_copy          writes a full copy in a forked child
 *   on a replica:
 *     link               the connection to the master
 *     follower           applies the master's stream
 *     replication_load   receives a full copy
 *
 * May use: conf proto/resp server/base server/cmd/call server/net server/engine/observe server/disk
 * server/disk/effect server/disk/format server/disk/import server/engine/react
 * server/replica/stream server/engine server/net/tls store/. */
