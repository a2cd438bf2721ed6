/* txn_policy: deadlines of keys by TTL, REFRESH, MAXTTL and JITTER. */
#include "tests/support/rng.h"
#include "tests/unit/store/txn/policy_world.h"

/* ---- TTL ---- */

START_TEST(a_key_created_without_a_deadline_gets_the_ttl)
{
    setup();
    RULE("s:*", .ttl = 500);
    world_set(&world, "s:1", "v", NEVER);
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    world_set(&world, "other", "v", NEVER);
    ck_assert_int_eq(deadline("other"), NEVER);
    ck_assert_str_eq(world_events(&world), "new:s:1 set:s:1 expire:s:1 new:other set:other ");
    done();
}
END_TEST

START_TEST(a_key_created_with_a_deadline_keeps_it)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_WRITE);
    world_set(&world, "s:1", "v", world.now + 9000);
    ck_assert_int_eq(deadline("s:1"), world.now + 9000);
    world_set(&world, "s:1", "v", world.now + 9000);
    ck_assert_int_eq(deadline("s:1"), world.now + 9000);
    done();
}
END_TEST

START_TEST(a_key_overwritten_as_a_whole_is_created_anew)
{
    setup();
    world_set(&world, "s:1", "v", NEVER);
    RULE("s:*", .ttl = 500);
    append("s:1");
    ck_assert_int_eq(deadline("s:1"), NEVER);
    world.now += 10;
    world_set(&world, "s:1", "v", NEVER);
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    done();
}
END_TEST

START_TEST(never_refreshed_is_the_default)
{
    setup();
    RULE("s:*", .ttl = 500);
    world_set(&world, "s:1", "v", NEVER);
    msec at = deadline("s:1");
    world.now += 100;
    append("s:1");
    set_keep_ttl("s:1");
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), at);
    persist("s:1");
    append("s:1");
    set_keep_ttl("s:1");
    ck_assert_int_eq(deadline("s:1"), NEVER);
    done();
}
END_TEST

START_TEST(a_write_refreshes_and_a_read_does_not)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_WRITE);
    world_set(&world, "s:1", "1", NEVER);
    msec at = deadline("s:1");
    world.now += 100;
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), at);
    append("s:1");
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    world.now += 100;
    set_keep_ttl("s:1");
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    done();
}
END_TEST

START_TEST(a_read_refreshes_without_a_change_that_watchers_see)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_ACCESS);
    world_set(&world, "s:1", "1", NEVER);
    world.now += 100;
    size_t before = world.effect_count;
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    ck_assert_uint_eq(world.effect_count, before + 1);
    ck_assert(world.effects[before].effect.by_read);
    ck_assert_int_eq(world.effects[before].effect.kind, EFFECT_EXPIRE);
    world.now += 100;
    append("s:1");
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    ck_assert(!world.effects[world.effect_count - 1].effect.by_read);
    done();
}
END_TEST

START_TEST(ttl_and_exists_do_not_refresh)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_ACCESS);
    world_set(&world, "s:1", "1", NEVER);
    msec at = deadline("s:1");
    world.now += 100;
    struct txn *txn = world_begin(&world);
    txn->no_touch = true;
    txn_find_counted(txn, text("s:1"));
    world_commit(&world);
    txn = world_begin(&world);
    txn->no_expiry = true;
    txn_find_counted(txn, text("s:1"));
    world_commit(&world);
    txn_find_without_lru(world_begin(&world), text("s:1"));
    world_commit(&world);
    ck_assert_int_eq(deadline("s:1"), at);
    done();
}
END_TEST

START_TEST(a_failed_read_does_not_refresh_though_another_key_expired)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_ACCESS);
    world_set(&world, "s:1", "1", NEVER);
    world_set(&world, "other", "1", world.now + 50);
    msec at = deadline("s:1");
    world.now += 100;
    struct txn *txn = world_begin(&world);
    ck_assert_ptr_null(txn_find_counted(txn, text("other")));
    txn_find_counted(txn, text("s:1"));
    txn_call_failed(txn);
    world_commit(&world);
    ck_assert_int_eq(deadline("s:1"), at);
    done();
}
END_TEST

START_TEST(a_deadline_set_by_the_command_overrides_the_ttl)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_ACCESS);
    world_set(&world, "s:1", "1", NEVER);
    expire("s:1", world.now + 7);
    ck_assert_int_eq(deadline("s:1"), world.now + 7);
    expire("s:1", world.now + 7);
    ck_assert_int_eq(deadline("s:1"), world.now + 7);
    persist("s:1");
    ck_assert_int_eq(deadline("s:1"), NEVER);
    append("s:1");
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), NEVER);
    done();
}
END_TEST

