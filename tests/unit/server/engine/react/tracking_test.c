/* Tests of client-side caching. */
#include "server/engine/react/tracking.h"

#include <stdio.h>

#include "server/engine/react/pubsub.h"
#include "server/engine/react/watch.h"
#include "tests/support/caller.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { CALLERS = 4 };

static struct tracking *tracking;
static struct pubsub *pubsub;
static struct watch *watch;
static struct caller callers[CALLERS];
static struct session *const anna = &callers[0].session, *const bert = &callers[1].session;

static void begin(void)
{
    tracking = tracking_new();
    pubsub = pubsub_new();
    watch = watch_new();
    for (int i = 0; i < CALLERS; i++) {
        caller_init(&callers[i]);
        callers[i].session.id = (uint64_t)i + 1;
        callers[i].session.out.version = 3;
    }
}

static void end(void)
{
    for (int i = 0; i < CALLERS; i++) {
        tracking_forget(tracking, &callers[i].session);
        caller_drop(&callers[i], watch, pubsub);
    }
    tracking_free(tracking);
    watch_free(watch);
    pubsub_free(pubsub);
}

static void track(struct session *session, struct tracking_mode mode)
{
    tracking_on(tracking, session, &mode);
}

static void change(const struct session *by, struct effect effect)
{
    tracking_begin_call(tracking);
    tracking_effect(tracking, &effect, by);
    tracking_flush(tracking);
}

static void set(const struct session *by, struct bytes key)
{
    change(by, (struct effect){ .kind = EFFECT_SET, .event = EVENT_SET, .key = key });
}

START_TEST(a_change_is_sent_once_after_the_commit)
{
    track(anna, (struct tracking_mode){ 0 });
    tracking_note_read(tracking, anna, LIT("k"));
    tracking_note_read(tracking, anna, LIT("k"));
    tracking_begin_call(tracking);
    tracking_effect(tracking, &(struct effect){ .kind = EFFECT_DROP, .key = LIT("k") }, bert);
    hears(&callers[0], "");
    tracking_flush(tracking);
    hears(&callers[0], ">2|$10|invalidate|*1|$1|k|");
    ck_assert_uint_eq(callers[0].wakes, 1);
    set(bert, LIT("k"));
    hears(&callers[0], "");
}
END_TEST

START_TEST(an_event_without_a_change_is_not_sent)
{
    track(anna, (struct tracking_mode){ 0 });
    tracking_note_read(tracking, anna, LIT("k"));
    change(bert, (struct effect){ .event = EVENT_KEYMISS, .key = LIT("k") });
    hears(&callers[0], "");
}
END_TEST

START_TEST(both_ends_of_a_rename_and_the_target_of_a_copy_change)
{
    track(anna, (struct tracking_mode){ 0 });
    tracking_note_read(tracking, anna, LIT("a"));
    tracking_note_read(tracking, anna, LIT("b"));
    change(bert, (struct effect){ .kind = EFFECT_COPY, .key = LIT("a"), .a = LIT("b") });
    hears(&callers[0], ">2|$10|invalidate|*1|$1|b|");
    tracking_note_read(tracking, anna, LIT("b"));
    change(bert, (struct effect){ .kind = EFFECT_RENAME, .key = LIT("a"), .a = LIT("b") });
    hears(&callers[0], ">2|$10|invalidate|*1|$1|a|>2|$10|invalidate|*1|$1|b|");
}
END_TEST

START_TEST(a_flush_of_many_databases_is_sent_once)
{
    track(anna, (struct tracking_mode){ 0 });
    track(bert, (struct tracking_mode){ .broadcast = true });
    tracking_note_read(tracking, anna, LIT("k"));
    tracking_begin_call(tracking);
    for (unsigned db = 0; db < 16; db++)
        tracking_effect(tracking, &(struct effect){ .kind = EFFECT_FLUSH, .db = db }, NULL);
    tracking_begin_call(tracking);
    tracking_effect(tracking, &(struct effect){ .kind = EFFECT_FLUSH }, NULL);
    tracking_flush(tracking);
    hears(&callers[0], ">2|$10|invalidate|_|>2|$10|invalidate|_|");
    hears(&callers[1], ">2|$10|invalidate|_|>2|$10|invalidate|_|");
    set(bert, LIT("k"));
    hears(&callers[0], "");
    ck_assert_uint_eq(tracking_totals(tracking).keys, 0);
}
END_TEST

