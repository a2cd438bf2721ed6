/* site: turns a request to the metrics port into its reply. Knows neither sockets nor libevent;
 * http.c, which knows both, calls it. */
#pragma once

#include "server/admin/admin.h"
#include "server/http/figures.h"
#include "server/http/history.h"
#include "server/http/survey.h"
#include "store/mem/outbuf.h"

struct site {
    const struct admin_parts *context;
    struct survey *survey;
    struct history history;
    struct figures_http counts;
};

enum site_method { SITE_GET, SITE_HEAD, SITE_OTHER };

/* A request. Texts are borrowed, and empty if the request lacks them. */
struct site_request {
    enum site_method method;
    struct bytes path, query; /* as they were sent; the query is what follows '?' */
    struct bytes host, authorization;
    bool from_loopback;
    bool crowded; /* too many replies to failed logins are delayed: check no more passwords */
};

struct site_reply {
    int status;
    const char *reason; /* "OK" */
    const char *type;   /* of the body */
    struct outbuf body; /* the caller drops it */
    bool slow_down;     /* delay the reply, because a login has failed */
};

/* Checks the login, and fills the reply: /metrics, /state.json, /why.json, a file of the page, or
 * an error. Never fails. */
void site_answer(struct site *site, const struct site_request *request, struct site_reply *reply);

/* Headers of every reply, by name and value; ends with a NULL name. */
struct site_header {
    const char *name, *value;
};
extern const struct site_header site_headers[];
/* Returns an additional header for replies with this status, or NULL. */
const struct site_header *site_status_header(int status);
