/* visitors: see visitors.h.
 *
 * libevent does not report that its HTTP server closes a connection, but the HTTP server then
 * removes its callbacks from the connection's bufferevent. So each visitor holds a reference to the
 * bufferevent, which release() drops once the callbacks are gone. The HTTP server has only shut the
 * socket down; dropping the last reference closes it. */
#include "server/http/visitors.h"

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "server/net/tls/tls.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { USEC_PER_SEC = 1000 * 1000 };

struct visitor {
    struct bufferevent *stream;
    int64_t came_usec;
};

struct visitors {
    const struct tls *tls; /* NULL without encryption */
    struct evhttp *server;
    struct loop_timer *timer;  /* fires each second while the list is not empty */
    struct loop_timer *accept; /* ends a pause between handshakes */
    size_t count;
    struct visitor all[VISITORS_MAX]; /* the oldest first */
};

/* Releases those that the HTTP server has closed. */
static void release(struct visitors *visitors)
{
    size_t stay = 0;
    for (size_t i = 0; i < visitors->count; i++) {
        bufferevent_event_cb on_event;
        bufferevent_getcb(visitors->all[i].stream, NULL, NULL, &on_event, NULL);
        if (on_event == NULL)
            bufferevent_decref(visitors->all[i].stream);
        else
            visitors->all[stay++] = visitors->all[i];
    }
    visitors->count = stay;
}

/* Makes the HTTP server close the connection as if it had timed out. */
static void close_visitor(const struct visitor *visitor)
{
    bufferevent_trigger_event(visitor->stream, BEV_EVENT_READING | BEV_EVENT_TIMEOUT, 0);
}

static void close_late(void *ctx)
{
    struct visitors *visitors = ctx;
    int64_t now = clock_mono_usec();
    for (size_t i = 0; i < visitors->count; i++) {
        if (now - visitors->all[i].came_usec < (int64_t)VISITORS_SEC * USEC_PER_SEC) break;
        close_visitor(&visitors->all[i]);
    }
    release(visitors);
    if (visitors->count > 0) loop_timer_set(visitors->timer, USEC_PER_SEC);
}

/* ---- accepting ------------------------------------------------------------------------------- */

static void enable_listener(struct evhttp_bound_socket *bound, void *ctx)
{
    (void)ctx;
    evconnlistener_enable(evhttp_bound_socket_get_listener(bound));
}

static void disable_listener(struct evhttp_bound_socket *bound, void *ctx)
{
    (void)ctx;
    evconnlistener_disable(evhttp_bound_socket_get_listener(bound));
}

static void accept_again(void *ctx)
{
    struct visitors *visitors = ctx;
    evhttp_foreach_bound_socket(visitors->server, enable_listener, NULL);
}

struct visitors *visitors_new(struct loop *loop, struct tls *tls)
{
    struct visitors *visitors = mem_zalloc(sizeof(*visitors));
    visitors->tls = tls;
    visitors->timer = loop_timer_new(loop, close_late, visitors);
    visitors->accept = loop_timer_new(loop, accept_again, visitors);
    return visitors;
}

void visitors_free(struct visitors *visitors)
{
    if (visitors == NULL) return;
    for (size_t i = 0; i < visitors->count; i++)
        bufferevent_decref(visitors->all[i].stream);
    loop_timer_free(visitors->timer);
    loop_timer_free(visitors->accept);
    mem_free(visitors);
}

/* Makes a stream that never delivers input, so that the HTTP server closes it as silent. This
 * replaces a stream that can't be made: given NULL, libevent would make a stream of its own,
 * without TLS. */
static struct bufferevent *deaf_stream(struct event_base *base)
{
    struct bufferevent *stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (stream != NULL) bufferevent_setwatermark(stream, EV_READ, SIZE_MAX, VISITORS_READ_MAX);
    return stream;
}

static struct bufferevent *admit(struct event_base *base, void *ctx)
{
    struct visitors *visitors = ctx;
    release(visitors);
    if (visitors->count == VISITORS_MAX) {
        close_visitor(&visitors->all[0]);
        release(visitors);
    }

