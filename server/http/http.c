/* http: see http.h. */
#include "server/http/http.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "server/http/listeners.h"
#include "server/http/site.h"
#include "server/http/visitors.h"
#include "store/mem/mem.h"

enum {
    ALL_METHODS = 0x1FF, /* libevent's; site.c refuses those that it does not serve */
    SECOND_USEC = 1000 * 1000,
};

struct http {
    struct evhttp *server;
    struct site site;
    struct visitors *visitors;
    struct delayed *delayed;
    struct loop_timer *second;
};

static struct bytes bytes_of_text(const char *text)
{
    return text == NULL ? LIT("") : bytes_of(text, strlen(text));
}

static struct bytes header_of(const struct evhttp_request *request, const char *name)
{
    return bytes_of_text(evhttp_find_header(
        evhttp_request_get_input_headers((struct evhttp_request *)request), name));
}

static void on_request(struct evhttp_request *request, void *ctx)
{
    struct http *http = ctx;
    struct site_reply reply;
    char *peer = NULL;
    ev_uint16_t port;
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    if (connection != NULL) evhttp_connection_get_peer(connection, &peer, &port);
    bool from_loopback =
        peer != NULL && (strncmp(peer, "127.", 4) == 0 || strcmp(peer, "::1") == 0);
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    enum evhttp_cmd_type command = evhttp_request_get_command(request);
    struct bytes query = bytes_of_text(uri == NULL ? NULL : evhttp_uri_get_query(uri));
    struct site_request asked = { .method = command == EVHTTP_REQ_GET    ? SITE_GET
                                            : command == EVHTTP_REQ_HEAD ? SITE_HEAD
                                                                         : SITE_OTHER,
                                  .path =
                                      bytes_of_text(uri == NULL ? "" : evhttp_uri_get_path(uri)),
                                  .query = query,
                                  .host = header_of(request, "Host"),
                                  .authorization = header_of(request, "Authorization"),
                                  .from_loopback = from_loopback,
                                  .crowded = delayed_full(http->delayed) };
    site_answer(&http->site, &asked, &reply);

    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    const struct site_header *further = site_status_header(reply.status);
    char length[32];
    for (const struct site_header *header = site_headers; header->name != NULL; header++)
        evhttp_add_header(headers, header->name, header->value);
    if (further != NULL) evhttp_add_header(headers, further->name, further->value);
    evhttp_add_header(headers, "Content-Type", reply.type);
    snprintf(length, sizeof(length), "%zu", reply.body.len);
    evhttp_add_header(headers, "Content-Length", length);

    struct evbuffer *to = evhttp_request_get_output_buffer(request);
    struct outbuf_cursor cursor = { 0 };
    struct iovec piece;
    while (asked.method != SITE_HEAD && outbuf_next(&reply.body, &cursor, &piece))
        evbuffer_add(to, piece.iov_base, piece.iov_len);
    outbuf_drop(&reply.body);
    if (reply.slow_down)
        delayed_add(http->delayed, request, reply.status, reply.reason);
    else
        evhttp_send_reply(request, reply.status, reply.reason, NULL);
}

static void on_second(void *ctx)
{
    struct http *http = ctx;
    const struct admin_parts *context = http->site.context;
    history_note(&http->site.history, context->engine->stats, context->engine->store);
    loop_timer_set(http->second, SECOND_USEC);
}

struct http *http_open(struct loop *loop, const struct admin_parts *context, struct tls *tls,
                       const struct host_names *names, char *why, size_t why_size)
{
    struct http *http = mem_zalloc(sizeof(*http));
    http->visitors = visitors_new(loop, tls);
    http->delayed = delayed_new(loop);
    http->site = (struct site){ .context = context,
                                .survey = survey_new(context->engine->store, context->conf,
                                                     context->clock) };
    http->second = loop_timer_new(loop, on_second, http);
    on_second(http);
    http->server = evhttp_new(loop_event_base(loop));
    if (http->server == NULL) {
        snprintf(why, why_size, "metrics-port: can't create the HTTP server");
        http_close(http);
        return NULL;
    }
    evhttp_set_max_headers_size(http->server, VISITORS_HEADER_MAX);
    evhttp_set_max_body_size(http->server, VISITORS_BODY_MAX);
    evhttp_set_timeout(http->server, VISITORS_SILENT_SEC);
    evhttp_set_allowed_methods(http->server, ALL_METHODS);
    visitors_serve(http->visitors, http->server);
    evhttp_set_gencb(http->server, on_request, http);

    const struct conf *conf = context->conf;
    if (listeners_open(http->server, names, conf->metrics_bind, (int)conf->metrics_port, why,
                       why_size))
        return http;
    http_close(http);
    return NULL;
}

bool http_update(struct http *http, const struct host_names *names, char *why, size_t why_size)
{
    const struct conf *conf = http->site.context->conf;
    listeners_close(http->server);
    if (conf->metrics_port == 0) return true;
    return listeners_open(http->server, names, conf->metrics_bind, (int)conf->metrics_port, why,
                          why_size);
}

void http_close(struct http *http)
{
    if (http == NULL) return;
    delayed_free(http->delayed);
    if (http->server != NULL) evhttp_free(http->server);
    visitors_free(http->visitors);
    loop_timer_free(http->second);
    survey_free(http->site.survey);
    mem_free(http);
}

struct background_work http_work(struct http *http)
{
    return (struct background_work){
        .run = survey_run, .took = survey_took, .ctx = http->site.survey, .most = 1
    };
}
