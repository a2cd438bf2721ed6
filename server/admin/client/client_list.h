/* client_list: the subcommands of CLIENT that describe and close connections. */
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
