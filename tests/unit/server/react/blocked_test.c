/* Tests of blocked and serve: waiting, the order of serving, and timeouts. */
#include "server/react/blocked.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/admin/admin.h"
#include "server/cmd/cmd.h"
#include "server/run/serve.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/support/caller.h"

enum { CALLERS = 9, PUSHER = CALLERS - 1, START = 1000000 };

static struct conf conf;
static struct clock wall;
static struct stats stats;
static struct commit_hooks hooks;
static struct dispatch dispatch;
static struct pubsub *pubsub;
static struct blocked *blocked;
static struct caller callers[CALLERS];
static struct caller *const anna = &callers[0], *const bert = &callers[1],
                            *const carl = &callers[2];
static struct caller *const pusher = &callers[PUSHER];

static void begin(void)
{
    conf = (struct conf){ 0 };
    wall = (struct clock){ .now = START, .stepped = true };
    stats = (struct stats){ 0 };
    pubsub = pubsub_new();
    blocked = blocked_new();
    hooks = (struct commit_hooks){ .store = store_new(2),
                                   .watch = watch_new(),
                                   .blocked = blocked,
                                   .notify = notify_new(pubsub) };
    dispatch = (struct dispatch){ .commands = commands_new(),
                                  .store = hooks.store,
                                  .conf = &conf,
                                  .clock = &wall,
                                  .hooks = &hooks,
                                  .watch = hooks.watch,
                                  .blocked = blocked,
                                  .stats = &stats };
    cmd_add_all(dispatch.commands, &conf.proto_max_bulk_len);
    commands_add(dispatch.commands, &transaction_commands, &dispatch);
    for (int i = 0; i < CALLERS; i++)
        caller_init(&callers[i]);
}

static void end(void)
{
    blocked_check(blocked);
    for (int i = 0; i < CALLERS; i++)
        caller_drop(&callers[i], dispatch.watch, pubsub);
    commands_free(dispatch.commands);
    notify_free(hooks.notify);
    watch_free(hooks.watch);
    blocked_free(blocked);
    pubsub_free(pubsub);
    store_free(hooks.store);
}

/* Sends a request: words separated by single spaces. Its text is freed when it has run, as a
 * client's is. */
static void ask(struct caller *caller, const char *line)
{
    struct bytes argv[64];
    int argc = 0;
    char *copy = strdup(line);
    for (char *word = copy; word != NULL && argc < 64;) {
        size_t len = strcspn(word, " ");
        argv[argc++] = bytes_of(word, len);
        word = word[len] == '\0' ? NULL : word + len + 1;
    }
    dispatch_request(&dispatch, &caller->session, commands_match(dispatch.commands, argc, argv),
                     argc, argv);
    free(copy);
}

#define answers(caller, line, text)                                                                \
    do {                                                                                           \
        ask(caller, line);                                                                         \
        hears(caller, text);                                                                       \
    } while (0)

static bool waits(const struct caller *caller)
{
    return caller->session.blocked != NULL;
}

/* ---- the order of turns -----------------------------------------------------------------------
 */

static const char *turns(void)
{
    static char text[256];
    struct blocked_try try;
    size_t len = 0;
    text[0] = '\0';
    while (blocked_next_try(blocked, &try))
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%c%.*s ",
                                (char)('a' + ((struct caller *)try.session - callers)),
                                (int)try.key.len, try.key.data);
    return text;
}

START_TEST(clients_are_served_by_order_of_ready_keys_then_of_arrival)
{
    ask(anna, "BLPOP 1 2 3 0");
    ask(bert, "BLPOP 2 1 0");
    ask(carl, "BLPOP 3 2 0");
    blocked_ready(blocked, 0, LIT("2"));
    blocked_ready(blocked, 0, LIT("9"));
    blocked_ready(blocked, 0, LIT("1"));
    blocked_ready(blocked, 0, LIT("2"));
    blocked_check(blocked);
    ck_assert_str_eq(turns(), "a2 b2 c2 a1 b1 ");
    ck_assert(!blocked_pending(blocked));
    ck_assert_str_eq(turns(), "");
    blocked_ready(blocked, 0, LIT("3"));
    ck_assert_str_eq(turns(), "a3 c3 ");
}
END_TEST