START_TEST(noloop_skips_the_session_that_made_the_change)
{
    track(anna, (struct tracking_mode){ .no_loop = true });
    tracking_note_read(tracking, anna, LIT("k"));
    set(anna, LIT("k"));
    hears(&callers[0], "");
    tracking_note_read(tracking, anna, LIT("k"));
    set(NULL, LIT("k"));
    hears(&callers[0], ">2|$10|invalidate|*1|$1|k|");
}
END_TEST

START_TEST(prefix_messages_are_sent_at_the_end_of_a_turn_in_order)
{
    track(anna, (struct tracking_mode){ .broadcast = true });
    tracking_add_prefixes(tracking, anna, (struct bytes[]){ LIT("b"), LIT("a"), LIT("a") }, 3);
    tracking_add_prefixes(tracking, anna, (struct bytes[]){ LIT("a") }, 1);
    set(bert, LIT("b"));
    set(bert, LIT("a2"));
    set(bert, LIT("a1"));
    set(bert, LIT("a2"));
    set(bert, LIT("c"));
    hears(&callers[0], "");
    tracking_turn(tracking);
    hears(&callers[0], ">2|$10|invalidate|*2|$2|a1|$2|a2|>2|$10|invalidate|*1|$1|b|");
    tracking_turn(tracking);
    hears(&callers[0], "");
    ck_assert_uint_eq(tracking_totals(tracking).prefixes, 2);
    tracking_off(tracking, anna);
    ck_assert_uint_eq(tracking_totals(tracking).prefixes, 0);
}
END_TEST

START_TEST(an_expiry_is_not_a_sessions_own_change)
{
    track(anna, (struct tracking_mode){ .broadcast = true, .no_loop = true });
    tracking_add_prefixes(tracking, anna, (struct bytes[]){ LIT("") }, 1);
    change(anna, (struct effect){ .kind = EFFECT_DROP, .event = EVENT_EXPIRED, .key = LIT("k") });
    set(anna, LIT("own"));
    tracking_turn(tracking);
    hears(&callers[0], ">2|$10|invalidate|*1|$1|k|");
}
END_TEST

START_TEST(prefixes_overlap_when_one_begins_the_other)
{
    struct bytes other;
    track(anna, (struct tracking_mode){ .broadcast = true });
    tracking_add_prefixes(tracking, anna, (struct bytes[]){ LIT("ab") }, 1);
    ck_assert(tracking_overlaps(anna, LIT("a"), &other));
    ck_assert(bytes_equal(other, LIT("ab")));
    ck_assert(tracking_overlaps(anna, LIT("abc"), &other));
    ck_assert(tracking_overlaps(anna, LIT(""), &other));
    ck_assert(!tracking_overlaps(anna, LIT("b"), &other));
    ck_assert(!tracking_overlaps(bert, LIT("ab"), &other));
}
END_TEST

START_TEST(redirected_messages_use_the_target_sessions_protocol)
{
    track(anna, (struct tracking_mode){ .redirect = bert });
    bert->out.version = 2;
    tracking_note_read(tracking, anna, LIT("k"));
    set(NULL, LIT("k"));
    hears(&callers[1], ""); /* it has not subscribed */
    pubsub_subscribe(pubsub, bert, PUBSUB_CHANNEL, LIT("any"));
    tracking_note_read(tracking, anna, LIT("k"));
    set(NULL, LIT("k"));
    hears(&callers[1], "*3|$7|message|$20|__redis__:invalidate|*1|$1|k|");
    change(NULL, (struct effect){ .kind = EFFECT_FLUSH });
    hears(&callers[1], "*3|$7|message|$20|__redis__:invalidate|$-1|");
    bert->out.version = 3;
    tracking_note_read(tracking, anna, LIT("k"));
    set(NULL, LIT("k"));
    hears(&callers[1], ">2|$10|invalidate|*1|$1|k|");
    tracking_forget(tracking, bert);
    tracking_note_read(tracking, anna, LIT("k"));
    set(NULL, LIT("k"));
    hears(&callers[0], ">2|$21|tracking-redir-broken|:2|");
    struct tracking_view view;
    ck_assert(tracking_view(anna, &view));
    ck_assert(view.broken);
    ck_assert_uint_eq(view.redirect_id, 2);
    tracking_check(tracking);
}
END_TEST

