/* protected_mode: with `protected-mode yes`, refuses clients from other machines while the default
 * user needs no password, as in Redis. Depends on the options and the users. */
#pragma once

#include "conf/conf.h"
#include "server/engine/acl/acl.h"

/* Is the peer, "ip:port" or "[ip6]:port", a loopback address? */
bool peer_is_loopback(const char *peer);
/* Returns the error line for a client that may not connect, or NULL if it may. `acl` is NULL for a
 * server without users. */
const char *protected_mode_refusal(const struct conf *conf, const struct acl *acl, const char *peer,
                                   bool unix_socket);
