/* Folder server/engine/react: the reactions to a change of data. commit_hooks is the store's
 * listener: each call of a client asks it which effects it wants, and mutators pass these to it.
 * It passes effects to the journal, the replication stream, blocked (clients that wait for
 * keys), watch (WATCH), tracking (client-side caching) and notify (keyspace events), which
 * publishes through pubsub. So no command notifies, wakes or journals anything itself. Start
 * with commit_hooks.h, then watch.h, the smallest of the parts.
 *
 * May use: conf proto/resp server/base server/cmd/call server/disk server/replica/stream
 * store/. */
