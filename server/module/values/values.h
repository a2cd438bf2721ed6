/* Folder server/module/values: our objects as values of the host. held_value registers the types,
 * held_file their form in files; lent_keys lends the values of a call's keys to a store with one
 * database for one transaction, in which the functions of server/cmd run as in the daemon;
 * canonical writes their effects for replicas and the append-only file, and replay applies those.
 * due_values lists the keys whose values contain something that falls due. Start with lent_keys.h.
 *
 * May use: proto/resp server/base server/cmd/call server/disk/effect server/disk/format
 * server/module/api server/module/keys store/. */
