/* Tests of txn_withheld: reads of a replica withhold expired members and change nothing. */
#include "store/txn/txn.h"
#include "store/txn/txn_dehydrator.h"
#include "store/txn/txn_stream.h"

#include <stdio.h>

#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { MEMBERS = 500, STEP = 10 };

static struct world world;

static struct bytes member_of(int i)
{
    static char name[32];
    return bytes_of(name, (size_t)snprintf(name, sizeof(name), "member-%03d", i));
}

/* Each second member has a deadline: 1000000 + i * STEP. */
static msec deadline_of(int i)
{
    return i % 2 == 0 ? NEVER : 1000000 + i * STEP;
}

static void fill(struct txn *txn, enum type type, const char *key, int count)
{
    struct entry *entry = txn_create(txn, text(key), type);
    for (int i = 0; i < count; i++) {
        struct lifetime life = { LIFE_SET, deadline_of(i) };
        double score = i;
        if (type == TYPE_SET) txn_set_add(txn, entry, member_of(i), life);
        if (type == TYPE_HASH)
            txn_hash_put(txn, entry, member_of(i), text("value"), &(struct hput){ .life = life });
        if (type == TYPE_ZSET)
            txn_zset_put(txn, entry, member_of(i), &score, &(struct zput){ .life = life });
    }
}

static void setup(void)
{
    static const enum type types[] = { TYPE_SET, TYPE_HASH, TYPE_ZSET };
    char key[16];
    world_init(&world);
    for (int i = 0; i < 3; i++) {
        struct txn *txn = world_begin(&world);
        snprintf(key, sizeof(key), "small-%u", types[i]);
        fill(txn, types[i], key, 8);
        snprintf(key, sizeof(key), "large-%u", types[i]);
        fill(txn, types[i], key, MEMBERS);
        world_commit(&world);
    }
    world_forget(&world);
}

static struct txn *begin_read(void)
{
    struct txn *txn = world_begin(&world);
    txn->no_expiry = txn->no_purge = true;
    return txn;
}

static void expect_alive(struct txn *txn, enum type type, const char *size, int count)
{
    char key[16];
    snprintf(key, sizeof(key), "%s-%u", size, type);
    struct entry *entry = txn_find(txn, text(key));
    ck_assert_ptr_nonnull(entry);
    size_t alive = 0;
    for (int i = 0; i < count; i++) {
        msec at;
        bool there = object_member_deadline(&entry->object, member_of(i), &at);
        ck_assert_int_eq(there, !instant_expired(deadline_of(i), world.now));
        alive += there;
    }
    ck_assert_uint_eq(object_count(&entry->object), alive);
    object_check(&entry->object);
}

START_TEST(expired_members_are_withheld_and_come_back)
{
    setup();
    struct digest before = store_digest(world.store, 1000000);
    static const int shifts[] = { 1, STEP, STEP + 1, 5 * STEP, MEMBERS / 2 * STEP, MEMBERS * STEP };
    for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
        world.now = 1000000 + shifts[i];
        struct txn *txn = begin_read();
        for (enum type type = TYPE_SET; type <= TYPE_ZSET; type++) {
            expect_alive(txn, type, "small", 8);
            expect_alive(txn, type, "large", MEMBERS);
            expect_alive(txn, type, "large", MEMBERS);
        }
        world_commit(&world);
        struct digest after = store_digest(world.store, 1000000);
        ck_assert_uint_eq(before.high, after.high);
        ck_assert_uint_eq(before.low, after.low);
    }
    ck_assert_uint_eq(world.effect_count, 0);
    world_drop(&world);
}
END_TEST

START_TEST(a_call_that_names_members_withholds_no_others)
{
    setup();
    world.now = 1000000 + MEMBERS * STEP; /* all with a deadline have expired */
    for (enum type type = TYPE_SET; type <= TYPE_ZSET; type++) {
        struct txn *txn = begin_read();
        char key[16], names[3][16] = { "member-001", "member-002", "member-003" };
        struct bytes named[] = { text(names[0]), text(names[1]), text(names[2]), text(names[0]) };
        snprintf(key, sizeof(key), "large-%u", type);
        txn_names_members(txn, named, 4);
        struct entry *entry = txn_find(txn, text(key));
        ck_assert_ptr_eq(txn_find(txn, text(key)), entry);
        msec at;
        ck_assert(!object_member_deadline(&entry->object, named[0], &at));
        ck_assert(object_member_deadline(&entry->object, named[1], &at));
        ck_assert(!object_member_deadline(&entry->object, named[2], &at));
        ck_assert_uint_eq(object_count(&entry->object), MEMBERS - 2);
        txn_call(txn, 0);
        ck_assert_uint_eq(object_count(&entry->object), MEMBERS);
        expect_alive(txn, type, "large", MEMBERS);
        world_commit(&world);
    }
    ck_assert_uint_eq(world.effect_count, 0);
    world_drop(&world);
}
END_TEST