START_TEST(the_same_key_of_another_database_is_another_key)
{
    ask(anna, "BLPOP k 0");
    blocked_ready(blocked, 1, LIT("k"));
    blocked_ready(blocked, 7, LIT("k"));
    ck_assert(!blocked_pending(blocked));
    blocked_ready(blocked, 0, LIT("k"));
    ck_assert(blocked_pending(blocked));
}
END_TEST

START_TEST(a_key_named_twice_gives_one_turn)
{
    ask(anna, "BLPOP k k j k 0");
    ask(bert, "BLPOP k j j 0");
    blocked_ready(blocked, 0, LIT("j"));
    blocked_ready(blocked, 0, LIT("k"));
    ck_assert_str_eq(turns(), "aj bj ak bk ");
}
END_TEST

START_TEST(a_client_that_leaves_during_serving_gets_no_turn)
{
    struct blocked_try try;
    ask(anna, "BLPOP k 0");
    ask(bert, "BLPOP k j 0");
    ask(carl, "BLPOP j 0");
    blocked_ready(blocked, 0, LIT("k"));
    blocked_ready(blocked, 0, LIT("j"));
    ck_assert(blocked_next_try(blocked, &try));
    blocked_end(&bert->session);
    blocked_end(&anna->session);
    ck_assert_str_eq(turns(), "cj ");
    blocked_ready(blocked, 0, LIT("j"));
    blocked_end(&carl->session);
    ck_assert(!blocked_pending(blocked));
    ck_assert_uint_eq(blocked_count(blocked), 0);
}
END_TEST

START_TEST(an_emptied_key_skips_its_other_clients)
{
    struct blocked_try try;
    ask(anna, "BLPOP k 0");
    ask(bert, "BLPOP k 0");
    ask(carl, "BLPOP j 0");
    blocked_ready(blocked, 0, LIT("k"));
    blocked_ready(blocked, 0, LIT("j"));
    ck_assert(blocked_next_try(blocked, &try));
    blocked_skip_key(blocked);
    ck_assert_str_eq(turns(), "cj ");
    blocked_ready(blocked, 0, LIT("k"));
    ck_assert_str_eq(turns(), "ak bk ");
}
END_TEST

/* ---- keys that are ready by themselves --------------------------------------------------------
 */

/* The first turn finds nothing at its key before this instant. */
static void find_nothing(msec again)
{
    struct blocked_try try;
    ck_assert(blocked_next_try(blocked, &try));
    blocked_skip_command(blocked, &try, again);
    blocked_check(blocked);
}

START_TEST(a_failed_turn_skips_other_clients_with_the_same_command)
{
    ask(anna, "BLPOP k 0");
    ask(bert, "BLPOP k j 0");
    blocked_ready(blocked, 0, LIT("k"));
    blocked_ready(blocked, 0, LIT("j"));
    find_nothing(NEVER);
    ck_assert_str_eq(turns(), "bj ");
    ask(carl, "BRPOP k 0");
    ask(&callers[3], "BLPOP k 0");
    ask(&callers[4], "BRPOP k 0");
    blocked_ready(blocked, 0, LIT("k"));
    find_nothing(NEVER);
    find_nothing(NEVER);
    ck_assert_str_eq(turns(), "");
    blocked_ready(blocked, 0, LIT("k"));
    ck_assert_str_eq(turns(), "ak bk ck dk ek ");
}
END_TEST

