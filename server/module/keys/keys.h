/* Folder server/module/keys: deadlines of the host's own keys. Start with volatile_keys.h.
 *
 *     volatile_keys   makes the host expire its keys on time
 *     key_changes     a queue of names from keyspace events
 *     command_ttl     the deadlines that commands give in their arguments
 *     due_keys        names and instants, in agendas; name_pages: memory for the names
 *
 * May use: server/base server/module/api store/. */
