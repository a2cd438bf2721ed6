/* Folder server/module/api: the interface of the host. redis_api declares the functions that the
 * module imports, node_role tells the host's role, imported_slots the slots that it is importing,
 * stream_readers whether its stream of changes has readers; command_info registers commands, and
 * reply passes replies to clients. Start with redis_api.h.
 *
 * May use: proto/resp server/base server/cmd/call store/. */
