/* why: see why.h. */
#include "server/http/why.h"

#include "server/admin/expiry_why.h"
#include "server/http/json.h"
#include "server/http/query.h"
#include "store/base/number.h"

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

bool why_write(struct outbuf *out, const struct server_context *context, struct bytes query)
{
    static const char no_key[] = "Ask for a key and a database: /why.json?key=name&db=0\n";
    static const char is_off[] =
        "Nothing is recorded: why-memory is 0, or was refused at the start.\n";
    const struct store *store = context->store;
    if (store->trail == NULL) {
        outbuf_append(out, is_off, sizeof(is_off) - 1);
        return false;
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
        struct json json = { .out = out };
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
        expiry_why_answer(&question, &sink);
    } else {
        outbuf_append(out, no_key, sizeof(no_key) - 1);
    }
    mem_free(room);
    return has_key;
}
