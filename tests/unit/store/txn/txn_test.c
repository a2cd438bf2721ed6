/* txn: expiry on access, one event per call and key, and emptied keys. */
#include <stdio.h>

#include "store/access.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"
#include "store/sweep/expiry.h"
#include "store/trail/trail.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct world world;

static void begin(void)
{
    world_init(&world);
}

static void end(void)
{
    world_drop(&world);
}

static msec expires_at(struct txn *txn, const char *key)
{
    return entry_expires_at(txn->ks, txn_find(txn, text(key)));
}

START_TEST(key_is_alive_at_its_deadline_and_expired_one_ms_later)
{
    begin();
    world_set(&world, "k", "v", world.now + 100);
    world.now += 100;
    ck_assert(world_has(&world, "k"));
    world.now += 1;
    ck_assert(!world_has(&world, "k"));
    end();
}
END_TEST

START_TEST(expired_is_recorded_before_the_events_of_the_command)
{
    begin();
    world_set(&world, "k", "v", world.now + 1);
    world_forget(&world);
    world.now += 2;
    world_set(&world, "k", "w", NEVER);
    ck_assert_str_eq(world_events(&world), "expired:k new:k set:k ");
    ck_assert_uint_eq(world.store->stats.expired_keys, 1);
    end();
}
END_TEST

START_TEST(now_is_frozen_for_a_whole_transaction)
{
    begin();
    world_set(&world, "k", "v", world.now + 10);
    struct txn *txn = world_begin(&world);
    world.now += 1000;
    ck_assert_ptr_nonnull(txn_find(txn, text("k")));
    world_commit(&world);
    ck_assert(!world_has(&world, "k"));
    end();
}
END_TEST

START_TEST(several_members_in_one_call_are_one_event)
{
    begin();
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text("z"), TYPE_ZSET);
    struct zput how = { .event = EVENT_ZADD };
    double one = 1, two = 2;
    txn_zset_put(txn, entry, text("a"), &one, &how);
    txn_zset_put(txn, entry, text("b"), &two, &how);
    txn_call(txn, 0);
    txn_zset_put(txn, entry, text("c"), &two, &how);
    world_commit(&world);
    ck_assert_str_eq(world_events(&world), "new:z zadd:z zadd:z ");
    end();
}
END_TEST

START_TEST(an_emptied_collection_is_dropped_when_its_call_ends)
{
    begin();
    world_zadd(&world, "z", 1, "a");
    world_forget(&world);
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text("z"));
    ck_assert(txn_zset_remove(txn, entry, text("a")));
    ck_assert_uint_eq(zset_count(entry->object.zset), 0);
    world_commit(&world);
    ck_assert(!world_has(&world, "z"));
    ck_assert_str_eq(world_events(&world), "zrem:z del:z ");
    end();
}
END_TEST

START_TEST(a_collection_that_is_filled_again_in_the_same_call_stays)
{
    begin();
    world_zadd(&world, "z", 1, "a");
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text("z"));
    struct zput how = { .event = EVENT_ZADD };
    double score = 2;
    txn_zset_remove(txn, entry, text("a"));
    txn_zset_put(txn, entry, text("b"), &score, &how);
    world_commit(&world);
    ck_assert(world_has(&world, "z"));
    end();
}
END_TEST

START_TEST(a_key_dropped_after_it_was_emptied_is_dropped_once)
{
    begin();
    world_zadd(&world, "z", 1, "a");
    world_forget(&world);
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text("z"));
    txn_zset_remove(txn, entry, text("a"));
    txn_key_drop(txn, entry, EVENT_DEL);
    world_commit(&world);
    ck_assert_str_eq(world_events(&world), "zrem:z del:z ");
    end();
}
END_TEST

START_TEST(expire_in_the_past_drops_the_key)
{
    begin();
    world_set(&world, "k", "v", NEVER);
    world_forget(&world);
    struct txn *txn = world_begin(&world);
    ck_assert(!txn_key_expire(txn, txn_find(txn, text("k")), world.now));
    world_commit(&world);
    ck_assert_str_eq(world_events(&world), "del:k ");
    end();
}
END_TEST

START_TEST(set_replaces_type_and_deadline_unless_asked_to_keep_it)
{
    begin();
    world_zadd(&world, "k", 1, "a");
    struct txn *txn = world_begin(&world);
    txn_key_expire(txn, txn_find(txn, text("k")), world.now + 50);
    struct string_set keep = { .keep_ttl = true, .event = EVENT_SET };
    txn_string_set(txn, text("k"), text("v"), &keep);
    struct entry *entry = txn_find(txn, text("k"));
    ck_assert_int_eq(entry->object.type, TYPE_STRING);
    ck_assert_int_eq(entry_expires_at(txn->ks, entry), world.now + 50);
    struct string_set clear = { .at = NEVER, .event = EVENT_SET };
    txn_string_set(txn, text("k"), text("w"), &clear);
    ck_assert_int_eq(expires_at(txn, "k"), NEVER);
    world_commit(&world);
    ck_assert_int_eq(store_next_due(world.store), NEVER);
    end();
}
END_TEST

