/* txn_stream: the effects and events of streams' mutators, and entries that expire. */
#include "store/txn/effect_row.h"
#include "store/txn/txn_stream.h"

#include "store/sweep/expiry.h"
#include "store/sweep/outlook.h"
#include "store/txn/txn_settle.h"
#include "store/walk.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { START = 1000000 };

static struct world world;
static const struct bytes texts[] = { LIT("name"), LIT("value") };

static struct stream_id at(msec ms, uint64_t seq)
{
    return (struct stream_id){ (uint64_t)ms, seq };
}

static struct entry *at_key(const char *key)
{
    return keyspace_find(&world.store->databases[0], text(key));
}

static struct stream *stream_at(const char *key)
{
    return at_key(key)->object.stream;
}

/* Begins a transaction; the entry at the key, which is created if absent. */
static struct txn *begin(const char *key, struct entry **entry)
{
    struct txn *txn = world_begin(&world);
    *entry = txn_find(txn, text(key));
    if (*entry == NULL) *entry = txn_create(txn, text(key), TYPE_STREAM);
    return txn;
}

static void xadd(const char *key, struct stream_id id)
{
    struct entry *entry;
    struct txn *txn = begin(key, &entry);
    txn_stream_append(txn, entry, id, texts, 2);
    world_commit(&world);
}

static void retain(const char *key, msec span)
{
    struct entry *entry;
    txn_policy_set(world_begin(&world), text(key), &(struct policy){ .retain = span });
    world_commit(&world);
    struct txn *txn = begin(key, &entry);
    txn_stream_set_retention(txn, entry, span);
    world_commit(&world);
}

/* The entry is pending in this group, for the consumer "c"; both are created if absent. */
static void deliver(const char *key, const char *name, struct stream_id id)
{
    struct entry *entry;
    struct txn *txn = begin(key, &entry);
    struct stream_group *group = group_find(stream_groups(entry->object.stream), text(name));
    struct group_position position = { id, GROUP_READ_UNKNOWN };
    if (group == NULL) group = txn_group_add(txn, entry, text(name), &position);
    struct stream_consumer *consumer = consumer_find(group, LIT("c"));
    if (consumer == NULL) consumer = txn_consumer_add(txn, entry, group, LIT("c"));
    struct pending pending = { id, consumer, world.now, 1 };
    txn_pending_put(txn, entry, group, &pending);
    world_commit(&world);
}

static size_t pending_of(const char *key, const char *name)
{
    return group_count_pending(group_find(stream_groups(stream_at(key)), text(name)));
}

static const char *events(void)
{
    const char *line = world_events(&world);
    world_forget(&world);
    return line;
}

static size_t count_effects(enum effect_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < world.effect_count; i++)
        count += world.effects[i].effect.kind == kind;
    return count;
}

static void assert_rebuilt(void)
{
    struct store *copy = world_replay(&world);
    struct digest live = store_digest(world.store, world.now);
    struct digest rebuilt = store_digest(copy, world.now);
    ck_assert(live.high == rebuilt.high && live.low == rebuilt.low);
    store_free(copy);
}

/* ---- mutators -------------------------------------------------------------------------------- */

START_TEST(each_change_of_entries_has_its_event)
{
    world_init(&world);
    struct entry *entry;
    struct txn *txn = begin("s", &entry);
    for (int i = 1; i <= 4; i++)
        txn_stream_append(txn, entry, at(i, 0), texts, 2);
    ck_assert(txn_stream_remove(txn, entry, at(2, 0)));
    ck_assert(!txn_stream_remove(txn, entry, at(2, 0)));
    txn_stream_trim(txn, entry, 0);
    txn_stream_trim(txn, entry, 1);
    struct stream_marks marks = { at(9, 9), at(2, 0), 7 };
    txn_stream_set_marks(txn, entry, &marks);
    world_commit(&world);
    ck_assert_uint_eq(stream_count(stream_at("s")), 2);
    assert_rebuilt();
    ck_assert_str_eq(events(), "new:s xadd:s xdel:s xtrim:s xsetid:s ");
    world_drop(&world);
}
END_TEST

