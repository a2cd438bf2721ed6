/* Folder server/module/api: the interface of the host. Start with redis_api.h.
 *
 *     redis_api        the functions that the module imports
 *     command_info     registers commands
 *     reply            passes replies to clients
 *     node_role        the host's role in replication
 *     imported_slots   the slots that the host is importing
 *     stream_readers   whether anyone reads the host's stream of changes
 *
 * May use: proto/resp server/base server/cmd/call store/. */
