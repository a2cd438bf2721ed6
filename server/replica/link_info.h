/* link_info: describes the link to the master like a client, for CLIENT LIST. Depends on
 * replication. */
#pragma once

#include "server/net/client.h"
#include "server/replica/replication.h"

struct link_info {
    struct client_info info; /* points into the rest */
    struct session session;
    struct outbuf out;
    char peer[300], local[128];
};

/* Describes the link. Returns false, without setting `info`, unless a master's stream is being
 * received. */
bool link_info_read(struct link_info *it, const struct replication *replication);