START_TEST(each_change_of_groups_has_its_event)
{
    world_init(&world);
    xadd("s", at(1, 1));
    deliver("s", "g", at(1, 1));
    struct entry *entry;
    struct txn *txn = begin("s", &entry);
    struct stream_group *group = group_find(stream_groups(entry->object.stream), LIT("g"));
    struct group_position position = { at(1, 1), 1 };
    txn_group_set_position(txn, entry, group, &position, EVENT_NONE);
    txn_group_set_position(txn, entry, group, &position, EVENT_XGROUP_SETID);
    txn_consumer_remove(txn, entry, group, consumer_find(group, LIT("c")));
    ck_assert_uint_eq(group_count_pending(group), 0);
    txn_group_remove(txn, entry, group);
    world_commit(&world);
    assert_rebuilt();
    ck_assert_str_eq(events(), "new:s xadd:s xgroup-create:s xgroup-createconsumer:s "
                               "xgroup-setid:s xgroup-delconsumer:s xgroup-destroy:s ");
    world_drop(&world);
}
END_TEST

START_TEST(an_empty_stream_keeps_its_key)
{
    world_init(&world);
    xadd("s", at(1, 1));
    struct entry *entry;
    struct txn *txn = begin("s", &entry);
    txn_stream_remove(txn, entry, at(1, 1));
    world_commit(&world);
    ck_assert(world_has(&world, "s"));
    txn = begin("s", &entry);
    txn_key_copy(txn, entry, 0, LIT("copy"));
    txn_key_store(txn, LIT("stored"), walk_copy(&entry->object), EVENT_RESTORE);
    txn_key_restore(txn, LIT("restored"), walk_copy(&entry->object), NEVER);
    world_commit(&world);
    ck_assert_uint_eq(txn_count(world_begin(&world)), 4);
    world_commit(&world);
    ck_assert(stream_id_equal(stream_marks(stream_at("stored")).max_deleted, at(1, 1)));
    ck_assert_uint_eq(stream_marks(stream_at("restored")).added, 1);
    assert_rebuilt();
    world_drop(&world);
}
END_TEST

START_TEST(a_copy_keeps_when_consumers_were_seen)
{
    world_init(&world);
    deliver("s", "g", at(1, 1));
    world.now += 5;
    struct entry *entry;
    struct txn *txn = begin("s", &entry);
    txn_key_copy(txn, entry, 0, LIT("copy"));
    world_commit(&world);
    struct stream_groups *groups = stream_groups(stream_at("copy"));
    struct stream_group *group = group_find(groups, LIT("g"));
    ck_assert_int_eq(consumer_seen_at(consumer_find(group, LIT("c"))), START);
    struct effect unknown = {
        .kind = EFFECT_CONSUMER_ADD, .a = LIT("g"), .b = LIT("d"), .at = NEVER
    };
    ck_assert(walk_put(&at_key("copy")->object, &unknown));
    ck_assert_int_eq(consumer_seen_at(consumer_find(group, LIT("d"))), INSTANT_MIN);
    ck_assert(!walk_put(&at_key("copy")->object, &unknown));
    world_drop(&world);
}
END_TEST

START_TEST(trim_removes_the_entry_with_the_greatest_id)
{
    world_init(&world);
    xadd("s", at(1, 1));
    xadd("s", STREAM_ID_MAX);
    struct entry *entry;
    struct txn *txn = begin("s", &entry);
    txn_stream_trim(txn, entry, 2);
    world_commit(&world);
    ck_assert_uint_eq(stream_count(stream_at("s")), 0);
    ck_assert(stream_id_equal(stream_marks(stream_at("s")).max_deleted, STREAM_ID_MIN));
    assert_rebuilt();
    ck_assert_str_eq(events(), "new:s xadd:s xadd:s xtrim:s ");
    world_drop(&world);
}
END_TEST

