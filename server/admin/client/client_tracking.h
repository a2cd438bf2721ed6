/* client_tracking: the subcommands of CLIENT about client-side caching. */
#pragma once

struct call;

void cmd_client_tracking(struct call *call);
void cmd_client_caching(struct call *call);
void cmd_client_getredir(struct call *call);
void cmd_client_trackinginfo(struct call *call);
