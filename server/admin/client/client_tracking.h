/* client_tracking: the subcommands of CLIENT about client-side caching. */
#ifndef SERVER_ADMIN_CLIENT_CLIENT_TRACKING_H
#define SERVER_ADMIN_CLIENT_CLIENT_TRACKING_H

struct call;

void cmd_client_tracking(struct call *call);
void cmd_client_caching(struct call *call);
void cmd_client_getredir(struct call *call);
void cmd_client_trackinginfo(struct call *call);

#endif