START_TEST(a_refresh_never_makes_a_deadline_earlier)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_ACCESS);
    msec own = world.now + 9000;
    world_set(&world, "s:1", "1", own);
    read_key("s:1");
    append("s:1");
    set_keep_ttl("s:1");
    ck_assert_int_eq(deadline("s:1"), own);
    world.now = own - 499;
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    done();
}
END_TEST

START_TEST(a_refresh_with_jitter_never_makes_a_deadline_earlier)
{
    setup();
    RULE("s:*", .ttl = 500, .jitter = 50, .refresh = REFRESH_ACCESS);
    world_set(&world, "s:1", "1", NEVER);
    for (int i = 0; i < 100; i++) {
        msec before = deadline("s:1");
        read_key("s:1");
        ck_assert_int_ge(deadline("s:1"), before);
        ck_assert_int_le(deadline("s:1"), world.now + 750);
        world.now++;
    }
    done();
}
END_TEST

START_TEST(a_refresh_that_changes_nothing_records_nothing)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_WRITE);
    world_set(&world, "s:1", "1", NEVER);
    size_t before = world.effect_count;
    append("s:1");
    ck_assert_uint_eq(world.effect_count, before + 1);
    done();
}
END_TEST

/* ---- MAXTTL, JITTER ---- */

START_TEST(no_deadline_is_later_than_max_ttl)
{
    setup();
    RULE("s:*", .max_ttl = 1000);
    world_set(&world, "s:1", "v", NEVER);
    ck_assert_int_eq(deadline("s:1"), world.now + 1000);
    world_set(&world, "s:2", "v", world.now + 5000);
    ck_assert_int_eq(deadline("s:2"), world.now + 1000);
    world_set(&world, "s:3", "v", world.now + 50);
    ck_assert_int_eq(deadline("s:3"), world.now + 50);
    expire("s:3", world.now + 1001);
    ck_assert_int_eq(deadline("s:3"), world.now + 1000);
    persist("s:3");
    ck_assert_int_eq(deadline("s:3"), world.now + 1000);
    world.now += 300;
    append("s:3");
    ck_assert_int_eq(deadline("s:3"), world.now + 700);
    done();
}
END_TEST

START_TEST(max_ttl_holds_for_old_keys_from_their_next_write_on)
{
    setup();
    world_set(&world, "s:1", "v", NEVER);
    world_set(&world, "s:2", "v", world.now + 5000);
    RULE("s:*", .max_ttl = 1000);
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), NEVER);
    append("s:1");
    append("s:2");
    ck_assert_int_eq(deadline("s:1"), world.now + 1000);
    ck_assert_int_eq(deadline("s:2"), world.now + 1000);
    done();
}
END_TEST

START_TEST(jitter_spreads_deadlines_evenly_on_both_sides)
{
    enum { KEYS = 4000 };
    setup();
    RULE("s:*", .ttl = 1000, .jitter = 20);
    int below = 0;
    msec least = INT64_MAX, most = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        snprintf(key, sizeof(key), "s:%d", i);
        struct string_set how = { .at = NEVER };
        struct txn txn;
        txn_begin(&txn, world.store, world.now, FROM_CLIENT);
        txn_string_set(&txn, text(key), text("v"), &how);
        txn_commit(&txn);
        msec ttl = deadline(key) - world.now;
        below += ttl < 1000;
        if (ttl < least) least = ttl;
        if (ttl > most) most = ttl;
    }
    ck_assert_int_ge(least, 800);
    ck_assert_int_le(least, 805);
    ck_assert_int_le(most, 1200);
    ck_assert_int_ge(most, 1195);
    ck_assert_int_gt(below, KEYS * 4 / 10);
    ck_assert_int_lt(below, KEYS * 6 / 10);
    done();
}
END_TEST

START_TEST(spread_deadlines_stay_in_the_future_and_below_max_ttl)
{
    setup();
    RULE("s:*", .ttl = 2, .jitter = 100);
    RULE("m:*", .ttl = 1000, .max_ttl = 1000, .jitter = 50);
    for (int i = 0; i < 200; i++) {
        world_set(&world, "s:1", "v", NEVER);
        ck_assert_int_gt(deadline("s:1"), world.now);
        ck_assert_int_le(deadline("s:1"), world.now + 4);
        world_set(&world, "m:1", "v", NEVER);
        ck_assert_int_le(deadline("m:1"), world.now + 1000);
    }
    done();
}
END_TEST

START_TEST(the_longest_spans_overflow_nothing)
{
    setup();
    RULE("s:*", .ttl = POLICY_SPAN_MAX, .jitter = 100);
    RULE("m:*", .max_ttl = POLICY_SPAN_MAX, .member_ttl = POLICY_SPAN_MAX, .jitter = 100);
    world.now = POLICY_SPAN_MAX;
    for (int i = 0; i < 50; i++) {
        world_set(&world, "s:1", "v", NEVER);
        ck_assert_int_gt(deadline("s:1"), world.now);
        ck_assert_int_le(deadline("s:1"), INSTANT_MAX);
        zadd_range("m:1", i, i + 1);
    }
    done();
}
END_TEST