START_TEST(forgetting_removes_the_references_of_all_groups)
{
    world_init(&world);
    xadd("s", at(1, 1));
    deliver("s", "g", at(1, 1));
    deliver("s", "h", at(1, 1));
    deliver("s", "h", at(7, 7));
    struct entry *entry;
    struct txn *txn = begin("s", &entry);
    ck_assert_uint_eq(txn_stream_forget_pending(txn, entry, at(1, 1)), 2);
    ck_assert_uint_eq(txn_stream_forget_pending(txn, entry, at(1, 1)), 0);
    world_commit(&world);
    ck_assert_uint_eq(pending_of("s", "g"), 0);
    ck_assert_uint_eq(pending_of("s", "h"), 1);
    assert_rebuilt();
    world_drop(&world);
}
END_TEST

/* As in Redis, groups and last IDs do not touch watched keys. */
START_TEST(only_entries_and_new_keys_are_seen)
{
    world_init(&world);
    deliver("s", "g", at(1, 1));
    deliver("s", "h", at(1, 1));
    struct entry *entry;
    struct txn *txn = begin("s", &entry);
    struct stream_marks marks = { at(9, 9), at(2, 0), 7 };
    txn_stream_set_marks(txn, entry, &marks);
    world_commit(&world);
    for (size_t i = 0, groups = 0; i < world.effect_count; i++) {
        const struct effect *effect = &world.effects[i].effect;
        bool is_first = effect->kind == EFFECT_GROUP_ADD && groups++ == 0;
        ck_assert_int_eq(effect_is_seen(effect), is_first);
    }
    world_forget(&world);
    xadd("s", at(10, 0));
    ck_assert(effect_is_seen(&world.effects[0].effect));
    world_drop(&world);
}
END_TEST

/* ---- entries that expire --------------------------------------------------------------------- */

START_TEST(an_entry_is_alive_at_its_deadline_and_gone_one_ms_later)
{
    world_init(&world);
    xadd("s", at(START, 1));
    xadd("s", at(START, 2));
    xadd("s", at(START + 1, 1));
    retain("s", 50);
    world_forget(&world);
    ck_assert_int_eq(store_next_due(world.store), START + 51);
    world.now = START + 50;
    ck_assert_uint_eq(expiry_run(world.store, world.now, 100), 0);
    world.now = START + 51;
    ck_assert_uint_eq(expiry_run(world.store, world.now, 100), 2);
    ck_assert_uint_eq(stream_count(stream_at("s")), 1);
    ck_assert_int_eq(store_next_due(world.store), START + 52);
    ck_assert_uint_eq(count_effects(EFFECT_STREAM_TRIM), 1);
    ck_assert_str_eq(events(), "xtrim:s ");
    world.now = START + 52;
    ck_assert_uint_eq(expiry_run(world.store, world.now, 100), 1);
    ck_assert_int_eq(store_next_due(world.store), NEVER);
    ck_assert(world_has(&world, "s"));
    world_drop(&world);
}
END_TEST

START_TEST(entries_expire_in_order_with_other_keys)
{
    world_init(&world);
    world_set(&world, "before", "v", START + 9);
    world_set(&world, "between", "v", START + 11);
    xadd("s", at(START, 1));
    xadd("s", at(START + 2, 1));
    retain("s", 10);
    world_forget(&world);
    world.now = START + 100;
    expiry_run(world.store, world.now, 100);
    ck_assert_str_eq(events(), "expired:before xtrim:s expired:between xtrim:s ");
    ck_assert_uint_eq(stream_count(stream_at("s")), 0);
    ck_assert_uint_eq(world.store->stats.expired_members, 2);
    world_drop(&world);
}
END_TEST

START_TEST(an_entry_added_with_an_old_id_expires_at_once)
{
    world_init(&world);
    xadd("s", at(START - 100, 1));
    retain("s", 10);
    xadd("s", at(START - 50, 1));
    expiry_run(world.store, world.now, 100);
    ck_assert_uint_eq(stream_count(stream_at("s")), 0);
    assert_rebuilt();
    world_drop(&world);
}
END_TEST

