/* Tests of pubsub. */
#include "server/engine/react/pubsub.h"

#include <stdio.h>

#include "server/engine/react/watch.h"
#include "tests/support/caller.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { CALLERS = 4 };

static struct pubsub *pubsub;
static struct watch *watch;
static struct caller callers[CALLERS];
static struct session *const anna = &callers[0].session, *const bert = &callers[1].session;

static void begin(void)
{
    pubsub = pubsub_new();
    watch = watch_new();
    for (int i = 0; i < CALLERS; i++)
        caller_init(&callers[i]);
}

static void end(void)
{
    for (int i = 0; i < CALLERS; i++)
        caller_drop(&callers[i], watch, pubsub);
    watch_free(watch);
    pubsub_free(pubsub);
}

START_TEST(a_message_reaches_only_subscribers_of_its_channel)
{
    ck_assert(pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("news")));
    ck_assert(pubsub_subscribe(pubsub, bert, PUBSUB_CHANNEL, LIT("sport")));
    ck_assert_uint_eq(pubsub_publish(pubsub, LIT("news"), LIT("hi")), 1);
    hears(&callers[0], "*3|$7|message|$4|news|$2|hi|");
    hears(&callers[1], "");
    ck_assert_uint_eq(callers[0].wakes, 1);
    ck_assert_uint_eq(callers[1].wakes, 0);
}
END_TEST

START_TEST(pattern_subscribers_come_after_those_of_the_channel)
{
    anna->out.version = 3;
    pubsub_subscribe(pubsub, anna, PUBSUB_PATTERN, LIT("n*"));
    pubsub_subscribe(pubsub, anna, PUBSUB_PATTERN, LIT("x*"));
    pubsub_subscribe(pubsub, anna, PUBSUB_PATTERN, LIT("ne*"));
    pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("news"));
    ck_assert_uint_eq(pubsub_publish(pubsub, LIT("news"), LIT("hi")), 3);
    hears(&callers[0], ">3|$7|message|$4|news|$2|hi|"
                       ">4|$8|pmessage|$2|n*|$4|news|$2|hi|"
                       ">4|$8|pmessage|$3|ne*|$4|news|$2|hi|");
}
END_TEST

START_TEST(subscribing_twice_is_subscribing_once)
{
    ck_assert(pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("a")));
    ck_assert(!pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("a")));
    ck_assert_uint_eq(pubsub_publish(pubsub, LIT("a"), LIT("")), 1);
    ck_assert(pubsub_unsubscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("a")));
    ck_assert(!pubsub_unsubscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("a")));
    ck_assert_uint_eq(pubsub_publish(pubsub, LIT("a"), LIT("")), 0);
}
END_TEST

START_TEST(a_channel_and_a_pattern_of_one_name_are_two)
{
    pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("a"));
    pubsub_subscribe(pubsub, anna, PUBSUB_PATTERN, LIT("a"));
    ck_assert_uint_eq(session_subscriptions(anna), 2);
    ck_assert(pubsub_unsubscribe(pubsub, anna, PUBSUB_PATTERN, LIT("a")));
    ck_assert_uint_eq(session_subscription_count(anna, PUBSUB_CHANNEL), 1);
    ck_assert_uint_eq(session_subscription_count(anna, PUBSUB_PATTERN), 0);
}
END_TEST

START_TEST(names_are_binary_and_may_be_empty)
{
    pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("a\0b"));
    pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT(""));
    ck_assert_uint_eq(pubsub_publish(pubsub, LIT("a\0b"), LIT("m")), 1);
    ck_assert_uint_eq(pubsub_publish(pubsub, LIT("a\0c"), LIT("m")), 0);
    ck_assert_uint_eq(pubsub_publish(pubsub, LIT(""), LIT("m")), 1);
}
END_TEST

START_TEST(channels_patterns_and_subscribers_are_counted)
{
    pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("a"));
    pubsub_subscribe(pubsub, bert, PUBSUB_CHANNEL, LIT("a"));
    pubsub_subscribe(pubsub, bert, PUBSUB_CHANNEL, LIT("b"));
    pubsub_subscribe(pubsub, anna, PUBSUB_PATTERN, LIT("p*"));
    pubsub_subscribe(pubsub, bert, PUBSUB_PATTERN, LIT("p*"));
    ck_assert_uint_eq(pubsub_count(pubsub, PUBSUB_CHANNEL), 2);
    ck_assert_uint_eq(pubsub_count(pubsub, PUBSUB_PATTERN), 1);
    ck_assert_uint_eq(pubsub_listeners(pubsub, PUBSUB_CHANNEL, LIT("a")), 2);
    ck_assert_uint_eq(pubsub_listeners(pubsub, PUBSUB_CHANNEL, LIT("nobody")), 0);
    pubsub_forget(pubsub, bert);
    ck_assert_uint_eq(pubsub_count(pubsub, PUBSUB_CHANNEL), 1);
    ck_assert_uint_eq(pubsub_listeners(pubsub, PUBSUB_CHANNEL, LIT("a")), 1);
    ck_assert_uint_eq(session_subscriptions(bert), 0);
    ck_assert_ptr_null(bert->subscriber);
}
END_TEST