START_TEST(a_new_value_may_point_into_the_old_one)
{
    begin();
    world_set(&world, "k", "a long enough old value", NEVER);
    struct txn *txn = world_begin(&world);
    struct bytes old = object_text(&txn_find(txn, text("k"))->object);
    struct string_set how = { .at = NEVER, .event = EVENT_SET };
    txn_string_set(txn, text("k"), bytes_of(old.data + 2, 4), &how);
    struct bytes now = object_text(&txn_find(txn, text("k"))->object);
    ck_assert(bytes_equal(now, LIT("long")));
    world_commit(&world);
    end();
}
END_TEST

START_TEST(rename_keeps_the_deadline_and_overwrites)
{
    begin();
    world_set(&world, "a", "1", world.now + 70);
    world_set(&world, "b", "2", world.now + 10);
    world_forget(&world);
    struct txn *txn = world_begin(&world);
    txn_key_rename(txn, txn_find(txn, text("a")), text("b"));
    ck_assert_ptr_null(txn_find(txn, text("a")));
    ck_assert_int_eq(expires_at(txn, "b"), world.now + 70);
    world_commit(&world);
    ck_assert_str_eq(world_events(&world), "new:b rename_from:a rename_to:b ");
    ck_assert_int_eq(store_next_due(world.store), world.now + 71);
    end();
}
END_TEST

START_TEST(a_renamed_or_moved_key_keeps_how_often_it_was_used)
{
    begin();
    world.store->counts_access = true;
    world_set(&world, "a", "1", NEVER);
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find_without_lru(txn, text("a"));
    txn_key_accessed(txn, entry, -1, 200);
    txn_key_rename(txn, entry, text("b"));
    entry = txn_find_without_lru(txn, text("b"));
    ck_assert_uint_eq(access_frequency(world.store, entry, world.now), 200);
    ck_assert(txn_key_move(txn, entry, 3));
    entry = keyspace_find(&world.store->databases[3], text("b"));
    ck_assert_uint_eq(access_frequency(world.store, entry, world.now), 200);
    world_commit(&world);
    end();
}
END_TEST

START_TEST(a_miss_records_keymiss_and_is_counted)
{
    begin();
    struct txn *txn = world_begin(&world);
    ck_assert_ptr_null(txn_find_counted(txn, text("nothing")));
    world_commit(&world);
    ck_assert_str_eq(world_events(&world), "keymiss:nothing ");
    ck_assert_uint_eq(world.store->stats.misses, 1);
    end();
}
END_TEST

/* The access time of k after a minute and one call of `look`. */
static uint32_t accessed_after(struct entry *(*look)(struct txn *, struct bytes), bool no_touch)
{
    world.now += 60 * 1000;
    struct txn *txn = world_begin(&world);
    txn->no_touch = no_touch;
    uint32_t accessed = look(txn, text("k"))->accessed;
    world_commit(&world);
    return accessed;
}

START_TEST(find_and_read_set_the_access_time_and_peek_does_not)
{
    begin();
    world_set(&world, "k", "v", NEVER);
    uint32_t at = (uint32_t)(world.now / 1000);
    ck_assert_uint_eq(accessed_after(txn_find_without_lru, false), at);
    ck_assert_uint_eq(accessed_after(txn_find, true), at);
    ck_assert_uint_eq(accessed_after(txn_find_counted, true), at);
    ck_assert_uint_eq(accessed_after(txn_find, false), at + 4 * 60);
    ck_assert_uint_eq(accessed_after(txn_find_counted, false), at + 5 * 60);
    end();
}
END_TEST

START_TEST(a_copy_keeps_the_deadline_and_replaces_the_target)
{
    begin();
    world_set(&world, "k", "v", world.now + 10);
    world_set(&world, "to", "old", NEVER);
    world_forget(&world);
    struct txn *txn = world_begin(&world);
    txn_key_copy(txn, txn_find(txn, text("k")), 0, text("to"));
    ck_assert_int_eq(expires_at(txn, "to"), world.now + 10);
    ck_assert_int_eq(expires_at(txn, "k"), world.now + 10);
    world_commit(&world);
    ck_assert_str_eq(world_events(&world), "new:to copy_to:to ");
    end();
}
END_TEST

