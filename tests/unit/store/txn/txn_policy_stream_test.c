/* txn_policy: MAXLEN, RETAIN and MAXDELIVERIES of streams. */
#include "store/sweep/expiry.h"
#include "store/sweep/policy_walk.h"
#include "store/txn/dead_letter.h"
#include "store/txn/txn_settle.h"
#include "store/txn/txn_stream.h"
#include "tests/unit/store/txn/policy_world.h"

#define DEAD(n, name) .max_deliveries = (n), .dead_to = { name, sizeof(name) - 1 }

static struct entry *stream(struct txn *txn, const char *key)
{
    struct entry *entry = txn_find(txn, text(key));
    return entry != NULL ? entry : txn_create(txn, text(key), TYPE_STREAM);
}

static void add(struct txn *txn, struct entry *entry)
{
    struct stream_id id;
    ck_assert(txn_stream_next_id(txn, entry, &id));
    txn_stream_append(txn, entry, id, (struct bytes[]){ LIT("a"), LIT("b") }, 2);
}

static void xadd(const char *key, int count)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = stream(txn, key);
    while (count-- > 0)
        add(txn, entry);
    world_commit(&world);
}

static size_t length(const char *key)
{
    return stream_count(at_key(key)->object.stream);
}

static msec retention(const char *key)
{
    return stream_retention(at_key(key)->object.stream);
}

static void sweep(void)
{
    while (expiry_run(world.store, world.now, 10) > 0)
        store_check(world.store);
}

static void walk(void)
{
    while (policy_walk_run(world.store, world.now, 5))
        store_check(world.store);
}

static void drop_policy(const char *name)
{
    ck_assert(txn_policy_drop(world_begin(&world), text(name)));
    world_commit(&world);
}

START_TEST(stream_is_cut_to_maxlen_after_each_command)
{
    setup();
    RULE("l:*", .max_len = 3);
    xadd("l:1", 5);
    ck_assert_uint_eq(length("l:1"), 3);
    struct stream_id first;
    ck_assert(stream_first(at_key("l:1")->object.stream, &first));
    ck_assert_uint_eq(first.seq, 2);
    xadd("l:1", 1);
    ck_assert_uint_eq(length("l:1"), 3);
    done();
}
END_TEST

START_TEST(existing_streams_are_cut_in_slices)
{
    enum { ENTRIES = 5 * SETTLE_AT_ONCE };
    setup();
    xadd("l:1", ENTRIES);
    RULE("l:*", .max_len = 3);
    struct txn *txn = world_begin(&world);
    ck_assert(txn_settles_slowly(txn, at_key("l:1")));
    world_commit(&world);
    ck_assert(policy_walk_run(world.store, world.now, 100));
    ck_assert(policy_walk_run(world.store, world.now, 100));
    ck_assert_uint_gt(length("l:1"), ENTRIES - 300);
    ck_assert_uint_lt(length("l:1"), ENTRIES);
    walk();
    ck_assert_uint_eq(length("l:1"), 3);
    done();
}
END_TEST

START_TEST(delayed_request_cuts_a_stream_in_slices)
{
    enum { ENTRIES = 2 * SETTLE_AT_ONCE };
    setup();
    xadd("l:1", ENTRIES);
    RULE("l:*", .max_len = 10);
    struct txn *txn = world_begin(&world);
    struct entry *entry = at_key("l:1");
    ck_assert_uint_eq(txn_settle_some(txn, &entry, 100), 100);
    ck_assert_uint_eq(length("l:1"), ENTRIES - 100);
    while (txn_settle_some(txn, &entry, 100) > 0)
        continue;
    world_commit(&world);
    ck_assert_uint_eq(length("l:1"), 10);
    done();
}
END_TEST

START_TEST(new_stream_retains_its_entries_for_the_span)
{
    setup();
    RULE("j:*", .retain = 100);
    xadd("j:1", 2);
    ck_assert_int_eq(retention("j:1"), 100);
    world.now += 100;
    sweep();
    ck_assert_uint_eq(length("j:1"), 2);
    world.now++;
    sweep();
    ck_assert_uint_eq(length("j:1"), 0);
    done();
}
END_TEST

START_TEST(existing_stream_gets_the_retention_of_a_new_policy)
{
    setup();
    xadd("j:1", 1);
    xadd("k", 1);
    RULE("j:*", .retain = 100);
    walk();
    ck_assert_int_eq(retention("j:1"), 100);
    ck_assert_int_eq(retention("k"), 0);
    RULE("j:*", .retain = 50);
    walk();
    ck_assert_int_eq(retention("j:1"), 50);
    done();
}
END_TEST

START_TEST(renamed_and_copied_streams_get_retain_of_their_new_name)
{
    setup();
    RULE("j:*", .retain = 100);
    RULE("k:*", .retain = 30);
    xadd("a", 1);
    xadd("b", 1);
    struct txn *txn = world_begin(&world);
    txn_key_rename(txn, txn_find(txn, text("a")), text("j:1"));
    txn_key_copy(txn, txn_find(txn, text("b")), 0, text("j:2"));
    txn_key_copy(txn, txn_find(txn, text("j:1")), 0, text("k:1"));
    txn_key_move(txn, txn_find(txn, text("j:1")), 3);
    world_commit(&world);
    ck_assert_int_eq(retention("j:2"), 100);
    ck_assert_int_eq(retention("k:1"), 30);
    const struct entry *moved = keyspace_find(&world.store->databases[3], text("j:1"));
    ck_assert_int_eq(stream_retention(moved->object.stream), 100);
    done();
}
END_TEST

