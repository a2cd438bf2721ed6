/* Tests of what the metrics port answers, without sockets: who may ask, what there is, and the
 * survey of keys and dehydrators. */
#include "server/http/login.h"
#include "server/http/site.h"
#include "server/http/surveyed_names.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

static struct server_world world;
static struct site site;
static char body[1 << 20];

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    site = (struct site){ .context = &world.admin.parts,
                          .survey = survey_new(world.world.store, &world.conf, &world.clock) };
}

static void end(void)
{
    survey_free(site.survey);
    server_world_drop(&world);
}

static int answer(const struct site_request *request)
{
    struct site_reply reply;
    site_answer(&site, request, &reply);
    ck_assert_uint_lt(reply.body.len, sizeof(body));
    outbuf_copy(&reply.body, body);
    body[reply.body.len] = '\0';
    outbuf_drop(&reply.body);
    ck_assert_ptr_nonnull(reply.type);
    ck_assert_int_eq(reply.slow_down, reply.status == 401 && request->authorization.len > 0);
    return reply.status;
}

static int get(const char *path)
{
    return answer(&(struct site_request){ .path = text(path), .from_loopback = true });
}

static void set_password(const char *password)
{
    const char *why;
    ck_assert(conf_set(&world.conf, conf_find("requirepass"), password, &why));
    acl_set_requirepass(world.engine.acl, password);
}

static int get_as(const char *authorization)
{
    return answer(&(struct site_request){
        .path = LIT("/metrics"), .authorization = text(authorization), .from_loopback = true });
}

START_TEST(files_and_texts_have_their_paths)
{
    begin();
    ck_assert_int_eq(get("/"), 200);
    ck_assert_ptr_nonnull(strstr(body, "<!doctype html>"));
    ck_assert_int_eq(get("/page.js"), 200);
    ck_assert_int_eq(get("/metrics"), 200);
    ck_assert_ptr_nonnull(strstr(body, "\nexpired_loading 0\n"));
    ck_assert_int_eq(get("/state.json"), 200);
    ck_assert_int_eq(body[0], '{');
    ck_assert_int_eq(get("/page.jsx"), 404);
    ck_assert_int_eq(get(""), 404);
    ck_assert_uint_eq(site.counts.requests, 6);
    end();
}
END_TEST

START_TEST(methods_other_than_reading_are_refused)
{
    begin();
    struct site_request request = { .method = SITE_OTHER, .path = LIT("/"), .from_loopback = true };
    ck_assert_int_eq(answer(&request), 405);
    ck_assert_str_eq(site_status_header(405)->value, "GET, HEAD");
    request.method = SITE_HEAD;
    ck_assert_int_eq(answer(&request), 200);
    end();
}
END_TEST

START_TEST(password_of_the_client_port_is_needed)
{
    begin();
    set_password("pass:word");
    ck_assert_int_eq(get("/metrics"), 401);
    ck_assert_uint_eq(site.counts.failed_logins, 0);
    ck_assert_int_eq(get_as("Basic ZGVmYXVsdDpwYXNzOndvcmQ="), 200); /* default:pass:word */
    ck_assert_int_eq(get_as("bAsIc   OnBhc3M6d29yZA=="), 200);       /* :pass:word */
    ck_assert_int_eq(get_as("Basic ZGVmYXVsdDpwYXNzOndvcmR4"), 401);
    ck_assert_int_eq(get_as("Basic YWRtaW46cGFzczp3b3Jk"), 401); /* admin:pass:word */
    ck_assert_int_eq(get_as("Basic cGFzczp3b3Jk"), 401);         /* pass:word: the user is "pass" */
    ck_assert_int_eq(get_as("Basic"), 401);
    ck_assert_uint_eq(site.counts.failed_logins, 4);
    set_password("");
    ck_assert_int_eq(get_as("Basic nonsense"), 200);
    ck_assert_int_eq(get_as("Basic OmFueXRoaW5n"), 200); /* :anything */
    end();
}
END_TEST

START_TEST(no_password_is_checked_while_too_many_failed)
{
    begin();
    set_password("p");
    struct site_request request = {
        .path = LIT("/"), .from_loopback = true, .authorization = LIT("Basic OnA="), .crowded = true
    };
    ck_assert_int_eq(answer(&request), 429);
    request.crowded = false;
    ck_assert_int_eq(answer(&request), 200);
    request = (struct site_request){ .path = LIT("/"), .from_loopback = true, .crowded = true };
    ck_assert_int_eq(answer(&request), 401);
    end();
}
END_TEST