    /* A handshake may block the loop for ten milliseconds. The pause after it leaves clients at
     * least half of the time. */
    if (visitors->tls != NULL) {
        evhttp_foreach_bound_socket(visitors->server, disable_listener, NULL);
        loop_timer_set(visitors->accept, VISITORS_SHAKE_USEC);
    }

    if (visitors->count == VISITORS_MAX) return deaf_stream(base);
    /* The stream owns the socket and OpenSSL's state. */
    struct bufferevent *stream;
    if (visitors->tls == NULL) {
        stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    } else {
        struct ssl_st *session = tls_new_session(visitors->tls);
        if (session == NULL) return deaf_stream(base);
        stream = bufferevent_openssl_socket_new(base, -1, session, BUFFEREVENT_SSL_ACCEPTING,
                                                BEV_OPT_CLOSE_ON_FREE);
        /* A peer may close the connection without close_notify. HTTP messages state their length,
         * so a message that was cut off is noticed without it. */
        if (stream != NULL) bufferevent_openssl_set_allow_dirty_shutdown(stream, 1);
    }
    if (stream == NULL) return deaf_stream(base);
    bufferevent_incref(stream);
    bufferevent_setwatermark(stream, EV_READ, 0, VISITORS_READ_MAX);
    if (visitors->count == 0) loop_timer_set(visitors->timer, USEC_PER_SEC);
    visitors->all[visitors->count++] =
        (struct visitor){ .stream = stream, .came_usec = clock_mono_usec() };
    return stream;
}

void visitors_serve(struct visitors *visitors, struct evhttp *server)
{
    visitors->server = server;
    evhttp_set_bevcb(server, admit, visitors);
}

/* ---- delayed replies ------------------------------------------------------------------------- */

/* A request stays here even if its connection ends; libevent frees it when it is answered. */

enum { DELAYED_MAX = 32, DELAY_USEC = 1000 * 1000 };

struct waiting {
    struct evhttp_request *request;
    int status;
    const char *reason;
    int64_t due_usec;
};

struct delayed {
    struct loop_timer *timer; /* for the first reply */
    unsigned first, count;
    struct waiting ring[DELAYED_MAX]; /* in the order in which they are due */
};

static void send_first(struct delayed *delayed)
{
    const struct waiting *waiting = &delayed->ring[delayed->first];
    delayed->first = (delayed->first + 1) % DELAYED_MAX;
    delayed->count--;
    evhttp_send_reply(waiting->request, waiting->status, waiting->reason, NULL);
}

static void on_due(void *ctx)
{
    struct delayed *delayed = ctx;
    int64_t now = clock_mono_usec();
    while (delayed->count > 0 && delayed->ring[delayed->first].due_usec <= now)
        send_first(delayed);
    if (delayed->count > 0)
        loop_timer_set(delayed->timer, delayed->ring[delayed->first].due_usec - now);
}

struct delayed *delayed_new(struct loop *loop)
{
    struct delayed *delayed = mem_zalloc(sizeof(*delayed));
    delayed->timer = loop_timer_new(loop, on_due, delayed);
    return delayed;
}

void delayed_free(struct delayed *delayed)
{
    if (delayed == NULL) return;
    while (delayed->count > 0)
        send_first(delayed);
    loop_timer_free(delayed->timer);
    mem_free(delayed);
}

bool delayed_full(const struct delayed *delayed)
{
    return delayed->count == DELAYED_MAX;
}

void delayed_add(struct delayed *delayed, struct evhttp_request *request, int status,
                 const char *reason)
{
    ensure(!delayed_full(delayed), "%u wait", delayed->count);
    unsigned slot = (delayed->first + delayed->count++) % DELAYED_MAX;
    delayed->ring[slot] =
        (struct waiting){ request, status, reason, clock_mono_usec() + DELAY_USEC };
    if (delayed->count == 1) loop_timer_set(delayed->timer, DELAY_USEC);
}