START_TEST(without_its_policy_a_stream_keeps_its_entries)
{
    setup();
    RULE("j:*", .retain = 100);
    RULE("k:*", .retain = 100);
    xadd("j:1", 1);
    xadd("k:1", 1);
    struct txn *txn = world_begin(&world);
    txn_key_rename(txn, txn_find(txn, text("k:1")), text("free"));
    world_commit(&world);
    drop_policy("j:*");
    world.now += 500;
    read_key("j:1");
    sweep();
    ck_assert_uint_eq(length("j:1"), 1);
    ck_assert_uint_eq(length("free"), 1);
    ck_assert_int_eq(retention("free"), 0);
    ck_assert_int_eq(store_next_due(world.store), NEVER);
    done();
}
END_TEST

START_TEST(policy_with_a_longer_span_applies_before_its_walk)
{
    setup();
    RULE("j:*", .retain = 100);
    xadd("j:1", 1);
    RULE("j:*", .retain = 1000);
    world.now += 500;
    sweep();
    ck_assert_uint_eq(length("j:1"), 1);
    world.now += 501;
    sweep();
    ck_assert_uint_eq(length("j:1"), 0);
    done();
}
END_TEST

/* ---- MAXDELIVERIES -------------------------------------------------------------------------- */

static struct stream_group *deliver(struct txn *txn, struct entry *entry, struct pending *pending)
{
    struct stream_groups *groups = stream_groups(entry->object.stream);
    struct group_position position = { .read = GROUP_READ_UNKNOWN };
    struct stream_group *group = group_find(groups, LIT("g"));
    if (group == NULL) group = txn_group_add(txn, entry, LIT("g"), &position);
    struct stream_consumer *consumer = consumer_find(group, LIT("c"));
    if (consumer == NULL) consumer = txn_consumer_add(txn, entry, group, LIT("c"));
    *pending = (struct pending){ .consumer = consumer, .at = world.now, .deliveries = 3 };
    ck_assert(stream_final(entry->object.stream, &pending->id));
    txn_pending_put(txn, entry, group, pending);
    return group;
}

START_TEST(entry_moves_to_the_stream_of_dead_letters)
{
    setup();
    RULE("j:*", DEAD(3, "j:dead"));
    xadd("j:1", 1);
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text("j:1"));
    struct pending pending;
    ck_assert_uint_eq(dead_letter_limit(txn, entry), 3);
    struct stream_group *group = deliver(txn, entry, &pending);
    ck_assert_int_eq(dead_letter_move(txn, entry, group, &pending), DEAD_LETTER_MOVED);
    ck_assert_uint_eq(group_count_pending(group), 0);
    world_commit(&world);
    struct stream_walk walk;
    struct stream_entry item;
    struct bytes name, value;
    char line[100];
    int len = 0;
    stream_walk_up(&walk, at_key("j:dead")->object.stream, STREAM_ID_MIN);
    ck_assert(stream_walk_next(&walk, &item));
    while (stream_entry_next(&item, &name, &value))
        len +=
            sprintf(line + len, "%.*s=%.*s ", (int)name.len, name.data, (int)value.len, value.data);
    ck_assert_str_eq(line, "a=b origin=j:1 group=g deliveries=3 ");
    ck_assert_uint_eq(length("j:1"), 1);
    done();
}
END_TEST

START_TEST(dead_letters_have_no_limit_of_their_own)
{
    setup();
    RULE("j:*", DEAD(3, "j:dead"));
    RULE("x", .ttl = 5);
    xadd("j:dead", 1);
    xadd("x", 1);
    xadd("none", 1);
    struct txn *txn = world_begin(&world);
    ck_assert_uint_eq(dead_letter_limit(txn, at_key("j:dead")), 0);
    ck_assert_uint_eq(dead_letter_limit(txn, at_key("x")), 0);
    ck_assert_uint_eq(dead_letter_limit(txn, at_key("none")), 0);
    world_commit(&world);
    done();
}
END_TEST

START_TEST(entry_stays_if_the_target_has_another_type_or_was_deleted)
{
    setup();
    RULE("j:*", DEAD(3, "dead"));
    world_set(&world, "dead", "text", NEVER);
    xadd("j:1", 1);
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text("j:1"));
    struct pending pending;
    struct stream_group *group = deliver(txn, entry, &pending);
    ck_assert_int_eq(dead_letter_move(txn, entry, group, &pending), DEAD_LETTER_REFUSED);
    ck_assert_uint_eq(world.store->stats.dead_letter_errors, 1);
    txn_stream_remove(txn, entry, pending.id);
    ck_assert_int_eq(dead_letter_move(txn, entry, group, &pending), DEAD_LETTER_MISSING);
    ck_assert_uint_eq(group_count_pending(group), 1);
    world_commit(&world);
    done();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        stream_is_cut_to_maxlen_after_each_command,
        existing_streams_are_cut_in_slices,
        delayed_request_cuts_a_stream_in_slices,
        new_stream_retains_its_entries_for_the_span,
        existing_stream_gets_the_retention_of_a_new_policy,
        renamed_and_copied_streams_get_retain_of_their_new_name,
        without_its_policy_a_stream_keeps_its_entries,
        policy_with_a_longer_span_applies_before_its_walk,
        entry_moves_to_the_stream_of_dead_letters,
        dead_letters_have_no_limit_of_their_own,
        entry_stays_if_the_target_has_another_type_or_was_deleted,
        NULL,
    };
    return suite_of("txn_policy_stream", tests);
}
