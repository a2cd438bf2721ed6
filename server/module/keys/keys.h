/* Folder server/module/keys: deadlines of the host's own keys. Keyspace events are queued in
 * key_changes, with the deadline that command_ttl finds in the command's arguments. due_keys keeps
 * names and instants in agendas, with the names in name_pages. scan_keys finds the keys that
 * existed before the module was loaded; host_search suspends the host's active expire cycle while
 * many keys are due. Start with volatile_keys.h.
 *
 * May use: server/base server/module/api store/. */