START_TEST(protected_mode_wants_this_machine_and_its_names)
{
    static const char *const own[] = { "",           "localhost", "LOCALHOST:1", "127.0.0.1",
                                       "10.1.2.3:9", "[::1]",     "[fe80::1]:9" };
    static const char *const others[] = { "evil.example", "127.0.0.1.evil.example", "x", "0x7f.1",
                                          "localhost.",   "evil.example:80" };
    begin();
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        ck_assert_int_eq(answer(&(struct site_request){
                             .path = LIT("/"), .host = text(own[i]), .from_loopback = true }),
                         200);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_int_eq(answer(&(struct site_request){
                             .path = LIT("/"), .host = text(others[i]), .from_loopback = true }),
                         403);
    struct site_request far = { .path = LIT("/"), .host = LIT("10.0.0.1") };
    ck_assert_int_eq(answer(&far), 403);
    world.conf.protected_mode = false;
    ck_assert_int_eq(answer(&far), 200);
    world.conf.protected_mode = true;
    set_password("p");
    ck_assert_int_eq(answer(&far), 401);
    end();
}
END_TEST

START_TEST(base64_is_decoded_strictly)
{
    static const struct {
        const char *encoded, *plain; /* NULL: it is refused */
    } cases[] = {
        { "", "" },        { "Zg==", "f" },          { "Zm8=", "fo" },
        { "Zm9v", "foo" }, { "Zm9vYg==", "foob" },   { "/+8=", "\xff\xef" },
        { "Zg=", NULL },   { "Zg", NULL },           { "Zm9v=", NULL },
        { "====", NULL },  { "Z===", NULL },         { "Zm9-", NULL },
        { "Zm 9", NULL },  { "Zm9vZm9vZm9v", NULL }, /* too long for the buffer */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char to[8];
        int len = login_decode(text(cases[i].encoded), to, sizeof(to));
        if (cases[i].plain == NULL)
            ck_assert_msg(len < 0, "case %zu: %d bytes", i, len);
        else
            ck_assert_msg(len >= 0 && bytes_equal(bytes_of(to, (size_t)len), text(cases[i].plain)),
                          "case %zu: %d bytes", i, len);
    }
}
END_TEST

START_TEST(names_are_the_first_that_fit)
{
    static const char *const keys[] = { "q5", "q1", "other", "q3", "q2", "q1", "q\xff", "q4" };
    struct surveyed_names names;
    surveyed_names_init(&names, "q*", 3);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        surveyed_names_note(&names, 0, text(keys[i]));
    surveyed_names_note(&names, 1, LIT("q1"));
    ck_assert_uint_eq(names.count, 3);
    ck_assert(bytes_equal(blob_view(names.at[0].key), LIT("q1")) && names.at[0].db == 0);
    ck_assert(bytes_equal(blob_view(names.at[1].key), LIT("q1")) && names.at[1].db == 1);
    ck_assert(bytes_equal(blob_view(names.at[2].key), LIT("q2")));
    ck_assert_uint_eq(names.omitted, 4); /* q3, q4, q5 and the one that is not UTF-8 */
    surveyed_names_drop(&names);
}
END_TEST

START_TEST(survey_of_few_keys_is_ready_at_once)
{
    struct outlook_count counts[OUTLOOK_BANDS];
    struct outlook_hour hour;
    begin();
    server_world_hold(&world, 1000000);
    server_world_send(&world, 0, "SET a v PX 900");
    server_world_send(&world, 0, "SET b v PX 3500000");
    server_world_send(&world, 0, "SADDEX s 15 m n");
    server_world_send(&world, 0, "REDE.MPUSH d 15000 p a 15000 p b 25000 p c 0 p due");
    ck_assert(!survey_ready(site.survey));
    survey_ask(site.survey);
    ck_assert(survey_ready(site.survey));
    ck_assert(survey_forecast(site.survey, 0, 1000000, counts));
    ck_assert(!survey_forecast(site.survey, 1, 1000000, counts));
    ck_assert_uint_eq(counts[DUE_IN_1S].of[OUTLOOK_KEYS], 1);
    ck_assert_uint_eq(counts[DUE_IN_1H].of[OUTLOOK_KEYS], 1);
    ck_assert_uint_eq(counts[DUE_IN_1M].of[OUTLOOK_MEMBERS], 2);
    ck_assert_uint_eq(counts[DUE_IN_1M].of[OUTLOOK_ELEMENTS], 3);
    survey_hour(site.survey, &hour);
    ck_assert_int_eq(hour.begin, 1000000);
    ck_assert_uint_eq(hour.spans[0].of[OUTLOOK_KEYS], 1);
    ck_assert_uint_eq(hour.spans[1].of[OUTLOOK_MEMBERS], 2);
    ck_assert_uint_eq(hour.spans[1].of[OUTLOOK_ELEMENTS], 2);
    ck_assert_uint_eq(hour.spans[2].of[OUTLOOK_ELEMENTS], 1);
    ck_assert_uint_eq(hour.spans[350].of[OUTLOOK_KEYS], 1);
    end();
}
END_TEST