START_TEST(reading_and_pause_show_no_expired_entry)
{
    for (int pause = 0; pause < 2; pause++) {
        world_init(&world);
        xadd("s", at(START, 1));
        xadd("s", at(START + 5, 1));
        retain("s", 10);
        world.now = START + 11;
        struct txn *txn = world_begin(&world);
        txn->no_expiry = pause == 1;
        const struct entry *entry = txn_find_counted(txn, LIT("s"));
        ck_assert_uint_eq(stream_count(entry->object.stream), 1);
        world_commit(&world);
        assert_rebuilt();
        world_drop(&world);
    }
}
END_TEST

START_TEST(an_expired_entry_leaves_every_pending_list)
{
    world_init(&world);
    for (int i = 1; i <= 4; i++)
        xadd("s", at(START + i, 1));
    for (int i = 1; i <= 4; i++) {
        deliver("s", "g", at(START + i, 1));
        if (i < 3) deliver("s", "h", at(START + i, 1));
    }
    struct entry *entry;
    struct txn *txn = begin("s", &entry);
    txn_stream_remove(txn, entry, at(START + 2, 1));
    world_commit(&world);
    retain("s", 100);
    world.now = START + 104;
    struct digest before = store_digest(world.store, world.now);
    while (expiry_run(world.store, world.now, 1) > 0)
        continue;
    struct digest after = store_digest(world.store, world.now);
    ck_assert(before.high == after.high && before.low == after.low);
    /* The entry 2 was deleted before; as after XDEL, its references stay. */
    ck_assert_uint_eq(pending_of("s", "g"), 2);
    ck_assert_uint_eq(pending_of("s", "h"), 1);
    assert_rebuilt();
    world_drop(&world);
}
END_TEST

START_TEST(equal_deadlines_expire_in_slices)
{
    world_init(&world);
    for (uint64_t i = 1; i <= 500; i++)
        xadd("s", at(START, i));
    for (uint64_t i = 1; i <= 500; i++)
        deliver("s", "g", at(START, i));
    retain("s", 1);
    world.now = START + 2;
    size_t left = 500, runs = 0;
    for (; left > 0; runs++) {
        expiry_run(world.store, world.now, 100);
        size_t now = stream_count(stream_at("s"));
        ck_assert_uint_lt(now, left);
        ck_assert_uint_le(left - now, 100);
        left = now;
        ck_assert_uint_eq(pending_of("s", "g"), left);
    }
    ck_assert_uint_ge(runs, 5);
    assert_rebuilt();
    world_drop(&world);
}
END_TEST

START_TEST(a_request_waits_for_many_expired_entries)
{
    world_init(&world);
    for (uint64_t i = 0; i <= SETTLE_AT_ONCE; i++)
        xadd("s", at(START, i));
    retain("s", 1);
    world.now = START + 1;
    struct txn *txn = world_begin(&world);
    struct entry *entry = at_key("s");
    ck_assert(!txn_settles_slowly(txn, entry));
    world_commit(&world);
    world.now = START + 2;
    txn = world_begin(&world);
    ck_assert(txn_settles_slowly(txn, entry));
    ck_assert_uint_eq(txn_settle_some(txn, &entry, 100), 100);
    while (txn_settle_some(txn, &entry, 300) > 0)
        continue;
    ck_assert(!txn_settles_slowly(txn, entry));
    ck_assert_uint_eq(stream_count(entry->object.stream), 0);
    world_commit(&world);
    assert_rebuilt();
    world_drop(&world);
}
END_TEST

START_TEST(a_request_waits_for_entries_of_many_groups)
{
    world_init(&world);
    for (uint64_t i = 0; i < SETTLE_AT_ONCE / 4; i++)
        xadd("s", at(START, i));
    deliver("s", "g", at(START, 0));
    deliver("s", "h", at(START, 0));
    retain("s", 1);
    world.now = START + 2;
    struct txn *txn = world_begin(&world);
    ck_assert(!txn_settles_slowly(txn, at_key("s")));
    world_commit(&world);
    world.now = START;
    deliver("s", "i", at(START, 0));
    world.now = START + 2;
    txn = world_begin(&world);
    ck_assert(txn_settles_slowly(txn, at_key("s")));
    world_commit(&world);
    world_drop(&world);
}
END_TEST