START_TEST(a_restored_value_has_its_deadlines_and_replaces_the_key)
{
    begin();
    world_set(&world, "k", "old", NEVER);
    world_forget(&world);
    struct txn *txn = world_begin(&world);
    struct object object = object_new(TYPE_SET);
    set_add(object.set, text("a"), world.now + 5);
    set_add(object.set, text("b"), NEVER);
    object.has_expiry = true;
    struct entry *entry = txn_key_restore(txn, text("k"), object, world.now + 9);
    ck_assert_int_eq(entry_expires_at(txn->ks, entry), world.now + 9);
    world_commit(&world);
    ck_assert_str_eq(world_events(&world), "new:k restore:k ");
    ck_assert_int_eq(store_next_due(world.store), world.now + 6);
    struct store *again = world_replay(&world);
    struct digest a = store_digest(world.store, world.now), b = store_digest(again, world.now);
    ck_assert(a.high == b.high && a.low == b.low);
    store_free(again);
    end();
}
END_TEST

START_TEST(idle_time_and_frequency_can_be_set)
{
    begin();
    world.now = INT64_C(1700000000000);
    world_set(&world, "k", "v", NEVER);
    struct entry *entry = keyspace_find(&world.store->databases[0], text("k"));
    struct txn *txn = world_begin(&world);
    txn_key_accessed(txn, entry, 100, 7);
    ck_assert_int_eq(access_idle_seconds(entry, world.now), 100);
    txn_key_accessed(txn, entry, -1, 7);
    ck_assert_int_eq(access_idle_seconds(entry, world.now), 100);
    txn_key_accessed(txn, entry, INT64_MAX, -1);
    ck_assert_int_eq(access_idle_seconds(entry, world.now), world.now / 1000);
    world.store->counts_access = true;
    txn_key_accessed(txn, entry, 100, 255);
    ck_assert_uint_eq(access_frequency(world.store, entry, world.now), 255);
    world_commit(&world);
    end();
}
END_TEST

START_TEST(encodings_change_without_an_effect)
{
    begin();
    world_set(&world, "s", "12", NEVER);
    world_zadd(&world, "z", 1, "m");
    world_forget(&world);
    struct txn *txn = world_begin(&world);
    struct entry *string = txn_find_without_lru(txn, text("s")),
                 *zset = txn_find_without_lru(txn, text("z"));
    ck_assert_str_eq(object_encoding(&zset->object), "listpack");
    txn_string_unshare(txn, string);
    txn_zset_widen(txn, zset);
    ck_assert_str_eq(object_encoding(&string->object), "raw");
    ck_assert_str_eq(object_encoding(&zset->object), "skiplist");
    world_commit(&world);
    ck_assert_uint_eq(world.effect_count, 0);
    end();
}
END_TEST

START_TEST(counts_never_include_expired_keys)
{
    begin();
    for (int i = 0; i < 10; i++) {
        char key[16];
        snprintf(key, sizeof(key), "k%d", i);
        world_set(&world, key, "v", i < 9 ? world.now + 5 : NEVER);
    }
    world.now += 6;
    struct txn *txn = world_begin(&world);
    ck_assert_uint_eq(txn_count(txn), 1);
    for (int i = 0; i < 50; i++)
        ck_assert(bytes_equal(entry_key(txn_random(txn)), LIT("k9")));
    world_commit(&world);
    end();
}
END_TEST

START_TEST(flush_empties_one_database_and_leaves_no_deadline)
{
    begin();
    world_set(&world, "a", "1", world.now + 5);
    struct txn *txn = world_begin(&world);
    txn_call(txn, 3);
    struct string_set how = { .at = world.now + 9, .event = EVENT_SET };
    txn_string_set(txn, text("b"), text("2"), &how);
    txn_flush(txn, 0);
    world_commit(&world);
    ck_assert(!world_has(&world, "a"));
    ck_assert_int_eq(store_next_due(world.store), world.now + 10);
    end();
}
END_TEST

START_TEST(nothing_is_recorded_without_a_listener)
{
    begin();
    store_listen(world.store, 0, NULL);
    world_set(&world, "a", "1", world.now + 5);
    ck_assert_uint_eq(world.effect_count, 0);
    ck_assert_uint_eq(world.commits, 0);
    end();
}
END_TEST