static void append_key(void *ctx, const struct surveyed *dehydrator)
{
    char *text = ctx;
    size_t len = strlen(text);
    snprintf(text + len, 64 - len, "%.*s %d %d ", (int)dehydrator->key.len, dehydrator->key.data,
             (int)dehydrator->pushed, (int)dehydrator->counts.acked);
}

START_TEST(survey_shows_counts_of_empty_dehydrators_last)
{
    static const struct {
        const char *line, *found;
    } steps[] = {
        { "REDE.PUSH b 0 p id", "b 1 0 a 1 1 " },
        { "REDE.MPUSH c 0 p x 0 p y", "b 1 0 c 2 0 " }, /* as many as are reported */
        { "REDE.XACK b id", "c 2 0 a 1 1 " },
        { "SET a text", "c 2 0 b 1 1 " },
        { "FLUSHALL", "" },
    };
    char found[64] = "";
    begin();
    server_world_hold(&world, 1000000);
    world.conf.metrics_dehydrators_max = 2;
    server_world_send(&world, 0, "REDE.PUSH a 0 p id");
    server_world_send(&world, 0, "REDE.XACK a id");
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        server_world_send(&world, 0, steps[i].line);
        struct survey *survey = survey_new(world.world.store, &world.conf, &world.clock);
        survey_ask(survey);
        while (survey_run(survey, 1))
            continue;
        found[0] = '\0';
        survey_dehydrators(survey, 1000000, append_key, found);
        ck_assert_str_eq(found, steps[i].found);
        survey_free(survey);
    }
    end();
}
END_TEST

/* A dehydrator that becomes empty, or is filled again, after the survey noted it, is shown as it
 * is. */
START_TEST(survey_follows_a_dehydrator_that_becomes_empty)
{
    char found[64] = "";
    begin();
    server_world_hold(&world, 1000000);
    server_world_send(&world, 0, "REDE.PUSH a 0 p id");
    survey_ask(site.survey);
    server_world_send(&world, 0, "REDE.XACK a id");
    survey_dehydrators(site.survey, 1000000, append_key, found);
    ck_assert_str_eq(found, "a 1 1 ");
    server_world_send(&world, 0, "REDE.PUSH a 0 p id");
    found[0] = '\0';
    survey_dehydrators(site.survey, 1000000, append_key, found);
    ck_assert_str_eq(found, "a 2 1 ");
    end();
}
END_TEST

START_TEST(survey_notes_many_empty_dehydrators_in_slices)
{
    char line[64];
    begin();
    for (int i = 0; i < 1000; i++) {
        snprintf(line, sizeof(line), "REDE.PUSH q%d 0 p id", i);
        server_world_send(&world, 0, line);
        snprintf(line, sizeof(line), "REDE.POLL q%d", i);
        server_world_send(&world, 0, line);
    }
    survey_ask(site.survey);
    int slices = 0;
    while (survey_run(site.survey, 1))
        slices++;
    ck_assert(survey_ready(site.survey));
    ck_assert_int_eq(get("/metrics"), 200);
    ck_assert_ptr_nonnull(
        strstr(body, "expired_dehydrator_delivered_total{db=\"0\",key=\"q0\"} 1\n"));
    end();
}
END_TEST

START_TEST(survey_of_many_keys_continues_in_the_background)
{
    char line[64];
    struct outlook_count counts[OUTLOOK_BANDS];
    begin();
    for (int i = 0; i < 20000; i++) {
        snprintf(line, sizeof(line), "SET key%d v", i);
        server_world_send(&world, 0, line);
    }
    survey_ask(site.survey);
    ck_assert(!survey_ready(site.survey));
    ck_assert_int_eq(get("/metrics"), 200);
    ck_assert_ptr_null(strstr(body, "\nexpired_forecast_age_seconds "));
    int slices = 0;
    while (survey_run(site.survey, 1))
        slices++;
    ck_assert_int_ge(slices, 40);
    ck_assert(survey_forecast(site.survey, 0, clock_now(&world.clock), counts));
    ck_assert_uint_eq(counts[DUE_NEVER].of[OUTLOOK_KEYS], 20000);
    end();
}
END_TEST

