/* host_names: see host_names.h. */
#include "server/base/host_names.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "server/base/resolver.h"
#include "store/mem/mem.h"

struct host_names {
    struct resolver *resolver;
    LIST_HEAD(, host_name) known;
    struct host_name *wanted; /* the search that runs, or NULL */
    void (*ended)(void *ctx);
    void *ctx;
};

static void note_found(void *ctx, const struct addrinfo *list, int error)
{
    struct host_names *names = ctx;
    struct host_name *name = names->wanted;
    names->wanted = NULL;
    name->error = error;
    for (; list != NULL && name->count < HOST_ADDRESSES_MAX; list = list->ai_next) {
        if (list->ai_addrlen > sizeof(name->addresses[0])) continue;
        memcpy(&name->addresses[name->count], list->ai_addr, list->ai_addrlen);
        name->sizes[name->count++] = list->ai_addrlen;
    }
    LIST_INSERT_HEAD(&names->known, name, next);
    names->ended(names->ctx);
}

struct host_names *host_names_new(struct loop *loop, void (*ended)(void *ctx), void *ctx)
{
    struct host_names *names = mem_zalloc(sizeof(*names));
    LIST_INIT(&names->known);
    names->resolver = resolver_new(loop, note_found, names);
    names->ended = ended;
    names->ctx = ctx;
    return names;
}

void host_names_free(struct host_names *names)
{
    if (names == NULL) return;
    host_names_forget(names);
    resolver_free(names->resolver);
    mem_free(names->wanted);
    mem_free(names);
}

bool host_names_prepare(struct host_names *names, const char *host)
{
    struct addrinfo *list = resolver_parse(host, 0);
    if (list != NULL) freeaddrinfo(list);
    if (list != NULL || host_names_find(names, host) != NULL) return false;
    if (names->wanted != NULL && strcmp(names->wanted->host, host) == 0) return true;
    mem_free(names->wanted); /* a caller that wants this name asks again */
    names->wanted = NULL;
    if (resolver_begin(names->resolver, host, 0) != 0) return false;
    size_t size = strlen(host) + 1;
    names->wanted = mem_zalloc(sizeof(*names->wanted) + size);
    memcpy(names->wanted->host, host, size);
    return true;
}

const struct host_name *host_names_find(const struct host_names *names, const char *host)
{
    const struct host_name *name = NULL;
    if (names == NULL) return NULL;
    LIST_FOREACH(name, &names->known, next)
    if (strcmp(name->host, host) == 0) break;
    return name;
}

void host_names_forget(struct host_names *names)
{
    struct host_name *name;
    while ((name = LIST_FIRST(&names->known)) != NULL) {
        LIST_REMOVE(name, next);
        mem_free(name);
    }
}

struct sockaddr_storage host_name_at(const struct host_name *name, unsigned index, uint16_t port)
{
    struct sockaddr_storage address = name->addresses[index];
    if (address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)&address)->sin_port = htons(port);
    return address;
}
