/* resolver: see resolver.h. Each search runs in a thread of its own. The loop and that thread own
 * the search together, because either may be the last to use it; the last owner frees it. */
#include "server/base/resolver.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/thread.h"
#include "store/mem/mem.h"
#include "store/mem/shared.h"

enum {
    LOOKUPS_MAX = 8,
    HOST_MAX = 1025, /* NI_MAXHOST */
    SERVICE_MAX = 24,
    /* For the cache of a new thread: jemalloc 5.3 crashes if it finds no memory for that. */
    THREAD_NEEDS = 64 * 1024,
};

/* The thread writes `list` and `error` before it makes `event` readable; the loop reads them after
 * that. */
struct lookup {
    atomic_int owners;
    char host[HOST_MAX], service[SERVICE_MAX];
    struct addrinfo *list;
    int error;
    int event; /* readable once the search has ended */
    /* For the loop alone: */
    TAILQ_ENTRY(lookup) in_list;
    struct resolver *resolver;
    struct loop_io *io;
};

struct resolver {
    struct loop *loop;
    void (*found)(void *ctx, const struct addrinfo *list, int error);
    void *ctx;
    struct lookup *wanted; /* one of `running`, or NULL if nobody waits */
    unsigned count;
    TAILQ_HEAD(, lookup) running;
};

static int search(const char *host, const char *service, int flags, struct addrinfo **list)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = flags | AI_NUMERICSERV };
    return getaddrinfo(host, service, &hints, list);
}

static void print_service(char service[SERVICE_MAX], int64_t port)
{
    snprintf(service, SERVICE_MAX, "%" PRId64, port);
}

struct addrinfo *resolver_parse(const char *host, int64_t port)
{
    char service[SERVICE_MAX];
    struct addrinfo *list;
    print_service(service, port);
    return search(host, service, AI_NUMERICHOST, &list) == 0 ? list : NULL;
}

static void let_go(struct lookup *lookup)
{
    if (atomic_fetch_sub(&lookup->owners, 1) > 1) return;
    if (lookup->list != NULL) freeaddrinfo(lookup->list);
    close(lookup->event);
    mem_shared_free(lookup);
}

static void *lookup_main(void *of)
{
    struct lookup *lookup = of;
    lookup->error = search(lookup->host, lookup->service, 0, &lookup->list);
    if (lookup->error != 0) lookup->list = NULL;
    thread_wake(lookup->event);
    let_go(lookup);
    return NULL;
}

static void forget(struct lookup *lookup)
{
    struct resolver *resolver = lookup->resolver;
    TAILQ_REMOVE(&resolver->running, lookup, in_list);
    resolver->count--;
    if (resolver->wanted == lookup) resolver->wanted = NULL;
    loop_io_free(lookup->io);
}

static void end(void *ctx, unsigned what)
{
    struct lookup *lookup = ctx;
    struct resolver *resolver = lookup->resolver;
    bool is_wanted = resolver->wanted == lookup;
    (void)what;
    thread_woken(lookup->event);
    forget(lookup);
    if (is_wanted) resolver->found(resolver->ctx, lookup->list, lookup->error);
    let_go(lookup);
}

struct resolver *resolver_new(struct loop *loop,
                              void (*found)(void *ctx, const struct addrinfo *list, int error),
                              void *ctx)
{
    struct resolver *resolver = mem_zalloc(sizeof(*resolver));
    resolver->loop = loop;
    resolver->found = found;
    resolver->ctx = ctx;
    TAILQ_INIT(&resolver->running);
    return resolver;
}

void resolver_free(struct resolver *resolver)
{
    struct lookup *lookup;
    if (resolver == NULL) return;
    while ((lookup = TAILQ_FIRST(&resolver->running)) != NULL) {
        forget(lookup);
        let_go(lookup);
    }
    mem_free(resolver);
}

int resolver_begin(struct resolver *resolver, const char *host, int64_t port)
{
    resolver_drop(resolver);
    if (resolver->count == LOOKUPS_MAX) return EAI_AGAIN;
    struct lookup *lookup = mem_shared_alloc(sizeof(*lookup));
    if (lookup == NULL) return EAI_MEMORY;
    memset(lookup, 0, sizeof(*lookup));
    lookup->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (lookup->event < 0) {
        mem_shared_free(lookup);
        return EAI_MEMORY;
    }
    snprintf(lookup->host, sizeof(lookup->host), "%s", host);
    print_service(lookup->service, port);

    pthread_t thread;
    atomic_init(&lookup->owners, 2); /* the loop and the thread */
    if (!mem_has_room(THREAD_NEEDS) || thread_start(&thread, lookup_main, lookup) != 0) {
        atomic_fetch_sub(&lookup->owners, 1);
        let_go(lookup);
        return EAI_MEMORY;
    }
    pthread_detach(thread);
    lookup->resolver = resolver;
    lookup->io = loop_io_new(resolver->loop, lookup->event, end, lookup);
    loop_io_want(lookup->io, LOOP_READ);
    TAILQ_INSERT_TAIL(&resolver->running, lookup, in_list);
    resolver->count++;
    resolver->wanted = lookup;
    return 0;
}

void resolver_drop(struct resolver *resolver)
{
    resolver->wanted = NULL;
}
