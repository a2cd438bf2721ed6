/* client_list: the subcommands of CLIENT that describe and close connections.
 *
 * Folder server/admin/client: commands of connections: CLIENT (client_commands, client_list,
 * client_pause, client_tracking), HELLO, AUTH, SELECT, RESET and others (connection), and the name
 * of the caller (identity). Depends on server/net for the list of clients. Start with
 * connection.c. */
#ifndef SERVER_ADMIN_CLIENT_CLIENT_LIST_H
#define SERVER_ADMIN_CLIENT_CLIENT_LIST_H

struct call;
struct outbuf;
struct session;

/* Appends the line of CLIENT LIST about a session; no effect if the session has no connection. */
void client_list_describe(struct session *session, struct outbuf *to);
void cmd_client_info(struct call *call);
void cmd_client_list(struct call *call);
void cmd_client_kill(struct call *call);

#endif
