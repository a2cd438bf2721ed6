/* Folder server/admin/client: the commands of connections. CLIENT is in client_commands,
 * client_list and client_tracking, with client_filter for the options of LIST and KILL; HELLO,
 * AUTH, SELECT, RESET and others are in connection; identity sets the caller's name. The list of
 * clients comes from server/net. Start with connection.c.
 *
 * May use: conf proto/resp server/engine/acl server/admin server/base server/cmd/call server/net
 * server/engine/observe server/disk server/engine/react server/replica server/replica/stream
 * server/engine store/. */
