/* site: see site.h. */
#include "server/http/site.h"

#include "server/admin/expiry_why.h"
#include "server/http/json.h"
#include "server/http/login.h"
#include "server/http/metrics.h"
#include "server/http/page_files.h"
#include "server/http/state.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

/* Headers of every reply. Content-Security-Policy: the page loads nothing from other sites and
 * can't be framed. Connection: close: bytes that follow a request are never taken for another
 * request. */
const struct site_header site_headers[] = {
    { "Cache-Control", "no-store" },
    { "Connection", "close" },
    { "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
    { "Referrer-Policy", "no-referrer" },
    { "X-Content-Type-Options", "nosniff" },
    { NULL, NULL },
};

const struct site_header *site_status_header(int status)
{
    static const struct site_header challenge = { "WWW-Authenticate",
                                                  "Basic realm=\"expired\", charset=\"UTF-8\"" };
    static const struct site_header methods = { "Allow", "GET, HEAD" };
    static const struct site_header retry = { "Retry-After", "1" };
    switch (status) {
    case 401: return &challenge;
    case 405: return &methods;
    case 429:
    case 503: return &retry;
    default: return NULL;
    }
}

/* ---- /why.json ------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static struct bytes decode(struct bytes text, char *to)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i] == '+' ? ' ' : text.data[i];
        if (c == '%' && i + 2 < text.len) {
            int high = digit_of(text.data[i + 1]), low = digit_of(text.data[i + 2]);
            if (high >= 0 && low >= 0) {
                c = (char)(high << 4 | low);
                i += 2;
            }
        }
        to[len++] = c;
    }
    return bytes_of(to, len);
}

/* Decodes the first parameter of this name into `to`, which must have room for the whole query.
 * Returns false if the query has no such parameter. A '%' without two hexadecimal digits behind it
 * stays as it is. */
static bool query_find(struct bytes query, struct bytes name, char *to, struct bytes *value)
{
    while (query.len > 0) {
        const char *end = memchr(query.data, '&', query.len);
        size_t len = end != NULL ? (size_t)(end - query.data) : query.len;
        if (len > name.len && memcmp(query.data, name.data, name.len) == 0 &&
            query.data[name.len] == '=') {
            *value = decode(bytes_of(query.data + name.len + 1, len - name.len - 1), to);
            return true;
        }
        if (end == NULL) return false;
        query = bytes_of(end + 1, query.len - len - 1);
    }
    return false;
}

static void take_open(void *ctx, const char *name, char bracket, size_t count)
{
    (void)count;
    json_open(ctx, name, bracket);
}

static void take_close(void *ctx, char bracket)
{
    json_close(ctx, bracket);
}

static void take_text(void *ctx, const char *name, struct bytes text)
{
    json_text(ctx, name, text);
}

static void take_integer(void *ctx, const char *name, int64_t value)
{
    json_integer(ctx, name, value);
}

static void take_null(void *ctx, const char *name)
{
    json_null(ctx, name);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void refuse(struct site_reply *reply, int status, const char *reason, const char *text)
{
    reply->status = status;
    reply->reason = reason;
    reply->type = "text/plain; charset=utf-8";
    outbuf_append(&reply->body, text, strlen(text));
}

/* Does the request name this machine by an address or as "localhost"? A foreign web page can reach
 * this port under a name of its own, which its name server directs here (DNS rebinding). */
static bool is_own_host(struct bytes host)
{
    size_t len = 0;
    if (host.len > 0 && host.data[0] == '[') return true;
    while (len < host.len && host.data[len] != ':')
        len++;
    struct bytes name = bytes_of(host.data, len); /* without the port */
    if (name.len == 0 || bytes_is_word(name, "localhost")) return true;
    for (size_t i = 0; i < name.len; i++)
        if ((name.data[i] < '0' || name.data[i] > '9') && name.data[i] != '.') return false;
    return true;
}

/* Returns false after writing a refusal as the reply. */
static bool may_ask(struct site *site, const struct site_request *request, struct site_reply *reply)
{
    if (request->method == SITE_OTHER) {
        refuse(reply, 405, "Method Not Allowed", "This port is read-only: use GET.\n");
        return false;
    }
    /* As on the client port, protected-mode admits only this machine while there is no password. A
     * browser on this machine also runs foreign pages; is_own_host keeps those out. */
    const struct acl *acl = site->context->engine->acl;
    bool is_protected = site->context->conf->protected_mode && acl->main_user->nopass;
    if (is_protected && (!request->from_loopback || !is_own_host(request->host))) {
        refuse(reply, 403, "Forbidden",
               "Without a password, protected-mode allows only requests from this machine, to an "
               "address or localhost. Set requirepass, or protected-mode no.\n");
        return false;
    }
    bool needs_login = login_check(acl, bytes_of(NULL, 0)) != LOGIN_GRANTED;
    if (needs_login && request->crowded && request->authorization.len > 0) {
        refuse(reply, 429, "Too Many Requests", "Too many failed logins. Try again later.\n");
        return false;
    }
    enum login login = login_check(acl, request->authorization);
    if (login == LOGIN_GRANTED) return true;
    reply->slow_down = login == LOGIN_WRONG;
    if (login == LOGIN_WRONG) {
        site->counts.failed_logins++;
        site->context->engine->stats->denied_auth++;
    }
    refuse(reply, 401, "Unauthorized", "Send the user and password of the client port.\n");
    return false;
}

/* Is the server neither loading data nor busy with a script? If it is, keys must not be counted,
 * and the clock must stand still. */
static bool is_idle(const struct site *site)
{
    const struct engine *engine = site->context->engine;
    return !engine->loading && engine->busy == NOT_BUSY;
}

static void update(struct site *site)
{
    if (!is_idle(site)) return;
    clock_tick(site->context->clock);
    survey_ask(site->survey);
}

/* Answers for the key, the member (optional) and the db (default 0) in the query. */
static void answer_why(struct site *site, struct bytes query, struct site_reply *reply)
{
    const struct admin_parts *context = site->context;
    const struct store *store = context->engine->store;
    if (!is_idle(site)) {
        refuse(reply, 503, "Service Unavailable", "The server is loading or busy. Try again.\n");
        return;
    }
    clock_tick(context->clock);
    if (store->trail == NULL) {
        refuse(reply, 400, "Bad Request",
               "Nothing is recorded: why-memory is 0, or was refused at the start.\n");
        return;
    }
    /* Each value has room for the whole query, so that key and member fit. */
    char *room = mem_alloc(3 * query.len + 1);
    struct bytes key, member, number;
    int64_t db = 0;
    bool has_key = query_find(query, LIT("key"), room, &key);
    bool has_member = query_find(query, LIT("member"), room + query.len, &member);
    if (query_find(query, LIT("db"), room + 2 * query.len, &number))
        has_key = has_key && number_parse_int64(number.data, number.len, &db) && db >= 0 &&
                  db < store->database_count;
    if (has_key) {
        struct json json = { .out = &reply->body };
        const struct why_question question = {
            .store = store,
            .ks = store_database(store, (unsigned)db),
            .key = key,
            .member = has_member ? &member : NULL,
            .now = clock_now(context->clock),
        };
        const struct why_sink sink = {
            .open = take_open,
            .close = take_close,
            .text = take_text,
            .integer = take_integer,
            .null = take_null,
            .ctx = &json,
        };
        reply->type = "application/json";
        expiry_why_answer(&question, &sink);
    } else {
        refuse(reply, 400, "Bad Request",
               "Ask for a key and a database: /why.json?key=name&db=0\n");
    }
    mem_free(room);
}

void site_answer(struct site *site, const struct site_request *request, struct site_reply *reply)
{
    struct page_file file;
    *reply = (struct site_reply){ .status = 200, .reason = "OK" };
    outbuf_init(&reply->body);
    site->counts.requests++;
    if (!may_ask(site, request, reply)) return;
    if (bytes_equal(request->path, LIT("/metrics"))) {
        reply->type = "text/plain; version=0.0.4; charset=utf-8";
        update(site);
        metrics_write(&reply->body, site->context, &site->counts, site->survey);
    } else if (bytes_equal(request->path, LIT("/state.json"))) {
        reply->type = "application/json";
        update(site);
        state_write(&reply->body, site->context, &site->counts, site->survey, &site->history);
    } else if (bytes_equal(request->path, LIT("/why.json"))) {
        answer_why(site, request->query, reply);
    } else if (page_file_find(request->path, &file)) {
        reply->type = file.type;
        outbuf_append(&reply->body, file.content.data, file.content.len);
    } else {
        refuse(reply, 404, "Not Found", "Available: /, /metrics, /state.json and /why.json.\n");
    }
}
