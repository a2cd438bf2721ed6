/* Folder server/engine/react: the reactions to a change of data. No command notifies, wakes or
 * journals anything itself. Instead commit_hooks listens to the store: each call of a client asks
 * it which effects it wants, and mutators pass it these effects. commit_hooks hands them to the
 * journal, the replication stream, blocked (clients that wait for keys), watch (WATCH), tracking
 * (client-side caching) and notify (keyspace events), which publishes through pubsub. Start with
 * commit_hooks.h, then watch.h, the smallest of the parts.
 *
 * May use: conf proto/resp server/base server/cmd/call server/disk server/replica/stream store/. */