START_TEST(a_muted_session_still_gets_messages)
{
    pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("a"));
    anna->out.mute = true;
    pubsub_publish(pubsub, LIT("a"), LIT("m"));
    hears(&callers[0], "*3|$7|message|$1|a|$1|m|");
}
END_TEST

START_TEST(patterns_do_not_match_shard_channels)
{
    anna->out.version = 3;
    pubsub_subscribe(pubsub, anna, PUBSUB_SHARD, LIT("a"));
    pubsub_subscribe(pubsub, bert, PUBSUB_CHANNEL, LIT("a"));
    pubsub_subscribe(pubsub, bert, PUBSUB_PATTERN, LIT("*"));
    ck_assert_uint_eq(pubsub_publish_shard(pubsub, LIT("a"), LIT("hi")), 1);
    hears(&callers[0], ">3|$8|smessage|$1|a|$2|hi|");
    hears(&callers[1], "");
    ck_assert_uint_eq(pubsub_publish(pubsub, LIT("a"), LIT("hi")), 2);
    hears(&callers[0], "");
    ck_assert_uint_eq(pubsub_count(pubsub, PUBSUB_SHARD), 1);
    ck_assert_uint_eq(pubsub_listeners(pubsub, PUBSUB_SHARD, LIT("a")), 1);
    ck_assert_uint_eq(session_subscriptions(anna), 1);
    pubsub_forget(pubsub, anna);
    ck_assert_uint_eq(pubsub_count(pubsub, PUBSUB_SHARD), 0);
    ck_assert_uint_eq(pubsub_publish_shard(pubsub, LIT("a"), LIT("hi")), 0);
}
END_TEST

static void append_name(void *ctx, struct bytes name)
{
    char *text = ctx;
    size_t len = strlen(text);
    snprintf(text + len, 64 - len, "%.*s ", (int)name.len, name.data);
}

START_TEST(subscriptions_are_listed_in_the_order_they_were_made)
{
    char text[64] = "";
    struct bytes first;
    pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("c"));
    pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("a"));
    pubsub_subscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("b"));
    pubsub_unsubscribe(pubsub, anna, PUBSUB_CHANNEL, LIT("a"));
    session_each_subscription(anna, PUBSUB_CHANNEL, append_name, text);
    ck_assert_str_eq(text, "c b ");
    ck_assert(session_first_subscription(anna, PUBSUB_CHANNEL, &first));
    ck_assert(bytes_equal(first, LIT("c")));
    ck_assert(!session_first_subscription(anna, PUBSUB_PATTERN, &first));
    text[0] = '\0';
    pubsub_each(pubsub, PUBSUB_CHANNEL, append_name, text);
    ck_assert_str_eq(text, "c b ");
}
END_TEST

enum { NAMES = 30, STEPS = 20000 };

static bool model[CALLERS][NAMES];

static size_t model_listeners(size_t name)
{
    size_t count = 0;
    for (int i = 0; i < CALLERS; i++)
        count += model[i][name];
    return count;
}

static void random_step(struct rng *rng)
{
    size_t who = rng_below(rng, CALLERS), which = rng_below(rng, NAMES);
    char text[8];
    struct bytes name = bytes_of(text, (size_t)snprintf(text, sizeof(text), "c%zu", which));
    struct session *session = &callers[who].session;
    switch (rng_below(rng, 8)) {
    case 0:
        if (!rng_chance(rng, 10)) break;
        pubsub_forget(pubsub, session);
        memset(model[who], 0, sizeof(model[who]));
        break;
    case 1:
    case 2:
        ck_assert(pubsub_unsubscribe(pubsub, session, PUBSUB_CHANNEL, name) == model[who][which]);
        model[who][which] = false;
        break;
    default:
        ck_assert(pubsub_subscribe(pubsub, session, PUBSUB_CHANNEL, name) != model[who][which]);
        model[who][which] = true;
    }
    size_t listeners = model_listeners(which);
    ck_assert_uint_eq(pubsub_listeners(pubsub, PUBSUB_CHANNEL, name), listeners);
    ck_assert_uint_eq(pubsub_publish(pubsub, name, LIT("m")), listeners);
    for (int i = 0; i < CALLERS; i++)
        ck_assert((strlen(caller_heard(&callers[i])) > 0) == model[i][which]);
}

START_TEST(random_steps_agree_with_a_model)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int step = 0; step < STEPS; step++)
        random_step(&rng);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_message_reaches_only_subscribers_of_its_channel,
        pattern_subscribers_come_after_those_of_the_channel,
        subscribing_twice_is_subscribing_once,
        a_channel_and_a_pattern_of_one_name_are_two,
        names_are_binary_and_may_be_empty,
        channels_patterns_and_subscribers_are_counted,
        a_muted_session_still_gets_messages,
        patterns_do_not_match_shard_channels,
        subscriptions_are_listed_in_the_order_they_were_made,
        random_steps_agree_with_a_model,
        NULL,
    };
    Suite *suite = suite_create("pubsub");
    TCase *tcase = tcase_create("pubsub");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; tests[i] != NULL; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
