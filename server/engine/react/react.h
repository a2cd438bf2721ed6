/* Folder server/engine/react: the reactions to a change of data. No command notifies, wakes or
 * journals anything itself: mutators pass the effects of a change to the store's listener,
 * commit_hooks, which passes them on (store/brief.h tells the exception). Start with
 * commit_hooks.h, then watch.h, the smallest of the parts.
 *
 *     commit_hooks    passes effects to the journal, the replication stream and the next four
 *     blocked         wakes clients that wait for keys
 *     watch           makes EXEC fail if a watched key has changed
 *     tracking        invalidates client-side caches
 *     notify          publishes keyspace events
 *     pubsub          the channels and their subscribers
 *
 * Each call first asks commit_hooks which effects are wanted, so that unused parts cost nothing.
 *
 * May use: conf proto/resp server/base server/cmd/call server/disk server/replica/stream store/. */