START_TEST(caching_makes_the_exception)
{
    ck_assert(!tracking_wants_reads(anna));
    track(anna, (struct tracking_mode){ .opt_in = true });
    ck_assert(!tracking_wants_reads(anna));
    tracking_set_caching(anna);
    ck_assert(tracking_wants_reads(anna));
    tracking_end_caching(anna);
    ck_assert(!tracking_wants_reads(anna));
    track(bert, (struct tracking_mode){ .opt_out = true });
    ck_assert(tracking_wants_reads(bert));
    tracking_set_caching(bert);
    ck_assert(!tracking_wants_reads(bert));
    track(&callers[2].session, (struct tracking_mode){ .broadcast = true });
    ck_assert(!tracking_wants_reads(&callers[2].session));
}
END_TEST

START_TEST(a_push_waits_until_an_exec_has_replied)
{
    struct outbuf pushes;
    outbuf_init(&pushes);
    track(anna, (struct tracking_mode){ 0 });
    tracking_note_read(tracking, anna, LIT("k"));
    anna->pushes = &pushes;
    set(anna, LIT("k"));
    hears(&callers[0], "");
    ck_assert_uint_gt(pushes.len, 0);
    anna->pushes = NULL;
    outbuf_drop(&pushes);
}
END_TEST

START_TEST(the_limit_forgets_some_keys_at_each_call)
{
    enum { KEYS = 1000, MAX = 50 };
    track(anna, (struct tracking_mode){ 0 });
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        tracking_note_read(tracking, anna,
                           bytes_of(key, (size_t)snprintf(key, sizeof(key), "k%d", i)));
    }
    tracking_limit(tracking, 0);
    ck_assert_uint_eq(tracking_totals(tracking).keys, KEYS);
    tracking_limit(tracking, MAX);
    ck_assert_uint_eq(tracking_totals(tracking).keys, KEYS - 100);
    tracking_limit(tracking, MAX);
    ck_assert_uint_eq(tracking_totals(tracking).keys, KEYS - 300);
    tracking_limit(tracking, MAX);
    tracking_limit(tracking, MAX);
    ck_assert_uint_eq(tracking_totals(tracking).keys, MAX);
    tracking_check(tracking);
    outbuf_consume(&callers[0].out, callers[0].out.len);
}
END_TEST

START_TEST(all_keys_are_forgotten_with_the_last_tracking_session)
{
    track(anna, (struct tracking_mode){ 0 });
    tracking_note_read(tracking, anna, LIT("k"));
    ck_assert(tracking_active(tracking));
    tracking_off(tracking, anna);
    ck_assert(tracking_active(tracking)); /* it may come back */
    tracking_forget(tracking, anna);
    ck_assert(!tracking_active(tracking));
}
END_TEST

/* ---- against a model ------------------------------------------------------------------------- */

enum { NAMES = 12, PREFIXES = 3, STEPS = 30000 };

/* Key i begins with the letter of its prefix, i % PREFIXES. */
static struct {
    bool on[CALLERS], broadcast[CALLERS], no_loop[CALLERS];
    bool wants[CALLERS][PREFIXES];
    bool read[CALLERS][NAMES];
    int changed_by[NAMES]; /* in this turn: -1 nobody, CALLERS the server */
    bool notified[CALLERS][NAMES], notified_all[CALLERS];
} model;

static struct bytes key_of(size_t name)
{
    static char texts[NAMES][4];
    int len =
        snprintf(texts[name], sizeof(texts[name]), "%c%02zu", (char)('a' + name % PREFIXES), name);
    return bytes_of(texts[name], (size_t)len);
}

static void model_change(size_t name, size_t by)
{
    model.changed_by[name] = (int)by;
    for (size_t i = 0; i < CALLERS; i++) {
        bool spared = model.broadcast[i] || (model.no_loop[i] && i == by);
        model.notified[i][name] = model.on[i] && model.read[i][name] && !spared;
        model.read[i][name] = false;
    }
}

static void model_off(size_t i)
{
    model.on[i] = model.broadcast[i] = model.no_loop[i] = false;
    memset(model.wants[i], 0, sizeof(model.wants[i]));
}