START_TEST(keys_become_ready_in_order_of_their_times)
{
    ask(anna, "BLPOP k 0");
    ask(bert, "BLPOP j 0");
    ask(carl, "BLPOP i 0.001");
    blocked_ready(blocked, 0, LIT("k"));
    blocked_ready(blocked, 0, LIT("j"));
    blocked_ready(blocked, 0, LIT("i"));
    find_nothing(START + 30);
    find_nothing(START + 20);
    find_nothing(NEVER);
    ck_assert_int_eq(blocked_next_wake(blocked), START + 20);
    ck_assert_int_eq(blocked_next_timeout(blocked), START + 1);
    ck_assert_int_eq(blocked_next_due(blocked), START + 1);
    blocked_end(&carl->session);
    ck_assert_int_eq(blocked_next_due(blocked), START + 20);
    ck_assert(!blocked_wake(blocked, START + 19));
    ck_assert(!blocked_pending(blocked));
    ck_assert(blocked_wake(blocked, START + 30));
    ck_assert(blocked_wake(blocked, START + 30));
    ck_assert(!blocked_wake(blocked, START + 30));
    blocked_check(blocked);
    ck_assert_str_eq(turns(), "bj ak ");
    ck_assert_int_eq(blocked_next_due(blocked), NEVER);
}
END_TEST

START_TEST(setting_the_clock_does_not_change_timeouts)
{
    ask(anna, "BLPOP k 1");
    blocked_clock_set(blocked, -5000);
    ck_assert_int_eq(blocked_next_timeout(blocked), START - 4000);
    wall.now = START - 5000;
    ask(bert, "BLPOP k 0.5");
    ck_assert_int_eq(blocked_next_timeout(blocked), START - 4500);
    blocked_clock_set(blocked, 7000);
    ck_assert_int_eq(blocked_next_timeout(blocked), START + 2500);
    ck_assert_ptr_null(blocked_first_timed_out(blocked, START + 2499));
    ck_assert_ptr_eq(blocked_first_timed_out(blocked, START + 2500), &bert->session);
    blocked_end(&bert->session);
    ck_assert_int_eq(blocked_next_due(blocked), START + 3000);
    ask(carl, "BLPOP k 0");
    blocked_end(&anna->session);
    ck_assert_int_eq(blocked_next_timeout(blocked), NEVER);
}
END_TEST

START_TEST(a_key_keeps_its_earliest_time_until_no_client_waits)
{
    ask(anna, "BLPOP k 0");
    ask(bert, "BRPOP k 0");
    blocked_ready(blocked, 0, LIT("k"));
    find_nothing(START + 20);
    find_nothing(START + 30);
    ck_assert_int_eq(blocked_next_wake(blocked), START + 20);
    blocked_ready(blocked, 0, LIT("k"));
    find_nothing(START + 10);
    find_nothing(0);
    ck_assert_int_eq(blocked_next_wake(blocked), START + 10);
    blocked_end(&anna->session);
    blocked_check(blocked);
    blocked_end(&bert->session);
    ck_assert_int_eq(blocked_next_wake(blocked), NEVER);
    blocked_check(blocked);
}
END_TEST

