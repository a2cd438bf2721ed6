/* txn_policy: a call notes its keys and applies their policies once, when it ends. */
#include "store/sweep/expiry.h"
#include "store/txn/txn_dehydrator.h"
#include "tests/unit/store/txn/policy_world.h"

START_TEST(a_call_of_many_keys_gives_each_its_deadline_once)
{
    enum { KEYS = 3000 };
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_WRITE);
    struct txn *txn = world_begin(&world);
    struct string_set how = { .at = NEVER, .event = EVENT_SET };
    for (int i = 0; i < 2 * KEYS; i++) {
        char key[16];
        snprintf(key, sizeof(key), "s:%d", i % KEYS);
        txn_string_set(txn, text(key), text("v"), &how);
    }
    world_commit(&world);
    size_t given = 0;
    for (size_t i = 0; i < world.effect_count; i++)
        given += world.effects[i].effect.kind == EFFECT_EXPIRE;
    ck_assert_uint_eq(given, KEYS);
    done();
}
END_TEST

START_TEST(keys_dropped_within_their_call_are_forgotten)
{
    setup();
    RULE("*", .ttl = 500, .max_len = 2, .refresh = REFRESH_ACCESS);
    for (int round = 0; round < 3; round++) {
        struct txn *txn = world_begin(&world);
        struct string_set how = { .at = NEVER };
        for (int i = 0; i < 100; i++) {
            char key[16];
            snprintf(key, sizeof(key), "%d", i);
            txn_string_set(txn, text(key), text("v"), &how);
            if (i % 3 == round) txn_key_drop(txn, txn_find_counted(txn, text(key)), EVENT_DEL);
        }
        world_commit(&world);
    }
    ck_assert_int_eq(deadline("0"), world.now + 500);
    ck_assert_ptr_null(at_key("2"));
    done();
}
END_TEST

START_TEST(a_key_created_after_a_drop_gets_its_own_policy)
{
    /* Keys of an unusual size, so that the allocator returns the same block again. */
    static char a[200] = "a:", b[200] = "b:";
    memset(a + 2, 'x', sizeof(a) - 3);
    memset(b + 2, 'x', sizeof(b) - 3);
    setup();
    RULE("b:*", .member_ttl = 100);
    struct txn *txn = world_begin(&world);
    for (int round = 0; round < 3; round++) {
        const char *key = round % 2 == 0 ? a : b;
        struct entry *entry = txn_create(txn, text(key), TYPE_SET);
        txn_set_add(txn, entry, text("m"), LIFE(ADD));
        ck_assert_int_eq(member_at(key, "m"), key == a ? NEVER : world.now + 100);
        txn_set_remove_all(txn, entry, EVENT_SPOP);
    }
    world_commit(&world);
    done();
}
END_TEST

START_TEST(an_emptied_key_is_dropped_without_a_new_deadline)
{
    setup();
    RULE("*", .ttl = 500, .refresh = REFRESH_WRITE);
    zadd_range("z", 0, 1);
    events();
    struct txn *txn = world_begin(&world);
    txn_zset_remove(txn, txn_find(txn, text("z")), text("m0"));
    world_commit(&world);
    ck_assert_str_eq(events(), "zrem:z del:z ");
    world_drop(&world);
}
END_TEST

START_TEST(copied_and_moved_keys_follow_the_policy_of_the_new_name)
{
    setup();
    RULE("s:*", .ttl = 500);
    world_set(&world, "a", "v", NEVER);
    world_set(&world, "b", "v", world.now + 42);
    world_set(&world, "s:m", "v", world.now + 42);
    persist("s:m");
    struct txn *txn = world_begin(&world);
    txn_key_copy(txn, txn_find(txn, text("a")), 3, text("s:a"));
    txn_key_rename(txn, txn_find(txn, text("b")), text("s:b"));
    txn_key_move(txn, txn_find(txn, text("s:m")), 2);
    world_commit(&world);
    struct keyspace *databases = world.store->databases;
    ck_assert_int_eq(deadline_in(&databases[3], "s:a"), world.now + 500);
    ck_assert_int_eq(deadline("s:b"), world.now + 42);
    ck_assert_int_eq(deadline_in(&databases[2], "s:m"), world.now + 500);
    done();
}
END_TEST

START_TEST(a_flush_leaves_policies_and_forgets_notes)
{
    setup();
    RULE("s:*", .ttl = 500);
    struct txn *txn = world_begin(&world);
    struct string_set how = { .at = NEVER };
    txn_string_set(txn, text("s:1"), text("v"), &how);
    txn_flush(txn, 0);
    txn_string_set(txn, text("s:2"), text("v"), &how);
    world_commit(&world);
    ck_assert_uint_eq(world.store->policies.count, 1);
    ck_assert_int_eq(deadline("s:2"), world.now + 500);
    done();
}
END_TEST

START_TEST(a_policy_set_within_a_call_applies_to_later_writes)
{
    static const struct policy policy = { .ttl = 500, .refresh = REFRESH_WRITE };
    setup();
    RULE("s:1", .ttl = 100);
    struct txn *txn = world_begin(&world);
    struct string_set how = { .at = NEVER };
    txn_string_set(txn, text("s:1"), text("v"), &how);
    txn_policy_drop(txn, text("s:1"));
    txn_policy_set(txn, text("s:*"), &policy);
    txn_string_set(txn, text("s:2"), text("v"), &how);
    world_commit(&world);
    ck_assert_int_eq(deadline("s:1"), world.now + 100);
    ck_assert_int_eq(deadline("s:2"), world.now + 500);
    ck_assert(!txn_policy_drop(world_begin(&world), text("s:1")));
    ck_assert(txn_policy_drop(&world.txn, text("s:*")));
    world_commit(&world);
    world_set(&world, "s:2", "v", NEVER);
    ck_assert_int_eq(deadline("s:2"), NEVER);
    done();
}
END_TEST

