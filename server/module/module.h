/* Folder server/module: expired.so, which runs our store inside Redis and Valkey ("the host" in
 * these folders; doc/module.md). api/ is the interface of the host, keys/ makes the host expire its
 * own keys on time, values/ stores our types as values of the host, policies/ applies the policies
 * of a node. This folder holds the entry point (module), the commands on our types (commands), the
 * rate limits on the host's strings (limits), the slices in which background work runs when the
 * host's loop is about to sleep (slices), and EXPIRED.STATS (stats). Start with module.c.
 *
 * May use: proto/resp server/base server/cmd/ server/disk/effect server/disk/format
 * server/module/api server/module/keys server/module/policies server/module/values store/. */