START_TEST(expiry_is_in_deadline_order_across_databases_and_budgeted)
{
    begin();
    const struct {
        unsigned db;
        msec ttl;
        const char *key;
    } keys[] = { { 2, 30, "c" }, { 0, 10, "a" }, { 1, 20, "b" }, { 5, 40, "d" } };
    struct txn *txn = world_begin(&world);
    for (size_t i = 0; i < 4; i++) {
        txn_call(txn, keys[i].db);
        struct string_set how = { .at = world.now + keys[i].ttl, .event = EVENT_SET };
        txn_string_set(txn, text(keys[i].key), text("v"), &how);
    }
    world_commit(&world);
    world_forget(&world);
    ck_assert_int_eq(store_next_due(world.store), world.now + 11);
    ck_assert_uint_eq(expiry_run(world.store, world.now + 10, 100), 0);
    ck_assert_uint_eq(expiry_run(world.store, world.now + 31, 2), 2);
    ck_assert_str_eq(world_events(&world), "expired:a expired:b ");
    ck_assert_uint_eq(expiry_run(world.store, world.now + 31, 2), 1);
    ck_assert_str_eq(world_events(&world), "expired:a expired:b expired:c ");
    ck_assert_int_eq(store_next_due(world.store), world.now + 41);
    end();
}
END_TEST

START_TEST(a_big_set_is_dropped_at_once_and_freed_in_slices)
{
    begin();
    size_t base = mem_used();
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text("s"), TYPE_SET);
    store_listen(world.store, 0, NULL);
    for (int i = 0; i < 100000; i++) {
        char member[16];
        snprintf(member, sizeof(member), "%d", i);
        txn_set_add(txn, entry, text(member), LIFE(ADD));
    }
    size_t full = mem_used();
    txn_key_drop(txn, entry, EVENT_DEL);
    txn_commit(txn);
    ck_assert_uint_gt(mem_used(), full - full / 10);
    ck_assert(reclaim_run(&world.store->reclaim, 1000));
    while (reclaim_run(&world.store->reclaim, 1000))
        continue;
    ck_assert_uint_le(mem_used(), base + 16384);
    end();
}
END_TEST

START_TEST(failed_write_of_a_missing_key_leaves_no_trace)
{
    begin();
    static const struct policy policy = { .ttl = 100, .max_len = 1 };
    struct trail_event found[TRAIL_FOUND_MAX];
    msec since;
    bool shared;
    txn_policy_set(world_begin(&world), text("k"), &policy);
    world_commit(&world);
    world_forget(&world);
    world.store->trail = trail_new(TRAIL_MIN_BYTES, world.now);

    struct txn *txn = world_begin(&world);
    mem_fail_try(1);
    ck_assert_int_eq(txn_string_write(txn, text("k"), NULL, 100, text("v"), EVENT_SETRANGE), -1);
    mem_fail_try(1);
    ck_assert(!txn_string_grow(txn, text("k"), NULL, 100, false));
    ck_assert_uint_eq(txn->changes, 0);
    ck_assert_uint_eq(txn->note_count, 0);
    world_commit(&world);

    uint64_t hash = trail_hash(siphash("k", 1), 0);
    ck_assert_str_eq(world_events(&world), "");
    ck_assert_uint_eq(trail_find(world.store->trail, hash, 0, found, &since, &shared), 0);
    ck_assert_uint_eq(policies_get(&world.store->policies, text("k"))->stats->set, 0);
    ck_assert(!world_has(&world, "k"));
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        key_is_alive_at_its_deadline_and_expired_one_ms_later,
        expired_is_recorded_before_the_events_of_the_command,
        now_is_frozen_for_a_whole_transaction,
        several_members_in_one_call_are_one_event,
        an_emptied_collection_is_dropped_when_its_call_ends,
        a_collection_that_is_filled_again_in_the_same_call_stays,
        a_key_dropped_after_it_was_emptied_is_dropped_once,
        expire_in_the_past_drops_the_key,
        set_replaces_type_and_deadline_unless_asked_to_keep_it,
        a_new_value_may_point_into_the_old_one,
        rename_keeps_the_deadline_and_overwrites,
        a_renamed_or_moved_key_keeps_how_often_it_was_used,
        a_miss_records_keymiss_and_is_counted,
        find_and_read_set_the_access_time_and_peek_does_not,
        a_copy_keeps_the_deadline_and_replaces_the_target,
        a_restored_value_has_its_deadlines_and_replaces_the_key,
        idle_time_and_frequency_can_be_set,
        encodings_change_without_an_effect,
        counts_never_include_expired_keys,
        flush_empties_one_database_and_leaves_no_deadline,
        nothing_is_recorded_without_a_listener,
        expiry_is_in_deadline_order_across_databases_and_budgeted,
        a_big_set_is_dropped_at_once_and_freed_in_slices,
        failed_write_of_a_missing_key_leaves_no_trace,
        NULL,
    };
    return suite_of("txn", tests);
}
