/* Fuzz target: requests to the metrics port. The input is a few fields, separated by line feeds:
 * the method, the path, the host, the authorization, then keys for dehydrators. Whatever they say,
 * a request changes no data, a reply is complete, and only the password opens the port. Base64 that
 * is decoded again is the text that was encoded. */
#include <stdlib.h>

#include "server/http/json.h"
#include "server/http/login.h"
#include "server/http/site.h"
#include "store/base/ensure.h"
#include "store/base/utf8.h"
#include "tests/support/server_world.h"

enum { FIELDS = 4, KEYS_MAX = 20, LONGEST = 2000 };

static struct server_world world;
static struct site site;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_world(void)
{
    const char *why;
    server_world_init(&world, SERVER_WORLD_PLAIN);
    conf_set(&world.conf, conf_find("requirepass"), "pa:ss", &why);
    acl_set_requirepass(world.engine.acl, world.conf.requirepass);
}

/* The world is used again, empty: making one takes much longer than a request. */
static void begin(void)
{
    if (world.loop == NULL) make_world();
    site = (struct site){ .context = &world.admin.parts,
                          .survey = survey_new(world.world.store, &world.conf, &world.clock) };
}

static struct bytes next_field(struct bytes *rest)
{
    const char *end = rest->len > 0 ? memchr(rest->data, '\n', rest->len) : NULL;
    size_t len = end != NULL ? (size_t)(end - rest->data) : rest->len;
    struct bytes field = bytes_of(rest->data, len);
    size_t used = end != NULL ? len + 1 : len;
    *rest = bytes_of(rest->data + used, rest->len - used);
    return field;
}

static void push_dehydrators(struct bytes rest)
{
    for (int i = 0; i < KEYS_MAX && rest.len > 0; i++) {
        struct bytes key = next_field(&rest);
        const struct bytes argv[] = { LIT("REDE.PUSH"), key, LIT("0"), LIT("text"), LIT("id") };
        server_world_call(&world, 0, 5, argv);
    }
}

static void check_text(const struct site_reply *reply)
{
    char *text = malloc(reply->body.len + 1);
    outbuf_copy(&reply->body, text);
    ensure(utf8_valid(bytes_of(text, reply->body.len)), "a reply that is not UTF-8");
    free(text);
}

static void ask(const struct site_request *request)
{
    struct digest before = store_digest(world.world.store, clock_now(&world.clock));
    struct site_reply reply;
    site_answer(&site, request, &reply);
    struct digest after = store_digest(world.world.store, clock_now(&world.clock));
    ensure(before.high == after.high && before.low == after.low, "a request has changed data");
    ensure(reply.status >= 200 && reply.status < 500 && reply.type != NULL, "%d", reply.status);
    ensure(request->method != SITE_OTHER || reply.status == 405, "%d", reply.status);
    enum login login = login_check(world.engine.acl, request->authorization);
    ensure(reply.status != 200 || login == LOGIN_GRANTED, "in without a password");
    check_text(&reply);
    outbuf_drop(&reply.body);
}

static void check_decoding(struct bytes text)
{
    char to[LONGEST];
    int len = login_decode(text, to, sizeof(to));
    ensure(len <= (int)(text.len / 4 * 3), "%d bytes of %zu", len, text.len);
    for (int room = 0; room < len && room < 4; room++)
        ensure(login_decode(text, to, room) == -1, "%d bytes in room for %d", len, room);
}

static void check_json(struct bytes text)
{
    struct outbuf out;
    outbuf_init(&out);
    struct json json = { .out = &out };
    json_text(&json, NULL, text);
    struct site_reply reply = { .body = out };
    check_text(&reply);
    outbuf_drop(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes rest = bytes_of((const char *)data, size), fields[FIELDS];
    if (size > LONGEST) return 0;
    for (int i = 0; i < FIELDS; i++)
        fields[i] = next_field(&rest);
    begin();
    check_decoding(fields[3]);
    check_json(rest);
    push_dehydrators(rest);
    struct site_request request = {
        .method =
            fields[0].len > 0 ? (enum site_method)((unsigned char)fields[0].data[0] % 3) : SITE_GET,
        .path = fields[1],
        .host = fields[2],
        .authorization = fields[3],
        .from_loopback = fields[0].len % 2 == 0,
    };
    ask(&request);
    request.authorization = LIT("Basic OnBhOnNz"); /* :pa:ss */
    ask(&request);
    request.path = LIT("/metrics");
    ask(&request);
    request.path = LIT("/state.json");
    ask(&request);
    survey_free(site.survey);
    server_world_send(&world, 0, "FLUSHALL SYNC");
    reclaim_run(&world.world.store->reclaim, SIZE_MAX);
    return 0;
}
