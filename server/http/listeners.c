/* listeners: see listeners.h. */
#include "server/http/listeners.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/net/listening.h"

enum {
    BACKLOG = 128,           /* connections that the kernel queues, as libevent's own default */
    RETRY_USEC = 100 * 1000, /* pause after accept() failed for lack of descriptors */
};

static void resume_one(struct evhttp_bound_socket *bound, void *ctx)
{
    (void)ctx;
    evconnlistener_enable(evhttp_bound_socket_get_listener(bound));
}

static void resume_accepting(evutil_socket_t fd, short what, void *server)
{
    (void)fd;
    (void)what;
    evhttp_foreach_bound_socket(server, resume_one, NULL);
}

/* Called when accept() failed, mostly for lack of descriptors. The connection stays in the kernel's
 * queue, so trying again at once would spin: pauses this listener. When the pause ends, this
 * listener may no longer exist, so all listeners of the evhttp `server` are resumed then. */
static void on_accept_error(struct evconnlistener *listener, void *server)
{
    const struct timeval pause = { .tv_usec = RETRY_USEC };
    log_line(LOG_VERBOSE, "metrics-port: can't accept a connection: %s. Trying again in 100 ms",
             strerror(errno));
    evconnlistener_disable(listener);
    event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, resume_accepting, server,
                    &pause);
}

static void count_bound(struct evhttp_bound_socket *bound, void *ctx)
{
    (void)bound;
    size_t *count = ctx;
    ++*count;
}

static void find_first(struct evhttp_bound_socket *bound, void *ctx)
{
    struct evhttp_bound_socket **first = ctx;
    if (*first == NULL) *first = bound;
}

void listeners_close(struct evhttp *server)
{
    for (;;) {
        struct evhttp_bound_socket *first = NULL;
        evhttp_foreach_bound_socket(server, find_first, &first);
        if (first == NULL) return;
        evhttp_del_accept_socket(server, first);
    }
}

bool listeners_open(struct evhttp *server, const struct host_names *names, const char *bind,
                    int port, char *why, size_t why_size)
{
    size_t count = 0;
    char word[LISTENING_WORD];
    snprintf(why, why_size, "metrics-port: metrics-bind has no address to listen on");
    while (listening_next_word(&bind, word)) {
        struct listening listening = { .port = (uint16_t)port, .backlog = BACKLOG, .names = names };
        int fd = listening_open(&listening, word);
        if (fd < 0) {
            snprintf(why, why_size, "metrics-port: can't listen on %s port %d: %s",
                     word + (word[0] == '-'), port, listening.why);
            if (listening.left_out) continue;
            return false;
        }
        struct evhttp_bound_socket *bound = evhttp_accept_socket_with_handle(server, fd);
        if (bound == NULL) {
            snprintf(why, why_size, "metrics-port: out of memory");
            close(fd);
            return false;
        }
        evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), on_accept_error);
        struct sockaddr_storage here = { 0 };
        socklen_t size = sizeof(here);
        char address[NI_MAXHOST] = "";
        getsockname(fd, (struct sockaddr *)&here, &size);
        getnameinfo((struct sockaddr *)&here, size, address, sizeof(address), NULL, 0,
                    NI_NUMERICHOST);
        bool is_v6 = here.ss_family == AF_INET6;
        log_line(LOG_NOTICE, "Listening for HTTP on %s%s%s:%d", is_v6 ? "[" : "", address,
                 is_v6 ? "]" : "", port);
    }
    if (*bind != '\0') {
        snprintf(why, why_size, "metrics-bind: address is too long (%zu characters)",
                 strcspn(bind, " "));
        return false;
    }
    evhttp_foreach_bound_socket(server, count_bound, &count);
    return count > 0; /* otherwise `why` is the reason for the last address */
}