START_TEST(keys_without_a_policy_are_not_noted)
{
    setup();
    RULE("s:*", .ttl = 500);
    RULE("m:*", .member_ttl = 500);
    world_set(&world, "s:1", "v", NEVER);
    struct txn *txn = world_begin(&world);
    struct string_set how = { .at = NEVER };
    txn_string_set(txn, text("other"), text("v"), &how);
    txn_set_add(txn, txn_create(txn, text("m:1"), TYPE_SET), text("a"), LIFE(ADD));
    txn_string_append(txn, txn_find_counted(txn, text("s:1")), text("x"));
    ck_assert_ptr_null(txn->notes);
    world_commit(&world);
    done();
}
END_TEST

START_TEST(policies_apply_to_calls_of_clients_only)
{
    setup();
    RULE("*", .ttl = 500, .member_ttl = 5);
    struct txn txn;
    struct string_set how = { .at = NEVER };
    txn_begin(&txn, world.store, world.now, FROM_REPLAY);
    txn_call(&txn, 0);
    txn_string_set(&txn, text("k"), text("v"), &how);
    txn_set_add(&txn, txn_create(&txn, text("s"), TYPE_SET), text("a"), LIFE(ADD));
    txn_commit(&txn);
    ck_assert_int_eq(deadline("k"), NEVER);
    ck_assert_int_eq(member_at("s", "a"), NEVER);
    world_drop(&world);
}
END_TEST

static void check_stats(const char *name, struct policy_stats wanted)
{
    const struct policy *policy = policies_get(&world.store->policies, text(name));
    const struct policy_stats *stats = policy->stats;
    ck_assert_uint_eq(stats->set, wanted.set);
    ck_assert_uint_eq(stats->expired_unread, wanted.expired_unread);
    ck_assert_uint_eq(stats->expired_read, wanted.expired_read);
}

START_TEST(keys_removed_on_access_and_by_the_agenda_count_alike)
{
    setup();
    RULE("*", .ttl = 500);
    for (int i = 0; i < 4; i++)
        world_set(&world, (const char *[]){ "a", "b", "c", "d" }[i], "v", NEVER);
    read_key("a");
    read_key("c");
    world.now += 501;
    read_key("a");
    read_key("b");
    check_stats("*", (struct policy_stats){ .set = 4, .expired_unread = 1, .expired_read = 1 });
    ck_assert_uint_eq(expiry_run(world.store, world.now, 100), 2);
    check_stats("*", (struct policy_stats){ .set = 4, .expired_unread = 2, .expired_read = 2 });
    done();
}
END_TEST

static void remember_only(const char *key, msec until)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text(key), TYPE_DEHYDRATOR);
    txn_rede_remember(txn, entry, text("id"), until);
    world_commit(&world);
}

START_TEST(dehydrators_that_end_on_access_and_by_the_agenda_count_alike)
{
    setup();
    RULE("*", .max_ttl = 5000);
    remember_only("a", world.now + 500);
    remember_only("b", world.now + 500);
    world.now += 501;
    read_key("a");
    ck_assert_ptr_null(at_key("a"));
    check_stats("*", (struct policy_stats){ .set = 2, .expired_unread = 1 });
    ck_assert_uint_gt(expiry_run(world.store, world.now, 100), 0);
    ck_assert_ptr_null(at_key("b"));
    check_stats("*", (struct policy_stats){ .set = 2, .expired_unread = 2 });
    done();
}
END_TEST

START_TEST(value_that_a_master_replaces_is_not_counted_any_more)
{
    setup();
    RULE("*", .ttl = 500);
    world_set(&world, "k", "v", NEVER);
    struct txn txn;
    struct string_set how = { .at = world.now + 100 };
    txn_begin(&txn, world.store, world.now, FROM_MASTER);
    txn_call(&txn, 0);
    txn_string_set(&txn, text("k"), text("w"), &how);
    txn_commit(&txn);
    world.now += 101;
    read_key("k");
    check_stats("*", (struct policy_stats){ .set = 1 });
    world_drop(&world);
}
END_TEST

START_TEST(soft_deadline_keeps_what_is_known_of_reads)
{
    setup();
    RULE("*", .ttl = 500);
    struct string_set how = { .at = NEVER, .soft = world.now + 100 };
    txn_string_set(world_begin(&world), text("k"), text("v"), &how);
    world_commit(&world);
    read_key("k");
    struct txn *txn = world_begin(&world);
    txn_string_soften(txn, txn_find(txn, text("k")), NEVER, EVENT_NONE);
    world_commit(&world);
    world.now += 501;
    read_key("k");
    check_stats("*", (struct policy_stats){ .set = 1, .expired_read = 1 });
    done();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_call_of_many_keys_gives_each_its_deadline_once,
        keys_dropped_within_their_call_are_forgotten,
        a_key_created_after_a_drop_gets_its_own_policy,
        an_emptied_key_is_dropped_without_a_new_deadline,
        copied_and_moved_keys_follow_the_policy_of_the_new_name,
        a_flush_leaves_policies_and_forgets_notes,
        a_policy_set_within_a_call_applies_to_later_writes,
        keys_without_a_policy_are_not_noted,
        policies_apply_to_calls_of_clients_only,
        keys_removed_on_access_and_by_the_agenda_count_alike,
        dehydrators_that_end_on_access_and_by_the_agenda_count_alike,
        value_that_a_master_replaces_is_not_counted_any_more,
        soft_deadline_keeps_what_is_known_of_reads,
        NULL,
    };
    return suite_of("txn_policy", tests);
}
