/* client_list: the subcommands of CLIENT that describe and close connections. */
#pragma once

struct call;
struct outbuf;
struct session;

/* Appends the line of CLIENT LIST about a session; no effect if the session has no connection. */
void client_list_describe(struct session *session, struct outbuf *to);
void cmd_client_info(struct call *call);
void cmd_client_list(struct call *call);
void cmd_client_kill(struct call *call);
