/* Folder server/module: expired.so, which runs our store inside Redis and Valkey (doc/module.md);
 * these folders call that server "the host". Start with module.c.
 *
 *     api/        the interface of the host
 *     keys/       makes the host expire its own keys on time
 *     values/     stores our types as values of the host
 *     policies/   applies the policies of a node
 *     module      the entry point, and EXPIRED.STATS
 *     commands    the commands on our types, and the effects that canonical has written
 *     limits      rate limits on the host's strings
 *     slices      runs background work in slices, when the host's loop is about to sleep
 *
 * May use: proto/resp server/base server/cmd/ server/disk/effect server/disk/format
 * server/module/api server/module/keys server/module/policies server/module/values store/. */
