/* host_names: keeps the addresses of host names that were resolved ahead, for later steps that
 * can't wait, such as opening listening sockets. Depends on resolver. A numeric address needs no
 * resolving, and is not kept. */
#pragma once

#include <sys/queue.h>
#include <sys/socket.h>

#include "server/base/loop.h"

enum { HOST_ADDRESSES_MAX = 8 };

struct host_name {
    LIST_ENTRY(host_name) next;
    int error; /* of getaddrinfo; 0 with addresses */
    unsigned count;
    struct sockaddr_storage addresses[HOST_ADDRESSES_MAX]; /* with port 0 */
    socklen_t sizes[HOST_ADDRESSES_MAX];
    char host[];
};

struct host_names;

/* Knows no addresses yet. `ended` is called when a search of host_names_prepare has ended, whether
 * it found addresses or not. */
struct host_names *host_names_new(struct loop *loop, void (*ended)(void *ctx), void *ctx);
void host_names_free(struct host_names *names);

/* Searches the addresses of the name for host_names_find; drops a search for another name. Returns
 * true while the search runs: call again when it has ended. Returns false if the caller need not
 * wait: the addresses or the error are known, `host` is no name, or no search can be started. */
bool host_names_prepare(struct host_names *names, const char *host);
/* Returns the addresses of the name, or the error of its search; NULL if it was not resolved ahead.
 * `names` may be NULL. */
const struct host_name *host_names_find(const struct host_names *names, const char *host);
/* Forgets all addresses and errors, so that the next preparations search again. */
void host_names_forget(struct host_names *names);

/* Returns the address at this index with a port. */
struct sockaddr_storage host_name_at(const struct host_name *name, unsigned index, uint16_t port);