START_TEST(history_has_the_last_five_minutes)
{
    struct stats stats = { 0 };
    begin();
    struct history *history = &site.history;
    for (int second = 0; second < HISTORY_SECONDS + 7; second++) {
        stats.commands_per_sec = second;
        stats.errors += (uint64_t)second % 3;
        history_note(history, &stats, world.world.store);
    }
    ck_assert_uint_eq(history_length(history), HISTORY_SECONDS);
    for (size_t i = 0; i < HISTORY_SECONDS; i++) {
        size_t slot = history_slot(history, i);
        ck_assert_double_eq(history->commands[slot], (double)i + 7);
        ck_assert_double_eq(history->errors[slot], (double)((i + 7) % 3));
    }
    stats.errors = 0; /* CONFIG RESETSTAT */
    history_note(history, &stats, world.world.store);
    ck_assert_double_eq(history->errors[history_slot(history, HISTORY_SECONDS - 1)], 0);
    end();
}
END_TEST

START_TEST(history_of_lateness_is_that_of_the_last_minute)
{
    struct stats stats = { 0 };
    struct histogram minute;
    begin();
    struct histogram *lag = &world.world.store->stats.lag;
    history_minute(&site.history, lag, &minute);
    ck_assert_uint_eq(minute.total, 0);
    for (int second = 0; second < 200; second++) {
        history_note(&site.history, &stats, world.world.store);
        histogram_add(lag, second == 100 ? 5000 : 1, 1);
        history_minute(&site.history, lag, &minute);
        ck_assert_uint_le(minute.total, 61);
        ck_assert_uint_ge(minute.total, second < 50 ? (uint64_t)second : 50);
        ck_assert_int_eq(minute.max > 1, second >= 100 && minute.total > (uint64_t)second - 100);
    }
    end();
}
END_TEST

START_TEST(state_lists_groups_commands_and_slow_calls)
{
    const char *why;
    begin();
    ck_assert(conf_set(&world.conf, conf_find("slowlog-log-slower-than"), "0", &why));
    server_world_send(&world, 0, "XGROUP CREATE s g 0 MKSTREAM");
    server_world_send(&world, 0, "XADD s 1-1 a b");
    server_world_send(&world, 0, "REDE.PUSH q 0 payload id");
    for (int i = 0; i < 3; i++)
        server_world_send(&world, 0, i == 0 ? "get a" : "GET bb");
    ck_assert_int_eq(get("/state.json"), 200);
    ck_assert_ptr_nonnull(strstr(body, "\"groups\":[{\"db\":0,\"key\":\"s\",\"name\":\"g\","
                                       "\"consumers\":0,\"pending\":0,\"lag\":1}]"));
    ck_assert_ptr_nonnull(strstr(body, "\"pushed\":1"));
    ck_assert_ptr_nonnull(strstr(body, "\"name\":\"xgroup|create\",\"calls\":1"));
    const char *slow = strstr(body, "\"slow\":[");
    ck_assert_ptr_nonnull(slow);
    ck_assert(strstr(slow, "\"name\":\"GET\",\"calls\":3") != NULL ||
              strstr(slow, "\"name\":\"get\",\"calls\":3") != NULL);
    end();
}
END_TEST

static void count_group(void *ctx, const struct surveyed_group *group)
{
    ck_assert_uint_eq(group->pending, 0);
    ++*(int *)ctx;
}

START_TEST(survey_looks_at_a_bounded_number_of_groups)
{
    char line[64];
    int visited = 0;
    begin();
    for (int i = 0; i < SURVEY_GROUPS_MAX + 5; i++) {
        snprintf(line, sizeof(line), "XGROUP CREATE s%d g%d 0 MKSTREAM", i % 2, i);
        server_world_send(&world, 0, line);
    }
    survey_ask(site.survey);
    while (survey_run(site.survey, 1))
        continue;
    survey_groups(site.survey, clock_now(&world.clock), count_group, &visited);
    ck_assert_int_eq(visited, SURVEY_GROUPS_MAX);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { files_and_texts_have_their_paths,
                                   methods_other_than_reading_are_refused,
                                   password_of_the_client_port_is_needed,
                                   no_password_is_checked_while_too_many_failed,
                                   protected_mode_wants_this_machine_and_its_names,
                                   base64_is_decoded_strictly,
                                   names_are_the_first_that_fit,
                                   survey_of_few_keys_is_ready_at_once,
                                   survey_of_many_keys_continues_in_the_background,
                                   survey_shows_counts_of_empty_dehydrators_last,
                                   survey_follows_a_dehydrator_that_becomes_empty,
                                   survey_notes_many_empty_dehydrators_in_slices,
                                   history_has_the_last_five_minutes,
                                   history_of_lateness_is_that_of_the_last_minute,
                                   state_lists_groups_commands_and_slow_calls,
                                   survey_looks_at_a_bounded_number_of_groups,
                                   NULL };
    return suite_of("site", tests);
}
