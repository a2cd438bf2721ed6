/* client_pause: CLIENT PAUSE and UNPAUSE. */
#pragma once

struct call;

void cmd_client_pause(struct call *call);
void cmd_client_unpause(struct call *call);
