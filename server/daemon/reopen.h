/* reopen: applies changed addresses, ports, tls-replication, why-memory and dir, and checks whether
 * maxclients is possible. These options are separate from others because applying them may fail.
 * Depends on net, http, tls and persist. */
#pragma once

#include "server/admin/admin.h"

struct parts;

/* Is it one of these options, other than why-memory and maxclients? */
bool reopen_has(const struct conf_option *option);
/* Applies the current values of those options in `set` that this file handles, for CONFIG SET and
 * reloads; the context is the parts. Fails as described at admin_parts.try; logs the details. */
bool reopen_try(void *parts, const struct conf_option *const *set, size_t count,
                struct config_fault *fault);

/* Is it one of the options that reopen_prepares prepares? */
bool reopen_may_prepare(const struct conf_option *option);
/* Would setting these options wait for a disk or a name server? Implements admin_parts.prepares,
 * with the parts as context. */
bool reopen_prepares(void *parts, const struct config_wish *wishes, size_t count);

/* Listens for HTTP if metrics-port is not 0. On failure, returns false with the reason in `why`. */
bool reopen_http(struct parts *parts, char *why, size_t size);