/* ---- random commands and a model of the deadline ---- */

enum op { OP_SET, OP_SET_AT, OP_SET_KEEP, OP_APPEND, OP_EXPIRE, OP_PERSIST, OP_READ, OP_COUNT };
enum { ROUNDS = 20000 };

static struct {
    bool present;
    msec at;
} model;

/* The deadline after the command, without policies. */
static msec plain(enum op op, msec at)
{
    switch (op) {
    case OP_SET:
    case OP_PERSIST: return NEVER;
    case OP_SET_AT:
    case OP_EXPIRE: return at;
    default: return model.at;
    }
}

static bool is_given_anew(const struct policy *policy, enum op op, bool was_there)
{
    if (policy->ttl == 0) return false;
    if (op == OP_SET || (op == OP_SET_KEEP && !was_there)) return true;
    bool refreshed = op == OP_SET_KEEP || op == OP_APPEND
                         ? policy->refresh != REFRESH_NEVER
                         : op == OP_READ && policy->refresh == REFRESH_ACCESS;
    return refreshed && model.at < world.now + policy->ttl;
}

static void model_run(const struct policy *policy, enum op op, msec at)
{
    bool was_there = model.present;
    bool makes = op == OP_SET || op == OP_SET_AT || op == OP_SET_KEEP;
    if (!was_there && !makes) return;
    bool changed = op != OP_READ && !(op == OP_PERSIST && model.at == NEVER);
    if (!was_there) model.at = NEVER;
    model.present = true;
    model.at = plain(op, at);
    bool anew = is_given_anew(policy, op, was_there);
    if (anew) model.at = world.now + policy->ttl;
    if (policy->max_ttl > 0 && (anew || changed) && model.at > world.now + policy->max_ttl)
        model.at = world.now + policy->max_ttl;
}

static void run(enum op op, msec at)
{
    switch (op) {
    case OP_SET: world_set(&world, "k", "1", NEVER); return;
    case OP_SET_AT: world_set(&world, "k", "1", at); return;
    case OP_SET_KEEP: set_keep_ttl("k"); return;
    case OP_READ: read_key("k"); return;
    default: break;
    }
    if (!world_has(&world, "k")) return;
    if (op == OP_APPEND) append("k");
    if (op == OP_EXPIRE) expire("k", at);
    if (op == OP_PERSIST) persist("k");
}

START_TEST(random_commands_leave_the_deadline_of_the_model)
{
    static struct policy policies[50];
    struct rng rng;
    rng_init(&rng, test_seed());
    setup();
    const struct policy *policy = &policies[0];
    rule("k", policy);
    for (int round = 0; round < ROUNDS; round++) {
        if (round % (ROUNDS / 50) == 0) {
            struct policy *next = &policies[round / (ROUNDS / 50)];
            if (rng_chance(&rng, 70)) next->ttl = rng_between(&rng, 1, 100);
            if (next->ttl > 0) next->refresh = (enum policy_refresh)rng_below(&rng, 3);
            if (rng_chance(&rng, 50)) next->max_ttl = rng_between(&rng, 50, 200);
            rule("k", policy = next);
        }
        world.now += rng_between(&rng, 0, 20);
        if (instant_expired(model.at, world.now)) model.present = false;
        enum op op = (enum op)rng_below(&rng, OP_COUNT);
        msec at = world.now + rng_between(&rng, 1, 300);
        run(op, at);
        model_run(policy, op, at);
        ck_assert(world_has(&world, "k") == model.present);
        if (model.present) ck_assert_int_eq(deadline("k"), model.at);
    }
    done();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_key_created_without_a_deadline_gets_the_ttl,
        a_key_created_with_a_deadline_keeps_it,
        a_key_overwritten_as_a_whole_is_created_anew,
        never_refreshed_is_the_default,
        a_write_refreshes_and_a_read_does_not,
        a_read_refreshes_without_a_change_that_watchers_see,
        ttl_and_exists_do_not_refresh,
        a_failed_read_does_not_refresh_though_another_key_expired,
        a_deadline_set_by_the_command_overrides_the_ttl,
        a_refresh_never_makes_a_deadline_earlier,
        a_refresh_with_jitter_never_makes_a_deadline_earlier,
        a_refresh_that_changes_nothing_records_nothing,
        no_deadline_is_later_than_max_ttl,
        max_ttl_holds_for_old_keys_from_their_next_write_on,
        jitter_spreads_deadlines_evenly_on_both_sides,
        spread_deadlines_stay_in_the_future_and_below_max_ttl,
        the_longest_spans_overflow_nothing,
        random_commands_leave_the_deadline_of_the_model,
        NULL,
    };
    return suite_of("txn_policy_ttl", tests);
}
