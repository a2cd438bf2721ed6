/* Folder server/admin/client: commands of connections: CLIENT (client_commands, client_list,
 * client_pause, client_tracking), HELLO, AUTH, SELECT, RESET and others (connection), and the
 * name of the caller (identity). Depends on server/net for the list of clients. Start with
 * connection.c.
 *
 * May use: conf proto/resp server/engine/acl server/admin server/base server/cmd/call server/net
 * server/engine/observe server/disk server/engine/react server/replica server/replica/stream
 * server/engine store/. */
