/* listeners: see listeners.h. */
#include "server/http/listeners.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "server/base/host_names.h"
#include "server/base/log.h"

enum { RETRY_USEC = 100 * 1000 }; /* pause after accept() failed for lack of descriptors */

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
    snprintf(why, why_size, "metrics-port: metrics-bind has no address to listen on");
    for (size_t len; *bind != '\0'; bind += len + (bind[len] == ' ')) {
        char word[256], number[NI_MAXHOST];
        len = strcspn(bind, " ");
        if (len == 0) continue;
        if (len >= sizeof(word)) {
            snprintf(why, why_size, "metrics-bind: address is too long (%zu characters)", len);
            return false;
        }
        memcpy(word, bind, len);
        word[len] = '\0';
        bool optional = word[0] == '-';
        const char *host = word + optional, *address = host;
        const struct host_name *name = host_names_find(names, host);
        if (name != NULL) {
            bool known = name->count > 0 &&
                         getnameinfo((const struct sockaddr *)&name->addresses[0], name->sizes[0],
                                     number, sizeof(number), NULL, 0, NI_NUMERICHOST) == 0;
            snprintf(why, why_size, "metrics-port: can't listen on %s port %d: unknown address",
                     host, port);
            if (!known) return false;
            address = number;
        }
        if (strcmp(host, "*") == 0) address = "0.0.0.0";
        if (strcmp(host, "::*") == 0) address = "::";
        errno = 0;
        struct evhttp_bound_socket *bound =
            evhttp_bind_socket_with_handle(server, address, (ev_uint16_t)port);
        if (bound == NULL) {
            int error = errno;
            snprintf(why, why_size, "metrics-port: can't listen on %s port %d: %s", host, port,
                     error != 0 ? strerror(error) : "unknown address");
            if (optional && (error == EADDRNOTAVAIL || error == EAFNOSUPPORT)) continue;
            return false;
        }
        evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), on_accept_error);
        bool is_v6 = strchr(address, ':') != NULL;
        log_line(LOG_NOTICE, "Listening for HTTP on %s%s%s:%d", is_v6 ? "[" : "", address,
                 is_v6 ? "]" : "", port);
    }
    evhttp_foreach_bound_socket(server, count_bound, &count);
    return count > 0; /* otherwise `why` is the reason for the last address */
}