START_TEST(delays_of_entries_are_counted)
{
    world_init(&world);
    xadd("s", at(START, 1));
    xadd("s", at(START, UINT64_MAX));
    xadd("s", at(START + 3, UINT64_MAX));
    retain("s", 10);
    world.now = START + 20;
    world_begin(&world);
    txn_find(&world.txn, LIT("s"));
    world_commit(&world);
    const struct histogram *lag = &world.store->stats.lag;
    ck_assert_uint_eq(lag->total, 3);
    ck_assert_int_eq(lag->max, 10);
    ck_assert_uint_eq(lag->sum, 10 + 10 + 7);
    world_drop(&world);
}
END_TEST

START_TEST(retention_follows_the_value)
{
    world_init(&world);
    xadd("s", at(START, 1));
    retain("s", 10);
    struct entry *entry;
    struct txn *txn = begin("s", &entry);
    txn_key_copy(txn, entry, 3, LIT("copy"));
    txn_key_rename(txn, entry, LIT("renamed"));
    world_commit(&world);
    txn = begin("renamed", &entry);
    txn_key_move(txn, entry, 1);
    world_commit(&world);
    ck_assert(due_at_is_never(keyspace_next_due(&world.store->databases[0])));
    ck_assert_int_eq(keyspace_next_due(&world.store->databases[1]).at, START + 11);
    ck_assert_int_eq(keyspace_next_due(&world.store->databases[3]).at, START + 11);
    assert_rebuilt();
    world_drop(&world);
}
END_TEST

/* ---- looking ahead --------------------------------------------------------------------------- */

START_TEST(the_outlook_counts_entries)
{
    world_init(&world);
    for (uint64_t i = 0; i < 200; i++) /* 200: more than are counted at once */
        xadd("big", at(START + (msec)i / 100, i % 100));
    retain("big", 1000);
    xadd("s", at(START, 1));
    retain("s", 5000);
    xadd("for ever", at(START, 1));
    const struct keyspace *ks = &world.store->databases[0];
    struct due due[4];
    ck_assert_uint_eq(outlook_next(ks, world.now, due, 4), 2);
    ck_assert_str_eq(due[0].what, "entry");
    ck_assert_int_eq(due[0].at, START + 1000);
    ck_assert_int_eq(due[1].at, START + 5000);
    struct outlook *outlook = outlook_new(ks, world.now);
    struct outlook_count counts[OUTLOOK_BANDS];
    while (!outlook_run(outlook, 7))
        continue;
    outlook_counts(outlook, world.now, counts);
    ck_assert_uint_eq(counts[DUE_IN_1S].of[OUTLOOK_MEMBERS], 100);
    ck_assert_uint_eq(counts[DUE_IN_10S].of[OUTLOOK_MEMBERS], 101);
    ck_assert_uint_eq(counts[DUE_NEVER].of[OUTLOOK_MEMBERS], 1);
    ck_assert_uint_eq(counts[DUE_NEVER].of[OUTLOOK_KEYS], 3);
    outlook_free(outlook);
    struct overdue overdue = { 0 };
    world.now = START + 1001;
    outlook_overdue(ks, world.now, 1000, &overdue);
    ck_assert_uint_eq(overdue.members, 100);
    world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        each_change_of_entries_has_its_event,
        each_change_of_groups_has_its_event,
        an_empty_stream_keeps_its_key,
        a_copy_keeps_when_consumers_were_seen,
        trim_removes_the_entry_with_the_greatest_id,
        forgetting_removes_the_references_of_all_groups,
        only_entries_and_new_keys_are_seen,
        an_entry_is_alive_at_its_deadline_and_gone_one_ms_later,
        entries_expire_in_order_with_other_keys,
        an_entry_added_with_an_old_id_expires_at_once,
        reading_and_pause_show_no_expired_entry,
        an_expired_entry_leaves_every_pending_list,
        equal_deadlines_expire_in_slices,
        a_request_waits_for_many_expired_entries,
        a_request_waits_for_entries_of_many_groups,
        delays_of_entries_are_counted,
        retention_follows_the_value,
        the_outlook_counts_entries,
        NULL,
    };
    return suite_of("txn_stream", tests);
}
