/* client_pause: CLIENT PAUSE and UNPAUSE. */
#ifndef SERVER_ADMIN_CLIENT_CLIENT_PAUSE_H
#define SERVER_ADMIN_CLIENT_CLIENT_PAUSE_H

struct call;

void cmd_client_pause(struct call *call);
void cmd_client_unpause(struct call *call);

#endif