START_TEST(only_effects_of_the_awaited_type_make_a_key_ready)
{
    ask(anna, "BLPOP k 0");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_ZSET_PUT, .key = LIT("k") });
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_SET, .key = LIT("k") });
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_RENAME, .key = LIT("k") });
    ck_assert(!blocked_pending(blocked));
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_PUSH_HEAD, .key = LIT("k") });
    ck_assert_str_eq(turns(), "ak ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_RENAME, .a = LIT("k") });
    ck_assert_str_eq(turns(), "ak ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_MOVE, .db = 1, .key = LIT("k") });
    ck_assert_str_eq(turns(), "ak ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_COPY, .db = 1, .a = LIT("k") });
    ck_assert_str_eq(turns(), "ak ");
    blocked_effect(blocked, &(struct effect){ .kind = EFFECT_SWAP, .db = 1, .to = 0 });
    ck_assert_str_eq(turns(), "ak ");
}
END_TEST

START_TEST(blocking_without_memory_changes_nothing)
{
    for (uint64_t nth = 1; nth <= 2; nth++) {
        size_t before = mem_used();
        mem_fail_try(nth);
        answers(anna, "BLPOP k j 0", "-OOM command not allowed when used memory > 'maxmemory'.|");
        mem_fail_try(0);
        ck_assert(!waits(anna));
        ck_assert_uint_eq(blocked_count(blocked), 0);
        ck_assert_uint_eq(mem_used(), before);
    }
}
END_TEST

/* ---- served ---------------------------------------------------------------------------------- */

START_TEST(a_blocked_client_gets_no_reply_until_an_element_comes)
{
    answers(anna, "BLPOP k 0", "");
    answers(bert, "BRPOP j k 0", "");
    ck_assert(waits(anna) && waits(bert));
    answers(pusher, "RPUSH j x y", ":2|");
    hears(anna, "");
    hears(bert, "*2|$1|j|$1|y|");
    ck_assert(waits(anna) && !waits(bert));
    ck_assert_uint_eq(bert->wakes, 1);
    answers(pusher, "RPUSH k x", ":1|");
    hears(anna, "*2|$1|k|$1|x|");
    answers(pusher, "EXISTS k j", ":1|");
}
END_TEST

START_TEST(blocked_clients_are_served_after_the_whole_transaction)
{
    answers(anna, "BLPOP k j 0", "");
    answers(bert, "BLPOP j 0", "");
    ask(pusher, "MULTI");
    ask(pusher, "RPUSH j 1");
    ask(pusher, "RPUSH k 2");
    ask(pusher, "RPUSH j 3");
    ask(pusher, "DEL k");
    ask(pusher, "LPUSH j 0");
    hears(anna, "");
    caller_heard(pusher);
    answers(pusher, "EXEC", "*5|:1|:1|:2|:1|:3|");
    hears(anna, "*2|$1|j|$1|0|");
    hears(bert, "*2|$1|j|$1|1|");
}
END_TEST

START_TEST(a_blocked_client_ignores_a_key_of_another_type)
{
    answers(anna, "BLPOP k 0", "");
    answers(bert, "BZPOPMIN k 0", "");
    answers(pusher, "SET k string", "+OK|");
    answers(pusher, "DEL k", ":1|");
    answers(pusher, "ZADD k 1 m", ":1|");
    hears(anna, "");
    hears(bert, "*3|$1|k|$1|m|$1|1|");
    answers(carl, "BLPOP s k 0", "");
    answers(pusher, "SET s string", "+OK|");
    answers(pusher, "RPUSH k x", ":1|");
    hears(anna, "*2|$1|k|$1|x|");
    answers(pusher, "RPUSH k y", ":1|");
    hears(carl, "*2|$1|k|$1|y|");
}
END_TEST

START_TEST(serving_a_client_may_make_another_key_ready)
{
    answers(anna, "BLMOVE a b LEFT RIGHT 0", "");
    answers(bert, "BLMOVE b c LEFT RIGHT 0", "");
    answers(carl, "BLMOVE c a LEFT RIGHT 0", "");
    answers(pusher, "RPUSH a x y", ":2|");
    hears(anna, "$1|x|");
    hears(bert, "$1|x|");
    hears(carl, "$1|x|");
    answers(pusher, "LRANGE a 0 -1", "*2|$1|y|$1|x|");
    answers(pusher, "EXISTS b c", ":0|");
}
END_TEST

START_TEST(a_destination_of_wrong_type_is_an_error_and_takes_nothing)
{
    answers(anna, "BLMOVE k d LEFT RIGHT 0", "");
    answers(bert, "BLPOP k 0", "");
    answers(pusher, "SET d string", "+OK|");
    answers(pusher, "RPUSH k x", ":1|");
    hears(anna, "-WRONGTYPE Operation against a key holding the wrong kind of value|");
    hears(bert, "*2|$1|k|$1|x|");
    ck_assert(!waits(anna) && !waits(bert));
}
END_TEST

START_TEST(commands_do_not_block_inside_a_transaction)
{
    ask(anna, "MULTI");
    ask(anna, "BLPOP k 0");
    ask(anna, "BLMOVE k j LEFT LEFT 0");
    ask(anna, "BZMPOP 0 1 k MIN");
    caller_heard(anna);
    answers(anna, "EXEC", "*3|*-1|$-1|*-1|");
    ck_assert(!waits(anna));
}
END_TEST

START_TEST(a_skipped_reply_is_skipped_after_the_wait_too)
{
    anna->session.reply_mode = REPLY_SKIPPING;
    anna->session.out.mute = true;
    ask(anna, "BLPOP k 0");
    answers(pusher, "RPUSH k x", ":1|");
    answers(anna, "EXISTS k", ":0|");
}
END_TEST

START_TEST(a_key_removed_again_serves_no_client)
{
    answers(anna, "BLPOP k 0", "");
    ask(pusher, "MULTI");
    ask(pusher, "RPUSH k x");
    ask(pusher, "PEXPIRE k -1");
    ask(pusher, "EXEC");
    hears(anna, "");
    ck_assert(waits(anna));
}
END_TEST

/* ---- too late -------------------------------------------------------------------------------- */

START_TEST(a_timeout_passes_at_its_time_and_not_before)
{
    answers(anna, "BLPOP k 0.25", "");
    answers(bert, "BLMOVE k j LEFT LEFT 0.2501", "");
    answers(carl, "BLPOP k 0", "");
    ck_assert_int_eq(blocked_next_due(blocked), START + 250);
    wall.now = START + 249;
    ck_assert_uint_eq(serve_due(&dispatch, 100), 0);
    wall.now = START + 250;
    ck_assert_uint_eq(serve_due(&dispatch, 100), 1);
    hears(anna, "*-1|");
    hears(bert, "");
    ck_assert_int_eq(blocked_next_due(blocked), START + 251);
    wall.now = START + 251;
    ck_assert_uint_eq(serve_due(&dispatch, 100), 1);
    hears(bert, "*-1|");
    ck_assert_int_eq(blocked_next_due(blocked), NEVER);
    ck_assert(waits(carl));
}
END_TEST

START_TEST(many_timeouts_are_answered_in_portions_and_in_order)
{
    answers(carl, "BLPOP k 0.3", "");
    answers(anna, "BLPOP k 0.1", "");
    answers(bert, "BLPOP k 0.2", "");
    wall.now = START + 1000;
    ck_assert_uint_eq(serve_due(&dispatch, 2), 2);
    ck_assert(!waits(anna) && !waits(bert) && waits(carl));
    ck_assert_uint_eq(serve_due(&dispatch, 2), 1);
    ck_assert_uint_eq(serve_due(&dispatch, 2), 0);
}
END_TEST

START_TEST(client_unblock_answers_as_a_timeout_or_with_an_error)
{
    answers(anna, "BLPOP k 0", "");
    ck_assert(serve_unblock(&dispatch, &anna->session, false));
    hears(anna, "*-1|");
    answers(anna, "BLPOP k 0", "");
    ck_assert(serve_unblock(&dispatch, &anna->session, true));
    hears(anna, "-UNBLOCKED client unblocked via CLIENT UNBLOCK|");
    ck_assert(!serve_unblock(&dispatch, &anna->session, true));
    hears(anna, "");
}
END_TEST

START_TEST(a_timeout_is_read_as_redis_reads_it)
{
    static const struct {
        const char *text, *reply;
        msec until;
    } cases[] = {
        { "0", "", NEVER },
        { "-0", "", NEVER },
        { "-0.0009", "", NEVER },
        { "0.0001", "", START + 1 },
        { "0.001", "", START + 1 },
        { "0.0011", "", START + 2 },
        { "1e1", "", START + 10000 },
        { "0x10", "", START + 16000 },
        { "9223372036854775.807", "", NEVER },
        { "9223372036854775.808", "-ERR timeout is negative|", 0 },
        { "inf", "-ERR timeout is negative|", 0 },
        { "-1", "-ERR timeout is negative|", 0 },
        { "nan", "-ERR timeout is not a float or out of range|", 0 },
        { "1s", "-ERR timeout is not a float or out of range|", 0 },
        { "1e5000", "-ERR timeout is not a float or out of range|", 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "BLPOP k %s", cases[i].text);
        answers(anna, line, cases[i].reply);
        if (!waits(anna)) continue;
        ck_assert_int_eq(blocked_next_due(blocked), cases[i].until);
        blocked_end(&anna->session);
    }
}
END_TEST

/* ---- against a model --------------------------------------------------------------------------
 */

enum { KEYS = 4, NAMED_MAX = 3, ELEMENTS_MAX = 64 };

/* The expected state: the elements of each key, and the keys that each caller waits for. */
struct model {
    int elements[KEYS][ELEMENTS_MAX];
    int counts[KEYS];
    struct {
        bool waits, tail;
        int keys[NAMED_MAX], count;
        uint64_t arrival;
        msec until;
    } who[PUSHER];
    uint64_t arrivals;
    char expected[CALLERS][512];
    int drawn;
};

static void expect(struct model *model, int caller, const char *text)
{
    strcat(model->expected[caller], text);
}

static int model_take(struct model *model, int key, bool tail)
{
    int *elements = model->elements[key], count = --model->counts[key];
    if (tail) return elements[count];
    int first = elements[0];
    memmove(elements, elements + 1, sizeof(int) * (size_t)count);
    return first;
}

static void model_answer(struct model *model, int caller, int key)
{
    char text[64];
    int element = model_take(model, key, model->who[caller].tail);
    snprintf(text, sizeof(text), "*2|$1|%c|$4|%d|", 'a' + key, element);
    expect(model, caller, text);
    model->who[caller].waits = false;
}

static bool model_waits_for(const struct model *model, int caller, int key)
{
    for (int i = 0; model->who[caller].waits && i < model->who[caller].count; i++)
        if (model->who[caller].keys[i] == key) return true;
    return false;
}

static void model_serve(struct model *model, int key)
{
    while (model->counts[key] > 0) {
        int first = -1;
        for (int caller = 0; caller < PUSHER; caller++)
            if (model_waits_for(model, caller, key) &&
                (first < 0 || model->who[caller].arrival < model->who[first].arrival))
                first = caller;
        if (first < 0) return;
        model_answer(model, first, key);
    }
}

static void step_pop(struct rng *rng, struct model *model, int caller)
{
    char line[64];
    msec ttl = rng_chance(rng, 50) ? 0 : rng_between(rng, 1, 40);
    bool tail = rng_chance(rng, 50);
    int len = snprintf(line, sizeof(line), tail ? "BRPOP" : "BLPOP");
    model->who[caller].tail = tail;
    model->who[caller].count = (int)rng_between(rng, 1, NAMED_MAX);
    for (int i = 0; i < model->who[caller].count; i++) {
        int key = model->who[caller].keys[i] = (int)rng_below(rng, KEYS);
        len += snprintf(line + len, sizeof(line) - (size_t)len, " %c", 'a' + key);
    }
    snprintf(line + len, sizeof(line) - (size_t)len, " 0.%03d", (int)ttl);
    ask(&callers[caller], line);
    for (int i = 0; i < model->who[caller].count; i++) {
        if (model->counts[model->who[caller].keys[i]] == 0) continue;
        model_answer(model, caller, model->who[caller].keys[i]);
        return;
    }
    model->who[caller].waits = true;
    model->who[caller].arrival = model->arrivals++;
    model->who[caller].until = ttl > 0 ? wall.now + ttl : NEVER;
}

/* Pushes to several keys in one MULTI. */
static void step_push(struct rng *rng, struct model *model)
{
    int order[KEYS * 2], pushes = (int)rng_between(rng, 1, KEYS * 2);
    ask(pusher, "MULTI");
    for (int i = 0; i < pushes; i++) {
        char line[64];
        int key = order[i] = (int)rng_below(rng, KEYS);
        if (model->counts[key] == ELEMENTS_MAX) model->counts[key] = 0;
        if (model->counts[key] == 0) {
            snprintf(line, sizeof(line), "DEL %c", 'a' + key);
            ask(pusher, line);
        }
        int element = 1000 + model->drawn++ % 9000;
        snprintf(line, sizeof(line), "RPUSH %c %d", 'a' + key, element);
        ask(pusher, line);
        model->elements[key][model->counts[key]++] = element;
    }
    ask(pusher, "EXEC");
    caller_heard(pusher);
    for (int i = 0; i < pushes; i++)
        model_serve(model, order[i]);
}

static void step_clock(struct rng *rng, struct model *model)
{
    wall.now += rng_between(rng, 0, 12);
    while (serve_due(&dispatch, (size_t)rng_between(rng, 1, 3)) > 0)
        continue;
    for (int caller = 0; caller < PUSHER; caller++) {
        if (!model->who[caller].waits || model->who[caller].until > wall.now) continue;
        model->who[caller].waits = false;
        expect(model, caller, "*-1|");
    }
}

static void step_one(struct rng *rng, struct model *model)
{
    int caller = (int)rng_below(rng, PUSHER);
    uint64_t die = rng_below(rng, 100);
    if (die < 30) {
        step_push(rng, model);
    } else if (die < 40) {
        step_clock(rng, model);
    } else if (!model->who[caller].waits) {
        step_pop(rng, model, caller);
    } else if (die < 43) {
        blocked_end(&callers[caller].session); /* it has disconnected */
        model->who[caller].waits = false;
    } else if (die < 46) {
        ck_assert(serve_unblock(&dispatch, &callers[caller].session, false));
        model->who[caller].waits = false;
        expect(model, caller, "*-1|");
    }
}

START_TEST(every_client_gets_the_elements_that_a_model_predicts)
{
    struct rng rng;
    static struct model model;
    memset(&model, 0, sizeof(model));
    rng_init(&rng, test_seed());
    for (int step = 0; step < 8000; step++) {
        size_t waiting = 0;
        step_one(&rng, &model);
        blocked_check(blocked);
        ck_assert(!blocked_pending(blocked));
        for (int caller = 0; caller < PUSHER; caller++) {
            hears(&callers[caller], model.expected[caller]);
            ck_assert_int_eq(waits(&callers[caller]), model.who[caller].waits);
            model.expected[caller][0] = '\0';
            waiting += model.who[caller].waits;
        }
        ck_assert_uint_eq(blocked_count(blocked), waiting);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        clients_are_served_by_order_of_ready_keys_then_of_arrival,
        the_same_key_of_another_database_is_another_key,
        a_key_named_twice_gives_one_turn,
        a_client_that_leaves_during_serving_gets_no_turn,
        an_emptied_key_skips_its_other_clients,
        a_failed_turn_skips_other_clients_with_the_same_command,
        keys_become_ready_in_order_of_their_times,
        setting_the_clock_does_not_change_timeouts,
        a_key_keeps_its_earliest_time_until_no_client_waits,
        only_effects_of_the_awaited_type_make_a_key_ready,
        blocking_without_memory_changes_nothing,
        a_blocked_client_gets_no_reply_until_an_element_comes,
        blocked_clients_are_served_after_the_whole_transaction,
        a_blocked_client_ignores_a_key_of_another_type,
        serving_a_client_may_make_another_key_ready,
        a_destination_of_wrong_type_is_an_error_and_takes_nothing,
        commands_do_not_block_inside_a_transaction,
        a_skipped_reply_is_skipped_after_the_wait_too,
        a_key_removed_again_serves_no_client,
        a_timeout_passes_at_its_time_and_not_before,
        many_timeouts_are_answered_in_portions_and_in_order,
        client_unblock_answers_as_a_timeout_or_with_an_error,
        a_timeout_is_read_as_redis_reads_it,
        every_client_gets_the_elements_that_a_model_predicts,
        NULL,
    };
    Suite *suite = suite_create("blocked");
    TCase *tcase = tcase_create("blocked");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_set_timeout(tcase, 120);
    for (const TTest *const *test = tests; *test != NULL; test++)
        tcase_add_test(tcase, *test);
    suite_add_tcase(suite, tcase);
    return suite;
}