static void model_turn(void)
{
    for (size_t i = 0; i < CALLERS; i++)
        for (size_t name = 0; name < NAMES; name++) {
            int by = model.changed_by[name];
            bool spared = by < 0 || (model.no_loop[i] && by == (int)i);
            if (model.wants[i][name % PREFIXES] && !spared) model.notified[i][name] = true;
        }
    for (size_t name = 0; name < NAMES; name++)
        model.changed_by[name] = -1;
}

static void expect_notified(void)
{
    for (size_t i = 0; i < CALLERS; i++) {
        const char *heard = caller_heard(&callers[i]);
        ck_assert((strstr(heard, "invalidate|_|") != NULL) == model.notified_all[i]);
        for (size_t name = 0; name < NAMES; name++) {
            char part[16];
            snprintf(part, sizeof(part), "$3|%.3s|", key_of(name).data);
            ck_assert((strstr(heard, part) != NULL) == model.notified[i][name]);
        }
    }
    memset(model.notified, 0, sizeof(model.notified));
    memset(model.notified_all, 0, sizeof(model.notified_all));
}

static void random_mode(struct rng *rng, size_t i)
{
    if (rng_chance(rng, 40)) {
        tracking_off(tracking, &callers[i].session);
        model_off(i);
        return;
    }
    if (!model.on[i]) model.broadcast[i] = rng_chance(rng, 40);
    model.on[i] = true;
    model.no_loop[i] = rng_chance(rng, 50);
    track(&callers[i].session,
          (struct tracking_mode){ .broadcast = model.broadcast[i], .no_loop = model.no_loop[i] });
    if (!model.broadcast[i]) return;
    /* Changes from before somebody asked for the prefix may be notified, or not. */
    tracking_turn(tracking);
    model_turn();
    size_t prefix = rng_below(rng, PREFIXES);
    char letter = (char)('a' + prefix);
    struct bytes text = bytes_of(&letter, 1);
    tracking_add_prefixes(tracking, &callers[i].session, &text, 1);
    model.wants[i][prefix] = true;
}

static void random_change(struct rng *rng, size_t name)
{
    size_t by = rng_below(rng, CALLERS + 1);
    set(by < CALLERS ? &callers[by].session : NULL, key_of(name));
    model_change(name, by);
}

static void flush_all(void)
{
    change(anna, (struct effect){ .kind = EFFECT_FLUSH });
    for (size_t i = 0; i < CALLERS; i++)
        model.notified_all[i] = model.on[i];
    memset(model.read, 0, sizeof(model.read));
}

static void random_step(struct rng *rng)
{
    size_t i = rng_below(rng, CALLERS), name = rng_below(rng, NAMES);
    switch (rng_below(rng, 10)) {
    case 0: random_mode(rng, i); break;
    case 1:
        if (rng_chance(rng, 10)) flush_all();
        break;
    case 2:
        tracking_turn(tracking);
        model_turn();
        break;
    case 3:
    case 4:
    case 5: random_change(rng, name); break;
    default:
        if (!tracking_wants_reads(&callers[i].session)) break;
        tracking_note_read(tracking, &callers[i].session, key_of(name));
        model.read[i][name] = true;
    }
    expect_notified();
}

START_TEST(random_steps_send_the_messages_that_a_model_predicts)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    memset(&model, 0, sizeof(model));
    for (size_t name = 0; name < NAMES; name++)
        model.changed_by[name] = -1;
    for (int step = 0; step < STEPS; step++) {
        random_step(&rng);
        if (step % 100 == 0) tracking_check(tracking);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_change_is_sent_once_after_the_commit,
        an_event_without_a_change_is_not_sent,
        both_ends_of_a_rename_and_the_target_of_a_copy_change,
        a_flush_of_many_databases_is_sent_once,
        noloop_skips_the_session_that_made_the_change,
        prefix_messages_are_sent_at_the_end_of_a_turn_in_order,
        an_expiry_is_not_a_sessions_own_change,
        prefixes_overlap_when_one_begins_the_other,
        redirected_messages_use_the_target_sessions_protocol,
        caching_makes_the_exception,
        a_push_waits_until_an_exec_has_replied,
        the_limit_forgets_some_keys_at_each_call,
        all_keys_are_forgotten_with_the_last_tracking_session,
        random_steps_send_the_messages_that_a_model_predicts,
        NULL,
    };
    Suite *suite = suite_create("tracking");
    TCase *tcase = tcase_create("tracking");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; tests[i] != NULL; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
