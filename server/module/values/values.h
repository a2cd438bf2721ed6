/* Folder server/module/values: our objects as values of the host. Start with lent_keys.h.
 *
 *     lent_keys    lends the values of a call's keys to a store, for one transaction
 *     held_value   registers our types in the host
 *     held_file    writes and reads them in RDB files, DUMP payloads and append-only files
 *     canonical    writes effects for replicas and the append-only file
 *     due_values   knows the keys whose values contain something that falls due
 *
 * May use: proto/resp server/base server/cmd/call server/disk/effect server/disk/format
 * server/module/api server/module/keys store/. */
