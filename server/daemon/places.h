/* places: the options that say where the daemon is found: addresses, ports and the working
 * directory. To take effect each needs something of the system that may refuse it. Depends on net,
 * http, tls and persist. */
#ifndef SERVER_DAEMON_PLACES_H
#define SERVER_DAEMON_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "server/admin/admin.h"

struct parts;

bool places_has(const struct conf_option *option); /* is it one of them? */
/* For CONFIG SET and reloads, with the parts: the options of `set` that are places take effect with
 * the values that they have now. False: see struct config_context; the log has the details. */
bool places_try(void *parts, const struct conf_option *const *set, size_t count,
                struct config_fault *fault);

/* Begins to listen for HTTP if metrics-port is not 0. False: `why` has the reason. */
bool places_open_http(struct parts *parts, char *why, size_t size);

#endif
