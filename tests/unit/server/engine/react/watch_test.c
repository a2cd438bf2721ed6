/* Tests of watch. */
#include "server/engine/react/watch.h"

#include <stdio.h>

#include "server/engine/react/pubsub.h"
#include "tests/support/caller.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { CALLERS = 3 };

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

static void changes(unsigned db, struct bytes key)
{
    struct effect effect = { .kind = EFFECT_EXPIRE, .db = db, .key = key };
    watch_effect(watch, &effect);
}

START_TEST(a_change_marks_all_sessions_that_watch_the_key)
{
    watch_add(watch, anna, 0, LIT("k"), true);
    watch_add(watch, bert, 0, LIT("k"), false);
    watch_add(watch, &callers[2].session, 0, LIT("j"), true);
    changes(0, LIT("k"));
    ck_assert(anna->watch_touched);
    ck_assert(bert->watch_touched);
    ck_assert(!callers[2].session.watch_touched);
}
END_TEST

START_TEST(totals_count_sessions_and_keys_once)
{
    watch_add(watch, anna, 0, LIT("k"), true);
    watch_add(watch, anna, 3, LIT("k"), true);
    watch_add(watch, bert, 0, LIT("k"), true);
    struct watch_totals totals = watch_totals(watch);
    ck_assert_uint_eq(totals.sessions, 2);
    ck_assert_uint_eq(totals.keys, 2);
    watch_forget(watch, anna);
    watch_forget(watch, anna);
    totals = watch_totals(watch);
    ck_assert_uint_eq(totals.sessions, 1);
    ck_assert_uint_eq(totals.keys, 1);
}
END_TEST

START_TEST(the_same_key_of_another_database_is_another_key)
{
    watch_add(watch, anna, 2, LIT("k"), true);
    changes(0, LIT("k"));
    changes(1, LIT("k"));
    changes(9, LIT("k"));
    ck_assert(!anna->watch_touched);
    changes(2, LIT("k"));
    ck_assert(anna->watch_touched);
}
END_TEST

START_TEST(a_rename_marks_watchers_of_both_names)
{
    struct effect effect = { .kind = EFFECT_RENAME, .key = LIT("from"), .a = LIT("to") };
    watch_add(watch, anna, 0, LIT("from"), true);
    watch_add(watch, bert, 0, LIT("to"), false);
    watch_effect(watch, &effect);
    ck_assert(anna->watch_touched);
    ck_assert(bert->watch_touched);
}
END_TEST

START_TEST(a_value_equal_to_a_key_name_marks_no_watcher)
{
    struct effect effect = { .kind = EFFECT_SET, .key = LIT("a"), .a = LIT("k") };
    watch_add(watch, anna, 0, LIT("k"), true);
    watch_effect(watch, &effect);
    ck_assert(!anna->watch_touched);
}
END_TEST

START_TEST(a_flush_marks_watchers_of_keys_that_existed)
{
    struct effect effect = { .kind = EFFECT_FLUSH, .db = 1 };
    watch_add(watch, anna, 1, LIT("there"), true);
    watch_add(watch, bert, 1, LIT("absent"), false);
    watch_add(watch, &callers[2].session, 0, LIT("there"), true);
    watch_effect(watch, &effect);
    ck_assert(anna->watch_touched);
    ck_assert(!bert->watch_touched);
    ck_assert(!callers[2].session.watch_touched);
}
END_TEST

START_TEST(forgetting_clears_the_mark_and_the_watched_keys)
{
    ck_assert(!watch_active(watch));
    watch_add(watch, anna, 0, LIT("k"), true);
    watch_add(watch, bert, 0, LIT("k"), true);
    changes(0, LIT("k"));
    watch_forget(watch, anna);
    ck_assert(!anna->watch_touched);
    ck_assert_ptr_null(anna->watching);
    changes(0, LIT("k"));
    ck_assert(!anna->watch_touched);
    ck_assert(watch_active(watch));
    watch_forget(watch, bert);
    ck_assert(!watch_active(watch));
    changes(0, LIT("k"));
    ck_assert(!bert->watch_touched);
}
END_TEST

static void append_key(void *ctx, unsigned db, struct bytes key, bool existed)
{
    char *text = ctx;
    size_t len = strlen(text);
    snprintf(text + len, 64 - len, "%u:%.*s%s ", db, (int)key.len, key.data, existed ? "" : "?");
}

START_TEST(watched_keys_are_listed_once_in_the_order_they_were_named)
{
    char text[64] = "";
    watch_add(watch, bert, 0, LIT("b"), true);
    watch_add(watch, anna, 0, LIT("b"), true);
    watch_add(watch, anna, 3, LIT("a"), false);
    watch_add(watch, anna, 0, LIT("b"), true);
    watch_add(watch, anna, 0, LIT(""), true);
    watch_each(anna, append_key, text);
    ck_assert_str_eq(text, "0:b 3:a? 0: ");
}
END_TEST

enum { KEYS = 20, DBS = 2, STEPS = 20000 };

static bool model[CALLERS][DBS][KEYS];

static void random_step(struct rng *rng)
{
    size_t who = rng_below(rng, CALLERS), which = rng_below(rng, KEYS);
    unsigned db = (unsigned)rng_below(rng, DBS);
    char text[8];
    struct bytes key = bytes_of(text, (size_t)snprintf(text, sizeof(text), "k%zu", which));
    if (rng_chance(rng, 5)) {
        watch_forget(watch, &callers[who].session);
        memset(model[who], 0, sizeof(model[who]));
    } else if (rng_chance(rng, 50)) {
        watch_add(watch, &callers[who].session, db, key, true);
        model[who][db][which] = true;
    }
    for (int i = 0; i < CALLERS; i++)
        callers[i].session.watch_touched = false;
    changes(db, key);
    for (int i = 0; i < CALLERS; i++)
        ck_assert(callers[i].session.watch_touched == model[i][db][which]);
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
        a_change_marks_all_sessions_that_watch_the_key,
        totals_count_sessions_and_keys_once,
        the_same_key_of_another_database_is_another_key,
        a_rename_marks_watchers_of_both_names,
        a_value_equal_to_a_key_name_marks_no_watcher,
        a_flush_marks_watchers_of_keys_that_existed,
        forgetting_clears_the_mark_and_the_watched_keys,
        watched_keys_are_listed_once_in_the_order_they_were_named,
        random_steps_agree_with_a_model,
        NULL,
    };
    Suite *suite = suite_create("watch");
    TCase *tcase = tcase_create("watch");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; tests[i] != NULL; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
