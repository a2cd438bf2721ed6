/* Folder server/admin/client: the commands of connections. CLIENT (client_commands, client_list,
 * client_pause, client_tracking), HELLO, AUTH, SELECT, RESET and others (connection), and the
 * caller's name (identity). The list of clients comes from server/net. Start with connection.c.
 *
 * May use: conf proto/resp server/engine/acl server/admin server/base server/cmd/call server/net
 * server/engine/observe server/disk server/engine/react server/replica server/replica/stream
 * server/engine store/. */
