/* Folder server/module/api: the interface of the host: the functions that the module imports
 * (redis_api), the host's role (node_role), the slots that it is importing (imported_slots),
 * registering commands (command_info), a sink that passes replies to clients (reply), and
 * whether the host's stream of changes has readers (stream_readers). Start with redis_api.h.
 *
 * May use: proto/resp server/base server/cmd/call store/. */
