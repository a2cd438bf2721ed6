/* reclaim: values are freed at once or in slices, and are counted. */
#include "store/reclaim.h"

#include <stdio.h>

#include "store/mem/mem.h"
#include "store/txn/txn_dehydrator.h"
#include "store/txn/txn_stream.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

static void push_many(struct world *world, const char *key, int count)
{
    for (int i = 0; i < count; i++) {
        struct txn *txn = world_begin(world);
        struct entry *entry = txn_find(txn, text(key));
        if (entry == NULL) entry = txn_create(txn, text(key), TYPE_LIST);
        txn_list_push(txn, entry, LIST_TAIL, LIT("value"));
        world_commit(world);
    }
}

START_TEST(small_values_are_freed_at_once_and_large_ones_in_slices)
{
    struct world world;
    world_init(&world);
    push_many(&world, "small", 10);
    push_many(&world, "large", 1000);
    struct reclaim *reclaim = &world.store->reclaim;
    struct txn *txn = world_begin(&world);
    txn_key_drop(txn, txn_find(txn, text("small")), EVENT_DEL);
    ck_assert_uint_eq(reclaim->left, 0);
    txn_key_drop(txn, txn_find(txn, text("large")), EVENT_DEL);
    world_commit(&world);
    ck_assert_uint_eq(reclaim->left, 1);
    ck_assert_uint_eq(reclaim->freed, 0);
    while (reclaim_run(reclaim, 10))
        ck_assert_uint_eq(reclaim->left, 1);
    ck_assert_uint_eq(reclaim->left, 0);
    ck_assert_uint_eq(reclaim->freed, 1);
    world_drop(&world);
}
END_TEST

/* Drops the key, whose value has few elements but 1000 other parts. */
static void drop_in_slices(struct world *world, const char *key)
{
    struct reclaim *reclaim = &world->store->reclaim;
    struct txn *txn = world_begin(world);
    txn_key_drop(txn, txn_find(txn, text(key)), EVENT_DEL);
    world_commit(world);
    int slices = 1;
    ck_assert_uint_eq(reclaim->left, 1);
    while (reclaim_run(reclaim, 10))
        slices++;
    ck_assert_int_ge(slices, 100);
}

START_TEST(what_values_keep_besides_their_elements_is_freed_in_slices)
{
    struct world world;
    world_init(&world);
    struct txn *txn = world_begin(&world);
    struct entry *queue = txn_create(txn, text("queue"), TYPE_DEHYDRATOR);
    struct entry *stream = txn_create(txn, text("stream"), TYPE_STREAM);
    char name[16];
    for (int i = 0; i < 1000; i++) {
        struct bytes part = bytes_of(name, (size_t)snprintf(name, sizeof(name), "%d", i));
        txn_rede_remember(txn, queue, part, world.now + 1);
        txn_repeat_put(txn, stream, part, part, (struct stream_id){ 1, (uint64_t)i });
    }
    world_commit(&world);
    drop_in_slices(&world, "queue");
    drop_in_slices(&world, "stream");
    world_drop(&world);
}
END_TEST

START_TEST(values_of_an_emptied_database_count_one_by_one)
{
    enum { KEYS = 100, LARGE = 3 };
    struct world world;
    world_init(&world);
    char name[16];
    for (int i = 0; i < KEYS - LARGE; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        world_set(&world, name, "v", NEVER);
    }
    for (int i = 0; i < LARGE; i++) {
        snprintf(name, sizeof(name), "l%d", i);
        push_many(&world, name, 500);
    }
    struct reclaim *reclaim = &world.store->reclaim;
    txn_flush(world_begin(&world), 0);
    world_commit(&world);
    ck_assert_uint_eq(reclaim->left, KEYS);
    while (reclaim_run(reclaim, 7))
        ck_assert_uint_eq(reclaim->left + reclaim->freed, KEYS);
    ck_assert_uint_eq(reclaim->left, 0);
    ck_assert_uint_eq(reclaim->freed, KEYS);
    world_drop(&world);
}
END_TEST

START_TEST(discarded_store_is_freed_in_slices)
{
    enum { KEYS = 100 };
    struct world world, other;
    world_init(&world);
    size_t base = mem_used();
    world_init(&other);
    char name[16];
    for (int i = 0; i < KEYS; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        world_set(&other, name, "a value that is no part of its key", NEVER);
    }
    struct reclaim *reclaim = &world.store->reclaim;
    store_discard(world.store, other.store);
    ck_assert_uint_eq(reclaim->left, KEYS);
    while (reclaim_run(reclaim, 7))
        continue;
    ck_assert_uint_eq(reclaim->freed, KEYS);
    other.store = store_new(1);
    world_drop(&other);
    ck_assert_uint_eq(mem_used(), base);
    world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        small_values_are_freed_at_once_and_large_ones_in_slices,
        what_values_keep_besides_their_elements_is_freed_in_slices,
        values_of_an_emptied_database_count_one_by_one,
        discarded_store_is_freed_in_slices,
        NULL,
    };
    return suite_of("reclaim", tests);
}