static void append(struct txn *txn, struct entry *entry, uint64_t time)
{
    const struct bytes texts[] = { LIT("name"), LIT("value") };
    txn_stream_append(txn, entry, (struct stream_id){ time, 1 }, texts, 2);
}

static size_t walk_all(const struct stream *stream, bool back)
{
    struct stream_walk walk;
    struct stream_entry entry;
    size_t count = 0;
    if (back)
        stream_walk_down(&walk, stream, STREAM_ID_MAX);
    else
        stream_walk_up(&walk, stream, STREAM_ID_MIN);
    while (stream_walk_next(&walk, &entry))
        count++;
    return count;
}

START_TEST(expired_entries_of_a_stream_are_withheld)
{
    enum { ENTRIES = 350 };
    setup();
    struct txn *txn = world_begin(&world);
    txn_policy_set(txn, text("s*"), &(struct policy){ .retain = 1000 });
    struct entry *entry = txn_create(txn, text("stream"), TYPE_STREAM);
    for (uint64_t i = 0; i < ENTRIES; i++)
        append(txn, entry, 1000000 + i);
    world_commit(&world);
    world_forget(&world);
    for (size_t gone = 0; gone <= ENTRIES; gone += 7) {
        world.now = 1001000 + (msec)gone;
        txn = begin_read();
        entry = txn_find(txn, text("stream"));
        ck_assert_ptr_eq(txn_find(txn, text("stream")), entry);
        const struct stream *stream = entry->object.stream;
        struct stream_id id, last;
        ck_assert_uint_eq(stream_count(stream), ENTRIES - gone);
        ck_assert_uint_eq(walk_all(stream, false), ENTRIES - gone);
        ck_assert_uint_eq(walk_all(stream, true), ENTRIES - gone);
        ck_assert_int_eq(stream_first(stream, &id), gone < ENTRIES);
        ck_assert_int_eq(stream_final(stream, &last), gone < ENTRIES);
        if (gone < ENTRIES) {
            ck_assert_uint_eq(id.ms, 1000000 + gone);
            ck_assert_uint_eq(stream_rank(stream, last), ENTRIES - gone - 1);
            ck_assert(stream_has(stream, id) && stream_id_at(stream, 0, &last));
            ck_assert(stream_id_equal(last, id));
        }
        if (gone > 0) ck_assert(!stream_has(stream, (struct stream_id){ 1000000 + gone - 1, 1 }));
        world_commit(&world);
    }
    ck_assert_uint_eq(world.effect_count, 0);
    ck_assert_uint_eq(stream_count(entry->object.stream), ENTRIES);
    world_drop(&world);
}
END_TEST

START_TEST(a_key_whose_members_all_expired_is_hidden)
{
    setup();
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text("k"), TYPE_SET);
    txn_set_add(txn, entry, text("a"), (struct lifetime){ LIFE_SET, 1000005 });
    world_commit(&world);
    world.now = 1000006;
    world_forget(&world);
    txn = begin_read();
    ck_assert_ptr_null(txn_find(txn, text("k")));
    world_commit(&world);
    world.now = 1000005;
    txn = begin_read();
    ck_assert_ptr_nonnull(txn_find(txn, text("k")));
    world_commit(&world);
    ck_assert_uint_eq(world.effect_count, 0);
    world_drop(&world);
}
END_TEST

/* A pause, a remembered id and a rate keep a dehydrator without elements until they end. */
START_TEST(a_dehydrator_that_is_over_is_hidden)
{
    for (int kept = 0; kept < 3; kept++) {
        setup();
        struct txn *txn = world_begin(&world);
        size_t others = txn_count(txn);
        struct entry *entry = txn_create(txn, text("k"), TYPE_DEHYDRATOR);
        if (kept == 0) txn_rede_pause(txn, entry, 1000005);
        if (kept == 1) txn_rede_remember(txn, entry, text("id"), 1000005);
        if (kept == 2) txn_rede_set_next_delivery(txn, entry, INT64_C(1000004999));
        world_commit(&world);
        world_forget(&world);
        for (world.now = 1000006; world.now >= 1000004; world.now--) {
            bool is_there = world.now < 1000005;
            txn = begin_read();
            ck_assert_int_eq(txn_find(txn, text("k")) != NULL, is_there);
            ck_assert_int_eq(txn_exists_in(txn, 0, text("k")), is_there);
            ck_assert_uint_eq(txn_count(txn), others + is_there);
            world_commit(&world);
        }
        ck_assert_uint_eq(world.effect_count, 0);
        store_check(world.store);
        world_drop(&world);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        expired_members_are_withheld_and_come_back, a_call_that_names_members_withholds_no_others,
        expired_entries_of_a_stream_are_withheld,   a_key_whose_members_all_expired_is_hidden,
        a_dehydrator_that_is_over_is_hidden,        NULL,
    };
    return suite_of("txn_withheld", tests);
}
